/*
 * sync_inside.h - the parts of the machine of umbel/sync.h.
 *
 *   sync_tree.c     the root over pages
 *   sync_copy.c     copies: finding, making
 *   sync_history.c  how to go back some versions
 *   sync_own.c      our own copies: publishing
 *   sync_take.c     copies of others: taking an update
 *   sync_update.c   pages as bytes, and back
 *   sync_message.c  messages as bytes, and back
 *   sync_log.c      signed entries
 *   sync_standing.c dropped and contradicted origins
 *   sync_peer.c     peers: what to send next, what came
 *   sync_greet.c    HELLO, HAVE
 *   sync_version.c  UPDATE
 *   sync_work.c     updates that take several calls
 *   sync_proof.c    STATEMENT, CONTRADICTION
 *   sync_entries.c  LOG
 *   sync_state.c    restarts
 *   sync.c          the machine
 *   sync_answer.c   its answers
 *   sync_columns.c  which copies are worth asking
 *   sync_sums.c     what all copies count together, at most
 */
#ifndef UM_EXCHANGE_SYNC_INSIDE_H
#define UM_EXCHANGE_SYNC_INSIDE_H

#include "base/bytes.h"
#include "coding/code.h"
#include "coding/entries.h"
#include "filter/pages.h"
#include "sync/index.h"

#include <umbel/sync.h>

enum {
    UM_HASH_LEN = 32, /* BLAKE2b-256 */
    UM_SIGNATURE_LEN = 64,
    UM_ROOT_WORD = 8, /* bytes of a root that tell roots apart */
    UM_TREE_FAN = 16, /* on the wire: what a root is */
    UM_TREE_LEVELS = 16
};

/* --- bytes that grow -------------------------------------------------------
 */

typedef struct um_bytes {
    uint8_t *at;
    size_t len, cap;
    bool failed; /* there was no memory, once */
} um_bytes;

/* Begins anew in the same memory. */
static inline void um_bytes_reset(um_bytes *b)
{
    b->len = 0;
    b->failed = false;
}
void um_bytes_append(um_bytes *b, const void *data, size_t len);
void um_bytes_u64(um_bytes *b, uint64_t x);
void um_bytes_varint(um_bytes *b, uint64_t x);
/* Makes room for len more bytes; NULL: no memory. */
uint8_t *um_bytes_room(um_bytes *b, size_t len);
void um_bytes_fini(um_bytes *b);

/* --- the tree of hashes ----------------------------------------------------
 */

/* Level 0 has a hash for each page; each further one a hash of 16 below. */
typedef struct um_tree {
    uint8_t *level[UM_TREE_LEVELS];
    uint64_t n[UM_TREE_LEVELS];
    uint64_t touched[UM_TREE_LEVELS]; /* the node that is due, + 1 */
    unsigned levels;
} um_tree;

/* Of pages that are all zeros, as many as the largest has. */
bool um_tree_init_empty(um_tree *t, const um_pages *p, const uint8_t *zeros);
bool um_tree_copy(um_tree *t, const um_tree *from);
void um_tree_fini(um_tree *t);
/* Hashes a page: what its leaf is. */
void um_tree_hash_page(const void *cells, size_t len, uint8_t out[UM_HASH_LEN]);
uint8_t *um_tree_leaf(const um_tree *t, uint64_t number);
/* A leaf changed. Nodes above are hashed in passing and, the last ones, by
 * um_tree_end: once each if leaves come in order. */
void um_tree_touch(um_tree *t, uint64_t number);
void um_tree_end(um_tree *t);
const uint8_t *um_tree_root(const um_tree *t);

/* --- what is signed --------------------------------------------------------
 */

/* What an origin says of one version of a filter. */
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

/*
 * The rules that keep the invariants, each a function, so that tests can break
 * one and see that it is noticed.
 */
