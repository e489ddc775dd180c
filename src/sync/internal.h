/*
 * internal.h - shared by the modules of the sync engine of
 * umbel/experimental/sync.h.
 *
 * From top to bottom; each calls only those below it:
 *
 *   directory.c     a directory with one filter for each origin (umbel sync)
 *   state.c         saves and restores replicas and everything else
 *   answers.c       answers queries: sums over origins
 *   peer.c          messages to a peer, and from it
 *   update.c        UPDATE: versions that a peer lacks, page by page
 *   origin.c        status of origins; new incarnations
 *   peer_session.c  the engine: lists, time, sessions with peers
 *   entry_log.c     signed log entries
 *   replica.c       replicas: hash tree, history, our own filters
 *   index.c         which replicas may contain a digest; totals of their counts
 *   wire.c          messages as bytes, and signed texts
 *   accept.c        checks that keep the invariants; refusals
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
    UM_ROOT_WORD = 8, /* bytes of a root that are sent to compare roots */
    UM_TREE_FAN = 16, /* part of the wire format: changes roots */
    UM_TREE_LEVELS = 16,
    UM_SPARE_REPLICAS = 4 /* that must still fit into memory beside the index */
};

/* Grows an array by one zeroed item; returns NULL if out of memory. */
void *um_grow_array(void *array, size_t *n, size_t size);

/* --- types: replicas ------------------------------------------------------ */

/* A hash tree: level 0 has a hash for each page, each further level one for
 * every 16 below. */
typedef struct um_tree {
    uint8_t *level[UM_TREE_LEVELS];
    uint64_t n[UM_TREE_LEVELS];
    uint64_t touched[UM_TREE_LEVELS]; /* node waiting to be hashed, + 1 */
    unsigned levels;
} um_tree;

/* The statement that an origin signs for one version of a filter. */
typedef struct um_statement {
    uint64_t version, keys;
    uint8_t root[UM_HASH_LEN];
    uint8_t signature[UM_SIGNATURE_LEN];
} um_statement;

/* Identifies a filter. */
typedef struct um_sync_id {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t incarnation, epoch;
    size_t list;
} um_sync_id;

/* The position of a page in the bytes of a step. */
typedef struct um_step_page {
    uint64_t number;
    size_t at, len; /* bytes of its old counts */
} um_step_page;

/* The difference between a version and the next: the old counts of entries that
 * changed. */
typedef struct um_version_step {
    um_statement from;
    um_buffer old;
    um_step_page *page; /* in old, ascending */
    size_t npages;
    uint64_t ended; /* time in seconds at which the next version came */
} um_version_step;

typedef struct um_replica {
    um_sync_id id;
    umbel_filter *filter;
    um_tree tree;
    uint64_t *changed; /* for each page, the version that changed it last; 0:
                          it is empty, and takes no memory */
    um_statement now;
    um_version_step *step; /* the oldest first */
    size_t nsteps;
    size_t history_bytes;
    um_statement *past; /* of our origin: what we signed before these steps */
    size_t npast;
    uint64_t written; /* memory of its pages that were written; not counted if
                         they all take memory at once */
    uint64_t used;    /* non-empty entries, approximately */
    uint64_t admitted, claimed; /* used and keys at the last admission */
    uint64_t refused;           /* versions up to this one were refused */
    uint64_t not_admitted;      /* time when admission refused a version, + 1 */
    uint64_t seen;
    bool own, held;
    bool published;  /* since the engine was opened, or imported: maybe no
                        other server has it */
    unsigned column; /* of its list's index, + 1; 0: none */
    uint64_t marked; /* pages marked in that column */
    uint64_t summed; /* pages added to its list's totals */
} um_replica;

/* Finds the replicas of a list that may contain a digest. bits.at is NULL if
 * there is no index. */
typedef struct um_replica_index {
    um_filter_index bits;
    uint16_t replicas[UM_INDEX_MAX]; /* number sharing each column */
    uint64_t used;                   /* columns in use */
    uint64_t old, clearing; /* columns without replicas; those being cleared */
    size_t cleared;         /* bytes */
} um_replica_index;

/* An upper bound of the sum of the counts of other origins' replicas of a list.
 * cells.at is NULL if there are no totals. */
