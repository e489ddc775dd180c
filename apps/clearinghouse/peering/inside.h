/*
 * peers_inside.h - what the files of peers.h share.
 */
#ifndef UM_CLEARINGHOUSE_PEERS_INSIDE_H
#define UM_CLEARINGHOUSE_PEERS_INSIDE_H

#include "clearinghouse/peering/peers.h"
#include "clearinghouse/peering/replica_store.h"
#include "clearinghouse/peering/settings.h"
#include "net/server/stream.h"
#include "trust/link.h"

typedef struct um_remote um_remote;
typedef struct um_conn um_conn;

/* What is logged of a peer at most once a minute each. */
typedef enum um_peer_topic {
    UM_PEER_UP,
    UM_PEER_DOWN,
    UM_PEER_NO_CALL,
    UM_PEER_EVENT, /* reasons of refusals, then other kinds of events */
    UM_PEER_TOPICS = UM_PEER_EVENT + UMBEL_SYNC_REASONS + UMBEL_SYNC_EXPIRED + 1
} um_peer_topic;

/* A peer of the configuration. */
struct um_remote {
    char *name, *address; /* address NULL: it calls */
    uint8_t key[UMBEL_TRUST_KEY_LEN];
    um_address to;
    um_conn *up;                  /* its link; NULL: none */
    um_conn *calling;             /* our call that is not a link yet */
    int number;                   /* of the machine; -1: not up */
    bool wants;                   /* there may be a message for it */
    uint64_t since;               /* when up or down began, in seconds */
    uint64_t pause, call_at;      /* milliseconds */
    double tokens;                /* bytes that may be sent now */
    uint64_t filled;              /* when tokens were, in milliseconds */
    uint64_t bytes_in, bytes_out; /* of links that are over */
    uint64_t refused[UMBEL_SYNC_REASONS]; /* the same */
    uint64_t logged[UM_PEER_TOPICS];      /* seconds */
    char error[UM_LOG_LINE_LEN / 2];
};

/* A connection. */
struct um_conn {
    um_peers *peers;
    um_conn *next, *prev, *next_waiting;
    um_stream *stream;
    um_link *link;
    um_remote *remote; /* that we called, or whose key was proved */
    bool caller;       /* we are */
    bool opened, adopted;
    bool over;            /* ended by us, for the reason that was logged */
    uint64_t begun;       /* milliseconds, as all that follow */
    uint64_t heard, said; /* when bytes came and went */
    uint64_t drained;     /* when the peer had read all, or some more */
    size_t unread;        /* then */
    uint64_t bytes_in, bytes_out;
    char stranger[2 * UMBEL_TRUST_KEY_LEN + 1]; /* a key that is not the one */
};

/* Where publishing stands. */
typedef struct um_publishing {
    bool running;
    size_t list;
    unsigned epoch; /* its place in the list */
    uint64_t page;
    uint64_t first;  /* when its page 0 was published, in milliseconds */
    uint64_t due;    /* when the next pass begins, in milliseconds */
    uint64_t ended;  /* when the last one did */
    uint64_t asked;  /* when a snapshot asked for one; 0: it did not */
    uint64_t ticket; /* of the last mark */
    bool unmarked;   /* a version has no mark: the store failed */
    bool restored;   /* versions of an earlier start, of which peers may know
                        more */
    uint64_t whole[UM_MAX_LISTS]; /* um_list_changes + 1 that are published; 0:
                                     not known */
    uint64_t begun;               /* those when the pass came to this list */
    uint64_t latest, mails;       /* um_latest.n then, um_latest_mails.n */
    bool refused;                 /* the machine refused some of it */
    uint64_t odd[UM_MAX_LISTS]; /* epochs of another shape, as they were logged
                                   last: number + 1 */
} um_publishing;

/* Counts that came last. */
typedef struct um_latest {
    um_entry *item;                   /* number i lies at i % cap */
    size_t cap;                       /* never 0 */
    uint64_t n;                       /* so far */
    uint64_t published[UM_MAX_LISTS]; /* numbers below are, for each list */
    uint64_t lost[UM_MAX_LISTS];      /* neither published nor remembered, at
                                         most */
    uint64_t lost_end[UM_MAX_LISTS];  /* all of them have numbers below */
} um_latest;

/* Mails that were written last, the same. */
typedef struct um_latest_mail {
    unsigned list;
    um_near_write write;
} um_latest_mail;

typedef struct um_latest_mails {
    um_latest_mail *item;
    size_t cap; /* never 0 */
    uint64_t n, published[UM_MAX_LISTS];
} um_latest_mails;