typedef struct um_sync_rules {
    bool (*signed_by)(const uint8_t *origin, const void *text, size_t len,
                      const uint8_t *signature);
    void (*sign)(const uint8_t *key, const void *text, size_t len,
                 uint8_t *signature);
    bool (*is_newer)(uint64_t have, uint64_t version);
    bool (*fits_base)(uint64_t have, uint64_t base);
    bool (*has_grown)(um_growth_page *page);
    bool (*is_expired)(uint64_t epoch, uint64_t oldest);
    bool (*same_session)(uint64_t expected, uint64_t session);
} um_sync_rules;

extern const um_sync_rules um_sync_rules_standard;
void um_sync_set_rules(umbel_sync *s, const um_sync_rules *rules);

/* --- copies ----------------------------------------------------------------
 */

/* Where a step has a page. */
typedef struct um_step_page {
    uint64_t number;
    size_t at, len; /* bytes of its old counts */
} um_step_page;

/* From one version to the next: the old counts of entries that changed. */
typedef struct um_step {
    um_statement from;
    um_bytes old;
    um_step_page *page; /* in old, ascending */
    size_t npages;
    uint64_t ended; /* when the next version came, in seconds */
} um_step;

struct um_copy {
    um_sync_id id;
    umbel_filter *filter;
    um_tree tree;
    uint64_t *changed; /* for each page, the version that changed it last */
    um_statement now;
    um_step *step; /* the oldest first */
    size_t nsteps;
    size_t history_bytes;
    uint64_t used;              /* entries that are not free, about */
    uint64_t admitted, claimed; /* used and keys at the last admission */
    uint64_t refused;           /* versions up to this one are not wanted */
    uint64_t judged;            /* when admission refused one; 0: never */
    uint64_t seen;
    bool own, held;
    bool published;  /* since the machine was opened */
    unsigned column; /* of its list, + 1; 0: none */
    uint64_t marked; /* pages that are noted there */
    uint64_t summed; /* pages that are in its list's sums */
};

struct um_sync_of_list {
    char name[UMBEL_SYNC_MAX_NAME];
    umbel_filter *shape;
    um_pages pages;
    umbel_sync_list set;
    char agree[UMBEL_SYNC_MAX_AGREE]; /* "": nothing */
    uint8_t digest[UM_HASH_LEN]; /* of name, shape, pages, epochs and agree */
    um_tree tree;                /* of an empty filter */
    uint8_t empty[UM_HASH_LEN];  /* its root */
    uint64_t epoch;              /* the present one */
    uint64_t oldest;             /* that counts: older ones never come back */
    um_sync_columns columns;
    um_sync_sums sums;
};

/* A page of an update. */
typedef struct um_staged {
    uint64_t number;
    uint8_t hash[UM_HASH_LEN];
    uint8_t *cells; /* NULL: in the filter of the staging */
} um_staged;

/* Pages of an update that is not complete yet. */
struct um_staging {
    bool active;
    um_sync_id id;
    uint64_t have; /* the version that the copy had when it began; 0: none */
    uint64_t base, version, keys, next_part;
    uint8_t signature[UM_SIGNATURE_LEN];
    umbel_filter *filter; /* of a first version: its pages lie here */
    um_staged *page;      /* ascending */
    size_t npages;
    uint64_t next_page; /* the least that may come */
    uint64_t bytes, changed, fresh;
    uint64_t most_bytes; /* with the message that is being taken */
    bool shrank;         /* a page has less than before */
    um_bytes old;        /* how to go back */
};

/* id, base, version, keys and signature are set. */
umbel_status um_staging_begin(umbel_sync *s, um_staging *g, uint64_t have,
                              umbel_error *err);
void um_staging_fini(umbel_sync *s, um_staging *g);

/* --- logs ------------------------------------------------------------------
 */

typedef struct um_log_entry {
    uint8_t type;
    bool taken_back;
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
    size_t take_backs; /* of them */
} um_sync_log;

/* An incarnation that signed two roots for one version; both statements. */
typedef struct um_contradiction {
    um_sync_id id;
    um_statement one, other;
} um_contradiction;

typedef enum um_standing { UM_ALLOWED, UM_MUTED, UM_DROPPED } um_standing;

