/*
 * store.c - the clearinghouse's store: bytes on disk, restarts, snapshots.
 *
 *     bench_store [DIGESTS [KIND [DIR]]]
 *
 * DIGESTS (1,000,000) digests with both counts, as of Pyzor. A restart is
 * compared with reading the same files into memory; the best of several, from
 * the page cache. DIR (/tmp) is where the data go, and are removed.
 */
#define _DEFAULT_SOURCE
#include "store/store.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/rng.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 30, T0 = 1000000, SOME = 64, ONE_REPORT = 2 * SOME * 24 + 48 };

static char dir[PATH_MAX];
static um_list_config lists[2];
static umbel_error err;

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void need(umbel_status status)
{
    if (status != UMBEL_OK) {
        fprintf(stderr, "bench_store: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
}

/* The first tick that something happened before: the journal is begun. */
static void wait_journal(um_store *s)
{
    struct pollfd event = {.fd = um_store_event(s), .events = POLLIN};

    poll(&event, 1, -1);
    um_store_tick(s, T0);
}

static um_store *open_store(void)
{
    um_store_config c = {.dir = dir,
                         .durability = UM_DURABILITY_NONE,
                         .lists = lists,
                         .nlists = UM_COUNT(lists)};
    um_store *s;

    need(um_store_open(&c, T0, &s, &err));
    return s;
}

static umbel_digest digest_of(uint64_t i)
{
    um_rng r = {i * 7919};
    return (umbel_digest){um_random(&r), um_random(&r)};
}

/* Counts n digests in both lists, from there on. */
static void report(um_store *s, uint64_t from, uint64_t n)
{
    um_entry e[2 * SOME];
    uint64_t ticket;

    for (uint64_t i = from; i < from + n; i += SOME) {
        size_t k = 0;
        for (uint64_t j = i; j < i + SOME && j < from + n; j++) {
            e[k++] = (um_entry){0, 1, digest_of(j), 0, 0};
            e[k++] = (um_entry){1, 1, digest_of(j), 0, 0};
        }
        need(um_store_add(s, e, k, T0, &ticket, &err));
        need(um_store_flush(s, &err));
    }
}

static um_store_stats stats_of(const um_store *s)
{
    um_store_stats st;
    um_store_stats_get(s, &st);
    return st;
}

/* --- files --------------------------------------------------------------- */

typedef struct reading {
    double wall, cpu;
    uint64_t bytes;
} reading;

static void read_file(const char *path, bool keep, reading *r)
{
    static char buffer[1 << 18];
    int fd = open(path, O_RDONLY);
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) != 0)
        exit(EXIT_FAILURE);
    char *all = keep ? malloc((size_t)st.st_size + 1) : NULL;
    size_t at = 0;
    while ((n = read(fd, keep ? all + at : buffer, sizeof buffer)) > 0)
        at += (size_t)n;
    r->bytes += at;
    free(all);
    close(fd);
}