struct um_peers {
    const um_config *opened, *config;
    const um_clock *clock;
    um_log *log;
    um_lists *lists;
    um_addresses *addresses;
    um_store *store; /* NULL before it is open */
    um_loop *loop;   /* the same */
    um_peers_keys keys;
    umbel_sync *machine;
    um_remote **remote;
    size_t nremotes, turn;  /* turn: the one that is next to be sent to */
    um_conn *first;         /* all connections */
    um_conn *waiting;       /* paused: the turn was long enough */
    size_t greeting;        /* accepted connections that are not links yet */
    um_listener **listener; /* the first only calls */
    size_t nlisteners, open;
    um_timer *beat, *again;
    bool indexing;   /* there may be copies to index */
    size_t accepted; /* connections of this second */
    bool wanted;     /* some peer wants a message */
    bool news;       /* all will, at the next beat: many at once */
    um_log_topic strangers;
    uint64_t refused_strangers; /* connections */
    um_publishing publishing;
    um_latest latest;
    um_latest_mails mails;
    um_replica_store *copies; /* of others, on disk */
    uint64_t logged;          /* entries of our own log */
    bool renewed; /* by an event: the store follows at the end of the turn */
    uint64_t receiving; /* microseconds of this turn */
    bool making;        /* a message for the peer whose turn it is */
    bool closing;
};

/* --- peers_remotes.c --- */
um_remote *um_remote_find(const um_peers *p, const uint8_t *key);
um_remote *um_remote_of_number(const um_peers *p, int number);
void um_peers_want_all(um_peers *p);
/* Ends the machine's part of a link. */
void um_remote_down(um_peers *p, um_remote *r);
/* Release *out with um_free_remotes. */
umbel_status um_create_remotes(const um_config *c, const um_peers_keys *k,
                               um_remote ***out, umbel_error *err);
void um_free_remotes(um_remote **all, size_t n);
/* Takes the peers that stay over from the old table, and ends the others. */
void um_replace_remotes(um_peers *p, um_remote **fresh, size_t n);

/* --- peers.c --- */
umbel_status um_peers_open_machine(um_peers *p, uint64_t incarnation,
                                   const uint8_t *secret, umbel_error *err);

/* Microseconds that only grow, read now. */
uint64_t um_clock_us(void);

/* --- peers_link.c --- */
extern const um_stream_protocol um_peers_protocol;
um_conn *um_conn_open(um_peers *p, um_remote *call);
/* Ends a connection; text is the reason, for log and status. NULL: none is
 * needed. */
void um_conn_end(um_conn *c, const char *text);
/* The same for one whose call could not be made. */
void um_conn_discard(um_conn *c, const char *text);
/* Keeps links alive, and ends those that are not. Once a second. */
void um_conns_tick(um_peers *p);
/* Sends and takes what there is, within a fraction of a millisecond. */
void um_conns_work(um_peers *p);

/* --- peers_call.c --- */
void um_calls_create(um_peers *p);
/* After a link or a call ended: the next call waits. */
void um_calls_append_off(um_peers *p, um_remote *r, bool worked);

/* --- peers_publish.c --- */
/* Publishes for a millisecond, if it is time. Returns true if there is more. */
bool um_publish_beat(um_peers *p);
/* Removes marks of epochs of a list that are over. */
void um_publish_forget(um_peers *p, size_t list);
/* What was published is not committed, or not even marked: nothing is sent. */
bool um_publish_holds(const um_peers *p);

/* --- peers_renew.c --- */
/* After the event RENEWED. */
void um_peers_renew(um_peers *p);
enum { UM_LATEST_MOST = 1 << 17 }; /* those of an interval, and of a start */
umbel_status um_latest_open(um_peers *p, umbel_error *err);
/* A report was counted, now or before a restart. */
void um_peers_counted(void *ctx, const um_entry *e);
/* After a start: leaves out counts that are published. */
void um_latest_settle(um_peers *p);
/* All counts of a list with numbers below n are published. */
void um_latest_published(um_peers *p, size_t list, uint64_t n);

/* --- peers_mails.c --- */
enum { UM_MAILS_LEAST = 64, UM_MAILS_MOST = 1 << 14 }; /* 6 MB of them */
umbel_status um_mails_open(um_peers *p, umbel_error *err);
/* A mail was written, now or before a restart. */
void um_peers_written(void *ctx, unsigned list, const um_near_write *w);
/* After a start: leaves out mails that are published. */
void um_mails_settle(um_peers *p);
/* Returns how many at most are neither published nor remembered. */
uint64_t um_mails_lost(const um_peers *p);
/* Copies those that are not published; *n is how many. NULL: no memory. */
um_latest_mail *um_mails_unpublished(const um_peers *p, size_t *n);
/* Writes them to the lists of a new incarnation. */
umbel_status um_mails_write_again(um_peers *p, const um_latest_mail *m,
                                  size_t n, umbel_error *err);

/* --- peers_append.c --- */
umbel_status um_peers_load_log(um_peers *p, umbel_error *err);

/* --- peers_events.c --- */
void um_peers_event(void *ctx, const umbel_sync_event *e);
__attribute__((format(printf, 4, 5))) void
um_peers_log(um_peers *p, um_remote *r, unsigned topic, const char *format,
             ...);

#endif
