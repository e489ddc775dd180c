/*
 * internal.h - shared by the modules of the sync engine of
 * umbel/experimental/sync.h.
 *
 * From top to bottom; each calls only those below it:
 *
 *   directory.c  a directory with one filter for each origin (umbel sync)
 *   state.c      restarts: replicas as filters, everything else as bytes
 *   answers.c      answers: sums over origins
 *   peer.c       what to send to a peer, and what came from it
 *   update.c     UPDATE: versions that a peer lacks, page by page
 *   origin.c     dropped, muted and contradicted origins; new incarnations
 *   peer_session.c    the machine: lists, time, sessions with peers
 *   entry_log.c        signed entries
 *   replica.c    replicas: hash tree, history, our own filters
 *   index.c      which replicas can hold a digest; totals of all of them
 *   wire.c       messages as bytes, and what is signed
 *   accept.c     the rules that keep the invariants; refusals
 */
#ifndef UM_SYNC_INTERNAL_H
#define UM_SYNC_INTERNAL_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "coding/entries.h"
#include "coding/section.h"
#include "filter/kind.h"
#include "filter/pages.h"

#include <umbel/experimental/sync.h>

enum {
    UM_HASH_LEN = 32, /* BLAKE2b-256 */
    UM_SIGNATURE_LEN = 64,
    UM_ROOT_WORD = 8, /* bytes of a root that tell roots apart */
    UM_TREE_FAN = 16, /* on the wire: what a root is */
    UM_TREE_LEVELS = 16
};

/* Grows an array by one zeroed item; NULL when there is no memory. */
void *um_grow_array(void *array, size_t *n, size_t size);

/* --- types: replicas ------------------------------------------------------ */

/* Level 0 has a hash for each page; each further one a hash of 16 below. */
typedef struct um_tree {
    uint8_t *level[UM_TREE_LEVELS];
    uint64_t n[UM_TREE_LEVELS];
    uint64_t touched[UM_TREE_LEVELS]; /* the node that is due, + 1 */
    unsigned levels;
} um_tree;

/* What an origin signs for one version of a filter. */
typedef struct um_statement {
    uint64_t version, keys;
    uint8_t root[UM_HASH_LEN];
    uint8_t signature[UM_SIGNATURE_LEN];
} um_statement;

/* Which filter. */
typedef struct um_sync_id {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t incarnation, epoch;
    size_t list;
} um_sync_id;

/* Where a step has a page. */
typedef struct um_step_page {
    uint64_t number;
    size_t at, len; /* bytes of its old counts */
} um_step_page;

/* From one version to the next: the old counts of entries that changed. */
typedef struct um_version_step {
    um_statement from;
    um_buffer old;
    um_step_page *page; /* in old, ascending */
    size_t npages;
    uint64_t ended; /* when the next version came, in seconds */
} um_version_step;

typedef struct um_replica {
    um_sync_id id;
    umbel_filter *filter;
    um_tree tree;
    uint64_t *changed; /* for each page, the version that changed it last */
    um_statement now;
    um_version_step *step; /* the oldest first */
    size_t nsteps;
    size_t history_bytes;
    uint64_t used;              /* entries that are not free, about */
    uint64_t admitted, claimed; /* used and keys at the last admission */
    uint64_t refused;           /* versions up to this one are not wanted */
    uint64_t not_admitted;      /* when admission refused a version, + 1 */
    uint64_t seen;
    bool own, held;
    bool published;  /* since the machine was opened */
    unsigned column; /* of its list's index, + 1; 0: none */
    uint64_t marked; /* pages that are in that column */
    uint64_t summed; /* pages that are in its list's totals */
} um_replica;

/* Which replicas of a list may hold a digest; at NULL: not known. */
typedef struct um_replica_index {
    um_filter_index bits;
    uint16_t replicas[UM_INDEX_MAX]; /* that share a column */
    uint64_t used;                   /* columns that are not free */
    uint64_t old, clearing; /* of them left behind, and being cleared */
    size_t cleared;         /* bytes */
} um_replica_index;

