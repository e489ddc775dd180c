/*
 * each.c - passes all keys of a source to a function, in order, with several
 * threads.
 *
 * The input is cut into pieces of whole lines (keylist/internal.h). A pipeline
 * (base/threads.h) splits pieces, hashes and queries keys in any thread.
 * Changes, and the search for the first bad line, follow the order of the
 * pieces.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "base/threads.h"
#include "filter/handle.h"
#include "keylist/internal.h"
#include "keylist/sniff.h"
#include "keylist/source.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Counts keys, without splitting lines if whole lines are keys.
 */

enum { COUNT_LEN = 1 << 18 }; /* bytes at a time */

static umbel_status count_batch(void *ctx, const um_key_batch *batch,
                                umbel_error *err)
{
    (void)err;
    *(uint64_t *)ctx += batch->n;
    return UMBEL_OK;
}

/* Returns 1 if p is the end of a non-empty line. Reads the two bytes before
 * p. */
static inline uint8_t is_end(const uint8_t *p)
{
    bool empty = (p[-1] == '\n') | ((p[-1] == '\r') & (p[-2] == '\n'));

    return (uint8_t)((*p == '\n') & !empty);
}

/*
 * Counts the ends of non-empty lines. Reads the two bytes before p. Has no
 * branches, and sums bytes per lane, so that compilers can vectorise it.
 */
static uint64_t count_ends(const uint8_t *p, size_t len)
{
    enum { LANES = 32, MOST = 255 }; /* steps before a sum could overflow */
    uint64_t n = 0;

    while (len >= LANES) {
        uint8_t sums[LANES] = {0};
        size_t steps = len / LANES < MOST ? len / LANES : MOST;
        for (size_t i = 0; i < steps; i++, p += LANES)
            for (size_t j = 0; j < LANES; j++)
                sums[j] = (uint8_t)(sums[j] + is_end(p + j));
        for (size_t j = 0; j < LANES; j++)
            n += sums[j];
        len -= steps * LANES;
    }
    for (size_t i = 0; i < len; i++)
        n += is_end(p + i);
    return n;
}

/* Counts the lines of a file. The two bytes before each read are kept in front
 * of the buffer. */
static umbel_status count_file(um_input *s, uint8_t *buffer, uint64_t *n,
                               umbel_error *err)
{
    uint8_t *start = buffer + 2;
    size_t got, mark;
    bool first = true;

    memset(buffer, '\n', 2);
    for (;; first = false) {
        UM_TRY(um_input_read(s, start, COUNT_LEN, &got, err));
        if (!got)
            break;
        mark = first ? um_mark_len(start, got) : 0;
        memset(start, '\n', mark);
        *n += count_ends(start + mark, got - mark);
        memmove(buffer, start + got - 2, 2);
    }
    *start = '\n'; /* the last line may lack its newline */
    *n += count_ends(start, 1);
    return UMBEL_OK;
}

static umbel_status count_lines(um_input *s, uint64_t *n, umbel_error *err)
{
    uint8_t *buffer = malloc(COUNT_LEN + 2);
    umbel_status status = UMBEL_OK;
    bool more = true;

    if (!buffer)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to count keys");
    while (status == UMBEL_OK && more) {
        status = um_input_next_file(s, &more, err);
        if (status == UMBEL_OK && more)
            status = count_file(s, buffer, n, err);
    }
    free(buffer);
    return status;
}

umbel_status um_keys_count(const um_key_source *s, uint64_t *n,
                           umbel_error *err)
{
    um_key_source source = *s;
    um_input *stream;

    *n = 0;
    source.pass = "counting keys";
    source.format.fold_case = false; /* does not change the number of keys */
    source.prefixes = NULL;
    if (source.format.form) {
        source.format.form = UMBEL_KEYS_TEXT;
        source.format.hex = false;
    }
    if (!um_lines_are_keys(&source.format))
        return um_keys_each_batch(&source, count_batch, n, err);
    UM_TRY(um_input_open(&source, false, &stream, err));
    umbel_status status = count_lines(stream, n, err);
    um_input_close(stream);
    return status;
}

/* A piece and its result take up to 4 MB, so all together stay below 64 MB. */
enum { MAX_PIECES = 16 };

enum { LINE_NAME = 160 }; /* bytes of a path's tail, and a number */

typedef struct slot {
    um_piece piece;
    void *result;
} slot;

typedef struct reading {
    um_piece_reader reader;
    const um_key_source *source;
    const um_key_job *job;
    uint64_t line;    /* last line used, in its file */
    const char *file; /* whose lines left_out counts */
    um_left_out left_out;
    uint64_t nfields[2]; /* as in um_piece */
    umbel_status status;
    umbel_error *err;
} reading;

