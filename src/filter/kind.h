/*
 * kind.h - the interface of a kind of filter: one row per kind.
 *
 * A kind declares its payload; the envelope manages memory, files and checksums
 * for all kinds. Kinds see digests, never keys. A NULL function or sub-table
 * means "not supported", for which filter.c returns E_UNSUPPORTED; every row
 * has sections, attach and query.
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

/* A difference of counts: the checksums of the cells to add it to, and of the
 * result. Zeros: plain counts. */
typedef struct um_delta {
    uint64_t from, to;
} um_delta;

static inline bool um_is_delta(const um_delta *d)
{
    return d->from || d->to;
}

/*
 * The prefix lengths of a filter of networks (UMBEL_KEYS_NETWORK): bits of
 * [0] are IPv4 /0 to /32, then IPv6 /128, then UM_PREFIXES_RECORDED; those of
 * [1] IPv6 /0 to /63, of [2] /64 to /127. Zeros: not recorded, so that each
 * length must be asked.
 */
typedef struct um_prefix_lengths {
    uint64_t word[3];
} um_prefix_lengths;

/* Bytes of a stored network: the prefix length and the address. */
enum { UM_NETWORK_V4 = 1 + 4, UM_NETWORK_V6 = 1 + 16 };

#define UM_PREFIXES_V6_HOST ((uint64_t)1 << 33)
#define UM_PREFIXES_RECORDED ((uint64_t)1 << 34)

#define UM_MAX_EXPANSION (((uint64_t)1 << 33) - 1)

/* Everything that defines a filter, as in the head of its file. A handle stores
 * it packed (handle.h). */
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
    bool exact_size;   /* as requested: not rounded up to a size that folds
                          well */
    uint64_t setting[UM_MAX_SETTINGS];

    /* Changes since its creation. */
    uint64_t added;    /* number of new keys; with bounds, of all keys */
    bool estimated;    /* added is an estimate, after a merge */
    bool intersected;  /* by AND: its cells do not determine its keys */
    bool joined;       /* counts were merged other than by sums: no key can be
                          removed */
    bool difference;   /* of refined counts: too low by itself */
    bool coded;        /* its file is, or will be, coded */
    uint64_t attached; /* bytes of user data after the cells */
    uint64_t false_negatives;   /* members that are known not to match */
    uint64_t key_form;          /* umbel_key_form */
    um_prefix_lengths prefixes; /* of networks; zeros for other forms */
    /* How it grows in RedisBloom (foreign/redisbloom.c), at most
     * UM_MAX_EXPANSION. */
    uint64_t expansion;
    um_delta delta;
    uint8_t spare_len; /* bytes of fields of a later version that may be
                          ignored; they are kept */
    uint8_t spare[UM_SPARE_MAX];
} um_shape;

/* A part of the payload: cells of equal width. */
typedef struct um_section {
    uint64_t cells;
    uint32_t cell_bits; /* 1 .. 64 */
} um_section;

enum { UM_SECTION_ALIGN = 64 }; /* where sections begin; on the wire */

/* Returns the number of bits. Cannot overflow: at most 2^48 cells of 64
 * bits. */
static inline uint64_t um_section_bits(const um_section *s)
{
    return s->cells * s->cell_bits;
}

static inline uint64_t um_section_bytes(const um_section *s)
{
    return (um_section_bits(s) + 7) / 8;
}

/* Returns the bytes of a section, with the padding up to the next one. */
static inline uint64_t um_section_space(const um_section *s)
{
    uint64_t bytes = um_section_bytes(s) + UM_SECTION_ALIGN - 1;
    return bytes / UM_SECTION_ALIGN * UM_SECTION_ALIGN;
}

/* The keys of a static filter, in any order, possibly with duplicates. */
typedef struct um_members {
    const umbel_digest *digests;
    const uint64_t *values; /* NULL: a set */
    size_t n;
    unsigned threads;
    const umbel_alloc *alloc;
    umbel_digest *clash; /* NULL, or receives the key that has two values */
} um_members;

/* Members in a temporary file, as words: lo, then hi unless it follows from lo
 * (UM_DEFAULT_HASH), then the value of a map. */
typedef struct um_spilled_members {
    um_spill *digests; /* at its end; the build sorts it and removes
                          duplicates */
    bool hi_follows;
    uint64_t memory; /* bytes to use at most */
    unsigned threads;
    const umbel_alloc *alloc;
    umbel_digest *clash;
} um_spilled_members;

/* Why operations are missing, for messages; NULL: no reason. */
typedef struct um_unsupported_reason {
    const char *any;  /* for any operation */
    const char *join; /* for merge and fold, if different */
    const char *grow; /* why replication by pages is unsound */
} um_unsupported_reason;

