/* The limit of reading rows on one node: a bare gather from base pointers, written without the
 * product.  A search over its variants (limit_gather.cpp) finds the best of them for a row size. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the rows are: base[r] + g * row is row g, which rank r holds (its first row is off). */
struct limit_shards {
    const char *const *base;
    const int64_t *first;   /* n + 1 of them: the first row of each rank, then the total */
    const uint16_t *bucket; /* the rank that holds row b << shift; used from three shards up */
    int n, shift;
    size_t row;
};

enum { LIMIT_MEMCPY, LIMIT_VECTOR, LIMIT_STREAM, LIMIT_STRING, LIMIT_COPIES };

struct limit_how {
    int copy;
    int list;     /* addresses first, then the copies; always from three shards up */
    size_t block; /* a longer row is cut into such blocks; 0: it is not */
    size_t ahead; /* bytes of the row stream that are prefetched ahead; 0: no prefetch */
};

typedef void limit_gather_fn(const struct limit_shards *shards, const int64_t *rows, int64_t n,
                             char *dst, const struct limit_how *how);
limit_gather_fn limit_gather_sse2, limit_gather_avx2, limit_gather_avx512;

/* One row: what a call that reads no more need not ask.  A function for each copy but the streaming
 * one, plain, and with all of the row prefetched first. */
typedef void limit_one_fn(const struct limit_shards *shards, int64_t g, char *dst);
struct limit_one {
    limit_one_fn *plain, *primed;
};
extern const struct limit_one limit_one_sse2[LIMIT_COPIES], limit_one_avx2[LIMIT_COPIES],
    limit_one_avx512[LIMIT_COPIES];

#ifdef __cplusplus
}
#endif
