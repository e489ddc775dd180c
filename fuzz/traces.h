/*
 * traces.h - shared by the targets of the trace readers.
 *
 * The first byte of the input is the piece length minus 1; the rest is a file.
 * However it is split, the reader returns the same traces, counts and error;
 * and a trace that is written reads back the same.
 */
#ifndef UM_FUZZ_TRACES_H
#define UM_FUZZ_TRACES_H

#include "fuzz.h"

#include "stopset/formats/input.h"
#include "stopset/formats/output.h"

#include <stdlib.h>
#include <string.h>

typedef struct um_fuzz_read {
    umbel_status status;
    ss_input_counts counts;
    char *text; /* of all traces */
    size_t len;
} um_fuzz_read;

static umbel_status um_fuzz_retain(void *ctx, const ss_trace *t,
                                   umbel_error *err)
{
    (void)err;
    UM_WANT(t->nhops <= SS_MAX_REPLIES);
    for (size_t i = 0; i < t->nhops; i++)
        UM_WANT(t->hop[i].ttl >= t->first && t->hop[i].ttl <= t->last);
    UM_WANT(!ss_addr_none(t->dst));
    ss_trace_write_json(t, ctx);
    return UMBEL_OK;
}

static um_fuzz_read um_fuzz_feed(const void *file, size_t len, size_t piece)
{
    um_fuzz_read r = {0};
    FILE *out = open_memstream(&r.text, &r.len);
    ss_sink sink = {.ctx = out, .trace = um_fuzz_retain};
    ss_feed *f = ss_feed_open(&sink, &r.counts);
    const uint8_t *at = file;
    umbel_error err;

    UM_WANT(out && f);
    for (size_t i = 0; r.status == UMBEL_OK && i < len; i += piece)
        r.status =
            ss_feed_push(f, at + i, len - i < piece ? len - i : piece, &err);
    if (r.status == UMBEL_OK)
        r.status = ss_feed_end(f, &err);
    if (r.status != UMBEL_OK)
        um_fuzz_check_error(r.status, &err);
    ss_feed_close(f);
    fclose(out);
    return r;
}

static void um_fuzz_same_text(const um_fuzz_read *a, const um_fuzz_read *b)
{
    UM_WANT(a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
}

static void um_fuzz_traces(const uint8_t *data, size_t size)
{
    if (size < 2)
        return;
    um_fuzz_read whole = um_fuzz_feed(data + 1, size - 1, size);
    um_fuzz_read cut = um_fuzz_feed(data + 1, size - 1, data[0] + 1u);
    UM_WANT(whole.status == cut.status);
    UM_WANT(memcmp(&whole.counts, &cut.counts, sizeof cut.counts) == 0);
    um_fuzz_same_text(&whole, &cut);
    if (whole.counts.traces) {
        um_fuzz_read again = um_fuzz_feed(whole.text, whole.len, whole.len);
        UM_WANT(again.status == UMBEL_OK);
        UM_WANT(again.counts.traces == whole.counts.traces);
        um_fuzz_same_text(&whole, &again);
        free(again.text);
    }
    free(whole.text);
    free(cut.text);
}

#endif
