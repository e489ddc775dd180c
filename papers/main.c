/*
 * main.c - umbel-reproduce: figures and tables of papers, run again.
 */
#include "base/clock.h"
#include "base/error.h"
#include "cli/program.h"
#include "cli/report.h"
#include "papers/frame/publish.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const um_option options[] = {
    {"list", 'l', NULL, "print the names, and what each shows"},
    {"rounds", 0, "N", "rounds of each; by default as many as take a minute"},
    {"threads", 0, "N", "rounds run side by side; by default one a processor"},
    {"seed", 0, "S", "another seed, other draws (default 1)"},
    {"output", 'o', "DIR", "write CSV, SVG and index.html into DIR"},
    {"paper-draw", 0, NULL, "what the authors drew once stays (the default)"},
    {"fresh", 0, NULL, "it is drawn anew in every round"},
    {"timed", 0, NULL, "also hold times against intervals; one thread"},
    {0}};

/* What is to be run: one study a name. */
typedef struct job {
    const um_args *args;
    um_study *study;
    size_t n;
} job;

/* --- the command line -------------------------------------------------------
 */

static umbel_status read_number(const um_args *args, const char *name,
                                uint64_t most, uint64_t *out, umbel_error *err)
{
    umbel_status status = um_value_count(args, name, out, err);

    if (status == UMBEL_OK && um_has(args, name) && (*out < 1 || *out > most))
        return um_fail(err, UMBEL_E_RANGE,
                       "--%s must be 1 to %" PRIu64 ", got %" PRIu64, name,
                       most, *out);
    return status;
}

static uint64_t processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > UM_MAX_THREADS ? UM_MAX_THREADS : (uint64_t)n;
}

static umbel_status read_options(const um_args *args, um_study *out,
                                 umbel_error *err)
{
    uint64_t threads = um_has(args, "timed") ? 1 : processors();
    umbel_status status =
        read_number(args, "rounds", UM_MAX_ROUNDS, &out->rounds, err);

    out->seed = 1;
    out->timed = um_has(args, "timed");
    out->fresh = um_has(args, "fresh");
    if (status == UMBEL_OK)
        status = read_number(args, "threads", UM_MAX_THREADS, &threads, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "seed", &out->seed, err);
    if (status == UMBEL_OK && out->timed && threads > 1)
        return um_fail(err, UMBEL_E_RANGE,
                       "--timed wants one thread: leave --threads out");
    if (status == UMBEL_OK && out->fresh && um_has(args, "paper-draw"))
        return um_fail(err, UMBEL_E_RANGE,
                       "--fresh and --paper-draw exclude each other");
    out->threads = (unsigned)threads;
    return status;
}

static bool is_listed(const job *j, const um_paper *paper)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->study[i].paper == paper)
            return true;
    return false;
}

/* A name given twice is run once. */
static umbel_status add_study(job *j, const um_study *options_of,
                              const char *name, umbel_error *err)
{
    const um_paper *paper = um_paper_find(name);

    if (!paper)
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "there is no reproduction \"%s\"; 'umbel reproduce "
                       "--list' names them",
                       name);
    if (options_of->fresh && !paper->drawn_once)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s draws everything in every round: leave --fresh out",
                       name);
    if (is_listed(j, paper))
        return UMBEL_OK;
    um_study *s = &j->study[j->n++];
    *s = *options_of;
    s->paper = paper;
    if (!s->rounds)
        s->rounds = paper->rounds;
    return UMBEL_OK;
}

static umbel_status read_job(const um_args *args, job *j, umbel_error *err)
{
    um_study common = {0};
    umbel_status status = read_options(args, &common, err);

    j->study = calloc(args->noperands, sizeof *j->study);
    if (!j->study)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the names");
    for (size_t i = 0; status == UMBEL_OK && i < args->noperands; i++)
        status = add_study(j, &common, args->operands[i], err);
    return status;
}

/* --- progress --------------------------------------------------------------
 */

typedef struct clock_face {
    const char *name;
    double started, shown;
} clock_face;

static void tell(void *ctx, uint64_t done, uint64_t total)
{
    clock_face *c = ctx;
    double t = um_seconds(), spent = t - c->started;

    if (t - c->shown < 0.2)
        return;
    c->shown = t;
    fprintf(stderr,
            "\r%s: %" PRIu64 " of %" PRIu64 " rounds, %.0f s left\033[K",
            c->name, done, total,
            ceil(spent / (double)done * (double)(total - done)));
    fflush(stderr);
}

static umbel_status run_watched(const um_args *args, um_study *s,
                                umbel_error *err)
{
    clock_face face = {.name = s->paper->name, .started = um_seconds()};

    if (isatty(2) && !um_has(args, "quiet") && !um_has(args, "no-progress"))
        s->watch = (um_watch){&face, tell};
    umbel_status status = um_study_run(s, err);
    if (face.shown > 0)
        fputs("\r\033[K", stderr);
    return status;
}

/* --- reports ---------------------------------------------------------------
 */

static void print_json(const um_study *s)
{
    for (size_t i = 0; i < s->record.nchecks; i++) {
        const um_check *c = &s->record.check[i];
        umbel_info info = {0};
        um_info_text(&info, "name", s->paper->name);
        um_info_text(&info, "item", c->item);
        um_info_real(&info, "paper", c->paper);
        um_info_real(&info, "ours", c->ours);
        um_info_real(&info, "error", c->error);
        um_info_real(&info, "z", c->z);
        um_info_real(&info, "low", c->low);
        um_info_real(&info, "high", c->high);
        um_info_flag(&info, "pass", c->pass);
        um_info_flag(&info, "fitted", c->fitted);
        um_print_json(stdout, &info);
    }
}

