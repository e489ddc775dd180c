/*
 * kind.h - what a cell means: one row per kind of filter.
 *
 * A kind declares its payload; the envelope owns memory, files and checksums
 * for all of them. Kinds see digests, never keys. An empty slot or sub-table
 * means "cannot", and filter.c answers E_UNSUPPORTED for it; sections, attach
 * and query are in every row.
 */
#ifndef UM_FILTER_KIND_H
#define UM_FILTER_KIND_H

#include "base/bits.h"
#include "base/spill.h"
#include "base/threads.h"
#include "coding/entries.h"
#include "filter/addressing/addressing.h"

#include <umbel/describe.h>
#include <umbel/experimental/generalized.h>
#include <umbel/filter.h>

#include <stddef.h>
#include <stdint.h>

enum { UM_MAX_SECTIONS = 8, UM_MAX_SETTINGS = 24, UM_SPARE_MAX = 128 };

typedef struct um_kind um_kind;

/* Counts that differ: checksums of the cells to add them to, and of those that
 * this gives. Zeros: plain counts. */
typedef struct um_delta {
    uint64_t from, to;
} um_delta;

static inline bool um_is_delta(const um_delta *d)
{
    return d->from || d->to;
}

#define UM_MAX_EXPANSION (((uint64_t)1 << 33) - 1)

/* Everything that defines a filter: the head of its file. A handle holds it
 * packed (handle.h). */
typedef struct um_shape {
    const um_kind *kind;
    const um_addressing *addressing;
    const um_hash *hash;
    uint64_t seed;
    uint64_t secret_id;
    uint64_t cells;
    uint32_t hashes;
    uint64_t capacity; /* as requested; 0: not given */
    double fpr;        /* as requested */
    bool exact_size;   /* as requested: not rounded up so that it folds */
    uint64_t setting[UM_MAX_SETTINGS];

    /* What happened to it since. */
    uint64_t added;    /* keys that were new; with bounds, all of them */
    bool estimated;    /* ... a guess, after a merge */
    bool intersected;  /* by AND: its cells do not give its keys */
    bool joined;       /* counts merged, not by sums: none can be removed */
    bool difference;   /* of refined counts: too low by itself */
    bool coded;        /* its file is, or will be, coded */
    uint64_t attached; /* bytes of the user's data behind the cells */
    uint64_t false_negatives; /* members that are known not to match */
    uint64_t key_form;        /* umbel_key_form: how its keys were read */
    /* How it grows in RedisBloom (foreign/redisbloom.c), at most
     * UM_MAX_EXPANSION. */
    uint64_t expansion;
    um_delta delta;
    uint8_t spare_len; /* fields of a later version that may be ignored: kept */
    uint8_t spare[UM_SPARE_MAX];
} um_shape;

/* A part of the payload: cells of equal width. */
typedef struct um_section {
    uint64_t cells;
    uint32_t cell_bits; /* 1 .. 64 */
} um_section;

enum { UM_SECTION_ALIGN = 64 }; /* where sections begin; on the wire */

/* At most 2^48 cells of 64 bits: no overflow. */
static inline uint64_t um_section_bits(const um_section *s)
{
    return s->cells * s->cell_bits;
}

static inline uint64_t um_section_bytes(const um_section *s)
{
    return (um_section_bits(s) + 7) / 8;
}

/* With the zeros up to the next section. */
static inline uint64_t um_section_space(const um_section *s)
{
    uint64_t bytes = um_section_bytes(s) + UM_SECTION_ALIGN - 1;
    return bytes / UM_SECTION_ALIGN * UM_SECTION_ALIGN;
}

/* The keys a static kind is built from, in any order, some perhaps repeated. */
typedef struct um_members {
    const umbel_digest *digests;
    const uint64_t *values; /* NULL: a set */
    size_t n;
    unsigned threads;
    const umbel_alloc *alloc;
    umbel_digest *clash; /* NULL, or receives the key that has two values */
} um_members;

/* The same in a temporary file, as words: lo, then hi unless it is that of
 * UM_DEFAULT_HASH and follows, then the value of a map. */
typedef struct um_spilled_members {
    um_spill *digests; /* at its end; will be sorted, and each key once */
    bool hi_follows;
    uint64_t memory; /* bytes to use at most */
    unsigned threads;
    const umbel_alloc *alloc;
    umbel_digest *clash;
} um_spilled_members;

/* Why verbs are missing, for messages; NULL: no reason is given. */
typedef struct um_unsupported_reason {
    const char *any;  /* of any verb */
    const char *join; /* of merge and fold, where it differs */
    const char *grow; /* why copies by pages are not sound */
} um_unsupported_reason;

