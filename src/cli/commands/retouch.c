/*
 * retouch.c - umbel retouch: removes selected false positives, and reports the
 * cost.
 */
#define _GNU_SOURCE /* SA_RESETHAND */
#include "negatives/retouch/retouch.h"
#include "base/error.h"
#include "build/negatives.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/progress.h"
#include "cli/framework/report.h"
#include "draw/svg.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

/*
 * The curve of a retouch as CSV or SVG.
 */

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void csv_row(FILE *out, const umbel_retouch_step *s,
                    const umbel_retouch_result *r)
{
    fprintf(out, "%" PRIu64 ",%.9g,%.9g,%" PRIu64 ",%" PRIu64 ",%.9g,%.9g\n",
            s->lost, share((double)s->lost, (double)r->members), s->lost_weight,
            s->removed, r->matched - s->removed, s->removed_weight,
            um_weight_left(r, s));
}

static void write_csv(FILE *out, const um_curve *c,
                      const umbel_retouch_result *r,
                      const umbel_retouch_step *end)
{
    static const umbel_retouch_step nothing;

    fputs("lost,lost_share,lost_weight,removed,left,removed_weight,"
          "left_weight\n",
          out);
    csv_row(out, &nothing, r);
    for (size_t i = 0; i < c->n; i++)
        csv_row(out, &c->steps[i], r);
    csv_row(out, end, r);
}

static void add_point(um_series *s, const umbel_retouch_step *step,
                      const umbel_retouch_result *r)
{
    um_series_point(s, 100 * share((double)step->lost, (double)r->members),
                    100 * share(um_weight_left(r, step), r->matched_weight), 0);
}

/* Fills the figure with at most a thousand steps, since more are not
 * visible. */
static void fill_figure(um_figure *f, const um_curve *c,
                        const umbel_retouch_result *r,
                        const umbel_retouch_step *end)
{
    static const umbel_retouch_step nothing;
    size_t every = c->n / 1000 + 1;

    um_figure_init(f, "curve", "false positives left, against members lost",
                   "members lost, per cent", "weight left, per cent");
    um_series *steps = um_figure_series(f, "each step");
    add_point(steps, &nothing, r);
    for (size_t i = 0; i < c->n; i += every)
        add_point(steps, &c->steps[i], r);
    um_series *stop = um_figure_series(f, "this filter");
    if (stop)
        stop->dots = true;
    add_point(stop, end, r);
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);

    return len >= n && strcmp(text + len - n, end) == 0;
}

/* Writes the figure or, if it is NULL, the steps. */
static umbel_status save_curve(const um_figure *figure, const um_curve *c,
                               const umbel_retouch_result *r,
                               const umbel_retouch_step *end, const char *path,
                               umbel_error *err)
{
    um_draft text;

    if (c->no_memory || (figure && um_figure_bad(figure)))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the curve");
    FILE *out = um_draft_open(&text, err);
    if (!out)
        return UMBEL_E_NOMEM;
    if (figure)
        um_svg_figure(out, figure);
    else
        write_csv(out, c, r, end);
    return um_draft_save(&text, path, err);
}

/* Writes the curve to path: as SVG if it ends in .svg, otherwise as CSV. The
 * result is the last point. */
static umbel_status curve_save(const um_curve *c, const umbel_retouch_result *r,
                               const char *path, umbel_error *err)
{
    umbel_retouch_step end = {.lost = r->lost,
                              .removed = r->removed,
                              .lost_weight = r->lost_weight,
                              .removed_weight =
                                  r->matched_weight - r->left_weight};
    um_figure figure;

    if (!ends_with(path, ".svg"))
        return save_curve(NULL, c, r, &end, path, err);
    fill_figure(&figure, c, r, &end);
    umbel_status status = save_curve(&figure, c, r, &end, path, err);
    um_figure_fini(&figure);
    return status;
}

