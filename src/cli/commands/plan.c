/*
 * plan.c - umbel plan: computes size, error or capacity.
 */
#include "base/error.h"
#include "cli/commands/internal.h"
#include "cli/framework/report.h"
#include "filter/addressing/addressing.h"
#include "filter/sizing.h"
#include "keylist/key_list.h"
#include "query/query.h"

#include <umbel/counting.h>
#include <umbel/experimental/flows.h>
#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What the default costs: the same keys and error in fewer bytes.
 *
 * The default addressing answers with one memory access, which takes space.
 * Users who transfer the file more than they query it want to know.
 */

typedef struct smallest {
    const char *name; /* NULL: none is smaller */
    uint64_t bytes;
} smallest;

/* Replaces *best if this set needs fewer bytes. */
static void consider(smallest *best, const char *kind, const char *addressing,
                     uint64_t keys, double fpr)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_size_plan plan;

    p.addressing = addressing;
    p.capacity = keys;
    p.fpr = fpr;
    if (umbel_plan_size(kind, &p, 0, &plan, NULL) || plan.bytes >= best->bytes)
        return;
    *best = (smallest){kind ? kind : addressing, plan.bytes};
}

/* Appends how much s saves, if it saves anything. */
static void write_saving(char *text, size_t cap, const char *option,
                         const smallest *s, uint64_t bytes, const char *but)
{
    size_t len = strlen(text);
    double saved = 100 * (1 - (double)s->bytes / (double)bytes);

    if (s->name && saved >= 1)
        snprintf(text + len, cap - len, "%s%s %s is %.0f %% smaller%s",
                 len ? ", " : "", option, s->name, saved, but);
}

void um_note_smaller(um_report *r, uint64_t keys, double fpr, uint64_t bytes,
                     double least)
{
    enum { PAGE = 4096 }; /* less is not worth a sentence */
    smallest spread = {NULL, bytes}, fixed = {NULL, bytes};
    const char *kind;
    char text[256] = "";

    /* Only classic, which spreads keys over the whole filter; other addressings
     * serve other purposes. */
    consider(&spread, NULL, "classic", keys, fpr);
    for (size_t i = 0; umbel_kind_at(i, &kind, NULL); i++)
        if (umbel_is_static(kind))
            consider(&fixed, kind, NULL, keys, fpr);
    uint64_t best = fixed.bytes < spread.bytes ? fixed.bytes : spread.bytes;
    if (bytes - best < PAGE || (double)(bytes - best) <= least * (double)bytes)
        return;
    write_saving(text, sizeof text, "--addressing", &spread, bytes, "");
    write_saving(text, sizeof text, "--kind", &fixed, bytes, " (static)");
    um_report_note(r, "Same error: %s.", text);
}

/*
 * Plans keys, error and size of a filter, the cost of clearing bits, the errors
 * of its counts, and its coded size.
 */

enum { MAX_OTHERS = 16, OTHER_LEN = 256 };

/* A request, and the plan for one addressing. */
typedef struct size_plan {
    const um_args *args;
    const plan_args *a;
    um_filter_params asked;
    um_key_list counts; /* from --counts */
    umbel_size_plan plan;
    umbel_clearing clearing;
    umbel_count_plan counting;
    char others[MAX_OTHERS][OTHER_LEN]; /* plans for other addressings, */
    const char *other[MAX_OTHERS];
    size_t nothers, naddressings; /* then for static kinds */
    char end[64];                 /* end of the command to type */
} size_plan;

/* --- the request ---------------------------------------------------------- */

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
    um_key_source source; /* its options are part of the command to type */

    UM_TRY(um_key_source_from_args(p->args, &p->a->keys, NULL, (um_list){0},
                                   &source, err));
    UM_TRY(um_params_from_args(&p->a->shape, p->a->secret.key_file, &p->asked,
                               err));
    umbel_key_form form;
    UM_TRY(um_key_form_from_args(&p->a->keys, &form, err));
    p->asked.params.key_form = form;
    p->asked.params.capacity = p->a->capacity.n;
    if (is_keyed(p->asked.params.hash) && !p->asked.params.secret)
        p->asked.params.secret = any_secret; /* plans do not depend on it */
    return UMBEL_OK;
}

static bool has_size(const plan_args *a)
{
    return um_size_asked(&a->shape).given || a->bytes.given;
}

