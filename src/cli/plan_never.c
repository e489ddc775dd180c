/*
 * plan_never.c - umbel plan --members A --never B: which way keeps B out.
 */
#include "cli/plan_never.h"

#include "base/error.h"
#include "cli/choose_groups.h"
#include "cli/files.h"
#include "cli/keylist.h"
#include "cli/report.h"
#include "draw/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const um_option um_never_options[] = {
    {"members", 0, "FILE", "keys of a set; may be given again"},
    {"never", 0, "FILE", "keys that must not match: compare the ways to that"},
    {"weights", 0, NULL, "lines of --never end in a weight (as in *.tsv)"},
    {"output", 'o', "FILE", "... draw weight left against bytes, as SVG"},
    {0}};

static const char CRITERION[] =
    "no member lost, then least weight left, then least error on unseen keys";

/* What is compared, and what came of it. */
typedef struct weighing {
    const um_args *args;
    um_filter_args asked;
    umbel_filter *empty; /* which hashes as all of them do */
    um_keylist members, never;
    uint64_t bytes;
    umbel_comparison result;
} weighing;

bool um_has_never(const um_args *args)
{
    for (const um_option *o = um_never_options; o->name; o++)
        if (um_has(args, o->name))
            return true;
    return false;
}

/* --- what is asked ----------------------------------------------------------
 */

/* What else the command line says must not be left unheard. */
static umbel_status check(const um_args *args, umbel_error *err)
{
    static const char *const others[] = {
        "keys",    "bits",      "cells",     "hashes",   "groups",  "set",
        "reset",   "fill",      "cell-bits", "update",   "clear",   "kind",
        "retouch", "threshold", "counts",    "fp-bound", "fn-bound"};

    if (!um_has(args, "members") || !um_has(args, "never"))
        return um_fail(err, UMBEL_E_RANGE,
                       "say both: --members (keys of the set) and --never "
                       "(keys that must not match)");
    for (size_t i = 0; i < UM_COUNT(others); i++)
        if (um_has(args, others[i]))
            return um_fail(err, UMBEL_E_RANGE,
                           "the ways are compared at equal --bytes: leave --%s "
                           "out",
                           others[i]);
    if (um_has(args, "bytes") && um_has(args, "fpr"))
        return um_fail(err, UMBEL_E_RANGE,
                       "give --bytes, or --fpr of a plain filter, not both");
    if (um_stdin_uses(args, "members") + um_stdin_uses(args, "never") > 1)
        return um_fail(err, UMBEL_E_RANGE,
                       "standard input can be read only once");
    return UMBEL_OK;
}

/* The picture must not go where keys come from. */
static umbel_status spare(const um_args *args, const char *option,
                          umbel_error *err)
{
    const char *out = um_value(args, "output"), *path;
    umbel_status status = UMBEL_OK;

    for (size_t i = 0;
         out && status == UMBEL_OK && (path = um_value_at(args, option, i));
         i++)
        status = um_refuse_overwrite(out, path, err);
    return status;
}

static umbel_status ask(weighing *w, umbel_error *err)
{
    umbel_status status = check(w->args, err);

    if (status == UMBEL_OK)
        status = spare(w->args, "members", err);
    if (status == UMBEL_OK)
        status = spare(w->args, "never", err);
    if (status == UMBEL_OK)
        status = um_ask(w->args, &w->asked, err);
    if (status == UMBEL_OK)
        status = um_value_count(w->args, "bytes", &w->bytes, err);
    if (status == UMBEL_OK && um_has(w->args, "bytes") && !w->bytes)
        status = um_fail(err, UMBEL_E_RANGE, "--bytes must be at least 1");
    return status;
}

