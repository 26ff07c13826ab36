/* What this process still has open when it leaves main: descriptors and threads it did not have at
 * its start, a line each in the file that DDS_TEST_REPORT names.  Linked into every test program;
 * as a library of its own it is preloaded into the others. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 65536 };

/* ThreadSanitizer's run-time has a thread of its own, which starts after at_start. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RUNTIME_THREADS 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define RUNTIME_THREADS 1
#endif
#ifndef RUNTIME_THREADS
#define RUNTIME_THREADS 0
#endif

static unsigned char open_at_start[kMost];
static int threads_at_start;
static pid_t owner;

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        n += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return n;
}

/* Calls `see` for each descriptor but the one that the walk itself uses. */
static void each_descriptor(void (*see)(int fd, FILE *to), FILE *to)
{
    DIR *all = opendir("/proc/self/fd");
    if (!all)
        return;
    for (struct dirent *entry; (entry = readdir(all));) {
        const int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(all) && fd < kMost && (!to || fd != fileno(to)))
            see(fd, to);
    }
    closedir(all);
}

static void remember(int fd, FILE *to)
{
    (void)to;
    open_at_start[fd] = 1;
}

/* The name of a unix socket, from /proc/net/unix by its inode. */
static void tell_socket(const char *link, FILE *to)
{
    unsigned long inode, found;
    if (sscanf(link, "socket:[%lu]", &inode) != 1)
        return;
    FILE *table = fopen("/proc/net/unix", "re");
    char line[512], name[256];
    while (table && fgets(line, sizeof line, table)) {
        if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu %255s", &found, name) == 2 && found == inode)
            fprintf(to, " %s", name);
    }
    if (table)
        fclose(table);
}

static void tell(int fd, FILE *to)
{
    if (open_at_start[fd])
        return;
    char path[64], link[256];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(path, link, sizeof link - 1);
    if (length < 0)
        return;
    link[length] = '\0';
    fprintf(to, "descriptor %d: %s", fd, link);
    tell_socket(link, to);
    fputc('\n', to);
}

__attribute__((constructor(101))) static void at_start(void)
{
    owner = getpid();
    if (getenv("DDS_TEST_REPORT"))
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a guard that is killed leaves no ranks behind */
    threads_at_start = count_threads() + RUNTIME_THREADS;
    each_descriptor(remember, NULL);
}

/* Runs after every other destructor and exit handler of the program. */
__attribute__((destructor(101))) static void at_end(void)
{
    const char *path = getenv("DDS_TEST_REPORT");
    if (!path || getpid() != owner)
        return;
    FILE *to = fopen(path, "we");
    if (!to)
        return;
    each_descriptor(tell, to);
    /* A thread that was joined stays in the list for a moment. */
    int threads = count_threads();
    for (int i = 0; threads > threads_at_start && i < 100; i++) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        threads = count_threads();
    }
    if (threads > threads_at_start)
        fprintf(to, "threads: %d more than at its start\n", threads - threads_at_start);
    fputs("end\n", to);
    fclose(to);
}