typedef struct retouch_args {
    const char *file;
    um_list members, never;
    const char *output, *method, *curve, *lost;
    bool weights, all, heaviest, closure, dry_run, allow_members, force;
    um_real max_fn, cost, beta, seconds;
    um_whole moves, seed;
    um_choice count_over;
    um_open_args open;
    um_key_args keys;
} retouch_args;

/* Modes by the parameters that the method uses, in the order of modes below. */
enum {
    GREEDY = UM_MODE(0),
    ANNEAL = UM_MODE(1),
    RANDOM_BITS = UM_MODE(2),
    UNCOUNTED = UM_MODE(3),
    COUNTED = UM_MODE(4)
};

static const char *const counted_keys[] = {"never", "outside", NULL};

static const um_option options[] = {
    {"members", 0, "FILE", "all keys of the filter; may be repeated",
     UM_TARGET(retouch_args, members), .role = UM_INPUT, .required = true},
    {"never", 0, "FILE", "keys that must not match; may be repeated",
     UM_TARGET(retouch_args, never), .role = UM_INPUT, .required = true},
    {"output", 'o', "FILE", "write the result to FILE; - is standard output",
     UM_TARGET(retouch_args, output), .role = UM_UMBEL_OUTPUT,
     .excludes = "dry-run"},
    {"weights", 0, NULL, "lines end in a weight (as in files named *.tsv)",
     UM_TARGET(retouch_args, weights)},
    {"method", 0, "NAME", "greedy (default), anneal ... (umbel help methods)",
     UM_TARGET(retouch_args, method), .names = "methods"},
    {"max-fn", 0, "P", "lose at most this share of the members (default 1%)",
     UM_TARGET(retouch_args, max_fn), .high = 1},
    {"all", 0, NULL, "remove all keys, however many members are lost",
     UM_TARGET(retouch_args, all), .excludes = "max-fn cost"},
    {"cost", 0, "L", "stop when a step loses more than L times what it gains",
     UM_TARGET(retouch_args, cost), .low = 1e-12, .high = 1e12},
    {"beta", 0, "X", "remove only this share of the matching keys, at random",
     UM_TARGET(retouch_args, beta), .low = 1e-12, .high = 1},
    {"heaviest", 0, NULL, "take keys by weight, heaviest first, not at random",
     UM_TARGET(retouch_args, heaviest)},
    {"count-over", 0, "WHAT",
     "which keys methods count: never (default), or outside: also those that "
     "--beta spares",
     UM_TARGET(retouch_args, count_over), .choices = counted_keys,
     .needs = "beta", .modes = GREEDY | ANNEAL | COUNTED},
    {"closure", 0, NULL, "also clear bits that no member needs any more",
     UM_TARGET(retouch_args, closure),
     .modes = RANDOM_BITS | UNCOUNTED | COUNTED},
    {"moves", 0, "N", "moves to try, or bits to clear",
     UM_TARGET(retouch_args, moves), .low = 1, .excludes = "time",
     .modes = ANNEAL | RANDOM_BITS},
    {"time", 0, "S", "anneal for S seconds; not reproducible",
     UM_TARGET(retouch_args, seconds), .low = 1e-3, .high = 1e9,
     .modes = ANNEAL},
    {"seed", 0, "N", "seed of random choices (default 0)",
     UM_TARGET(retouch_args, seed)},
    {"curve", 0, "FILE",
     "write the trade-off to FILE: CSV, or SVG if it ends in .svg",
     UM_TARGET(retouch_args, curve), .role = UM_OUTPUT},
    {"lost", 0, "FILE", "write the members that are lost to FILE, a new file",
     UM_TARGET(retouch_args, lost), .role = UM_NEW_OUTPUT},
    {"dry-run", 0, NULL, "only report: write no filter",
     UM_TARGET(retouch_args, dry_run)},
    {"allow-members", 0, NULL, "keys of --never may be members: lose them",
     UM_TARGET(retouch_args, allow_members)},
    {"force", 0, NULL, "accept members that are not those of the filter",
     UM_TARGET(retouch_args, force)},
    {0}};

