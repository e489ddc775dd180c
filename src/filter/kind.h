/*
 * kind.h - what a cell means: one row per kind of filter.
 *
 * A kind declares its payload; the envelope owns memory, files and checksums
 * for all of them. Kinds see digests, never keys. An empty slot means "cannot",
 * and filter.c answers E_UNSUPPORTED for it; sections, attach and error are in
 * every row.
 */
#ifndef UM_FILTER_KIND_H
#define UM_FILTER_KIND_H

#include "filter/addressing.h"

#include <umbel/filter.h>

enum { UM_MAX_SECTIONS = 8, UM_MAX_SETTINGS = 16 };

/* What may be said of a kind as a whole. */
enum {
    UM_FORGETS = 1 << 0 /* may deny a key that was added */
};

typedef struct um_kind um_kind;

/* All that decides what a filter is; the head of its file. */
typedef struct um_shape {
    const um_kind *kind;
    const um_addressing *addressing;
    const um_hash *hash;
    uint64_t seed;
    uint64_t secret_id;
    uint64_t cells;
    uint32_t hashes;
    uint64_t capacity; /* as asked; 0: not said */
    double fpr;        /* as asked */
    uint64_t setting[UM_MAX_SETTINGS];

    /* What happened to it since. */
    uint64_t added;    /* keys that were new */
    bool estimated;    /* ... a guess, after a merge */
    bool intersected;  /* by AND: its cells do not tell its keys */
    bool joined;       /* counts, not by sums: none can be taken back */
    bool difference;   /* of refined counts: tells too little by itself */
    bool coded;        /* its file is, or shall be, coded */
    uint16_t remarks;  /* flags of a file that may be ignored: kept */
    uint64_t attached; /* bytes of the user's own, behind the cells */
    uint64_t denied;   /* members known to be denied */
} um_shape;

/* A stretch of the payload: so many cells of so many bits. */
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
static inline uint64_t um_section_room(const um_section *s)
{
    uint64_t bytes = um_section_bytes(s) + UM_SECTION_ALIGN - 1;
    return bytes / UM_SECTION_ALIGN * UM_SECTION_ALIGN;
}

/* What a static kind is made of: keys in any order, some perhaps repeated. */
typedef struct um_members {
    const umbel_digest *digests;
    const uint64_t *values; /* NULL: a set */
    size_t n;
    unsigned threads;
    const umbel_alloc *alloc;
    umbel_digest *clash; /* NULL, or gets the key that has two values */
} um_members;

/* Why verbs are missing, for those who ask; NULL: the row has nothing to say.
 */
typedef struct um_unsupported_reason {
    const char *any;  /* ... of them */
    const char *join; /* merge and fold, where any is not the reason */
} um_unsupported_reason;

struct um_kind {
    const char *name; /* in settings, commands, on the wire; never reused */
    const char *summary;
    unsigned traits;
    const char *addressing; /* when none is asked for; NULL: as all kinds */
    double fpr;             /* the same for the error; 0: as all kinds */
    const umbel_setting_info *settings; /* ends with a NULL name; or NULL */
    size_t self_len;                    /* bytes of its handle's own part */
    const um_addressing
        *fixed_addressing; /* the only one it works on; NULL: any of them */
    um_unsupported_reason unsupported_reason;

    /* Settings that exclude each other; NULL: any in range will do. */
    umbel_status (*check)(const um_shape *s, umbel_error *err);
    /* Cells a key owns, where settings tell; NULL: any number. */
    uint32_t (*hashes)(const um_shape *s);
    /* Whether cells and hashes are those of the settings. In rows with own: its
     * sizes are nobody else's matter. */
    umbel_status (*fits)(const um_shape *s, umbel_error *err);
    /* At most one less than UM_MAX_SECTIONS: what is attached needs one. */
    size_t (*sections)(const um_shape *s, um_section out[UM_MAX_SECTIONS]);
    /*
     * self is zeroed; memory[i] is section i. Any content of the memory must be
     * safe to use, even one that changes: reduce what you read from it.
     */
    void (*attach)(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[]);
    /* Cells before the first key, from memory of zeros; NULL: zeros. */
    void (*start)(void *self);

    /*
     * Static kinds have this instead of add. Fills in cells, hashes, settings,
     * capacity, fpr and added, and gives the payload, of in->alloc. Where cells
     * are given they are not exceeded, and fpr follows from them.
     */
    umbel_status (*build)(um_shape *s, const um_members *in, uint8_t **payload,
                          umbel_error *err);
    /* For plans: gives s settings, so that its head is as long as it will be,
     * and tells the hashes of so many keys in its cells. */
    uint32_t (*plan_hints)(um_shape *s, double keys);

