/*
 * check_answers.c - queries batches of keys and formats the answers.
 *
 * Workers format what they can, so that printing in the order of the input is a
 * single write. Answers that they left out are formatted when they are printed.
 */

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/internal.h"
#include "cli/framework/progress.h"
#include "cli/framework/report.h"
#include "keylist/key_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The keys of a stream with the largest counts.
 */

void um_top_fini(um_top *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->key[i].text);
    t->n = 0;
}

/* Orders by descending count, then by arrival. */
static int compare_keys(const void *a, const void *b)
{
    const um_top_key *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool has_digest(const um_top *t, const umbel_digest *d)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->key[i].digest.lo == d->lo && t->key[i].digest.hi == d->hi)
            return true;
    return false;
}

static void find_weakest(um_top *t)
{
    t->weakest = 0;
    for (size_t i = 1; i < t->n; i++)
        if (compare_keys(&t->key[i], &t->key[t->weakest]) > 0)
            t->weakest = i;
}

/* Adds a key of the stream; text is its printed form. On equal counts the
 * earlier key stays. */
static umbel_status top_add(um_top *t, const umbel_filter *f,
                            const umbel_slice *key, const umbel_slice *text,
                            uint64_t count, umbel_error *err)
{
    um_top_key new = {.count = count, .order = t->seen++, .len = text->len};

    if (t->n == t->cap && count <= t->key[t->weakest].count)
        return UMBEL_OK;
    UM_TRY(umbel_digest_many(f, key, 1, &new.digest, err));
    if (has_digest(t, &new.digest))
        return UMBEL_OK;
    um_top_key *slot = &t->key[t->n < t->cap ? t->n : t->weakest];
    char *copy = t->n < t->cap ? NULL : slot->text;
    if (!um_array_resize(&copy, text->len + 1, 1))
        return um_no_memory(err, text->len);
    memcpy(copy, text->data, text->len);
    *slot = new;
    slot->text = copy;
    t->n += t->n < t->cap;
    if (t->n == t->cap)
        find_weakest(t);
    return UMBEL_OK;
}

/* Sorts by descending count; equal counts stay in the order of the stream. */
static void top_sort(um_top *t)
{
    qsort(t->key, t->n, sizeof *t->key, compare_keys);
}

/* The answers to a batch. */
typedef struct answers {
    um_query_result result; /* values of several filters are bit masks */
    bool *other;            /* hits of one of several filters */
    size_t n, max;          /* number of answers; capacity */
    uint64_t selected;
    char *out; /* the first of them, formatted */
    size_t nout, cap;
    size_t formatted; /* number of formatted answers */
} answers;

static bool is_printed(const um_check_ctx *c, bool hit)
{
    return !c->count && !c->quiet && (c->print_all || hit != c->invert);
}

/* Returns true if a count has reached the limit of its cells, and may be too
 * small. */
static bool is_at_limit(const um_check_ctx *c, uint64_t value)
{
    return c->count_limit && value >= c->count_limit;
}

static bool is_in(uint64_t mask, size_t filter)
{
    return mask >> filter & 1;
}

static void print_json_filters(const um_check_ctx *c, FILE *out, uint64_t mask)
{
    const char *between = "";

    fputs(", \"filters\": [", out);
    for (size_t i = 0; i < c->nfilters; i++)
        if (is_in(mask, i)) {
            fputs(between, out);
            um_json_text(out, c->names[i]);
            between = ", ";
        }
    putc(']', out);
}

/* Prints a line for every filter that the key matches. */
static void print_filters(const um_check_ctx *c, const umbel_slice *line,
                          uint64_t mask)
{
    for (size_t i = 0; i < c->nfilters; i++)
        if (is_in(mask, i)) {
            fwrite(line->data, 1, line->len, c->out);
            fprintf(c->out, "\t%s%c", c->names[i], c->end);
        }
}

/* Returns what matched, if the form of the keys has more to tell than the key
 * itself; it is valid as long as ask. */
static umbel_slice find_matched(const um_check_ctx *c, um_question *ask,
                                const um_key_batch *b,
                                const um_query_result *in, size_t i)
{
    if (!um_form_asks_several(c->form) || c->nfilters > 1 || !in->hit[i])
        return (umbel_slice){"", 0};
    ask->raw = false;
    ask->digests = c->query.digests;
    um_question_expand(ask, c->query.filter, b->keys[i], b->texts[i]);
    return um_question_matched(ask, in->which[i]);
}

