/* A rank that comes very late to a collective: after 30 s the log names it, once, and the call goes
 * on waiting and succeeds. */
#include <stdio.h>
#include <string.h>

#include "support.h"

static int named;

static void listen(void *ctx, int level, const char *text)
{
    (void)level;
    if (strstr(text, ctx))
        named++;
}

static void the_log_names_the_missing_rank_once_after_30_s(void **state)
{
    (void)state;
    char late[16];
    snprintf(late, sizeof late, "%d", ranks - 1);
    ok(dds_set_log(listen, late));
    if (my_rank == ranks - 1)
        sleep_ms(31000);
    named = 0;
    ok(dds_epoch_begin(store));
    assert_int_equal(named, my_rank == ranks - 1 ? 0 : 1);
    ok(dds_set_log(NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_names_the_missing_rank_once_after_30_s),
    };
    return run_group_with_store(tests);
}