/* Adds each key amounts[i] times; amounts NULL: once. Only kinds that count get
 * amounts. Returns how many keys were new, and fills fresh when it is given. */
typedef size_t um_add_fn(void *self, const umbel_digest *d,
                         const uint64_t *amounts, size_t n, bool *fresh);
typedef void um_query_fn(const void *self, const umbel_digest *d, size_t n,
                         bool *hit);
typedef void um_count_fn(const void *self, const umbel_digest *d, size_t n,
                         uint64_t *out);

/* Kinds that count how often a key was added. */
typedef struct um_row_counting {
    um_count_fn *count;
    /* Begins to fetch what count will read of n digests; NULL: nothing. */
    void (*fetch)(const void *self, const umbel_digest *d, size_t n);
    /* Returns the largest count that the cells can hold. */
    uint64_t (*most)(const void *self);
    /* Refuses removal, with the reason; NULL: any shape can. */
    umbel_status (*may_remove)(const um_shape *s, umbel_error *err);
    /*
     * Removes each key once, up to the first that cannot be in; returns how
     * many, and adds to *gone those whose count became 0. NULL: cannot.
     */
    size_t (*remove)(void *self, const umbel_digest *d, size_t n, size_t *gone);
} um_row_counting;

/* Static kinds, which are built from all keys at once and have no add. */
typedef struct um_row_static {
    /*
     * Fills in cells, hashes, settings, capacity, fpr and added, and allocates
     * the payload from in->alloc. Where cells are given they are not exceeded,
     * and fpr follows from them.
     */
    umbel_status (*build)(um_shape *s, const um_members *in, uint8_t **payload,
                          umbel_error *err);
    /*
     * The same from a temporary file into another one, the same bytes; NULL:
     * cannot. E_LIMIT when the memory does not suffice: says how much would.
     */
    umbel_status (*build_spilled)(um_shape *s, const um_spilled_members *in,
                                  um_spool *payload, umbel_error *err);
    /* Return the bytes that these take at most beside what they are given and
     * make; the first with the members' digests, the second at least. */
    double (*build_memory)(const um_shape *s, double keys, unsigned threads);
    double (*spilled_memory)(const um_shape *s, double keys,
                             double largest_heap);
    /* Refuses cells and hashes that do not follow from the settings. */
    umbel_status (*fits)(const um_shape *s, umbel_error *err);
    /* Gives a planned shape settings, so that its head gets its final length,
     * and returns the hashes of that number of keys in its cells. */
    uint32_t (*plan_hints)(um_shape *s, double keys);
    /* Returns the bits of a value; 0: this filter is a set. */
    uint32_t (*value_bits)(const um_shape *s);
    um_count_fn *value;
    bool parts; /* keys may come in partitions (um_hash.part) */
} um_row_static;

/*
 * The same for threads that run together: every cell is read and written
 * atomically. The last is for kinds that count.
 */
typedef struct um_row_shared {
    /* Refuses a shape that cannot be shared, with the reason; NULL: any can. */
    umbel_status (*may_share)(const um_shape *s, umbel_error *err);
    /* Gives self UM_GATE_LOCKS locks; NULL: it needs none. */
    void (*use_locks)(void *self, um_gate_lock *locks);
    um_add_fn *add;
    um_query_fn *query;
    um_count_fn *count;
} um_row_shared;

/* What one pass over the cells finds. */
typedef struct um_bits_look {
    uint64_t used;              /* cells */
    uint64_t in_block, fullest; /* cells in use of the fullest block; which */
    double error;               /* as predict has it */
} um_bits_look;

/*
 * Kinds whose cells in use, taken as bits, are those of a Bloom filter of the
 * same keys: for estimates, admission, conversion. Kinds have cells and groups
 * where a cell is one bit, or else copy.
 */
typedef struct um_row_bits {
    /* Counts the cells in use; with other, in use here or there. */
    uint64_t (*used)(const void *self, const void *other);
    void (*look)(const void *self, um_bits_look *out);
    /* Returns the cells. A key matches only if all its cells are set. */
    uint8_t *(*cells)(void *self);
    /* Returns how many digests a key may be added by
     * (filter/addressing/hash_groups.h). */
    uint32_t (*groups)(const void *self);
    /* Sets the bits of the cells in use; bits is zero. */
    void (*copy)(const void *self, uint8_t *bits);
    /*
     * Returns the keys behind that number of used cells where keys chose their
     * cells, or NAN where um_model_keys answers. NULL: always NAN.
     */
    double (*keys)(const void *self, uint64_t used);
} um_row_bits;

