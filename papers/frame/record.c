/*
 * record.c - the results of a reproduction, in growing arrays.
 */
#include "papers/frame/record.h"

#include "base/buffer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
/* The analyzer loses track of arrays that base/buffer.h resizes. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* Reserves space for one more element; returns the array, or NULL. */
static void *grown(um_record *r, void *array, size_t n, size_t *cap,
                   size_t size)
{
    r->bad |= !um_array_reserve(&array, cap, n + 1, size);
    return r->bad ? NULL : array;
}

static bool within(const um_check *c, double x)
{
    return c->low <= x && x <= c->high;
}

/* Returns true if the bound is 0, so that the check tests the sign: a wrong
 * order has the other sign. */
static bool tests_sign(const um_check *c)
{
    return (isinf(c->low) && c->high == 0) || (isinf(c->high) && c->low == 0);
}

/*
 * Returns true if twice or half the expected value would pass. The expected
 * value is the paper's, otherwise the middle of the interval; if an end is
 * open, or if it is zero, which cannot be scaled, the measured value is used.
 */
static bool lets_wrong_pass(const um_check *c)
{
    bool open = isinf(c->low) || isinf(c->high);

    /* A distance in a test: for a wrong value it is large. */
    if (strstr(c->item, "in sigmas") || strstr(c->item, "worst z") ||
        tests_sign(c))
        return false;

    double x = open ? c->ours
               : !isnan(c->paper) && within(c, c->paper)
                   ? c->paper
                   : (c->low + c->high) / 2;

    if (isinf(c->low) && isinf(c->high))
        return true;
    if (x == 0)
        x = c->ours;
    if (open && (isinf(c->low) ? x < 0 : x > 0))
        return within(c, x / 2);
    if (open)
        return x != 0 && within(c, 2 * x);
    return x != 0 && (within(c, 2 * x) || within(c, x / 2));
}

static void judge(um_check *c)
{
    c->pass = within(c, c->ours); /* false for NAN */
    c->weak |= lets_wrong_pass(c);
}

/* Returns true if values that nothing can have are in the interval. An end that
 * is open claims nothing. */
static bool is_impossible(const um_check *c)
{
    return (!c->is_signed && isfinite(c->low) && c->low < 0) ||
           (c->share && isfinite(c->high) && c->high > 1) ||
           (c->percent && isfinite(c->high) && c->high > 100);
}

static void refuse(um_check *c, bool few)
{
    c->weak = true;
    c->pass = c->pass && few;
    snprintf(c->note, sizeof c->note, "%s",
             "the interval contains impossible values");
}

/* Multiplies a value; a zero, which cannot be doubled, becomes one. */
static double spoiled(double x, double by)
{
    return x == 0 && by > 1 ? 1 : x * by;
}

void um_record_check(um_record *r, um_check c)
{
    um_check *array =
        grown(r, r->check, r->nchecks, &r->checks_cap, sizeof *array);

    if (!array)
        return;
    if (r->spoil != 0 && (r->spoil > 0 || tests_sign(&c)))
        c.ours = spoiled(c.ours, r->spoil);
    judge(&c);
    c.impossible = is_impossible(&c);
    if (c.impossible)
        refuse(&c, r->few);
    r->check = array;
    r->check[r->nchecks++] = c;
}

bool um_check_is_blind(const um_check *c)
{
    return c->pass && !c->weak && !c->refuses;
}

um_verdicts um_record_verdicts(const um_record *r)
{
    um_verdicts v = {0};

    for (size_t i = 0; i < r->nchecks; i++) {
        const um_check *c = &r->check[i];
        ++*(c->pass && c->weak ? &v.weak
            : c->pass          ? &v.passed
            : c->errata        ? &v.errata
                               : &v.failed);
    }
    return v;
}

/* Returns true if a remark is an erratum of the paper, not about our reading of
 * it. */
static bool has_erratum(const um_record *r)
{
    for (size_t i = 0; i < r->nnotes; i++)
        if (strncmp(r->note[i].text, "Errata", 6) == 0)
            return true;
    return false;
}

static bool any_fitted(const um_record *r)
{
    for (size_t i = 0; i < r->nchecks; i++)
        if (r->check[i].fitted)
            return true;
    return false;
}

um_outcome um_record_outcome(const um_record *r)
{
    um_verdicts v = um_record_verdicts(r);

    if (v.failed)
        return UM_DOES_NOT_COME_OUT;
    if (!v.passed)
        return UM_NOT_CHECKED;
    return v.weak || v.errata || any_fitted(r) || has_erratum(r)
               ? UM_HOLDS_WITH_REMARKS
               : UM_HOLDS;
}

const char *um_outcome_name(um_outcome o)
{
    static const char *const names[] = {
        [UM_HOLDS] = "holds",
        [UM_HOLDS_WITH_REMARKS] = "holds with remarks",
        [UM_DOES_NOT_COME_OUT] = "does not come out",
        [UM_NOT_CHECKED] = "not checked"};

    return names[o];
}

const char *um_verdict(const um_check *c)
{
    return c->pass ? c->weak ? "weak" : "pass" : c->errata ? "errata" : "FAIL";
}

um_figure *um_record_figure(um_record *r, const char *id, const char *title,
                            const char *x, const char *y)
{
    um_figure *array =
        grown(r, r->figure, r->nfigures, &r->figures_cap, sizeof *array);

    if (!array)
        return NULL;
    r->figure = array;
    um_figure *f = &r->figure[r->nfigures++];
    um_figure_init(f, id, title, x, y);
    return f;
}

um_sheet *um_record_sheet(um_record *r, const char *id, const char *title,
                          const char *const *heads)
{
    um_sheet *array =
        grown(r, r->sheet, r->nsheets, &r->sheets_cap, sizeof *array);

    if (!array)
        return NULL;
    r->sheet = array;
    um_sheet *s = &r->sheet[r->nsheets++];
    um_sheet_init(s, id, title, heads);
    return s;
}

void um_record_note(um_record *r, const char *format, ...)
{
    um_remark *array =
        grown(r, r->note, r->nnotes, &r->notes_cap, sizeof *array);
    va_list list;

    if (!array)
        return;
    r->note = array;
    um_remark *note = &array[r->nnotes++];
    va_start(list, format);
    vsnprintf(note->text, sizeof note->text, format, list);
    va_end(list);
}

bool um_record_bad(const um_record *r)
{
    bool bad = r->bad;

    for (size_t i = 0; i < r->nfigures; i++)
        bad |= um_figure_bad(&r->figure[i]);
    for (size_t i = 0; i < r->nsheets; i++)
        bad |= r->sheet[i].bad;
    return bad;
}

void um_record_fini(um_record *r)
{
    for (size_t i = 0; i < r->nfigures; i++)
        um_figure_fini(&r->figure[i]);
    for (size_t i = 0; i < r->nsheets; i++)
        um_sheet_fini(&r->sheet[i]);
    free(r->note);
    free(r->check);
    free(r->figure);
    free(r->sheet);
    memset(r, 0, sizeof *r);
}
