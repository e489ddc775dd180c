/*
 * plan_size.c - umbel plan: keys, error and size of a filter, what clearing
 * bits would cost it, how wrong its counts will be, and what it takes coded.
 */
#include "base/error.h"
#include "cli/commands/plan.h"
#include "filter/sizing.h"
#include "keylist/list.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OTHERS = 16, OTHER_LEN = 256 };

/* The question, and its answer for one addressing. */
typedef struct size_plan {
    const um_args *args;
    const plan_args *a;
    um_filter_params asked;
    um_key_list counts; /* of --counts */
    umbel_plan plan;
    umbel_clearing clearing;
    umbel_count_plan counting;
    char others[MAX_OTHERS][OTHER_LEN]; /* the same for other addressings */
    const char *other[MAX_OTHERS];
    size_t nothers, naddressings; /* then static kinds */
    char end[64];                 /* of the command to type */
} size_plan;

/* --- the question -----------------------------------------------------------
 */

static bool is_keyed(const char *hash)
{
    const char *name;
    bool keyed;

    for (size_t i = 0; hash && umbel_hash_at(i, &name, NULL, &keyed); i++)
        if (strcmp(name, hash) == 0)
            return keyed;
    return false;
}

static umbel_status read_params(size_plan *p, umbel_error *err)
{
    static const uint8_t any_secret[UMBEL_SECRET_LEN] = {0};
    um_key_source source; /* its options go into the command to type */

    UM_TRY(um_key_source_from_args(p->args, &p->a->keys, NULL, (um_list){0},
                                   &source, err));
    UM_TRY(um_params_from_args(&p->a->shape, p->a->secret.key_file, &p->asked,
                               err));
    p->asked.params.capacity = p->a->capacity.n;
    if (is_keyed(p->asked.params.hash) && !p->asked.params.secret)
        p->asked.params.secret = any_secret; /* no plan depends on it */
    return UMBEL_OK;
}

static bool has_size(const plan_args *a)
{
    return um_size_asked(&a->shape).given || a->bytes.given;
}

/* The keys of --counts are the keys that it should hold. */
static umbel_status read_counts(size_plan *p, umbel_error *err)
{
    um_list paths = {&p->a->counts, 1};
    um_key_source source;

    UM_TRY(um_key_source_from_args(p->args, &p->a->keys, NULL, paths, &source,
                                   err));
    source.format.amount_field = UM_LAST_FIELD;
    UM_TRY(
        um_key_list_read(&p->counts, &source, &(um_key_list_params){0}, err));
    for (size_t i = 0; i < p->counts.n; i++)
        p->asked.params.capacity += p->counts.amounts[i] > 0;
    if (!p->asked.params.capacity)
        return um_fail(err, UMBEL_E_RANGE, "every count in --counts is 0");
    return UMBEL_OK;
}

static umbel_status check_question(const size_plan *p, umbel_error *err)
{
    bool keys = p->asked.params.capacity > 0, fpr = p->a->shape.fpr.given;
    bool size = has_size(p->a);

    if (keys && size && fpr)
        return um_fail(err, UMBEL_E_RANGE,
                       "give two of capacity, error and size; the third "
                       "follows");
    if (!keys && !size)
        return um_fail(err, UMBEL_E_RANGE,
                       "give two of: keys (--capacity), error (--fpr), size "
                       "(--bits or --bytes)");
    return UMBEL_OK;
}

static umbel_status read_question(size_plan *p, umbel_error *err)
{
    UM_TRY(read_params(p, err));
    if (p->a->counts)
        UM_TRY(read_counts(p, err));
    return check_question(p, err);
}

/* --- the answer -------------------------------------------------------------
 */

static bool asks_clearing(const plan_args *a)
{
    return a->clear.given || a->retouch.given;
}

