/*
 * log.h - a rate-limited log for people, on standard error.
 *
 * Lines that strangers can cause have a topic, and each topic gets a few lines
 * per interval, so that a flood cannot fill the disk. The number of lines left
 * out is logged when the interval ends.
 */
#ifndef UM_CLEARINGHOUSE_LOG_H
#define UM_CLEARINGHOUSE_LOG_H

#include <umbel/base.h>

#include <stdio.h>

enum {
    UM_LOG_LINES = 5,     /* per topic and interval */
    UM_LOG_INTERVAL = 10, /* seconds */
    UM_LOG_LINE_LEN = 512
};

typedef struct um_log_topic um_log_topic;

/* Starts zeroed, in its owner's memory, and must outlive the log. */
struct um_log_topic {
    const char *source, *name; /* "pyzor", "rate_limit" */
    um_log_topic *next;        /* in the list of topics that left lines out */
    uint64_t since;            /* start of the interval, in seconds */
    unsigned lines;
    uint64_t left_out;
    bool linked;
};

typedef struct um_log {
    FILE *to;
    bool dated; /* lines begin with the time; false for systemd's journal */
    uint64_t now;
    uint64_t lost; /* lines not written since the last that was */
    um_log_topic *topics;
} um_log;

/* Initialises a log to standard error. */
void um_log_init(um_log *l, uint64_t now);

/* Logs an event of the server itself. */
void um_log_event(um_log *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Logs a warning about a line of a file: a um_warn_line whose ctx is the log.
 */
void um_log_warning(void *ctx, const char *file, size_t line, const char *what);

/* Logs an event caused by a stranger, within the limit of its topic. Call it
 * only if um_log_wants returns true, so that a flood costs no formatting. */
bool um_log_wants(um_log *l, um_log_topic *t);
void um_log_limited(um_log *l, um_log_topic *t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the time, and logs how many lines were left out in intervals that have
 * ended. Call it once a second. */
void um_log_tick(um_log *l, uint64_t now);

#endif
