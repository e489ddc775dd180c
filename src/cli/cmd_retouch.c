/*
 * cmd_retouch.c - umbel retouch: take back errors that hurt, and print the
 * bill.
 */
#define _GNU_SOURCE /* SA_RESETHAND */
#include "base/error.h"
#include "base/text.h"
#include "cli/choose_groups.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/retouching.h"
#include "cli/table.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const um_option options[] = {
    {"members", 0, "FILE", "all keys of the filter; may be given again"},
    {"never", 0, "FILE", "keys that must not match; may be given again"},
    {"output", 'o', "FILE", "write the result there; - is standard output"},
    {"weights", 0, NULL, "lines end in a weight (as in files *.tsv)"},
    {"method", 0, "NAME",
     "how: greedy (default), anneal, ratio ...; umbel --help"},
    {"max-fn", 0, "P", "lose at most this share of members (default 1%)"},
    {"all", 0, NULL, "remove everything, whatever it costs"},
    {"cost", 0, "L", "stop where a step loses more than L times what it gains"},
    {"beta", 0, "X", "remove only this share of matching keys, at random"},
    {"heaviest", 0, NULL, "with --beta: heaviest keys first, not random ones"},
    {"count-over", 0, "WHAT",
     "keys that count: never (default), or outside, too"},
    {"closure", 0, NULL, "clear bits that no member needs any more"},
    {"moves", 0, "N", "tries of anneal, or bits of random-bits"},
    {"time", 0, "S", "anneal for S seconds; not reproducible"},
    {"seed", 0, "N", "another choice where chance decides (default 0)"},
    {"curve", 0, "FILE", "write the trade-off: CSV, or SVG by its name"},
    {"lost", 0, "FILE", "write the members that are lost"},
    {"dry-run", 0, NULL, "print the bill, write no filter"},
    {"allow-members", 0, NULL, "keys that must not match may be members"},
    {"force", 0, NULL, "members need not be those of the filter"},
    {0}};

enum { SHOWN = 10 }; /* keys named in a refusal */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* While annealing, the first interrupt means "enough", the second kills. */
static void catch_interrupt(const um_retouching *r)
{
    struct sigaction action = {.sa_handler = on_interrupt,
                               .sa_flags = (int)SA_RESETHAND};

    if (r->params.method && strcmp(r->params.method, "anneal") == 0)
        sigaction(SIGINT, &action, NULL);
}

static bool watch(void *ctx, const umbel_retouch_step *step)
{
    um_curve *curve = ctx;

    if (curve)
        um_curve_add(curve, step);
    return !interrupted;
}

static umbel_status parse_count_over(const um_args *args, bool *outside,
                                     umbel_error *err)
{
    const char *what = um_value(args, "count-over");

    *outside = what && strcmp(what, "outside") == 0;
    if (what && !*outside && strcmp(what, "never") != 0)
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "--count-over is never, or outside, got \"%s\"", what);
    return UMBEL_OK;
}

static umbel_status parse_numbers(const um_args *args, umbel_retouch_params *p,
                                  umbel_error *err)
{
    umbel_status status = um_value_real(args, "max-fn", 0, 1, &p->max_fn, err);

    if (um_has(args, "max-fn") && p->max_fn == 0)
        p->max_fn = -1; /* really none */
    if (um_has(args, "all"))
        p->max_fn = 1;
    if (status == UMBEL_OK)
        status = um_value_real(args, "cost", 1e-12, 1e12, &p->cost, err);
    if (status == UMBEL_OK)
        status = um_value_real(args, "beta", 1e-12, 1, &p->beta, err);
    if (status == UMBEL_OK)
        status = um_value_real(args, "time", 1e-3, 1e9, &p->seconds, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "moves", &p->moves, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "seed", &p->seed, err);
    return status;
}

static umbel_status parse(um_retouching *r, umbel_error *err)
{
    umbel_retouch_params *p = &r->params;

    *p = (umbel_retouch_params)UMBEL_RETOUCH_INIT;
    p->method = um_value(r->args, "method");
    p->heaviest = um_has(r->args, "heaviest");
    p->closure = um_has(r->args, "closure");
    p->allow_members = um_has(r->args, "allow-members");
    p->force = um_has(r->args, "force");
    umbel_status status = parse_count_over(r->args, &p->count_outside, err);
    return status == UMBEL_OK ? parse_numbers(r->args, p, err) : status;
}

static void print_line(FILE *out, umbel_slice line)
{
    char text[128];
    size_t len = line.len < sizeof text - 1 ? line.len : sizeof text - 1;

    memcpy(text, line.data, len);
    text[len] = '\0';
    for (size_t i = 0; i < len; i++)
        if (!text[i])
            text[i] = '?';
    um_disarm(text);
    fprintf(out, "  %s%s\n", text, len < line.len ? "..." : "");
}

