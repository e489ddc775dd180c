/*
 * progress.c - amount, rate and time left, only on a terminal.
 */
#include "cli/progress.h"

#include "base/clock.h"

#include <unistd.h>

bool um_shows_progress(const um_args *args)
{
    return !args->common.no_progress && !args->common.quiet &&
           isatty(STDERR_FILENO);
}

static void show_line(uint64_t done, uint64_t total, double seconds)
{
    double rate = (double)done / seconds;

    fprintf(stderr, "\r%.1f MB, %.1f MB/s", (double)done / 1e6, rate / 1e6);
    if (total > done)
        fprintf(stderr, ", %.0f %%, %.0f s left ",
                100 * (double)done / (double)total,
                (double)(total - done) / rate);
    fputs("\033[K", stderr);
    fflush(stderr);
}

void um_show_progress(void *ctx, uint64_t done, uint64_t total, bool ended)
{
    static double started, shown;
    double now = um_seconds();

    (void)ctx;
    if (done == 0 && !ended) {
        started = shown = now;
    } else if (ended) {
        if (shown > started)
            fputs("\r\033[K", stderr);
    } else if (now - started >= 1 && now - shown >= 0.2) {
        shown = now;
        show_line(done, total, now - started);
    }
}
