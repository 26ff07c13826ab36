/* The bare gather for one instruction set (-DLIMIT_ISA=avx2 -mavx2 ...): memcpy, a loop of the widest
 * registers, streaming stores and rep movsb, each with or without prefetch across rows. */
#include "limit_gather.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
enum { W = 64 };
#define STREAM(d, s) _mm512_stream_si512((void *)(d), _mm512_loadu_si512(s))
#elif defined(__AVX2__)
enum { W = 32 };
#define STREAM(d, s) _mm256_stream_si256((void *)(d), _mm256_loadu_si256((const void *)(s)))
#else
enum { W = 16 };
#define STREAM(d, s) _mm_stream_si128((void *)(d), _mm_loadu_si128((const void *)(s)))
#endif

#define UNALIGNED aligned(1), may_alias
typedef char V __attribute__((vector_size(W), UNALIGNED));
typedef char V16 __attribute__((vector_size(16), UNALIGNED));
typedef uint64_t U8 __attribute__((UNALIGNED));
typedef uint32_t U4 __attribute__((UNALIGNED));

/* Any size from one to two of T, by two words that overlap. */
#define PAIR(T, d, s, n)                                                      \
    do {                                                                      \
        const T a = *(const T *)(s), b = *(const T *)((s) + (n) - sizeof(T)); \
        *(T *)(d) = a;                                                        \
        *(T *)((d) + (n) - sizeof(T)) = b;                                    \
    } while (0)

INLINE void vector(char *d, const char *s, size_t n)
{
    size_t o = 0;
    if (n >= W) {
        for (; o + 4 * W <= n; o += 4 * W) {
            const V a = *(const V *)(s + o), b = *(const V *)(s + o + W);
            const V c = *(const V *)(s + o + 2 * W), e = *(const V *)(s + o + 3 * W);
            *(V *)(d + o) = a;
            *(V *)(d + o + W) = b;
            *(V *)(d + o + 2 * W) = c;
            *(V *)(d + o + 3 * W) = e;
        }
        for (; o + W <= n; o += W)
            *(V *)(d + o) = *(const V *)(s + o);
        if (o < n)
            *(V *)(d + n - W) = *(const V *)(s + n - W);
    } else if (n >= 16) {
        for (; o + 16 <= n; o += 16)
            *(V16 *)(d + o) = *(const V16 *)(s + o);
        if (o < n)
            *(V16 *)(d + n - 16) = *(const V16 *)(s + n - 16);
    } else if (n >= 8) {
        PAIR(U8, d, s, n);
    } else if (n >= 4) {
        PAIR(U4, d, s, n);
    } else {
        for (; o < n; o++)
            d[o] = s[o];
    }
}

INLINE void stream(char *d, const char *s, size_t n)
{
    size_t o = -(uintptr_t)d & 63;
    if (n < 256) {
        vector(d, s, n);
        return;
    }
    vector(d, s, o);
    for (; o + 64 <= n; o += 64)
        for (size_t k = 0; k < 64; k += W)
            STREAM(d + o + k, s + o + k);
    vector(d + o, s + o, n - o);
}

INLINE void copy(int how, char *d, const char *s, size_t n)
{
    if (how == LIMIT_MEMCPY)
        memcpy(d, s, n);
    else if (how == LIMIT_VECTOR)
        vector(d, s, n);
    else if (how == LIMIT_STREAM)
        stream(d, s, n);
    else
        __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
}

INLINE void prefetch(const char *p, size_t n)
{
    for (size_t o = 0; o < n; o += 64)
        _mm_prefetch(p + o, _MM_HINT_T0);
    if (n & 63)
        _mm_prefetch(p + n - 1, _MM_HINT_T0);
}

/* The rows of one call: their addresses, or what those are computed from. */
struct walk {
    const char *const *list;
    const int64_t *rows;
    const char *base;
    intptr_t apart; /* from the first base to the second */
    int64_t split;
    size_t row;
};

INLINE const char *at(const struct walk *w, int list, int64_t i)
{
    if (list)
        return w->list[i];
    const int64_t g = w->rows[i]; /* a branch on a random row would be mispredicted half the time */
    return w->base + (w->apart & -(intptr_t)(g >= w->split)) + (size_t)g * w->row;
}

INLINE void whole(int how, int list, const struct walk *w, int64_t n, size_t row, char *dst,
                  size_t ahead, int primed)
{
    const int64_t lead = !ahead ? 0 : ahead > row ? (int64_t)(ahead / row) : 1;
    int64_t i = 0;
    if (lead && !primed)
        for (; i < lead && i < n; i++)
            prefetch(at(w, list, i), row);
    for (i = 0; lead && i + lead < n; i++, dst += row) {
        prefetch(at(w, list, i + lead), row);
        copy(how, dst, at(w, list, i), row);
    }
    for (; i < n; i++, dst += row)
        copy(how, dst, at(w, list, i), row);
}

