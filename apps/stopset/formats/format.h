/*
 * format.h - the formats of traces: one row per format.
 *
 * A reader parses one item from the front of a buffer. It uses no file and
 * allocates nothing, so that the same code works for files, pipes and fuzzers.
 */
#ifndef UM_STOPSET_FORMAT_H
#define UM_STOPSET_FORMAT_H

#include "stopset/formats/trace.h"

#include <umbel/base.h>

/* Largest item: one trace with all its attributes. */
enum { SS_MAX_ITEM = 16 << 20 };

typedef enum ss_took {
    SS_TOOK_TRACE,
    SS_TOOK_OTHER, /* an item that is not a trace */
    SS_TOOK_LONG,  /* a trace with more replies than SS_MAX_REPLIES */
    SS_TOOK_BAD,   /* a trace without a destination, or an inconsistent one */
    SS_TOOK_NONE,  /* blanks between items */
    SS_NEED_MORE   /* the item continues after these bytes */
} ss_took;

/* State that a reader retains between items. Zeroed at the start of a file. */
typedef struct ss_format_state {
    uint64_t skip;   /* bytes still to be skipped */
    bool in_array;   /* JSON: the file is one array */
    bool need_comma; /* JSON: an item precedes */
} ss_format_state;

typedef struct ss_format {
    const char *name;
    /* Returns true if a file that begins like this is of the format. */
    bool (*begins)(const uint8_t *bytes, size_t len);
    /*
     * Parses an item from the first of len bytes. *used is its length, or on
     * failure the position of the error; it is 0 with SS_NEED_MORE. Returns
     * E_FORMAT if the bytes do not have the format; *err says what is wrong,
     * without the position.
     */
    umbel_status (*take)(ss_format_state *state, const uint8_t *bytes,
                         size_t len, size_t *used, ss_trace_buffer *buffer,
                         ss_took *took, umbel_error *err);
} ss_format;

extern const ss_format ss_format_warts, ss_format_json;

/* Returns the format of a file that begins like this, or NULL. */
const ss_format *ss_format_find(const uint8_t *bytes, size_t len);

#endif