/* Which keys of --never are members; nothing is wrong when none is. */
static umbel_status refuse_members(const um_retouching *r, umbel_error *err)
{
    umbel_keyset members = um_keylist_set(&r->members);
    bool *both = malloc(r->never.n + 1);
    size_t n = 0, shown = 0;

    if (!both)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys",
                       r->never.n);
    umbel_status status =
        um_find_clashes(r->filter, &members, &r->never, both, &n, err);
    if (status == UMBEL_OK && n)
        fprintf(stderr, "keys of --never that are members:\n");
    for (size_t i = 0; status == UMBEL_OK && i < r->never.n && shown < SHOWN;
         i++)
        if (both[i]) {
            print_line(stderr, um_keylist_line(&r->never, i));
            shown++;
        }
    if (status == UMBEL_OK && n > shown)
        fprintf(stderr, "  and %zu more\n", n - shown);
    free(both);
    if (status == UMBEL_OK && n)
        status = um_fail(err, UMBEL_E_KEY,
                         "%s of --never %s: to lose %s say --allow-members",
                         um_counted(n, "key", "keys").text,
                         n == 1 ? "is a member" : "are members",
                         n == 1 ? "it" : "them");
    return status;
}

static umbel_status retouch(um_retouching *r, umbel_filter *f, um_curve *curve,
                            bool *lost, umbel_retouch_result *bill,
                            umbel_error *err)
{
    umbel_keyset members = um_keylist_set(&r->members);
    umbel_keyset never = um_keylist_set(&r->never);
    umbel_retouch_params p = r->params;
    umbel_error inner;

    if (curve || (p.method && strcmp(p.method, "anneal") == 0)) {
        p.watch = watch;
        p.ctx = curve;
    }
    umbel_status status =
        umbel_retouch(f, &members, &never, &p, bill, lost, &inner);
    if (status == UMBEL_E_MISMATCH)
        return um_fail(err, status, "%s; if that is meant, say --force",
                       inner.text);
    if (status != UMBEL_OK)
        *err = inner;
    return status;
}

/* What more members would buy: greedy on a copy, without end. */
static umbel_status look_further(um_retouching *r, umbel_error *err)
{
    umbel_retouch_result bill;
    umbel_filter *copy;
    umbel_retouch_params given = r->params;

    umbel_status status = umbel_copy(r->filter, &copy, err);
    if (status != UMBEL_OK)
        return status;
    r->params.method = NULL;
    r->params.cost = 0;
    r->params.max_fn = 1 - 1e-9; /* a limit, so that weights count */
    status = retouch(r, copy, &r->further, NULL, &bill, err);
    r->params = given;
    umbel_close(copy);
    return status;
}

static bool is_ours(const char *method)
{
    return !method || strcmp(method, "greedy") == 0 ||
           strcmp(method, "anneal") == 0;
}

static bool shows_further(const um_retouching *r)
{
    return !um_has(r->args, "json") && !um_has(r->args, "quiet") &&
           !um_has(r->args, "all") && !um_has(r->args, "cost") &&
           is_ours(r->params.method);
}

static umbel_status work(um_retouching *r, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    bool keep = um_has(r->args, "lost");

    status =
        um_keylist_read(&r->members, r->args, "members", r->filter, keep, err);
    if (status == UMBEL_OK)
        status =
            um_keylist_read(&r->never, r->args, "never", r->filter, true, err);
    if (status == UMBEL_OK && !r->params.allow_members)
        status = refuse_members(r, err);
    if (status == UMBEL_OK && keep && !(r->lost = calloc(r->members.n + 1, 1)))
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for %zu members",
                         r->members.n);
    umbel_filter *before = NULL;
    if (status == UMBEL_OK && shows_further(r))
        status = umbel_copy(r->filter, &before, err);
    if (status != UMBEL_OK)
        return status;
    catch_interrupt(r);
    status = retouch(r, r->filter, um_has(r->args, "curve") ? &r->curve : NULL,
                     r->lost, &r->bill, err);
    if (status == UMBEL_OK && before && r->bill.left && !r->bill.stopped) {
        umbel_filter *after = r->filter;
        r->filter = before;
        status = look_further(r, err);
        r->filter = after;
    }
    umbel_close(before);
    return status;
}

static umbel_status save_lost(const um_retouching *r, umbel_error *err)
{
    const char *path = um_value(r->args, "lost");
    char end = um_has(r->args, "null") ? '\0' : '\n';

    if (!path)
        return UMBEL_OK;
    um_draft text;
    FILE *out = um_draft_open(&text, err);
    if (!out)
        return UMBEL_E_NOMEM;
    for (size_t i = 0; i < r->members.n; i++)
        if (r->lost[i]) {
            umbel_slice line = um_keylist_line(&r->members, i);
            fwrite(line.data, 1, line.len, out);
            putc(end, out);
        }
    return um_draft_save(&text, path, err);
}