/* An upper bound of what the replicas of others in a list count together; at
 * NULL: not known. */
typedef struct um_replica_totals {
    um_count_totals cells;
    size_t cleared; /* bytes of them */
    bool stale;     /* a replica was removed: they are larger than needed */
} um_replica_totals;

typedef struct um_sync_list {
    char name[UMBEL_SYNC_MAX_NAME];
    umbel_filter *shape;
    um_pages pages;
    umbel_sync_list set;
    char agree[UMBEL_SYNC_MAX_AGREE]; /* "": nothing */
    uint8_t digest[UM_HASH_LEN]; /* of name, shape, pages, epochs and agree */
    um_tree tree;                /* of an empty filter */
    uint8_t empty[UM_HASH_LEN];  /* its root */
    uint64_t epoch;              /* the current one */
    uint64_t oldest;             /* that counts; older ones never come back */
    um_replica_index index;
    um_replica_totals totals;
} um_sync_list;

/* --- types: logs and origins ---------------------------------------------- */

typedef struct um_log_entry {
    uint8_t type;
    bool retracted;
    uint32_t len;
    uint8_t signature[UM_SIGNATURE_LEN];
    uint64_t hash[2]; /* for the agreement word */
    uint64_t word;    /* sum of hash[0] up to this entry */
    uint8_t *body;
} um_log_entry;

typedef struct um_sync_log {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t incarnation;
    um_log_entry *entry; /* seq - 1 */
    size_t n;
    size_t retractions; /* of them */
} um_sync_log;

/* An incarnation that signed two roots for one version; both statements. */
typedef struct um_contradiction {
    um_sync_id id;
    um_statement one, other;
} um_contradiction;

typedef enum um_origin_status {
    UM_ALLOWED,
    UM_MUTED,
    UM_DROPPED
} um_origin_status;

typedef struct um_origin_rule {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    um_origin_status status;
} um_origin_rule;

/* An origin that has replicas here. */
typedef struct um_held_origin {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    size_t replicas;
} um_held_origin;

/* --- types: peers --------------------------------------------------------- */

/* A page of an update. */
typedef struct um_received_page {
    uint64_t number;
    uint8_t hash[UM_HASH_LEN];
    uint8_t *cells; /* NULL: in the filter of the receive buffer */
} um_received_page;

/* Pages of an update that is not complete yet. */
typedef struct um_receive_buffer {
    bool active;
    um_sync_id id;
    uint64_t have; /* version of the replica when it began; 0: none */
    uint64_t base, version, keys, next_part;
    uint8_t signature[UM_SIGNATURE_LEN];
    umbel_filter *filter;   /* of a first version: holds its pages */
    um_received_page *page; /* ascending */
    size_t npages;
    uint64_t next_page; /* the lowest that may come */
    uint64_t bytes, changed, fresh;
    uint64_t max_bytes; /* with the message that is being read */
    bool shrank;        /* a page has less than before */
    um_buffer old;      /* how to go back */
} um_receive_buffer;

/* What a peer has of a replica. */
typedef struct um_peer_replica {
    uint64_t acked;    /* the version it has */
    uint64_t sent;     /* the version that is on its way; 0: none */
    uint64_t retry;    /* when to send it again */
    uint64_t page;     /* of a long update: the page to continue with */
    uint64_t part;     /* ... and the part; 0: at the start */
    uint64_t from;     /* ... and its base */
    uint64_t refused;  /* versions that it does not want */
    bool report;       /* HAVE should list what we have */
    bool prove;        /* send a statement: the peer has another root */
    uint64_t proof;    /* ... of this version */
    uint64_t again;    /* ... and repeat it from then on; 0: no */
    uint64_t disputed; /* version of ours for which the peer claims a different
                          root; 0: none */
} um_peer_replica;

#define UM_HAS_IT UINT64_MAX