/* Reads --counts, whose keys are those to plan for. */
static umbel_status read_counts(size_plan *p, umbel_error *err)
{
    um_list paths = {.item = &p->a->counts, .n = 1};
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

/* --- the plan ------------------------------------------------------------- */

static bool asks_clearing(const plan_args *a)
{
    return a->clear.given || a->retouch.given;
}

static umbel_status create_plans(size_plan *p, umbel_error *err)
{
    const char *kind = p->asked.kind;
    const umbel_params *asked = &p->asked.params;
    const plan_args *a = p->a;

    UM_TRY(umbel_plan_size(kind, asked, a->bytes.n, &p->plan, err));
    if (asks_clearing(a))
        UM_TRY(umbel_plan_clearing(kind, asked, a->bytes.n, a->clear.n,
                                   a->retouch.x, &p->clearing, err));
    if (a->counts)
        UM_TRY(umbel_plan_counts(kind, asked, a->threshold.n, p->counts.amounts,
                                 p->counts.n, &p->counting, err));
    return UMBEL_OK;
}

/* Adds the plan for another addressing or kind: the size, and whichever of keys
 * and error was not requested. */
static void add_other(size_plan *p, const char *name,
                      const umbel_size_plan *plan, const char *but)
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

/* Plans the same filter for every other addressing. */
static void plan_others(size_plan *p)
{
    const char *name, *chosen = p->asked.params.addressing;
    umbel_params params = p->asked.params;
    umbel_size_plan plan;

    for (size_t i = 0; umbel_addressing_at(i, &name, NULL); i++) {
        params.addressing = name;
        if (strcmp(name, chosen) != 0 &&
            umbel_plan_size(p->asked.kind, &params, p->a->bytes.n, &plan,
                            NULL) == UMBEL_OK)
            add_other(p, name, &plan, "");
    }
}

/* Plans the same set for static kinds, which need no addressing. */
static void plan_static(size_plan *p)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_size_plan plan;
    const char *name;

    params.capacity = p->asked.params.capacity;
    params.fpr = p->asked.params.fpr;
    for (size_t i = 0; umbel_kind_at(i, &name, NULL); i++)
        if (umbel_is_static(name) &&
            umbel_plan_size(name, &params, has_size(p->a) ? p->plan.bytes : 0,
                            &plan, NULL) == UMBEL_OK)
            add_other(p, name, &plan, ", static");
}

/* Returns true for a set of a known number of keys, without groups. */
static bool is_plain_set(const size_plan *p)
{
    const char *kind = p->asked.kind;

    return (!kind || strcmp(kind, "bloom") == 0) && p->asked.params.capacity &&
           !p->asked.params.nsettings;
}

/* Chooses the default addressing or, if it cannot be used, the first that
 * can. */
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

/* --- the report ----------------------------------------------------------- */