bool um_keys_rereadable(const um_key_source *s)
{
    struct stat st;

    for (size_t i = 0; i < s->npaths; i++)
        if (strcmp(s->paths[i], "-") == 0 ||
            (stat(s->paths[i], &st) == 0 && !S_ISREG(st.st_mode) &&
             !S_ISDIR(st.st_mode)))
            return false;
    return s->npaths > 0;
}

/* --- the steps of the pipeline -------------------------------------------- */

static um_key_batch batch_of(const reading *r, const um_piece *p)
{
    bool same = um_lines_are_keys(&r->source->format);
    return (um_key_batch){.n = p->n,
                          .keys = p->keys,
                          .lines = same ? p->keys : p->lines,
                          .texts = same ? p->keys : p->texts,
                          .weights = p->weights,
                          .amounts = p->amounts};
}

static bool fill_slot(void *ctx, void *piece)
{
    return um_piece_read(&((reading *)ctx)->reader, &((slot *)piece)->piece);
}

static void work_on_slot(void *ctx, void *piece)
{
    const reading *r = ctx;
    slot *s = piece;

    um_split_piece(&r->source->format, &s->piece);
    if (!s->piece.n || !r->job->work)
        return;
    um_key_batch batch = batch_of(r, &s->piece);
    umbel_error err;
    umbel_status status = r->job->work(r->job->ctx, &batch, s->result, &err);
    if (status != UMBEL_OK) { /* takes precedence: it comes before a bad line */
        s->piece.status = status;
        s->piece.err = err;
    }
}

/* Formats "list, line 7". */
static const char *line_name(const um_piece *p, uint64_t line,
                             char out[LINE_NAME])
{
    snprintf(out, LINE_NAME, "%s%s%s%s, line %" PRIu64, um_path_dots(p->file),
             um_path_tail(p->file), *p->range ? ", range " : "", p->range,
             line);
    return out;
}

/* Reports skipped lines. Called when it is the piece's turn, because only then
 * are the numbers of its lines known. */
static void report_skipped(const reading *r, const um_piece *p)
{
    const um_key_format *f = &r->source->format;
    char where[LINE_NAME];

    for (size_t i = 0; i < p->nskipped; i++) {
        const um_bad_line *b = &p->skipped[i];
        umbel_error why = {.status = UMBEL_OK};
        umbel_slice key;
        if (!b->what) /* the space of this key was not used */
            um_form_key(um_format_form(f), f->hex, b->key,
                        p->decoded + p->decoded_len, &key, &why);
        line_name(p, (p->first ? 0 : r->line) + b->number, where);
        r->source->bad_line(r->source->bad_ctx, where, b->line,
                            b->what ? b->what : why.text);
    }
}

/* Returns the failure of a piece, if any. */
static umbel_status judge_piece(reading *r, const um_piece *p)
{
    r->line = (p->first ? 0 : r->line) + p->nlines;
    if (p->status != UMBEL_OK) {
        *r->err = p->err;
        return p->status;
    }
    if (!p->bad)
        return UMBEL_OK;
    char where[LINE_NAME];
    const char *hint = um_what_list(&r->source->format, p);
    return um_fail(r->err, UMBEL_E_KEY, "%s: %s%s%s",
                   line_name(p, r->line, where), p->bad, hint ? "; " : "",
                   hint ? hint : "");
}

/* Warns about the beginning of each file, which is enough to notice most
 * mistakes. */
static void warn_of_piece(const um_key_source *s, const um_piece *p)
{
    const char *text = s->warn && p->first ? um_what_is_odd(s, p) : NULL;

    if (text)
        s->warn(s->warn_ctx, p->file, text);
}

/* Reports range files that are missing, unless reading was stopped. */
static void report_ranges(const reading *r)
{
    const um_key_source *s = r->source;
    char text[UM_LEFT_OUT_CAP];

    if (s->warn && !(s->stop && *s->stop) &&
        um_input_report(r->reader.stream, text, sizeof text))
        s->warn(s->warn_ctx, um_input_name(r->reader.stream), text);
}

/* Warns of a file without any delimiter, whose lines are keys as a whole. Their
 * weights and amounts have been removed by then, or would be missing. */
static void report_fields(const reading *r)
{
    const um_key_source *s = r->source;
    char sign[] = {um_format_delimiter(&s->format), '\0'};
    char text[UM_LEFT_OUT_CAP];

    if (r->status != UMBEL_OK || (s->stop && *s->stop) || !s->has_fields ||
        s->format.field != 1 || s->format.amount_field || s->format.csv ||
        !r->nfields[0] || r->nfields[1] ||
        um_file_has_weights(&s->format, r->file))
        return;
    snprintf(text, sizeof text,
             "no line has the delimiter (%s): --field 1 takes whole lines",
             *sign == '\t' ? "a tab" : sign);
    um_disarm(text);
    s->warn(s->warn_ctx, r->file, text);
}

