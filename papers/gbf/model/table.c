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

static double printed(const um_study *s, size_t row, const column *c)
{
    char item[UM_TEXT_LEN];
    um_expected e;

    name_cell(item, s, row, "", c);
    return um_expected_find(um_expected_text(s->paper->name), item, &e)
               ? e.paper
               : NAN;
}

static double computed(const um_study *s, size_t row, const column *c)
{
    return scale(s) * c->value(&table_of(s)->row[row].filter);
}

static void list_cell(um_study *s, um_sheet *sheet, size_t row, const column *c)
{
    write_cell(s, sheet, 1, printed(s, row, c));
    write_cell(s, sheet, 3, computed(s, row, c));
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

/* Returns a unit of the last printed digit: one decimal, in percent or of
 * 1.2e-3. */
static double last_digit(const um_study *s, double paper)
{
    return table_of(s)->percent || paper <= 0
               ? 0.1
               : 0.1 * pow(10, floor(log10(paper) + 1e-9));
}

/* Returns true if the printed cell is farther from ours than half a unit of its
 * last digit. */
static bool is_misrounded(double paper, double ours, double digit)
{
    return fabs(ours - paper) > 0.5 * digit * (1 + 1e-6);
}

/* Writes a misrounded cell into the text of the errata; returns its length. */
static size_t describe(const um_study *s, size_t row, const column *c,
                       bool first, char *text, size_t cap)
{
    double paper = printed(s, row, c), ours = computed(s, row, c);
    double digit = last_digit(s, paper);
    double once = round(10 * ours / digit) / 10; /* to one digit more */
    bool twice = fabs(floor(once + 0.5) * digit - paper) < digit / 100;
    int len = snprintf(text, cap,
                       table_of(s)->percent ? "%s %s, %s: %.1f for %.5g%s"
                                            : "%s %s, %s: %.1e for %.4e%s",
                       first ? "" : ";", table_of(s)->row[row].name, c->name,
                       paper, ours, twice ? " (rounded twice)" : "");

    return len < 0 ? 0 : (size_t)len < cap ? (size_t)len : cap - 1;
}

/* Finds the cells that the paper misrounds, and lists them. */
static void find_misrounded(um_study *s)
{
    char text[3 * UM_NOTE_LEN] = "";
    size_t n = 0, len = 0;

    for (size_t i = 0; i < GBF_CASES; i++)
        for (size_t j = 0; j < UM_COUNT(columns); j++) {
            const column *c = &columns[j];
            double paper = printed(s, i, c);
            if (!is_misrounded(paper, computed(s, i, c), last_digit(s, paper)))
                continue;
            len += describe(s, i, c, n == 0, text + len, sizeof text - len);
            n++;
        }
    um_check_value(s, "misrounded cells", (double)n, NAN);
    if (n)
        um_record_note(
            &s->record,
            "Errata: %zu of 25 cells %s misrounded, by more than half "
            "a unit of the last digit:%s.",
            n, n == 1 ? "is" : "are", text);
}

static void note(um_study *s)
{
    um_record_note(
        &s->record,
        "Our reading: exponents k0 and k1 (equation 16), as the printed digits "
        "ask for, not the b0 and b1 of equation 8. Computed cells are held to "
        "half a unit of the last printed digit. Simulated rates are held to "
        "five standard errors, rare ones to an exact Poisson test; f_n to "
        "equation 12 and the hole of the definition, k0 k1 / m, that the "
        "equation leaves out.");
}

void um_gbf_table_conclude(um_study *s)
{
    for (size_t i = 0; i < GBF_CASES; i++)
        check_row(s, i);
    find_misrounded(s);
    list(s);
    note(s);
}
