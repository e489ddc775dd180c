/*
 * cmd_plan.c - umbel plan: how large, how wrong, how many.
 */
#include "base/error.h"
#include "cli/bounds.h"
#include "cli/files.h"
#include "cli/keys.h"
#include "cli/plan_never.h"
#include "cli/report.h"
#include "cli/table.h"
#include "filter/sizing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const um_option options[] = {
    {"keys", 'n', "N", "keys it should hold"},
    {"bytes", 0, "N", "size of the whole file instead of --bits"},
    {"wire", 0, "Z", "bytes of the coded file: larger and sparser, errs less"},
    {"memory", 0, "M", "... within so much memory (default 256MiB)"},
    {"clear", 0, "S", "also tell what clearing S bits at random costs"},
    {"retouch", 0, "P", "... what taking back P of the false positives does"},
    {"threshold", 0, "T", "counting: how wrong is 'came T times or more'"},
    {"counts", 0, "FILE", "... where keys come as often as FILE says"},
    {0}};

typedef struct question {
    um_filter_args asked;
    uint64_t bytes;
    uint64_t wire, memory; /* 0: not asked for */
    uint64_t clear;        /* bits; 0: not asked for */
    double retouch;        /* share of false positives; 0: not asked for */
    uint64_t threshold;
    uint64_t *counts; /* how often keys come, where a threshold is given */
    size_t ncounts, room;
} question;

static bool is_keyed(const char *hash)
{
    const char *name;
    bool keyed;

    for (size_t i = 0; hash && umbel_hash_at(i, &name, NULL, &keyed); i++)
        if (strcmp(name, hash) == 0)
            return keyed;
    return false;
}

static umbel_status take_counts(void *ctx, const um_batch *batch,
                                umbel_error *err)
{
    question *q = ctx;

    if (q->ncounts + batch->n > q->room) {
        size_t room = 2 * q->room + batch->n;
        uint64_t *more = realloc(q->counts, room * sizeof *more);
        if (!more)
            return um_fail(err, UMBEL_E_NOMEM, "no memory for the counts");
        q->counts = more;
        q->room = room;
    }
    memcpy(q->counts + q->ncounts, batch->amounts,
           batch->n * sizeof *q->counts);
    q->ncounts += batch->n;
    return UMBEL_OK;
}

/* The keys that come are the keys that it should hold. */
static umbel_status read_counts(const um_args *args, question *q,
                                umbel_error *err)
{
    const char *path = um_value(args, "counts");

    if (um_has(args, "threshold") != (path != NULL))
        return um_fail(err, UMBEL_E_RANGE,
                       "--threshold and --counts belong together");
    if (!path)
        return UMBEL_OK;
    if (um_has(args, "keys") || um_has(args, "bytes"))
        return um_fail(err, UMBEL_E_RANGE,
                       "--counts tells the keys; give a size with --cells");
    umbel_status status = um_value_count(args, "threshold", &q->threshold, err);
    if (status == UMBEL_OK && q->threshold == 0)
        status = um_fail(err, UMBEL_E_RANGE, "--threshold must be at least 1");
    if (status == UMBEL_OK)
        status =
            um_each_amount(args, &path, 1, UM_LAST_FIELD, take_counts, q, err);
    if (status != UMBEL_OK)
        return status;
    for (size_t i = 0; i < q->ncounts; i++)
        q->asked.params.capacity += q->counts[i] > 0;
    if (!q->asked.params.capacity)
        return um_fail(err, UMBEL_E_RANGE, "no key comes in --counts");
    return UMBEL_OK;
}

