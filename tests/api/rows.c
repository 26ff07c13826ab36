/* Rows that tell where they come from, and variables in uneven shards of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t random_next(uint64_t *state) { return mix(*state += 0x9e3779b97f4a7c15u); }

int64_t random_below(uint64_t *state, int64_t bound)
{
    return (int64_t)(random_next(state) % (uint64_t)bound);
}

static uint64_t seed_of(uint32_t variable, uint32_t generation, int64_t row)
{
    return mix(((uint64_t)variable << 32 | generation) + mix((uint64_t)row + 1));
}

static uint64_t word_of(uint64_t seed, size_t word) { return seed + word * 0x9e3779b97f4a7c15u; }

void fill_rows(void *to, uint32_t variable, uint32_t generation, int64_t first, int64_t nrows,
               size_t row_bytes)
{
    unsigned char *at = to;
    for (int64_t row = first; row < first + nrows; row++) {
        const uint64_t seed = seed_of(variable, generation, row);
        for (size_t done = 0; done < row_bytes; done += 8, at += 8) {
            const uint64_t word = word_of(seed, done / 8);
            const size_t part = row_bytes - done < 8 ? row_bytes - done : 8;
            memcpy(at, &word, part);
            if (part < 8)
                at -= 8 - part;
        }
    }
}

bool row_is(const void *from, uint32_t variable, uint32_t generation, int64_t row, size_t row_bytes)
{
    const unsigned char *at = from;
    const uint64_t seed = seed_of(variable, generation, row);
    uint64_t differs = 0;
    size_t done = 0;
    for (; done + 8 <= row_bytes; done += 8) {
        uint64_t word;
        memcpy(&word, at + done, 8);
        differs |= word ^ word_of(seed, done / 8);
    }
    const uint64_t last = word_of(seed, done / 8);
    return differs == 0 && memcmp(at + done, &last, row_bytes - done) == 0;
}

void check_row_(const void *at, uint32_t variable, uint32_t generation, int64_t row,
                size_t row_bytes, const char *file, int line)
{
    if (row_is(at, variable, generation, row, row_bytes))
        return;
    print_error("%s:%d: rank %d: not row %" PRId64 " of variable %u, generation %u, %zu bytes a "
                "row\n",
                file, line, my_rank, row, variable, generation, row_bytes);
    for (uint32_t other = 0; other < 8; other++)
        for (int64_t i = 0; i < 100000; i++)
            if (row_bytes >= 4 && row_is(at, variable, other, i, row_bytes))
                print_error("    it is row %" PRId64 " of generation %u\n", i, other);
    _fail(file, line);
}

void add_shards(dds_store_t to, shards_t *shards, const char *name, size_t row_bytes, int64_t rows,
                uint64_t seed)
{
    *shards = (shards_t){.name = name, .variable = (uint32_t)mix(seed), .row_bytes = row_bytes};
    uint64_t state = seed;
    for (int rank = 0; rank < ranks; rank++) {
        const int64_t most = 2 * rows / ranks + 1;
        const int64_t mine = random_below(&state, 5) == 0 ? 0 : random_below(&state, most);
        shards->first[rank + 1] = shards->first[rank] + mine;
    }
    if (total_rows(shards) == 0) /* at least one row, on the last rank */
        shards->first[ranks] = rows > 0 ? rows : 1;
    const int64_t mine = shards->first[my_rank + 1] - shards->first[my_rank];
    shards->memory = must_alloc((size_t)mine * row_bytes);
    fill_rows(shards->memory, shards->variable, 0, shards->first[my_rank], mine, row_bytes);

    dds_var_options_t options = DDS_VAR_OPTIONS_INIT;
    if (path_under_test() == DDS_PATH_CMA)
        options.flags = DDS_NOCOPY;
    ok(dds_add(to, name, mine, (int64_t)row_bytes, DDS_UINT8, shards->memory, &options));
    if (!options.flags) { /* copied: the caller's is free at once */
        memset(shards->memory, 0xee, (size_t)mine * row_bytes);
        free(shards->memory);
        shards->memory = NULL;
    }
}

void drop_shards(dds_store_t from, shards_t *shards)
{
    ok(dds_drop(from, shards->name));
    meet(); /* no rank still reads this memory */
    free(shards->memory);
    shards->memory = NULL;
}

int owner_of(const shards_t *shards, int64_t row)
{
    for (int rank = 0;; rank++)
        if (row < shards->first[rank + 1])
            return rank;
}

int64_t random_rows(const shards_t *shards, uint64_t *state, int64_t n, int64_t *rows)
{
    int64_t own = 0;
    for (int64_t i = 0; i < n; i++) {
        rows[i] = random_below(state, total_rows(shards));
        own += owner_of(shards, rows[i]) == my_rank;
    }
    return own;
}

void check_batch_(const shards_t *shards, int64_t n, const int64_t *rows, const void *out,
                  const char *file, int line)
{
    for (int64_t i = 0; i < n; i++)
        check_row_((const char *)out + (size_t)i * shards->row_bytes, shards->variable,
                   shards->generation, rows[i], shards->row_bytes, file, line);
}
