/*
 * ribbon.h - internals of kind ribbon, for negatives/exact/exact.c, which
 * builds two levels.
 */
#ifndef UM_KINDS_RIBBON_H
#define UM_KINDS_RIBBON_H

#include "filter/kind.h"
#include "kinds/ribbon/level.h"

/*
 * The parts of a filter: a level of fingerprints (and values) of the members,
 * and for exact sets a level of one column that is 1 for members and 0 for
 * listed keys that pass the first level.
 */
/*
 * The entries of the index: how keys of a partition are answered. From FIRST
 * on, by both levels, with entry - FIRST extra columns in the first.
 */
enum {
    UM_RIBBON_NONE,   /* the partition has no members */
    UM_RIBBON_ALL,    /* the partition has no other keys */
    UM_RIBBON_SECOND, /* by the second level only */
    UM_RIBBON_FIRST,
    UM_RIBBON_MAX_MORE = UM_RIBBON_STEPS + 1, /* extra columns */
    UM_RIBBON_INDEX_BITS = UM_RIBBON_WEIGHED  /* of an entry, at most */
};

/* Keys in partitions: an index, by the hash of a partition, and the shares of
 * the first level that belong to keys of each width. */
typedef struct um_ribbon_parts {
    um_ribbon_level index;
    uint32_t most; /* maximum number of extra columns */
    um_ribbon_share share[UM_RIBBON_MAX_MORE + 1];
} um_ribbon_parts;

typedef struct um_ribbon {
    um_ribbon_level members, never;
    bool empty, two, parted;
    uint32_t value_bits;
    um_ribbon_parts parts;
} um_ribbon;

enum { UM_RIBBON_MAX_PRINT = 32 }; /* bits of a fingerprint */

/* Computes the fewest columns that keep this mean error with this many keys;
 * false: too many. */
bool um_ribbon_form_for(double fpr, double keys, um_ribbon_form *out);
/* Computes the form that fills these bits with this many keys, with at most
 * UM_RIBBON_MAX_PRINT columns. */
void um_ribbon_form_within(double bits, double keys, um_ribbon_form *out);

/* Hashes a digest to the fingerprint that a level stores. */
static inline uint64_t um_ribbon_print(const umbel_digest *d)
{
    return um_ribbon_mix(d->hi + UM_RIBBON_STEP);
}

static inline uint64_t um_ribbon_second(const umbel_digest *d)
{
    return um_ribbon_mix(d->lo ^ UM_RIBBON_STEP);
}

/* Computes the fingerprint of keys in partitions, whose hi is that of the
 * partition. */
static inline uint64_t um_ribbon_part_print(const umbel_digest *d)
{
    return um_ribbon_mix(d->lo + UM_RIBBON_STEP);
}

/* Sets hit[i] if digest i matches in the first level. */
void um_ribbon_pass(const um_ribbon_level *l, const umbel_digest *d, size_t n,
                    bool *hit);

/* Return true if the first level matches one key, in any layer, and if the
 * second confirms it. */
bool um_ribbon_match(const um_ribbon *r, const umbel_digest *d);
/* Does the same as um_ribbon_match for a key whose place is known. */
bool um_ribbon_match_at(const um_ribbon *r, const um_ribbon_place *p,
                        const umbel_digest *d);
bool um_ribbon_confirm(const um_ribbon *r, const umbel_digest *d);
/* Returns true if keys are in layers of less than 2^31 starts, not in
 * partitions, and all fingerprints have at least this many columns. */
bool um_ribbon_leads(const um_shape *s, uint32_t columns);

/* Initializes the index for a first level of this form. */
void um_ribbon_lay_parts(um_ribbon_parts *p, const um_ribbon_form *form,
                         const um_ribbon_sizes *members, uint32_t bits,
                         const um_ribbon_sizes *index, uint8_t *memory);
/* Returns the index entry of the key's partition. */
uint32_t um_ribbon_part_of(const um_ribbon_parts *p, const umbel_digest *d);
/* Returns true if the key matches in the first level, or its partition does not
 * use it. */
bool um_ribbon_pass_part(const um_ribbon_parts *p, const um_ribbon_level *l,
                         const umbel_digest *d);

extern const umbel_setting_info um_ribbon_settings[];
/* Functions of the kind's row that read the settings. */
void um_ribbon_attach(void *self, const um_shape *s, const um_layout *l,
                      void *const memory[]);
double um_ribbon_error(const um_shape *s, const um_layout *l, double keys);
umbel_status um_ribbon_fits(const um_shape *s, umbel_error *err);
uint32_t um_ribbon_plan_hints(um_shape *s, double keys);
uint32_t um_ribbon_value_bits(const um_shape *s);

/* Sets the shape of a filter with these levels; the second may be empty. */
void um_ribbon_shape(um_shape *s, const um_ribbon_form *form,
                     uint32_t value_bits, const um_ribbon_sizes *members,
                     const um_ribbon_sizes *never);
/* Does the same for keys in partitions, with an index of entries of this many
 * bits. */
void um_ribbon_shape_parts(um_shape *s, const um_ribbon_form *form,
                           const um_ribbon_sizes *members,
                           const um_ribbon_sizes *never, uint32_t bits,
                           const um_ribbon_sizes *index);

/* Creates the items of members; the caller owns *out. Fails with E_NOMEM. */
umbel_status um_ribbon_items(const um_members *in, uint32_t value_bits,
                             um_ribbon_item **out, umbel_error *err);

/* Returns the size in bytes of a payload of this many bits. */
size_t um_ribbon_space(uint64_t bits);
/* Joins two parts, of n and m bytes, to a payload, and frees them; NULL: out of
 * memory. */
uint8_t *um_ribbon_whole(const umbel_alloc *alloc, uint8_t *first, size_t n,
                         uint8_t *second, size_t m);
umbel_status um_ribbon_build(um_shape *s, const um_members *in,
                             uint8_t **payload, umbel_error *err);
/* Builds as um_ribbon_build does, from members in a temporary file. */
umbel_status um_ribbon_build_spilled(um_shape *s, const um_spilled_members *in,
                                     um_spool *payload, umbel_error *err);
/* Return the memory that these two need. */
double um_ribbon_build_memory(const um_shape *s, double keys, unsigned threads);
double um_ribbon_spilled_memory(const um_shape *s, double keys,
                                double largest_heap);

/* Fails with E_RANGE: the bits cannot hold the keys; the text says how many
 * could. */
umbel_status um_ribbon_too_few(const um_shape *s, uint64_t bits, double least,
                               uint64_t keys, umbel_error *err);

/* Returns true if the settings request wide layers. */
bool um_ribbon_is_wide(const um_shape *s);
/* Refuses settings that follow from the keys and must not be given. */
umbel_status um_ribbon_want_free(const um_shape *s, umbel_error *err);

extern const um_kind um_kind_ribbon;

#endif