typedef struct um_peer {
    bool used;
    bool hello;        /* a HELLO is due */
    bool known;        /* it has reported all that it has */
    bool report_all;   /* the next HAVE with nothing left is final */
    bool report_rules; /* HAVE should list dropped and contradicted origins */
    bool done, said_done;           /* we have all that it has; and it knows */
    bool idle;                      /* there was nothing to send ... */
    uint64_t idle_at, idle_changes; /* ... then, and nothing has changed */
    uint64_t session;               /* its own; 0: unknown */
    uint64_t own_session;           /* ours, with it */
    uint64_t lists;    /* bits of ours that it has, of the same shape */
    uint64_t hello_at; /* when the last HELLO was sent */
    um_peer_replica *replica;
    size_t nreplicas;
    struct {
        uint64_t acked, sent, retry;
        bool report;
    } * log;
    size_t nlogs;
    uint64_t *proved; /* when it was sent contradiction i, + 1; UM_HAS_IT */
    size_t nproved;
    uint8_t (*unwanted)[UMBEL_ORIGIN_LEN];
    size_t nunwanted;
    um_receive_buffer receive;
    umbel_sync_peer_stats stats;
    uint64_t logged[UMBEL_SYNC_REASONS]; /* when, to limit events */
} um_peer;

/* What stands before the pages of an update. */
typedef struct um_update_head {
    um_sync_id id;
    uint64_t session; /* of the sender */
    uint64_t base, version, keys, part;
    uint8_t word[UM_ROOT_WORD], last, signature[UM_SIGNATURE_LEN];
} um_update_head;

/* Reads the pages of an update. */
typedef struct um_update_reader {
    um_reader r;
    uint64_t runs;      /* that are left after the current one */
    uint64_t page, end; /* of the current run: its pages that are left */
    um_buffer cells;    /* ... all of its cells */
    size_t at;          /* ... and where those of the next page begin */
    bool changes;       /* the machine's decoder is in the changes after them */
} um_update_reader;

/* Writes them. */
typedef struct um_update_writer {
    um_sync_id id;
    uint64_t base, version;
    um_writer w;
    size_t full; /* length from which on no page is begun */
    size_t left; /* bytes of pages that may follow */
} um_update_writer;

typedef enum um_work_kind {
    UM_WORK_NONE,
    UM_WORK_RECEIVE, /* an update that came */
    UM_WORK_SEND,    /* the message in out */
    UM_WORK_READY    /* it waits for umbel_sync_next */
} um_work_kind;

/* An update that takes several calls. */
typedef struct um_sync_work {
    um_work_kind kind;
    int peer;
    um_buffer message; /* the bytes that are read */
    um_update_head head;
    uint64_t have; /* version of the replica when the message came */
    um_update_reader in;
    size_t slot, last_at; /* of the message to send: replica, flag */
    um_update_writer out;
} um_sync_work;

/* --- the machine ---------------------------------------------------------- */

struct umbel_sync {
    umbel_sync_params set;
    umbel_sync_limits limit;
    uint8_t sign_key[UMBEL_ORIGIN_SECRET_LEN];
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t incarnation;
    um_sync_list *list;
    size_t nlists;
    um_replica **replica; /* slots: NULL where one was freed */
    size_t nreplicas;
    size_t *order; /* slots in use, by list, origin, incarnation, epoch */
    size_t norder;
    um_held_origin *held;
    size_t norigins;
    uint64_t changes; /* of replicas, logs and rules, so far */
    um_sync_log *log;
    size_t nlogs;
    uint64_t log_bytes;
    uint64_t log_changes; /* of entries, and of which of them count */
    um_contradiction *contradiction;
    size_t ncontradictions;
    um_origin_rule *rule;
    size_t nrules;
    um_peer *peer;
    size_t npeers;
    uint64_t connections; /* so far */
    uint64_t memory;      /* bytes of replicas and receive buffers */
    uint64_t now;
    um_growth *growth; /* the work's, while there is some */
    um_buffer out;
    um_sync_work work;
    uint8_t *scratch; /* two pages of the largest list */
};

