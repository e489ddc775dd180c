/*
 * progress.c - share, rate and time left, only on a terminal.
 */
#include "cli/progress.h"

#include "base/clock.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct um_progress {
    uint64_t done, total; /* bytes; total 0: not known */
    double started, shown;
};

/* 0 as soon as one length is not known. */
static uint64_t total_len(const char *const *paths, size_t npaths)
{
    uint64_t sum = 0;
    struct stat st;

    for (size_t i = 0; i < npaths; i++) {
        if (stat(paths[i], &st) != 0 || !S_ISREG(st.st_mode))
            return 0;
        sum += (uint64_t)st.st_size;
    }
    return sum;
}

um_progress *um_progress_open(const um_args *args, const char *const *paths,
                              size_t npaths)
{
    if (um_has(args, "no-progress") || um_has(args, "quiet") || !isatty(2))
        return NULL;
    um_progress *p = calloc(1, sizeof *p);
    if (p) {
        p->total = total_len(paths, npaths);
        p->started = p->shown = um_seconds();
    }
    return p;
}

static void show(const um_progress *p, double seconds)
{
    double rate = (double)p->done / seconds;

    fprintf(stderr, "\r%.1f MB, %.1f MB/s", (double)p->done / 1e6, rate / 1e6);
    if (p->total > p->done)
        fprintf(stderr, ", %.0f %%, %.0f s left ",
                100 * (double)p->done / (double)p->total,
                (double)(p->total - p->done) / rate);
    fputs("\033[K", stderr);
    fflush(stderr);
}

void um_progress_tell(um_progress *p, uint64_t bytes)
{
    if (!p)
        return;
    p->done += bytes;
    double t = um_seconds();
    if (t - p->started < 1 || t - p->shown < 0.2)
        return;
    p->shown = t;
    show(p, t - p->started);
}

void um_progress_close(um_progress *p)
{
    if (p && p->shown > p->started)
        fputs("\r\033[K", stderr);
    free(p);
}