static umbel_status read_wire(const um_args *args, question *q,
                              umbel_error *err)
{
    umbel_status status = um_value_count(args, "wire", &q->wire, err);

    if (status == UMBEL_OK)
        status = um_value_count(args, "memory", &q->memory, err);
    if (status != UMBEL_OK)
        return status;
    if (um_has(args, "memory") && (!um_has(args, "wire") || !q->memory))
        return um_fail(err, UMBEL_E_RANGE,
                       "--memory goes with --wire, and is at least 1");
    if (!um_has(args, "wire"))
        return UMBEL_OK;
    if (!q->wire || !um_has(args, "keys"))
        return um_fail(err, UMBEL_E_RANGE,
                       "--wire wants --keys, and is at least 1");
    if (um_has(args, "fpr") || um_has(args, "bits") || um_has(args, "cells") ||
        um_has(args, "bytes") || um_has(args, "clear") ||
        um_has(args, "retouch"))
        return um_fail(err, UMBEL_E_RANGE,
                       "--wire is the size, and the error follows: leave out "
                       "--fpr, --bits, --bytes, --clear and --retouch");
    return UMBEL_OK;
}

static umbel_status read_question(const um_args *args, question *q,
                                  umbel_error *err)
{
    umbel_params *p = &q->asked.params;
    static const uint8_t any_secret[UMBEL_SECRET_LEN] = {0};
    umbel_status status = um_ask(args, &q->asked, err);

    q->bytes = q->clear = 0;
    q->retouch = 0;
    if (status == UMBEL_OK)
        status = um_value_count(args, "keys", &p->capacity, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "bytes", &q->bytes, err);
    if (status == UMBEL_OK)
        status = read_wire(args, q, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "clear", &q->clear, err);
    if (status == UMBEL_OK)
        status = um_value_share(args, "retouch", &q->retouch, err);
    if (status != UMBEL_OK)
        return status;
    status = read_counts(args, q, err);
    if (status != UMBEL_OK)
        return status;
    if (um_has(args, "clear") && !q->clear)
        return um_fail(err, UMBEL_E_RANGE, "--clear must be at least 1");
    if (q->clear && q->retouch > 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "give --clear or --retouch, not both: one follows from "
                       "the other");
    if (um_has(args, "keys") && !p->capacity)
        return um_fail(err, UMBEL_E_RANGE, "--keys must be at least 1");
    if (um_has(args, "bytes") && !q->bytes)
        return um_fail(err, UMBEL_E_RANGE, "--bytes must be at least 1");
    if (p->capacity && (p->cells || q->bytes) && um_has(args, "fpr"))
        return um_fail(err, UMBEL_E_RANGE,
                       "give two of keys, error and size; the third follows");
    if (!p->capacity && !p->cells && !q->bytes && !q->wire)
        return um_fail(err, UMBEL_E_RANGE,
                       "say two of: how many (--keys), how wrong (--fpr), how "
                       "large (--bits or --bytes)");
    if (is_keyed(p->hash))
        p->secret = any_secret; /* the plan does not depend on it */
    return UMBEL_OK;
}

static void to_info(const question *q, const umbel_plan *plan, umbel_info *out)
{
    const umbel_params *p = &q->asked.params;

    um_info_text(out, "kind", q->asked.kind ? q->asked.kind : "bloom");
    if (!umbel_is_static(q->asked.kind))
        um_info_text(out, "addressing",
                     p->addressing ? p->addressing
                                   : um_default_addressing(q->asked.kind));
    um_info_count(out, "keys", plan->keys);
    um_info_count(out, "bits", plan->cells);
    um_info_count(out, "hashes", plan->hashes);
    um_info_count(out, "bytes", plan->bytes);
    um_info_real(out, "bits_per_key", plan->bits_per_key);
    um_info_real(out, "error", plan->error);
    um_info_real(out, "digest_error", plan->digest_error);
}

static void print_row(const char *name, const umbel_plan *plan)
{
    printf("%-12s %15s keys %15s bytes %3" PRIu32 " hashes %7.3f bits/key  "
           "error %s\n",
           name, um_grouped(plan->keys).text, um_grouped(plan->bytes).text,
           plan->hashes, plan->bits_per_key, um_percent(plan->error).text);
}

