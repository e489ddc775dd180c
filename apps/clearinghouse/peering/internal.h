/*
 * internal.h - what the modules of peering share.
 *
 *     parameters.c     keys, limits and list parameters of the configuration
 *     remotes.c        the table of configured peers, and their log lines
 *     unpublished.c    counts and mails that no replica contains yet
 *     machine.c        the sync engine: opening, trust, events, our own log
 *     publisher.c      publishes our own lists; new incarnations
 *     links.c          connections, calls, messages
 *     peers.c          start, timers, reload, stop
 *     replica_store.c  replicas of other origins on disk
 *     origins.c        peers and origins as the operator sees them
 *
 * A module calls only those above it in this list, and replica_store.c.
 */
#ifndef UM_CLEARINGHOUSE_PEERING_INTERNAL_H
#define UM_CLEARINGHOUSE_PEERING_INTERNAL_H

#include "clearinghouse/peering/peers.h"
#include "clearinghouse/peering/replica_store.h"
#include "net/server/stream.h"
#include "trust/link.h"

#include <time.h>

typedef struct um_remote um_remote;
typedef struct um_conn um_conn;

/* Topics that are logged at most once a minute for each peer. */
typedef enum um_peer_topic {
    UM_PEER_UP,
    UM_PEER_DOWN,
    UM_PEER_NO_CALL,
    UM_PEER_EVENT, /* reasons of refusals, then other kinds of events */
    UM_PEER_TOPICS = UM_PEER_EVENT + UMBEL_SYNC_REASONS + UMBEL_SYNC_EXPIRED + 1
} um_peer_topic;

/* A configured peer. */
struct um_remote {
    char *name, *address; /* address is NULL if the peer calls us */
    uint8_t key[UMBEL_TRUST_KEY_LEN];
    um_address to;
    um_conn *up;                  /* its link, or NULL */
    um_conn *calling;             /* our call that is not a link yet */
    int number;                   /* in the sync engine; -1 if not up */
    bool wants;                   /* the engine may have a message for it */
    uint64_t since;               /* when it went up or down, in seconds */
    uint64_t pause, call_at;      /* milliseconds */
    double tokens;                /* bytes that may be sent now */
    uint64_t filled;              /* last refill of tokens, in milliseconds */
    uint64_t bytes_in, bytes_out; /* of links that have ended */
    uint64_t refused[UMBEL_SYNC_REASONS]; /* the same */
    uint64_t logged[UM_PEER_TOPICS];      /* last time per topic, in seconds */
    char error[UM_LOG_LINE_LEN / 2];
};

/* A connection. */
struct um_conn {
    um_peers *peers;
    um_conn *next, *prev, *next_waiting;
    um_stream *stream;
    um_link *link;
    um_remote *remote; /* that we called, or whose key was proved */
    bool caller;       /* we called */
    bool opened, adopted;
    bool over;                     /* ended by us; the reason was logged */
    uint64_t begun;                /* in milliseconds, like the times below */
    uint64_t received_at, sent_at; /* last bytes */
    uint64_t drained;              /* when the peer last read output */
    size_t unread;                 /* bytes of output it had not read then */
    uint64_t bytes_in, bytes_out;
    char stranger[2 * UMBEL_TRUST_KEY_LEN + 1]; /* the wrong key it sent */
};

/* Progress of publishing. */
typedef struct um_publishing {
    bool running;
    size_t list;
    unsigned epoch; /* its index in the list */
    uint64_t page;
    uint64_t first;    /* when its page 0 was published, in milliseconds */
    uint64_t due;      /* when the next pass starts, in milliseconds */
    uint64_t ended;    /* when the last one ended */
    uint64_t asked;    /* when a snapshot requested one; 0 if none waits */
    uint64_t ticket;   /* of the last publish marker */
    bool lacks_marker; /* a version has no marker: the store failed */
    bool restored;     /* versions come from an earlier start; peers may have
                          newer ones */
    uint64_t whole[UM_MAX_LISTS]; /* published um_list_changes + 1, or 0 */
    uint64_t begun;               /* um_list_changes when this list began */
    uint64_t latest, mails;       /* um_latest.n, um_latest_mails.n then */
    bool refused;                 /* the sync engine refused some of it */
    uint64_t odd[UM_MAX_LISTS];   /* number + 1 of the last epoch that was
                                     logged because it has another shape */
} um_publishing;