/* Reads all files, into one buffer or (keep) into memory for all of them. */
static reading read_all(bool keep)
{
    reading r = {um_seconds(), cpu_seconds(), 0};
    DIR *d = opendir(dir);
    struct dirent *e;
    char path[PATH_MAX + 256];

    while (d && (e = readdir(d)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (strchr(e->d_name, '-'))
            read_file(path, keep, &r);
    }
    if (d)
        closedir(d);
    r.wall = um_seconds() - r.wall;
    r.cpu = cpu_seconds() - r.cpu;
    return r;
}

static void remove_all(void)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    char path[PATH_MAX + 256];

    while (d && (e = readdir(d)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.')
            unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

static reading better(reading a, reading b)
{
    return (reading){a.wall < b.wall ? a.wall : b.wall,
                     a.cpu < b.cpu ? a.cpu : b.cpu, b.bytes};
}

/* --- measurements -------------------------------------------------------- */

static reading restart_once(void)
{
    reading r = {um_seconds(), cpu_seconds(), 0};
    um_store *s = open_store();

    r.wall = um_seconds() - r.wall;
    r.cpu = cpu_seconds() - r.cpu;
    um_store_close(s);
    return r;
}

/* Each start leaves an empty journal, which the next one reads: 64 bytes. */
static void measure_restart(const char *what)
{
    reading open = {1e9, 1e9, 0}, into = {1e9, 1e9, 0}, through = {1e9, 1e9, 0};

    for (int i = 0; i < ROUNDS; i++) {
        through = better(through, read_all(false));
        into = better(into, read_all(true));
        open = better(open, restart_once());
    }
    printf("%s: %.1f MB. Restart %.1f ms (CPU %.1f), reading into memory %.1f "
           "(%.1f), through a buffer %.1f (%.1f): ratio %.2f (CPU %.2f), "
           "%.2f (%.2f)\n",
           what, (double)into.bytes / 1e6, open.wall * 1e3, open.cpu * 1e3,
           into.wall * 1e3, into.cpu * 1e3, through.wall * 1e3,
           through.cpu * 1e3, open.wall / into.wall, open.cpu / into.cpu,
           open.wall / through.wall, open.cpu / through.cpu);
}

/* Asks while a snapshot is taken, and prints the longest pauses. */
static void measure_snapshot(um_store *s)
{
    uint64_t before = stats_of(s).snapshots, asked = 0, count;
    double start = um_seconds(), last = start, longest = 0, fork_pause = 0;

    um_store_request_snapshot(s);
    while (stats_of(s).snapshots == before) {
        umbel_digest d = digest_of(asked++);
        um_store_count(s, 0, &d, 1, &count);
        if (asked % 1024 == 0)
            um_store_tick(s, T0);
        double now = um_seconds();
        if (asked % 1024 == 0 && now - last > fork_pause)
            fork_pause = now - last;
        else if (asked % 1024 != 0 && now - last > longest)
            longest = now - last;
        last = now;
    }
    printf("snapshot: %.1f MB in %.0f ms, %llu look-ups meanwhile, longest "
           "pause of ticks (fork) %.2f ms, of others %.2f ms\n",
           (double)stats_of(s).snapshot_bytes / 1e6, (last - start) * 1e3,
           (unsigned long long)asked, fork_pause * 1e3, longest * 1e3);
}

static void describe(const char *kind, uint64_t n)
{
    lists[0] = (um_list_config){.name = "reports",
                                .kind = kind,
                                .capacity = n,
                                .error = 1e-5,
                                .epoch_seconds = 2592000,
                                .epochs = 4,
                                .cell_bits = 16,
                                .recent_column = 1};
    lists[1] = lists[0];
    lists[1].name = "whitelist";
    lists[1].recent_column = 2;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

    describe(argc > 2 ? argv[2] : "table", n);
    snprintf(dir, sizeof dir, "%s/bench-store-XXXXXX",
             argc > 3 ? argv[3] : "/tmp");
    if (!mkdtemp(dir))
        exit(EXIT_FAILURE);
    um_store *s = open_store();
    wait_journal(s);
    double cpu = cpu_seconds();
    report(s, 0, n);
    cpu = cpu_seconds() - cpu;
    printf("%llu digests, both counts, kind %s: %.0f ns of CPU a count\n",
           (unsigned long long)n, lists[0].kind, cpu * 1e9 / 2 / (double)n);
    measure_snapshot(s);
    um_store_stats st = stats_of(s);
    printf("on disk: %.1f bytes a digest\n",
           (double)(st.snapshot_bytes + st.journal_bytes) / (double)n);
    um_store_close(s);
    measure_restart("after a snapshot");
    s = open_store();
    wait_journal(s);
    while (stats_of(s).journal_bytes + ONE_REPORT < stats_of(s).journal_limit)
        report(s, 0, SOME);
    um_store_close(s);
    measure_restart("before the next");
    remove_all();
    return EXIT_SUCCESS;
}
