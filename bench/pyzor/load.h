/*
 * load.h - sends many Pyzor requests to one server, and measures its answer
 * times.
 */
#ifndef UM_BENCH_PYZOR_LOAD_H
#define UM_BENCH_PYZOR_LOAD_H

#include "net/server/address.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    UM_LOAD_OUTSTANDING = 8192,
    UM_LOAD_REQUEST = 8192,
    UM_LOAD_MAX_DIGESTS = 100 /* per request, at most */
};

typedef struct um_load {
    um_address server;
    const char *op;        /* "check", "report", "whitelist", "ping" */
    uint64_t count;        /* requests; 0 means until the time is over */
    double seconds;        /* time of sending, at most */
    double rate;           /* requests per second; 0: no limit */
    unsigned outstanding;  /* unanswered requests, at most */
    unsigned many;         /* digests per request */
    uint64_t first, range; /* digests: numbers first .. first + range - 1 */
    bool flood;            /* sends continuously, without waiting for answers */
    bool in_order;         /* in order instead of at random */
    uint64_t seed;
} um_load;

/* A histogram of latencies, with buckets that are 1/32 wide. */
enum { UM_LATENCY_BUCKETS = 64 * 32 };

typedef struct um_latency {
    uint64_t n[UM_LATENCY_BUCKETS], total, max;
} um_latency;

void um_latency_add(um_latency *l, uint64_t ns);
/* Returns the nanoseconds below which this share (such as 0.999) of all
 * latencies is. */
uint64_t um_latency_quantile(const um_latency *l, double share);

typedef struct um_load_result {
    uint64_t sent, answered, lost; /* lost: no answer within two seconds */
    uint64_t refused;              /* answers with a code other than 200 */
    uint64_t zero;                 /* checks answered with counts of 0 and 0 */
    uint64_t strange;              /* match no request, or come in a flood */
    uint64_t within_second;        /* answered within a second */
    double seconds;
    um_latency latency;
} um_load_result;

/* Writes one request, with 40 hexadecimal digits for each digest; returns its
 * length. The same numbers give the same digests in every run. */
size_t um_load_request(const um_load *l, const uint64_t *digest,
                       unsigned thread, char out[UM_LOAD_REQUEST]);

umbel_status um_load_run(const um_load *l, um_load_result *out,
                         umbel_error *err);

/* Answers each datagram with its own bytes, until a signal ends the process;
 * prints "ready PORT". */
int um_echo_run(const um_address *a);

/* Returns the CPU seconds of a process with all its threads; -1 if there is
 * none. */
double um_cpu_seconds(long pid);

#endif
