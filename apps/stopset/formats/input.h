/*
 * input.h - reads traces and tables from files, which are recognised by their
 * content.
 */
#ifndef UM_STOPSET_INPUT_H
#define UM_STOPSET_INPUT_H

#include "stopset/formats/format.h"

/* What was read. */
typedef struct ss_input_counts {
    uint64_t traces, tables;
    uint64_t others;   /* items that are not traces */
    uint64_t too_long; /* traces with more replies than SS_MAX_REPLIES */
    uint64_t bad;      /* traces without a destination */
} ss_input_counts;

/* Callbacks for what is read. A failure ends the reading. */
typedef struct ss_sink {
    void *ctx;
    umbel_status (*trace)(void *ctx, const ss_trace *t, umbel_error *err);
    /* Called for each line of a table, including the first; NULL if tables are
     * refused. */
    umbel_status (*line)(void *ctx, const char *line, size_t len,
                         umbel_error *err);
    /* Called at the end of a table; NULL if line is. */
    umbel_status (*end)(void *ctx, umbel_error *err);
} ss_sink;

#define SS_TABLE_HEAD "umbel-stopset table 1"

/* Parses one file, in pieces of any size. */
typedef struct ss_feed ss_feed;

/* Creates a parser; sink and counts must outlive it. NULL without memory. */
ss_feed *ss_feed_open(const ss_sink *sink, ss_input_counts *counts);
void ss_feed_close(ss_feed *f);
/* Parses the next bytes. Messages contain the offset in the file. */
umbel_status ss_feed_push(ss_feed *f, const void *bytes, size_t len,
                          umbel_error *err);
/* Ends the file. */
umbel_status ss_feed_end(ss_feed *f, umbel_error *err);

/* Reads files, compressed with gzip or not; "-" is standard input. Refuses a
 * file without traces that is not a table. Messages begin with the name of the
 * file. */
umbel_status ss_input_each(const char *const *paths, size_t npaths,
                           const ss_sink *sink, ss_input_counts *counts,
                           umbel_error *err);

#endif
