/*
 * peers.h - servers that share their counts: the sync engine of
 * umbel/experimental/sync.h in this server, and its links.
 *
 * Without an origin in the configuration there are no peers: um_peers is NULL.
 */
#ifndef UM_CLEARINGHOUSE_PEERS_H
#define UM_CLEARINGHOUSE_PEERS_H

#include "clearinghouse/lists/lists.h"
#include "clearinghouse/peering/replica_store.h"
#include "clearinghouse/runtime/addresses.h"
#include "store/store.h"
#include "sync/directory.h"

#include <umbel/experimental/sync.h>

typedef struct um_peers um_peers;

enum {
    UM_PEERS_MAX = 1000,
    UM_PEERS_PAGE = 4096, /* bytes of a page that is exchanged */
    UM_PEERS_MESSAGE =
        65536, /* bytes of a message: some milliseconds of work */
    UM_PEERS_SLICE =
        8 /* pages processed at a time, in a tenth of a millisecond */
};

/* Checks origin and peers of a configuration; reads the keys. */
umbel_status um_peers_check(const um_config *c, umbel_error *err);

/* Returns the parameters of the exchange of a list; key is our public one. */
um_sync_parameters um_peers_parameters(const um_config *c, size_t list,
                                       const uint8_t *key);

/* Returns the memory that peers may use. */
uint64_t um_peers_bytes(const um_config *c);
/* Computes what memory in peers { } should be, in whole megabytes, for this
 * server and the configured peers, once every epoch of every list is full; 0 if
 * it is large enough. */
umbel_status um_peers_full_memory(const um_config *c, uint64_t *out,
                                  umbel_error *err);

typedef struct um_peers_params {
    const um_config *opened, *config; /* at the start, and now */
    const um_clock *clock;
    um_log *log;
    um_lists *lists;
    um_addresses *addresses;
} um_peers_params;

/* Reads the keys; the rest waits for the store. *out stays NULL without an
 * origin. */
umbel_status um_peers_open(const um_peers_params *params, um_peers **out,
                           umbel_error *err);
/* Returns the observer that the store is opened with. p may be NULL, here and
 * below. */
um_store_observer um_peers_observer(um_peers *p);
/* Opens the sync engine with our own filters, once the store is open. */
umbel_status um_peers_begin(um_peers *p, um_store *store, umbel_error *err);
/* Loads replicas of other origins, listens and calls. */
umbel_status um_peers_start(um_peers *p, um_loop *loop, umbel_error *err);
/* Applies a new configuration; on failure nothing changes. */
umbel_status um_peers_reload(um_peers *p, umbel_error *err);
/* Does periodic work. Call it once a second. */
void um_peers_tick(um_peers *p);
/* Runs the links, and renews the incarnation if needed. Call it at the end of
 * each iteration of the loop, when the store is flushed. */
void um_peers_end_iteration(um_peers *p);
/* Starts to save replicas in the background, before a stop. */
void um_peers_save(um_peers *p);
/* Returns true until that is done, or has failed. */
bool um_peers_saving(const um_peers *p);
/* Ends all links and closes p. What is not saved yet, peers send again. Call it
 * before the loop is closed. */
void um_peers_close(um_peers *p);

umbel_sync *um_peers_machine(const um_peers *p);
/* Returns um_peers_full_memory of the current peers. */
uint64_t um_peers_needs(const um_peers *p);
/* Returns true if an epoch of the list has another shape than the settings: it
 * is not published. */
bool um_peers_counts_alone(const um_peers *p, size_t list);
/* Returns the agreement hash of a list. While it has counts that peers cannot
 * have yet, the hash differs from that of any other server. */
uint64_t um_peers_agreement(const um_peers *p, size_t list);
/* Appends an entry to our own log. It is safe when the ticket is committed. */
umbel_status um_peers_append(um_peers *p, uint8_t type, umbel_slice body,
                             uint64_t *ticket, umbel_error *err);
/* Returns the store of replicas; save its state after a change of origin
 * status. */
um_replica_store *um_peers_replicas(const um_peers *p);
/* Collects a job of the replica store. Call it when any child process has
 * ended. */
void um_peers_child_ended(um_peers *p);

/* One peer of the configuration. */
typedef struct um_peer_info {
    const char *name;
    const uint8_t *key;
    const char *address; /* NULL if it calls us */
    const char *state;   /* "up", "calling" or "down" */
    bool up;
    int number;        /* in the sync engine; -1 if not up */
    uint64_t since;    /* when the state began, seconds since 1970 */
    const char *error; /* why the last link ended or call failed, or "" */
    uint64_t bytes_in, bytes_out; /* of all links */
    uint64_t refused[UMBEL_SYNC_REASONS];
} um_peer_info;

/* Returns the number of callers refused because they did not prove a peer's
 * key. */
uint64_t um_peers_strangers(const um_peers *p);
/* Iterates over the peers; *at starts with 0. */
bool um_peers_next(const um_peers *p, size_t *at, um_peer_info *out);

enum { UM_ORIGIN_NAME = 128 };

/* Writes a readable name of an origin: the name of the peer, or eight
 * digits. */
void um_peers_origin_name(const um_peers *p, const uint8_t *origin,
                          char out[UM_ORIGIN_NAME]);

#endif