static umbel_status read_lists(weighing *w, umbel_error *err)
{
    umbel_params p = w->asked.params;
    umbel_keyset set;

    p.capacity = 1;
    umbel_status status = umbel_open("bloom", &p, &w->empty, err);
    if (status == UMBEL_OK)
        status =
            um_keylist_keys(&w->members, w->args, "members", w->empty, err);
    if (status == UMBEL_OK)
        status =
            um_keylist_read(&w->never, w->args, "never", w->empty, true, err);
    if (status != UMBEL_OK)
        return status;
    set = um_keylist_set(&w->members);
    return um_refuse_members(w->empty, &set, &w->never, "take members out",
                             err);
}

static umbel_status compare(const weighing *w, uint64_t bytes,
                            umbel_comparison *out, umbel_error *err)
{
    umbel_keyset members = um_keylist_set(&w->members);
    umbel_keyset never = um_keylist_set(&w->never);
    umbel_params p = w->asked.params;

    if (bytes)
        p.fpr = 0;
    return umbel_compare_strategies(&p, bytes, &members, &never, out, err);
}

/* --- the command to type ----------------------------------------------------
 */

static void put_option(FILE *out, const um_args *args, const char *name)
{
    if (!um_has(args, name))
        return;
    fprintf(out, " --%s ", name);
    um_print_quoted(out, um_value(args, name));
}

static void put_input(FILE *out, const um_args *args)
{
    um_print_given(out, args, um_keys_options);
    um_print_given(out, args, um_secret_options);
}

static void put_never(FILE *out, const um_args *args)
{
    um_print_values(out, args, "never", "--never ");
    if (um_has(args, "weights"))
        fputs(" --weights", out);
}

static void put_shape(FILE *out, const um_args *args, uint64_t cells,
                      uint32_t hashes)
{
    put_option(out, args, "addressing");
    put_option(out, args, "hash");
    put_option(out, args, "seed");
    fprintf(out, " --bits %" PRIu64 " --hashes %" PRIu32, cells, hashes);
}

static void put_plain(FILE *out, const um_args *args, const umbel_strategy *way)
{
    fputs("umbel build", out);
    um_print_values(out, args, "members", "");
    put_input(out, args);
    put_shape(out, args, way->cells, way->hashes);
    fputs(" -q -o FILE", out);
}

static void put_retouch(FILE *out, const weighing *w, const umbel_strategy *way)
{
    put_plain(out, w->args, way);
    fputs(" && umbel retouch FILE", out);
    um_print_values(out, w->args, "members", "--members ");
    put_never(out, w->args);
    put_input(out, w->args);
    fputs(" -o FILE", out);
}

static void put_groups(FILE *out, const weighing *w, const umbel_strategy *way)
{
    fputs("umbel build", out);
    um_print_values(out, w->args, "members", "");
    put_never(out, w->args);
    put_input(out, w->args);
    fputs(" --groups 2", out);
    put_shape(out, w->args, way->cells, way->hashes);
    fputs(" -o FILE", out);
}

static bool is_weighed(const um_args *args)
{
    const char *path;

    for (size_t i = 0; (path = um_value_at(args, "never", i)); i++) {
        size_t len = strlen(path);
        if (len > 4 && strcmp(path + len - 4, ".tsv") == 0)
            return true;
    }
    return um_has(args, "weights");
}

/* 'check' prints lines as they stood: the weight is still behind the key. */
static void put_listed(FILE *out, const um_args *args)
{
    put_input(out, args);
    if (is_weighed(args) && !um_has(args, "field"))
        fputs(" --field 1", out);
}

static void put_exceptions(FILE *out, const weighing *w,
                           const umbel_strategy *way)
{
    put_plain(out, w->args, way);
    fputs(" && umbel check FILE", out);
    um_print_values(out, w->args, "never", "-f ");
    put_listed(out, w->args);
    fputs(" > REVOKED.keys; umbel build REVOKED.keys", out);
    put_listed(out, w->args);
    put_shape(out, w->args, way->second_cells, way->second_hashes);
    fprintf(out,
            " -n %" PRIu64 " -o REVOKED; umbel check FILE --unless REVOKED",
            way->second_keys ? way->second_keys : 1);
}

