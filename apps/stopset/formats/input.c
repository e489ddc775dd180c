/*
 * input.c - traces and tables from files.
 *
 * Bytes of a file are read into a window, and items are parsed from its start.
 * The window has to contain one whole item, so it grows, but never beyond
 * SS_MAX_ITEM bytes.
 */
#include "stopset/formats/input.h"

#include "base/buffer.h"
#include "base/error.h"
#include "keylist/file_input.h"

#include <inttypes.h>

static const ss_format *const formats[] = {&ss_format_warts, &ss_format_json};

const ss_format *ss_format_find(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < UM_COUNT(formats); i++)
        if (formats[i]->begins(bytes, len))
            return formats[i];
    return NULL;
}

struct ss_feed {
    const ss_sink *sink;
    ss_input_counts *counts;
    const ss_format *format; /* NULL if not known yet, or for a table */
    bool is_table;
    ss_format_state state;
    uint8_t *window;
    size_t from, to, cap; /* window[from..to) is not parsed yet */
    size_t enough;        /* bytes needed before parsing is tried again */
    uint64_t offset;      /* of window[from] in the file */
    ss_trace_buffer trace;
};

ss_feed *ss_feed_open(const ss_sink *sink, ss_input_counts *counts)
{
    ss_feed *f = calloc(1, sizeof *f);

    if (f) {
        f->sink = sink;
        f->counts = counts;
    }
    return f;
}

void ss_feed_close(ss_feed *f)
{
    if (f)
        free(f->window);
    free(f);
}

static const uint8_t *waiting(const ss_feed *f, size_t *len)
{
    *len = f->to - f->from;
    return f->window ? f->window + f->from : (const uint8_t *)"";
}

static void drop(ss_feed *f, size_t len)
{
    f->from += len;
    f->offset += len;
}

static umbel_status count_item(ss_feed *f, ss_took took, umbel_error *err)
{
    ss_input_counts *c = f->counts;

    if (took == SS_TOOK_TRACE) {
        c->traces++;
        return f->sink->trace(f->sink->ctx, &f->trace.trace, err);
    }
    c->others += took == SS_TOOK_OTHER;
    c->too_long += took == SS_TOOK_LONG;
    c->bad += took == SS_TOOK_BAD;
    return UMBEL_OK;
}

static umbel_status parse_items(ss_feed *f, umbel_error *err)
{
    ss_took took = SS_TOOK_NONE;

    f->enough = 0;
    for (;;) {
        size_t len, used;
        const uint8_t *bytes = waiting(f, &len);
        if (!len)
            return UMBEL_OK;
        umbel_error why;
        umbel_status status = f->format->take(&f->state, bytes, len, &used,
                                              &f->trace, &took, &why);
        if (status != UMBEL_OK)
            return um_fail(err, status, "byte %" PRIu64 ": %s",
                           f->offset + used, why.text);
        if (took == SS_NEED_MORE)
            break;
        drop(f, used);
        UM_TRY(count_item(f, took, err));
    }
    size_t left = f->to - f->from;
    if (left >= SS_MAX_ITEM)
        return um_fail(err, UMBEL_E_FORMAT,
                       "byte %" PRIu64 ": more than %d bytes without an end",
                       f->offset, SS_MAX_ITEM);
    f->enough = 2 * left < SS_MAX_ITEM ? 2 * left : SS_MAX_ITEM;
    return UMBEL_OK;
}

/* Parses the lines of a table; if last, the final one may lack its newline. */
static umbel_status parse_lines(ss_feed *f, bool last, umbel_error *err)
{
    enum { MAX_LINE = 4096 };

    for (;;) {
        size_t len;
        const uint8_t *bytes = waiting(f, &len);
        const uint8_t *end = len ? memchr(bytes, '\n', len) : NULL;
        if (!len || (!end && !last && len <= MAX_LINE))
            return UMBEL_OK;
        size_t line = end ? (size_t)(end - bytes) : len;
        if (line > MAX_LINE)
            return um_fail(err, UMBEL_E_FORMAT,
                           "byte %" PRIu64 ": the line is too long", f->offset);
        umbel_error why;
        umbel_status status =
            f->sink->line(f->sink->ctx, (const char *)bytes, line, &why);
        if (status != UMBEL_OK)
            return um_fail(err, status, "byte %" PRIu64 ": %s", f->offset,
                           why.text);
        drop(f, line + (end != NULL));
    }
}

/* Drops blanks, with which a file may begin. */
static void drop_blanks(ss_feed *f)
{
    size_t len;
    const uint8_t *bytes = waiting(f, &len);
    size_t n = 0;

    while (n < len && (bytes[n] == ' ' || bytes[n] == '\n' ||
                       bytes[n] == '\r' || bytes[n] == '\t'))
        n++;
    drop(f, n);
}

/* Recognises the format of a file by its first bytes; last means that there are
 * no more. */
