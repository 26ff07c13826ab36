/* Row copies for one instruction set: -DDDS_ISA=avx2 -mavx2 and so on.  Everything below
 * dds_gather_<isa> is inlined with a constant kind, and a constant size for the commonest small rows.
 * Each choice was measured: `ddstore-bench --case kernels` prints the table. */
#include "transport/kernels/kernel.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
enum { kWidth = 64 };
INLINE void stream_one(char *d, const char *s)
{
    _mm512_stream_si512((__m512i *)(void *)d, _mm512_loadu_si512(s));
}
#elif defined(__AVX2__)
enum { kWidth = 32 };
INLINE void stream_one(char *d, const char *s)
{
    _mm256_stream_si256((__m256i *)(void *)d, _mm256_loadu_si256((const __m256i *)(const void *)s));
}
#else
enum { kWidth = 16 };
INLINE void stream_one(char *d, const char *s)
{
    _mm_stream_si128((__m128i *)(void *)d, _mm_loadu_si128((const __m128i *)(const void *)s));
}
#endif

typedef char Wide __attribute__((vector_size(kWidth), aligned(1), may_alias));
typedef char Half __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t Word8 __attribute__((aligned(1), may_alias));
typedef uint32_t Word4 __attribute__((aligned(1), may_alias));
typedef uint16_t Word2 __attribute__((aligned(1), may_alias));

/* Two overlapping words make any size between one and two of them. */
#define ENDS(type, d, s, n)                                                                       \
    do {                                                                                          \
        const type head_ = *(const type *)(s), tail_ = *(const type *)((s) + (n) - sizeof(type)); \
        *(type *)(d) = head_;                                                                     \
        *(type *)((d) + (n) - sizeof(type)) = tail_;                                              \
    } while (0)

/* Less than one register.  1, 2, 4 and 8 bytes by one load: such a row is never torn. */
INLINE void copy_short(char *d, const char *s, size_t n)
{
    if (kWidth > 32 && n >= 32) {
        ENDS(Half, d, s, 32);
        ENDS(Half, d + n - 32, s + n - 32, 32);
    } else if (n > 16) {
        ENDS(Half, d, s, n);
    } else if (n == 16) {
        *(Half *)d = *(const Half *)s;
    } else if (n > 8) {
        ENDS(Word8, d, s, n);
    } else if (n == 8) {
        *(Word8 *)d = *(const Word8 *)s;
    } else if (n > 4) {
        ENDS(Word4, d, s, n);
    } else if (n == 4) {
        *(Word4 *)d = *(const Word4 *)s;
    } else if (n >= 2) {
        *(Word2 *)d = *(const Word2 *)s;
        if (n > 2)
            d[2] = s[2];
    } else if (n == 1) {
        *d = *s;
    }
}

INLINE void copy_vector(char *d, const char *s, size_t n)
{
    if (n < kWidth) {
        copy_short(d, s, n);
        return;
    }
    size_t o = 0;
    for (; o + 4 * kWidth <= n; o += 4 * kWidth) {
        const Wide a = *(const Wide *)(s + o), b = *(const Wide *)(s + o + kWidth);
        const Wide c = *(const Wide *)(s + o + 2 * kWidth), e = *(const Wide *)(s + o + 3 * kWidth);
        *(Wide *)(d + o) = a;
        *(Wide *)(d + o + kWidth) = b;
        *(Wide *)(d + o + 2 * kWidth) = c;
        *(Wide *)(d + o + 3 * kWidth) = e;
    }
    for (; o + kWidth <= n; o += kWidth)
        *(Wide *)(d + o) = *(const Wide *)(s + o);
    if (o < n)
        *(Wide *)(d + n - kWidth) = *(const Wide *)(s + n - kWidth);
}

INLINE void copy_stream(char *d, const char *s, size_t n)
{
    size_t o = -(uintptr_t)d & 63; /* whole lines only: a part of one is written twice */
    if (n < 256) {
        copy_vector(d, s, n);
        return;
    }
    copy_vector(d, s, o);
    for (; o + 64 <= n; o += 64)
        for (size_t k = 0; k < 64; k += kWidth)
            stream_one(d + o + k, s + o + k);
    copy_vector(d + o, s + o, n - o);
}

INLINE void copy(unsigned how, char *d, const char *s, size_t n)
{
    if (how == DDS_COPY_MEMCPY)
        memcpy(d, s, n);
    else if (how == DDS_COPY_VECTOR)
        copy_vector(d, s, n);
    else if (how == DDS_COPY_STREAM)
        copy_stream(d, s, n);
    else
        __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
}

INLINE void prefetch(const char *p, size_t n)
{
    for (size_t o = 0; o < n; o += 64)
        _mm_prefetch(p + o, _MM_HINT_T0);
    if (n & 63) /* an odd row may end in one line more */
        _mm_prefetch(p + n - 1, _MM_HINT_T0);
}

INLINE void whole_rows(unsigned how, const char *const *src, int64_t n, size_t row, char *dst,
                       int64_t lead)
{
    int64_t i = 0;
    if (lead > 0)
        for (; i + lead < n; i++, dst += row) {
            prefetch(src[i + lead], row);
            copy(how, dst, src[i], row);
        }
    for (; i < n; i++, dst += row)
        copy(how, dst, src[i], row);
}

