/*
 * store_load.h - drives a store with random changes on a simulated disk, and
 * tracks what it must and what it may hold.
 */
#ifndef UM_TESTS_STORE_LOAD_H
#define UM_TESTS_STORE_LOAD_H

#include "store/store.h"
#include "support/sim_disk.h"

enum { LOAD_LISTS = 2, LOAD_KEYS = 48, LOAD_WAITING = 4096, LOAD_PAIRS = 4 };

/* Something sent: a count of a key or, if key < 0, a key-value pair. */
typedef struct load_sent {
    uint64_t ticket;
    int list, key;
    uint64_t amount; /* or the value's number */
    uint64_t request_id, time;
} load_sent;

typedef struct load {
    sim_disk *disk;
    um_store *store; /* NULL: closed */
    um_durability durability;
    uint64_t now;
    umbel_digest digest[LOAD_KEYS];
    /* Lower bounds (acked) and upper bounds (sent). */
    uint64_t acked[LOAD_LISTS][LOAD_KEYS], sent[LOAD_LISTS][LOAD_KEYS];
    uint64_t value_acked[LOAD_PAIRS], value_sent[LOAD_PAIRS];
    uint64_t request_id, request_acked, request_time; /* the last one */
    load_sent waiting[LOAD_WAITING];
    size_t n;
    uint64_t reports, refused, recoveries, snapshots, torn, acknowledged;
    bool was_failed;
    char wrong[200]; /* the first error found */
} load;

load *load_open(uint64_t seed, um_durability durability);
void load_close(load *l);

/*
 * Opens the store. Returns false if it refused, or the power failed meanwhile.
 */
bool load_start(load *l);
/* Performs one random action: changes, a flush, a tick. */
void load_step(load *l);
/* Ends the process immediately. */
void load_kill(load *l, bool power);
/*
 * Checks after a restart that all acknowledged data is there, and nothing that
 * was not sent. may_lose: acknowledged data may be missing, as after power cuts
 * without fdatasync.
 */
bool load_check(load *l, bool may_lose);

#endif