static inline void um_sync_emit(umbel_sync *s, const umbel_sync_event *e)
{
    if (s->set.event)
        s->set.event(s->set.ctx, e);
}

static inline bool um_is_our_origin(const umbel_sync *s, const uint8_t *origin)
{
    return memcmp(origin, s->origin, UMBEL_ORIGIN_LEN) == 0;
}

/* Returns the memory that is left; our own replicas may exceed the limit. */
static inline uint64_t um_sync_memory_left(const umbel_sync *s)
{
    return s->limit.memory > s->memory ? s->limit.memory - s->memory : 0;
}

/* --- accept.c ------------------------------------------------------------- */

bool um_sync_is_signed(const uint8_t *origin, const void *text, size_t len,
                       const uint8_t *signature);
void um_sync_sign(const uint8_t *key, const void *text, size_t len,
                  uint8_t *signature);
bool um_sync_is_newer(uint64_t have, uint64_t version);
bool um_sync_fits_base(uint64_t have, uint64_t base);
bool um_sync_has_grown(um_growth_page *page);
bool um_sync_is_expired(uint64_t epoch, uint64_t oldest);
bool um_sync_is_session(uint64_t expected, uint64_t session);

/* Returns what the operator or notices decided. Origins without a rule are
 * dropped if the machine is strict. */
um_origin_status um_origin_status_of(const umbel_sync *s,
                                     const uint8_t *origin);
/* Returns true if umbel_sync_allow named the origin. */
bool um_is_allowed_by_name(const umbel_sync *s, const uint8_t *origin);
bool um_is_contradicted(const umbel_sync *s, const uint8_t *origin,
                        uint64_t incarnation);
/* Counts a refusal, and emits an event for it. */
umbel_status um_sync_refuse(umbel_sync *s, int peer, umbel_sync_reason reason,
                            const um_sync_id *id, umbel_status status,
                            const char *text, umbel_error *err);
/* Refuses dropped origins. Entries in the logs of contradicted incarnations
 * stay valid; um_check_incarnation refuses these, too. */
umbel_status um_check_origin(umbel_sync *s, int peer, const um_sync_id *id,
                             umbel_error *err);
umbel_status um_check_incarnation(umbel_sync *s, int peer, const um_sync_id *id,
                                  umbel_error *err);

/* --- wire.c --------------------------------------------------------------- */

typedef enum um_message_type {
    UM_MSG_HELLO = 1,
    UM_MSG_HAVE = 2,
    UM_MSG_UPDATE = 3,
    UM_MSG_STATEMENT = 4,
    UM_MSG_CONTRADICTION = 5,
    UM_MSG_LOG = 6
} um_message_type;

void um_append_u64(um_buffer *b, uint64_t x);
void um_append_varint(um_buffer *b, uint64_t x);
void um_message_begin(um_buffer *b, um_message_type type);
/* Fills in length and checksum. */
void um_message_end(um_buffer *b);
umbel_status um_message_open(const umbel_sync *s, const void *bytes, size_t len,
                             um_message_type *type, um_reader *body,
                             umbel_error *err);
void um_write_id(um_buffer *b, const umbel_sync *s, const um_sync_id *id);
/* E_UNKNOWN: a list that we do not have; E_FORMAT. */
umbel_status um_get_id(um_reader *r, const umbel_sync *s, um_sync_id *out,
                       umbel_error *err);
void um_write_statement(um_buffer *b, const um_statement *st);
void um_get_statement(um_reader *r, um_statement *st);

/* Signs a statement of ours. */
void um_statement_sign(const umbel_sync *s, const um_replica *c,
                       um_statement *out);
/* Returns true if the origin signed it. */
bool um_statement_holds(const umbel_sync *s, const um_sync_id *id,
                        const um_statement *st);

/* --- index.c -------------------------------------------------------------- */

