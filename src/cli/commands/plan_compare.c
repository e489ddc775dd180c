/*
 * plan_compare.c - umbel plan --members A --never B: compares the strategies
 * that keep the keys of B from matching, at equal bytes.
 */
#include "base/error.h"
#include "build/negatives.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/progress.h"
#include "draw/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Prints the command that builds each strategy.
 */

/* A command being printed. */
typedef struct typing {
    FILE *out;
    const um_args *args;
    const plan_args *a;
    const umbel_strategy *way;
    uint64_t bytes; /* limit of every strategy */
} typing;

static void write_files(const typing *t, const char *prefix, um_list files)
{
    for (size_t i = 0; i < files.n; i++) {
        fprintf(t->out, " %s", prefix);
        um_print_quoted(t->out, files.item[i]);
    }
}

static void write_text(const typing *t, const char *option, const char *value)
{
    if (!value)
        return;
    fprintf(t->out, " --%s ", option);
    um_print_quoted(t->out, value);
}

static void write_input(const typing *t)
{
    um_print_used(t->out, t->args, um_key_options, NULL);
    um_print_used(t->out, t->args, um_secret_options, NULL);
}

/* Writes the form of keys, which only build has as an option: filters record
 * it. */
static void write_form(const typing *t)
{
    um_print_used(t->out, t->args, um_form_options, NULL);
}

static void write_never(const typing *t)
{
    write_files(t, "--never ", t->a->never);
    if (t->a->weights)
        fputs(" --weights", t->out);
}

static void write_hash(const typing *t)
{
    write_text(t, "hash", t->a->shape.hash);
    if (t->a->shape.seed.given)
        fprintf(t->out, " --seed %" PRIu64, t->a->shape.seed.n);
}

static void write_shape(const typing *t, uint64_t cells, uint32_t hashes)
{
    write_text(t, "addressing",
               t->way->addressing ? t->way->addressing
                                  : t->a->shape.addressing);
    write_hash(t);
    fprintf(t->out, " --bits %" PRIu64 " --hashes %" PRIu32, cells, hashes);
}

/* Writes the members; a delimiter has no effect without a field. */
static void write_members(const typing *t)
{
    write_files(t, "", t->a->members);
    write_form(t);
    um_print_used(t->out, t->args, um_key_options,
                  t->a->keys.field.given || t->a->keys.csv ? NULL
                                                           : "delimiter");
    um_print_used(t->out, t->args, um_secret_options, NULL);
}

static void write_plain(const typing *t)
{
    fputs("umbel build", t->out);
    write_members(t);
    write_shape(t, t->way->cells, t->way->hashes);
    fputs(" -q -o FILE", t->out);
}

static void write_retouch(const typing *t)
{
    write_plain(t);
    fputs(" && umbel retouch FILE", t->out);
    write_files(t, "--members ", t->a->members);
    write_never(t);
    write_input(t);
    fputs(" -o FILE", t->out);
}

static void write_groups(const typing *t)
{
    fputs("umbel build", t->out);
    write_files(t, "", t->a->members);
    write_form(t);
    write_never(t);
    write_input(t);
    fputs(" --groups 2", t->out);
    write_shape(t, t->way->cells, t->way->hashes);
    fputs(" -o FILE", t->out);
}

static bool has_weights(const plan_args *a)
{
    for (size_t i = 0; i < a->never.n; i++) {
        size_t len = strlen(a->never.item[i]);
        if (len > 4 && strcmp(a->never.item[i] + len - 4, ".tsv") == 0)
            return true;
    }
    return a->weights;
}

/* Writes the listed keys that 'check' printed as whole lines, which still have
 * their weights. Of lists of names it prints the names alone. */
static void write_listed(const typing *t, bool printed)
{
    bool names = printed && t->a->keys.list_format.index > UM_LIST_HIBP;

    um_print_used(t->out, t->args, um_key_options,
                  names ? "list-format" : NULL);
    um_print_used(t->out, t->args, um_secret_options, NULL);
    if (has_weights(t->a) && !t->a->keys.field.given)
        fputs(" --field 1", t->out);
}

/* Writes the commands that select the heaviest matching lines; those of equal
 * weight stay in their order. */