typedef struct um_origin_rule {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    um_standing standing;
} um_origin_rule;

/* --- peers -----------------------------------------------------------------
 */

/* What a peer has of a copy. */
typedef struct um_peer_copy {
    uint64_t acked;    /* the version it has */
    uint64_t sent;     /* the version that is on its way; 0: none */
    uint64_t retry;    /* when to send it again */
    uint64_t page;     /* of a long update: the page to go on with */
    uint64_t part;     /* ... and the part; 0: at the start */
    uint64_t from;     /* ... and its base */
    uint64_t refused;  /* versions that it does not want */
    bool tell;         /* it should hear what we have */
    bool prove;        /* it should see a statement: its root is another */
    uint64_t proof;    /* ... of this version */
    uint64_t again;    /* ... and, from then on, once more; 0: no */
    uint64_t disputed; /* of our own: its root of this version is another, as
                          it says; 0: none */
} um_peer_copy;

typedef struct um_peer {
    bool used;
    bool greet;           /* it should hear who we are */
    bool known;           /* it has said all that it has */
    bool tell_all;        /* the message that we have more is complete */
    bool tell_rules;      /* it should hear who is not wanted, and out */
    bool done, said_done; /* we have all that it has; and it was told */
    bool idle;            /* nothing was to be sent ... */
    uint64_t idle_at, idle_changes; /* ... then, and nothing has changed */
    uint64_t session;               /* its own; 0: unknown */
    uint64_t own_session;           /* ours, with it */
    uint64_t lists;   /* bits of ours that it has, of the same shape */
    uint64_t greeted; /* when it was greeted last */
    um_peer_copy *copy;
    size_t ncopies;
    struct {
        uint64_t acked, sent, retry;
        bool tell;
    } * log;
    size_t nlogs;
    uint64_t *proved; /* when it was sent contradiction i, + 1 */
    size_t nproved;   /* UINT64_MAX: it has it */
    uint8_t (*unwanted)[UMBEL_ORIGIN_LEN];
    size_t nunwanted;
    um_staging staging;
    umbel_sync_peer_stats stats;
    uint64_t logged[UMBEL_SYNC_REASONS]; /* when, so as not to flood */
} um_peer;

/* What an update says before its pages. */
typedef struct um_update_head {
    um_sync_id id;
    uint64_t session; /* of the sender: what it has now, unless it restarted */
    uint64_t base, version, keys, part;
    uint8_t word[UM_ROOT_WORD], last, signature[UM_SIGNATURE_LEN];
} um_update_head;

/* Where the pages of an update are read. */
typedef struct um_update_reader {
    um_reader r;
    uint64_t runs;      /* that are left, behind the present one */
    uint64_t page, end; /* of this: its pages that are left */
    um_bytes cells;     /* ... all of its cells */
    size_t at;          /* ... and where those of the next page begin */
    bool changes;       /* the machine's decoder is in the changes after them */
} um_update_reader;

/* Where they are written. */
typedef struct um_update_writer {
    um_sync_id id;
    uint64_t base, version;
    um_writer w;
    size_t full; /* bytes from which on no page is begun */
    size_t left; /* bytes of pages that may follow */
} um_update_writer;

typedef enum um_work_kind {
    UM_WORK_NONE,
    UM_WORK_TAKE, /* of an update that came */
    UM_WORK_MAKE, /* of the message in out */
    UM_WORK_MADE  /* which waits for umbel_sync_next */
} um_work_kind;

/* An update that takes several calls. */
typedef struct um_sync_work {
    um_work_kind kind;
    int peer;
    um_bytes message; /* the bytes that are read */
    um_update_head head;
    uint64_t have; /* version of the copy when the message came */
    um_update_reader in;
    size_t slot, last_at; /* of the message that is made: copy, flag */
    um_update_writer out;
} um_sync_work;

/* An origin that has copies here. */
typedef struct um_held_origin {
    uint8_t origin[UMBEL_ORIGIN_LEN];
    size_t copies;
} um_held_origin;