/* Adds each key amounts[i] times; amounts NULL: once. Only kinds that count
 * get amounts. Returns the number of new keys, and fills fresh unless it is
 * NULL. */
typedef size_t um_add_fn(void *self, const umbel_digest *d,
                         const uint64_t *amounts, size_t n, bool *fresh);
typedef void um_query_fn(const void *self, const umbel_digest *d, size_t n,
                         bool *hit);
typedef void um_count_fn(const void *self, const umbel_digest *d, size_t n,
                         uint64_t *out);
/* As um_query_fn, but never reads more than `limit` cells. Returns the number
 * of cells read; a larger number than limit means that it stopped early, and
 * that hit is not valid. */
typedef uint64_t um_query_within_fn(const void *self, const umbel_digest *d,
                                    size_t n, bool *hit, uint64_t limit);

/* The same for kinds that read `each` cells per digest. */
static inline uint64_t um_query_priced(um_query_fn *query, const void *self,
                                       const umbel_digest *d, size_t n,
                                       bool *hit, uint64_t each, uint64_t limit)
{
    if (n * each <= limit)
        query(self, d, n, hit);
    return n * each;
}

/*
 * Limits of a pass over all cells (look, predict, entries), whatever they are:
 * reads of cells for each byte of the payload, further reads at the ends of
 * sections and levels, which are read byte by byte, and further reads for each
 * section of cells if the addressing has classes (um_classes).
 */
enum { UM_PASS_READS = 24, UM_PASS_ENDS = 1 << 12, UM_PASS_CLASSES = 1 << 24 };

/* Kinds that count how often a key was added. */
typedef struct um_row_counting {
    um_count_fn *count;
    /* Prefetches what count will read for n digests; NULL: nothing. */
    void (*fetch)(const void *self, const umbel_digest *d, size_t n);
    /* Returns the largest count that the cells can hold. */
    uint64_t (*most)(const void *self);
    /* Refuses removal, with the reason; NULL: any shape supports it. */
    umbel_status (*may_remove)(const um_shape *s, umbel_error *err);
    /*
     * Removes each key once, up to the first that cannot be in the filter;
     * returns the number removed, and adds to *gone those whose count became 0.
     * NULL: not supported.
     */
    size_t (*remove)(void *self, const umbel_digest *d, size_t n, size_t *gone);
} um_row_counting;

/* Static kinds, which are built from all keys at once and have no add. */
typedef struct um_row_static {
    /*
     * Sets cells, hashes, settings, capacity, fpr and added, and allocates the
     * payload from in->alloc. If cells is given, it is the maximum, and fpr
     * follows from it.
     */
    umbel_status (*build)(um_shape *s, const um_members *in, uint8_t **payload,
                          umbel_error *err);
    /*
     * Builds the same bytes from a temporary file into another one; NULL: not
     * supported. E_LIMIT when the memory does not suffice; the text says how
     * much would.
     */
    umbel_status (*build_spilled)(um_shape *s, const um_spilled_members *in,
                                  um_spool *payload, umbel_error *err);
    /* Return the memory of these two builds in bytes, in addition to input and
     * output: the maximum, members' digests included; and the minimum. */
    double (*build_memory)(const um_shape *s, double keys, unsigned threads);
    double (*spilled_memory)(const um_shape *s, double keys,
                             double largest_heap);
    /* Refuses cells and hashes that contradict the settings. */
    umbel_status (*fits)(const um_shape *s, umbel_error *err);
    /* Sets the settings of a planned shape, so that its head gets its final
     * length, and returns the hashes for this many keys in its cells. */
    uint32_t (*plan_hints)(um_shape *s, double keys);
    /* Returns the number of bits of a value; 0: this filter is a set. */
    uint32_t (*value_bits)(const um_shape *s);
    um_count_fn *value;
    bool parts; /* keys may be in partitions (um_hash.part) */
} um_row_static;

/*
 * The functions for threads that run concurrently: every cell is read and
 * written atomically. count is for kinds that count.
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

/* The results of one pass over the cells. */
typedef struct um_bits_look {
    uint64_t used;              /* cells in use */
    uint64_t in_block, fullest; /* cells in use in the fullest block; its
                                   number */
    double error;               /* as predict returns it */
} um_bits_look;

/*
 * Kinds whose used cells, read as bits, are those of a Bloom filter of the same
 * keys: for estimates, admission, conversion. Kinds whose cells are single bits
 * have cells and groups, others have copy.
 */
