/*
 * answers.c - batches of keys, asked and put into words.
 */
#include "cli/answers.h"

#include "base/error.h"
#include "cli/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The answers to a batch, and what is to be printed. */
typedef struct answers {
    bool *hit;
    uint64_t *counts; /* where they were asked for */
    size_t n, room;   /* of hit and counts */
    uint64_t selected;
    umbel_unless_cost cost;
    char *out;
    size_t nout, cap;
    size_t told; /* lines that are in out; the others come after it */
} answers;

static bool prints(const um_check_ctx *a, bool hit)
{
    bool all =
        a->json || (a->values && !a->map && !um_has(a->args, "at-least") &&
                    !a->invert && !a->revoked);

    return !a->count && !a->quiet && (all || hit != a->invert);
}

static void print_json(const um_check_ctx *a, FILE *out,
                       const umbel_slice *line, const answers *in, size_t i)
{
    putc('{', out);
    um_print_json_key(out, line);
    fprintf(out, ", \"match\": %s", in->hit[i] ? "true" : "false");
    if (a->values)
        fprintf(out, ", \"%s\": %" PRIu64, a->map ? "value" : "count",
                in->counts[i]);
    fputs("}\n", out);
}

/* Those that came often enough and are no exceptions. */
static umbel_status count_keys(const um_check_ctx *a, const umbel_slice *keys,
                               size_t n, bool *hit, uint64_t *counts,
                               umbel_unless_cost *cost, umbel_error *err)
{
    umbel_status status = umbel_count_many(a->filter, keys, n, counts, err);

    if (status == UMBEL_OK && a->revoked)
        status = umbel_query_many(a->revoked, keys, n, hit, err);
    if (status != UMBEL_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        hit[i] = counts[i] >= a->at_least && !(a->revoked && hit[i]);
    cost->keys += n;
    cost->asked_filter += n;
    cost->asked_revoked += a->revoked ? n : 0;
    return UMBEL_OK;
}

static umbel_status query_keys(const um_check_ctx *a, const um_batch *b,
                               size_t from, size_t n, answers *out,
                               umbel_error *err)
{
    const umbel_slice *keys = b->keys + from;
    bool *hit = out->hit + from;

    if (a->at_least)
        return count_keys(a, keys, n, hit, out->counts + from, &out->cost, err);
    if (a->map) {
        umbel_status status =
            umbel_values_many(a->filter, keys, n, out->counts + from, err);
        if (status != UMBEL_OK)
            return status;
    }
    if (a->revoked)
        return umbel_query_unless(a->filter, a->revoked, a->order, keys, n, hit,
                                  &out->cost, err);
    return umbel_query_many(a->filter, keys, n, hit, err);
}

/* All keys of a batch; where one is refused, those before it. */
static umbel_status query(const um_check_ctx *a, const um_batch *b,
                          answers *out, umbel_error *err)
{
    umbel_status status = query_keys(a, b, 0, b->n, out, err);

    out->n = status == UMBEL_OK ? b->n : 0;
    while (status == UMBEL_E_KEY && out->n < b->n &&
           query_keys(a, b, out->n, 1, out, err) == UMBEL_OK)
        out->n++;
    return status;
}

static umbel_status format_lines(const um_check_ctx *a, const um_batch *b,
                                 answers *out, umbel_error *err)
{
    enum { LONGEST = 24 }; /* a tab, a count, and the end that sprintf adds */
    size_t need = 0, tail = a->values ? LONGEST : 0;

    for (size_t i = 0; i < out->n; i++)
        need += prints(a, out->hit[i]) ? b->lines[i].len + 1 + tail : 0;
    out->told = out->n;
    if (need == 0)
        return UMBEL_OK;
    if (need > out->cap) {
        free(out->out);
        out->out = malloc(need);
        out->cap = out->out ? need : 0;
    }
    if (!out->out)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", need);
    char *at = out->out;
    for (size_t i = 0; i < out->n; i++)
        if (prints(a, out->hit[i])) {
            memcpy(at, b->lines[i].data, b->lines[i].len);
            at += b->lines[i].len;
            if (a->values)
                at += snprintf(at, LONGEST, "\t%" PRIu64, out->counts[i]);
            *at++ = a->end;
        }
    out->nout = (size_t)(at - out->out);
    return UMBEL_OK;
}

/*
 * JSON may be six times as long as the keys. What is past the limit is made
 * when it is printed, so that answers which wait do not fill the memory.
 */
static umbel_status format_json(const um_check_ctx *a, const um_batch *b,
                                answers *out, umbel_error *err)
{
    enum { LIMIT = 1 << 20, LONGEST_BYTE = 6, AROUND = 72 };
    size_t most = 0;

    free(out->out);
    out->out = NULL;
    out->cap = 0;
    FILE *memory = open_memstream(&out->out, &out->nout);
    if (!memory)
        return um_fail_errno(err, "no memory for answers");
    for (; out->told < out->n; out->told++) {
        most += LONGEST_BYTE * b->lines[out->told].len + AROUND;
        if (most > LIMIT)
            break;
        print_json(a, memory, &b->lines[out->told], out, out->told);
    }
    if (fclose(memory) != 0)
        return um_fail_errno(err, "no memory for answers");
    return UMBEL_OK;
}

static umbel_status want_hits(answers *out, size_t n, umbel_error *err)
{
    if (n <= out->room)
        return UMBEL_OK;
    free(out->hit);
    free(out->counts);
    out->hit = malloc(n * sizeof *out->hit);
    out->counts = calloc(n, sizeof *out->counts);
    bool fine = out->hit && out->counts;
    out->room = fine ? n : 0;
    return fine ? UMBEL_OK
                : um_fail(err, UMBEL_E_NOMEM, "no memory for answers");
}

/* Ask, and put into words: any thread, any batch. */
static umbel_status answer(const void *ctx, const um_batch *batch, void *result,
                           umbel_error *err)
{
    const um_check_ctx *a = ctx;
    answers *out = result;
    umbel_error late;

    out->n = out->nout = out->told = 0;
    out->selected = 0;
    out->cost = (umbel_unless_cost){0};
    umbel_status status = want_hits(out, batch->n, err);
    if (status == UMBEL_OK)
        status = query(a, batch, out, err);
    for (size_t i = 0; i < out->n; i++)
        out->selected += out->hit[i] != a->invert;
    if (a->count || a->quiet)
        return status;
    umbel_status formatted = a->json ? format_json(a, batch, out, &late)
                                     : format_lines(a, batch, out, &late);
    if (formatted != UMBEL_OK)
        *err = late;
    return formatted != UMBEL_OK ? formatted : status;
}

/* What a user found to match falsely, for the next 'umbel build --never'. */
static umbel_status confirm(const um_check_ctx *a, const um_batch *batch,
                            const answers *in, umbel_error *err)
{
    const umbel_slice *text =
        um_has(a->args, "field") ? batch->keys : batch->lines;

    return um_key_log_add(&a->confirmed, text, in->hit, in->n, err);
}

/* Print, in the order of the input. */
static umbel_status tell(void *ctx, const um_batch *batch, void *result,
                         umbel_error *err)
{
    um_check_ctx *a = ctx;
    const answers *in = result;

    a->selected += in->selected;
    a->cost.keys += in->cost.keys;
    a->cost.asked_filter += in->cost.asked_filter;
    a->cost.asked_revoked += in->cost.asked_revoked;
    a->decided = a->quiet && a->selected && !a->confirmed.path;
    umbel_status status = confirm(a, batch, in, err);
    if (status != UMBEL_OK)
        return status;
    if (in->nout)
        fwrite(in->out, 1, in->nout, stdout);
    for (size_t i = in->told; a->json && i < in->n; i++)
        if (prints(a, in->hit[i]))
            print_json(a, stdout, &batch->lines[i], in, i);
    return ferror(stdout) ? um_fail_errno(err, "standard output") : UMBEL_OK;
}

static void free_answers(void *result)
{
    free(((answers *)result)->hit);
    free(((answers *)result)->counts);
    free(((answers *)result)->out);
}

um_key_job um_check_job(um_check_ctx *a)
{
    return (um_key_job){.ctx = a,
                        .result_len = sizeof(answers),
                        .work = answer,
                        .use = tell,
                        .fini = free_answers};
}

umbel_status um_check_one(um_check_ctx *a, const umbel_slice *key,
                          const umbel_slice *line, umbel_error *err)
{
    um_batch batch = {.n = 1, .keys = key, .lines = line};
    answers out = {0};
    umbel_status status = answer(a, &batch, &out, err);

    if (status == UMBEL_OK)
        status = tell(a, &batch, &out, err);
    free_answers(&out);
    return status;
}