static void write_heaviest(const typing *t)
{
    if (!t->way->second_lines)
        return;
    if (has_weights(t->a)) {
        const char *delimiter = t->a->keys.delimiter;
        char fields[8] = "\\t";
        if (delimiter && strcmp(delimiter, "^") == 0) /* special within [ ] */
            strcpy(fields, "\\\\^");
        else if (delimiter && strcmp(delimiter, "\\") == 0)
            strcpy(fields, "\\\\\\\\");
        else if (delimiter && delimiter[1] == '\0') /* quoted as [ ] */
            snprintf(fields, sizeof fields, "[%s]", delimiter);
        fputs(" | awk -F ", t->out);
        um_print_quoted(t->out, fields);
        fputs(" '{ print $NF \"\\t\" $0 }' | LC_ALL=C sort -s -k 1,1gr | cut "
              "-f 2-",
              t->out);
    }
    fprintf(t->out, " | head -n %" PRIu64, t->way->second_lines);
}

static void write_exceptions(const typing *t)
{
    write_plain(t);
    fputs(" && umbel check FILE", t->out);
    write_files(t, "-f ", t->a->never);
    write_listed(t, false);
    write_heaviest(t);
    fputs(" > REVOKED.keys; umbel build REVOKED.keys", t->out);
    write_listed(t, true);
    write_form(t);
    write_shape(t, t->way->second_cells, t->way->second_hashes);
    fprintf(t->out,
            " -n %" PRIu64 " -o REVOKED; umbel check FILE --unless REVOKED",
            t->way->second_keys ? t->way->second_keys : 1);
}

static void write_ribbon(const typing *t)
{
    fputs("umbel build", t->out);
    write_files(t, "", t->a->members);
    write_form(t);
    fputs(" --kind ribbon", t->out);
    write_never(t);
    write_input(t);
    write_hash(t);
    fprintf(t->out, " --bytes %" PRIu64 " -o FILE", t->bytes);
}

static void write_plain_ribbon(const typing *t)
{
    fputs("umbel build", t->out);
    write_members(t);
    fputs(" --kind ribbon", t->out);
    write_hash(t);
    fprintf(t->out, " --bytes %" PRIu64 " -o FILE", t->bytes);
}

/* Prints the command that builds a strategy within that many bytes. */
static void print_strategy(FILE *out, const um_args *args,
                           const umbel_strategy *way, uint64_t bytes)
{
    static const struct {
        const char *name;
        void (*put)(const typing *t);
    } rows[] = {{"retouch", write_retouch},
                {"retouch-classic", write_retouch},
                {"groups", write_groups},
                {"groups-classic", write_groups},
                {"anti-filter", write_exceptions},
                {"anti-filter-classic", write_exceptions},
                {"ribbon", write_ribbon},
                {"ribbon-plain", write_plain_ribbon}};
    const typing t = {out, args, args->values, way, bytes};

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (strcmp(rows[i].name, way->name) == 0)
            rows[i].put(&t);
}

static const char CRITERION[] =
    "no member lost, then least weight left, then least error on unseen keys";

typedef struct comparing {
    const um_args *args;
    const plan_args *a;
    um_filter_params asked;
    umbel_filter *empty; /* has the hash of all of them */
    um_key_list members, never;
    umbel_comparison result;
} comparing;

/* --- lists ---------------------------------------------------------------- */

static umbel_status read_list(const comparing *c, um_list paths,
                              um_weights weights, um_key_list *out,
                              umbel_error *err)
{
    um_key_list_params params = {.filter = c->empty,
                                 .keep_lines = weights != UM_WEIGHTS_NONE};
    um_key_source source;

    UM_TRY(um_key_source_from_args(c->args, &c->a->keys, NULL, paths, &source,
                                   err));
    source.format.weights = weights;
    source.pass = weights == UM_WEIGHTS_NONE ? "reading members"
                                             : "reading keys of --never";
    return um_key_list_read(out, &source, &params, err);
}

static umbel_status read_lists(comparing *c, umbel_error *err)
{
    const plan_args *a = c->a;
    umbel_params p = c->asked.params;

    p.capacity = 1;
    UM_TRY(umbel_create("bloom", &p, &c->empty, err));
    UM_TRY(read_list(c, a->members, UM_WEIGHTS_NONE, &c->members, err));
    UM_TRY(read_list(c, a->never, a->weights ? UM_WEIGHTS_ALL : UM_WEIGHTS_TSV,
                     &c->never, err));
    umbel_key_list members = um_key_list_view(&c->members);
    return um_refuse_members(c->empty, &members, &c->never, "take members out",
                             err);
}

static umbel_status compare(const comparing *c, uint64_t bytes,
                            umbel_comparison *out, umbel_error *err)
{
    umbel_key_list members = um_key_list_view(&c->members);
    umbel_key_list never = um_key_list_view(&c->never);
    umbel_params p = c->asked.params;

    um_progress_pass("comparing strategies");
    if (bytes)
        p.fpr = 0;
    return umbel_compare_strategies(&p, bytes, &members, &never, out, err);
}

