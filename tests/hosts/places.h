/* On which host the ranks of a test are, and what the test does to the hosts (hosts.py). */
#ifndef PLACES_H
#define PLACES_H

#include "support.h"

int open_places(void **state);           /* `world`, on more than one host */
int open_places_and_store(void **state); /* ... and `store` */
int host_of(int rank); /* hosts count from 1 in the order of their first ranks, as hosts.py's do */
int last_host(void);

/* Let hosts.py "cut", "heal" or "crash" the last host; returns when it is done. */
void ask_for_last_host(const char *verb);
void slow_last_host(const char *rate); /* in both directions; "off" for all that there is */
/* The same from a thread of rank 0: a cut half a second from now that heals after three. */
void begin_cut(void);
void await_heal(void);

/* A program whose cases break hosts: `heals` sees a cut that heals, `ends` does to the last host what
 * it is given, "cut" or "crash", and sees everything end.  Runs the case that argv[1] names. */
int run_breaks(int argc, char **argv, CMUnitTestFunction heals, void (*ends)(const char *verb));

/* Leave word that this rank has passed, and wait for the end of all: after a cut or a crash no MPI
 * ends a job in order. */
_Noreturn void survive(void);

#endif