/* A ring of the latest counts. */
typedef struct um_latest {
    um_entry *item;                   /* number i is at i % cap */
    size_t cap;                       /* never 0 */
    uint64_t n;                       /* counts so far */
    uint64_t published[UM_MAX_LISTS]; /* smaller numbers are published */
    uint64_t lost[UM_MAX_LISTS];      /* at most this many are neither published
                                         nor remembered */
    uint64_t lost_end[UM_MAX_LISTS];  /* lost counts have smaller numbers */
} um_latest;

/* A ring of the latest writes of mails. */
typedef struct um_latest_mail {
    unsigned list;
    um_near_write write;
} um_latest_mail;

typedef struct um_latest_mails {
    um_latest_mail *item;
    size_t cap; /* never 0 */
    uint64_t n, published[UM_MAX_LISTS];
} um_latest_mails;

typedef struct um_peers_keys {
    uint8_t sign_key[UMBEL_SIGN_KEY_LEN];
    uint8_t origin[UMBEL_TRUST_KEY_LEN];
    uint8_t (*peer)[UMBEL_TRUST_KEY_LEN]; /* numbered as in the configuration */
} um_peers_keys;

struct um_peers {
    const um_config *opened, *config;
    const um_clock *clock;
    um_log *log;
    um_lists *lists;
    um_addresses *addresses;
    um_store *store; /* NULL until it is open */
    um_loop *loop;   /* NULL until it is open */
    um_peers_keys keys;
    umbel_sync *machine;
    um_remote **remote;
    size_t nremotes, next_remote; /* next_remote: the next one to send to */
    um_conn *first;               /* all connections */
    um_conn *waiting;             /* paused ones */
    size_t handshakes;      /* accepted connections that are not links yet */
    um_listener **listener; /* the first one only makes calls */
    size_t nlisteners, open;
    um_timer *beat, *again;
    bool indexing;   /* there may be replicas to index */
    size_t accepted; /* connections accepted in this second */
    bool wanted;     /* some peer may want a message */
    bool news;       /* all peers will want one at the next beat */
    um_log_topic strangers;
    uint64_t refused_strangers; /* connections */
    um_publishing publishing;
    um_latest latest;
    um_latest_mails mails;
    um_replica_store *replicas;
    uint64_t full_memory;       /* um_peers_full_memory */
    uint64_t logged;            /* entries of our own log */
    bool expired[UM_MAX_LISTS]; /* an epoch did: remove its markers */
    bool renewed;       /* event RENEWED: the store follows in this iteration */
    uint64_t receiving; /* microseconds spent receiving in this iteration */
    bool unfinished;    /* a message for the next remote takes longer */
    bool closing;
};

/* Returns the time of a monotonic clock in microseconds. */
static inline uint64_t um_clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* --- parameters.c --------------------------------------------------------- */

/* Reads and checks all keys. Release with um_peers_keys_fini. */
umbel_status um_peers_keys_read(const um_config *c, um_peers_keys *out,
                                umbel_error *err);
/* Accepts zeroed keys. */
void um_peers_keys_fini(um_peers_keys *k);
umbel_sync_limits um_peers_limits(const um_config *c);
uint32_t um_peers_quorum(const um_config *c, size_t list);
/* Creates the lists and their empty filters, which the caller closes. */
umbel_status um_peers_create_shapes(const um_config *c, const uint8_t *secret,
                                    umbel_sync_list *list, umbel_filter **shape,
                                    char agree[][UMBEL_SYNC_MAX_AGREE],
                                    umbel_error *err);