static void print_check(const um_check *c)
{
    printf("  %-46s %9s %10s  %-22s %s\n", c->item,
           isnan(c->paper) ? "-" : um_show(c->paper).text,
           um_show(c->ours).text, um_show_bar(c).text,
           c->pass ? "pass" : "FAIL");
    if (*c->note && !c->pass)
        printf("    %s\n", c->note);
}

/* A remark, in lines that a terminal shows whole. */
static void print_wrapped(const char *text)
{
    enum { LINE = 79 };

    putchar('\n');
    while (strlen(text) > LINE) {
        size_t len = LINE;
        while (len > 0 && text[len] != ' ')
            len--;
        printf("%.*s\n", (int)(len ? len : LINE), text);
        text += len ? len + 1 : LINE;
    }
    puts(text);
}

/* Each column as wide as its widest cell. */
static void print_sheet(const um_sheet *s)
{
    printf("\n  %s\n", s->title);
    for (size_t i = 0; i < s->n; i++) {
        size_t column = i % s->columns, width = 0;
        for (size_t j = column; j < s->n; j += s->columns)
            if (strlen(s->cell[j].text) > width)
                width = strlen(s->cell[j].text);
        printf(column ? "  %*s" : "  %-*s", (int)width, s->cell[i].text);
        if (column + 1 == s->columns)
            putchar('\n');
    }
}

static void print_text(const um_study *s)
{
    const um_record *r = &s->record;
    size_t failed = um_record_failed(r);

    printf("%s: %s\n%s\n", s->paper->name, s->paper->source, s->paper->claim);
    um_put_command(stdout, s);
    printf("\n\n  %-46s %9s %10s  %-22s\n", "value", "paper", "ours",
           "must be");
    for (size_t i = 0; i < r->nchecks; i++)
        print_check(&r->check[i]);
    for (size_t i = 0; i < r->nsheets; i++)
        print_sheet(&r->sheet[i]);
    for (size_t i = 0; i < r->nnotes; i++)
        print_wrapped(r->note[i].text);
    printf("\n%zu of %zu values within their bars\n", r->nchecks - failed,
           r->nchecks);
}

static void print_study(const um_args *args, const um_study *s, bool first)
{
    if (um_has(args, "quiet"))
        return;
    if (um_has(args, "json")) {
        print_json(s);
        return;
    }
    if (!first)
        putchar('\n');
    print_text(s);
}

/* In JSON the values alone: where they went is known to who asked. */
static void tell_page(const um_args *args, const char *dir)
{
    bool slash = *dir && dir[strlen(dir) - 1] == '/';

    if (um_has(args, "quiet") || um_has(args, "json"))
        return;
    fputs("\nfigures, tables and the page that shows them: ", stdout);
    um_print_quoted(stdout, dir);
    puts(slash ? "index.html" : "/index.html");
}

/* --- the run ---------------------------------------------------------------
 */

static umbel_status run_all(job *j, umbel_error *err)
{
    const char *dir = um_value(j->args, "output");
    umbel_status status = dir ? um_publish_begin(dir, err) : UMBEL_OK;

    for (size_t i = 0; status == UMBEL_OK && i < j->n; i++) {
        status = run_watched(j->args, &j->study[i], err);
        if (status != UMBEL_OK)
            break;
        print_study(j->args, &j->study[i], i == 0);
        fflush(stdout);
        if (dir)
            status = um_publish_study(dir, &j->study[i], err);
    }
    if (status == UMBEL_OK && dir)
        status = um_publish_page(dir, j->study, j->n, err);
    if (status == UMBEL_OK && dir)
        tell_page(j->args, dir);
    return status;
}

static int list(const um_args *args)
{
    const um_paper *p;

    if (args->noperands)
        return um_misuse(args, "--list takes no names");
    for (size_t i = 0; (p = um_paper_row(i)); i++) {
        umbel_info info = {0};
        um_info_text(&info, "name", p->name);
        um_info_text(&info, "source", p->source);
        um_info_text(&info, "claim", p->claim);
        um_info_count(&info, "rounds", p->rounds);
        if (um_has(args, "json"))
            um_print_json(stdout, &info);
        else
            printf("%-16s %s\n%-16s %s\n", p->name, p->source, "", p->claim);
    }
    return UM_EXIT_FINE;
}

static int run(const um_args *args)
{
    job j = {.args = args};
    umbel_error err;
    int code = UM_EXIT_FINE;

    if (um_has(args, "list"))
        return list(args);
    if (!args->noperands)
        return um_misuse(args, "which one? 'umbel reproduce --list' names "
                               "them");
    if (read_job(args, &j, &err) != UMBEL_OK || run_all(&j, &err) != UMBEL_OK)
        code = um_trouble(args, &err);
    for (size_t i = 0; i < j.n; i++) {
        if (code == UM_EXIT_FINE && um_record_failed(&j.study[i].record))
            code = UM_EXIT_NO;
        um_study_fini(&j.study[i]);
    }
    free(j.study);
    return code;
}

static const um_command command = {
    .name = "reproduce",
    .args = "(NAME... | --list)",
    .summary = "run figures and tables of the papers again",
    .options = {options},
    .run = run,
    .example = "rbf-fig3 --rounds 10",
    .details = "The same rounds and seed give the same result for any number "
               "of threads. The exit code is 0 when every value lies within "
               "its interval, 1 when one does not.",
};

int main(int argc, char **argv)
{
    (void)argc;
    return um_program_main(&command, argv);
}