/* Returns true if um_index_find covers the replica. */
bool um_index_covers(const umbel_sync *s, const um_replica *c);
/* Sets in mask[i] the bit of each column that may hold digest i. */
void um_index_find(const um_sync_list *l, const umbel_digest *d, size_t n,
                   uint64_t *mask);
/* Records what an update changed. */
void um_index_update(umbel_sync *s, um_replica *c, const um_receive_buffer *g);
/* Removes a replica that is about to be freed. */
void um_index_remove(umbel_sync *s, const um_replica *c);
/* Continues with the work that is left, for about `bytes` of it. Returns how
 * many of them were not needed. */
size_t um_index_work(umbel_sync *s, size_t bytes);
void um_index_fini(umbel_sync *s, um_sync_list *l);
/* Releases the memory of all indexes, for replicas that need it. */
void um_index_release(umbel_sync *s);

/* Returns true if um_totals_bound covers all replicas of others. */
bool um_totals_cover(const umbel_sync *s, size_t list);
/* Sets max[i] to a bound of what these count together of digest i;
 * UM_TOTAL_MAX means that number or more. */
void um_totals_bound(const um_sync_list *l, const umbel_digest *d, size_t n,
                     uint8_t *max);
/* As for the index. The update was applied: its buffer holds the old pages. */
void um_totals_update(umbel_sync *s, um_replica *c, const um_receive_buffer *g);
void um_totals_remove(umbel_sync *s, const um_replica *c);
size_t um_totals_work(umbel_sync *s, size_t bytes);
void um_totals_fini(umbel_sync *s, um_sync_list *l);
void um_totals_release(umbel_sync *s);

/* --- replica.c ------------------------------------------------------------ */

/* Builds the tree of pages that are all zeros; zeros has as many as the largest
 * page. */
bool um_tree_init_empty(um_tree *t, const um_pages *p, const uint8_t *zeros);
void um_tree_fini(um_tree *t);
/* Hashes a page: the value of its leaf. */
void um_tree_hash_page(const void *cells, size_t len, uint8_t out[UM_HASH_LEN]);
uint8_t *um_tree_leaf(const um_tree *t, uint64_t number);
/* Records that a leaf changed. Nodes above are hashed in passing, the last ones
 * by um_tree_end: once each if leaves come in order. */
void um_tree_touch(um_tree *t, uint64_t number);
void um_tree_end(um_tree *t);
const uint8_t *um_tree_root(const um_tree *t);

bool um_same_id(const um_sync_id *a, const um_sync_id *b);
um_replica *um_replica_find(const umbel_sync *s, const um_sync_id *id,
                            size_t *slot);
/* Creates an empty replica, version 0; its slot is new for every peer. */
umbel_status um_replica_create(umbel_sync *s, const um_sync_id *id,
                               um_replica **out, umbel_error *err);
void um_replica_free(umbel_sync *s, size_t slot);
/* Creates an empty filter of that shape; its memory is not touched. */
umbel_status um_filter_like(const umbel_filter *shape, umbel_filter **out,
                            umbel_error *err);
/* Returns true if there is memory for that many bytes of replicas. */
bool um_sync_has_memory(umbel_sync *s, uint64_t bytes);

bool um_step_index(um_version_step *step);
void um_step_fini(um_version_step *step);
size_t um_step_bytes(const um_version_step *step);
/* Forgets the n oldest steps. */
void um_replica_drop_steps(um_replica *c, size_t n);
/* Returns the latest version that is at most `pages` away from base, or the one
 * after base; the current one if base cannot be reached. */
uint64_t um_replica_reach(const um_replica *c, uint64_t base, size_t pages);
/* Returns the statement of a version that can be reached, or NULL. */
const um_statement *um_replica_statement(const um_replica *c, uint64_t version);
/* Fills out with a page as it was in a version that can be reached. */
void um_replica_page_at(const umbel_sync *s, const um_replica *c,
                        uint64_t number, uint64_t version, uint8_t *out);
