/*
 * progress.c - the progress line of a command.
 *
 * One lock protects the state and the terminal. Input that does not advance is
 * not shown: it is being typed, or a pipe waits.
 */
#include "cli/framework/progress.h"

#include "base/cpu.h"
#include "keylist/source.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define TICK 0.2 /* seconds between updates */

static struct {
    bool active, over, shown;
    pthread_t thread;
    pthread_mutex_t lock; /* recursive */
    pthread_cond_t ended;
    const char *command, *pass;
    const char *unit; /* of done and total; "": bytes; NULL: unknown */
    double delay, started, pass_started;
    uint64_t done, total, drawn; /* drawn: value of done in the last line */
} line;

static void erase(void)
{
    if (line.shown)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    line.shown = false;
}

/* Prints the percentage and the time left at the speed so far. */
static void draw_rest(double seconds)
{
    if (line.total > line.done)
        fprintf(stderr, ", %.0f %%, %.0f s left",
                100 * (double)line.done / (double)line.total,
                ceil(seconds / (double)line.done *
                     (double)(line.total - line.done)));
}

static void draw_amount(double seconds)
{
    double mb = (double)line.done / 1e6;

    if (line.unit[0])
        fprintf(stderr, ", %.0f of %.0f %s", (double)line.done,
                (double)line.total, line.unit);
    else
        fprintf(stderr, ", %.1f MB, %.1f MB/s", mb, mb / seconds);
    draw_rest(seconds);
}

static void draw(void)
{
    double now = um_seconds(), seconds = now - line.pass_started;

    if (now - line.started < line.delay || !line.pass)
        return;
    fprintf(stderr, "\rumbel %s: %s", line.command, line.pass);
    if (line.unit && line.done)
        draw_amount(seconds);
    else if (!line.unit && seconds >= 1)
        fprintf(stderr, ", %.0f s", seconds);
    fputs("\033[K", stderr);
    fflush(stderr);
    line.shown = true;
    line.drawn = line.done;
}

static void wait_for_tick(double seconds)
{
    struct timespec t;
    double end = um_seconds() + seconds;

    t.tv_sec = (time_t)end;
    t.tv_nsec = (long)((end - floor(end)) * 1e9);
    pthread_cond_timedwait(&line.ended, &line.lock, &t);
}

static bool stands_still(void)
{
    return line.unit && !line.unit[0] && line.drawn == line.done;
}

static void *draw_until_end(void *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&line.lock);
    for (double wait = line.delay; !line.over; wait = TICK) {
        wait_for_tick(wait);
        if (stands_still())
            erase();
        else if (!line.over)
            draw();
    }
    pthread_mutex_unlock(&line.lock);
    return NULL;
}

/* Starts the thread. Signals are blocked in it, since they are for the thread
 * that runs the command. */
static bool start_thread(void)
{
    pthread_mutexattr_t recursive;
    pthread_condattr_t monotonic;
    sigset_t all, old;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&line.lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&line.ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool fine = pthread_create(&line.thread, NULL, draw_until_end, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return fine;
}

void um_progress_begin(const um_args *args)
{
    const char *delay = getenv("UMBEL_PROGRESS_DELAY");

    if (args->common.no_progress || args->common.quiet ||
        !isatty(STDERR_FILENO))
        return;
    line.command = args->command->name;
    line.pass = "working";
    line.delay = delay ? strtod(delay, NULL) : 2;
    if (!(line.delay >= 0 && line.delay < 1e6))
        line.delay = 2;
    line.started = line.pass_started = um_seconds();
    line.active = start_thread();
}

void um_progress_end(void)
{
    if (!line.active)
        return;
    pthread_mutex_lock(&line.lock);
    line.over = true;
    erase();
    pthread_cond_signal(&line.ended);
    pthread_mutex_unlock(&line.lock);
    pthread_join(line.thread, NULL);
    line.active = false;
}

/* Updates the state. A new pass is drawn at once, amounts at the next tick. */
static void set_state(const char *pass, const char *unit, uint64_t done,
                      uint64_t total)
{
    if (!line.active)
        return;
    pthread_mutex_lock(&line.lock);
    bool changed = pass != line.pass;
    if (changed || done < line.done)
        line.pass_started = um_seconds();
    line.pass = pass;
    line.unit = unit;
    line.done = done;
    line.total = total;
    if (changed) {
        erase();
        draw();
    }
    pthread_mutex_unlock(&line.lock);
}

void um_progress_pass(const char *name)
{
    set_state(name, NULL, 0, 0);
}

void um_progress_steps(const char *pass, uint64_t done, uint64_t total,
                       const char *unit)
{
    set_state(pass, unit, done, total);
}

void um_progress_read(void *ctx, const char *pass, uint64_t done,
                      uint64_t total)
{
    (void)ctx;
    if (done == UM_NO_BYTES)
        um_progress_pass(pass);
    else if (pass)
        set_state(pass, "", done, total);
    else
        um_progress_pass("working");
}

void um_progress_pause(void)
{
    if (!line.active)
        return;
    pthread_mutex_lock(&line.lock);
    erase();
}

void um_progress_resume(void)
{
    if (line.active)
        pthread_mutex_unlock(&line.lock);
}

bool um_progress_shares_stdout(void)
{
    return line.active && isatty(STDOUT_FILENO);
}