static unsigned mode(const void *values)
{
    const char *method = ((const retouch_args *)values)->method;

    if (um_method_uses(method, UM_USES_SECONDS))
        return ANNEAL;
    if (!um_method_uses(method, UM_USES_CLOSURE))
        return GREEDY;
    if (um_method_uses(method, UM_USES_MOVES))
        return RANDOM_BITS;
    return um_method_uses(method, UM_USES_OUTSIDE) ? COUNTED : UNCOUNTED;
}

static bool has_limit(const retouch_args *a)
{
    return a->max_fn.given || a->cost.given;
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Returns what is wrong with the options if the rows cannot express it;
 * otherwise NULL. */
static const char *find_misuse(const retouch_args *a)
{
    if (!a->output && !a->dry_run)
        return "-o FILE is missing: write the result to FILE; or say --dry-run";
    if (is_stdout(a->lost) || is_stdout(a->curve))
        return "--lost and --curve need a file, not standard output";
    if (a->seed.given && a->heaviest &&
        !um_method_uses(a->method, UM_USES_SEED))
        return "--seed has no effect here: with --heaviest nothing is random "
               "in this method";
    return NULL;
}

/* --- running -------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static bool stop_when_interrupted(void *ctx, const umbel_retouch_step *step)
{
    (void)ctx;
    (void)step;
    return !interrupted;
}

/* Makes a slow method end with its current result at the first interrupt; the
 * second one kills. */
static void catch_interrupt(umbel_retouch_params *p)
{
    struct sigaction action = {.sa_handler = on_interrupt,
                               .sa_flags = (int)SA_RESETHAND};

    if (!um_method_uses(p->method, UM_USES_SECONDS))
        return;
    p->watch = stop_when_interrupted;
    sigaction(SIGINT, &action, NULL);
}

static umbel_retouch_params params_from_args(const retouch_args *a)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;

    p.method = a->method;
    if (a->all || a->cost.given)
        p.max_fn = 1;
    if (a->max_fn.given && !a->all)
        p.max_fn = a->max_fn.x;
    p.cost = a->cost.x;
    if (a->beta.given)
        p.beta = a->beta.x;
    p.heaviest = a->heaviest;
    p.count_outside = a->count_over.index == 1;
    p.closure = a->closure;
    p.allow_members = a->allow_members;
    p.force = a->force;
    p.moves = a->moves.n;
    p.seconds = a->seconds.x;
    p.seed = a->seed.n;
    return p;
}

/* Returns true if the report should say what larger losses would remove: if the
 * limit can be changed, for methods that close all bits they can. */
static bool is_explored(const um_args *args)
{
    const retouch_args *a = args->values;

    return !args->common.quiet && !a->all && !a->cost.given &&
           !um_method_uses(a->method, UM_USES_CLOSURE);
}

static umbel_status retouch(const um_args *args, umbel_filter *f,
                            um_retouched *out, umbel_error *err)
{
    const retouch_args *a = args->values;
    um_key_source members, never;
    um_retouch_job job = {.members = &members,
                          .never = &never,
                          .params = params_from_args(a),
                          .find_lost = a->lost != NULL,
                          .record = a->curve != NULL,
                          .explore = is_explored(args)};

    UM_TRY(um_key_source_from_args(args, &a->keys, NULL, a->members, &members,
                                   err));
    UM_TRY(
        um_key_source_from_args(args, &a->keys, NULL, a->never, &never, err));
    UM_TRY(um_obey_key_form(f, &members.format, err));
    UM_TRY(um_obey_key_form(f, &never.format, err));
    members.format.weights = never.format.weights =
        a->weights ? UM_WEIGHTS_ALL : UM_WEIGHTS_TSV;
    members.pass = "reading members";
    never.pass = "reading keys of --never";
    UM_TRY(um_retouch_read(f, &job, out, err));
    um_progress_pass("choosing bits to clear");
    catch_interrupt(&job.params);
    umbel_status status = um_retouch_run_lists(f, &job, out, err);
    if (status == UMBEL_E_MISMATCH) {
        umbel_error inner = *err;
        um_set_error(err, status, "%.200s; if that is meant, say --force",
                     inner.text);
    }
    return status;
}

