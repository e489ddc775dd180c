/*
 * cmd_plan.c - umbel plan: how large, how wrong, how many.
 */
#include "base/error.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>

static const um_option options[] = {
    {"keys", 'n', "N", "keys it should hold"},
    {"bytes", 0, "N", "size of the whole file instead of --bits"},
    {0}};

typedef struct question {
    um_asked asked;
    uint64_t bytes;
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

static umbel_status read_question(const um_args *args, question *q,
                                  umbel_error *err)
{
    umbel_params *p = &q->asked.params;
    static const uint8_t any_secret[UMBEL_SECRET_LEN] = {0};
    umbel_status status = um_ask(args, &q->asked, err);

    q->bytes = 0;
    if (status == UMBEL_OK)
        status = um_value_count(args, "keys", &p->capacity, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "bytes", &q->bytes, err);
    if (status != UMBEL_OK)
        return status;
    if (um_has(args, "keys") && !p->capacity)
        return um_fail(err, UMBEL_E_RANGE, "--keys must be at least 1");
    if (p->capacity && (p->cells || q->bytes) && um_has(args, "fpr"))
        return um_fail(err, UMBEL_E_RANGE,
                       "give two of keys, error and size; the third follows");
    if (!p->capacity && !p->cells && !q->bytes)
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
    um_info_text(out, "addressing",
                 p->addressing ? p->addressing : "blocked512");
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
    const char *name;
    umbel_plan plan;
    bool any = false, standard = false;

    for (size_t i = 0; umbel_addressing_at(i, &name, NULL); i++) {
        q->asked.params.addressing = name;
        if (umbel_make_plan(q->asked.kind, &q->asked.params, q->bytes, &plan,
                            NULL) == UMBEL_OK) {
            print_row(name, &plan);
            any = true;
            standard |= i == 0;
        }
    }
    if (standard)
        printf("'umbel build' takes blocked512 unless --addressing says "
               "otherwise.\n");
    return any;
}

static int run(const um_args *args)
{
    question q;
    umbel_plan plan;
    umbel_info info = {0};
    umbel_error err;

    if (args->noperands)
        return um_misuse(args, "unexpected \"%s\"", args->operands[0]);
    if (read_question(args, &q, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    uint64_t asked_bits = q.asked.params.cells;
    umbel_status status =
        umbel_make_plan(q.asked.kind, &q.asked.params, q.bytes, &plan, &err);
    bool every = !q.asked.params.addressing && !um_has(args, "json");
    if (every && !um_has(args, "quiet") && print_all(&q))
        return UM_EXIT_FINE;
    if (status != UMBEL_OK)
        return um_trouble(args, &err);
    to_info(&q, &plan, &info);
    if (um_has(args, "json")) {
        um_print_json(stdout, &info);
    } else if (!every && !um_has(args, "quiet")) {
        print_row(q.asked.params.addressing, &plan);
        um_tell_rounding(stdout, asked_bits, plan.cells);
    }
    return UM_EXIT_FINE;
}

const um_command um_cmd_plan = {
    .name = "plan",
    .args = "[--keys N] [--fpr P] [--bits M | --bytes N]",
    .summary = "tell size, hashes and error before anything is built",
    .options = {options, um_shape_options},
    .run = run,
    .details = "Give two of keys, error and size; the third is worked out. "
               "Without --fpr the\nerror is 0.1 %.\n",
};