/* The same question for every addressing; tells whether any can answer it. */
static bool print_all(question *q)
{
    const char *name, *usual = um_default_addressing(q->asked.kind);
    umbel_plan plan;
    bool any = false, standard = false;

    for (size_t i = 0; umbel_addressing_at(i, &name, NULL); i++) {
        q->asked.params.addressing = name;
        if (umbel_make_plan(q->asked.kind, &q->asked.params, q->bytes, &plan,
                            NULL) == UMBEL_OK) {
            print_row(name, &plan);
            any = true;
            standard |= strcmp(name, usual) == 0;
        }
    }
    if (standard)
        printf("'umbel build' takes %s unless --addressing says otherwise.\n",
               usual);
    return any;
}

static bool asks_clearing(const question *q)
{
    return q->clear || q->retouch > 0;
}

static void clearing_to_info(const umbel_clearing *c, umbel_info *out)
{
    um_info_real(out, "bits_set", c->bits_set);
    um_info_real(out, "bits_cleared", c->cleared);
    um_info_real(out, "kept", c->kept);
    um_info_real(out, "fp_removed", c->fp_removed);
    um_info_real(out, "fn_gained", c->fn_gained);
    um_info_real(out, "error_after", c->error);
    um_info_real(out, "members_lost", c->members_lost);
    um_info_real(out, "chi", c->chi);
}

static uint64_t rounded(double x)
{
    return (uint64_t)(x + 0.5);
}

static void print_clearing(const umbel_plan *plan, const umbel_clearing *c)
{
    printf("clearing %s ", um_grouped(rounded(c->cleared)).text);
    printf("of about %s set bits at random\n",
           um_grouped(rounded(c->bits_set)).text);
    printf("false positives  %s of them go: error %s ",
           um_percent(c->fp_removed).text, um_percent(plan->error).text);
    printf("becomes %s\n", um_percent(c->error).text);
    printf("false negatives  %s of the members: about %s\n",
           um_percent(c->fn_gained).text,
           um_grouped(rounded(c->members_lost)).text);
    printf("chi              %g; 'umbel retouch' does better\n", c->chi);
}

static void counting_to_info(const question *q, const umbel_count_plan *c,
                             umbel_info *out)
{
    um_info_count(out, "threshold", q->threshold);
    um_info_real(out, "f_compound", c->f_compound);
    um_info_flag(out, "f_compound_is_bound", c->is_bound);
    um_info_real(out, "f_paper", c->f_paper);
    um_info_real(out, "overflow", c->overflow);
    um_info_real(out, "overflow_bound", c->overflow_bound);
}

static void print_counting(const question *q, const umbel_count_plan *c)
{
    printf("a key that never came seems to have come %" PRIu64
           " times or more\n",
           q->threshold);
    printf("compound Poisson  %s%s\n", c->is_bound ? "at most " : "",
           um_percent(c->f_compound).text);
    printf("paper's (4)       %s, as if every key came once\n",
           um_percent(c->f_paper).text);
    printf("a cell overflows  %g, at most %g, if every key came once\n",
           c->overflow, c->overflow_bound);
}

static void print_wire(const um_args *args, const question *q,
                       const umbel_wire_plan *w)
{
    const char *addressing = q->asked.params.addressing;

    print_row(addressing ? addressing : um_default_addressing(q->asked.kind),
              &w->plan);
    printf("coded: %s bytes on the wire, a share of %.4g of ones\n",
           um_grouped(w->wire_bytes).text, w->fill);
    if (w->raw_error >= 0)
        printf("a raw filter of %s bytes errs by %s\n",
               um_grouped(q->wire).text, um_percent(w->raw_error).text);
    printf("umbel build KEYS --bits %" PRIu64, w->plan.cells);
    if (!um_has(args, "hashes"))
        printf(" --hashes %" PRIu32, w->plan.hashes);
    um_print_given(stdout, args, um_shape_options);
    um_print_given(stdout, args, um_secret_options);
    um_print_given(stdout, args, um_keys_options);
    puts(" --coded -o FILE");
}