struct umbel_sync {
    umbel_sync_params set;
    umbel_sync_limits limit;
    const um_sync_rules *rules;
    uint8_t sign_key[UMBEL_ORIGIN_SECRET_LEN];
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t incarnation;
    um_sync_of_list *list;
    size_t nlists;
    um_copy **copy; /* slots: NULL where one has gone */
    size_t ncopies;
    size_t *order; /* slots in use, by list, origin, incarnation, epoch */
    size_t norder;
    um_held_origin *held;
    size_t norigins;
    uint64_t changes; /* of copies, logs and rules, so far */
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
    uint64_t memory;      /* bytes of copies and of pages that are staged */
    uint64_t now;
    um_growth *growth; /* the work's, while there is some */
    um_bytes out;
    um_sync_work work;
    uint8_t *scratch; /* two pages of the largest list */
};

/* Grows an array by one zeroed item; NULL when there is no memory. */
void *um_grow_array(void *array, size_t *n, size_t size);

bool um_same_id(const um_sync_id *a, const um_sync_id *b);
um_copy *um_copy_find(const umbel_sync *s, const um_sync_id *id, size_t *slot);
/* An empty copy, version 0; its slot is new for every peer. */
umbel_status um_copy_create(umbel_sync *s, const um_sync_id *id, um_copy **out,
                            umbel_error *err);
void um_copy_free(umbel_sync *s, size_t slot);
/* An empty filter of that shape, which no memory is touched for. */
umbel_status um_filter_like(const umbel_filter *shape, umbel_filter **out,
                            umbel_error *err);
bool um_step_index(um_step *step);
void um_step_fini(um_step *step);
size_t um_step_bytes(const um_step *step);
/* Forgets the n oldest steps. */
void um_drop_steps(um_copy *c, size_t n);
/* The latest version that is at most `pages` away from base, or the one
 * after it; the present one if base cannot be reached. */
uint64_t um_copy_reach(const um_copy *c, uint64_t base, size_t pages);
/* The statement of a version that can be reached; NULL: none. */
const um_statement *um_copy_statement(const um_copy *c, uint64_t version);
/* Fills out with a page as it was in a version that can be reached. */
void um_copy_page_at(const umbel_sync *s, const um_copy *c, uint64_t number,
                     uint64_t version, uint8_t *out);
/* Returns true if a page changed between two versions that can be reached. */
bool um_copy_page_differs(const um_copy *c, uint64_t number, uint64_t base,
                          uint64_t version);
/* Appends to a step how to go back from p->now to p->old. */
void um_copy_note_old(um_bytes *out, const um_growth_page *p);
/* A page in two payloads, to be compared. */
um_growth_page um_page_pair(const um_pages *pages, uint64_t number,
                            const uint8_t *old, uint8_t *now);
/* The copy is at next from now on; old is how to go back. */
void um_copy_end_step(umbel_sync *s, um_copy *c, um_bytes *old,
                      const um_statement *next);

void um_statement_sign(const umbel_sync *s, const um_copy *c,
                       um_statement *out);
bool um_statement_holds(const umbel_sync *s, const um_sync_id *id,
                        const um_statement *st);

/* Those who are not listed are dropped if the machine is strict. */
um_standing um_standing_of(const umbel_sync *s, const uint8_t *origin);
/* By umbel_sync_allow, not only because nobody has dropped it. */
bool um_is_allowed_by_name(const umbel_sync *s, const uint8_t *origin);
bool um_is_contradicted(const umbel_sync *s, const uint8_t *origin,
                        uint64_t incarnation);
umbel_status um_contradiction_add(umbel_sync *s, const um_sync_id *id,
                                  const um_statement *a, const um_statement *b,
                                  int peer, umbel_error *err);
void um_forget_origin(umbel_sync *s, const uint8_t *origin,
                      const uint64_t *incarnation);

/* Returns true for a text that umbel_sync_list.agree may have. */
bool um_is_agree(const char *text);