typedef struct um_replica_totals {
    um_count_totals cells;
    size_t cleared; /* bytes of cells cleared */
    bool stale;     /* a replica was removed: the bound is too large */
} um_replica_totals;

typedef struct um_sync_list {
    char name[UMBEL_SYNC_MAX_NAME];
    umbel_filter *shape;
    um_pages pages;
    size_t lazy_page; /* replicas take memory by pages of this size, when they
                         are first written; 0: at once */
    umbel_sync_list set;
    char agree[UMBEL_SYNC_MAX_AGREE]; /* may be "" */
    uint8_t digest[UM_HASH_LEN]; /* of name, shape, pages, epochs and agree */
    um_tree tree;                /* hash tree of an empty filter */
    uint8_t empty[UM_HASH_LEN];  /* its root */
    uint64_t epoch;              /* the current one */
    uint64_t oldest;             /* that counts; older ones never return */
    um_replica_index index;
    um_replica_totals totals;
} um_sync_list;

/* --- types: logs and origins ---------------------------------------------- */

typedef struct um_log_entry {
    uint8_t type;
    bool retracted;
    uint32_t len;
    uint8_t signature[UM_SIGNATURE_LEN];
    uint64_t hash[2]; /* for the agreement hash */
    uint64_t word;    /* sum of hash[0] up to this entry */
    uint8_t *body;
} um_log_entry;

typedef struct um_sync_log {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t incarnation;
    um_log_entry *entry; /* entry[seq - 1] */
    size_t n;
    size_t retractions; /* number of RETRACT entries */
} um_sync_log;

/* An incarnation that signed two roots for one version, with both statements as
 * proof. */
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

/* An origin with replicas in this engine. */
typedef struct um_held_origin {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    size_t replicas;
} um_held_origin;

/* --- types: peers --------------------------------------------------------- */

/* A received page of an update. */
typedef struct um_received_page {
    uint64_t number;
    uint8_t hash[UM_HASH_LEN];
    uint8_t *cells; /* NULL: it is in the receive buffer's filter */
} um_received_page;

/* Pages of an update that is not complete yet. */
typedef struct um_receive_buffer {
    bool active;
    um_sync_id id;
    uint64_t have; /* version of the replica when it began; 0: none */
    uint64_t base, version, keys, next_part;
    uint8_t signature[UM_SIGNATURE_LEN];
    umbel_filter *filter;   /* for a first version: receives the pages */
    um_received_page *page; /* ascending */
    size_t npages;
    uint64_t next_page; /* lowest page number that may follow */
    uint64_t bytes, changed, fresh;
    uint64_t written; /* memory of pages that are still empty in the replica */
    uint64_t memory;  /* of this buffer, counted in that of the engine */
    uint64_t max_bytes; /* limit, including the current message */
    bool shrank;        /* a page contains less than before */
    bool unrooted;      /* the sender does not know the root of the base */
    um_buffer old;      /* bytes of the step back to the old version */
} um_receive_buffer;

/* What a peer has of a replica, and what is being sent to it. */
typedef struct um_peer_replica {
    uint64_t acked;    /* version that the peer has */
    uint64_t sent;     /* version being sent; 0: none */
    uint64_t retry;    /* when to send it again */
    uint64_t page;     /* next page of an update in several messages */
    uint64_t part;     /* ... and next part; 0: at the start */
    uint64_t from;     /* ... and its base */
    uint64_t refused;  /* versions up to this one are refused by the peer */
    bool report;       /* list the replica in the next HAVE */
    bool prove;        /* send a statement: the peer has a different root */
    uint64_t proof;    /* ... of this version */
    uint64_t again;    /* ... sent again at this time; 0: not */
    uint64_t disputed; /* version that our origin signed, for which the peer
                          claims a different root; 0: none */
} um_peer_replica;

#define UM_HAS_IT UINT64_MAX