/* --- remotes.c ------------------------------------------------------------ */

um_remote *um_remote_find(const um_peers *p, const uint8_t *key);
um_remote *um_remote_of_number(const um_peers *p, int number);
/* Sends to all peers, in this iteration or soon. */
void um_peers_want_all(um_peers *p);
/* Ends the sync engine's part of a link. */
void um_remote_down(um_peers *p, um_remote *r);
/* Creates the table of configured peers. Release *out with um_free_remotes. */
umbel_status um_create_remotes(const um_config *c, const um_peers_keys *k,
                               um_remote ***out, umbel_error *err);
void um_free_remote(um_remote *r);
void um_free_remotes(um_remote **all, size_t n);
__attribute__((format(printf, 4, 5))) void
um_peers_log(um_peers *p, um_remote *r, unsigned topic, const char *format,
             ...);

/* --- unpublished.c -------------------------------------------------------- */

/* Enough for one interval, and for the journal read at a start. */
enum { UM_LATEST_MAX = 1 << 17 };
enum { UM_MAILS_MIN = 64, UM_MAILS_MAX = 1 << 14 }; /* 6 MB of them */

umbel_status um_latest_open(um_peers *p, umbel_error *err);
umbel_status um_mails_open(um_peers *p, umbel_error *err);
/* Remembers a report or a mail that the store has, now or before a restart. */
void um_peers_counted(void *ctx, const um_entry *e);
void um_peers_written(void *ctx, unsigned list, const um_near_write *w);
/* Removes published entries, after a start. */
void um_latest_prune(um_peers *p);
void um_mails_prune(um_peers *p);
/* Records that all counts of a list with numbers below n are published. */
void um_latest_published(um_peers *p, size_t list, uint64_t n);
/* Returns the largest number of mails of a list that are neither published nor
 * remembered. */
uint64_t um_mails_lost(const um_peers *p);
/* Returns a copy of the *n unpublished entries, to be freed; NULL without
 * memory. */
um_entry *um_latest_unpublished(const um_latest *l, size_t *n);
um_latest_mail *um_mails_unpublished(const um_peers *p, size_t *n);
/* Writes mails to the lists of a new incarnation. */
umbel_status um_mails_write_again(um_peers *p, const um_latest_mail *m,
                                  size_t n, umbel_error *err);

/* --- machine.c ------------------------------------------------------------ */

umbel_status um_peers_open_machine(um_peers *p, uint64_t incarnation,
                                   const uint8_t *secret, umbel_error *err);
/* Allows configured peers: those of p, or those that will replace them. */
umbel_status um_peers_allow(um_peers *p, um_remote *const *remote, size_t n,
                            umbel_error *err);
/* Applies the quorums of the configuration. */
void um_peers_set_trust(um_peers *p);
umbel_status um_peers_load_log(um_peers *p, umbel_error *err);

/* --- publisher.c ---------------------------------------------------------- */

/* Publishes for a fraction of a millisecond, if it is time. Returns true if
 * there is more. */
bool um_publish_beat(um_peers *p);
/* Returns true while something that was published is not committed yet, or has
 * no marker. Until then nothing may be sent. */
bool um_publish_holds(const um_peers *p);
/* Continues as a new incarnation, after the event RENEWED. */
void um_peers_renew(um_peers *p);

/* --- links.c -------------------------------------------------------------- */

extern const um_stream_protocol um_peers_protocol;
/* Ends a connection; text is the reason for log and status, or NULL. */
void um_conn_end(um_conn *c, const char *text);
/* Keeps links alive, and ends dead ones. Call it once a second. */
void um_conns_tick(um_peers *p);
/* Sends and receives messages for a fraction of a millisecond. */
void um_conns_work(um_peers *p);
/* Calls peers that have no link. */
void um_calls_start(um_peers *p);
/* Replaces the table of peers: moves those that stay, ends the others. */
void um_replace_remotes(um_peers *p, um_remote **fresh, size_t n);

#endif