/* The memory that is left; our own copies may have taken more than all. */
static inline uint64_t um_sync_room(const umbel_sync *s)
{
    return s->limit.memory > s->memory ? s->limit.memory - s->memory : 0;
}
/* Returns true if there is memory for that many bytes of copies. */
bool um_sync_has_room(umbel_sync *s, uint64_t bytes);

void um_sync_tell(umbel_sync *s, const umbel_sync_event *e);
umbel_status um_sync_refuse(umbel_sync *s, int peer, umbel_sync_reason reason,
                            const um_sync_id *id, umbel_status status,
                            const char *text, umbel_error *err);

/*
 * Memory for a page of an update to c, with what c has there if the update is
 * a difference; then, once it is filled, compares and hashes it.
 */
umbel_status um_stage_page(umbel_sync *s, um_staging *g, const um_copy *c,
                           uint64_t number, uint8_t **out,
                           umbel_sync_reason *reason, umbel_error *err);
void um_stage_end(umbel_sync *s, um_staging *g, const um_copy *c);
/* Takes an update that is staged: all of it, or nothing. */
umbel_status um_copy_apply(umbel_sync *s, int peer, um_staging *g,
                           umbel_error *err);
/* Our own filter is behind what others have of it. */
void um_sync_renew(umbel_sync *s, int peer);
/* Before that: what our own filters say, as far as no peer has it, or all of
 * it, stays as the first version of an incarnation in between. */
void um_sync_rescue(umbel_sync *s, bool all);

/* --- updates ---------------------------------------------------------------
 */

/*
 * Appends pages of u->version to the machine's message for a peer that has
 * u->base, from *page on, as far as room bytes go. *page is the first that is
 * left, or the number of pages. um_update_append begins, um_update_append_more
 * goes on for that many pages at most; *more: there are some left for this
 * message.
 */
umbel_status um_update_append(umbel_sync *s, um_update_writer *u,
                              uint64_t *page, size_t room, uint64_t *changed,
                              bool *more, umbel_error *err);
umbel_status um_update_append_more(umbel_sync *s, um_update_writer *u,
                                   uint64_t *page, uint64_t pages,
                                   uint64_t *changed, bool *more,
                                   umbel_error *err);
/* Stages what such bytes say, in the same way: r is where they begin, and *u
 * stays where it is. *reason is set when it fails. */
void um_update_get(umbel_sync *s, um_staging *g, um_update_reader *u,
                   um_reader r);
umbel_status um_update_get_more(umbel_sync *s, um_staging *g,
                                um_update_reader *u, uint64_t pages, bool *more,
                                umbel_sync_reason *reason, umbel_error *err);

/* --- work ------------------------------------------------------------------
 */

/* The pages that a call works on, at most. */
static inline uint64_t um_slice_pages(const umbel_sync *s)
{
    return s->limit.slice_pages ? s->limit.slice_pages : UINT64_MAX;
}
/*
 * Takes the pages of an update that is staged, from r on, or writes those of
 * the message in out: some of them. Making returns false if there is no
 * message.
 */
umbel_status um_work_begin_apply(umbel_sync *s, int peer,
                                 const um_update_head *h, uint64_t have,
                                 const um_reader *r, umbel_error *err);
bool um_work_begin_create(umbel_sync *s, int peer, size_t slot, size_t last_at,
                          size_t room);
/* Ends the work, except a message that is made. */
void um_work_finish(umbel_sync *s);
/* The same before a message for that peer: one for another is given up. */
void um_work_yield(umbel_sync *s, int peer);
/* Forgets what is done for a peer. */
void um_work_cancel(umbel_sync *s, int peer);

/* --- messages --------------------------------------------------------------
 */

typedef enum um_message_type {
    UM_MSG_HELLO = 1,
    UM_MSG_HAVE = 2,
    UM_MSG_UPDATE = 3,
    UM_MSG_STATEMENT = 4,
    UM_MSG_CONTRADICTION = 5,
    UM_MSG_LOG = 6
} um_message_type;

