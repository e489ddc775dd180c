/*
 * tradeoff.c - replays every form of a set in several sizes.
 */
#include "stopset/replay/replay.h"

#include "base/error.h"
#include "draw/document.h"
#include "draw/folder.h"
#include "draw/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The paper uses 1.25 to 12.5 bits. */
static const double bits_per_member[SS_SIZES] = {1, 2, 3, 4, 6, 8, 12, 16};

/* --- trials --------------------------------------------------------------- */

static umbel_status try_bytes(ss_attempt *a, ss_trials *trials,
                              const char *bytes, size_t len, umbel_error *err)
{
    ss_set set;

    UM_TRY(ss_set_parse(&set, bytes, len, err));
    bool red = set.info.kind == SS_RED;
    umbel_status status =
        ss_try(trials, red ? &set : NULL, red ? NULL : &set, &a->result, err);
    ss_set_fini(&set);
    return status;
}

/* Builds and tries one form. Returns E_RANGE if the form is impossible in that
 * size. */
static umbel_status try_form(ss_tradeoff *x, const ss_task *task,
                             ss_trials *trials, ss_form form,
                             const ss_build_params *p, umbel_error *err)
{
    ss_attempt *a = &x->attempt[x->n];
    char *bytes;
    size_t len;
    ss_build_result made;

    UM_TRY(ss_build_set(task, form, p, &bytes, &len, &made, err));
    *a = (ss_attempt){.form = form, .bytes = len};
    umbel_status status = try_bytes(a, trials, bytes, len, err);
    free(bytes);
    x->n += status == UMBEL_OK;
    return status;
}

umbel_status ss_tradeoff_run(ss_tradeoff *x, const ss_task *task,
                             ss_trials *trials, uint64_t seed, umbel_error *err)
{
    ss_build_params p = {.seed = seed};

    *x = (ss_tradeoff){.info = task->info};
    UM_TRY(try_form(x, task, trials, SS_LIST, &p, err));
    for (ss_form form = SS_BLOOM; form < SS_FORMS; form++)
        for (size_t i = 0; i < SS_SIZES; i++) {
            p.bits = (uint64_t)(bits_per_member[i] * (double)task->nmembers);
            p.bits = p.bits < 64 ? 64 : p.bits;
            umbel_status status = try_form(x, task, trials, form, &p, err);
            if (status != UMBEL_OK && status != UMBEL_E_RANGE)
                return status;
        }
    return UMBEL_OK;
}

/* --- figures -------------------------------------------------------------- */

static double share(uint64_t part, uint64_t of)
{
    return of ? (double)part / (double)of : 0;
}

static double bytes_of(const ss_attempt *a)
{
    return (double)a->bytes;
}

static double success(const ss_attempt *a)
{
    const ss_outcome *o = &a->result.outcome;

    return share(o->genuine + o->lucky, o->traces);
}

static double probes_saved(const ss_attempt *a)
{
    const ss_outcome *o = &a->result.outcome;

    return 1 - share(o->probes, o->probes_full);
}

static double destinations_spared(const ss_attempt *a)
{
    return 1 - share(a->result.outcome.collision, a->result.outcome.traces);
}

static double nodes_missed(const ss_attempt *a)
{
    return a->result.nodes_missed;
}

static double links_missed(const ss_attempt *a)
{
    return a->result.links_missed;
}

static const struct picture {
    const char *id, *title, *x, *y;
    double (*x_of)(const ss_attempt *a), (*y_of)(const ss_attempt *a);
} pictures[] = {
    {"success", "Traces that stop at the penultimate node", "bytes of the file",
     "share of the traces", bytes_of, success},
    {"destinations", "Destinations spared, and nodes missed",
     "share of the nodes missed", "share of the destinations spared",
     nodes_missed, destinations_spared},
    {"probes", "Probes saved, and links missed", "share of the links missed",
     "share of the probes saved", links_missed, probes_saved},
    {"nodes", "Nodes missed", "bytes of the file", "share of the nodes missed",
     bytes_of, nodes_missed},
    {"links", "Links missed", "bytes of the file", "share of the links missed",
     bytes_of, links_missed},
};

