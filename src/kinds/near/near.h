/*
 * near.h - kind near: finds a mail from a slightly different copy.
 *
 * A mail is a record: its name (a digest of 64 bytes), a flag, a value, and a
 * stamp, which is the time of its last change. A deletion is a record as well.
 * An index leads from the name, and from ten of the 32 shingles, to the latest
 * records that have them.
 *
 * This module uses no clock and a single filter: if several filters have a
 * mail, the caller decides which one counts.
 */
#ifndef UM_KINDS_NEAR_H
#define UM_KINDS_NEAR_H

#include <umbel/filter.h>

enum {
    UM_NEAR_SHINGLES = 32,
    UM_NEAR_NAME = 64,
    UM_NEAR_HIT = UM_NEAR_SHINGLES / 2 + 1, /* equal shingles that make a
                                               copy */
    UM_NEAR_OWN = 6 /* of them, those that no record with too few equal shingles
                       has */
};

#define UM_NEAR_KIND "near"

typedef struct um_near_record {
    const uint8_t *name; /* UM_NEAR_NAME bytes, in the filter */
    uint8_t flag;
    bool gone; /* a deletion: there is no value */
    int32_t value;
    uint32_t stamp;
} um_near_record;

/* A write. */
typedef struct um_near_write {
    umbel_digest digest; /* of the name as text, by the filter's hash */
    uint8_t name[UM_NEAR_NAME];
    uint8_t flag;
    bool gone;      /* delete the mail */
    bool renewed;   /* discard the value written before */
    int32_t amount; /* added to the value */
    uint32_t stamp; /* not 0 */
    bool has_shingles;
    uint64_t shingle[UM_NEAR_SHINGLES]; /* um_near_shingle */
} um_near_write;

/* Hashes a shingle at a position for the index; secret is a number for each
 * position that strangers do not know. */
uint64_t um_near_shingle(uint64_t shingle, uint64_t secret);

/* Returns true if the filter is of kind near. */
bool um_is_near(const umbel_filter *f);

/* Returns true if a write needs a new record, because no existing one can be
 * updated. */
bool um_near_needs_record(const umbel_filter *f, const um_near_write *w);
/* Performs a write. E_FULL if it needs a record and all are in use; then
 * nothing has changed. */
umbel_status um_near_append(umbel_filter *f, const um_near_write *w,
                            umbel_error *err);

/*
 * Finds the latest record of a digest. With a name the result is certain;
 * without, it is another mail's with probability 1 in 200,000.
 */
bool um_near_find(const umbel_filter *f, const umbel_digest *d,
                  const uint8_t *name, um_near_record *out);

/*
 * Finds the record that has most of the 32 shingles, the latest if several do.
 * Returns their number; 0: no record has UM_NEAR_HIT of them, or it has too few
 * of its own.
 */
unsigned um_near_search(const umbel_filter *f,
                        const uint64_t shingle[UM_NEAR_SHINGLES],
                        um_near_record *out);
/* Prefetches what um_near_find and um_near_search will read; NULL: no
 * shingles. */
void um_near_fetch(const umbel_filter *f, const umbel_digest *d,
                   const uint64_t *shingle);

/* Iterates over all records, including superseded ones; start with *at = 0. */
bool um_near_next(const umbel_filter *f, uint64_t *at, um_near_record *out);

#endif