/* Kinds that are several Bloom filters: a key matches if it matches in any. */
typedef struct um_row_links {
    size_t (*n)(const void *self);
    /* Fills in the cells, among all, of a digest in link i. Returns how many;
     * 0: more than there is room for. */
    uint32_t (*positions)(const void *self, size_t i, const umbel_digest *d,
                          uint64_t pos[UM_MAX_HASHES]);
    uint8_t *(*cells)(void *self); /* of all links */
    /* As umbel_merge by OR, of filters with the same kind and hash. */
    umbel_status (*merge)(umbel_filter *into, const umbel_filter *from,
                          umbel_error *err);
} um_row_links;

/* Kinds that merge. */
typedef struct um_row_merge {
    unsigned ops; /* bit 1 << op for each that cells knows */
    /*
     * Makes the head of the result, or refuses; may be NULL. Called for every
     * op, so that one that cells does not know can have its reason.
     */
    umbel_status (*admit)(um_shape *into, const um_shape *from,
                          umbel_merge_op op, umbel_error *err);
    /* When it fails no cell has changed. */
    umbel_status (*cells)(void *self, const void *from, umbel_merge_op op,
                          umbel_error *err);
} um_row_merge;

/* Kinds that grow as keys are added. */
typedef struct um_row_growing {
    /* Returns how many keys the last add dealt with. Fewer than it was given:
     * the next one finds no room. */
    size_t (*done)(const void *self);
    /* Makes s the shape to grow to, or refuses. */
    umbel_status (*larger)(const void *self, um_shape *s, umbel_error *err);
    /* Moves all keys to self, which is empty and larger. Returns false if it is
     * not large enough. */
    bool (*move)(void *self, const void *from);
} um_row_growing;

/*
 * Kinds whose entries only grow, whatever is added: an older copy of a page is
 * a state that it once had, and what it counts is not too high.
 */
typedef struct um_row_paged {
    void (*forms)(const um_shape *s, um_entry_form out[UM_MAX_SECTIONS]);
} um_row_paged;

/* Of kinds whose cells are counts, or bits, in one section. */
extern const um_row_paged um_paged_cells;

/* --- which of up to 64 filters of one shape may hold a key -----------------
 *
 * A filter has a column, and each place of an entry a row of bits, one for each
 * column: set where the filter has something there. So one look-up finds the
 * few filters that are worth asking. Bits are only ever set; a column is
 * cleared as a whole, when its filter has gone.
 */
enum { UM_INDEX_MIN = 8, UM_INDEX_MAX = 64 };

typedef struct um_filter_index {
    uint8_t *at; /* there are 8 bytes behind the last row */
    size_t len;
    unsigned width; /* columns: a power of two */
} um_filter_index;

static inline uint64_t um_filter_index_row(const um_filter_index *c,
                                           uint64_t row)
{
    return um_get_field(c->at, row * c->width, c->width,
                        UINT64_MAX >> (64 - c->width));
}

static inline void um_filter_index_set(const um_filter_index *c, uint64_t row,
                                       unsigned column)
{
    uint8_t *at = c->at + row * (c->width / 8) + column / 8;

    *at = (uint8_t)(*at | 1U << column % 8);
}

/* --- the counts of many filters of one shape, added up cell by cell --------
 *
 * A digest has some cells, and each filter that has it adds at least its count
 * to all of them. So the least of these cells is never below the sum of the
 * filters' own answers, and mostly not far above: enough to tell that a sum
 * does not reach a threshold. Sums only grow, and stick at their maximum. When
 * filters have gone, they are made anew.
 */
enum { UM_TOTAL_MAX = 255 }; /* or more */

typedef struct um_count_totals {
    uint8_t *at;
    size_t len;
} um_count_totals;

static inline void um_total_grow(uint8_t *sum, uint64_t by)
{
    *sum = by < (uint64_t)(UM_TOTAL_MAX - *sum) ? (uint8_t)(*sum + by)
                                                : UM_TOTAL_MAX;
}

/* --- rows of those two ---------------------------------------------------- */

/* What many filters of one shape hold, side by side (um_filter_index). */
typedef struct um_row_index {
    /* Returns the bytes that this many columns take. */
    uint64_t (*len)(const void *self, unsigned width);
    /* Notes what bytes of the only section hold, at an offset where an entry
     * begins. */
    void (*mark)(const void *self, const um_filter_index *c, unsigned column,
                 size_t offset, size_t len);
    /* mask[i] becomes the columns that may hold digest i. */
    void (*find)(const void *self, const um_filter_index *c,
                 const umbel_digest *d, size_t n, uint64_t *mask);
} um_row_index;

