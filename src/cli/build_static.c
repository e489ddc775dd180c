/*
 * build_static.c - build of static kinds.
 *
 * The digests of all members are in memory. Lists and universes are not: they
 * are read once, and hardly any of their keys is kept
 * (cli/build_static_lists.c).
 */
#include "cli/build_static_job.h"

#include "base/error.h"
#include "cli/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 4096, HEAD = 256, LINE = 64 };

const char *um_static_misuse(const um_args *args)
{
    bool lists = um_has(args, "never") || um_has(args, "universe");
    uint64_t key = 0;

    if (um_has(args, "capacity"))
        return "--capacity is not for static kinds: they hold what they are "
               "built of";
    if (um_has(args, "times") || um_has(args, "amount-field"))
        return "--times and --amount-field are for kinds that count";
    if (um_has(args, "values") && lists)
        return "--values makes a map, --never and --universe are for sets";
    if (um_has(args, "values") &&
        um_value_count(args, "field", &key, NULL) == UMBEL_OK &&
        key == UM_VALUE_FIELD)
        return "the second field is the value: the key is another, --field 1";
    if (um_has(args, "values") && um_has(args, "bytes"))
        return "a map takes what its values take: leave --bytes out";
    if (um_has(args, "bytes") && um_has(args, um_size_option(args)))
        return "give the size once: in bits or in bytes";
    if (um_has(args, "fpr") && !lists &&
        (um_has(args, "bytes") || um_has(args, um_size_option(args))))
        return "give the error or the size: one follows from the other";
    return NULL;
}

/* --- members ----------------------------------------------------------------
 */

static bool grow(um_static_build *x, size_t cap)
{
    umbel_digest *d = realloc(x->digests, cap * sizeof *d);

    if (!d)
        return false;
    x->digests = d;
    if (x->value_bits) {
        uint64_t *v = realloc(x->values, cap * sizeof *v);
        if (!v)
            return false;
        x->values = v;
    }
    x->cap = cap;
    return true;
}

static umbel_status want_room(um_static_build *x, size_t more, umbel_error *err)
{
    size_t cap = x->cap ? x->cap : FIRST;

    if (x->cap - x->n >= more)
        return UMBEL_OK;
    if (more > x->most - x->n)
        return um_fail(err, UMBEL_E_LIMIT,
                       "more than %zu keys come from a pipe: allow more with "
                       "--max-memory N, or give files",
                       x->most);
    while (cap - x->n < more)
        cap *= 2;
    cap = cap < x->most ? cap : x->most;
    return grow(x, cap)
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", cap);
}

static umbel_status hash_keys(const void *ctx, const um_batch *batch,
                              void *result, umbel_error *err)
{
    return um_hash_batch(((const um_static_build *)ctx)->empty, batch, result,
                         err);
}

static umbel_status take_keys(void *ctx, const um_batch *batch, void *result,
                              umbel_error *err)
{
    um_static_build *x = ctx;
    const um_digests *in = result;
    umbel_status status = want_room(x, in->n, err);

    (void)batch;
    if (status != UMBEL_OK)
        return status;
    memcpy(x->digests + x->n, in->d, in->n * sizeof *in->d);
    x->n += in->n;
    return UMBEL_OK;
}

static umbel_status take_values(void *ctx, const um_batch *batch,
                                umbel_error *err)
{
    um_static_build *x = ctx;
    umbel_status status = want_room(x, batch->n, err);

    if (status == UMBEL_OK)
        status = umbel_digest_many(x->empty, batch->keys, batch->n,
                                   x->digests + x->n, err);
    for (size_t i = 0; status == UMBEL_OK && i < batch->n; i++) {
        uint64_t value = batch->amounts[i];
        const umbel_slice *key = &batch->keys[i];
        if (value >> x->value_bits)
            return um_fail(err, UMBEL_E_KEY,
                           "\"%.*s\" has the value %" PRIu64 ", which takes "
                           "more than %" PRIu32 " bits",
                           (int)(key->len < 40 ? key->len : 40),
                           (const char *)key->data, value, x->value_bits);
        x->values[x->n++] = value;
    }
    return status;
}

/* A pipe may never end: its keys stay below --max-memory. */
static umbel_status limit_pipe(um_static_build *x, umbel_error *err)
{
    size_t each = sizeof *x->digests + (x->value_bits ? sizeof *x->values : 0);
    uint64_t memory = UM_PIPE_MEMORY;
    umbel_status status = um_value_count(x->args, "max-memory", &memory, err);

    x->most = (size_t)memory / each;
    return status;
}

/* Where they can be counted first, no more memory is taken than needed. */
static umbel_status read_members(um_static_build *x, umbel_error *err)
{
    const um_args *args = x->args;
    um_key_job job = {.ctx = x,
                      .result_len = sizeof(um_digests),
                      .work = hash_keys,
                      .use = take_keys,
                      .fini = um_digests_fini};
    uint64_t n = 0;
    umbel_status status = UMBEL_OK;

    x->most = SIZE_MAX;
    if (!um_keys_again(args->operands, args->noperands))
        status = limit_pipe(x, err);
    else
        status = um_count_all(args, args->operands, args->noperands, &n, err);
    if (status == UMBEL_OK && n && !grow(x, (size_t)n))
        status =
            um_fail(err, UMBEL_E_NOMEM, "no memory for %" PRIu64 " keys", n);
    if (status == UMBEL_OK && x->value_bits)
        status = um_each_amount(args, args->operands, args->noperands,
                                UM_VALUE_FIELD, take_values, x, err);
    else if (status == UMBEL_OK)
        status =
            um_each_key(args, args->operands, args->noperands, &job, NULL, err);
    x->members = (umbel_members)UMBEL_MEMBERS_INIT;
    x->members.digests = x->digests;
    x->members.values = x->values;
    x->members.n = x->n;
    x->members.threads = x->threads;
    return status;
}