static void print_json(const um_check_ctx *c, FILE *out, const um_key_batch *b,
                       const um_query_result *in, size_t i)
{
    um_question ask;
    umbel_slice matched = find_matched(c, &ask, b, in, i);

    putc('{', out);
    um_json_key(out, &b->lines[i]);
    fprintf(out, ", \"match\": %s", in->hit[i] ? "true" : "false");
    if (!matched.len && !um_form_asks_several(c->form) && !c->query.edits)
        matched = b->texts[i];
    fputs(", \"matched\": ", out);
    if (in->hit[i] && matched.len)
        um_json_string(out, matched.data, matched.len);
    else
        fputs("null", out);
    fprintf(out, ", \"form\": \"%s\"", um_form_option(c->form));
    if (c->query.values)
        fprintf(out, ", \"%s\": %" PRIu64, c->query.map ? "value" : "count",
                in->values[i]);
    if (c->query.values && is_at_limit(c, in->values[i]))
        fputs(", \"at_limit\": true", out);
    if (c->nfilters > 1)
        print_json_filters(c, out, in->values[i]);
    fputs("}\n", out);
}

static void print_answer(const um_check_ctx *c, const um_key_batch *b,
                         const um_query_result *in, size_t i)
{
    const umbel_slice *line = &b->lines[i];
    um_question ask;

    if (c->json) {
        print_json(c, c->out, b, in, i);
        return;
    }
    if (c->nfilters > 1 && in->values[i]) {
        print_filters(c, line, in->values[i]);
        return;
    }
    umbel_slice matched = find_matched(c, &ask, b, in, i);
    fwrite(line->data, 1, line->len, c->out);
    if (matched.len) {
        putc('\t', c->out);
        fwrite(matched.data, 1, matched.len, c->out);
    }
    if (c->query.values)
        fprintf(c->out, "\t%" PRIu64 "%s", in->values[i],
                is_at_limit(c, in->values[i]) ? "+" : "");
    putc(c->end, c->out);
}

/* --- in worker threads ---------------------------------------------------- */

static umbel_status reserve(answers *a, size_t n, umbel_error *err)
{
    um_query_result *r = &a->result;

    if (n <= a->max)
        return UMBEL_OK;
    free(r->hit);
    free(r->values);
    free(r->which);
    free(a->other);
    r->hit = malloc(n * sizeof *r->hit);
    r->values = calloc(n, sizeof *r->values);
    r->which = malloc(n * sizeof *r->which);
    a->other = malloc(n * sizeof *a->other);
    bool fine = r->hit && r->values && r->which && a->other;
    a->max = fine ? n : 0;
    return fine ? UMBEL_OK
                : um_fail(err, UMBEL_E_NOMEM, "no memory for answers");
}

enum {
    LONGEST_VALUE = 24, /* a tab, a number, a plus, snprintf's NUL */
    LONGEST_MATCHED = 1 + UMBEL_MATCHED_LEN
};

static size_t lines_len(const um_check_ctx *c, const um_key_batch *b,
                        const answers *a)
{
    size_t len = 0, more = c->query.values ? LONGEST_VALUE + 1 : 1;

    more += um_form_asks_several(c->form) ? LONGEST_MATCHED : 0;
    for (size_t i = 0; i < a->n; i++)
        len += is_printed(c, a->result.hit[i]) ? b->lines[i].len + more : 0;
    return len;
}

static umbel_status format_lines(const um_check_ctx *c, const um_key_batch *b,
                                 answers *a, umbel_error *err)
{
    size_t need = lines_len(c, b, a);
    um_question ask;

    if (need > a->cap) {
        free(a->out);
        a->out = malloc(need);
        a->cap = a->out ? need : 0;
    }
    if (need > a->cap)
        return um_no_memory(err, need);
    char *at = a->out; /* NULL only if nothing is printed */
    for (size_t i = 0; at && i < a->n; i++) {
        if (!is_printed(c, a->result.hit[i]))
            continue;
        memcpy(at, b->lines[i].data, b->lines[i].len);
        at += b->lines[i].len;
        umbel_slice matched = find_matched(c, &ask, b, &a->result, i);
        if (matched.len) {
            *at++ = '\t';
            memcpy(at, matched.data, matched.len);
            at += matched.len;
        }
        if (c->query.values)
            at += snprintf(at, LONGEST_VALUE, "\t%" PRIu64 "%s",
                           a->result.values[i],
                           is_at_limit(c, a->result.values[i]) ? "+" : "");
        *at++ = c->end;
    }
    a->formatted = a->n;
    a->nout = need ? (size_t)(at - a->out) : 0;
    return UMBEL_OK;
}

/* Formats JSON, which may be six times as long as the keys. Answers beyond the
 * limit are left out, so that waiting batches do not fill the memory. */