typedef struct um_peer {
    bool used;
    bool hello;        /* a HELLO is due */
    bool known;        /* it has reported everything it has */
    bool report_all;   /* the next HAVE with nothing left to report is final */
    bool report_rules; /* HAVE should list dropped and contradicted origins */
    bool twin;         /* it claims to have our key: a copy of this server */
    bool done, said_done; /* we have everything that it has; it knows that */
    bool idle;            /* there was nothing to send ... */
    uint64_t idle_at, idle_changes; /* ... at this time and change number */
    uint64_t session;               /* the peer's session; 0: unknown */
    uint64_t own_session;           /* our session with it */
    uint64_t lists;    /* bit mask of our lists that it has in the same shape */
    uint64_t hello_at; /* when the last HELLO was sent */
    um_peer_replica *replica;
    size_t nreplicas;
    struct {
        uint64_t acked, sent, retry;
        bool report;
    } * log;
    size_t nlogs;
    uint64_t *proved; /* [i]: when proof i was sent, + 1; UM_HAS_IT */
    size_t nproved;
    uint8_t (*unwanted)[UMBEL_ORIGIN_LEN]; /* by it */
    size_t nunwanted;
    uint8_t (*declined)[UMBEL_ORIGIN_LEN]; /* by us, in this session */
    size_t ndeclined;
    um_receive_buffer receive;
    umbel_sync_peer_stats stats;
    uint64_t logged[UMBEL_SYNC_REASONS]; /* time of the last event, to limit
                                            events */
} um_peer;

/* The fields before the pages of an UPDATE. */
typedef struct um_update_head {
    um_sync_id id;
    uint64_t session; /* of the sender */
    uint64_t base, version, keys, part;
    uint8_t word[UM_ROOT_WORD], last, signature[UM_SIGNATURE_LEN];
} um_update_head;

/* Reads the pages of an update. */
typedef struct um_update_reader {
    um_reader r;
    uint64_t runs;      /* runs left after the current one */
    uint64_t page, end; /* remaining pages of the current run */
    um_buffer cells;    /* all cells of the current run */
    size_t at;          /* offset of the next page in cells */
    bool changes;       /* the decoder has reached the changes after the runs */
} um_update_reader;

/* Writes the pages of an update. */
typedef struct um_update_writer {
    um_sync_id id;
    uint64_t base, version;
    um_writer w;
    size_t full; /* length beyond which no page is begun */
    size_t left; /* bytes of pages that may still follow */
} um_update_writer;

typedef enum um_work_kind {
    UM_WORK_NONE,
    UM_WORK_RECEIVE, /* reads a received update */
    UM_WORK_SEND,    /* writes an update to out */
    UM_WORK_READY    /* the message in out waits for umbel_sync_next */
} um_work_kind;

/* An update whose processing takes several calls. */
typedef struct um_sync_work {
    um_work_kind kind;
    int peer;
    um_buffer message; /* the received bytes */
    um_update_head head;
    uint64_t have; /* version of the replica when the message came */
    um_update_reader in;
    size_t slot, last_at; /* replica and last flag of the message in out */
    um_update_writer out;
} um_sync_work;

/* --- the engine ----------------------------------------------------------- */