    /* Tells how many were new, and which when fresh is given. */
    size_t (*add)(void *self, const umbel_digest *d, size_t n, bool *fresh);
    void (*query)(const void *self, const umbel_digest *d, size_t n, bool *hit);
    /*
     * The same for threads at once: every cell is read and written atomically.
     * Both or neither; without them umbel_share refuses. may_share tells why a
     * shape cannot; NULL: any can.
     */
    umbel_status (*may_share)(const um_shape *s, umbel_error *err);
    size_t (*add_shared)(void *self, const umbel_digest *d, size_t n,
                         bool *fresh);
    void (*query_shared)(const void *self, const umbel_digest *d, size_t n,
                         bool *hit);
    /*
     * Kinds that count. Add each key so many times (NULL: once); tell how often
     * it came, at most most(). remove tells how many of the keys it took out
     * once, up to the first that cannot be in, and adds to *gone those whose
     * count became 0; may_remove tells why a shape, or the kind, cannot. Kinds
     * with add_shared have the shared ones, too.
     */
    size_t (*add_amounts)(void *self, const umbel_digest *d,
                          const uint64_t *amounts, size_t n, bool *fresh);
    void (*count)(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out);
    size_t (*add_amounts_shared)(void *self, const umbel_digest *d,
                                 const uint64_t *amounts, size_t n,
                                 bool *fresh);
    void (*count_shared)(const void *self, const umbel_digest *d, size_t n,
                         uint64_t *out);
    uint64_t (*most)(const void *self);
    umbel_status (*may_remove)(const um_shape *s, umbel_error *err);
    size_t (*remove)(void *self, const umbel_digest *d, size_t n, size_t *gone);
    /* Kinds that map keys to values, of so many bits (0: this one is a set). */
    uint32_t (*value_bits)(const um_shape *s);
    void (*value)(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out);
    unsigned merge_ops; /* bit 1 << op for each that merge knows */
    /*
     * What a merge makes of the head, or why it must not be; may be NULL. Asked
     * of every op, so that one that merge does not know has its reason.
     */
    umbel_status (*admit)(um_shape *into, const um_shape *from,
                          umbel_merge_op op, umbel_error *err);
    /* When it fails no cell has changed. */
    umbel_status (*merge)(void *self, const void *from, umbel_merge_op op,
                          umbel_error *err);
    /* self is empty and by times smaller. */
    void (*fold)(void *self, const void *from, uint64_t by);

    /* Chance that a key never added matches: by the formula, by the cells. */
    double (*error)(const um_shape *s, const um_layout *l, double keys);
    double (*predict)(const void *self);
    /* Cells in use; with other, in use here or there. For estimates. */
    uint64_t (*used)(const void *self, const void *other);
    /*
     * The cells, where each is one bit and a key matches only when all its
     * cells are set: clearing one denies it, and nothing else. For retouching;
     * NULL, slot or answer: it is not so.
     */
    uint8_t *(*bits)(void *self);
    /* Set the bits of the cells in use, where they are those of a bloom filter
     * of the same keys; NULL: they are not. bits is zero. */
    void (*as_bits)(const void *self, uint8_t *bits);
    /*
     * Keys behind so many cells in use, where cells are not used by chance; NAN
     * where they are, and the model tells. NULL: always by chance.
     */
    double (*keys)(const void *self, uint64_t used);
    /* Fields of its own, after the common ones; NULL: none. */
    void (*info)(const void *self, umbel_info *out);
};

/* NULL when none has that name, or i is past the end. */
const um_kind *um_kind_find(const char *name);
const um_kind *um_kind_row(size_t i);

/* The addressing of that name, if the kind works on it; else NULL. */
const um_addressing *um_kind_addressing(const um_kind *kind, const char *name);

/* Whether it takes every key for a member, as only maps may. */
static inline bool um_is_map(const um_shape *s)
{
    return s->kind->value_bits && s->fpr == 1;
}

/* The kind's sections, and behind them what is attached. */
size_t um_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS]);

/* How many settings a kind has. */
size_t um_count_settings(const um_kind *kind);
/* The first that is not as when nothing is set; NULL: none. */
const char *um_unusual_setting(const um_shape *s);

/* Append to a description; more than fits is dropped. */
void um_info_text(umbel_info *out, const char *name, const char *text);
void um_info_count(umbel_info *out, const char *name, uint64_t count);
void um_info_real(umbel_info *out, const char *name, double real);
void um_info_hex(umbel_info *out, const char *name, uint64_t hex);
void um_info_flag(umbel_info *out, const char *name, bool flag);

#endif