static umbel_status format_json(const um_check_ctx *c, const um_key_batch *b,
                                answers *a, umbel_error *err)
{
    enum { LIMIT = 1 << 20, LONGEST_BYTE = 12, AROUND = 96 };
    size_t most = 0;

    free(a->out);
    a->out = NULL;
    a->cap = 0;
    FILE *memory = open_memstream(&a->out, &a->nout);
    if (!memory)
        return um_fail_errno(err, "no memory for answers");
    for (size_t i = 0; i < a->n; a->formatted = ++i) {
        most += LONGEST_BYTE * b->lines[i].len + AROUND;
        if (most > LIMIT)
            break;
        if (is_printed(c, a->result.hit[i]))
            print_json(c, memory, b, &a->result, i);
    }
    return fclose(memory) ? um_fail_errno(err, "no memory for answers")
                          : UMBEL_OK;
}

/* Computes bit masks of the filters that keys match. A key that one of them
 * refuses ends the answers. */
static umbel_status query_others(const um_check_ctx *c, const um_key_batch *b,
                                 answers *a, umbel_error *err)
{
    um_query_result other = {.hit = a->other, .which = a->result.which};
    umbel_status first = UMBEL_OK;

    for (size_t i = 0; i < a->n; i++)
        a->result.values[i] = a->result.hit[i];
    for (size_t f = 1; f < c->nfilters; f++) {
        um_query q = {.filter = c->filters[f], .digests = c->query.digests};
        umbel_status status =
            um_query_forms(&q, b->keys, b->texts, a->n, &other, &a->n, err);
        for (size_t i = 0; i < a->n; i++)
            a->result.values[i] |= (uint64_t)other.hit[i] << f;
        first = status ? status : first;
    }
    for (size_t i = 0; i < a->n; i++)
        a->result.hit[i] = a->result.values[i] != 0;
    return first;
}

/* Queries a batch, for which a has space. */
static umbel_status query_batch(const um_check_ctx *c, const um_key_batch *b,
                                answers *a, umbel_error *err)
{
    a->result.cost = (umbel_unless_cost){0};
    umbel_status status = um_query_forms(&c->query, b->keys, b->texts, b->n,
                                         &a->result, &a->n, err);
    if (c->nfilters > 1) {
        umbel_status others = query_others(c, b, a, err);
        status = others ? others : status;
    }
    for (size_t i = 0; i < a->n; i++)
        a->selected += a->result.hit[i] != c->invert;
    return status;
}

/* Answers a batch; the keys before a refused one are answered. */
static umbel_status answer_batch(const void *ctx, const um_key_batch *b,
                                 void *result, umbel_error *err)
{
    const um_check_ctx *c = ctx;
    answers *a = result;
    umbel_error late;

    a->n = a->nout = a->formatted = 0;
    a->selected = 0;
    UM_TRY(reserve(a, b->n, err));
    umbel_status status = query_batch(c, b, a, err);
    if (c->count || c->quiet || c->top || c->nfilters > 1)
        return status;
    umbel_status formatted =
        c->json ? format_json(c, b, a, &late) : format_lines(c, b, a, &late);
    if (formatted != UMBEL_OK && err)
        *err = late;
    return formatted != UMBEL_OK ? formatted : status;
}

/* --- in the order of the input -------------------------------------------- */

static void print_batch(const um_check_ctx *c, const um_key_batch *b,
                        const answers *a)
{
    if (a->nout)
        fwrite(a->out, 1, a->nout, c->out);
    for (size_t i = a->formatted; i < a->n; i++)
        if (is_printed(c, a->result.hit[i]))
            print_answer(c, b, &a->result, i);
}

static umbel_status add_to_top(const um_check_ctx *c, const um_key_batch *b,
                               const answers *a, umbel_error *err)
{
    const umbel_slice *texts = c->log_keys ? b->texts : b->lines;

    for (size_t i = 0; i < a->n; i++)
        if (a->result.hit[i])
            UM_TRY(top_add(c->top, c->query.filter, &b->keys[i], &texts[i],
                           a->result.values[i], err));
    return UMBEL_OK;
}

void um_check_print_bad(const um_check_ctx *c, const umbel_slice *line,
                        const char *what)
{
    if (!c->json || c->count || c->quiet || c->top)
        return;
    um_progress_pause();
    putc('{', c->out);
    um_json_key(c->out, line);
    fputs(", \"error\": ", c->out);
    um_json_text(c->out, what);
    fputs("}\n", c->out);
    um_progress_resume();
}