static void put_ribbon(FILE *out, const weighing *w, const umbel_strategy *way)
{
    (void)way;
    fputs("umbel build", out);
    um_print_values(out, w->args, "members", "");
    fputs(" --kind ribbon", out);
    put_never(out, w->args);
    put_input(out, w->args);
    put_option(out, w->args, "hash");
    put_option(out, w->args, "seed");
    fprintf(out, " --bytes %" PRIu64 " -o FILE", w->result.bytes);
}

typedef struct typed {
    const char *way;
    void (*put)(FILE *out, const weighing *w, const umbel_strategy *way);
} typed;

static const typed commands[] = {{"retouch", put_retouch},
                                 {"groups", put_groups},
                                 {"anti-filter", put_exceptions},
                                 {"ribbon", put_ribbon}};

static void put_command(FILE *out, const weighing *w, const umbel_strategy *way)
{
    for (size_t i = 0; i < UM_COUNT(commands); i++)
        if (strcmp(commands[i].way, way->name) == 0)
            commands[i].put(out, w, way);
}

/* --- reports ----------------------------------------------------------------
 */

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void print_way(const weighing *w, const umbel_strategy *way, bool best)
{
    const umbel_comparison *c = &w->result;
    um_text lost = um_percent(share((double)way->lost, (double)c->members));

    printf("%c %-12s", best ? '*' : ' ', way->name);
    if (way->status != UMBEL_OK) {
        printf(" cannot: %s\n", way->reason.text);
        return;
    }
    printf(" %12s %10s (%s)%*s", um_grouped(way->bytes).text,
           um_grouped(way->lost).text, lost.text,
           (int)(8 - (strlen(lost.text) < 8 ? strlen(lost.text) : 8)), "");
    printf(" %11s", um_percent(share(way->weight_left, c->weight)).text);
    printf(" %11s %6" PRIu32 "  %s\n", um_percent(way->unseen).text,
           way->probes, way->readers_change ? "change" : "stay");
}

static void print_text(const weighing *w)
{
    const umbel_comparison *c = &w->result;

    printf("%s members, ", um_grouped(c->members).text);
    printf("%s keys that must not match, ", um_grouped(c->listed).text);
    printf("at most %s bytes\n", um_grouped(c->bytes).text);
    if (!isnan(c->plain_left)) {
        printf("a plain filter leaves %s of their weight, ",
               um_percent(share(c->plain_left, c->weight)).text);
        printf("and has an error of %s\n", um_percent(c->plain_unseen).text);
    }
    printf("  %-12s %12s %-21s %11s %11s %6s  %s\n", "way", "bytes",
           "    members lost", "weight left", "unseen keys", "probes",
           "readers");
    for (size_t i = 0; i < c->n; i++)
        print_way(w, &c->way[i], i == c->best);
    if (c->best == c->n) {
        puts("none can be had: give more --bytes");
        return;
    }
    printf("* best: %s\nnext: ", CRITERION);
    put_command(stdout, w, &c->way[c->best]);
    putchar('\n');
}

/* Nothing is known of a way that cannot be. */
static void info_number(umbel_info *out, const char *name,
                        const umbel_strategy *way, uint64_t n)
{
    if (way->status == UMBEL_OK)
        um_info_count(out, name, n);
    else
        um_info_real(out, name, NAN);
}

static void info_share(umbel_info *out, const char *name,
                       const umbel_strategy *way, double x)
{
    um_info_real(out, name, way->status == UMBEL_OK ? x : NAN);
}

