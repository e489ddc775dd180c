/*
 * table.c - computes the cells of a table, simulates its rates, and compares
 * them.
 */
#include "papers/gbf/model/table.h"

#include "base/error.h"
#include "papers/frame/expected.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct shared {
    const um_gbf_table *table;
    uint32_t bits, elements; /* of the largest case */
} shared;

static const um_gbf_table *table_of(const um_study *s)
{
    return ((const shared *)s->shared)->table;
}

/* --- rounds ----------------------------------------------------------------*/

umbel_status um_gbf_table_prepare(um_study *s, const um_gbf_table *t,
                                  umbel_error *err)
{
    shared *own = calloc(1, sizeof *own);

    if (!own)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a table");
    s->shared = own;
    own->table = t;
    for (size_t i = 0; i < GBF_CASES; i++) {
        const um_gbf *g = &t->row[i].filter;
        own->bits = g->m > own->bits ? g->m : own->bits;
        own->elements = g->n > own->elements ? g->n : own->elements;
    }
    return UMBEL_OK;
}

void um_gbf_table_release(um_study *s)
{
    free(s->shared);
    s->shared = NULL;
}

umbel_status um_gbf_table_round(um_round *r, double *out, umbel_error *err)
{
    const shared *own = r->study->shared;
    um_gbf_space space;
    umbel_status status =
        um_gbf_space_init(&space, own->bits, own->elements, err);

    for (size_t i = 0; status == UMBEL_OK && i < GBF_CASES; i++) {
        um_gbf_found found = um_gbf_simulate(&own->table->row[i].filter,
                                             GBF_QUERIES, &space, &r->rng);
        double *to = out + i * GBF_NUMBERS;
        to[GBF_PLAIN_FP] = found.plain_fp;
        to[GBF_FP] = found.fp;
        to[GBF_FN] = found.fn;
    }
    um_gbf_space_fini(&space);
    return status;
}

/* --- conclusions -----------------------------------------------------------*/

/* The columns that the paper prints, without those of the standard filter that
 * are always 0 or 100 %. */
typedef struct column {
    const char *name;
    double (*value)(const um_gbf *g);
    int number; /* of a round, which measures it; -1 if none does */
} column;

static const column columns[] = {
    {"standard f_p", um_gbf_plain_fp, GBF_PLAIN_FP},
    {"f_p", um_gbf_fp, GBF_FP},
    {"f_n", um_gbf_fn, GBF_FN},
    {"F_p", um_gbf_fp_bound, -1},
    {"F_n", um_gbf_fn_bound, -1}};

static double scale(const um_study *s)
{
    return table_of(s)->percent ? 100 : 1;
}

static void name_cell(char item[UM_TEXT_LEN], const um_study *s, size_t row,
                      const char *simulated, const column *c)
{
    const um_gbf_table *t = table_of(s);

    snprintf(item, UM_TEXT_LEN, "%s: %s%s%s", t->row[row].name, simulated,
             c->name, t->percent ? ", %" : "");
}

static um_mean measured(const um_study *s, size_t row, const column *c)
{
    um_mean m = um_column(s, row * GBF_NUMBERS + (size_t)c->number);

    m.value *= scale(s);
    m.sd *= scale(s);
    m.error *= scale(s);
    return m;
}

/* Returns what one query, or one element, adds to the mean of all rounds. */
static double unit(const um_study *s, size_t row, const column *c)
{
    double asked = c->number == GBF_FN ? table_of(s)->row[row].filter.n
                                       : (double)GBF_QUERIES;

    return scale(s) / (asked * (double)s->rounds);
}

static void check_row(um_study *s, size_t row)
{
    const um_gbf *g = &table_of(s)->row[row].filter;
    char item[UM_TEXT_LEN];

    for (size_t i = 0; i < UM_COUNT(columns); i++) {
        name_cell(item, s, row, "", &columns[i]);
        um_check_value(s, item, scale(s) * columns[i].value(g), NAN);
    }
    for (size_t i = 0; i < UM_COUNT(columns); i++) {
        if (columns[i].number < 0)
            continue;
        um_mean m = measured(s, row, &columns[i]);
        name_cell(item, s, row, "simulated ", &columns[i]);
        um_check_events(s, item, &m, unit(s, row, &columns[i]));
    }
}

/* Writes a cell as the paper prints it, or with more digits. */
static void write_cell(um_study *s, um_sheet *sheet, int digits, double x)
{
    if (table_of(s)->percent)
        um_sheet_cell(sheet, "%.*f", digits, x);
    else
        um_sheet_cell(sheet, "%.*e", digits, x);
}

static void list_cell(um_study *s, um_sheet *sheet, size_t row, const column *c)
{
    const um_gbf *g = &table_of(s)->row[row].filter;
    char item[UM_TEXT_LEN];
    um_expected e;

    name_cell(item, s, row, "", c);
    if (!um_expected_find(um_expected_text(s->paper->name), item, &e))
        e.paper = NAN;
    write_cell(s, sheet, 1, e.paper);
    write_cell(s, sheet, 3, scale(s) * c->value(g));
    if (c->number >= 0)
        write_cell(s, sheet, 3, measured(s, row, c).value);
}

static void list(um_study *s)
{
    static const char *const heads[] = {
        "case",     "standard f_p", "computed", "simulated", "f_p",
        "computed", "simulated",    "f_n",      "computed",  "simulated",
        "F_p",      "computed",     "F_n",      "computed",  NULL};
    um_sheet *sheet =
        um_record_sheet(&s->record, "table", table_of(s)->title, heads);

    for (size_t i = 0; i < GBF_CASES; i++) {
        um_sheet_cell(sheet, "%s", table_of(s)->row[i].name);
        for (size_t j = 0; j < UM_COUNT(columns); j++)
            list_cell(s, sheet, i, &columns[j]);
    }
}

static void note(um_study *s)
{
    um_record_note(
        &s->record,
        "Our reading: exponents k0 and k1 (equation 16), as the printed digits "
        "ask for, not the b0 and b1 of equation 8. A printed cell may be one "
        "unit of its last digit off: some were rounded twice. Simulated rates "
        "are held to five standard errors, rare ones to an exact Poisson test; "
        "f_n to equation 12 and the hole of the definition, k0 k1 / m, that "
        "the equation leaves out.");
    if (table_of(s)->errata)
        um_record_note(&s->record, "Errata: %s", table_of(s)->errata);
}

void um_gbf_table_conclude(um_study *s)
{
    for (size_t i = 0; i < GBF_CASES; i++)
        check_row(s, i);
    list(s);
    note(s);
}
