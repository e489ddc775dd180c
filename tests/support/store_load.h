/*
 * store_load.h - drives a store with random changes on a simulated disk, and
 * knows what it must and what it may hold.
 */
#ifndef UM_TESTS_STORE_LOAD_H
#define UM_TESTS_STORE_LOAD_H

#include "store/store.h"
#include "support/sim_disk.h"

enum { LOAD_LISTS = 2, LOAD_KEYS = 48, LOAD_WAITING = 4096, LOAD_PAIRS = 4 };

/* Something that was sent: a count of a key, or (key < 0) a key-value pair. */
typedef struct load_sent {
    uint64_t ticket;
    int list, key;
    uint64_t amount; /* or the number of the value */
    uint64_t request_id, time;
} load_sent;

typedef struct load {
    sim_disk *disk;
    um_store *store; /* NULL: closed */
    um_durability durability;
    uint64_t now;
    umbel_digest digest[LOAD_KEYS];
    /* Lower bound: acknowledged; upper bound: sent. */
    uint64_t acked[LOAD_LISTS][LOAD_KEYS], sent[LOAD_LISTS][LOAD_KEYS];
    uint64_t value_acked[LOAD_PAIRS], value_sent[LOAD_PAIRS];
    uint64_t request_id, request_acked, request_time; /* the last one */
    load_sent waiting[LOAD_WAITING];
    size_t n;
    uint64_t reports, refused, recoveries, snapshots, torn, acknowledged;
    bool was_failed;
    char wrong[200]; /* the first thing that was */
} load;

load *load_open(uint64_t seed, um_durability durability);
void load_close(load *l);

/* Opens the store; false: it refused, or the power failed meanwhile. */
bool load_start(load *l);
/* A few changes, a flush, a tick, in random order and number. */
void load_step(load *l);
/* The process ends here and now. */
void load_kill(load *l, bool power);
/* After a restart: all is there that was acknowledged, nothing that was not
 * sent. power: less is allowed after power cuts without fdatasync. */
bool load_check(load *l, bool may_lose);

#endif