static umbel_status recognise(ss_feed *f, bool last, umbel_error *err)
{
    static const char head[] = SS_TABLE_HEAD;
    size_t len;

    drop_blanks(f);
    const uint8_t *bytes = waiting(f, &len);
    if (len < sizeof head - 1 && (!last || !len))
        return UMBEL_OK;
    if (len >= sizeof head - 1 && memcmp(bytes, head, sizeof head - 1) == 0) {
        if (!f->sink->line)
            return um_fail(err, UMBEL_E_FORMAT,
                           "this is a table; traces are needed here");
        f->is_table = true;
        f->counts->tables++;
        return UMBEL_OK;
    }
    f->format = ss_format_find(bytes, len);
    if (!f->format)
        return um_fail(err, UMBEL_E_FORMAT,
                       "neither warts, JSON of scamper or RIPE Atlas, nor a "
                       "table of 'umbel stopset learn'");
    return UMBEL_OK;
}

static umbel_status parse_what_came(ss_feed *f, bool last, umbel_error *err)
{
    size_t len;

    waiting(f, &len);
    if (!f->format && !f->is_table && len)
        UM_TRY(recognise(f, last, err));
    if (f->is_table)
        return parse_lines(f, last, err);
    if (f->format && (last || len >= f->enough))
        return parse_items(f, err);
    return UMBEL_OK;
}

/* Reserves len bytes after those that are not parsed yet; NULL without
 * memory. */
static uint8_t *reserve(ss_feed *f, size_t len)
{
    size_t left = f->to - f->from;

    if (left && f->from)
        memmove(f->window, f->window + f->from, left);
    f->from = 0;
    f->to = left;
    if (f->cap - left < len) {
        size_t cap = 2 * (left + len);
        if (!um_array_resize(&f->window, cap, 1))
            return NULL;
        f->cap = cap;
    }
    return f->window + left;
}

umbel_status ss_feed_push(ss_feed *f, const void *bytes, size_t len,
                          umbel_error *err)
{
    uint8_t *room = len ? reserve(f, len) : NULL;

    if (!len)
        return UMBEL_OK;
    if (!room)
        return um_no_memory(err, len);
    memcpy(room, bytes, len);
    f->to += len;
    return parse_what_came(f, false, err);
}

umbel_status ss_feed_end(ss_feed *f, umbel_error *err)
{
    size_t len;

    UM_TRY(parse_what_came(f, true, err));
    waiting(f, &len);
    if (len || f->state.skip || f->state.in_array)
        return um_fail(err, UMBEL_E_FORMAT,
                       "byte %" PRIu64 ": the file ends in the middle of "
                       "something",
                       f->offset);
    return f->is_table ? f->sink->end(f->sink->ctx, err) : UMBEL_OK;
}

/* Reads the next bytes of a file; *more is false at its end. */
static umbel_status read_some(um_input *s, ss_feed *f, bool *more,
                              umbel_error *err)
{
    uint8_t *room = reserve(f, UM_READ_LEN);
    size_t got;

    if (!room)
        return um_no_memory(err, UM_READ_LEN);
    UM_TRY(um_input_read(s, room, UM_READ_LEN, &got, err));
    f->to += got;
    *more = got > 0;
    return um_name_file(*more ? parse_what_came(f, false, err)
                              : ss_feed_end(f, err),
                        um_input_name(s), err);
}

/* Refuses a file that has added neither a trace nor a table. */
static umbel_status check_traces(const ss_input_counts *before,
                                 const ss_input_counts *now, umbel_error *err)
{
    uint64_t others = now->others - before->others;
    uint64_t unusable =
        now->bad + now->too_long - before->bad - before->too_long;

    if (now->traces > before->traces || now->tables > before->tables)
        return UMBEL_OK;
    if (unusable)
        return um_fail(err, UMBEL_E_FORMAT,
                       "contains no usable trace: %" PRIu64 " without a "
                       "destination, or with more than %d replies",
                       unusable, SS_MAX_REPLIES);
    if (!others)
        return um_fail(err, UMBEL_E_FORMAT,
                       "contains no trace: the file is empty");
    return um_fail(err, UMBEL_E_FORMAT,
                   "contains no trace, only other objects (%" PRIu64 "); give "
                   "scamper's trace or tracelb or RIPE Atlas's traceroute, one "
                   "object after the other or in one array",
                   others);
}

static umbel_status read_file(um_input *s, const ss_sink *sink,
                              ss_input_counts *counts, umbel_error *err)
{
    ss_feed *f = ss_feed_open(sink, counts);
    ss_input_counts before = *counts;
    umbel_status status = UMBEL_OK;
    bool more = true;

    if (!f)
        return um_no_memory(err, sizeof *f);
    while (status == UMBEL_OK && more)
        status = read_some(s, f, &more, err);
    ss_feed_close(f);
    if (status == UMBEL_OK)
        status = um_name_file(check_traces(&before, counts, err),
                              um_input_name(s), err);
    return status;
}

umbel_status ss_input_each(const char *const *paths, size_t npaths,
                           const ss_sink *sink, ss_input_counts *counts,
                           umbel_error *err)
{
    um_key_source source = {.paths = paths,
                            .npaths = npaths,
                            .expected = "a file of traces, or a table"};
    um_input *s;
    bool more = true;

    UM_TRY(um_input_open(&source, false, &s, err));
    umbel_status status = um_input_next_file(s, &more, err);
    while (status == UMBEL_OK && more) {
        status = read_file(s, sink, counts, err);
        if (status == UMBEL_OK)
            status = um_input_next_file(s, &more, err);
    }
    um_input_close(s);
    return status;
}
