/*
 * format.h - the formats of traces: one row per format.
 *
 * A reader is given bytes and takes one item off their front. It holds no file
 * and allocates nothing, so that the same code runs on files, pipes and in
 * fuzzers.
 */
#ifndef UM_STOPSET_FORMAT_H
#define UM_STOPSET_FORMAT_H

#include "stopset/formats/trace.h"

#include <umbel/base.h>

/* Largest item: one trace with all that is said about it. */
enum { SS_MAX_ITEM = 16 << 20 };

typedef enum ss_took {
    SS_TOOK_TRACE,
    SS_TOOK_OTHER, /* an item that is no trace */
    SS_TOOK_LONG,  /* a trace with more replies than SS_MAX_REPLIES */
    SS_TOOK_BAD,   /* a trace without destination, or without sense */
    SS_TOOK_NONE,  /* blanks between items */
    SS_NEED_MORE   /* the item goes on behind these bytes */
} ss_took;

/* What a reader remembers between items. Zero at the start of a file. */
typedef struct ss_format_state {
    uint64_t skip;   /* bytes still to be passed over */
    bool in_array;   /* JSON: the file is one array */
    bool need_comma; /* ... and an item came */
} ss_format_state;

typedef struct ss_format {
    const char *name;
    /* Returns true if a file that begins like this is of the format. */
    bool (*begins)(const uint8_t *bytes, size_t len);
    /*
     * Takes an item off len bytes. *used is its length; in trouble, where the
     * trouble is. With SS_NEED_MORE *used is 0. E_FORMAT: the bytes are not of
     * the format; *err says what is wrong, without the place.
     */
    umbel_status (*take)(ss_format_state *state, const uint8_t *bytes,
                         size_t len, size_t *used, ss_trace_buffer *buffer,
                         ss_took *took, umbel_error *err);
} ss_format;

extern const ss_format ss_format_warts, ss_format_json;

/* Returns the format of a file that begins like this; NULL: none of ours. */
const ss_format *ss_format_find(const uint8_t *bytes, size_t len);

#endif
