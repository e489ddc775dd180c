/*
 * main.c - umbel-reproduce: reproduces figures and tables of papers.
 */
#include "base/cpu.h"
#include "base/error.h"
#include "cli/framework/program.h"
#include "cli/framework/progress.h"
#include "cli/framework/report.h"
#include "papers/frame/coverage.h"
#include "papers/frame/expected.h"
#include "papers/frame/publish.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct reproduce_args {
    um_list names;
    bool list, coverage, all, paper_draw, fresh, timed, wrong;
    um_whole rounds, threads, seed;
    const char *output, *world;
} reproduce_args;

/* Modes of the command. */
enum { RUN, LIST, COVERAGE };

static const um_option options[] = {
    {"list", 'l', NULL, "print the names, and what each shows",
     UM_TARGET(reproduce_args, list), .modes = UM_MODE(LIST)},
    {"coverage", 0, NULL,
     "check that papers/COVERAGE.md names only what exists",
     UM_TARGET(reproduce_args, coverage), .modes = UM_MODE(COVERAGE)},
    {"all", 'a', NULL, "run every one of them", UM_TARGET(reproduce_args, all),
     .modes = UM_MODE(RUN)},
    {"rounds", 0, "N", "rounds of each (default: as many as take a minute)",
     UM_TARGET(reproduce_args, rounds), .low = 1, .high = UM_MAX_ROUNDS,
     .modes = UM_MODE(RUN)},
    {"threads", 0, "N", "rounds that run at the same time (one per processor)",
     UM_TARGET(reproduce_args, threads), .low = 1, .high = UM_MAX_THREADS,
     .modes = UM_MODE(RUN), .excludes = "timed"},
    {"seed", 0, "S", "seed of the random numbers (default 1)",
     UM_TARGET(reproduce_args, seed), .modes = UM_MODE(RUN)},
    {"output", 'o', "DIR", "write CSV, SVG and index.html into DIR",
     UM_TARGET(reproduce_args, output), .modes = UM_MODE(RUN)},
    {"paper-draw", 0, NULL,
     "keep what the authors drew once fixed over all rounds (the default)",
     UM_TARGET(reproduce_args, paper_draw), .modes = UM_MODE(RUN),
     .excludes = "fresh"},
    {"fresh", 0, NULL, "draw it again in every round",
     UM_TARGET(reproduce_args, fresh), .modes = UM_MODE(RUN)},
    {"world", 0, "WORLD",
     "routes of rbf-case-study: plain (default), or fitted to its numbers",
     UM_TARGET(reproduce_args, world), .modes = UM_MODE(RUN)},
    {"timed", 0, NULL, "also check times against intervals; one thread",
     UM_TARGET(reproduce_args, timed), .modes = UM_MODE(RUN)},
    {"wrong", 0, NULL,
     "try each interval against wrong results, which it must refuse",
     UM_TARGET(reproduce_args, wrong), .modes = UM_MODE(RUN),
     .excludes = "output"},
    {0}};

/* The studies to be run. */
typedef struct job {
    const um_args *args;
    um_study *study;
    size_t n;
    char pass[2 * UM_TEXT_LEN]; /* the current study, for the progress line */
} job;

/* --- the command line ----------------------------------------------------- */

static uint64_t processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > UM_MAX_THREADS ? UM_MAX_THREADS : (uint64_t)n;
}

static um_study study_options(const reproduce_args *a)
{
    uint64_t threads = a->timed           ? 1
                       : a->threads.given ? a->threads.n
                                          : processors();

    return (um_study){.rounds = a->rounds.n,
                      .seed = a->seed.given ? a->seed.n : 1,
                      .threads = (unsigned)threads,
                      .timed = a->timed,
                      .fresh = a->fresh,
                      .wrong = a->wrong};
}

static bool is_listed(const job *j, const um_paper *paper)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->study[i].paper == paper)
            return true;
    return false;
}

/* Finds the world that --world names; the first without it. */
static umbel_status choose_world(const job *j, um_study *s, umbel_error *err)
{
    const char *name = ((const reproduce_args *)j->args->values)->world;
    const char *const *worlds = s->paper->worlds;

    if (!name)
        return UMBEL_OK;
    if (!worlds)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s has only one world: leave --world out",
                       s->paper->name);
    for (s->world = 0; worlds[s->world]; s->world++)
        if (strcmp(worlds[s->world], name) == 0)
            return UMBEL_OK;
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "%s has no world \"%s\": use plain or fitted",
                   s->paper->name, name);
}