/* Reports what only the whole file shows: the lines that are not keys in their
 * format, or that no line has several fields. */
static void report_file(reading *r)
{
    um_left_out *n = &r->left_out;
    char text[UM_LEFT_OUT_CAP];

    if (r->source->warn && um_left_out_report(n, text, sizeof text))
        r->source->warn(r->source->warn_ctx, r->file, text);
    if (r->source->warn)
        report_fields(r);
    *n = (um_left_out){0};
    r->nfields[0] = r->nfields[1] = 0;
}

static void count_left_out(reading *r, const um_piece *p)
{
    if (p->file != r->file)
        report_file(r);
    r->file = p->file;
    r->nfields[0] += p->nfields[0];
    r->nfields[1] += p->nfields[1];
    r->left_out.rules += p->left_out.rules;
    r->left_out.exceptions += p->left_out.exceptions;
}

static bool drain_slot(void *ctx, void *piece)
{
    reading *r = ctx;
    slot *s = piece;
    um_key_batch batch = batch_of(r, &s->piece);
    const bool *stop = r->source->stop;

    warn_of_piece(r->source, &s->piece);
    count_left_out(r, &s->piece);
    for (size_t i = 0; r->source->prefixes && i < batch.n; i++)
        um_prefixes_add(r->source->prefixes, &batch.keys[i], NULL);
    if (batch.n)
        r->status = r->job->use(r->job->ctx, &batch, s->result, r->err);
    report_skipped(r, &s->piece);
    if (r->source->flush && um_input_waits(r->reader.stream))
        r->source->flush(r->source->flush_ctx);
    if (r->status == UMBEL_OK)
        r->status = judge_piece(r, &s->piece);
    if (r->status == UMBEL_OK && !(stop && *stop))
        return true;
    um_input_stop(r->reader.stream);
    return false;
}

/* --- running the pipeline ------------------------------------------------- */

static void free_slots(slot *slots, size_t n, const um_key_job *job)
{
    for (size_t i = 0; i < n; i++) {
        um_piece_fini(&slots[i].piece);
        if (slots[i].result && job->fini)
            job->fini(slots[i].result);
        free(slots[i].result);
    }
    free(slots);
}

static slot *create_slots(size_t n, const um_key_job *job)
{
    slot *slots = calloc(n, sizeof *slots);

    for (size_t i = 0; slots && job->result_len && i < n; i++)
        if (!(slots[i].result = calloc(1, job->result_len))) {
            free_slots(slots, n, job);
            return NULL;
        }
    return slots;
}

static umbel_status run_pipeline(reading *r, unsigned threads)
{
    size_t n = threads < 2 ? 1 : 2 * (size_t)threads;
    void *pieces[MAX_PIECES];
    um_pipeline pipeline = {.threads = threads,
                            .pieces = pieces,
                            .npieces = n < MAX_PIECES ? n : MAX_PIECES,
                            .ctx = r,
                            .fill = fill_slot,
                            .work = work_on_slot,
                            .drain = drain_slot};
    slot *slots = create_slots(pipeline.npieces, r->job);

    if (!slots)
        return um_fail(r->err, UMBEL_E_NOMEM, "no memory to read keys");
    for (size_t i = 0; i < pipeline.npieces; i++)
        pieces[i] = &slots[i];
    um_pipeline_run(&pipeline);
    free_slots(slots, pipeline.npieces, r->job);
    return r->status;
}

