/* Forked children, and threads of the parent that read meanwhile. */
#ifndef FORKS_H
#define FORKS_H

#include <sys/types.h>

#include "support.h"

/* Runs `body` in a child; what it asserts is told by the child's end. */
pid_t start_child(void (*body)(void));
void ended(pid_t child); /* well */
void in_child(void (*body)(void));

/* Threads that read rows of `shards` from `store`, one by one; all of them do when this returns. */
enum { kReaders = 3 };
typedef struct reading_s reading_t;
reading_t *start_reading(const shards_t *shards);
void stop_reading(reading_t *reading);

/* Skips a test that forks while other threads work: a sanitizer's allocator may be locked by one of
 * them, and stays so in the child. */
#define needs_an_allocator_that_may_be_forked() \
    do {                                        \
        if (DDS_SANITIZED)                      \
            skip();                             \
    } while (0)

#endif
