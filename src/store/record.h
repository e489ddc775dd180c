/*
 * record.h - one change of the store's state, as it is journaled.
 *
 * docs/STORE.md describes the bytes.
 */
#ifndef UM_STORE_RECORD_H
#define UM_STORE_RECORD_H

#include "base/bytes.h"
#include "kinds/near/near.h"

#include <umbel/base.h>

typedef enum um_record_type {
    UM_RECORD_COUNT = 1, /* a digest was reported */
    UM_RECORD_ONCE = 2,  /* a signed request was seen */
    UM_RECORD_TURN = 3,  /* a list began a new epoch */
    UM_RECORD_NOTE = 4,  /* a note got a value */
    UM_RECORD_DROP = 5,  /* a note was removed */
    UM_RECORD_RENEW = 6, /* all lists are empty; a note got a value */
    UM_RECORD_MAIL = 7   /* a mail was written, or deleted */
} um_record_type;

enum {
    UM_NOTE_NAME_MAX = 255,
    UM_NOTE_VALUE_MAX = 65535,
    /* The longest record, a note. */
    UM_RECORD_MAX = 8 + ((UM_NOTE_NAME_MAX + UM_NOTE_VALUE_MAX + 7) & ~7),
    UM_RECORD_COUNT_LEN = 24,
    UM_RECORD_ONCE_LEN = 16,
    UM_RECORD_TURN_LEN = 8,
    UM_RECORD_MAIL_LEN = 8 + 8 + 16 + UM_NEAR_NAME + 8 * UM_NEAR_SHINGLES
};

/* Length of the record of a note. */
size_t um_record_note_len(size_t name_len, size_t value_len);

typedef struct um_record {
    um_record_type type;
    unsigned list;             /* COUNT, TURN, MAIL */
    uint32_t amount;           /* COUNT */
    umbel_digest digest;       /* COUNT */
    uint64_t once;             /* ONCE */
    umbel_slice name, value;   /* NOTE, RENEW; of DROP the name */
    const um_near_write *mail; /* MAIL, to encode; else um_record_mail */
    unsigned bits;             /* MAIL, decoded: with value and amount */
} um_record;

/* Writes r to w, which remembers if it did not fit. */
void um_record_encode(const um_record *r, um_writer *w);

/* Reads one record; false if the bytes are not one. Slices point into them. */
bool um_record_decode(um_reader *from, um_record *out);
/* The mail of a record of type MAIL that was decoded. */
void um_record_mail(const um_record *r, um_near_write *out);

#endif
