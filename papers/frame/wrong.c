/*
 * wrong.c - tests intervals with wrong results: one that accepts them checks
 * nothing.
 *
 * The rounds are run once. Then conclusions are drawn from them again, wrongly
 * in each of several ways, and every check of the honest run is compared with
 * its counterpart. Some ways double or halve values when they are checked,
 * which also affects values computed from equations; a rise or fall, whose
 * bound is 0, gets the opposite sign. Others change the numbers of rounds
 * before conclusions are drawn: they are doubled, halved, or assigned to the
 * wrong settings, as a mistake in the experiment would do. These affect
 * distances in sigmas, orders and signs.
 */
#include "papers/frame/paper.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double value, number; /* factors of values, of rounds' numbers */
    enum { IN_PLACE, SHIFTED, REVERSED } order;
} ways[UM_WRONG_WAYS] = {
    {"values doubled, zeros made one", 2, 1, IN_PLACE},
    {"values halved", 0.5, 1, IN_PLACE},
    {"rounds doubled", 1, 2, IN_PLACE},
    {"rounds halved", 1, 0.5, IN_PLACE},
    {"settings exchanged with their neighbours", 1, 1, SHIFTED},
    {"settings in reverse order", 1, 1, REVERSED},
    {"rises taken for falls", -1, 1, IN_PLACE},
};

const char *um_wrong_name(unsigned way)
{
    return ways[way].name;
}

static void spoil_round(const double *from, double *to, size_t width,
                        unsigned way)
{
    for (size_t i = 0; i < width; i++) {
        size_t other = ways[way].order == SHIFTED    ? (i + 1) % width
                       : ways[way].order == REVERSED ? width - 1 - i
                                                     : i;
        to[i] = ways[way].number * from[other];
    }
}

static const um_check *same_check(const um_record *r, size_t at,
                                  const char *item)
{
    if (at < r->nchecks && strcmp(r->check[at].item, item) == 0)
        return &r->check[at];
    for (size_t i = 0; i < r->nchecks; i++)
        if (strcmp(r->check[i].item, item) == 0)
            return &r->check[i];
    return NULL;
}

/* Draws conclusions from *s, a copy with wrong numbers, and records which
 * checks fail. */
static void conclude_wrongly(um_study *s, unsigned way, um_record *honest)
{
    s->record = (um_record){.spoil = ways[way].value, .few = honest->few};
    s->paper->conclude(s);
    for (size_t i = 0; i < honest->nchecks; i++) {
        um_check *c = &honest->check[i];
        const um_check *wrong = same_check(&s->record, i, c->item);
        if (wrong && !wrong->pass)
            c->refuses |= 1u << way;
    }
    honest->bad |= um_record_bad(&s->record);
    um_record_fini(&s->record);
}

umbel_status um_try_wrong(um_study *s, umbel_error *err)
{
    size_t width = s->paper->width;
    um_study copy = *s;

    copy.numbers = calloc(s->rounds * width, sizeof *copy.numbers);
    if (!copy.numbers)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for wrong results");
    for (unsigned way = 0; way < UM_WRONG_WAYS; way++) {
        for (size_t i = 0; i < s->rounds * width; i += width)
            spoil_round(s->numbers + i, copy.numbers + i, width, way);
        conclude_wrongly(&copy, way, &s->record);
    }
    free(copy.numbers);
    return UMBEL_OK;
}