/* Adds a study; a name given twice is run once. */
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
    um_study *s = &j->study[j->n];
    *s = *options_of;
    s->paper = paper;
    UM_TRY(choose_world(j, s, err));
    j->n++;
    if (!s->rounds)
        s->rounds = paper->rounds;
    return UMBEL_OK;
}

static size_t count_papers(void)
{
    size_t n = 0;

    while (um_paper_row(n))
        n++;
    return n;
}

static umbel_status read_job(const um_args *args, job *j, umbel_error *err)
{
    const reproduce_args *a = args->values;
    um_study common = study_options(a);
    const um_paper *p;

    j->study =
        calloc((a->all ? count_papers() : a->names.n) + 1, sizeof *j->study);
    if (!j->study)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the names");
    for (size_t i = 0; i < a->names.n; i++)
        UM_TRY(add_study(j, &common, a->names.item[i], err));
    for (size_t i = 0; a->all && (p = um_paper_row(i)); i++)
        UM_TRY(add_study(j, &common, p->name, err));
    return UMBEL_OK;
}

/* --- progress ------------------------------------------------------------- */

static void show_rounds(void *ctx, uint64_t done, uint64_t total)
{
    um_progress_steps(ctx, done, total, "rounds");
}

/* Runs a study, and shows its name and its number if there are several: a run
 * of all takes minutes. */
static umbel_status run_watched(job *j, um_study *s, umbel_error *err)
{
    if (j->n > 1)
        snprintf(j->pass, sizeof j->pass, "%zu of %zu: %s",
                 (size_t)(s - j->study) + 1, j->n, s->paper->name);
    else
        snprintf(j->pass, sizeof j->pass, "%s", s->paper->name);
    um_progress_pass(j->pass);
    s->watch = (um_watch){j->pass, show_rounds};
    return um_study_run(s, err);
}

/* --- reports -------------------------------------------------------------- */

static unsigned bits_in(unsigned x)
{
    unsigned n = 0;

    for (; x; x &= x - 1)
        n++;
    return n;
}

static void print_json(const um_args *args, const um_study *s)
{
    for (size_t i = 0; i < s->record.nchecks; i++) {
        const um_check *c = &s->record.check[i];
        um_report r = {0};
        um_report_text(&r, "name", NULL, s->paper->name);
        um_report_text(&r, "item", NULL, c->item);
        um_report_real(&r, "paper", NULL, NULL, c->paper);
        um_report_real(&r, "ours", NULL, NULL, c->ours);
        um_report_real(&r, "error", NULL, NULL, c->error);
        um_report_real(&r, "z", NULL, NULL, c->z);
        um_report_real(&r, "low", NULL, NULL, c->low);
        um_report_real(&r, "high", NULL, NULL, c->high);
        um_report_flag(&r, "pass", NULL, c->pass);
        um_report_flag(&r, "fitted", NULL, c->fitted);
        um_report_flag(&r, "quoted", NULL, c->quoted);
        um_report_flag(&r, "errata", NULL, c->errata);
        um_report_flag(&r, "weak", NULL, c->weak);
        if (s->wrong)
            um_report_count(&r, "refuses", NULL, NULL, bits_in(c->refuses));
        um_report_print(args, &r);
        um_report_fini(&r);
    }
}

static void print_check(const um_check *c)
{
    printf("  %-46s %9s %10s  %-22s %s\n", c->item,
           isnan(c->paper) ? "-" : um_show(c->paper).text,
           um_show(c->ours).text, um_show_bar(c).text, um_verdict(c));
    if (*c->note && !c->pass)
        printf("    %s\n", c->note);
}

/* Prints a remark, wrapped to the terminal's width. */
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

/* Prints a table, each column as wide as its widest cell. */
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

/* Prints how many wrong results each interval refuses, and lists those that
 * refuse none. */
static void print_refusals(const um_study *s)
{
    const um_record *r = &s->record;
    size_t counted = 0, blind = 0;

    printf("%s: wrong results against its intervals\n", s->paper->name);
    for (size_t i = 0; i < r->nchecks; i++) {
        const um_check *c = &r->check[i];
        counted += c->pass && !c->weak;
        blind += um_check_is_blind(c);
        printf("  %-60s %-4s  refuses %u of %d\n", c->item, um_verdict(c),
               bits_in(c->refuses), UM_WRONG_WAYS);
    }
    printf("%zu of %zu intervals that count refuse a wrong result\n",
           counted - blind, counted);
}