static umbel_status create_plans(size_plan *p, umbel_error *err)
{
    const char *kind = p->asked.kind;
    const umbel_params *asked = &p->asked.params;
    const plan_args *a = p->a;

    UM_TRY(umbel_make_plan(kind, asked, a->bytes.n, &p->plan, err));
    if (asks_clearing(a))
        UM_TRY(umbel_plan_clearing(kind, asked, a->bytes.n, a->clear.n,
                                   a->retouch.x, &p->clearing, err));
    if (a->counts)
        UM_TRY(umbel_plan_counts(kind, asked, a->threshold.n, p->counts.amounts,
                                 p->counts.n, &p->counting, err));
    return UMBEL_OK;
}

/* Says what differs: the size, and what follows from two of the three. */
static void add_other(size_plan *p, const char *name, const umbel_plan *plan,
                      const char *but)
{
    bool keys = p->a->capacity.given;
    bool size = has_size(p->a);

    if (p->nothers == MAX_OTHERS)
        return;
    char *text = p->others[p->nothers];
    int len = snprintf(text, OTHER_LEN, "%-11s %13s bytes, %2" PRIu32 " hashes",
                       name, um_grouped(plan->bytes).text, plan->hashes);
    if (!keys)
        len += snprintf(text + len, OTHER_LEN - (size_t)len, ", %s keys",
                        um_grouped(plan->keys).text);
    else if (size)
        len += snprintf(text + len, OTHER_LEN - (size_t)len, ", error %s",
                        um_rate(plan->error).text);
    snprintf(text + len, OTHER_LEN - (size_t)len, "%s", but);
    p->other[p->nothers++] = text;
}

/* Plans the same for every addressing but the one that was planned. */
static void plan_others(size_plan *p)
{
    const char *name, *chosen = p->asked.params.addressing;
    umbel_params params = p->asked.params;
    umbel_plan plan;

    for (size_t i = 0; umbel_addressing_at(i, &name, NULL); i++) {
        params.addressing = name;
        if (strcmp(name, chosen) != 0 &&
            umbel_make_plan(p->asked.kind, &params, p->a->bytes.n, &plan,
                            NULL) == UMBEL_OK)
            add_other(p, name, &plan, "");
    }
}

/* Plans the same set for static kinds, which need no addressing. */
static void plan_static(size_plan *p)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_plan plan;
    const char *name;

    params.capacity = p->asked.params.capacity;
    params.fpr = p->asked.params.fpr;
    for (size_t i = 0; umbel_kind_at(i, &name, NULL); i++)
        if (umbel_is_static(name) &&
            umbel_make_plan(name, &params, has_size(p->a) ? p->plan.bytes : 0,
                            &plan, NULL) == UMBEL_OK)
            add_other(p, name, &plan, ", static");
}

/* Returns true for a set without groups of keys that are known. */
static bool is_plain_set(const size_plan *p)
{
    const char *kind = p->asked.kind;

    return (!kind || strcmp(kind, "bloom") == 0) && p->asked.params.capacity &&
           !p->asked.params.nsettings;
}

/* The usual addressing; if that cannot do it, the first that can. */
static umbel_status choose_addressing(size_plan *p, um_report *r,
                                      umbel_error *err)
{
    const char *usual = um_default_addressing(p->asked.kind), *name;

    p->asked.params.addressing = usual;
    umbel_status status = create_plans(p, err);
    for (size_t i = 0; status && umbel_addressing_at(i, &name, NULL); i++) {
        p->asked.params.addressing = name;
        if (create_plans(p, NULL) != UMBEL_OK)
            continue;
        um_report_note(r, "Addressing %s, the default, is not possible: %s.",
                       usual, err->text);
        snprintf(p->end, sizeof p->end, " --addressing %s -o FILE", name);
        return UMBEL_OK;
    }
    return status;
}

static umbel_status answer(size_plan *p, um_report *r, umbel_error *err)
{
    if (p->asked.params.addressing || umbel_is_static(p->asked.kind))
        return create_plans(p, err);
    if (asks_clearing(p->a) || p->a->counts) {
        UM_TRY(create_plans(p, err));
        p->asked.params.addressing = um_default_addressing(p->asked.kind);
        return UMBEL_OK;
    }
    UM_TRY(choose_addressing(p, r, err));
    plan_others(p);
    p->naddressings = p->nothers;
    if (is_plain_set(p))
        plan_static(p);
    return UMBEL_OK;
}

