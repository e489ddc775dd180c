/*
 * cmd_verify.c - umbel verify: the error, measured.
 */
#include "base/error.h"
#include "cli/files.h"
#include "cli/keys.h"
#include "cli/report.h"
#include "cli/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const um_option options[] = {
    {"members", 0, "FILE", "keys that are in; may be given again"},
    {"outside", 0, "FILE", "keys that are not in; may be given again"},
    {"list", 0, "FILE", "write outside keys that match; - is standard output"},
    {0}};

typedef struct verifying {
    umbel_verifier *verifier;
    FILE *list; /* NULL: not asked for */
    char end;   /* of its lines */
} verifying;

static umbel_status take_members(void *ctx, const um_batch *batch,
                                 umbel_error *err)
{
    verifying *v = ctx;
    return umbel_verify_members(v->verifier, batch->keys, batch->n, err);
}

static void list_wrong(const verifying *v, const umbel_slice *lines,
                       const bool *wrong, size_t n)
{
    for (size_t i = 0; v->list && i < n; i++)
        if (wrong[i]) {
            fwrite(lines[i].data, 1, lines[i].len, v->list);
            putc(v->end, v->list);
        }
}

static umbel_status take_outside(void *ctx, const um_batch *batch,
                                 umbel_error *err)
{
    enum { SOME = 256 };
    verifying *v = ctx;
    bool wrong[SOME];
    umbel_status status = UMBEL_OK;

    for (size_t done = 0, some; status == UMBEL_OK && done < batch->n;
         done += some) {
        some = batch->n - done < SOME ? batch->n - done : SOME;
        status = umbel_verify_outside(v->verifier, batch->keys + done, some,
                                      wrong, err);
        if (status == UMBEL_OK)
            list_wrong(v, batch->lines + done, wrong, some);
    }
    return status;
}

/* Every file given with option. */
static umbel_status read_all(const um_args *args, const char *option,
                             um_take_batch *take, verifying *v,
                             umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    const char *path;

    for (size_t i = 0;
         status == UMBEL_OK && (path = um_value_at(args, option, i)); i++)
        status = um_each_batch(args, &path, 1, take, v, err);
    return status;
}

/* Whether so many may be: any by a kind that forgets, else what it admits. */
static bool may_deny(const umbel_filter *f, uint64_t denied)
{
    uint64_t admits = umbel_denied(f);
    return admits ? denied <= admits : denied == 0 || umbel_may_deny(f);
}

static void report_members(FILE *out, const umbel_verdict *v, bool fine,
                           uint64_t admits)
{
    fprintf(out, "members          %s asked, %s denied",
            um_grouped(v->members).text, um_grouped(v->false_negatives).text);
    if (admits)
        fprintf(out, " (it was retouched, and admits %s)",
                um_grouped(admits).text);
    else if (v->false_negatives && fine)
        fputs(" (this filter may deny members)", out);
    if (!fine)
        fputs(": was the filter built from these, with the same -0, --hex and "
              "--field?",
              out);
    fputc('\n', out);
}

static void report_text(const um_args *args, FILE *out, const umbel_verdict *v,
                        bool fine, uint64_t admits)
{
    if (um_has(args, "members"))
        report_members(out, v, fine, admits);
    if (!um_has(args, "outside"))
        return;
    fprintf(out, "outside          %s asked, %s match falsely\n",
            um_grouped(v->outside).text, um_grouped(v->false_positives).text);
    if (v->dropped)
        fprintf(out, "dropped          %s of the outside keys were members\n",
                um_grouped(v->dropped).text);
    fprintf(out, "measured error   %s, 99 %% interval %s",
            um_percent(v->rate).text, um_percent(v->low).text);
    fprintf(out, " to %s\n", um_percent(v->high).text);
    fprintf(out, "predicted error  %s\n", um_percent(v->predicted).text);
}

static void report_json(FILE *out, const umbel_verdict *v, bool denies,
                        uint64_t admits)
{
    umbel_info info = {0};

    um_info_count(&info, "members", v->members);
    um_info_count(&info, "false_negatives", v->false_negatives);
    um_info_flag(&info, "may_deny", denies);
    um_info_count(&info, "denied_members", admits);
    um_info_count(&info, "outside", v->outside);
    um_info_count(&info, "false_positives", v->false_positives);
    um_info_count(&info, "dropped", v->dropped);
    um_info_real(&info, "rate", v->rate);
    um_info_real(&info, "low", v->low);
    um_info_real(&info, "high", v->high);
    um_info_real(&info, "predicted", v->predicted);
    um_print_json(out, &info);
}

