/* A program that runs with more rights than its caller trusts nothing of the caller's environment
 * (AT_SECURE).  Copies itself setuid to another user, runs the copy with a variable that is an
 * error everywhere else, and expects the store to open.  Needs root: skipped (77) without.
 * Usage: privileged DIRECTORY */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ddstore.h"

enum { kNobody = 65534, kSkip = 77 };

/* Opens a store and tells the code. */
static int open_store(void)
{
    dds_comm_t comm = NULL;
    dds_store_t store = NULL;
    int code = dds_comm_self(&comm);
    if (code == DDS_SUCCESS)
        code = dds_init(comm, NULL, &store);
    dds_free(&store);
    dds_comm_free(&comm);
    return code;
}

static int copy_setuid(const char *to)
{
    const int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    struct stat size;
    if (in < 0 || out < 0 || fstat(in, &size) != 0)
        return -1;
    for (off_t left = size.st_size; left > 0;) {
        const ssize_t sent = sendfile(out, in, NULL, (size_t)left);
        if (sent <= 0)
            return -1;
        left -= sent;
    }
    /* The owner first: a change of owner clears the bit. */
    const int bad = fchown(out, kNobody, kNobody) || fchmod(out, 04755);
    close(in);
    close(out);
    return bad ? -1 : 0;
}

/* What the program at `path` ends with; -1 where it did not end by itself. */
static int status_of(const char *path)
{
    const pid_t child = fork();
    if (child == 0) {
        execl(path, path, "--open", (char *)NULL);
        _exit(126);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--open") == 0)
        return open_store() + (getauxval(AT_SECURE) ? 100 : 0);
    if (argc != 2)
        return 2;
    if (geteuid() != 0) {
        printf("skipped: only root can make a program of another user\n");
        return kSkip;
    }
    char place[4096], copy[4200];
    snprintf(place, sizeof place, "%s/privileged-XXXXXX", argv[1]);
    if (!mkdtemp(place) || chmod(place, 0711) != 0) {
        perror(place);
        return 1;
    }
    snprintf(copy, sizeof copy, "%s/copy", place);
    setenv("DDSTORE_TIMEOUT_S", "junk", 1);
    const int made = copy_setuid(copy);
    const int plain = status_of("/proc/self/exe");
    const int secure = made == 0 ? status_of(copy) : -1;
    unlink(copy);
    rmdir(place);
    printf("as itself: %s; with another user's rights: %d (100: opened, AT_SECURE)\n",
           dds_error_name(plain), secure);
    if (plain != DDS_ERR_ARG) {
        fprintf(stderr, "junk in DDSTORE_TIMEOUT_S was not refused\n");
        return 1;
    }
    if (secure >= 0 && secure < 100) {
        printf("skipped: setuid has no effect here (nosuid)\n");
        return kSkip;
    }
    return secure == 100 ? 0 : 1;
}
