/*
 * verify.c - umbel verify: measures the error rates of a filter.
 */
#include "base/batch.h"
#include "base/error.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/progress.h"
#include "cli/framework/report.h"
#include "query/query.h"

#include <umbel/verify.h>

#include <math.h>
#include <string.h>

typedef struct verify_args {
    const char *file;
    um_list members, outside;
    const char *false_positives;
    um_open_args open;
    um_key_args keys;
} verify_args;

static const um_option options[] = {
    {"members", 0, "FILE", "keys that are in the filter; may be repeated",
     UM_TARGET(verify_args, members), .role = UM_INPUT},
    {"outside", 0, "FILE", "keys that are not in it; may be repeated",
     UM_TARGET(verify_args, outside), .role = UM_INPUT},
    {"false-positives", 0, "FILE",
     "write outside keys that match to FILE, a new file; - is standard output",
     UM_TARGET(verify_args, false_positives), .role = UM_NEW_OUTPUT,
     .needs = "outside", .formerly = "list"},
    {0}};

typedef struct verify_ctx {
    const umbel_filter *filter;
    umbel_verifier *verifier;
    FILE *wrong; /* receives false positives; may be NULL */
    char end;    /* of its lines */
} verify_ctx;

static umbel_status verify_members(void *ctx, const um_key_batch *batch,
                                   umbel_error *err)
{
    verify_ctx *v = ctx;

    return umbel_verify_members(v->verifier, batch->keys, batch->n, err);
}

static void list_wrong(const verify_ctx *v, const umbel_slice *lines,
                       const bool *wrong, size_t n)
{
    bool shared = v->wrong == stdout && um_progress_shares_stdout();

    if (shared)
        um_progress_pause();
    for (size_t i = 0; v->wrong && i < n; i++)
        if (wrong[i]) {
            fwrite(lines[i].data, 1, lines[i].len, v->wrong);
            putc(v->end, v->wrong);
        }
    if (shared) {
        fflush(v->wrong);
        um_progress_resume();
    }
}

static umbel_status verify_outside(void *ctx, const um_key_batch *batch,
                                   umbel_error *err)
{
    verify_ctx *v = ctx;
    bool wrong[UM_BATCH];

    for (size_t done = 0, some; done < batch->n; done += some) {
        some = um_next_batch(batch->n - done);
        UM_TRY(umbel_verify_outside(v->verifier, batch->keys + done, some,
                                    wrong, err));
        list_wrong(v, batch->lines + done, wrong, some);
    }
    return UMBEL_OK;
}

static umbel_status read_lists(const um_args *args, verify_ctx *v,
                               umbel_error *err)
{
    const verify_args *a = args->values;
    um_key_source members, outside;

    UM_TRY(um_key_source_from_args(args, &a->keys, NULL, a->members, &members,
                                   err));
    UM_TRY(um_key_source_from_args(args, &a->keys, NULL, a->outside, &outside,
                                   err));
    UM_TRY(um_obey_key_form(v->filter, &members.format, err));
    UM_TRY(um_obey_key_form(v->filter, &outside.format, err));
    members.pass = "checking members";
    outside.pass = "checking outside keys";
    if (a->members.n)
        UM_TRY(um_keys_each_batch(&members, verify_members, v, err));
    if (a->outside.n)
        UM_TRY(um_keys_each_batch(&outside, verify_outside, v, err));
    return UMBEL_OK;
}

static umbel_status open_list(const char *path, FILE **out, umbel_error *err)
{
    if (path)
        *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    return path && !*out ? um_fail_path(err, path) : UMBEL_OK;
}

static umbel_status close_list(const char *path, FILE *list, umbel_error *err)
{
    bool failed = list && ferror(list);

    if (!list || list == stdout)
        return UMBEL_OK;
    return fclose(list) != 0 || failed ? um_fail_path(err, path) : UMBEL_OK;
}

static umbel_status verify(const um_args *args, const umbel_filter *f,
                           umbel_verdict *out, umbel_error *err)
{
    const verify_args *a = args->values;
    verify_ctx v = {.filter = f, .end = a->keys.null ? '\0' : '\n'};
    umbel_status status, closed;
    umbel_error late;

    UM_TRY(umbel_verify_open(f, &v.verifier, err));
    status = open_list(a->false_positives, &v.wrong, err);
    if (status)
        goto done;
    status = read_lists(args, &v, err);
    closed = close_list(a->false_positives, v.wrong, &late);
    if (!status && closed) {
        status = closed;
        *err = late;
    }
    umbel_verify_result(v.verifier, out);
done:
    umbel_verify_close(v.verifier);
    return status;
}

