/* Who may do what with shared memory: readers cannot write, resize or reopen it; other users are
 * refused at the door. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { kRow = 4096, kRows = 300 }; /* more than the first arena's least */

typedef struct mapping_s {
    char *start, *end;
    char access[8], path[128];
    unsigned long inode;
} mapping_t;

/* The mappings of memfds in this process. */
static int memfd_mappings(mapping_t *all, int most)
{
    char line[512];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (n < most && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        mapping_t *at = &all[n];
        if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %127s", &start, &end, at->access, &at->inode,
                   at->path) == 5 &&
            strncmp(at->path, "/memfd:", 7) == 0) {
            at->start = (char *)start;
            at->end = (char *)end;
            n++;
        }
    }
    fclose(maps);
    return n;
}

static void a_reader_cannot_write_what_it_maps(void **state)
{
    (void)state;
    mapping_t maps[64];
    int read_only = 0;
    const int n = memfd_mappings(maps, 64);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        assert_int_equal(maps[i].access[2], '-'); /* never executable */
        assert_int_equal(maps[i].access[3], 's');
        if (maps[i].access[1] == 'w')
            continue; /* own shards, and the control page */
        read_only++;
        const size_t bytes = (size_t)(maps[i].end - maps[i].start);
        errno = 0;
        assert_int_equal(mprotect(maps[i].start, bytes, PROT_READ | PROT_WRITE), -1);
        assert_true(errno == EACCES || errno == EPERM);
    }
    assert_true(read_only >= ranks - 1); /* the peers' arenas */
}

/* Opens each memfd of rank `pid` again and tries to write through it. */
static int reopened(pid_t pid)
{
    int tried = 0;
    for (int fd = 3; fd < 256; fd++) {
        char path[64], link[128];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
        const ssize_t length = readlink(path, link, sizeof link - 1);
        if (length < 7 || strncmp(link, "/memfd:", 7) != 0)
            continue;
        link[length] = '\0';
        for (int mode = 0; mode < 2; mode++) {
            const int again = open(path, mode ? O_RDWR : O_RDONLY);
            if (again < 0)
                continue;
            const int seals = fcntl(again, F_GET_SEALS);
            assert_true(seals >= 0 && (seals & F_SEAL_SHRINK) && (seals & F_SEAL_GROW));
            if (!(seals & F_SEAL_FUTURE_WRITE)) {
                close(again);
                continue; /* the control page, which all ranks write */
            }
            tried++;
            assert_true(seals & F_SEAL_SEAL);
            assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) ==
                        MAP_FAILED);
            assert_int_equal(pwrite(again, "x", 1, 0), -1);
            assert_int_equal(ftruncate(again, 0), -1);
            assert_int_equal(ftruncate(again, 1 << 30), -1);
            assert_int_equal(fallocate(again, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
                             -1);
            close(again);
        }
    }
    return tried;
}

static void a_shard_that_is_opened_again_cannot_be_written_or_resized(void **state)
{
    (void)state;
    pid_t pid = getpid(), pids[64];
    ok(dds_comm_allgather(world, &pid, sizeof pid, pids));
    for (int rank = 0; rank < ranks; rank++)
        assert_true(reopened(pids[rank]) > 0);
    meet(); /* none ends before all have looked */
}

static void shards_have_no_name(void **state)
{
    (void)state;
    mapping_t maps[64];
    const int n = memfd_mappings(maps, 64);
    for (int i = 0; i < n; i++)
        assert_int_not_equal(access(maps[i].path, F_OK), 0);
}

/* Abstract SEQPACKET sockets that listen in this network namespace. */
static int doors(char names[][128], int most)
{
    char line[512];
    int n = 0;
    FILE *table = fopen("/proc/net/unix", "r");
    assert_non_null(table);
    while (n < most && fgets(line, sizeof line, table)) {
        unsigned flags, type;
        char name[128];
        if (sscanf(line, "%*s %*s %*s %x %x %*s %*s %127s", &flags, &type, name) == 3 &&
            type == SOCK_SEQPACKET && (flags & 0x10000) && name[0] == '@')
            strcpy(names[n++], name);
    }
    fclose(table);
    return n;
}

/* Another user knocks at every door: none answers with more than its end. */
static int knock(void)
{
    char names[32][128];
    int n = 0, knocked = 0;
    for (const double end = seconds() + 2; n == 0 && seconds() < end; sleep_ms(1))
        n = doors(names, 32);
    for (int i = 0; i < n; i++) {
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        const size_t length = strlen(names[i]);
        memcpy(to.sun_path, names[i], length);
        for (size_t k = 0; k < length; k++)
            if (to.sun_path[k] == '@')
                to.sun_path[k] = '\0';
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        if (connect(fd, (struct sockaddr *)&to,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0) {
            char data[256], control[256];
            struct iovec iov = {data, sizeof data};
            struct msghdr message = {.msg_iov = &iov,
                                     .msg_iovlen = 1,
                                     .msg_control = control,
                                     .msg_controllen = sizeof control};
            send(fd, "hello", 5, MSG_NOSIGNAL);
            knocked++;
            if (recvmsg(fd, &message, 0) > 0)
                return message.msg_controllen ? 3 : 2; /* a descriptor, or some word, to us */
        }
        close(fd);
    }
    return knocked ? 0 : 4;
}

static void another_user_is_refused_at_the_door(void **state)
{
    (void)state;
    if (ranks == 1)
        skip();
    dds_store_t opened = NULL;
    pid_t child = 0;
    meet();
    if (my_rank == ranks - 1) { /* comes late: the others' doors stand open meanwhile */
        if (geteuid() == 0) {
            child = fork();
            if (child == 0) {
                if (setgid(65534) != 0 || setuid(65534) != 0)
                    _exit(5);
                _exit(knock());
            }
        }
        sleep_ms(300);
    }
    ok(dds_init(world, NULL, &opened));
    char byte = (char)my_rank, out[64];
    ok(dds_add(opened, "x", 1, 1, DDS_INT8, &byte, NULL));
    ok(dds_get(opened, "x", 0, ranks, out, sizeof out));
    for (int rank = 0; rank < ranks; rank++)
        assert_int_equal(out[rank], rank);
    if (child > 0) {
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    close_store(&opened);
    if (my_rank == ranks - 1 && geteuid() != 0)
        print_message("no other user to try with: not root\n");
}

static void no_door_stands_open_once_the_ranks_have_met(void **state)
{
    (void)state;
    char names[32][128];
    meet();
    assert_int_equal(doors(names, 32), 0);
    meet();
}

static int open_all(void **state)
{
    static char data[kRows * kRow];
    open_world_and_store(state);
    fill_rows(data, 1, 0, my_rank * kRows, kRows, kRow);
    ok(dds_add(store, "x", kRows, kRow, DDS_UINT8, data, NULL));
    ok(dds_get(store, "x", (my_rank + 1) % ranks * kRows, kRows, data, sizeof data));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_cannot_write_what_it_maps),
        cmocka_unit_test(a_shard_that_is_opened_again_cannot_be_written_or_resized),
        cmocka_unit_test(shards_have_no_name),
        cmocka_unit_test(no_door_stands_open_once_the_ranks_have_met),
        cmocka_unit_test(another_user_is_refused_at_the_door),
    };
    return cmocka_run_group_tests(tests, open_all, close_world_and_store);
}