typedef struct um_row_bits {
    /* Counts the used cells; with other, those used in either filter. */
    uint64_t (*used)(const void *self, const void *other);
    void (*look)(const void *self, um_bits_look *out);
    /* Returns the cells. A key matches only if all its cells are set. */
    uint8_t *(*cells)(void *self);
    /* Returns the number of digests a key may be added with
     * (filter/addressing/hash_groups.h). */
    uint32_t (*groups)(const void *self);
    /* Sets the bits of the used cells; bits is zero. */
    void (*copy)(const void *self, uint8_t *bits);
    /*
     * Estimates the keys from the number of used cells if keys chose their
     * cells, or returns NAN if um_model_keys applies. NULL: always NAN.
     */
    double (*keys)(const void *self, uint64_t used);
} um_row_bits;

/* Kinds that are several Bloom filters: a key matches if it matches in any. */
typedef struct um_row_links {
    size_t (*n)(const void *self);
    /* Stores the cells of a digest in link i, numbered over all links. Returns
     * their number; 0: more than fit into pos. */
    uint32_t (*positions)(const void *self, size_t i, const umbel_digest *d,
                          uint64_t pos[UM_MAX_HASHES]);
    uint8_t *(*cells)(void *self); /* of all links */
    /* Merges by OR, as umbel_merge does, filters with the same kind and
     * hash. */
    umbel_status (*merge)(umbel_filter *into, const umbel_filter *from,
                          umbel_error *err);
} um_row_links;

/* Kinds that merge. */
typedef struct um_row_merge {
    unsigned ops; /* bit 1 << op for each that cells supports */
    /*
     * Computes the head of the result, or refuses; may be NULL. Called for
     * every op, so that it can give the reason for one that cells does not
     * support.
     */
    umbel_status (*admit)(um_shape *into, const um_shape *from,
                          umbel_merge_op op, umbel_error *err);
    /* Merges the cells. After a failure no cell has changed. */
    umbel_status (*cells)(void *self, const void *from, umbel_merge_op op,
                          umbel_error *err);
} um_row_merge;

/* Kinds that grow as keys are added. */
typedef struct um_row_growing {
    /* Returns the number of keys that the last add processed. If it is less
     * than n, there was no space for the next one. */
    size_t (*done)(const void *self);
    /* Changes s to the shape to grow to, or refuses. */
    umbel_status (*larger)(const void *self, um_shape *s, umbel_error *err);
    /* Moves all keys to self, which is empty and larger. Returns false if it is
     * not large enough. */
    bool (*move)(void *self, const void *from);
} um_row_growing;

/*
 * Kinds whose entries only grow: an older copy of a page is a former state of
 * it, and its counts are not too high.
 */
typedef struct um_row_paged {
    void (*forms)(const um_shape *s, um_entry_form out[UM_MAX_SECTIONS]);
} um_row_paged;

/* For kinds whose cells are counts, or bits, in one section. */
extern const um_row_paged um_paged_cells;

/* --- an index of up to 64 filters of one shape: which may hold a key -------
 *
 * A filter has a column, and each position of an entry has a row with one bit
 * per column: set if the filter has something there. So one look-up finds the
 * few filters that are worth querying. Bits are only ever set; a column is
 * cleared as a whole when its filter is gone.
 */
enum { UM_INDEX_MIN = 8, UM_INDEX_MAX = 64 };