/* A long row goes in blocks, so that the prefetch keeps its distance. */
INLINE void cut_rows(unsigned how, const char *const *src, int64_t n, size_t row, char *dst,
                     size_t block, size_t ahead)
{
    if (ahead > row)
        ahead = row;
    if (n > 0)
        prefetch(src[0], ahead);
    for (int64_t i = 0; i < n; i++, dst += row) {
        const char *s = src[i], *next = i + 1 < n ? src[i + 1] : NULL;
        for (size_t o = 0; o < row; o += block) {
            const size_t m = row - o < block ? row - o : block, p = o + ahead;
            const size_t here = p >= row ? 0 : row - p < m ? row - p : m;
            if (here)
                prefetch(s + p, here);
            if (here < m && next)
                prefetch(next + (p + here - row), m - here);
            copy(how, dst + o, s + o, m);
        }
    }
}

INLINE void rows(unsigned how, const char *const *src, int64_t n, size_t row, char *dst,
                 uint32_t kind, size_t ahead, int64_t lead)
{
    const size_t block = kind >> DDS_BLOCK_SHIFT;
    if (block && row > block)
        cut_rows(how, src, n, row, dst, block, ahead);
    else
        whole_rows(how, src, n, row, dst, lead);
}

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

void JOIN(dds_gather_, DDS_ISA)(const char *const *src, int64_t n, size_t row, char *dst,
                                uint32_t kind, size_t ahead, int64_t lead)
{
    switch (kind & DDS_COPY_MASK) {
    case DDS_COPY_VECTOR:
        switch (row) { /* constants for the commonest small rows */
        case 4: whole_rows(DDS_COPY_VECTOR, src, n, 4, dst, lead); break;
        case 8: whole_rows(DDS_COPY_VECTOR, src, n, 8, dst, lead); break;
        case 16: whole_rows(DDS_COPY_VECTOR, src, n, 16, dst, lead); break;
        case 32: whole_rows(DDS_COPY_VECTOR, src, n, 32, dst, lead); break;
        case 64: whole_rows(DDS_COPY_VECTOR, src, n, 64, dst, lead); break;
        case 128: whole_rows(DDS_COPY_VECTOR, src, n, 128, dst, lead); break;
        default: rows(DDS_COPY_VECTOR, src, n, row, dst, kind, ahead, lead);
        }
        break;
    case DDS_COPY_STREAM:
        rows(DDS_COPY_STREAM, src, n, row, dst, kind, ahead, lead);
        _mm_sfence();
        break;
    case DDS_COPY_STRING: rows(DDS_COPY_STRING, src, n, row, dst, kind, ahead, lead); break;
    default: rows(DDS_COPY_MEMCPY, src, n, row, dst, kind, ahead, lead);
    }
}

INLINE const char *find_row(const struct dds_cut *cut, int few, int64_t g, size_t row)
{
    if (few) /* a mask: a branch on a random row is mispredicted half the time */
        return cut->base + (cut->apart & -(intptr_t)(g >= cut->split)) + (size_t)g * row;
    int shard = cut->buckets[g >> cut->shift];
    while (g >= cut->starts[shard + 1])
        shard++;
    return cut->bases[shard] + (size_t)g * row;
}

INLINE void tiny_rows(const struct dds_cut *cut, int few, const int64_t *rows, int64_t n,
                      size_t row, char *dst, int64_t lead)
{
    const char *found[DDS_MOST_LEAD]; /* in turns */
    int64_t i = 0;
    for (; i < lead && i < n; i++) {
        found[i] = find_row(cut, few, rows[i], row);
        prefetch(found[i], row);
    }
    for (i = 0; i + lead < n; i++, dst += row) {
        const char *ahead = find_row(cut, few, rows[i + lead], row);
        prefetch(ahead, row);
        /* Two shards' rows are found again sooner than they are remembered. */
        copy_vector(dst, few ? find_row(cut, few, rows[i], row) : found[i % DDS_MOST_LEAD], row);
        if (!few)
            found[(i + lead) % DDS_MOST_LEAD] = ahead;
    }
    for (; i < n; i++, dst += row)
        copy_vector(dst, few ? find_row(cut, few, rows[i], row) : found[i % DDS_MOST_LEAD], row);
}

INLINE void tiny(const struct dds_cut *cut, int few, const int64_t *rows, int64_t n, size_t row,
                 char *dst, int64_t lead)
{
    switch (row) {
    case 8: tiny_rows(cut, few, rows, n, 8, dst, lead); break;
    case 16: tiny_rows(cut, few, rows, n, 16, dst, lead); break;
    case 32: tiny_rows(cut, few, rows, n, 32, dst, lead); break;
    case 64: tiny_rows(cut, few, rows, n, 64, dst, lead); break;
    default: tiny_rows(cut, few, rows, n, row, dst, lead);
    }
}

int64_t JOIN(dds_gather_tiny_, DDS_ISA)(const struct dds_cut *cut, const int64_t *rows, int64_t n,
                                        size_t row, char *dst, int64_t lead)
{
    const struct dds_cut where = *cut;
    const uint64_t last = where.total - 1;
    uint64_t bad = 0; /* its sign bit: of a negative row, or of one past the last */
    int64_t own = 0;
    for (int64_t i = 0; i < n; i++) {
        bad |= (uint64_t)rows[i] | (last - (uint64_t)rows[i]);
        own += (uint64_t)rows[i] - where.own_first < where.own_rows;
    }
    if (bad >> 63)
        return -1;
    if (lead < 1)
        lead = 1; /* one is always found before it is copied */
    if (where.shards <= 2)
        tiny(&where, 1, rows, n, row, dst, lead);
    else
        tiny(&where, 0, rows, n, row, dst, lead);
    return own;
}

void JOIN(dds_copy_, DDS_ISA)(char *dst, const char *src, size_t row)
{
    copy_vector(dst, src, row);
}