void um_check_print_top(um_check_ctx *c)
{
    bool hit = true;

    um_progress_end();
    top_sort(c->top);
    for (size_t i = 0; !c->quiet && i < c->top->n; i++) {
        um_top_key *k = &c->top->key[i];
        um_query_result result = {.hit = &hit, .values = &k->count};
        umbel_slice text = {k->text, k->len};
        um_key_batch b = {
            .n = 1, .keys = &text, .lines = &text, .texts = &text};
        print_answer(c, &b, &result, 0);
    }
}

static umbel_status print_answers(void *ctx, const um_key_batch *b,
                                  void *result, umbel_error *err)
{
    um_check_ctx *c = ctx;
    const answers *a = result;

    c->selected += a->selected;
    c->cost.keys += a->result.cost.keys;
    c->cost.asked_filter += a->result.cost.asked_filter;
    c->cost.asked_exceptions += a->result.cost.asked_exceptions;
    c->decided = c->quiet && c->selected && !c->log.path;
    UM_TRY(um_key_log_append(&c->log, c->log_keys ? b->texts : b->lines,
                             a->result.hit, a->n, err));
    if (c->top)
        return add_to_top(c, b, a, err);
    if (c->on_terminal) {
        um_progress_pause();
        print_batch(c, b, a);
        fflush(c->out);
        um_progress_resume();
    } else {
        print_batch(c, b, a);
    }
    return ferror(c->out) ? um_fail_errno(err, "standard output") : UMBEL_OK;
}

static void free_answers(void *result)
{
    answers *a = result;

    free(a->result.hit);
    free(a->result.values);
    free(a->result.which);
    free(a->other);
    free(a->out);
}

um_key_job um_check_job(um_check_ctx *c)
{
    return (um_key_job){.ctx = c,
                        .result_len = sizeof(answers),
                        .work = answer_batch,
                        .use = print_answers,
                        .fini = free_answers};
}

umbel_status um_check_one(um_check_ctx *c, const umbel_slice *key,
                          const umbel_slice *line, umbel_error *err)
{
    um_key_batch batch = {.n = 1, .keys = key, .lines = line, .texts = line};
    bool hit, other;
    uint64_t value = 0;
    uint8_t which = 0;
    answers a = {.result = {.hit = &hit, .values = &value, .which = &which},
                 .other = &other,
                 .max = 1};

    UM_TRY(query_batch(c, &batch, &a, err));
    return print_answers(c, &batch, &a, err);
}

/* --- an answer for every line --------------------------------------------- */

static void count_answer(um_check_ctx *c, um_answered verdict)
{
    c->selected += verdict == UM_ANSWERED_YES;
    c->bad += verdict == UM_ANSWERED_REFUSED;
}

void um_check_answer(um_check_ctx *c, um_question *q, umbel_slice text)
{
    if (c->json) {
        count_answer(c, um_answer_json(q, c->query.filter, text, c->out));
        putc('\n', c->out);
    } else {
        count_answer(c,
                     um_answer_line(q, c->query.filter, text, c->end, c->out));
    }
}

typedef struct answered_lines {
    um_check_ctx *c;
    um_question *q;
} answered_lines;

static void answer_one(void *ctx, umbel_slice text, bool too_long)
{
    const answered_lines *a = ctx;

    if (!too_long) {
        um_check_answer(a->c, a->q, text);
        return;
    }
    a->c->bad++;
    if (a->c->json)
        um_check_print_bad(a->c, &text, UM_ANSWER_TOO_LONG);
    else
        um_answer_refusal(text, UM_ANSWER_TOO_LONG, a->c->end, a->c->out);
}

umbel_status um_check_answer_lines(um_check_ctx *c, um_question *q,
                                   umbel_error *err)
{
    enum { READ = 1 << 16 };
    answered_lines a = {c, q};
    um_lines lines = {
        .max = UM_ANSWER_MAX, .end = c->end, .take = answer_one, .ctx = &a};
    um_buffer in = {.len = 0};
    ssize_t got = 1;

    while (got) {
        uint8_t *space = um_buffer_reserve(&in, READ);
        if (!space)
            break;
        do
            got = read(STDIN_FILENO, space, READ);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            break;
        in.len += (size_t)got;
        um_buffer_discard(
            &in, um_lines_take(&lines, in.data, in.len, SIZE_MAX, got == 0));
        if (fflush(c->out) || ferror(c->out))
            break;
    }
    umbel_status status = UMBEL_OK;
    if (in.failed)
        status = um_no_memory(err, READ);
    else if (got < 0)
        status = um_fail_errno(err, "standard input");
    else if (ferror(c->out))
        status = um_fail_errno(err, "standard output");
    um_buffer_fini(&in);
    return status;
}