static umbel_status verify(const um_args *args, const umbel_filter *f,
                           FILE *list, umbel_verdict *out, umbel_error *err)
{
    verifying v = {.list = list, .end = um_has(args, "null") ? '\0' : '\n'};
    umbel_status status = umbel_verify_open(f, &v.verifier, err);

    if (status != UMBEL_OK)
        return status;
    status = read_all(args, "members", take_members, &v, err);
    if (status == UMBEL_OK)
        status = read_all(args, "outside", take_outside, &v, err);
    if (status == UMBEL_OK)
        umbel_verify_result(v.verifier, out);
    umbel_verify_close(v.verifier);
    return status;
}

static bool stdin_twice(const um_args *args)
{
    return um_stdin_among(args->operands, 1) + um_stdin_uses(args, "members") +
               um_stdin_uses(args, "outside") >
           1;
}

/* The list must not be one of the files that are read. */
static umbel_status spare_inputs(const um_args *args, const char *list,
                                 umbel_error *err)
{
    umbel_status status = um_refuse_overwrite(list, args->operands[0], err);
    const char *path;

    for (size_t i = 0;
         status == UMBEL_OK && (path = um_value_at(args, "members", i)); i++)
        status = um_refuse_overwrite(list, path, err);
    for (size_t i = 0;
         status == UMBEL_OK && (path = um_value_at(args, "outside", i)); i++)
        status = um_refuse_overwrite(list, path, err);
    return status;
}

static umbel_status open_list(const um_args *args, FILE **out, umbel_error *err)
{
    const char *path = um_value(args, "list");

    *out = NULL;
    if (!path)
        return UMBEL_OK;
    umbel_status status = spare_inputs(args, path, err);
    if (status != UMBEL_OK)
        return status;
    *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    return *out ? UMBEL_OK : um_fail_path(err, path);
}

static umbel_status close_list(const um_args *args, FILE *list,
                               umbel_error *err)
{
    if (!list || list == stdout)
        return UMBEL_OK;
    bool failed = ferror(list);
    if (fclose(list) != 0 || failed)
        return um_fail_path(err, um_value(args, "list"));
    return UMBEL_OK;
}

/* What the filter says of itself, beside the verdict. */
typedef struct own_words {
    bool denies; /* it may */
    bool fine;   /* no more are denied than may be */
    uint64_t admits;
} own_words;

static umbel_status verify_file(const um_args *args, umbel_verdict *out,
                                own_words *c, umbel_error *err)
{
    umbel_filter *f;
    FILE *list;

    umbel_status status = um_open_filter(args, args->operands[0], &f, err);
    if (status != UMBEL_OK)
        return status;
    status = open_list(args, &list, err);
    if (status == UMBEL_OK) {
        status = verify(args, f, list, out, err);
        umbel_status closed =
            close_list(args, list, status == UMBEL_OK ? err : NULL);
        if (status == UMBEL_OK)
            status = closed;
    }
    if (status == UMBEL_OK)
        *c = (own_words){umbel_may_deny(f), may_deny(f, out->false_negatives),
                         umbel_denied(f)};
    umbel_close(f);
    return status;
}

static int run(const um_args *args)
{
    umbel_verdict verdict;
    umbel_error err;
    own_words claims = {0};

    if (args->noperands != 1)
        return um_misuse(args, "give one filter");
    if (!um_has(args, "members") && !um_has(args, "outside"))
        return um_misuse(args, "say what is true: --members FILE, "
                               "--outside FILE, or both");
    if (um_has(args, "list") && !um_has(args, "outside"))
        return um_misuse(args, "--list wants --outside");
    if (stdin_twice(args))
        return um_misuse(args, "standard input can be read only once");
    if (verify_file(args, &verdict, &claims, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    const char *list = um_value(args, "list");
    FILE *out = list && strcmp(list, "-") == 0 ? stderr : stdout;
    if (um_has(args, "json"))
        report_json(out, &verdict, claims.denies, claims.admits);
    else if (!um_has(args, "quiet"))
        report_text(args, out, &verdict, claims.fine, claims.admits);
    return claims.fine ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_verify = {
    .name = "verify",
    .args = "FILE [--members FILE] [--outside FILE]",
    .summary = "measure the error on keys whose truth is known",
    .options = {options, um_keys_options, um_filter_options},
    .run = run,
    .example = "words.umb --members words",
    .details = "Exit code 1 when more members are denied than the filter "
               "admits. Outside keys that are also members are dropped and "
               "counted. Intervals are 99 %.",
};
