/*
 * limits.h - rate limits of client networks: queries and reports per second.
 */
#ifndef UM_CLEARINGHOUSE_LIMITS_H
#define UM_CLEARINGHOUSE_LIMITS_H

#include "net/server/address.h"

/* limits { ... }: per client network and second; 0 means no limit */
typedef struct um_limit_settings {
    uint64_t requests, reports, burst;
    uint64_t new_digests; /* of all networks without an account together, for
                             each list: see um_shared_rate_consume */
    uint64_t networks;    /* number of networks that are remembered */
    uint64_t prefix_v4, prefix_v6;
    bool loopback;
} um_limit_settings;

typedef enum um_limit {
    UM_LIMIT_REQUESTS,
    UM_LIMIT_REPORTS,
    UM_LIMIT_COUNT
} um_limit;

typedef struct um_limits um_limits;

umbel_status um_limits_open(const um_limit_settings *s, um_limits **out,
                            umbel_error *err);
void um_limits_close(um_limits *l);
/* Changes rates and prefixes. */
void um_limits_set(um_limits *l, const um_limit_settings *s);

/*
 * Returns true if the client is within its limit for n more; if not, nothing is
 * consumed. More than a whole burst is granted to a client that has consumed
 * nothing for that long. now is in milliseconds.
 */
bool um_limits_consume(um_limits *l, const um_address *client, um_limit which,
                       uint64_t n, uint64_t now);

/* The same for a network, on loopback as well. */
bool um_limits_consume_of(um_limits *l, um_network network, um_limit which,
                          uint64_t n, uint64_t now);
/* Gives back what was consumed. */
void um_limits_refund(um_limits *l, um_network network, um_limit which,
                      uint64_t n);

/* A rate of all networks together. Zero to begin. */
typedef struct um_shared_rate {
    uint64_t full_at; /* microseconds */
} um_shared_rate;

/* Returns true if one more may be done at `rate` a second (0: any), with up to
 * `burst` seconds of it at once. now is in milliseconds. */
bool um_shared_rate_consume(um_shared_rate *r, uint64_t rate, uint64_t burst,
                            uint64_t now);

/* Returns the network of a client that the limits apply to. */
um_network um_limits_network(const um_limits *l, const um_address *client);
const um_prefixes *um_limits_prefixes(const um_limits *l);

/* Returns the bytes that these limits need. */
uint64_t um_limits_bytes(const um_limit_settings *s);

#endif