/* --- the report -------------------------------------------------------------
 */

static void report_plan(um_report *r, const um_filter_params *asked,
                        const umbel_plan *plan)
{
    const char *addressing = asked->params.addressing;
    bool is_bits =
        plan->bits_per_key * (double)plan->keys < 1.5 * (double)plan->cells;

    um_report_text(r, "kind", NULL, asked->kind ? asked->kind : "bloom");
    if (!umbel_is_static(asked->kind))
        um_report_text(r, "addressing", NULL,
                       addressing ? addressing
                                  : um_default_addressing(asked->kind));
    um_report_count(r, "keys", NULL, NULL, plan->keys);
    um_report_count(r, "bits", is_bits ? NULL : "cells", NULL, plan->cells);
    um_report_count(r, "hashes", NULL, NULL, plan->hashes);
    um_report_count(r, "bytes", NULL, NULL, plan->bytes);
    um_report_real(r, "bits_per_key", NULL, NULL, plan->bits_per_key);
    um_report_rate(r, "error", NULL, plan->error);
    um_report_rate(r, "digest_error", NULL, plan->digest_error);
}

static void report_clearing(um_report *r, const umbel_clearing *c)
{
    um_report_real(r, "bits_set", "bits set, about", NULL, c->bits_set);
    um_report_real(r, "bits_cleared", NULL, NULL, c->cleared);
    um_report_rate(r, "kept", "keys untouched", c->kept);
    um_report_rate(r, "fp_removed", "false pos. gone", c->fp_removed);
    um_report_rate(r, "fn_gained", "false negatives", c->fn_gained);
    um_report_rate(r, "error_after", NULL, c->error);
    um_report_real(r, "members_lost", NULL, NULL, c->members_lost);
    um_report_real(r, "chi", NULL, NULL, c->chi);
    um_report_note(r, "This is for bits cleared at random; 'umbel retouch' "
                      "chooses them and loses fewer members.");
}

static void report_counts(um_report *r, const size_plan *p)
{
    const umbel_count_plan *c = &p->counting;

    um_report_count(r, "threshold", NULL, NULL, p->a->threshold.n);
    um_report_rate(r, "f_compound",
                   c->is_bound ? "reach it, at most" : "reach it",
                   c->f_compound);
    um_report_flag(r, "f_compound_is_bound", "that is a bound", c->is_bound);
    um_report_rate(r, "f_paper", "paper's equation 4", c->f_paper);
    um_report_rate(r, "overflow", "cells overflow", c->overflow);
    um_report_rate(r, "overflow_bound", NULL, c->overflow_bound);
    um_report_note(r,
                   "\"Reach it\" is the share of keys that never came but seem "
                   "to have come %s times or more (compound Poisson). The "
                   "paper's equation 4 and the overflow are for keys that come "
                   "once each.",
                   um_grouped(p->a->threshold.n).text);
}

/* --- the command to type ----------------------------------------------------
 */

/* Writes the arguments of umbel build that follow from a plan. */
typedef void print_size(FILE *out, const plan_args *a, const umbel_plan *plan);

static void print_planned_size(FILE *out, const plan_args *a,
                               const umbel_plan *plan)
{
    bool sized = has_size(a);

    if (umbel_is_static(a->shape.kind)) {
        if (a->bytes.given)
            fprintf(out, " --bytes %" PRIu64, a->bytes.n);
        return; /* the rest follows from the keys */
    }
    fprintf(out, " --capacity %" PRIu64, plan->keys);
    if (a->bytes.given)
        fprintf(out, " --%s %" PRIu64,
                umbel_is_counting(a->shape.kind) ? "cells" : "bits",
                plan->cells);
    if (sized && !a->shape.hashes.given)
        fprintf(out, " --hashes %" PRIu32, plan->hashes);
}