static void draw(const ss_tradeoff *x, const struct picture *p, um_figure *f)
{
    um_figure_init(f, p->id, p->title, p->x, p->y);
    for (ss_form form = SS_LIST; form < SS_FORMS; form++) {
        um_series *c = um_figure_series(f, ss_form_names[form]);
        for (size_t i = 0; i < x->n; i++)
            if (x->attempt[i].form == form)
                um_series_point(c, p->x_of(&x->attempt[i]),
                                p->y_of(&x->attempt[i]), NAN);
    }
}

static void tabulate(const ss_tradeoff *x, um_sheet *s)
{
    static const char *const heads[] = {"form",
                                        "bytes",
                                        "traces",
                                        "genuine",
                                        "lucky",
                                        "short",
                                        "collision",
                                        "never",
                                        "probes",
                                        "probes full",
                                        "destination probes",
                                        "nodes missed",
                                        "links missed",
                                        NULL};

    um_sheet_init(s, "tradeoff", "Every form in several sizes", heads);
    for (size_t i = 0; i < x->n; i++) {
        const ss_attempt *a = &x->attempt[i];
        const ss_outcome *o = &a->result.outcome;
        const uint64_t numbers[] = {a->bytes,       o->traces,
                                    o->genuine,     o->lucky,
                                    o->shorter,     o->collision,
                                    o->never,       o->probes,
                                    o->probes_full, o->destination_probes};
        um_sheet_cell(s, "%s", ss_form_names[a->form]);
        for (size_t j = 0; j < UM_COUNT(numbers); j++)
            um_sheet_cell(s, "%" PRIu64, numbers[j]);
        um_sheet_cell(s, "%.5f", a->result.nodes_missed);
        um_sheet_cell(s, "%.5f", a->result.links_missed);
    }
}

/* --- files ---------------------------------------------------------------- */

static void write_svg(FILE *out, const void *what)
{
    um_svg_figure(out, what);
}

static void write_csv(FILE *out, const void *what)
{
    um_csv_figure(out, what);
}

static void write_sheet(FILE *out, const void *what)
{
    um_csv_sheet(out, what);
}

static umbel_status publish_picture(const ss_tradeoff *x,
                                    const struct picture *p, const char *dir,
                                    umbel_error *err)
{
    char name[2][UM_TEXT_LEN];
    um_figure f;
    umbel_status status = UMBEL_OK;

    draw(x, p, &f);
    snprintf(name[0], sizeof name[0], "%s.svg", p->id);
    snprintf(name[1], sizeof name[1], "%s.csv", p->id);
    if (um_figure_bad(&f))
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for a figure");
    if (status == UMBEL_OK)
        status = um_folder_write(dir, name[0], &(um_folder_page){&f, write_svg},
                                 err);
    if (status == UMBEL_OK)
        status = um_folder_write(dir, name[1], &(um_folder_page){&f, write_csv},
                                 err);
    um_figure_fini(&f);
    return status;
}

typedef struct whole_page {
    const ss_tradeoff *x;
    const um_sheet *sheet;
} whole_page;

static void write_page(FILE *out, const void *what)
{
    const whole_page *p = what;
    char text[256];

    um_html_begin(out, SS_TRADEOFF_GENERATOR, "Stop sets, replayed");
    snprintf(text, sizeof text,
             "A %s set of %" PRIu64 " members by %s, learned from %" PRIu64
             " monitors, in every form and several sizes. Shares of nodes and "
             "links are of what full traces find.",
             ss_kind_names[p->x->info.kind], p->x->info.members,
             ss_key_names[p->x->info.key], p->x->info.monitors);
    um_html_text(out, "p", "", text);
    for (size_t i = 0; i < UM_COUNT(pictures); i++)
        um_html_image(out, pictures[i].id, pictures[i].title);
    um_html_sheet(out, p->sheet);
    um_html_end(out);
}

umbel_status ss_tradeoff_publish(const ss_tradeoff *x, const char *dir,
                                 umbel_error *err)
{
    um_sheet sheet;
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; status == UMBEL_OK && i < UM_COUNT(pictures); i++)
        status = publish_picture(x, &pictures[i], dir, err);
    UM_TRY(status);
    tabulate(x, &sheet);
    if (sheet.bad)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for the table");
    if (status == UMBEL_OK)
        status = um_folder_write(dir, "tradeoff.csv",
                                 &(um_folder_page){&sheet, write_sheet}, err);
    if (status == UMBEL_OK)
        status = um_folder_write(
            dir, "index.html",
            &(um_folder_page){&(whole_page){x, &sheet}, write_page}, err);
    um_sheet_fini(&sheet);
    return status;
}