static void print_text(const um_study *s)
{
    const um_record *r = &s->record;

    printf("%s: %s\n%s\n", s->paper->name, s->paper->source, s->paper->claim);
    um_write_command(stdout, s);
    printf("\n\n  %-46s %9s %10s  %-22s\n", "value", "paper", "ours",
           "must be");
    for (size_t i = 0; i < r->nchecks; i++)
        print_check(&r->check[i]);
    for (size_t i = 0; i < r->nsheets; i++)
        print_sheet(&r->sheet[i]);
    for (size_t i = 0; i < r->nnotes; i++)
        print_wrapped(r->note[i].text);
    putchar('\n');
    um_write_verdicts(stdout, r);
    putchar('\n');
}

static void print_study(const um_args *args, const um_study *s, bool first)
{
    if (args->common.quiet)
        return;
    if (args->common.json) {
        print_json(args, s);
        return;
    }
    if (!first)
        putchar('\n');
    (s->wrong ? print_refusals : print_text)(s);
}

/* Prints where the page is; not in JSON, which has only the values. */
static void tell_page(const um_args *args, const char *dir)
{
    bool slash = *dir && dir[strlen(dir) - 1] == '/';

    if (args->common.quiet || args->common.json)
        return;
    fputs("\nfigures, tables and the page that shows them: ", stdout);
    um_print_quoted(stdout, dir);
    puts(slash ? "index.html" : "/index.html");
}

/* Prints the CPU time of all threads so far. */
static void print_cpu_time(const job *j)
{
    struct timespec used = {0};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    if (!j->args->common.quiet && !j->args->common.json)
        printf("\n%zu reproductions: %.1f CPU minutes\n", j->n,
               ((double)used.tv_sec + 1e-9 * (double)used.tv_nsec) / 60);
}

/* --- the run -------------------------------------------------------------- */

static umbel_status run_all(job *j, umbel_error *err)
{
    const char *dir = ((const reproduce_args *)j->args->values)->output;

    if (dir)
        UM_TRY(um_publish_begin(dir, err));
    for (size_t i = 0; i < j->n; i++) {
        UM_TRY(run_watched(j, &j->study[i], err));
        um_progress_pause();
        print_study(j->args, &j->study[i], i == 0);
        fflush(stdout);
        um_progress_resume();
        if (dir)
            UM_TRY(um_publish_study(dir, &j->study[i], err));
    }
    if (dir) {
        UM_TRY(um_publish_page(dir, j->study, j->n, err));
        um_progress_end();
        tell_page(j->args, dir);
    }
    if (((const reproduce_args *)j->args->values)->all)
        print_cpu_time(j);
    return UMBEL_OK;
}

static int list_papers(const um_args *args)
{
    const um_paper *p;

    for (size_t i = 0; (p = um_paper_row(i)); i++) {
        um_report r = {0};
        char verdict[UM_TEXT_LEN];
        um_expected_verdict(p->name, verdict);
        if (!args->common.json) {
            printf("%-18s %s\n%-18s %s\n", p->name, p->source, "", p->claim);
            continue;
        }
        um_report_text(&r, "name", NULL, p->name);
        um_report_text(&r, "source", NULL, p->source);
        um_report_text(&r, "claim", NULL, p->claim);
        um_report_count(&r, "rounds", NULL, NULL, p->rounds);
        um_report_text(&r, "verdict", NULL, verdict);
        um_report_print(args, &r);
        um_report_fini(&r);
    }
    return UM_EXIT_FINE;
}

/* --- papers/COVERAGE.md ----------------------------------------------------
 */

static void print_fault(void *ctx, size_t line, const char *claim,
                        const char *why)
{
    const um_args *args = ctx;
    um_report r = {0};

    if (!args->common.json) {
        fputs("papers/COVERAGE.md", stdout);
        if (line)
            printf(":%zu", line);
        printf(": \"%s\": %s\n", claim, why);
        return;
    }
    um_report_count(&r, "line", NULL, NULL, line);
    um_report_text(&r, "claim", NULL, claim);
    um_report_text(&r, "why", NULL, why);
    um_report_print(args, &r);
    um_report_fini(&r);
}