static void print_wire_size(FILE *out, const plan_args *a,
                            const umbel_plan *plan)
{
    fprintf(out, " --bits %" PRIu64, plan->cells);
    if (!a->shape.hashes.given)
        fprintf(out, " --hashes %" PRIu32, plan->hashes);
}

static umbel_status report_command(um_report *r, const um_args *args,
                                   const umbel_plan *plan, print_size *size,
                                   const char *end, umbel_error *err)
{
    const plan_args *a = args->values;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a command");
    fputs("umbel build KEYS", out);
    size(out, a, plan);
    um_print_given(out, args, um_shape_options, NULL);
    um_print_given(out, args, um_secret_options, NULL);
    if (is_keyed(a->shape.hash) && !a->secret.key_file)
        fputs(" --key-file SECRET", out);
    if (!a->counts) /* where they describe the file of counts */
        um_print_given(out, args, um_key_options, NULL);
    fputs(end, out);
    bool fine = fclose(out) == 0;
    if (fine)
        um_report_text(r, "command", NULL, text);
    free(text);
    return fine ? UMBEL_OK
                : um_fail(err, UMBEL_E_NOMEM, "no memory for a command");
}

/* --- all of it --------------------------------------------------------------
 */

static umbel_status report_size(size_plan *p, um_report *r, umbel_error *err)
{
    report_plan(r, &p->asked, &p->plan);
    if (asks_clearing(p->a))
        report_clearing(r, &p->clearing);
    if (p->a->counts)
        report_counts(r, p);
    if (p->nothers)
        um_report_texts(r, "other_addressings", "other addressing", p->other,
                        p->naddressings);
    if (p->nothers > p->naddressings)
        um_report_texts(r, "other_kinds", "other kind",
                        p->other + p->naddressings,
                        p->nothers - p->naddressings);
    if (is_plain_set(p) && !has_size(p->a))
        um_note_smaller(r, p->plan.keys, p->asked.params.fpr, p->plan.bytes, 0);
    um_note_rounding(r, p->asked.params.cells, p->plan.cells);
    if (umbel_is_static(p->asked.kind) && !p->a->capacity.given)
        return UMBEL_OK; /* built for an error or for a size, not for both */
    return report_command(r, p->args, &p->plan, print_planned_size, p->end,
                          err);
}

umbel_status um_plan_size(const um_args *args, umbel_error *err)
{
    size_plan p = {.args = args, .a = args->values, .end = " -o FILE"};
    um_report report = {0};
    umbel_status status;

    status = read_question(&p, err);
    if (status)
        goto done;
    status = answer(&p, &report, err);
    if (status)
        goto done;
    status = report_size(&p, &report, err);
    if (status)
        goto done;
    um_report_print(args, &report);
done:
    um_report_fini(&report);
    um_key_list_fini(&p.counts);
    um_filter_params_fini(&p.asked);
    return status;
}

static umbel_status report_wire(um_report *r, const size_plan *p,
                                const umbel_wire_plan *w, umbel_error *err)
{
    report_plan(r, &p->asked, &w->plan);
    um_report_count(r, "wire_bytes", "bytes on the wire", NULL, w->wire_bytes);
    um_report_rate(r, "fill", "bits set", w->fill);
    um_report_rate(r, "raw_error", "error if not coded", w->raw_error);
    return report_command(r, p->args, &w->plan, print_wire_size,
                          " --coded -o FILE", err);
}

umbel_status um_plan_wire(const um_args *args, umbel_error *err)
{
    size_plan p = {.args = args, .a = args->values};
    um_report report = {0};
    umbel_wire_plan wire;
    umbel_status status;

    status = read_params(&p, err);
    if (status)
        goto done;
    status = umbel_plan_wire(p.asked.kind, &p.asked.params, p.a->wire.n,
                             p.a->max_memory.n, &wire, err);
    if (status)
        goto done;
    status = report_wire(&report, &p, &wire, err);
    if (status)
        goto done;
    um_report_print(args, &report);
done:
    um_report_fini(&report);
    um_filter_params_fini(&p.asked);
    return status;
}