static umbel_status save_lost(const retouch_args *a, const um_retouched *r,
                              umbel_error *err)
{
    um_draft text;
    FILE *out = um_draft_open(&text, err);

    if (!out)
        return UMBEL_E_NOMEM;
    for (size_t i = 0; i < r->members.n; i++)
        if (r->lost[i]) {
            umbel_slice line = um_key_list_line(&r->members, i);
            fwrite(line.data, 1, line.len, out);
            putc(a->keys.null ? '\0' : '\n', out);
        }
    return um_draft_save(&text, a->lost, err);
}

static umbel_status save(const retouch_args *a, const umbel_filter *f,
                         const um_retouched *r, umbel_error *err)
{
    if (a->output)
        UM_TRY(um_save_filter(f, a->output, err));
    if (a->lost)
        UM_TRY(save_lost(a, r, err));
    if (a->curve)
        UM_TRY(curve_save(&r->curve, &r->result, a->curve, err));
    return UMBEL_OK;
}

/* --- reporting ------------------------------------------------------------ */

/* Notes what would be left if that many members were lost. */
static void note_step(um_report *r, const umbel_retouch_result *b,
                      uint64_t lost, const umbel_retouch_step *at)
{
    double left = um_weight_left(b, at);
    bool weighted = b->matched_weight != (double)b->matched;

    um_report_note(
        r, "With --max-fn %.2g, about %s of these keys would be left%s%s%s.",
        (double)lost / (double)b->members,
        um_grouped(b->matched - at->removed).text, weighted ? " (" : "",
        weighted ? um_rate(left / b->matched_weight).text : "",
        weighted ? " of their weight)" : "");
}

/* Notes the effect of losing some percent more, and the cost of removing
 * all. */
static void note_more(um_report *r, const um_retouched *t)
{
    static const double more[] = {0.01, 0.02, 0.05, 0.1, 0.2};
    const umbel_retouch_result *b = &t->result;

    if (t->more.n == 0)
        return;
    const umbel_retouch_step *end = &t->more.steps[t->more.n - 1];
    for (size_t i = 0; i < UM_COUNT(more); i++) {
        uint64_t lost = b->lost + (uint64_t)ceil(more[i] * (double)b->members);
        umbel_retouch_step at = um_curve_at(&t->more, lost);
        if (lost >= end->lost)
            break;
        note_step(r, b, lost, &at);
    }
    um_report_note(r, "With --all, about %s of the members would be lost.",
                   um_rate((double)end->lost / (double)b->members).text);
}

static void report_keys(um_report *r, const umbel_retouch_result *b)
{
    um_report_count(r, "never", "keys of --never", NULL, b->never);
    um_report_count(r, "matched", "matched before", NULL, b->matched);
    um_report_count(r, "removed", "removed", NULL, b->removed);
    um_report_count(r, "left", "left", NULL, b->left);
    um_report_count(r, "outside_removed", "others removed", NULL,
                    b->outside_removed);
    um_report_count(r, "members", NULL, NULL, b->members);
    um_report_count(r, "lost", "members lost", NULL, b->lost);
    um_report_rate(r, "lost_share", "share lost", b->lost_share);
    um_report_count(r, "bits_cleared", NULL, NULL, b->bits_cleared);
    um_report_real(r, "chi", NULL, NULL, b->chi);
    um_report_real(r, "seconds", NULL, NULL, b->seconds);
    um_report_count(r, "outside", "others", NULL, b->outside);
    um_report_count(r, "false_negatives_before", "missing before", NULL,
                    b->false_negatives_before);
}

