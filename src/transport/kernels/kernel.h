/* The row copies, one function per instruction set, all compiled from gather.c.  Plain C, so that no
 * inline function of a C++ header can be built for a processor that is not there and then be the one
 * copy that the linker keeps. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kind: how one block is copied, and the size of a block << DDS_BLOCK_SHIFT; 0: rows are not cut. */
enum {
    DDS_COPY_MEMCPY = 0, /* the C library's */
    DDS_COPY_VECTOR = 1, /* the widest registers */
    DDS_COPY_STREAM = 2, /* the same, around the caches, then sfence */
    DDS_COPY_STRING = 3, /* rep movsb */
    DDS_COPY_MASK = 3,
    DDS_BLOCK_SHIFT = 4
};

/* Copy src[i] to dst + i * row for n rows.  Not cut: while row i is copied, row i + lead is being
 * prefetched; the caller has prefetched the first `lead` (0: no prefetch).  Cut into blocks: what
 * comes `ahead` bytes later in the stream of rows is being prefetched (0: no prefetch).
 * A row of 1, 2, 4 or 8 bytes is read by one load. */
typedef void dds_gather_fn(const char *const *src, int64_t n, size_t row, char *dst, uint32_t kind,
                           size_t ahead, int64_t lead);

/* Rows of at most two shards: row g is at base + g * row, and `apart` further from `split` on. */
struct dds_two {
    const char *base;
    intptr_t apart;
    int64_t split;
    uint64_t total;
};

/* Copy rows[i] to dst + i * row for n rows of at most DDS_TINY_ROW bytes, by the widest registers: the
 * addresses are found on the way, which for such rows costs less than a list of them.  Row i + lead is
 * prefetched while row i is copied.  Returns how many are of the second shard, or -1 where one is not
 * within total, before a byte is copied. */
enum { DDS_TINY_ROW = 64 };
typedef int64_t dds_gather_two_fn(const struct dds_two *two, const int64_t *rows, int64_t n,
                                  size_t row, char *dst, int64_t lead);

/* Copy one row by the widest registers. */
typedef void dds_copy_fn(char *dst, const char *src, size_t row);

dds_gather_fn dds_gather_sse2, dds_gather_avx2, dds_gather_avx512;
dds_gather_two_fn dds_gather_two_sse2, dds_gather_two_avx2, dds_gather_two_avx512;
dds_copy_fn dds_copy_sse2, dds_copy_avx2, dds_copy_avx512;

#ifdef __cplusplus
}
#endif