static int answer_wire(const um_args *args, const question *q)
{
    umbel_wire_plan w;
    umbel_info info = {0};
    umbel_error err;

    if (umbel_plan_wire(q->asked.kind, &q->asked.params, q->wire, q->memory, &w,
                        &err) != UMBEL_OK)
        return um_trouble(args, &err);
    to_info(q, &w.plan, &info);
    um_info_count(&info, "wire_bytes", w.wire_bytes);
    um_info_real(&info, "fill", w.fill);
    um_info_real(&info, "raw_error", w.raw_error);
    if (um_has(args, "json"))
        um_print_json(stdout, &info);
    else if (!um_has(args, "quiet"))
        print_wire(args, q, &w);
    return UM_EXIT_FINE;
}

/* What one addressing answers. */
typedef struct planned {
    umbel_plan plan;
    umbel_clearing clearing;
    umbel_count_plan counting;
} planned;

static umbel_status make(const question *q, planned *out, umbel_error *err)
{
    const char *kind = q->asked.kind;
    const umbel_params *p = &q->asked.params;

    umbel_status status = umbel_make_plan(kind, p, q->bytes, &out->plan, err);
    if (status == UMBEL_OK && asks_clearing(q))
        status = umbel_plan_clearing(kind, p, q->bytes, q->clear, q->retouch,
                                     &out->clearing, err);
    if (status == UMBEL_OK && q->threshold)
        status = umbel_plan_counts(kind, p, q->threshold, q->counts, q->ncounts,
                                   &out->counting, err);
    return status;
}

static void print_planned(const question *q, const planned *x)
{
    const char *kind = q->asked.kind, *name = q->asked.params.addressing;

    if (!name)
        name = umbel_is_static(kind) ? kind : um_default_addressing(kind);
    print_row(name, &x->plan);
    um_tell_rounding(stdout, q->asked.params.cells, x->plan.cells);
    if (asks_clearing(q))
        print_clearing(&x->plan, &x->clearing);
    if (q->threshold)
        print_counting(q, &x->counting);
}

static void print_planned_json(const question *q, const planned *x)
{
    umbel_info info = {0};

    to_info(q, &x->plan, &info);
    if (asks_clearing(q))
        clearing_to_info(&x->clearing, &info);
    if (q->threshold)
        counting_to_info(q, &x->counting, &info);
    um_print_json(stdout, &info);
}

/* Who names no addressing sees what each of them would take. */
static bool asks_all(const um_args *args, const question *q)
{
    return !q->threshold && !asks_clearing(q) && !q->asked.params.addressing &&
           !umbel_is_static(q->asked.kind) && !um_has(args, "json") &&
           !um_has(args, "quiet");
}

static int answer(const um_args *args, question *q)
{
    planned x = {0};
    umbel_error err;

    if (args->noperands)
        return um_misuse(args,
                         "a plan wants numbers, not \"%s\": --keys N says how "
                         "many keys there will be",
                         args->operands[0]);
    if (um_has_never(args))
        return um_answer_never(args);
    if (um_has_bounds(args))
        return um_answer_bounds(args);
    if (read_question(args, q, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    if (q->wire)
        return answer_wire(args, q);
    umbel_status status = make(q, &x, &err);
    if (asks_all(args, q) && print_all(q))
        return UM_EXIT_FINE;
    if (status != UMBEL_OK)
        return um_trouble(args, &err);
    if (um_has(args, "json"))
        print_planned_json(q, &x);
    else if (!um_has(args, "quiet"))
        print_planned(q, &x);
    return UM_EXIT_FINE;
}

static int run(const um_args *args)
{
    question q = {0};
    int code = answer(args, &q);

    free(q.counts);
    return code;
}

const um_command um_cmd_plan = {
    .name = "plan",
    .args = "[--keys N] [--fpr P] [--bits M | --bytes N | --wire Z]",
    .summary = "tell size, hashes and error before anything is built",
    .options = {options, um_bounds_options, um_never_options, um_shape_options,
                um_keys_options, um_secret_options},
    .run = run,
    .example = "--keys 1e6 --fpr 0.1%",
    .details =
        "Give two of keys, error and size; the third is worked out. Without "
        "--fpr the error is 0.1 %. With --members and --never it compares the "
        "ways to keep listed keys from matching, at equal bytes.",
};
