/* Buffers that are told to be read into again and again. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { kRow = 128, kBatch = 32 };

static void a_registered_buffer_and_its_slices_are_read_into(void **state)
{
    (void)state;
    shards_t shards;
    int64_t rows[kBatch];
    uint64_t random = 1;
    const size_t bytes = 4 * kBatch * kRow;
    char *buffer = guarded_new(bytes, 0);
    add_shards(store, &shards, "x", kRow, 300, 95);
    ok(dds_register_recv(store, buffer, bytes));
    ok(dds_register_recv(store, buffer, bytes)); /* repeating is harmless */
    ok(dds_register_recv(store, buffer + kRow, kRow));
    for (int i = 0; i < 40; i++) {
        char *slice = buffer + (i % 4) * kBatch * kRow;
        random_rows(&shards, &random, kBatch, rows);
        ok(dds_get_batch(store, "x", kBatch, rows, slice, kBatch * kRow));
        check_batch(&shards, kBatch, rows, slice);
    }
    ok(dds_unregister_recv(store, buffer));
    ok(dds_get_batch(store, "x", kBatch, rows, buffer, kBatch * kRow)); /* as before */
    check_batch(&shards, kBatch, rows, buffer);
    ok(dds_register_recv(store, buffer, bytes)); /* again, and left for dds_free to end */
    guarded_free(buffer);
    drop_shards(store, &shards);
}

static void no_bytes_are_fine_and_no_buffer_is_not(void **state)
{
    (void)state;
    char byte;
    ok(dds_register_recv(store, &byte, 0));
    ok(dds_register_recv(store, NULL, 0));
    fails_plainly(dds_register_recv(store, NULL, 1), DDS_ERR_ARG);
}

static void what_is_not_registered_cannot_be_unregistered(void **state)
{
    (void)state;
    char bytes[16];
    fails_plainly(dds_unregister_recv(store, bytes), DDS_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bytes_are_fine_and_no_buffer_is_not),
        cmocka_unit_test(what_is_not_registered_cannot_be_unregistered),
        cmocka_unit_test(a_registered_buffer_and_its_slices_are_read_into),
    };
    return run_group_with_store(tests);
}