static umbel_status print_object(const weighing *w, size_t i, umbel_error *err)
{
    const umbel_strategy *way = &w->result.way[i];
    bool can = way->status == UMBEL_OK;
    umbel_info info = {0};
    char *command = NULL;
    size_t len;
    FILE *text = open_memstream(&command, &len);

    if (!text)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a command");
    if (can)
        put_command(text, w, way);
    if (fclose(text) != 0) {
        free(command);
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a command");
    }
    um_info_text(&info, "way", way->name);
    info_number(&info, "bytes", way, way->bytes);
    info_number(&info, "lost", way, way->lost);
    info_share(&info, "weight_left", way, way->weight_left);
    info_share(&info, "share_left", way,
               share(way->weight_left, w->result.weight));
    info_share(&info, "unseen", way, way->unseen);
    info_number(&info, "probes", way, way->probes);
    um_info_flag(&info, "readers_change", way->readers_change);
    um_info_flag(&info, "best", i == w->result.best);
    um_info_text(&info, "command", command);
    um_info_text(&info, "reason", can ? "" : way->reason.text);
    um_print_json(stdout, &info);
    free(command);
    return UMBEL_OK;
}

static umbel_status report(const weighing *w, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    if (um_has(w->args, "json")) {
        for (size_t i = 0; status == UMBEL_OK && i < w->result.n; i++)
            status = print_object(w, i, err);
    } else if (!um_has(w->args, "quiet")) {
        print_text(w);
    }
    return status;
}

/* --- the picture ------------------------------------------------------------
 */

static const double budgets[] = {0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5};

static umbel_status frontier(const weighing *w, umbel_comparison *c,
                             umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; status == UMBEL_OK && i < UM_COUNT(budgets); i++) {
        uint64_t bytes = (uint64_t)(budgets[i] * (double)w->result.bytes + 0.5);
        if (bytes == w->result.bytes)
            c[i] = w->result;
        else
            status = compare(w, bytes ? bytes : 1, &c[i], err);
    }
    return status;
}

/* One way through all budgets; dashed where it loses members. */
static void trace(um_figure *f, const umbel_comparison *c, size_t way)
{
    char name[UM_TEXT_LEN];
    double most = 0;

    for (size_t i = 0; i < UM_COUNT(budgets); i++)
        most =
            fmax(most, share((double)c[i].way[way].lost, (double)c[i].members));
    snprintf(name, sizeof name, "%s", c->way[way].name);
    if (most > 0)
        snprintf(name, sizeof name, "%s (loses up to %s of the members)",
                 c->way[way].name, um_percent(most).text);
    um_series *curve = um_figure_series(f, name);
    if (curve)
        curve->faint = most > 0;
    for (size_t i = 0; i < UM_COUNT(budgets); i++)
        if (c[i].way[way].status == UMBEL_OK)
            um_series_point(curve, (double)c[i].bytes,
                            100 * share(c[i].way[way].weight_left, c[i].weight),
                            NAN);
}

static umbel_status draw(const weighing *w, const char *path, umbel_error *err)
{
    static umbel_comparison c[UM_COUNT(budgets)];
    um_figure f;
    um_draft text;
    FILE *out = NULL;

    UM_TRY(frontier(w, c, err));
    um_figure_init(&f, "never",
                   "keys that must not match: weight left, against bytes",
                   "bytes of the whole file", "weight left, per cent");
    for (size_t i = 0; i < w->result.n; i++)
        trace(&f, c, i);
    umbel_status status = UMBEL_E_NOMEM;
    if (um_figure_bad(&f))
        um_set_error(err, status, "no memory for the picture");
    else
        out = um_draft_open(&text, err);
    if (out) {
        um_svg_figure(out, &f);
        status = um_draft_save(&text, path, err);
    }
    um_figure_fini(&f);
    return status;
}

int um_answer_never(const um_args *args)
{
    weighing w = {.args = args};
    const char *path = um_value(args, "output");
    umbel_error err;
    umbel_status status = ask(&w, &err);

    if (status == UMBEL_OK)
        status = read_lists(&w, &err);
    if (status == UMBEL_OK)
        status = compare(&w, w.bytes, &w.result, &err);
    if (status == UMBEL_OK && path)
        status = draw(&w, path, &err);
    if (status == UMBEL_OK)
        status = report(&w, &err);
    um_keylist_fini(&w.members);
    um_keylist_fini(&w.never);
    umbel_close(w.empty);
    um_forget(&w.asked);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}