typedef struct um_filter_index {
    uint8_t *at; /* readable for 8 bytes after the last row */
    size_t len;
    unsigned width; /* number of columns: a power of two */
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

/* --- totals of the counts of many filters of one shape, cell by cell -------
 *
 * A digest has several cells, and each filter that contains it adds at least
 * its count to all of them. So the minimum of these cells is never below the
 * sum of the filters' own answers, and mostly not far above: enough to decide
 * that a sum does not reach a threshold. Totals only grow, and saturate. When
 * filters are gone, the totals are rebuilt.
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

/* --- the functions of a kind for these two -------------------------------- */

/* An index of many filters of one shape (um_filter_index). */
typedef struct um_row_index {
    /* Returns the bytes that this many columns take. */
    uint64_t (*len)(const void *self, unsigned width);
    /* Marks the entries in bytes of the only section, at an offset where an
     * entry begins. */
    void (*mark)(const void *self, const um_filter_index *c, unsigned column,
                 size_t offset, size_t len);
    /* Sets mask[i] to the columns that may hold digest i. */
    void (*find)(const void *self, const um_filter_index *c,
                 const umbel_digest *d, size_t n, uint64_t *mask);
} um_row_index;

/* Upper bounds of the counts of many filters together (um_count_totals). */
typedef struct um_row_totals {
    /* Returns the size of the totals, one byte each. */
    uint64_t (*len)(const void *self);
    /* Adds the growth of bytes of the only section, at an offset where an entry
     * begins; old NULL: they were zeros. */
    void (*add)(const void *self, const um_count_totals *to, const uint8_t *old,
                size_t offset, size_t len);
    /* Sets most[i] to an upper bound of all counts together for digest i;
     * UM_TOTAL_MAX: no bound. */
    void (*bound)(const void *self, const um_count_totals *from,
                  const umbel_digest *d, size_t n, uint8_t *most);
} um_row_totals;

struct um_kind {
    const char *name; /* in settings, commands, on the wire; never reused */
    const char *summary;
    bool forgets; /* has false negatives by design */
    /*
     * Filters from strangers may be admitted: predict is right or too high for
     * any cells. docs/SECURITY-MODEL.md explains why, FORMAT.md describes the
     * bytes, and papers/forgeries searches for exceptions.
     */
    bool admissible;
    const char *addressing; /* the default; NULL: UM_DEFAULT_ADDRESSING */
    double fpr;             /* the default; 0: UM_DEFAULT_FPR */
    uint64_t capacity;      /* the default; 0: none */
    const umbel_setting_info *settings;    /* ends with a NULL name; may be
                                              NULL */
    size_t self_len;                       /* bytes of its part of a handle */
    const um_addressing *fixed_addressing; /* the only one possible; NULL:
                                              any */
    um_unsupported_reason unsupported_reason;

    /* Refuses settings that exclude each other; NULL: all combinations are
     * valid. */
    umbel_status (*check)(const um_shape *s, umbel_error *err);
    /* Returns the number of hashes that the settings imply; NULL: any
     * number. */
    uint32_t (*hashes)(const um_shape *s);
    /* Describes the sections, at most UM_MAX_SECTIONS - 1: attached data needs
     * one. */
    size_t (*sections)(const um_shape *s, um_section out[UM_MAX_SECTIONS]);
    /*
     * Initializes self, which is zeroed; memory[i] is section i. Any content of
     * the memory must be safe to use, even if it changes: reduce what you read
     * from it.
     */
    void (*attach)(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[]);
    /* Gives self a pointer to the handle's number of keys; NULL: not needed. */
    void (*use_added)(void *self, const uint64_t *added);
    /* Writes the initial cells, into zeros; NULL: zeros. */
    void (*start)(void *self);

    /*
     * Returns true if adding a key reads and changes only its block, so that
     * keys of different blocks may be added in any order. The blocks are all in
     * one section. NULL: false.
     */
    bool (*local)(const um_shape *s);
    um_add_fn *add;
    um_query_fn *query;
    /* NULL: query reads one cell for each hash. */
    um_query_within_fn *query_within;
    /* Returns the number of keys that were refused for lack of space since the
     * last call; NULL: there is always space. */
    uint64_t (*refused)(void *self);
    /* Counts the keys, if each has an entry of its own; NULL: unknown. */
    uint64_t (*entries)(const void *self);
    /* Forgets the older half of the keys; NULL: not supported. */
    void (*rotate)(void *self);
    /* Folds from into self, which is empty and `by` times smaller. */
    void (*fold)(void *self, const void *from, uint64_t by);

    /* Return the false positive rate, by formula and by the cells. error NULL:
     * um_model_error. */
    double (*error)(const um_shape *s, const um_layout *l, double keys);
    double (*predict)(const void *self);
    /*
     * Computes error bounds that hold whatever the bits are; NULL: there are
     * none, and umbel_set_cells is refused.
     */
    void (*bounds)(const void *self, umbel_bounds *out);
    /* Appends fields specific to the kind; NULL: none. */
    void (*info)(const void *self, umbel_info *out);

    /* Optional features; NULL: not supported. */
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

/* Return NULL if no kind has this name, or i is past the end. The first row,
 * bloom, is the default; um_kind_find returns it for NULL. */
const um_kind *um_kind_find(const char *name);
const um_kind *um_kind_row(size_t i);
/* Return NULL if no addressing has that name, or i is past the end. */
const um_addressing *um_addressing_find(const char *name);
const um_addressing *um_addressing_row(size_t i);

/* Returns the addressing with this name if the kind supports it, or NULL. */
const um_addressing *um_kind_addressing(const um_kind *kind, const char *name);

/* Returns the bits of a value; 0: the filter is a set. */
static inline uint32_t um_value_bits(const um_shape *s)
{
    return s->kind->built ? s->kind->built->value_bits(s) : 0;
}

/* Returns true for a map without fingerprints, which matches every key. */
static inline bool um_is_map(const um_shape *s)
{
    return s->kind->built && s->fpr == 1;
}

/* Returns true if the kind supports this merge. */
static inline bool um_merges_by(const um_kind *kind, umbel_merge_op op)
{
    return kind->merge && (unsigned)op < 32 && kind->merge->ops >> op & 1;
}

/* Returns true if its cells are the bits of a Bloom filter. */
static inline bool um_has_bits(const um_kind *kind)
{
    return kind->bits && kind->bits->cells;
}

/* Describes the kind's sections, followed by that of the attached data. */
size_t um_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS]);
/* Computes the length of the payload; false: it exceeds the address space. */
bool um_payload_len(const um_shape *s, size_t *len);

