/*
 * load.h - many Pyzor requests to one server, and how long its answers take.
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
    UM_LOAD_MAX_DIGESTS = 100 /* digests of a request, at most */
};

typedef struct um_load {
    um_address server;
    const char *op;        /* "check", "report", "whitelist", "ping" */
    uint64_t count;        /* requests; 0: until the time is over */
    double seconds;        /* of sending, at most */
    double rate;           /* requests a second; 0: as fast as answers come */
    unsigned outstanding;  /* requests without an answer, at most */
    unsigned many;         /* digests of a request */
    uint64_t first, range; /* digests: numbers first .. first + range - 1 */
    bool flood;            /* sends without end, waits for no answer */
    bool in_order;         /* one after the other instead of at random */
    uint64_t seed;
} um_load;

/* Latency in buckets that are a 32nd part wide. */
enum { UM_LATENCY_BUCKETS = 64 * 32 };

typedef struct um_latency {
    uint64_t n[UM_LATENCY_BUCKETS], total, max;
} um_latency;

void um_latency_add(um_latency *l, uint64_t ns);
/* Returns the nanoseconds that a share of all (0.999) stays below. */
uint64_t um_latency_quantile(const um_latency *l, double share);

typedef struct um_load_result {
    uint64_t sent, answered, lost; /* lost: no answer within two seconds */
    uint64_t refused;              /* answers with a code other than 200 */
    uint64_t zero;                 /* checks answered with counts of 0 and 0 */
    uint64_t strange; /* answers to nothing that was asked, or to a flood */
    uint64_t within_second; /* of the answered */
    double seconds;
    um_latency latency;
} um_load_result;

/* Writes one request, 40 hexadecimal digits for each digest; returns its
 * length. Numbers make the same digests in every run. */
size_t um_load_request(const um_load *l, const uint64_t *digest,
                       unsigned thread, char out[UM_LOAD_REQUEST]);

umbel_status um_load_run(const um_load *l, um_load_result *out,
                         umbel_error *err);

/* Answers each datagram with its own bytes, until a signal ends the process;
 * prints "ready PORT". */
int um_echo_run(const um_address *a);

/* Returns the CPU seconds of a process with all its threads; -1: none. */
double um_cpu_seconds(long pid);

#endif
