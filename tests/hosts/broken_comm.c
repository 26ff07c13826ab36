/* The network of the last host is cut, or the host crashes, while all ranks meet: a cut that heals
 * is waited out; what stays ends the meeting at its deadline.  DDSTORE_COLLECTIVE_TIMEOUT_S is set. */
#include <stdlib.h>

#include "places.h"

static double deadline(void) { return atof(getenv("DDSTORE_COLLECTIVE_TIMEOUT_S")); }

/* Everybody's numbers are right; whether rank 0 says that it was the last time. */
static bool exchange(int64_t round, bool last)
{
    const int64_t mine[3] = {my_rank, round, last};
    int64_t all[64][3];
    ok(dds_comm_allgather(world, mine, sizeof mine, all));
    for (int rank = 0; rank < ranks; rank++) {
        assert_int_equal(all[rank][0], rank);
        assert_int_equal(all[rank][1], round);
    }
    return all[0][2];
}

static void a_cut_that_heals_is_waited_out(void **state)
{
    (void)state;
    double longest = 0;
    bool last = false;
    begin_cut();
    const double end = seconds() + 5;
    for (int64_t round = 0; !last; round++) {
        const double begin = seconds();
        last = exchange(round, begin > end);
        const double took = seconds() - begin;
        longest = took > longest ? took : longest;
    }
    await_heal();
    print_message("rank %d: the longest took %.1f s\n", my_rank, longest);
    assert_true(longest > 1); /* the cut was felt */
}

/* All meet again and again until they cannot, which begins with `verb`. */
static void meet_until_it_ends(const char *verb)
{
    double begin = 0;
    int code = DDS_SUCCESS;
    for (int round = 0; code == DDS_SUCCESS; round++) {
        if (my_rank == 0 && round == 20)
            ask_for_last_host(verb);
        begin = seconds();
        code = dds_comm_barrier(world);
    }
    print_message("rank %d: a barrier ended with %s after %.1f s: %s\n", my_rank,
                  dds_error_name(code), seconds() - begin, dds_last_error());
    assert_true(code == DDS_ERR_TIMEOUT || code == DDS_ERR_PEER);
    assert_true(seconds() - begin < deadline() + 1);
    begin = seconds();
    assert_int_not_equal(dds_comm_barrier(world), DDS_SUCCESS); /* out of step for good */
    ok(dds_comm_free(&world));
    assert_true(seconds() - begin < 1);
    survive();
}

int main(int argc, char **argv)
{
    return run_breaks(argc, argv, a_cut_that_heals_is_waited_out, meet_until_it_ends);
}
