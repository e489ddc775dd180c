/*
 * run.c - attacks: measures what each attack does to each defence.
 *
 * Expected values come from equations where there are any, otherwise from an
 * independent implementation.
 */
#include "base/error.h"
#include "papers/attacks/attack.h"
#include "papers/frame/paper.h"

#include <math.h>
#include <stdio.h>

enum {
    SHARES = 11, /* shares of ones, 0 to 1, for a figure */
    BY_SHARE = ATTACKS * DEFENCES,
    BY_ERASER = BY_SHARE + SHARES * DEFENCES,
    WIDTH = BY_ERASER + ERASE_POINTS * DEFENCES
};

/* --- rounds ----------------------------------------------------------------*/

static umbel_status run_defence(lab *l, size_t d, um_rng *rng, double *out,
                                umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t a = 0; status == UMBEL_OK && a < ATTACKS; a++)
        status = attacks[a].run(l, rng, &out[a * DEFENCES + d], err);
    for (size_t i = 0; status == UMBEL_OK && i < SHARES; i++)
        status = attack_content(l, (double)i / (SHARES - 1), rng,
                                &out[BY_SHARE + d * SHARES + i], err);
    if (status == UMBEL_OK)
        status = attack_erase(l, rng, &out[BY_ERASER + d * ERASE_POINTS], err);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t d = 0; status == UMBEL_OK && d < DEFENCES; d++) {
        lab l;
        status = lab_open(&l, &defences[d], &r->rng, err);
        if (status == UMBEL_OK)
            status = run_defence(&l, d, &r->rng, out, err);
        lab_close(&l);
    }
    return status;
}

/* --- conclusions -----------------------------------------------------------*/

/* Returns attack a; erasure is the last. */
static const attack *attack_at(size_t a)
{
    return a < ATTACKS ? &attacks[a] : &attack_erasing;
}

static um_mean cost(const um_study *s, size_t a, size_t d)
{
    return um_column(s, a < ATTACKS ? a * DEFENCES + d
                                    : BY_ERASER + (d + 1) * ERASE_POINTS - 1);
}

static void check_all(um_study *s)
{
    char item[UM_TEXT_LEN];

    for (size_t a = 0; a <= ATTACKS; a++)
        for (size_t d = 0; d < DEFENCES; d++) {
            um_mean m = cost(s, a, d);
            snprintf(item, sizeof item, "%s, %s", attack_at(a)->name,
                     defences[d].name);
            um_check_events(s, item, &m,
                            1 / (attack_at(a)->asked * (double)s->rounds));
        }
}

static void list(um_study *s, const char *id, const char *title, bool verdict)
{
    const char *heads[DEFENCES + 3] = {"attack", "costs"};
    um_record *r = &s->record;

    for (size_t d = 0; d < DEFENCES; d++)
        heads[2 + d] = defences[d].name;
    um_sheet *sheet = um_record_sheet(r, id, title, heads);
    for (size_t a = 0; a <= ATTACKS; a++) {
        um_sheet_cell(sheet, "%s", attack_at(a)->name);
        um_sheet_cell(sheet, "%s", attack_at(a)->cost);
        for (size_t d = 0; d < DEFENCES; d++) {
            double x = cost(s, a, d).value;
            if (verdict)
                um_sheet_cell(sheet, "%s",
                              x <= attack_at(a)->stopped ? "stops it" : "-");
            else
                um_sheet_cell(sheet, "%.3g", x);
        }
    }
}

static void draw_curves(um_study *s, um_figure *f, size_t first, size_t points,
                        double step)
{
    for (size_t d = 0; d < DEFENCES; d++) {
        um_series *c = um_figure_series(f, defences[d].name);
        for (size_t i = 0; i < points; i++) {
            um_mean m = um_column(s, first + d * points + i);
            um_series_point(c, (double)i * step, m.value, m.error);
        }
    }
}

static void draw(um_study *s)
{
    um_figure *f = um_record_figure(
        &s->record, "contents", "random keys accepted, by the bits sent",
        "share of ones that the sender chooses", "accepted");

    if (f)
        f->log_y = true;
    draw_curves(s, f, BY_SHARE, SHARES, 1. / (SHARES - 1));
    f = um_record_figure(&s->record, "erasing",
                         "members lost, by keys that an enemy chooses to add",
                         "keys added", "members lost");
    draw_curves(s, f, BY_ERASER, ERASE_POINTS, ERASE_STEP);
}

static void conclude(um_study *s)
{
    check_all(s);
    list(s, "costs", "what an attack costs", false);
    list(s, "verdicts", "what stops it", true);
    draw(s);
    um_record_note(
        &s->record,
        "Contents: a check of the fill or a generalized filter bounds what "
        "random keys find; a secret does not, for content needs no hash. "
        "Chosen insertions (pollution, erasing): a secret stops them, and a "
        "generalized filter without one is erased by them. Targets: nothing "
        "stops a sender who must know how to hash, be it by a salt of the "
        "receiver or a secret; he says that he has what he has not, and only "
        "using what he claims to have finds that out.");
    um_record_note(
        &s->record,
        "Filters made to pass admission (umbel admit) are searched for by "
        "umbel reproduce forgeries. Its designs: cells at random, full blocks, "
        "skewed lanes, closed sets, waves, digits and shifts of a walk, keys "
        "that need the fewest cells, chosen seeds, and ribbons with forged "
        "tails; papers/forgeries/README.md describes each.");
    um_record_note(
        &s->record,
        "Stops it: at most 0.5 %% of random keys or targets accepted (0.1 %% "
        "after pollution), at most 20 %% of members lost. %d bits; %d targets, "
        "%d keys that pollute, %d "
        "that erase %d members. Standard filters have 8 functions, generalized "
        "ones 4 + 4 on distinct places; the check refuses more than %.2f %% "
        "ones.",
        BITS, TARGETS, POLLUTERS, ERASERS, MEMBERS,
        100 * lab_limit(&defences[1]));
}

const um_paper um_paper_attacks = {
    .name = "attacks",
    .source = "ours, after " GBF_SOURCE "section 1",
    .claim =
        "which defence of a filter stops which attack, and what stops none",
    .rounds = 5,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};