/* Returns the number of settings of a kind. */
size_t um_count_settings(const um_kind *kind);
/* Returns the first setting that differs from its default; NULL: none. */
const char *um_unusual_setting(const um_shape *s);

/* Append fields to a description; fields that do not fit are dropped. */
void um_info_text(umbel_info *out, const char *name, const char *text);
void um_info_count(umbel_info *out, const char *name, uint64_t count);
void um_info_real(umbel_info *out, const char *name, double real);
void um_info_hex(umbel_info *out, const char *name, uint64_t hex);
void um_info_flag(umbel_info *out, const char *name, bool flag);

/* --- fast paths for pairs of kind and addressing ---------------------------
 *
 * Optional: the kind's own functions are the definition, and a row here gives
 * the same answers and the same cells, faster. A new filter uses the first
 * usable row.
 */

/* The types of umbel_query and umbel_add, which jump to these functions. */
typedef umbel_status um_query_key(const umbel_filter *f, const void *key,
                                  size_t len, bool *hit, umbel_error *err);
typedef umbel_status um_add_key(umbel_filter *f, const void *key, size_t len,
                                bool *fresh, umbel_error *err);

/* Functions for one key. */
typedef struct um_one_key {
    um_query_key *query;
    um_add_key *add;
} um_one_key;

/* Functions are compiled for up to 8 hashes, and for more. */
enum { UM_FAST_WORDS = 2 };

typedef struct um_fast {
    const char *name; /* of the instructions it uses */
    const char *kind, *addressing;
    /* Returns true if this machine and this size can use it. */
    bool (*usable)(const um_layout *l);
    /* Returns true if it supports the settings of s; NULL: only the
     * defaults. */
    bool (*takes)(const um_shape *s);

    /* Like the kind's add, without amounts, and query; add NULL: none
     * faster. */
    size_t (*add)(void *self, const umbel_digest *d, size_t n, bool *fresh);
    void (*query)(const void *self, const umbel_digest *d, size_t n, bool *hit);
    /* Like the kind's count; NULL: not supported, or none faster. */
    void (*count)(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out);
    /*
     * The following functions are fused with XXH3-64 (um_hash.fused), and may
     * be NULL. seed is the hasher's.
     */
    /* Functions for one key, without the overhead of a batch, for filters that
     * are not shared. Both or none. */
    um_one_key one[UM_FAST_WORDS];
    /*
     * For shared filters (locked_add.c); NULL: not supported. Adds and queries
     * by set_hash, has_hash, add and query may run concurrently as long as no
     * two threads add to the same pair of neighbouring blocks. set_hash returns
     * true if the key was new; neither updates the number of keys.
     */
    um_one_key shared[UM_FAST_WORDS];
    bool (*set_hash[UM_FAST_WORDS])(umbel_filter *f, uint64_t lo);
    bool (*has_hash[UM_FAST_WORDS])(const umbel_filter *f, uint64_t lo);
    /* For keys of 8 bytes each. */
    size_t (*add_keys8)(void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *fresh);
    void (*query_keys8)(const void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *hit);
} um_fast;

/* Returns true if the row supports the settings of s. */
bool um_fast_takes(const um_fast *row, const um_shape *s);
/* Returns the fast path for a shape; NULL when none is usable. */
const um_fast *um_fast_pick(const um_shape *s, const um_layout *l);
/* Returns row i; NULL past the end. */
const um_fast *um_fast_row(size_t i);

/* --- tables defined above this directory -----------------------------------
 *
 * Kinds include this directory, not the other way round. This one symbol makes
 * their tables available here; kinds/registry.c defines it.
 */

/* Tables that end with NULL. */
typedef struct um_table_set {
    const um_kind *const *kinds;       /* the default kind first */
    const um_kind *const *inner_kinds; /* internal kinds, found only by name */
    const um_addressing *const *addressings;
    const um_fast *const *fast; /* best first */
} um_table_set;

extern const um_table_set um_tables;

#endif
