/*
 * notes.c - a table of notes with linear probing.
 */
#include "store/notes.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/record.h"

#include <stdlib.h>
#include <string.h>

/* gcc's analyzer does not find a note again in a slot with a computed number.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum { LEAST = 64 };

struct um_note {
    size_t name_len, value_len;
    uint8_t bytes[];
};

void um_notes_fini(um_notes *t)
{
    for (size_t i = 0; i < t->cap; i++)
        free(t->slot[i]);
    free(t->slot);
    *t = (um_notes){0};
}

static size_t home(const um_notes *t, const void *name, size_t len)
{
    return um_checksum(name, len) & (t->cap - 1);
}

static size_t home_of(const um_notes *t, const um_note *note)
{
    return home(t, note->bytes, note->name_len);
}

/* Where the note is, or the empty slot where it would go. */
static size_t find_note(const um_notes *t, umbel_slice name)
{
    size_t i = home(t, name.data, name.len);

    while (t->slot[i] && (t->slot[i]->name_len != name.len ||
                          memcmp(t->slot[i]->bytes, name.data, name.len) != 0))
        i = (i + 1) & (t->cap - 1);
    return i;
}

static umbel_slice value_of(const um_note *note)
{
    return (umbel_slice){note->bytes + note->name_len, note->value_len};
}

bool um_notes_get(const um_notes *t, umbel_slice name, umbel_slice *value)
{
    const um_note *note = t->cap ? t->slot[find_note(t, name)] : NULL;

    if (note)
        *value = value_of(note);
    return note != NULL;
}

static umbel_status reserve(um_notes *t, umbel_error *err)
{
    um_notes bigger = *t;

    if (t->cap && t->n < t->cap / 2)
        return UMBEL_OK;
    bigger.cap = t->cap ? 2 * t->cap : LEAST;
    bigger.slot = calloc(bigger.cap, sizeof(void *));
    if (!bigger.slot)
        return um_no_memory(err, bigger.cap * sizeof(void *));
    for (size_t i = 0; i < t->cap; i++) {
        um_note *note = t->slot[i];
        if (note)
            bigger.slot[find_note(
                &bigger, (umbel_slice){note->bytes, note->name_len})] = note;
    }
    free(t->slot);
    *t = bigger;
    return UMBEL_OK;
}

static umbel_status check_lengths(const um_notes *t, umbel_slice name,
                                  umbel_slice value, umbel_error *err)
{
    if (name.len < 1 || name.len > UM_NOTE_NAME_MAX)
        return um_fail(err, UMBEL_E_RANGE,
                       "the name of a note has 1 to %d bytes, not %zu",
                       UM_NOTE_NAME_MAX, name.len);
    if (value.len > UM_NOTE_VALUE_MAX)
        return um_fail(err, UMBEL_E_RANGE,
                       "a note has at most %d bytes, not %zu",
                       UM_NOTE_VALUE_MAX, value.len);
    if (name.len + value.len > UM_NOTES_MAX_BYTES - t->bytes)
        return um_fail(err, UMBEL_E_LIMIT, "notes take more than %d bytes",
                       UM_NOTES_MAX_BYTES);
    return UMBEL_OK;
}

umbel_status um_notes_append(um_notes *t, umbel_slice name, umbel_slice value,
                             umbel_error *err)
{
    UM_TRY(check_lengths(t, name, value, err));
    UM_TRY(reserve(t, err));
    size_t len = sizeof(um_note) + name.len + value.len;
    um_note *note = malloc(len);
    if (!note)
        return um_no_memory(err, len);
    note->name_len = name.len;
    note->value_len = value.len;
    memcpy(note->bytes, name.data, name.len);
    if (value.len)
        memcpy(note->bytes + name.len, value.data, value.len);
    size_t place = find_note(t, name);
    um_note *old = t->slot[place];
    t->slot[place] = note;
    t->n += old == NULL;
    t->bytes += name.len + value.len;
    t->bytes -= old ? name.len + old->value_len : 0;
    free(old);
    return UMBEL_OK;
}

/* Moves up what would no longer be found over the hole. */
static void close_hole(um_notes *t, size_t hole)
{
    size_t mask = t->cap - 1;

    for (size_t i = (hole + 1) & mask; t->slot[i]; i = (i + 1) & mask) {
        size_t far = (i - home_of(t, t->slot[i])) & mask;
        if (far >= ((i - hole) & mask)) {
            t->slot[hole] = t->slot[i];
            t->slot[i] = NULL;
            hole = i;
        }
    }
}

bool um_notes_drop(um_notes *t, umbel_slice name)
{
    size_t i = t->cap ? find_note(t, name) : 0;

    if (t->cap == 0 || !t->slot[i])
        return false;
    t->bytes -= name.len + t->slot[i]->value_len;
    t->n--;
    free(t->slot[i]);
    t->slot[i] = NULL;
    close_hole(t, i);
    return true;
}

bool um_notes_next(const um_notes *t, size_t *at, umbel_slice *name,
                   umbel_slice *value)
{
    while (*at < t->cap && !t->slot[*at])
        ++*at;
    if (*at >= t->cap)
        return false;
    const um_note *note = t->slot[(*at)++];
    *name = (umbel_slice){note->bytes, note->name_len};
    *value = value_of(note);
    return true;
}

umbel_status um_notes_encode(const um_notes *t, const um_sink *to,
                             umbel_error *err)
{
    uint64_t n = um_le64(t->n);
    umbel_slice name, value;

    UM_TRY(um_sink_append(to, &n, sizeof n, err));
    for (size_t at = 0; um_notes_next(t, &at, &name, &value);) {
        uint64_t lengths = um_le64(name.len | (uint64_t)value.len << 32);
        UM_TRY(um_sink_append(to, &lengths, sizeof lengths, err));
        UM_TRY(um_sink_append(to, name.data, name.len, err));
        UM_TRY(um_sink_append(to, value.data, value.len, err));
    }
    return UMBEL_OK;
}

static umbel_status decode_note(um_notes *t, um_feed *from, umbel_error *err)
{
    uint8_t bytes[UM_NOTE_NAME_MAX + UM_NOTE_VALUE_MAX];
    uint64_t lengths;

    UM_TRY(um_feed_get(from, &lengths, sizeof lengths, err));
    lengths = um_le64(lengths);
    size_t name = (uint32_t)lengths, value = (size_t)(lengths >> 32);
    UM_TRY(check_lengths(t, (umbel_slice){NULL, name},
                         (umbel_slice){NULL, value}, err));
    UM_TRY(um_feed_get(from, bytes, name + value, err));
    return um_notes_append(t, (umbel_slice){bytes, name},
                           (umbel_slice){bytes + name, value}, err);
}

umbel_status um_notes_decode(um_notes *t, um_feed *from, umbel_error *err)
{
    uint64_t n;

    UM_TRY(um_feed_get(from, &n, sizeof n, err));
    n = um_le64(n);
    for (uint64_t i = 0; i < n; i++)
        UM_TRY(decode_note(t, from, err));
    return UMBEL_OK;
}
