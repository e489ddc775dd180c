/*
 * notes.h - small named byte strings: exceptions, accounts, settings.
 */
#ifndef UM_STORE_NOTES_H
#define UM_STORE_NOTES_H

#include "store/pieces.h"

enum { UM_NOTES_MAX_BYTES = 16 << 20 }; /* of names and values together */

typedef struct um_note um_note;

/* Zeroed, it is empty. */
typedef struct um_notes {
    um_note **slot;
    size_t cap; /* a power of two, or 0 */
    size_t n;
    size_t bytes;
} um_notes;

void um_notes_fini(um_notes *t);

/* The value lives until the note is put or dropped. */
bool um_notes_get(const um_notes *t, umbel_slice name, umbel_slice *value);
/*
 * Gives a note a value. E_RANGE when the name (1 to UM_NOTE_NAME_MAX bytes) or
 * the value (UM_NOTE_VALUE_MAX) is too long, E_LIMIT when all notes together
 * are; then nothing has changed.
 */
umbel_status um_notes_append(um_notes *t, umbel_slice name, umbel_slice value,
                             umbel_error *err);
/* Removes a note; returns false if there is none. */
bool um_notes_drop(um_notes *t, umbel_slice name);

/* Walks all notes: *at is 0 at first. In no order. */
bool um_notes_next(const um_notes *t, size_t *at, umbel_slice *name,
                   umbel_slice *value);

umbel_status um_notes_encode(const um_notes *t, const um_sink *to,
                             umbel_error *err);
/* t is empty. */
umbel_status um_notes_decode(um_notes *t, um_feed *from, umbel_error *err);

#endif
