/* Ranks that are children of the test, which kills, stops and watches them. */
#ifndef FAMILY_H
#define FAMILY_H

#include <stdatomic.h>
#include <sys/types.h>

#include "support.h"

enum { kFamilyMost = 8 };

/* What the ranks and their parent share. */
typedef struct shared_s {
    char dir[4096];         /* where the ranks meet */
    atomic_int ready;       /* ranks that got as far as they wanted to */
    atomic_int go;          /* set by the parent */
    atomic_int victim;      /* the rank that is killed or stopped */
    atomic_llong struck_at; /* when, in ns; 0: not yet */
    atomic_int code[kFamilyMost];
} shared_t;

typedef struct family_s {
    int n;
    pid_t pid[kFamilyMost];
    char dir[4096]; /* where they meet */
    bool bare;      /* the ranks open their communicator themselves */
    shared_t *shared;
} family_t;

/* Fork `n` ranks; each runs `body` with `world` open, and ends well where that returns.  The text of
 * DDS_TEST_POINT is DDSTORE_FAILPOINT in the rank DDS_TEST_POINT_RANK; the points that each rank
 * passes go to the file DDS_TEST_TRACE with the rank as suffix. */
void family_start(family_t *family, int n, void (*body)(shared_t *shared));
void family_await_ready(family_t *family, int n);
/* Send `signal` to one of them; SIGKILL is what family_end then expects of it. */
void family_strike(family_t *family, int rank, int signal);
/* Wait for all; each must have ended well, but the one that was killed. */
void family_end(family_t *family, int killed);

int faulty_rank(void);
long long now_ns(void);
uint64_t seed_of_test(void); /* DDS_TEST_SEED, or fresh; printed, so that a failure can be redone */

#endif
