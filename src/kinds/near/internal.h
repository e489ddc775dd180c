/*
 * internal.h - the index and the records of kind near.
 */
#ifndef UM_KINDS_NEAR_INTERNAL_H
#define UM_KINDS_NEAR_INTERNAL_H

#include "base/bits.h"
#include "base/hash.h"
#include "filter/addressing/addressing.h"
#include "kinds/near/near.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* --- finding a tag in a line -----------------------------------------------
 *
 * The plain version is the definition. Every x86-64 has SSE2, so that version
 * needs no check at run time; tests compare the two.
 */

enum { UM_NEAR_WORDS = 3 }; /* words of tags in a line */

/* Returns a bit for each byte of a word that is 0. */
static inline uint32_t um_zero_bytes(uint64_t x)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t tops = ~(((x & low) + low) | x | low);

    return (uint32_t)((tops >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

/* Returns a bit for each of the first 24 bytes of a line that equals the tag,
 * which is in every byte of tags. */
static inline uint32_t um_near_tags_plain(const uint8_t *line, uint64_t tags)
{
    uint32_t found = 0;

    for (unsigned word = 0; word < UM_NEAR_WORDS; word++)
        found |= um_zero_bytes(um_load64(line + 8 * (size_t)word) ^ tags)
                 << 8 * word;
    return found;
}

#ifdef __SSE2__
static inline uint32_t um_near_tags(const uint8_t *line, uint64_t tags)
{
    __m128i tag = _mm_set1_epi8((char)tags);
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)line);
    __m128i high = _mm_loadl_epi64((const __m128i *)(const void *)(line + 16));
    uint32_t first = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, tag));
    uint32_t rest = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, tag));

    return first | (rest & 0xff) << 16;
}
#else
static inline uint32_t um_near_tags(const uint8_t *line, uint64_t tags)
{
    return um_near_tags_plain(line, tags);
}
#endif

/* --- the index of kind near: maps keys to record numbers -------------------
 *
 * Lines are those of kind table: tags of 8 bits, then numbers. A key probes
 * random lines until one is not full. Entries never move, and the numbers in
 * them only grow.
 */

enum {
    UM_NEAR_TAG_BITS = 8,
    UM_NEAR_MAX_MATCHES = 16, /* entries returned for one key, at most */
    UM_NEAR_KEYS = 32         /* keys looked up at once, at most */
};

typedef struct um_near_lines {
    uint8_t *at;
    uint64_t n, mails;    /* mails: numbers are below this */
    unsigned slots, bits; /* bits: width of a number */
} um_near_lines;

/* Returns the number of bits for storing numbers below mails. */
unsigned um_near_bits(uint64_t mails);
unsigned um_near_slots(uint64_t mails);
um_near_lines um_near_lines_of(void *memory, uint64_t lines, uint64_t mails);

/* The state of a search: tags has the tag in every byte. */
typedef struct um_probe {
    uint64_t x, step, tags;
} um_probe;

static inline um_probe um_probe_of(uint64_t lo, uint64_t hi)
{
    return (um_probe){
        lo, hi, (1 + ((hi >> 32) * 255 >> 32)) * UINT64_C(0x0101010101010101)};
}

static inline uint8_t *um_near_line(const um_near_lines *t, const um_probe *p)
{
    return t->at + um_scale(p->x, t->n) * UM_LINE;
}

/* An entry with the right tag. */
typedef struct um_near_match {
    uint8_t *line;
    uint64_t number;
    uint8_t slot;
} um_near_match;

typedef struct um_near_matches {
    unsigned n;
    um_near_match at[UM_NEAR_MAX_MATCHES];
} um_near_matches;

/* Finds the entries of n keys, at most UM_NEAR_KEYS; modifies their probes. */
void um_near_look_up(const um_near_lines *t, um_probe *p, unsigned n,
                     um_near_matches *out);
/* Adds an entry for a key, if there is space within its reach. */
void um_near_add_entry(const um_near_lines *t, um_probe p, uint64_t number);
/* Changes an entry to point to a later record. */
void um_near_move_entry(const um_near_lines *t, const um_near_match *v,
                        uint64_t number);

/* --- records of kind near, for its own files ------------------------------ */

enum {
    UM_NEAR_INDEXED = 10, /* positions that have entries in the index */
    UM_NEAR_PRINT = UM_NEAR_NAME,
    UM_NEAR_FLAG = UM_NEAR_PRINT + 3,
    UM_NEAR_NAME_SPACE = UM_NEAR_FLAG + 1,
    UM_NEAR_NUMBER_SPACE = 8,
    UM_NEAR_MARK_SPACE = 2 * UM_NEAR_SHINGLES
};

typedef struct um_near {
    um_near_lines lines;
    uint8_t *names, *numbers, *marks;
    uint64_t mails;
} um_near;

/* 16 bits of each shingle, as stored in records. */
typedef struct um_near_marks {
    uint8_t at[UM_NEAR_MARK_SPACE];
} um_near_marks;

/* Reads record i. Returns false if it is free: its page may not have arrived
 * yet. */
bool um_near_read(const um_near *t, uint64_t i, um_near_record *out);
/* Writes record i, which is free. */
void um_near_write_record(const um_near *t, const um_near_write *w,
                          int32_t value, uint64_t i);
/* Sets value and stamp, neither lower than before. */
void um_near_raise(const um_near *t, uint64_t i, uint32_t stamp, int32_t value);

um_near_marks um_near_marks_of(const uint64_t shingle[UM_NEAR_SHINGLES]);
/* Returns a bit for each position at which record i has the same mark. */
uint32_t um_near_agree(const um_near *t, uint64_t i, const um_near_marks *m);
bool um_near_agrees_at(const um_near *t, uint64_t i, const um_near_marks *m,
                       unsigned position);

/* Returns true if record i has this name; NULL: if its name has this digest. */
bool um_near_is_of(const um_near *t, uint64_t i, const umbel_digest *d,
                   const uint8_t *name);
/* Returns true if an entry with this tag may be the one for the record's
 * name. */
bool um_near_may_be_name(const um_near *t, uint64_t i, uint8_t tag);

/* Returns an upper bound of the probability that a random digest finds a
 * record. It is computed from the lines and records, whatever they contain. */
double um_near_chance(const um_near *t);
/* The same for an honest filter with that number of records. */
double um_near_max_chance(uint64_t lines, uint64_t records);

/* Finds the entry of a name; *out points to its latest record. */
bool um_near_find_name(const um_near *t, const umbel_digest *d,
                       const uint8_t *name, um_near_match *out);

#endif