struct umbel_sync {
    umbel_sync_params set;
    umbel_sync_limits limit;
    uint8_t sign_key[UMBEL_ORIGIN_SECRET_LEN];
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t incarnation;
    um_sync_list *list;
    size_t nlists;
    uint64_t resigned;    /* how often we signed filters of ours anew */
    um_replica **replica; /* slots: NULL where one was freed */
    size_t nreplicas;
    size_t *order; /* slots in order of list, origin, incarnation, epoch */
    size_t norder;
    um_held_origin *held;
    size_t norigins;
    uint64_t changes; /* number of changes of replicas, logs and rules */
    um_sync_log *log;
    size_t nlogs;
    uint64_t log_bytes;
    uint64_t log_changes; /* number of changes of log entries or of which ones
                             count */
    um_contradiction *contradiction;
    size_t ncontradictions;
    um_origin_rule *rule;
    size_t nrules;
    um_peer *peer;
    size_t npeers;
    uint64_t connections; /* number of connections so far */
    uint64_t memory;      /* bytes of replicas and receive buffers */
    uint64_t now;
    um_growth *growth; /* the coder of the current work */
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

/* Returns the status that the operator or notices have given an origin. Origins
 * without a rule are dropped if the engine is strict. */
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
/* Refuses dropped origins. Log entries of contradicted incarnations stay valid;
 * um_check_incarnation refuses those incarnations, too. */
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

void um_message_begin(um_buffer *b, um_message_type type);
/* Sets the length and appends the checksum. */
void um_message_end(um_buffer *b);
umbel_status um_message_open(const umbel_sync *s, const void *bytes, size_t len,
                             um_message_type *type, um_reader *body,
                             umbel_error *err);
void um_write_id(um_buffer *b, const umbel_sync *s, const um_sync_id *id);
/* Reads an id. E_UNKNOWN if we do not have the list, E_FORMAT if it is
 * damaged. */
umbel_status um_get_id(um_reader *r, const umbel_sync *s, um_sync_id *out,
                       umbel_error *err);
void um_write_statement(um_buffer *b, const um_statement *st);
void um_get_statement(um_reader *r, um_statement *st);

/* Signs a statement of our own. */
void um_statement_sign(const umbel_sync *s, const um_replica *c,
                       um_statement *out);
/* Returns true if the statement's signature is valid. */
bool um_statement_holds(const umbel_sync *s, const um_sync_id *id,
                        const um_statement *st);

/* --- index.c -------------------------------------------------------------- */

/* Returns true if um_index_find covers the replica. */
bool um_index_covers(const umbel_sync *s, const um_replica *c);
/* Sets in mask[i] the bit of each column that may contain digest i. */
void um_index_find(const um_sync_list *l, const umbel_digest *d, size_t n,
                   uint64_t *mask);
/* Marks the pages that an update has changed. */
void um_index_update(umbel_sync *s, um_replica *c, const um_receive_buffer *g);
/* Removes a replica that is about to be freed. */
void um_index_remove(umbel_sync *s, const um_replica *c);
/* Continues to clear and fill the index, for about `bytes` bytes. Returns how
 * many of them are left. */
size_t um_index_work(umbel_sync *s, size_t bytes);
void um_index_fini(umbel_sync *s, um_sync_list *l);
/* Returns the memory of the index and the totals of a list that has this many
 * replicas of other origins. */
uint64_t um_index_bytes(const umbel_sync_list *l, uint64_t replicas);
/* Frees all indexes, to make memory available to replicas. */
void um_index_release(umbel_sync *s);

/* Returns true if um_totals_bound covers all replicas of other origins. */
bool um_totals_cover(const umbel_sync *s, size_t list);
/* Sets max[i] to an upper bound of the sum of their counts of digest i;
 * UM_TOTAL_MAX means that number or more. */
void um_totals_bound(const um_sync_list *l, const umbel_digest *d, size_t n,
                     uint8_t *max);
/* These work as for the index. um_totals_update is called after the update was
 * applied, when its buffer contains the old pages. */
void um_totals_update(umbel_sync *s, um_replica *c, const um_receive_buffer *g);
void um_totals_remove(umbel_sync *s, const um_replica *c);
size_t um_totals_work(umbel_sync *s, size_t bytes);
void um_totals_fini(umbel_sync *s, um_sync_list *l);
void um_totals_release(umbel_sync *s);

/* --- replica.c ------------------------------------------------------------ */

/* Builds the tree of a filter whose pages are all zeros; zeros points to as
 * many zeros as the largest page. */
bool um_tree_init_empty(um_tree *t, const um_pages *p, const uint8_t *zeros);
void um_tree_fini(um_tree *t);
/* Computes the hash of a page, the value of its leaf. */
void um_tree_hash_page(const void *cells, size_t len, uint8_t out[UM_HASH_LEN]);
uint8_t *um_tree_leaf(const um_tree *t, uint64_t number);
/* Records that a leaf has changed. The nodes above it are hashed when the next
 * leaf is in another subtree, the last ones by um_tree_end: once each if leaves
 * come in order. */
void um_tree_touch(um_tree *t, uint64_t number);
void um_tree_end(um_tree *t);
const uint8_t *um_tree_root(const um_tree *t);

bool um_same_id(const um_sync_id *a, const um_sync_id *b);
um_replica *um_replica_find(const umbel_sync *s, const um_sync_id *id,
                            size_t *slot);
/* Returns true if o has all that is in c, a replica of the same list. */
bool um_replica_contains(const umbel_sync *s, const um_replica *o,
                         const um_replica *c);
/* Checks that a replica may be created; *reason is that of a refusal. */
umbel_status um_replica_check_limits(umbel_sync *s, const um_sync_id *id,
                                     umbel_sync_reason *reason,
                                     umbel_error *err);
/* Creates an empty replica, version 0, in a slot that no peer has information
 * about. */
umbel_status um_replica_create(umbel_sync *s, const um_sync_id *id,
                               um_replica **out, umbel_error *err);
void um_replica_free(umbel_sync *s, size_t slot);
/* Signs f as the next version of a replica of our origin, without a way back to
 * the versions before. Returns false if f has nothing new, or less in some
 * cell. */
bool um_replica_sign_next(umbel_sync *s, um_replica *c, const umbel_filter *f);
/* Signs f as the first version of an incarnation of ours. */
umbel_status um_replica_adopt(umbel_sync *s, const um_sync_id *id,
                              const umbel_filter *f, umbel_error *err);
/* Creates an empty filter of that shape, without touching its memory. If it
 * takes memory by pages (um_lazy_page), these are not huge. */
umbel_status um_filter_like(const umbel_filter *shape, umbel_filter **out,
                            umbel_error *err);
/* Returns true if `bytes` more bytes of replicas fit into memory. */
bool um_sync_has_memory(umbel_sync *s, uint64_t bytes);
/* Returns the memory of a replica of that list whose written pages take that
 * many bytes, at most: pages may share a page of the kernel. */
uint64_t um_replica_bytes(const um_sync_list *l, uint64_t written);
/* Returns the memory of a replica without empty pages. */
uint64_t um_replica_full_bytes(const um_pages *pages);
/* Returns the memory that a page takes from its first write on; 0 if the
 * replica had it from the start. */
uint64_t um_replica_page_bytes(const um_sync_list *l, uint64_t number);
/* Adds the memory of pages that are written for the first time. */
void um_replica_add_written(umbel_sync *s, um_replica *c, uint64_t bytes);

bool um_step_index(um_version_step *step);
void um_step_fini(um_version_step *step);
size_t um_step_bytes(const um_version_step *step);
/* Forgets all versions before the current one. */
void um_replica_forget_past(um_replica *c);
/* Appends to the statements before the steps. */
bool um_replica_add_past(um_replica *c, const um_statement *st);
/* Returns the latest version whose difference from base has at most `pages`
 * pages, at least the one after base; the current version if the steps do not
 * go back to base. */
uint64_t um_replica_reach(const um_replica *c, uint64_t base, size_t pages);
/* Returns the statement of a version within the history, or NULL. */
const um_statement *um_replica_statement(const um_replica *c, uint64_t version);
/* The same, also of versions of ours that cannot be reconstructed any more. */
const um_statement *um_replica_signed(const um_replica *c, uint64_t version);
/* Reconstructs a page as it was in a version within the history. */
void um_replica_page_at(const umbel_sync *s, const um_replica *c,
                        uint64_t number, uint64_t version, uint8_t *out);
/* Returns true if a page changed between two versions within the history. */
bool um_replica_page_differs(const um_replica *c, uint64_t number,
                             uint64_t base, uint64_t version);
/* Appends to a step the old counts of the entries that differ between p->old
 * and p->now. */
void um_replica_record_old(um_buffer *out, const um_growth_page *p);
/* Returns a page of two payloads as a pair to compare. */
um_growth_page um_page_pair(const um_pages *pages, uint64_t number,
                            const uint8_t *old, uint8_t *now);
/* Completes a step: the replica is now at version next, and old leads back. */
void um_replica_end_step(umbel_sync *s, um_replica *c, um_buffer *old,
                         const um_statement *next);

/* --- entry_log.c
 * ---------------------------------------------------------------- */

/* Sums the hashes of all entries that count, in any order. */
void um_log_sum(const umbel_sync *s, uint64_t sum[2]);
um_sync_log *um_log_find(umbel_sync *s, const uint8_t *origin,
                         uint64_t incarnation, bool create);
void um_log_forget(umbel_sync *s, um_sync_log *log);
/* Returns true if entry seq has the same signature as e. */
bool um_log_has(const um_sync_log *log, uint64_t seq, const um_log_entry *e);
/* Returns a hash of the first n entries, equal on servers that have the same
 * ones. */
uint64_t um_log_word(const um_sync_log *log, uint64_t n);
/* Applies an entry; *applied is false if the log has one that outranks it. */
umbel_status um_log_apply(umbel_sync *s, int peer, const uint8_t *origin,
                          uint64_t incarnation, uint64_t seq,
                          const um_log_entry *e, bool *applied,
                          umbel_error *err);

/* --- peer_session.c
 * ------------------------------------------------------------ */

/* Returns true if text is valid for umbel_sync_list.agree. */
bool um_is_agree(const char *text);
/* Discards everything known about a peer. */
void um_peer_forget(umbel_sync *s, um_peer *p);
/* Starts a new session with each peer, because we have less than they
 * assume. */
void um_peers_restart(umbel_sync *s);
/* Extends a peer's arrays to the current numbers of replicas, logs and
 * contradictions. */
bool um_peer_extend(const umbel_sync *s, um_peer *p);
bool um_peer_wants(const um_peer *p, const uint8_t *origin);
/* Returns true if the peer has the list of that replica, in the same shape. */
static inline bool um_peer_has_list(const um_peer *p, const um_replica *c)
{
    return p->lists >> c->id.list & 1;
}
/* Requests that the statement of a version be sent to the peer. */
void um_peer_prove(um_peer_replica *pc, uint64_t version);
void um_receive_buffer_fini(umbel_sync *s, um_receive_buffer *g);

/* --- origin.c ------------------------------------------------------------- */

umbel_status um_contradiction_add(umbel_sync *s, const um_sync_id *id,
                                  const um_statement *a, const um_statement *b,
                                  int peer, umbel_error *err);
/* Continues as a new incarnation, because others have versions of ours that we
 * do not have. */
void um_sync_renew(umbel_sync *s, int peer);
/* Moves what we have of one of our incarnations to version 1 of an incarnation
 * in between: the forked filter and those published versions that no peer has,
 * or everything if forked is NULL. Called before um_sync_renew. */
void um_sync_rescue(umbel_sync *s, uint64_t incarnation,
                    const um_sync_id *forked);
/* Called when we have signed a version that is neither earlier nor later than
 * the one that we have: we were restored from a backup, or a copy of us runs
 * elsewhere. Moves what we have to an incarnation in between, and continues as
 * a new one if it was the current one. */
void um_sync_resolve_fork(umbel_sync *s, int peer, const um_sync_id *id);
/* Called when a peer has a version of ours that is not part of the one that we
 * have. For an earlier incarnation, signs a further version that joins all that
 * we have of ours, which all servers can accept; only with announce, where the
 * caller saves it before it is sent. If that is not possible, or it is the
 * current incarnation, resolves the fork. */
void um_sync_reconcile(umbel_sync *s, int peer, const um_sync_id *id);
/* Signs f, whoever wrote it, as a filter of ours beside the current one. */
umbel_status um_sync_adopt(umbel_sync *s, size_t list, uint64_t epoch,
                           const umbel_filter *f, umbel_error *err);
/* Moves all that we have of another origin to such filters of ours; *n is how
 * many there were. Versions of it that we refused can be accepted then. */
umbel_status um_sync_adopt_origin(umbel_sync *s, const uint8_t *origin,
                                  size_t *n, umbel_error *err);
/* Acts on an entry that a peer sent: continues as a new incarnation if the
 * entry is from our current one, and drops an origin if there are enough
 * notices. */
void um_sync_honour_entry(umbel_sync *s, int peer, const um_sync_id *id,
                          const um_log_entry *e);

/* --- update.c ------------------------------------------------------------- */

/* Begins an update in s->out if the peer lacks a version. */
bool um_send_update(umbel_sync *s, um_peer *p);
umbel_status um_receive_update(umbel_sync *s, int peer, um_reader *r,
                               umbel_error *err);
/* Finishes the current work; a message that is ready stays. */
void um_work_finish(umbel_sync *s);
/* Finishes the current work before a message is made for that peer; abandons a
 * ready message for another peer. */
void um_work_yield(umbel_sync *s, int peer);

#endif
