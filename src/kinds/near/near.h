/*
 * near.h - kind near: finds a mail by a copy that differs a little.
 *
 * A mail is a record: its name (a digest of 64 bytes), a flag, a value, and a
 * stamp, which is the time of its last change. A deletion is a record as well.
 * An index leads from each of 32 shingles, and from the name, to the latest
 * record that has it.
 *
 * Nothing here knows a clock, or a second filter: if several have a
 * mail, the caller decides which one counts.
 */
#ifndef UM_KINDS_NEAR_H
#define UM_KINDS_NEAR_H

#include <umbel/filter.h>

enum {
    UM_NEAR_SHINGLES = 32,
    UM_NEAR_NAME = 64,
    UM_NEAR_HIT = UM_NEAR_SHINGLES / 2 + 1, /* shingles that make a copy */
    UM_NEAR_OWN = 6 /* of them that no mail has which has too few */
};

#define UM_NEAR_KIND "near"

typedef struct um_near_record {
    const uint8_t *name; /* of UM_NEAR_NAME bytes, in the filter */
    uint8_t flag;
    bool gone; /* a deletion: it has no value */
    int32_t value;
    uint32_t stamp;
} um_near_record;

/* What is written. */
typedef struct um_near_write {
    umbel_digest digest; /* of the name, as text, by the filter's hash */
    uint8_t name[UM_NEAR_NAME];
    uint8_t flag;
    bool gone;    /* delete it */
    bool renewed; /* a value that was written before does not count any more */
    int32_t amount; /* is added to the value */
    uint32_t stamp; /* not 0 */
    bool has_shingles;
    uint64_t shingle[UM_NEAR_SHINGLES]; /* um_near_shingle */
} um_near_write;

/* A shingle at a position as the index has it; secret is a number for each
 * position that strangers do not know. */
uint64_t um_near_shingle(uint64_t shingle, uint64_t secret);

/* Returns false for any other kind. */
bool um_is_near(const umbel_filter *f);

/* Returns true if a write needs a record of its own: it finds none that it
 * could add to. */
bool um_near_needs_record(const umbel_filter *f, const um_near_write *w);
/* Writes. E_FULL if it needs a record and all are in use; then nothing has
 * changed. */
umbel_status um_near_append(umbel_filter *f, const um_near_write *w,
                            umbel_error *err);

/*
 * Finds the latest record of a digest. With a name it is that one's, for sure;
 * without, another mail's with a chance of 1 in 200,000.
 */
bool um_near_find(const umbel_filter *f, const umbel_digest *d,
                  const uint8_t *name, um_near_record *out);

/*
 * Finds the record that most of the 32 shingles lead to, the latest of several.
 * Returns how many do; 0: no record has UM_NEAR_HIT of them, or it has too few
 * of its own.
 */
unsigned um_near_search(const umbel_filter *f,
                        const uint64_t shingle[UM_NEAR_SHINGLES],
                        um_near_record *out);
/* Begins to fetch what both will read; NULL: no shingles. */
void um_near_fetch(const umbel_filter *f, const umbel_digest *d,
                   const uint64_t *shingle);

/* Walks all records, superseded ones included; *at is 0 at first. */
bool um_near_next(const umbel_filter *f, uint64_t *at, um_near_record *out);

#endif