static void report_plan(um_report *r, const size_plan *p,
                        const umbel_size_plan *plan)
{
    const um_filter_params *asked = &p->asked;
    umbel_key_form form = (umbel_key_form)asked->params.key_form;
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
    um_report_question(r, form, um_form_lookups_of(form), plan->error);
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

/* --- the command to type -------------------------------------------------- */

/* Prints the arguments of umbel build that follow from a plan. */
typedef void print_size(FILE *out, const plan_args *a,
                        const umbel_size_plan *plan);

static void print_planned_size(FILE *out, const plan_args *a,
                               const umbel_size_plan *plan)
{
    bool sized = has_size(a);

    if (umbel_is_static(a->shape.kind)) {
        if (a->bytes.given)
            fprintf(out, " --bytes %" PRIu64, a->bytes.n);
        return; /* the rest depends on the keys */
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
                            const umbel_size_plan *plan)
{
    fprintf(out, " --bits %" PRIu64, plan->cells);
    if (!a->shape.hashes.given)
        fprintf(out, " --hashes %" PRIu32, plan->hashes);
}

static umbel_status report_command(um_report *r, const um_args *args,
                                   const umbel_size_plan *plan,
                                   print_size *size, const char *end,
                                   umbel_error *err)
{
    const plan_args *a = args->values;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a command");
    fputs("umbel build KEYS", out);
    size(out, a, plan);
    um_print_used(out, args, um_shape_options, NULL);
    um_print_used(out, args, um_secret_options, NULL);
    if (is_keyed(a->shape.hash) && !a->secret.key_file)
        fputs(" --key-file SECRET", out);
    um_print_used(out, args, um_form_options, NULL);
    if (!a->counts) /* otherwise they describe the file of counts */
        um_print_used(out, args, um_key_options, NULL);
    fputs(end, out);
    bool fine = fclose(out) == 0;
    if (fine)
        um_report_text(r, "command", NULL, text);
    free(text);
    return fine ? UMBEL_OK
                : um_fail(err, UMBEL_E_NOMEM, "no memory for a command");
}

/* --- the modes ------------------------------------------------------------ */

static umbel_status report_size(size_plan *p, um_report *r, umbel_error *err)
{
    report_plan(r, p, &p->plan);
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

/* Plans keys, error and size: any two determine the third. With --clear or
 * --retouch also the cost of clearing bits, with --counts the error of a
 * threshold. */
static umbel_status plan_size(const um_args *args, umbel_error *err)
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
    report_plan(r, p, &w->plan);
    um_report_count(r, "wire_bytes", "bytes on the wire", NULL, w->wire_bytes);
    um_report_rate(r, "fill", "bits set", w->fill);
    um_report_rate(r, "raw_error", "error if not coded", w->raw_error);
    return report_command(r, p->args, &w->plan, print_wire_size,
                          " --coded -o FILE", err);
}

/* Plans with --wire: the filter with the lowest error for the bytes of its
 * coded file. */
static umbel_status plan_wire(const um_args *args, umbel_error *err)
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

/*
 * Plans with --fp-bound and --fn-bound: hash functions and space of a
 * generalized filter.
 */

/* Checks that a filter can have as many bits as all keys need. */
static umbel_status check_size(const umbel_bounds_plan *p, uint64_t keys,
                               umbel_error *err)
{
    double bits = p->bits_per_key * (double)keys;

    if (bits > (double)UM_MAX_CELLS)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s keys take %.3g bits, but a filter has at most 2^48: "
                       "plan fewer keys, or allow more of them to be denied",
                       um_grouped(keys).text, bits);
    return UMBEL_OK;
}

static void report_bounds(um_report *r, const plan_args *a,
                          const umbel_bounds_plan *p)
{
    uint64_t keys = a->capacity.n;

    um_report_text(r, "kind", NULL, a->shape.kind);
    um_report_count(r, "reset", "functions to reset", NULL, p->reset);
    um_report_count(r, "set", "functions to set", NULL, p->set);
    um_report_real(r, "bits_per_key", NULL, NULL, p->bits_per_key);
    um_report_rate(r, "fp_bound", "false pos. at most", p->fp_bound);
    um_report_rate(r, "fn_bound", "false neg. at most", p->fn_bound);
    um_report_count(r, "plain_hashes", "bloom: hashes", NULL, p->plain_hashes);
    um_report_real(r, "plain_bits_per_key", "bloom: bits/key", NULL,
                   p->plain_bits_per_key);
    um_report_rate(r, "plain_fill", "bloom: most ones", UMBEL_PLAIN_FILL);
    if (keys) {
        um_report_count(r, "keys", NULL, NULL, keys);
        um_report_count(r, "bits", NULL, NULL,
                        (uint64_t)ceil(p->bits_per_key * (double)keys));
    }
    um_report_note(r,
                   "A plain Bloom filter has the same bound and no false "
                   "negatives, if you refuse it when more than %s of its bits "
                   "are set.",
                   um_rate(UMBEL_PLAIN_FILL).text);
}

/* Plans a generalized filter with bounded errors. */
static umbel_status plan_bounds(const um_args *args, umbel_error *err)
{
    const plan_args *a = args->values;
    umbel_bounds_plan plan;
    um_report report = {0};

    if (!um_kind_has(a->shape.kind, "reset"))
        return um_fail(err, UMBEL_E_RANGE,
                       "--fp-bound and --fn-bound are for --kind generalized");
    UM_TRY(umbel_plan_bounds(a->fp_bound.x, a->fn_bound.x, &plan, err));
    UM_TRY(check_size(&plan, a->capacity.n, err));
    report_bounds(&report, a, &plan);
    um_report_print(args, &report);
    um_report_fini(&report);
    return UMBEL_OK;
}

/*
 * Plans the memory of umbel packets flows.
 */

static void report_flows(um_report *r, const plan_args *a,
                         const umbel_flows_plan *plan)
{
    uint64_t memory = plan->memory + UMBEL_FLOWS_FRAGMENTS;
    char command[128];

    um_report_count(r, "flows", NULL, NULL, a->flows.n);
    um_report_count(r, "traffic", NULL, NULL, a->traffic.n);
    um_report_count(r, "threshold", NULL, NULL, a->threshold.n);
    um_report_count(r, "memory", NULL, "bytes", memory);
    um_report_count(r, "entries", NULL, NULL, plan->entries);
    um_report_count(r, "stages", NULL, NULL, plan->stages);
    um_report_count(r, "cells", "cells of a stage", NULL, plan->cells);
    um_report_count(r, "heavy", "heavy, at most", NULL, plan->heavy);
    um_report_count(r, "overestimate", "overestimate, 99 %", NULL,
                    (uint64_t)ceil(plan->overestimate));
    um_report_real(r, "falsely_listed", NULL, NULL, plan->falsely_listed);
    snprintf(command, sizeof command,
             "umbel packets flows INPUT --threshold %" PRIu64
             " --memory %" PRIu64,
             a->threshold.n, memory);
    um_report_text(r, "command", NULL, command);
    if (plan->heavy > plan->entries)
        um_report_note(r, "More flows can reach the threshold than the table "
                          "holds: those that find no entry are counted, and "
                          "not named.");
}

static umbel_status plan_flows(const um_args *args, umbel_error *err)
{
    const plan_args *a = args->values;
    umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
    umbel_flows_plan plan;
    um_report report = {0};

    if (!a->threshold.given)
        return um_fail(err, UMBEL_E_RANGE, "--flows needs a --threshold");
    if (a->bytes.given && a->bytes.n / 2 < UMBEL_FLOWS_FRAGMENTS)
        return um_fail(err, UMBEL_E_RANGE, "flows need --bytes %d or more",
                       2 * UMBEL_FLOWS_FRAGMENTS);
    p.threshold = a->threshold.n;
    p.memory = a->bytes.given ? a->bytes.n - UMBEL_FLOWS_FRAGMENTS : 0;
    UM_TRY(umbel_flows_plan_for(&p, a->traffic.n, a->flows.n, &plan, err));
    report_flows(&report, a, &plan);
    um_report_print(args, &report);
    um_report_fini(&report);
    return UMBEL_OK;
}

enum { SIZE, STATIC, COUNTS, WIRE, BOUNDS, NEVER, FLOWS };

static const um_option options[] = {
    {"capacity", 'n', "N", "number of keys that the filter should hold",
     UM_TARGET(plan_args, capacity), .low = 1,
     .modes = UM_MODE(SIZE) | UM_MODE(STATIC) | UM_MODE(WIRE) | UM_MODE(BOUNDS),
     .formerly = "keys"},
    {"bytes", 0, "N", "size of the whole file instead of --bits",
     UM_TARGET(plan_args, bytes), .low = 1, .excludes = "bits cells",
     .modes =
         UM_MODE(SIZE) | UM_MODE(STATIC) | UM_MODE(NEVER) | UM_MODE(FLOWS)},
    {"wire", 0, "Z",
     "at most Z bytes when compressed: a larger, sparser filter with a lower "
     "error",
     UM_TARGET(plan_args, wire), .low = 1, .needs = "capacity",
     .excludes = "fpr bits cells bytes counts threshold fp-bound fn-bound "
                 "members never"},
    {"max-memory", 0, "N", "with --wire: bytes in memory",
     UM_TARGET(plan_args, max_memory), .low = 1, .needs = "wire",
     .formerly = "memory"},
    {"clear", 0, "S", "predict what clearing S bits at random costs",
     UM_TARGET(plan_args, clear), .low = 1, .excludes = "retouch",
     .modes = UM_MODE(SIZE)},
    {"retouch", 0, "P", "the same for removing a share P of false positives",
     UM_TARGET(plan_args, retouch), .modes = UM_MODE(SIZE)},
    {"threshold", 0, "T",
     "kinds that count: probability that an absent key seems to have been "
     "added T times; with --flows: bytes or packets of a heavy flow",
     UM_TARGET(plan_args, threshold), .low = 1, .needs = "counts flows",
     .excludes = "fp-bound fn-bound members never"},
    {"counts", 0, "FILE", "with --threshold: how often each key is added",
     UM_TARGET(plan_args, counts), .role = UM_INPUT, .needs = "threshold",
     .excludes = "fp-bound fn-bound members never"},
    {"fp-bound", 0, "X",
     "generalized: largest share of other keys that match, whatever the bits "
     "are",
     UM_TARGET(plan_args, fp_bound), .needs = "fn-bound",
     .excludes = "members never"},
    {"fn-bound", 0, "Y",
     "with --fp-bound: largest share of members that are missed",
     UM_TARGET(plan_args, fn_bound), .needs = "fp-bound",
     .excludes = "members never"},
    {"flows", 0, "N",
     "plan the memory of umbel packets flows, for N flows in an interval",
     UM_TARGET(plan_args, flows), .low = 1, .needs = "traffic",
     .excludes = "counts fp-bound fn-bound members never wire"},
    {"traffic", 0, "N",
     "with --flows: bytes of an interval; packets if --threshold counts "
     "packets",
     UM_TARGET(plan_args, traffic), .low = 1, .needs = "flows"},
    {"members", 0, "FILE", "with --never: keys of the set; may be repeated",
     UM_TARGET(plan_args, members), .role = UM_INPUT, .needs = "never"},
    {"never", 0, "FILE",
     "keys that must not match: compare the ways to exclude them; may be "
     "repeated",
     UM_TARGET(plan_args, never), .role = UM_INPUT, .needs = "members"},
    {"weights", 0, NULL, "lines of --never end in a weight (as in *.tsv)",
     UM_TARGET(plan_args, weights), .needs = "never"},
    {"output", 'o', "FILE",
     "with --never: draw the weight that still matches against the size, as "
     "SVG",
     UM_TARGET(plan_args, output), .role = UM_OUTPUT, .needs = "never"},
    {0}};

static unsigned choose_mode(const void *values)
{
    const plan_args *a = values;

    if (a->flows.given || a->traffic.given)
        return UM_MODE(FLOWS);
    if (a->members.n || a->never.n)
        return UM_MODE(NEVER);
    if (a->fp_bound.given || a->fn_bound.given)
        return UM_MODE(BOUNDS);
    if (a->threshold.given || a->counts)
        return UM_MODE(COUNTS);
    if (a->wire.given)
        return UM_MODE(WIRE);
    return umbel_is_static(a->shape.kind) ? UM_MODE(STATIC) : UM_MODE(SIZE);
}

static int run(const um_args *args)
{
    static umbel_status (*const answers[])(const um_args *, umbel_error *) = {
        [SIZE] = plan_size,  [STATIC] = plan_size,   [COUNTS] = plan_size,
        [WIRE] = plan_wire,  [BOUNDS] = plan_bounds, [NEVER] = um_plan_compare,
        [FLOWS] = plan_flows};
    unsigned mode = choose_mode(args->values);
    umbel_error err;
    size_t i = 0;

    while (mode != UM_MODE(i))
        i++;
    return answers[i](args, &err) ? um_trouble(args, &err) : UM_EXIT_FINE;
}

/* The options for shapes, in parts that different modes use. */
#define IDENTITY "addressing hash seed fpr "
#define SIZES "bits cells exact-size "
#define CELLS "hashes groups cell-bits update reset set fill "
#define SHAPE um_shape_options, offsetof(plan_args, shape)
#define BUILDS                                                                 \
    (UM_MODE(SIZE) | UM_MODE(STATIC) | UM_MODE(COUNTS) | UM_MODE(WIRE))

const um_command um_cmd_plan = {
    .name = "plan",
    .summary = "predict size, hash functions and error before you build",
    .section = UM_EVERYDAY,
    .values_len = sizeof(plan_args),
    .options = {{.rows = options},
                {SHAPE, BUILDS | UM_MODE(BOUNDS),
                 .ignored = IDENTITY SIZES CELLS "param"},
                {SHAPE, BUILDS | UM_MODE(NEVER),
                 .ignored = "kind " SIZES CELLS "param"},
                {SHAPE, BUILDS & ~UM_MODE(WIRE),
                 .ignored = "kind " IDENTITY CELLS "param"},
                {SHAPE, BUILDS & ~UM_MODE(STATIC),
                 .ignored = "kind " IDENTITY SIZES "param"},
                {SHAPE, BUILDS, .ignored = "kind " IDENTITY SIZES CELLS},
                {um_form_options, offsetof(plan_args, keys),
                 .modes = BUILDS | UM_MODE(NEVER)},
                {um_key_options, offsetof(plan_args, keys),
                 .modes = BUILDS | UM_MODE(NEVER)},
                {um_secret_options, offsetof(plan_args, secret),
                 .modes = BUILDS | UM_MODE(NEVER)}},
    .modes = {[SIZE] = {"to plan a size", "--capacity 1000"},
              [STATIC] = {"for static kinds", "--kind ribbon --capacity 1000"},
              [COUNTS] = {"with --counts",
                          "--kind counting --threshold 2 --counts COUNTS"},
              [WIRE] = {"with --wire", "--wire 2000 --capacity 1000"},
              [BOUNDS] = {"with --fp-bound", "--kind generalized --fp-bound "
                                             "0.01 --fn-bound 0.1"},
              [NEVER] = {"with --never", "--members KEYS --never OTHERS"},
              [FLOWS] = {"with --flows",
                         "--flows 1000 --traffic 1000000 --threshold 1000"}},
    .mode = choose_mode,
    .run = run,
    .excess = "-n",
    .example = "--capacity 1e6 --fpr 0.1%",
    .details =
        "Give two of capacity, error and size; the third is computed. Without "
        "--fpr the error is 0.1 %. With --members and --never it compares the "
        "ways to keep listed keys from matching, in files of equal size.",
};
