/*
 * log.c - a rate-limited log for people.
 */
#include "clearinghouse/runtime/log.h"

#include "base/text.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

void um_log_init(um_log *l, uint64_t now)
{
    *l = (um_log){
        .to = stderr, .now = now, .dated = getenv("JOURNAL_STREAM") == NULL};
}

/* Returns true if a line can be written without blocking: a pipe that nobody
 * reads must not stop the server. */
static bool is_writable(FILE *to)
{
    struct pollfd p = {.fd = fileno(to), .events = POLLOUT};

    return p.fd < 0 || poll(&p, 1, 0) != 0;
}

static void write_line(um_log *l, char *line)
{
    char date[32] = "";
    time_t seconds = (time_t)l->now;
    struct tm t;

    if (!is_writable(l->to)) {
        l->lost++;
        return;
    }
    if (l->dated && gmtime_r(&seconds, &t))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ ", &t);
    um_disarm(line);
    if (l->lost)
        fprintf(l->to, "%s%llu lines of the log were lost\n", date,
                (unsigned long long)l->lost);
    l->lost = 0;
    fprintf(l->to, "%s%s\n", date, line);
    fflush(l->to);
}

__attribute__((format(printf, 2, 0))) static void
write_formatted(um_log *l, const char *format, va_list args)
{
    char line[UM_LOG_LINE_LEN];

    vsnprintf(line, sizeof line, format, args);
    write_line(l, line);
}

void um_log_event(um_log *l, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_formatted(l, format, args);
    va_end(args);
}

void um_log_warning(void *ctx, const char *file, size_t line, const char *what)
{
    if (line)
        um_log_event(ctx, "%s:%zu: %s", file, line, what);
    else
        um_log_event(ctx, "%s: %s", file, what);
}

/* Ends the interval of a topic, if it is over. Restarts it if the clock was set
 * back. */
static void end_interval(um_log *l, um_log_topic *t)
{
    if (l->now < t->since)
        t->since = l->now;
    if (l->now - t->since < UM_LOG_INTERVAL)
        return;
    if (t->left_out)
        um_log_event(l, "%s: %s: %llu more like this in %llu s", t->source,
                     t->name, (unsigned long long)t->left_out,
                     (unsigned long long)(l->now - t->since));
    t->since = l->now;
    t->lines = 0;
    t->left_out = 0;
}

static void link_topic(um_log *l, um_log_topic *t)
{
    t->next = l->topics;
    l->topics = t;
    t->linked = true;
    t->since = l->now;
}

bool um_log_wants(um_log *l, um_log_topic *t)
{
    if (!t->linked)
        link_topic(l, t);
    end_interval(l, t);
    bool wanted = t->lines < UM_LOG_LINES;
    t->left_out += !wanted;
    return wanted;
}

void um_log_limited(um_log *l, um_log_topic *t, const char *format, ...)
{
    va_list args;

    t->lines++;
    va_start(args, format);
    write_formatted(l, format, args);
    va_end(args);
}

void um_log_tick(um_log *l, uint64_t now)
{
    l->now = now;
    for (um_log_topic *t = l->topics; t; t = t->next)
        end_interval(l, t);
}