static umbel_status check_format(const um_key_format *f, umbel_error *err)
{
    if (um_format_has_names(f) &&
        (f->amount_field || f->weights == UM_WEIGHTS_ALL))
        return um_fail(err, UMBEL_E_RANGE,
                       "lines of this format have no fields for amounts, "
                       "values or weights");
    if (f->column) /* its number is known when the file is read */
        return UMBEL_OK;
    if (f->amount_field && f->amount_field == (f->field ? f->field : 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "the amount and the key are the same field: say which "
                       "is the key with --field N");
    return UMBEL_OK;
}

umbel_status um_keys_each(const um_key_source *s, const um_key_job *job,
                          umbel_error *err)
{
    unsigned threads = s->threads ? s->threads : um_cores();
    umbel_error ignored = {.status = UMBEL_OK};
    reading r = {.reader.format = &s->format,
                 .source = s,
                 .job = job,
                 .err = err ? err : &ignored};

    UM_TRY(check_format(&s->format, err));
    UM_TRY(um_input_open(s, threads > 1, &r.reader.stream, err));
    umbel_status status = run_pipeline(&r, threads);
    report_file(&r);
    if (status == UMBEL_OK)
        report_ranges(&r);
    um_input_close(r.reader.stream);
    return status;
}

/* --- batches and digests -------------------------------------------------- */

typedef struct batch_taker {
    um_batch_fn *take;
    void *ctx;
} batch_taker;

static umbel_status deliver_batch(void *ctx, const um_key_batch *batch,
                                  void *result, umbel_error *err)
{
    const batch_taker *t = ctx;

    (void)result;
    return t->take(t->ctx, batch, err);
}

umbel_status um_keys_each_batch(const um_key_source *s, um_batch_fn *take,
                                void *ctx, umbel_error *err)
{
    batch_taker t = {take, ctx};
    um_key_job job = {.ctx = &t, .use = deliver_batch};

    return um_keys_each(s, &job, err);
}

typedef struct digest_taker {
    const umbel_filter *filter;
    um_consume_digests *take;
    void *ctx;
} digest_taker;

typedef struct digest_buffer {
    umbel_digest *digests;
    size_t cap;
    bool made;
} digest_buffer;

static umbel_status create_digests(const void *ctx, const um_key_batch *batch,
                                   void *result, umbel_error *err)
{
    const digest_taker *t = ctx;
    digest_buffer *b = result;

    b->made = false;
    if (batch->n > b->cap) {
        if (!um_array_resize(&b->digests, batch->n, sizeof *b->digests))
            return um_fail(err, UMBEL_E_NOMEM, "no memory to hash keys");
        b->cap = batch->n;
    }
    UM_TRY(
        umbel_digest_many(t->filter, batch->keys, batch->n, b->digests, err));
    b->made = true;
    return UMBEL_OK;
}

static umbel_status deliver_digests(void *ctx, const um_key_batch *batch,
                                    void *result, umbel_error *err)
{
    const digest_taker *t = ctx;
    const digest_buffer *b = result;

    return b->made ? t->take(t->ctx, batch, b->digests, err) : UMBEL_OK;
}

static void free_digests(void *result)
{
    free(((digest_buffer *)result)->digests);
}

umbel_status um_keys_each_digest(const um_key_source *s, const umbel_filter *f,
                                 um_consume_digests *take, void *ctx,
                                 umbel_error *err)
{
    digest_taker t = {f, take, ctx};
    um_key_job job = {.ctx = &t,
                      .result_len = sizeof(digest_buffer),
                      .work = create_digests,
                      .use = deliver_digests,
                      .fini = free_digests};

    return um_keys_each(s, &job, err);
}

/* --- adding and removing the keys of a source ----------------------------- */

typedef struct change {
    umbel_filter *filter;
    uint64_t n; /* keys */
} change;

static umbel_status add_digests(void *ctx, const um_key_batch *batch,
                                const umbel_digest *digests, umbel_error *err)
{
    change *c = ctx;

    c->n += batch->n;
    return umbel_add_digests(c->filter, digests, batch->n, NULL, err);
}

static umbel_status add_amounts(void *ctx, const um_key_batch *batch,
                                umbel_error *err)
{
    change *c = ctx;

    c->n += batch->n;
    return umbel_add_amounts(c->filter, batch->keys, batch->amounts, batch->n,
                             NULL, err);
}

umbel_status um_keys_add(const um_key_source *s, umbel_filter *f, uint64_t *n,
                         umbel_error *err)
{
    um_prefix_lengths *known = um_prefixes_of(f), all = {{0}};
    change c = {.filter = f};
    um_key_source source = *s;

    if (known) {
        all = *known;
        source.prefixes = &all;
    }
    source.pass = "adding keys";
    umbel_status status =
        um_format_has_amounts(&s->format)
            ? um_keys_each_batch(&source, add_amounts, &c, err)
            : um_keys_each_digest(&source, f, add_digests, &c, err);

    if (known && all.word[0] & UM_PREFIXES_RECORDED)
        *known = all;
    if (known && s->prefixes)
        *s->prefixes = all;
    *n = c.n;
    return status;
}

/* Removes keys one by one, to name the one that is not in the filter. */
static umbel_status remove_batch(void *ctx, const um_key_batch *batch,
                                 umbel_error *err)
{
    change *c = ctx;

    for (size_t i = 0; i < batch->n; i++) {
        umbel_status status =
            umbel_remove_many(c->filter, &batch->keys[i], 1, err);
        int len = (int)(batch->lines[i].len < 40 ? batch->lines[i].len : 40);
        if (status == UMBEL_E_RANGE)
            return um_fail(err, status,
                           "\"%.*s\" is not in the filter, so it cannot be "
                           "removed",
                           len, (const char *)batch->lines[i].data);
        UM_TRY(status);
        c->n++;
    }
    return UMBEL_OK;
}

umbel_status um_keys_remove(const um_key_source *s, umbel_filter *f,
                            uint64_t *n, umbel_error *err)
{
    change c = {.filter = f};
    umbel_status status = um_keys_each_batch(s, remove_batch, &c, err);

    *n = c.n;
    return status;
}
