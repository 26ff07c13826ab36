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

/* Which rows lie where.  Row g of a shard whose address is `base` lies at base + g * row. */
struct dds_cut {
    uint64_t total;               /* rows */
    uint64_t own_first, own_rows; /* of this rank */
    int32_t shards;
    int32_t shift;           /* three and more: a bucket is 2^shift rows, */
    const uint16_t *buckets; /* and has the shard of its first row */
    const int64_t *starts;   /* a shard's first row, and one more */
    const char *const *bases;
    const char *base; /* at most two: the first shard's base, */
    intptr_t apart;   /* what is further to the second's, */
    int64_t split;    /* and its first row */
};

/* Copy rows[i] to dst + i * row for n rows of at most DDS_TINY_ROW bytes, by the widest registers: the
 * addresses are found on the way, which for such rows costs less than a list of them.  Row i + lead,
 * at most DDS_MOST_LEAD further, is prefetched while row i is copied.  Returns how many are this
 * rank's own, or -1 where one is not within total, before a byte is copied. */
enum { DDS_TINY_ROW = 64, DDS_MOST_LEAD = 128 };
typedef int64_t dds_gather_tiny_fn(const struct dds_cut *cut, const int64_t *rows, int64_t n,
                                   size_t row, char *dst, int64_t lead);

/* Copy one row by the widest registers. */
typedef void dds_copy_fn(char *dst, const char *src, size_t row);

dds_gather_fn dds_gather_sse2, dds_gather_avx2, dds_gather_avx512;
dds_gather_tiny_fn dds_gather_tiny_sse2, dds_gather_tiny_avx2, dds_gather_tiny_avx512;
dds_copy_fn dds_copy_sse2, dds_copy_avx2, dds_copy_avx512;

#ifdef __cplusplus
}
#endif
