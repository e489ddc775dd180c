/*
 * log.h - lines for people, on standard error, limited in rate.
 *
 * What strangers can cause has a topic, and a topic gets a few lines for each
 * interval: a flood fills no disk. How many lines were left out is logged when
 * the interval is over.
 */
#ifndef UM_CLEARINGHOUSE_LOG_H
#define UM_CLEARINGHOUSE_LOG_H

#include <umbel/base.h>

#include <stdio.h>

enum {
    UM_LOG_LINES = 5,     /* of a topic in an interval */
    UM_LOG_INTERVAL = 10, /* seconds */
    UM_LOG_LINE_LEN = 512
};

typedef struct um_log_topic um_log_topic;

/* Zero to begin, in its owner's memory; it must outlive the log. */
struct um_log_topic {
    const char *source, *name; /* "pyzor", "rate_limit" */
    um_log_topic *next;        /* of those that have something to say */
    uint64_t since;            /* begin of the interval, in seconds */
    unsigned lines;
    uint64_t left_out;
    bool linked;
};

typedef struct um_log {
    FILE *to;
    bool dated; /* lines begin with the time: not for the journal of systemd */
    uint64_t now;
    uint64_t lost; /* lines, since the last one that could be written */
    um_log_topic *topics;
} um_log;

/* Lines go to standard error. */
void um_log_init(um_log *l, uint64_t now);

/* Logs an event of the server itself. */
void um_log_event(um_log *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Logs a warning about a line of a file: a um_warn_line whose ctx is the log.
 */
void um_log_warning(void *ctx, const char *file, size_t line, const char *what);

/* Logs what a stranger caused, within the limit of its topic. Call it only if
 * um_log_wants returns true: then a flood costs no printing. */
bool um_log_wants(um_log *l, um_log_topic *t);
void um_log_limited(um_log *l, um_log_topic *t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the time, and logs how many lines were left out in intervals that are
 * over. Once a second. */
void um_log_tick(um_log *l, uint64_t now);

#endif