/* Notes the cause of false negatives, if there are any. */
static void note_false_negatives(um_report *r, const umbel_filter *f,
                                 uint64_t denied)
{
    uint64_t recorded = umbel_known_false_negatives(f);

    if (denied && um_allows_false_negatives(f, denied))
        um_report_note(r, "This filter says that it may miss members.");
    else if (denied)
        um_report_note(
            r,
            "%s not match, but this filter claims to have %s%s missing: it is "
            "damaged, or these are not its members (build and verify must "
            "read them with the same -0, --hex and --field).",
            um_counted(denied, "member does", "members do").text,
            recorded ? "at most " : "",
            recorded ? um_grouped(recorded).text : "none");
}

static void report_members(const umbel_filter *f, const umbel_verdict *v,
                           um_report *r)
{
    um_report_count(r, "members", NULL, NULL, v->members);
    um_report_count(r, "false_negatives", NULL, NULL, v->false_negatives);
    um_report_flag(r, "has_false_negatives", "may miss members",
                   umbel_has_false_negatives(f));
    um_report_count(r, "known_false_negatives", "recorded missing", NULL,
                    umbel_known_false_negatives(f));
    note_false_negatives(r, f, v->false_negatives);
}

static void report_outside(const umbel_filter *f, const umbel_verdict *v,
                           um_report *r)
{
    static const char *const rate[] = {"rate", "low", "high"};
    bool none = v->outside == 0;
    umbel_interval measured = {v->rate, v->low, v->high};

    if (none)
        measured = (umbel_interval){NAN, NAN, NAN};
    um_report_count(r, "outside", "outside keys", NULL, v->outside);
    um_report_count(r, "false_positives", NULL, NULL, v->false_positives);
    um_report_count(r, "dropped", "dropped as members", NULL, v->dropped);
    um_report_interval(r, rate, "measured error", &measured, UM_OF_RATE);
    um_report_rate(r, "predicted", "predicted error", v->predicted);
    um_report_question(r, umbel_key_form_of(f), um_form_lookups(f),
                       v->predicted);
    if (!none && v->false_positives == v->outside && v->predicted < 0.5)
        um_report_note(r, "Every outside key matches: are these members? They "
                          "are given with --members.");
    if (none)
        um_report_note(r, "Nothing was measured: no key of --outside is left.");
}

static int run(const um_args *args)
{
    const verify_args *a = args->values;
    um_report report = {0};
    umbel_verdict verdict;
    umbel_filter *f = NULL;
    umbel_error err;
    umbel_status status;
    bool fine = true;

    if (!a->members.n && !a->outside.n)
        return um_misuse(args, "give keys whose answer is known: --members "
                               "FILE, --outside FILE, or both");
    status = um_open_filter(&a->open, a->file, &f, &err);
    if (status)
        goto done;
    status = verify(args, f, &verdict, &err);
    if (status)
        goto done;
    fine = um_allows_false_negatives(f, verdict.false_negatives);
    if (a->members.n)
        report_members(f, &verdict, &report);
    if (a->outside.n)
        report_outside(f, &verdict, &report);
    um_report_print(args, &report);
done:
    um_report_fini(&report);
    umbel_close(f);
    return status ? um_trouble(args, &err) : fine ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_verify = {
    .name = "verify",
    .summary = "measure the error on keys whose answer is known",
    .section = UM_EVERYDAY,
    .values_len = sizeof(verify_args),
    .operands = {{"FILE", UM_TEXT, offsetof(verify_args, file), UM_INPUT,
                  .min = 1}},
    .options = {{.rows = options},
                {.rows = um_key_options, .base = offsetof(verify_args, keys)},
                {.rows = um_open_options, .base = offsetof(verify_args, open)}},
    .run = run,
    .example = "words.umb --members words",
    .excess = "--members",
    .details = "Give --members, --outside, or both. The exit code is 1 if more "
               "members are missing than the filter records. Outside keys that "
               "are also members are dropped and counted.",
};