static void fill_report(const retouch_args *a, const umbel_filter *f,
                        const um_retouched *t, um_report *r)
{
    const umbel_retouch_result *b = &t->result;

    report_keys(r, b);
    um_report_real(r, "matched_weight", "weight before", NULL,
                   b->matched_weight);
    um_report_real(r, "left_weight", "weight left", NULL, b->left_weight);
    um_report_real(r, "members_weight", "weight of members", NULL,
                   b->members_weight);
    um_report_real(r, "lost_weight", "weight lost", NULL, b->lost_weight);
    um_report_count(r, "known_false_negatives", "recorded missing", NULL,
                    umbel_known_false_negatives(f));
    um_report_count(r, "bytes", NULL, NULL, umbel_encoded_len(f));
    um_report_rate(r, "predicted_error", NULL, umbel_predict(f));
    um_report_flag(r, "stopped", "interrupted", b->stopped);
    if (b->stopped)
        um_report_note(r, "It was interrupted: this is the best result so "
                          "far.");
    else if (b->left && !has_limit(a) && !a->all)
        um_report_note(r, "It stopped when 1 %% of the members were lost, the "
                          "default limit: change it with --max-fn P or --all.");
    note_more(r, t);
    if (a->dry_run)
        um_report_note(r, "No filter was written.");
}

/* Refuses outputs other than -o that would replace the filter. */
static umbel_status spare_filter(const retouch_args *a, umbel_error *err)
{
    if (a->lost)
        UM_TRY(um_refuse_overwrite(a->lost, a->file, err));
    if (a->curve)
        UM_TRY(um_refuse_overwrite(a->curve, a->file, err));
    return UMBEL_OK;
}

static umbel_status retouch_file(const um_args *args, um_retouched *t,
                                 umbel_error *err)
{
    const retouch_args *a = args->values;
    um_report report = {0};
    umbel_filter *f;
    umbel_status status;

    UM_TRY(spare_filter(a, err));
    UM_TRY(um_load_filter(&a->open, a->file, &f, err));
    status = retouch(args, f, t, err);
    if (status)
        goto done;
    status = save(a, f, t, err);
    if (status)
        goto done;
    fill_report(a, f, t, &report);
    um_report_print(args, &report);
done:
    um_report_fini(&report);
    umbel_close(f);
    return status;
}

static int run(const um_args *args)
{
    const retouch_args *a = args->values;
    const char *misuse = find_misuse(a);
    um_retouched t = {.lost = NULL};
    umbel_error err;

    if (misuse)
        return um_misuse(args, "%s", misuse);
    umbel_status status = retouch_file(args, &t, &err);
    bool missed = t.result.left && !has_limit(a);
    um_retouched_fini(&t);
    return status ? um_trouble(args, &err) : missed ? UM_EXIT_NO : UM_EXIT_FINE;
}

const um_command um_cmd_retouch = {
    .name = "retouch",
    .summary = "remove chosen false positives, and report the cost",
    .section = UM_OTHER,
    .values_len = sizeof(retouch_args),
    .operands = {{"FILE", UM_TEXT, offsetof(retouch_args, file), UM_REPLACEABLE,
                  .min = 1}},
    .options = {{.rows = options},
                {.rows = um_key_options, .base = offsetof(retouch_args, keys)},
                {.rows = um_open_options,
                 .base = offsetof(retouch_args, open)}},
    .modes = {{"with --method greedy", ""},
              {"with --method anneal", "--method anneal"},
              {"with --method random-bits", "--method random-bits"},
              {"with --method random or min-fn", "--method random"},
              {"with --method max-fp or ratio", "--method ratio"}},
    .mode = mode,
    .run = run,
    .example = "words.umb --members words --never wrong -o better.umb",
    .details = "The size, format and queries of the filter stay the same; some "
               "members no longer match. If you can rebuild the filter, use "
               "'umbel build --never': no member is lost. The exit code is 1 "
               "if keys of --never are left and neither --max-fn nor --cost "
               "allowed it. The output may be FILE: it is replaced when the "
               "result is complete.",
};