/* Returns the program umbel of the same build: beside this one, otherwise the
 * first in the PATH. */
static const char *find_umbel(char path[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *slash = NULL;

    if (len > 0) {
        path[len] = '\0';
        slash = strrchr(path, '/');
    }
    if (slash && (size_t)(slash - path) + sizeof "/umbel" < PATH_MAX)
        memcpy(slash, "/umbel", sizeof "/umbel");
    return slash && access(path, X_OK) == 0 ? path : "umbel";
}

/* Faults are printed with --quiet, too. */
static int check_coverage(const um_args *args)
{
    union { /* the context is not const, but only read */
        const um_args *in;
        void *ctx;
    } u = {args};
    um_coverage c = {.report = print_fault, .ctx = u.ctx};
    char path[PATH_MAX];
    umbel_error err;
    um_report r = {0};

    if (um_coverage_check(&c, ".", find_umbel(path), &err)) {
        um_trouble(args, &err);
        fputs("run this in the source tree, whose tests the file names\n",
              stderr);
        return UM_EXIT_TROUBLE;
    }
    for (size_t i = 0; i < UM_STATUSES; i++)
        um_report_count(&r, um_coverage_status(i), NULL, "items", c.items[i]);
    um_report_count(&r, "claims", NULL, NULL, c.claims);
    um_report_count(&r, "faults", "claims that cannot be followed", NULL,
                    c.faults);
    if (!args->common.quiet)
        um_report_print(args, &r);
    um_report_fini(&r);
    return c.faults ? UM_EXIT_NO : UM_EXIT_FINE;
}

static unsigned reproduce_mode(const void *values)
{
    const reproduce_args *a = values;

    return UM_MODE(a->coverage ? COVERAGE : a->list ? LIST : RUN);
}

/* Returns true if the study passed; with --wrong, if its intervals did. */
static bool is_fine(const um_study *s)
{
    if (!s->wrong)
        return um_record_outcome(&s->record) != UM_DOES_NOT_COME_OUT;
    for (size_t i = 0; i < s->record.nchecks; i++)
        if (um_check_is_blind(&s->record.check[i]))
            return false;
    return true;
}

static int run(const um_args *args)
{
    const reproduce_args *a = args->values;
    job j = {.args = args};
    umbel_error err;
    int code = UM_EXIT_FINE;

    if (a->coverage)
        return check_coverage(args);
    if (a->list)
        return list_papers(args);
    if (!a->names.n && !a->all)
        return um_misuse(args, "NAME is missing: 'umbel reproduce --list' "
                               "prints the names, --all runs every one");
    if (a->names.n && a->all)
        return um_misuse(args, "--all runs every reproduction: leave the names "
                               "out, or leave out --all");
    if (read_job(args, &j, &err) || run_all(&j, &err))
        code = um_trouble(args, &err);
    for (size_t i = 0; i < j.n; i++) {
        if (code == UM_EXIT_FINE && !is_fine(&j.study[i]))
            code = UM_EXIT_NO;
        um_study_fini(&j.study[i]);
    }
    free(j.study);
    return code;
}

const um_command um_cmd_reproduce = {
    .name = "reproduce",
    .values_len = sizeof(reproduce_args),
    .operands = {{"NAME", UM_LIST, offsetof(reproduce_args, names),
                  .modes = UM_MODE(RUN)}},
    .modes = {[RUN] = {"when studies are run", "rbf-fig3"},
              [LIST] = {"with --list", "--list"},
              [COVERAGE] = {"with --coverage", "--coverage"}},
    .mode = reproduce_mode,
    .summary = "rerun figures and tables of the papers",
    .options = {{.rows = options}},
    .run = run,
    .example = "rbf-fig3 --rounds 10",
    .details = "The same rounds and seed give the same result for any number "
               "of threads. The exit code is 0 when every value lies within "
               "its interval, 1 when one does not. With --all and -o the page "
               "shows each paper on one screen, and all.html each "
               "reproduction. With --wrong the exit code is 1 when an interval "
               "that counts "
               "refuses none of seven wrong results.",
};

int main(int argc, char **argv)
{
    (void)argc;
    return um_program_main(&um_cmd_reproduce, argv);
}