/* What many filters of one shape count together, at most (um_count_totals). */
typedef struct um_row_totals {
    /* Returns the bytes of the sums, one each. */
    uint64_t (*len)(const void *self);
    /* Adds by how much bytes of the only section grew, at an offset where an
     * entry begins; old: they were zeros, if NULL. */
    void (*add)(const void *self, const um_count_totals *to, const uint8_t *old,
                size_t offset, size_t len);
    /* most[i] becomes a number that all of them together do not exceed for
     * digest i; UM_TOTAL_MAX: they may. */
    void (*bound)(const void *self, const um_count_totals *from,
                  const umbel_digest *d, size_t n, uint8_t *most);
} um_row_totals;

struct um_kind {
    const char *name; /* in settings, commands, on the wire; never reused */
    const char *summary;
    bool forgets;           /* has false negatives by design */
    const char *addressing; /* the default; NULL: UM_DEFAULT_ADDRESSING */
    double fpr;             /* the default; 0: UM_DEFAULT_FPR */
    uint64_t capacity;      /* the default; 0: none */
    const umbel_setting_info *settings;    /* ends with a NULL name; or NULL */
    size_t self_len;                       /* bytes of its part of a handle */
    const um_addressing *fixed_addressing; /* the only one; NULL: any */
    um_unsupported_reason unsupported_reason;

    /* Refuses settings that exclude each other; NULL: any in range will do. */
    umbel_status (*check)(const um_shape *s, umbel_error *err);
    /* Returns the hashes that the settings give; NULL: any number. */
    uint32_t (*hashes)(const um_shape *s);
    /* At most one less than UM_MAX_SECTIONS: attached data needs one. */
    size_t (*sections)(const um_shape *s, um_section out[UM_MAX_SECTIONS]);
    /*
     * self is zeroed; memory[i] is section i. Any content of the memory must be
     * safe to use, even one that changes: reduce what you read from it.
     */
    void (*attach)(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[]);
    /* Gives self the number of keys that the handle counts; NULL: it needs
     * none. */
    void (*use_added)(void *self, const uint64_t *added);
    /* Writes the cells before the first key, into zeros; NULL: zeros. */
    void (*start)(void *self);

    /*
     * Returns true if adding a key reads and changes nothing but its block,
     * where there are blocks: keys of different ones come in any order. The
     * blocks are all of one section. NULL: false.
     */
    bool (*local)(const um_shape *s);
    um_add_fn *add;
    um_query_fn *query;
    /* Returns the keys that found no room since the last call of this, and were
     * not added; NULL: there is always room. */
    uint64_t (*refused)(void *self);
    /* Counts the keys, where each has an entry of its own; NULL: none has. */
    uint64_t (*entries)(const void *self);
    /* Forgets the older half of the keys; NULL: has no halves. */
    void (*rotate)(void *self);
    /* self is empty and by times smaller. */
    void (*fold)(void *self, const void *from, uint64_t by);

    /* Return the false positive rate: by the formula, by the cells. error NULL:
     * by um_model_error. */
    double (*error)(const um_shape *s, const um_layout *l, double keys);
    double (*predict)(const void *self);
    /*
     * Bounds of the errors that hold whatever the bits are; NULL: none hold,
     * and umbel_set_cells refuses bits of strangers.
     */
    void (*bounds)(const void *self, umbel_bounds *out);
    /* Appends fields of its own; NULL: none. */
    void (*info)(const void *self, umbel_info *out);

    /* What only some kinds can do; NULL: cannot. */
    const um_row_counting *counting;
    const um_row_static *built;
    const um_row_shared *shared;
    const um_row_bits *bits;
    const um_row_links *links;
    const um_row_merge *merge;
    const um_row_growing *growing;
    const um_row_paged *paged;
    const um_row_index *index;
    const um_row_totals *totals;
};

/* Return NULL if no kind has that name, or i is past the end. The first row is
 * the default kind, and the answer for NULL: plain bits. */
const um_kind *um_kind_find(const char *name);
const um_kind *um_kind_row(size_t i);
/* Return NULL if no addressing has that name, or i is past the end. */
const um_addressing *um_addressing_find(const char *name);
const um_addressing *um_addressing_row(size_t i);

/* Returns the addressing of that name if the kind works on it, or NULL. */
const um_addressing *um_kind_addressing(const um_kind *kind, const char *name);

/* Returns the bits of a value; 0: the filter is a set. */
static inline uint32_t um_value_bits(const um_shape *s)
{
    return s->kind->built ? s->kind->built->value_bits(s) : 0;
}