/* --- the report ----------------------------------------------------------- */

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static umbel_status report_command(um_report *r, const comparing *c,
                                   const umbel_strategy *way, umbel_error *err)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a command");
    if (way->status == UMBEL_OK)
        print_strategy(out, c->args, way, c->result.bytes);
    bool fine = fclose(out) == 0;
    if (fine)
        um_report_text(r, "command", NULL, text);
    free(text);
    return fine ? UMBEL_OK
                : um_fail(err, UMBEL_E_NOMEM, "no memory for a command");
}

/* Reports a number of a strategy; null if the strategy is not possible. */
static void report_number(um_report *r, const char *name, const char *label,
                          const umbel_strategy *way, uint64_t n)
{
    if (way->status == UMBEL_OK)
        um_report_count(r, name, label, NULL, n);
    else
        um_report_real(r, name, label, NULL, NAN);
}

static umbel_status report_way(um_report *r, const comparing *c, size_t i,
                               umbel_error *err)
{
    const umbel_comparison *all = &c->result;
    const umbel_strategy *way = &all->way[i];
    bool can = way->status == UMBEL_OK;

    um_report_text(r, "way", NULL, way->name);
    report_number(r, "bytes", NULL, way, way->bytes);
    report_number(r, "lost", "members lost", way, way->lost);
    um_report_real(r, "weight_left", NULL, NULL, can ? way->weight_left : NAN);
    um_report_rate(r, "share_left", "share left",
                   can ? share(way->weight_left, all->weight) : NAN);
    um_report_rate(r, "unseen", "unseen keys", can ? way->unseen : NAN);
    report_number(r, "probes", NULL, way, way->probes);
    um_report_flag(r, "readers_change", "readers change", way->readers_change);
    um_report_flag(r, "best", NULL, i == all->best);
    UM_TRY(report_command(r, c, way, err));
    um_report_text(r, "reason", NULL, can ? "" : way->reason.text);
    um_report_rate(r, "share_lost", "share lost",
                   can ? share((double)way->lost, (double)all->members) : NAN);
    if (can && way->next_bytes)
        um_report_count(r, "next_bytes", "next edition", NULL, way->next_bytes);
    else
        um_report_real(r, "next_bytes", "next edition", NULL, NAN);
    report_number(r, "sample", NULL, way, way->sample);
    return UMBEL_OK;
}

/* Returns the way with the smallest next edition, of those that lose no more
 * members than the best one. */
static size_t smallest_update(const umbel_comparison *c)
{
    size_t found = c->best;

    for (size_t i = 0; i < c->n; i++)
        if (c->way[i].status == UMBEL_OK && c->way[i].next_bytes &&
            c->way[i].lost <= c->way[c->best].lost &&
            c->way[i].next_bytes < c->way[found].next_bytes)
            found = i;
    return found;
}

/* Notes the best way, and another one for a list that is published again and
 * again. */
static void note_best(um_report *r, const umbel_comparison *c)
{
    const umbel_strategy *best = &c->way[c->best];
    const umbel_strategy *update = &c->way[smallest_update(c)];

    um_report_note(r, "Best: %s (%s).", best->name, CRITERION);
    if (2 * update->next_bytes < best->next_bytes)
        um_report_note(r,
                       "For a list that is published again when it changes: "
                       "%s, whose next edition is %s bytes instead of %s; it "
                       "leaves %s of the weight.",
                       update->name, um_grouped(update->next_bytes).text,
                       um_grouped(best->next_bytes).text,
                       um_rate(share(update->weight_left, c->weight)).text);
}

static void report_notes(um_report *r, const umbel_comparison *c)
{
    um_text members = um_counted(c->members, "member", "members");
    um_text listed = um_counted(c->listed, "key", "keys");

    um_report_note(r, "%s, %s that must not match, at most %s bytes.",
                   members.text, listed.text, um_grouped(c->bytes).text);
    if (!isnan(c->plain_left))
        um_report_note(r,
                       "A plain filter leaves %s of their weight, and has an "
                       "error of %s.",
                       um_rate(share(c->plain_left, c->weight)).text,
                       um_rate(c->plain_unseen).text);
    if (c->plain_next_bytes)
        um_report_note(
            r,
            "Next edition: bytes that readers fetch when one member in "
            "1,000 is replaced; %s for a plain filter.",
            um_grouped(c->plain_next_bytes).text);
    for (size_t i = 0; i < c->n; i++)
        if (c->way[i].sample > 1)
            um_report_note(r,
                           "The list is long: %s is estimated from a sample, "
                           "one key in %s, and is not the best.",
                           c->way[i].name, um_grouped(c->way[i].sample).text);
    if (c->best < c->n)
        note_best(r, c);
    else
        um_report_note(r, "No way is possible: give more --bytes.");
}

