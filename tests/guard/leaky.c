/* A program that leaves behind what its argument says, or fails: the guard must tell. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void *sleeps(void *arg)
{
    pause();
    return arg;
}

static void bind_abstract(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    memcpy(to.sun_path, "\0left-here", 10);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (bind(fd, (struct sockaddr *)&to, offsetof(struct sockaddr_un, sun_path) + 10) != 0)
        exit(2);
}

static void touch(const char *path)
{
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (fd < 0)
        exit(2);
    close(fd);
}

/* A daemon: out of the session, no child of ours any more. */
static void leave_daemon(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            bind_abstract();
            pause();
        }
        _exit(0);
    }
    wait(NULL);
    usleep(100000);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const int rank = atoi(getenv("DDS_TEST_RANK"));
    char path[512];
    pthread_t thread;
    snprintf(path, sizeof path, "%s/left", getenv("DDS_TEST_DIR"));

    if (!strcmp(what, "descriptor"))
        return open("/dev/null", O_RDONLY) < 0;
    if (!strcmp(what, "memfd"))
        return memfd_create("left", MFD_CLOEXEC) < 0;
    if (!strcmp(what, "socket"))
        return bind_abstract(), 0;
    if (!strcmp(what, "thread"))
        return pthread_create(&thread, NULL, sleeps, NULL);
    if (!strcmp(what, "child"))
        return fork() == 0 ? pause() : 0;
    if (!strcmp(what, "zombie"))
        return fork() == 0 ? _exit(0), 0 : usleep(50000);
    if (!strcmp(what, "daemon"))
        return leave_daemon(), 0;
    if (!strcmp(what, "shm"))
        return touch("/dev/shm/left-here"), 0;
    if (!strcmp(what, "sysv"))
        return shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) < 0;
    if (!strcmp(what, "file"))
        return touch(path), 0;
    if (!strcmp(what, "hang"))
        return rank == 0 ? 0 : pause();
    if (!strcmp(what, "fail-then-hang"))
        return rank == 0 ? 3 : pause();
    if (!strcmp(what, "crash"))
        return raise(SIGSEGV);
    if (!strcmp(what, "unreported"))
        _exit(0);
    if (!strcmp(what, "skip"))
        return 77;
    if (!strcmp(what, "skip-one"))
        return rank == 0 ? 77 : 0;
    if (!strcmp(what, "kill-me") && rank == 1)
        return raise(SIGKILL);
    return 0;
}