INLINE void cut(int how, int list, const struct walk *w, int64_t n, size_t row, char *dst,
                size_t block, size_t ahead)
{
    ahead = ahead < row ? ahead : row;
    prefetch(at(w, list, 0), ahead);
    for (int64_t i = 0; i < n; i++, dst += row) {
        const char *s = at(w, list, i), *next = i + 1 < n ? at(w, list, i + 1) : NULL;
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

INLINE void rows_by(int how, int list, const struct walk *w, int64_t n, size_t row, char *dst,
                    const struct limit_how *as, int primed)
{
    if (as->block && row > as->block)
        cut(how, list, w, n, row, dst, as->block, as->ahead);
    else if (how == LIMIT_VECTOR && row == 64)
        whole(how, list, w, n, 64, dst, as->ahead, primed);
    else if (how == LIMIT_VECTOR && row == 8)
        whole(how, list, w, n, 8, dst, as->ahead, primed);
    else
        whole(how, list, w, n, row, dst, as->ahead, primed);
    if (how == LIMIT_STREAM)
        _mm_sfence();
}

INLINE void pick(int list, const struct walk *w, int64_t n, size_t row, char *dst,
                 const struct limit_how *as, int primed)
{
    switch (as->copy) {
    case LIMIT_VECTOR: rows_by(LIMIT_VECTOR, list, w, n, row, dst, as, primed); break;
    case LIMIT_STREAM: rows_by(LIMIT_STREAM, list, w, n, row, dst, as, primed); break;
    case LIMIT_STRING: rows_by(LIMIT_STRING, list, w, n, row, dst, as, primed); break;
    default: rows_by(LIMIT_MEMCPY, list, w, n, row, dst, as, primed);
    }
}

INLINE const char *find(const struct limit_shards *s, const struct walk *w, int64_t i)
{
    if (s->n <= 2)
        return at(w, 0, i);
    const int64_t g = w->rows[i];
    int r = s->bucket[g >> s->shift];
    while (g >= s->first[r + 1])
        r++;
    return s->base[r] + (size_t)g * s->row;
}

INLINE const char *where(const struct limit_shards *s, int64_t g)
{
    const size_t at = (size_t)g * s->row;
    if (s->n == 1)
        return s->base[0] + at;
    if (s->n == 2)
        return s->base[0] + ((s->base[1] - s->base[0]) & -(intptr_t)(g >= s->first[1])) + at;
    int r = s->bucket[g >> s->shift];
    while (g >= s->first[r + 1])
        r++;
    return s->base[r] + at;
}

INLINE void one(int how, int primed, const struct limit_shards *s, int64_t g, char *dst)
{
    const char *from = where(s, g);
    const size_t row = s->row;
    if (primed)
        prefetch(from, row);
    if (how == LIMIT_VECTOR && row == 512)
        copy(how, dst, from, 512);
    else if (how == LIMIT_VECTOR && row == 64)
        copy(how, dst, from, 64);
    else if (how == LIMIT_VECTOR && row == 8)
        copy(how, dst, from, 8);
    else
        copy(how, dst, from, row);
}

#define ONE(name, how, primed)                                           \
    static void name(const struct limit_shards *s, int64_t g, char *dst) \
    {                                                                    \
        one(how, primed, s, g, dst);                                     \
    }
ONE(one_memcpy, LIMIT_MEMCPY, 0)
ONE(one_memcpy_primed, LIMIT_MEMCPY, 1)
ONE(one_vector, LIMIT_VECTOR, 0)
ONE(one_vector_primed, LIMIT_VECTOR, 1)
ONE(one_string, LIMIT_STRING, 0)
ONE(one_string_primed, LIMIT_STRING, 1)

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

const struct limit_one JOIN(limit_one_, LIMIT_ISA)[LIMIT_COPIES] = {
    [LIMIT_MEMCPY] = {one_memcpy, one_memcpy_primed},
    [LIMIT_VECTOR] = {one_vector, one_vector_primed},
    [LIMIT_STRING] = {one_string, one_string_primed},
};

void JOIN(limit_gather_, LIMIT_ISA)(const struct limit_shards *s, const int64_t *rows, int64_t n,
                                    char *dst, const struct limit_how *how)
{
    enum { CHUNK = 1024 };
    const char *list[CHUNK];
    const size_t row = s->row;
    struct walk w = {list,        rows, s->base[0], s->n > 1 ? s->base[1] - s->base[0] : 0,
                     s->first[1], row};
    /* The numbers are fresh, too, and short rows would wait for them. */
    for (int64_t i = 0; row <= 256 && i < n && i < CHUNK; i += 8)
        _mm_prefetch((const char *)(rows + i), _MM_HINT_T0);
    if (!how->list && s->n <= 2) {
        pick(0, &w, n, row, dst, how, 0);
        return;
    }
    const int cuts = how->block && row > how->block;
    const int64_t lead = cuts || !how->ahead ? 0
                         : how->ahead > row  ? (int64_t)(how->ahead / row)
                                             : 1;
    for (; n > 0; n -= CHUNK, w.rows += CHUNK, dst += CHUNK * row) {
        const int64_t m = n < CHUNK ? n : CHUNK;
        int64_t i = 0;
        for (; i < lead && i < m; i++)
            prefetch(list[i] = find(s, &w, i), row);
        for (; i < m; i++)
            list[i] = find(s, &w, i);
        pick(1, &w, m, row, dst, how, 1);
    }
}