/* --- all of it --------------------------------------------------------------
 */

static umbel_status refuse_clash(um_static_build *x, const umbel_digest *clash,
                                 umbel_error *err)
{
    size_t first = 0, other;
    const char *quote =
        um_keys_again(x->args->operands, x->args->noperands) ? "\"" : "";

    while (first + 1 < x->n && !um_same_digest(&x->digests[first], clash))
        first++;
    for (other = first; other + 1 < x->n; other++)
        if (um_same_digest(&x->digests[other], clash) &&
            x->values[other] != x->values[first])
            break;
    um_name_members(x, clash, 1);
    return um_fail(err, UMBEL_E_KEY,
                   "%s%s%s has two different values, %" PRIu64 " and %" PRIu64
                   ": give it one",
                   quote, x->names, quote, x->values[first], x->values[other]);
}

static umbel_status build_plain(um_static_build *x, const umbel_params *p,
                                um_static_result *out, umbel_error *err)
{
    umbel_members members = x->members;
    umbel_digest clash = {0, 0};

    members.clash = &clash;
    umbel_status status =
        umbel_build(x->asked->kind, p, &members, &out->filter, err);
    if (status != UMBEL_E_KEY)
        return status;
    return refuse_clash(x, &clash, err);
}

static umbel_status take_options(um_static_build *x, um_filter_args *asked,
                                 umbel_error *err)
{
    umbel_params *p = &asked->params;
    uint64_t bits = 0, bytes = 0;
    umbel_status status = um_value_count(x->args, "values", &bits, err);

    if (status == UMBEL_OK)
        status = um_value_count(x->args, "bytes", &bytes, err);
    if (status == UMBEL_OK)
        status = um_threads(x->args, &x->threads, err);
    if (status != UMBEL_OK)
        return status;
    if (um_has(x->args, "values")) {
        if (bits < 1 || bits > 32)
            return um_fail(err, UMBEL_E_RANGE, "--values must be 1..32, got %s",
                           um_value(x->args, "values"));
        if (p->nsettings == UM_MAX_SET)
            return um_fail(err, UMBEL_E_RANGE, "too many --set");
        asked->settings[p->nsettings++] = (umbel_setting){"value_bits", bits};
        x->value_bits = (uint32_t)bits;
    }
    if (um_has(x->args, "bytes")) {
        if (bytes < HEAD + LINE)
            return um_fail(err, UMBEL_E_RANGE,
                           "--bytes must be %d at least: the head of a file "
                           "takes %d",
                           HEAD + LINE, HEAD);
        p->cells = (bytes - HEAD) / LINE * LINE * 8;
    }
    return UMBEL_OK;
}

static umbel_status open_empty(um_static_build *x, umbel_error *err)
{
    umbel_params p = x->asked->params;

    p.cells = 0;
    return umbel_build(x->asked->kind, &p, NULL, &x->empty, err);
}

umbel_status um_build_static(const um_args *args, um_filter_args *asked,
                             um_static_result *out, umbel_error *err)
{
    um_static_build x = {.args = args, .asked = asked};
    umbel_status status = take_options(&x, asked, err);

    if (status == UMBEL_OK)
        status = open_empty(&x, err);
    if (status == UMBEL_OK)
        status = read_members(&x, err);
    if (status == UMBEL_OK)
        status = um_has(args, "never") || um_has(args, "universe")
                     ? um_build_exact(&x, &asked->params, out, err)
                     : build_plain(&x, &asked->params, out, err);
    out->n = x.n;
    umbel_close(x.empty);
    free(x.digests);
    free(x.values);
    return status;
}

void um_print_static(FILE *out, const um_args *args, const um_static_result *f)
{
    const umbel_exact_bill *b = &f->bill;

    if (!f->exact)
        return;
    fprintf(out, "never            %s: %s match",
            um_counted(b->listed, "key", "keys").text,
            um_grouped(b->matched).text);
    if (b->matched)
        fprintf(
            out, ", %s of their weight: more bits would tell them, too",
            um_percent(b->weight > 0 ? b->weight_left / b->weight : 0).text);
    fprintf(out, "\nmembers lost     %s\n", um_grouped(b->lost).text);
    fprintf(out, "other keys       error %s%s\n", um_percent(b->error).text,
            um_has(args, "fpr") || um_has(args, "universe")
                ? ""
                : "; --fpr asks for another");
}

void um_static_to_info(const um_static_result *f, umbel_info *out)
{
    const umbel_exact_bill *b = &f->bill;

    if (!f->exact)
        return;
    um_info_count(out, "never", b->listed);
    um_info_count(out, "passed", b->passed);
    um_info_count(out, "matched", b->matched);
    um_info_real(out, "weight", b->weight);
    um_info_real(out, "weight_left", b->weight_left);
    um_info_count(out, "lost", b->lost);
}
