/*
 * peers.h - servers that count together: the machine of umbel/sync.h in this
 * server, and its links.
 *
 * Without an origin in the configuration there are no peers: um_peers is NULL.
 *
 *     peers_settings.c   keys and names of the configuration
 *     peers_remotes.c    peers of the configuration
 *     peers.c            opening, turns, reload, end
 *     peers_publish.c    what our own lists say, in slices, with marks
 *     peers_renew.c      going on as a new incarnation
 *     peers_link.c       connections, and messages over them
 *     peers_call.c       calling peers, again and again
 *     peers_events.c     what is logged
 *     peers_append.c     our own log
 */
#ifndef UM_CLEARINGHOUSE_PEERS_H
#define UM_CLEARINGHOUSE_PEERS_H

#include "clearinghouse/lists/lists.h"
#include "clearinghouse/peering/replica_store.h"
#include "clearinghouse/runtime/addresses.h"
#include "store/store.h"
#include "sync/directory.h"

#include <umbel/sync.h>

typedef struct um_peers um_peers;

enum {
    UM_PEERS_MOST = 1000,
    UM_PEERS_PAGE = 4096,     /* bytes of a page that is exchanged */
    UM_PEERS_MESSAGE = 65536, /* bytes of a message: few milliseconds of work */
    UM_PEERS_SLICE = 8        /* pages of it at a time: a tenth of one */
};

/* Checks origin and peers of a configuration; reads the keys. */
umbel_status um_peers_check(const um_config *c, umbel_error *err);

/* Returns the parameters of the exchange of a list; key is our public one. */
um_sync_parameters um_peers_parameters(const um_config *c, size_t list,
                                       const uint8_t *key);

/* What peers may take of memory. */
uint64_t um_peers_bytes(const um_config *c);

typedef struct um_peers_params {
    const um_config *opened, *config; /* at the start, and now */
    const um_clock *clock;
    um_log *log;
    um_lists *lists;
    um_addresses *addresses;
} um_peers_params;

/* Reads the keys; the rest waits for the store. *out is NULL without an
 * origin. */
umbel_status um_peers_open(const um_peers_params *params, um_peers **out,
                           umbel_error *err);
/* What the store is opened with. p may be NULL, here and below. */
um_store_observer um_peers_observer(um_peers *p);
/* Opens the machine with our own filters, once the store is open. */
umbel_status um_peers_begin(um_peers *p, um_store *store, umbel_error *err);
/* Reads what others said, listens and calls. */
umbel_status um_peers_start(um_peers *p, um_loop *loop, umbel_error *err);
/* Takes over what the configuration says now; on failure nothing changes. */
umbel_status um_peers_reload(um_peers *p, umbel_error *err);
/* Once a second. */
void um_peers_tick(um_peers *p);
/* At the end of each turn, when the store is flushed. */
void um_peers_end_turn(um_peers *p);
/* Before the loop is closed. */
void um_peers_close(um_peers *p);

umbel_sync *um_peers_machine(const um_peers *p);
/* Returns true if an epoch of the list has another shape than its settings say:
 * it is not published. */
bool um_peers_counts_alone(const um_peers *p, size_t list);
/* Returns the agreement word of a list. While it has counts that others cannot
 * have yet, that is a word of no other server. */
uint64_t um_peers_agreement(const um_peers *p, size_t list);
/* Appends an entry to our own log, once the store has it: it is safe when the
 * ticket is committed. */
umbel_status um_peers_append(um_peers *p, uint8_t type, umbel_slice body,
                             uint64_t *ticket, umbel_error *err);
/* Where others' copies are; after a change of standings, save the state. */
um_replica_store *um_peers_replicas(const um_peers *p);
/* A child process has ended, maybe one of the copies'. */
void um_peers_child_ended(um_peers *p);

/* One peer of the configuration. */
typedef struct um_peer_info {
    const char *name;
    const uint8_t *key;
    const char *address; /* NULL: it calls us */
    const char *state;   /* "up", "calling" or "down" */
    bool up;
    int number;        /* of the machine; -1: not up */
    uint64_t since;    /* when the state began, seconds since 1970 */
    const char *error; /* why the last link ended, or no call succeeded; "":
                          none did */
    uint64_t bytes_in, bytes_out; /* of all links */
    uint64_t refused[UMBEL_SYNC_REASONS];
} um_peer_info;

/* Connections that were refused, of callers that proved no key of a peer. */
uint64_t um_peers_strangers(const um_peers *p);
/* Walks the peers; *at is 0 at first. */
bool um_peers_next(const um_peers *p, size_t *at, um_peer_info *out);

enum { UM_ORIGIN_NAME = 128 };

/* Writes an origin as people know it: the name of the peer, or eight digits. */
void um_peers_origin_name(const um_peers *p, const uint8_t *origin,
                          char out[UM_ORIGIN_NAME]);

#endif