/* Returns true if a page changed between two versions that can be reached. */
bool um_replica_page_differs(const um_replica *c, uint64_t number,
                             uint64_t base, uint64_t version);
/* Appends to a step how to go back from p->now to p->old. */
void um_replica_record_old(um_buffer *out, const um_growth_page *p);
/* Pairs a page of two payloads, to be compared. */
um_growth_page um_page_pair(const um_pages *pages, uint64_t number,
                            const uint8_t *old, uint8_t *now);
/* Ends a step: the replica is at next from now on; old is how to go back. */
void um_replica_end_step(umbel_sync *s, um_replica *c, um_buffer *old,
                         const um_statement *next);

/* --- entry_log.c
 * ---------------------------------------------------------------- */

/* Adds up the hashes of entries that count: they have no order of their own. */
void um_log_sum(const umbel_sync *s, uint64_t sum[2]);
um_sync_log *um_log_find(umbel_sync *s, const uint8_t *origin,
                         uint64_t incarnation, bool create);
void um_log_forget(umbel_sync *s, um_sync_log *log);
/* Returns true if entry seq is that one, as it was signed. */
bool um_log_has(const um_sync_log *log, uint64_t seq, const um_log_entry *e);
/* Returns a word that is the same on two servers whose first n entries are. */
uint64_t um_log_word(const um_sync_log *log, uint64_t n);
/* Applies an entry; *applied is false if there was a better one already. */
umbel_status um_log_apply(umbel_sync *s, int peer, const uint8_t *origin,
                          uint64_t incarnation, uint64_t seq,
                          const um_log_entry *e, bool *applied,
                          umbel_error *err);

/* --- peer_session.c
 * ------------------------------------------------------------ */

/* Returns true for a text that umbel_sync_list.agree may have. */
bool um_is_agree(const char *text);
/* Forgets what a peer had. */
void um_peer_forget(umbel_sync *s, um_peer *p);
/* Starts a session with each peer: we have less than they assume. */
void um_peers_restart(umbel_sync *s);
/* Extends a peer's arrays to the replicas, logs and contradictions here. */
bool um_peer_extend(const umbel_sync *s, um_peer *p);
bool um_peer_wants(const um_peer *p, const uint8_t *origin);
/* Returns true if the peer has the list of that replica, in the same shape. */
static inline bool um_peer_has_list(const um_peer *p, const um_replica *c)
{
    return p->lists >> c->id.list & 1;
}
/* Requests that the statement of a version be sent. */
void um_peer_prove(um_peer_replica *pc, uint64_t version);
void um_receive_buffer_fini(umbel_sync *s, um_receive_buffer *g);

/* --- origin.c ------------------------------------------------------------- */

umbel_status um_contradiction_add(umbel_sync *s, const um_sync_id *id,
                                  const um_statement *a, const um_statement *b,
                                  int peer, umbel_error *err);
/* Continues as a new incarnation: others have versions of ours that we do not
 * have. */
void um_sync_renew(umbel_sync *s, int peer);
/* Before that: moves our own filters, as far as no peer has them, or all of
 * them, to the first version of an incarnation in between. */
void um_sync_rescue(umbel_sync *s, bool all);
/* Acts on an entry that a peer sent: continues as a new incarnation if it is
 * one of ours, drops an origin when there are enough notices. */
void um_sync_honour_entry(umbel_sync *s, int peer, const um_sync_id *id,
                          const um_log_entry *e);

/* --- update.c ------------------------------------------------------------- */

/* Puts an update into out if the peer lacks one. */
bool um_send_update(umbel_sync *s, um_peer *p);
umbel_status um_receive_update(umbel_sync *s, int peer, um_reader *r,
                               umbel_error *err);
/* Ends the work, except a message that is ready. */
void um_work_finish(umbel_sync *s);
/* The same before a message for that peer: one for another is given up. */
void um_work_yield(umbel_sync *s, int peer);

#endif