static umbel_status report_comparison(const comparing *c, umbel_error *err)
{
    um_report *rows = calloc(UMBEL_MAX_STRATEGIES, sizeof *rows);
    umbel_status status = UMBEL_OK;

    if (!rows)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a report");
    for (size_t i = 0; !status && i < c->result.n; i++)
        status = report_way(&rows[i], c, i, err);
    if (!status) {
        report_notes(&rows[0], &c->result);
        um_report_print_table(c->args, rows, c->result.n);
    }
    for (size_t i = 0; i < c->result.n; i++)
        um_report_fini(&rows[i]);
    free(rows);
    return status;
}

/* --- the figure ----------------------------------------------------------- */

static const double budgets[] = {0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5};

static umbel_status compare_budgets(const comparing *c, umbel_comparison *out,
                                    umbel_error *err)
{
    for (size_t i = 0; i < UM_COUNT(budgets); i++) {
        uint64_t bytes = (uint64_t)(budgets[i] * (double)c->result.bytes + 0.5);
        if (bytes == c->result.bytes)
            out[i] = c->result;
        else
            UM_TRY(compare(c, bytes ? bytes : 1, &out[i], err));
    }
    return UMBEL_OK;
}

/* Draws one strategy for all budgets; dashed if it loses members. */
static void draw_way(um_figure *f, const umbel_comparison *c, size_t way)
{
    char name[UM_TEXT_LEN];
    double most = 0;

    for (size_t i = 0; i < UM_COUNT(budgets); i++)
        most =
            fmax(most, share((double)c[i].way[way].lost, (double)c[i].members));
    snprintf(name, sizeof name, "%s", c->way[way].name);
    if (most > 0)
        snprintf(name, sizeof name, "%s (loses up to %s of the members)",
                 c->way[way].name, um_rate(most).text);
    um_series *series = um_figure_series(f, name);
    if (series)
        series->faint = most > 0;
    for (size_t i = 0; i < UM_COUNT(budgets); i++)
        if (c[i].way[way].status == UMBEL_OK)
            um_series_point(series, (double)c[i].bytes,
                            100 * share(c[i].way[way].weight_left, c[i].weight),
                            NAN);
}

static umbel_status save_figure(const um_figure *f, const char *path,
                                umbel_error *err)
{
    um_draft text;
    FILE *out = um_figure_bad(f) ? NULL : um_draft_open(&text, err);

    if (!out)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the picture");
    um_svg_figure(out, f);
    return um_draft_save(&text, path, err);
}

static umbel_status draw_comparison(const comparing *c, umbel_error *err)
{
    static umbel_comparison at[UM_COUNT(budgets)];
    um_figure f;

    UM_TRY(compare_budgets(c, at, err));
    um_figure_init(&f, "never",
                   "keys that must not match: weight left, against bytes",
                   "bytes of the whole file", "weight left, per cent");
    for (size_t i = 0; i < c->result.n; i++)
        draw_way(&f, at, i);
    umbel_status status = save_figure(&f, c->a->output, err);
    um_figure_fini(&f);
    return status;
}

/* --- the comparison ------------------------------------------------------- */

static umbel_status compare_lists(comparing *c, umbel_error *err)
{
    const plan_args *a = c->a;

    if (a->bytes.given && a->shape.fpr.given)
        return um_fail(err, UMBEL_E_RANGE,
                       "give --bytes, or --fpr of a plain filter, not both");
    UM_TRY(um_params_from_args(&a->shape, a->secret.key_file, &c->asked, err));
    UM_TRY(read_lists(c, err));
    UM_TRY(compare(c, a->bytes.n, &c->result, err));
    return a->output ? draw_comparison(c, err) : UMBEL_OK;
}

umbel_status um_plan_compare(const um_args *args, umbel_error *err)
{
    comparing c = {.args = args, .a = args->values};
    umbel_status status = compare_lists(&c, err);

    if (!status)
        status = report_comparison(&c, err);
    um_key_list_fini(&c.members);
    um_key_list_fini(&c.never);
    umbel_close(c.empty);
    um_filter_params_fini(&c.asked);
    return status;
}
