#include "forks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct reading_s {
    const shards_t *shards;
    pthread_t threads[kReaders];
    atomic_int under_way;
    atomic_bool stop;
};

pid_t start_child(void (*body)(void))
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        body();
        _exit(0);
    }
    return child;
}

void ended(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

void in_child(void (*body)(void)) { ended(start_child(body)); }

static void *read_on(void *arg)
{
    reading_t *reading = arg;
    const shards_t *shards = reading->shards;
    char *out = must_alloc(shards->row_bytes);
    for (int64_t row = 0; !reading->stop; row = (row + 1) % total_rows(shards)) {
        ok(dds_get(store, shards->name, row, 1, out, (int64_t)shards->row_bytes));
        check_batch(shards, 1, &row, out);
        if (row == 0)
            reading->under_way++;
    }
    free(out);
    return NULL;
}

reading_t *start_reading(const shards_t *shards)
{
    reading_t *reading = must_alloc(sizeof *reading);
    reading->shards = shards;
    reading->under_way = 0;
    reading->stop = false;
    for (int i = 0; i < kReaders; i++)
        assert_int_equal(pthread_create(&reading->threads[i], NULL, read_on, reading), 0);
    while (reading->under_way < kReaders)
        sleep_ms(1);
    return reading;
}

void stop_reading(reading_t *reading)
{
    reading->stop = true;
    for (int i = 0; i < kReaders; i++)
        pthread_join(reading->threads[i], NULL);
    free(reading);
}
