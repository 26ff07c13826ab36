/* Version, errors and types: what needs neither a communicator nor a store. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

static void the_library_has_the_version_of_the_header(void **state)
{
    (void)state;
    int major = -1, minor = -1, patch = -1;
    dds_version(&major, &minor, &patch);
    assert_int_equal(major, DDSTORE_VERSION_MAJOR);
    assert_int_equal(minor, DDSTORE_VERSION_MINOR);
    assert_int_equal(patch, DDSTORE_VERSION_PATCH);
    dds_version(NULL, NULL, NULL);
}

static void every_code_has_its_own_text_and_the_name_of_its_macro(void **state)
{
    (void)state;
    static const char *const names[] = {
        "DDS_SUCCESS",      "DDS_ERR_ARG",         "DDS_ERR_RANGE",    "DDS_ERR_TYPE",
        "DDS_ERR_NOTFOUND", "DDS_ERR_EXISTS",      "DDS_ERR_MISMATCH", "DDS_ERR_OVERFLOW",
        "DDS_ERR_TIMEOUT",  "DDS_ERR_PEER",        "DDS_ERR_POISONED", "DDS_ERR_STALE",
        "DDS_ERR_CORRUPT",  "DDS_ERR_VERSION",     "DDS_ERR_PERM",     "DDS_ERR_NOSPC",
        "DDS_ERR_IO",       "DDS_ERR_NOMEM",       "DDS_ERR_LIMIT",    "DDS_ERR_STATE",
        "DDS_ERR_FORKED",   "DDS_ERR_INTERRUPTED", "DDS_ERR_DEVICE",   "DDS_ERR_UNSUPPORTED",
        "DDS_ERR_BUSY",     "DDS_ERR_TRUNCATED",   "DDS_ERR_INTERNAL"};
    for (int code = DDS_SUCCESS; code <= DDS_ERR_INTERNAL; code++) {
        assert_string_equal(dds_error_name(code), names[code]);
        assert_true(strlen(dds_strerror(code)) > 0);
        assert_ptr_equal(dds_strerror(code), dds_strerror(code));
        for (int other = DDS_SUCCESS; other < code; other++)
            assert_string_not_equal(dds_strerror(code), dds_strerror(other));
    }
}

static void any_other_number_has_a_text_too(void **state)
{
    (void)state;
    const int others[] = {-1, INT_MIN, INT_MAX, DDS_ERR_INTERNAL + 1, 1000};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_non_null(dds_strerror(others[i]));
        assert_non_null(dds_error_name(others[i]));
        assert_true(strlen(dds_strerror(others[i])) > 0);
        assert_string_not_equal(dds_error_name(others[i]), "DDS_SUCCESS");
    }
}

static void *fresh_thread(void *failed)
{
    const bool fresh = dds_last_error() && dds_last_error_rank() == -1;
    fails_plainly(dds_comm_barrier(NULL), DDS_ERR_STATE);
    *(bool *)failed = !fresh;
    return NULL;
}

static void the_detail_is_of_this_thread_and_stays_until_the_next_failure(void **state)
{
    (void)state;
    assert_non_null(dds_last_error());
    fails(dds_set_timeout(NULL, -5, 0), DDS_ERR_STATE, "");
    char mine[1024];
    snprintf(mine, sizeof mine, "%s", dds_last_error());
    assert_true(strlen(mine) > 0);

    bool failed = true;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fresh_thread, &failed), 0);
    pthread_join(thread, NULL);
    assert_false(failed);

    dds_comm_t self = NULL;
    ok(dds_comm_self(&self)); /* a success leaves the text alone */
    assert_string_equal(dds_last_error(), mine);
    ok(dds_comm_free(&self));
}

static void types_have_the_sizes_of_their_names(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
    for (int type = DDS_BOOL; type <= DDS_COMPLEX128; type++)
        assert_int_equal(dds_type_size(type), sizes[type]);
    assert_int_equal(dds_type_size(DDS_BYTES(1)), 1);
    assert_int_equal(dds_type_size(DDS_BYTES(12345)), 12345);
    assert_int_equal(dds_type_size(DDS_BYTES((1 << 30) - 1)), (1 << 30) - 1);
}

static void what_is_no_type_has_no_size(void **state)
{
    (void)state;
    const int none[] = {0,
                        -1,
                        INT_MIN,
                        INT_MAX,
                        DDS_COMPLEX128 + 1,
                        DDS_BYTES(0),
                        0x20000001,
                        (int)0x80000001u,
                        (int)0xc0000001u};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (none[i] != INT_MAX) /* DDS_BYTES(2^30 - 1) */
            assert_int_equal(dds_type_size(none[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_has_the_version_of_the_header),
        cmocka_unit_test(every_code_has_its_own_text_and_the_name_of_its_macro),
        cmocka_unit_test(any_other_number_has_a_text_too),
        cmocka_unit_test(the_detail_is_of_this_thread_and_stays_until_the_next_failure),
        cmocka_unit_test(types_have_the_sizes_of_their_names),
        cmocka_unit_test(what_is_no_type_has_no_size),
    };
    return run_alone(tests);
}