/* Returns true if it takes every key for a member, as only maps may. */
static inline bool um_is_map(const um_shape *s)
{
    return s->kind->built && s->fpr == 1;
}

/* Returns true if its merge knows op. */
static inline bool um_merges_by(const um_kind *kind, umbel_merge_op op)
{
    return kind->merge && (unsigned)op < 32 && kind->merge->ops >> op & 1;
}

/* Returns true if its cells are the bits of a Bloom filter. */
static inline bool um_has_bits(const um_kind *kind)
{
    return kind->bits && kind->bits->cells;
}

/* Fills in the kind's sections, and behind them that of the attached data. */
size_t um_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS]);
/* Returns false if the payload does not fit into an address space. */
bool um_payload_len(const um_shape *s, size_t *len);

/* Returns the number of settings of a kind. */
size_t um_count_settings(const um_kind *kind);
/* Returns the first setting that differs from its default; NULL: none. */
const char *um_unusual_setting(const um_shape *s);

/* Append to a description; what does not fit is dropped. */
void um_info_text(umbel_info *out, const char *name, const char *text);
void um_info_count(umbel_info *out, const char *name, uint64_t count);
void um_info_real(umbel_info *out, const char *name, double real);
void um_info_hex(umbel_info *out, const char *name, uint64_t hex);
void um_info_flag(umbel_info *out, const char *name, bool flag);

/* --- faster ways to do what a pair of kind and addressing does -------------
 *
 * Optional: the kind's own functions are the definition, and a row here gives
 * the same answers and the same cells, sooner. The first usable row is taken
 * when a filter is made.
 */

/* As umbel_query and umbel_add, which jump here. */
typedef umbel_status um_query_key(const umbel_filter *f, const void *key,
                                  size_t len, bool *hit, umbel_error *err);
typedef umbel_status um_add_key(umbel_filter *f, const void *key, size_t len,
                                bool *fresh, umbel_error *err);

/* Functions for one key. */
typedef struct um_one_key {
    um_query_key *query;
    um_add_key *add;
} um_one_key;

/* They are compiled for up to 8 hashes, and for more. */
enum { UM_FAST_WORDS = 2 };

typedef struct um_fast {
    const char *name; /* of the instructions it needs */
    const char *kind, *addressing;
    /* Returns true if this machine, and this size, can use it. */
    bool (*usable)(const um_layout *l);
    /* With which settings of the kind; NULL: with nothing set. */
    bool (*takes)(const um_shape *s);

    /* As the kind's add, without amounts, and query; add NULL: none faster. */
    size_t (*add)(void *self, const umbel_digest *d, size_t n, bool *fresh);
    void (*query)(const void *self, const umbel_digest *d, size_t n, bool *hit);
    /* As the kind's count; NULL: it has none, or none faster. */
    void (*count)(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out);
    /*
     * The rest is fused with XXH3-64 (um_hash.fused), and may be NULL. seed is
     * the hasher's.
     */
    /* One key, without the frame of a batch, for filters that are not shared.
     * Both or none. */
    um_one_key one[UM_FAST_WORDS];
    /*
     * For filters that are shared (locked_add.c); NULL: not with this row. Adds
     * and queries by set_hash, has_hash, add and query may run together as long
     * as no two threads add to one pair of neighbouring blocks. set_hash
     * returns true if the key was new; neither counts it.
     */
    um_one_key shared[UM_FAST_WORDS];
    bool (*set_hash[UM_FAST_WORDS])(umbel_filter *f, uint64_t lo);
    bool (*has_hash[UM_FAST_WORDS])(const umbel_filter *f, uint64_t lo);
    /* Keys of 8 bytes each. */
    size_t (*add_keys8)(void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *fresh);
    void (*query_keys8)(const void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *hit);
} um_fast;

/* Returns true if the row takes such settings. */
bool um_fast_takes(const um_fast *row, const um_shape *s);
/* NULL when none is usable. */
const um_fast *um_fast_pick(const um_shape *s, const um_layout *l);
/* The i-th row; NULL when past the end. */
const um_fast *um_fast_row(size_t i);

/* --- the rows that stand above this directory ------------------------------
 *
 * Kinds and addressings include this directory, not the other way round. This
 * one symbol brings their tables here; kinds/registry.c defines it.
 */

/* Each ends with NULL. */
typedef struct um_table_set {
    const um_kind *const *kinds;       /* the default kind first */
    const um_kind *const *inner_kinds; /* of one program: only by name */
    const um_addressing *const *addressings;
    const um_fast *const *fast; /* best first */
} um_table_set;

extern const um_table_set um_tables;

#endif