static umbel_status save(const um_retouching *r, umbel_error *err)
{
    const char *curve = um_value(r->args, "curve");
    umbel_status status = UMBEL_OK;

    if (!um_has(r->args, "dry-run"))
        status = um_save_filter(r->filter, um_value(r->args, "output"), err);
    if (status == UMBEL_OK)
        status = save_lost(r, err);
    if (status == UMBEL_OK && curve)
        status = um_curve_save(&r->curve, &r->bill, curve, err);
    return status;
}

static int finish(const um_retouching *r)
{
    um_print_retouching(r);
    return r->bill.left && !um_has_budget(r->args) ? UM_EXIT_NO : UM_EXIT_FINE;
}

/* No output may be one of the files that are read, nor another output. */
static umbel_status spare_inputs(const um_args *args, umbel_error *err)
{
    static const char *const outputs[] = {"output", "curve", "lost"};
    static const char *const inputs[] = {"members", "never"};
    umbel_status status = UMBEL_OK;
    const char *path, *input;

    for (size_t i = 0; i < UM_COUNT(outputs); i++) {
        if (!(path = um_value(args, outputs[i])))
            continue;
        if (i > 0 && status == UMBEL_OK)
            status = um_refuse_overwrite(path, args->operands[0], err);
        for (size_t j = 0; j < UM_COUNT(inputs); j++)
            for (size_t k = 0; status == UMBEL_OK &&
                               (input = um_value_at(args, inputs[j], k));
                 k++)
                status = um_refuse_overwrite(path, input, err);
    }
    return status;
}

static bool stdin_twice(const um_args *args)
{
    return um_stdin_among(args->operands, 1) + um_stdin_uses(args, "members") +
               um_stdin_uses(args, "never") >
           1;
}

static bool are_same(const um_args *args, const char *a, const char *b)
{
    const char *x = um_value(args, a), *y = um_value(args, b);
    return x && y && strcmp(x, y) == 0;
}

static bool is_stdout(const um_args *args, const char *option)
{
    const char *path = um_value(args, option);
    return path && strcmp(path, "-") == 0;
}

/* What is wrong with the command line as a whole; NULL: nothing. */
static const char *misuse(const um_args *args)
{
    if (args->noperands != 1)
        return "give one filter";
    if (!um_has(args, "members") || !um_has(args, "never"))
        return "say --members FILE, all keys of the filter, and --never FILE, "
               "the keys that must not match";
    if (!um_has(args, "output") && !um_has(args, "dry-run"))
        return "say where to, -o FILE, or --dry-run";
    if (um_has(args, "output") && um_has(args, "dry-run"))
        return "--dry-run writes no filter: leave out -o";
    if (is_stdout(args, "lost") || is_stdout(args, "curve"))
        return "--lost and --curve want a file of their own";
    if (are_same(args, "output", "lost") || are_same(args, "output", "curve") ||
        are_same(args, "lost", "curve"))
        return "-o, --lost and --curve are different files";
    if (um_has(args, "all") && um_has_budget(args))
        return "--all knows no limit: leave out --max-fn and --cost";
    if (um_has(args, "moves") && um_has(args, "time"))
        return "say either --moves N or --time S";
    if (stdin_twice(args))
        return "standard input can be read only once";
    return NULL;
}

static int run(const um_args *args)
{
    um_retouching r = {.args = args};
    const char *wrong = misuse(args);
    umbel_error err;

    if (wrong)
        return um_misuse(args, "%s", wrong);
    umbel_status status = parse(&r, &err);
    if (status == UMBEL_OK)
        status = spare_inputs(args, &err);
    if (status == UMBEL_OK)
        status = um_load_filter(args, args->operands[0], &r.filter, &err);
    if (status == UMBEL_OK)
        status = work(&r, &err);
    if (status == UMBEL_OK)
        status = save(&r, &err);
    int code = status == UMBEL_OK ? finish(&r) : um_trouble(args, &err);
    um_keylist_fini(&r.members);
    um_keylist_fini(&r.never);
    um_curve_fini(&r.curve);
    um_curve_fini(&r.further);
    free(r.lost);
    umbel_close(r.filter);
    return code;
}

const um_command um_cmd_retouch = {
    .name = "retouch",
    .args = "FILE --members FILE --never FILE -o FILE",
    .summary = "take back errors that hurt, and print the bill",
    .options = {options, um_keys_options, um_filter_options},
    .run = run,
    .example = "words.umb --members words --never wrong -o better.umb",
    .details = "Exit code 1 when keys of --never are left and neither --max-fn "
               "nor --cost allowed it.",
};