void um_message_begin(um_bytes *b, um_message_type type);
/* Fills in length and checksum. */
void um_message_end(um_bytes *b);
umbel_status um_message_open(const umbel_sync *s, const void *bytes, size_t len,
                             um_message_type *type, um_reader *body,
                             umbel_error *err);
void um_write_id(um_bytes *b, const umbel_sync *s, const um_sync_id *id);
/* E_UNKNOWN: a list that we do not have; E_FORMAT. */
umbel_status um_get_id(um_reader *r, const umbel_sync *s, um_sync_id *out,
                       umbel_error *err);
void um_write_statement(um_bytes *b, const um_statement *st);
void um_get_statement(um_reader *r, um_statement *st);

/* --- messages of a peer ----------------------------------------------------
 */

#define UM_HAS_IT UINT64_MAX

/* What a peer had is forgotten. */
void um_peer_forget(umbel_sync *s, um_peer *p);
/* Begins a session with each peer: we have less than they believe. */
void um_peers_restart(umbel_sync *s);
/* Makes as many places as there are things to talk about. */
bool um_peer_retain_up(const umbel_sync *s, um_peer *p);
bool um_peer_wants(const um_peer *p, const uint8_t *origin);
/* Returns true if the peer has the list of that copy, in the same shape. */
static inline bool um_peer_has_list(const um_peer *p, const um_copy *c)
{
    return p->lists >> c->id.list & 1;
}
bool um_peer_has_news(const um_peer *p);
/* It should see the statement of a version. */
void um_peer_prove(um_peer_copy *pc, uint64_t version);
/* Refuse origins that are dropped; check_origin also incarnations that are out:
 * what these said in their logs stays. */
umbel_status um_check_standing(umbel_sync *s, int peer, const um_sync_id *id,
                               umbel_error *err);
umbel_status um_check_origin(umbel_sync *s, int peer, const um_sync_id *id,
                             umbel_error *err);

/* Put a message into out if there is one of that type to send. */
void um_send_hello(umbel_sync *s, um_peer *p);
bool um_send_have(umbel_sync *s, um_peer *p, bool done);
bool um_send_statement(umbel_sync *s, um_peer *p);
bool um_send_contradiction(umbel_sync *s, um_peer *p);
bool um_send_log(umbel_sync *s, um_peer *p);
bool um_send_update(umbel_sync *s, um_peer *p);

/* A part of an update was read, or refused: takes the last one. */
umbel_status um_end_part(umbel_sync *s, int peer, const um_update_head *h,
                         umbel_sync_reason reason, umbel_status status,
                         const umbel_error *why, umbel_error *err);
/* What the peer hears, and what it has, after an update of its own. */
void um_answer_update(umbel_sync *s, int peer, const um_update_head *h,
                      bool wanted, umbel_status status);

/* Take the body of a message. */
typedef umbel_status um_get_message(umbel_sync *s, int peer, um_reader *r,
                                    umbel_error *err);
um_get_message um_get_hello_message, um_get_have_message,
    um_get_statement_message, um_get_contradiction_message, um_get_log_message,
    um_get_update_message;

/* --- logs ------------------------------------------------------------------
 */

/* Adds up the hashes of entries that count: they have no order of their own. */
void um_log_sum(const umbel_sync *s, uint64_t sum[2]);
um_sync_log *um_log_find(umbel_sync *s, const uint8_t *origin,
                         uint64_t incarnation, bool make);
void um_log_forget(umbel_sync *s, um_sync_log *log);
/* Returns true if entry seq is that one, as it was signed. */
bool um_log_has(const um_sync_log *log, uint64_t seq, const um_log_entry *e);
/* The same on two servers whose first n entries are the same. */
uint64_t um_log_word(const um_sync_log *log, uint64_t n);
umbel_status um_log_apply(umbel_sync *s, int peer, const uint8_t *origin,
                          uint64_t incarnation, uint64_t seq,
                          const um_log_entry *e, umbel_error *err);

#endif
