/*
 * run.c - survey-geographic: mobile hosts in a square that is recursively
 * divided into four (section 6.3): each square has a filter of its hosts.
 *
 * A sender looks for the smallest square around it that contains the
 * destination; then the message descends, at each level to a child that
 * matches.
 */
#include "papers/survey/filters.h"

#include <umbel/base.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>

enum {
    LEVELS = 4, /* below the whole square */
    SIDE = 1 << LEVELS,
    HOSTS = 4096,
    SENT = 500,
    PER_HOST = 10, /* bits per host in a square's filter */
    HASHES = 7
};
enum { DELIVERED, EXPECTED, WIDTH };

typedef struct region {
    umbel_filter *square[LEVELS + 1][SIDE][SIDE];
    uint64_t host[HOSTS];
    uint8_t x[HOSTS], y[HOSTS];
} region;

/* Opens the filters; at every level all hosts fit if evenly distributed. */
static umbel_status open_squares(region *g, uint64_t seed, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t l = 0; l <= LEVELS; l++)
        for (size_t i = 0; status == UMBEL_OK && i < (size_t)1 << 2 * l; i++)
            status = um_survey_open(
                "bloom", (uint64_t)PER_HOST * HOSTS >> 2 * l, HASHES, NULL,
                seed + l, &g->square[l][i >> l][i & (((size_t)1 << l) - 1)],
                err);
    return status;
}

static umbel_status settle(region *g, um_rng *rng, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    um_survey_draw(rng, g->host, HOSTS);
    for (size_t i = 0; i < HOSTS; i++) {
        g->x[i] = (uint8_t)um_random_below(rng, SIDE);
        g->y[i] = (uint8_t)um_random_below(rng, SIDE);
        for (size_t l = 0; status == UMBEL_OK && l <= LEVELS; l++)
            status = umbel_add_fixed(
                g->square[l][g->x[i] >> (LEVELS - l)][g->y[i] >> (LEVELS - l)],
                &g->host[i], sizeof g->host[i], 1, NULL, err);
    }
    return status;
}

static bool has(const region *g, size_t level, size_t x, size_t y, uint64_t key)
{
    bool hit = false;

    return !umbel_query_fixed(g->square[level][x][y], &key, sizeof key, 1, &hit,
                              NULL) &&
           hit;
}

/* Descends to the smallest squares, always to the first child that matches. */
static bool go_down(const region *g, size_t level, size_t x, size_t y,
                    size_t to)
{
    while (level < LEVELS) {
        size_t child = 0;
        level++;
        while (child < 4 && !has(g, level, 2 * x + child / 2, 2 * y + child % 2,
                                 g->host[to]))
            child++;
        if (child == 4)
            return false;
        x = 2 * x + child / 2;
        y = 2 * y + child % 2;
    }
    return x == g->x[to] && y == g->y[to];
}

static bool send(const region *g, size_t from, size_t to)
{
    for (size_t l = LEVELS + 1; l-- > 0;) {
        size_t x = (size_t)g->x[from] >> (LEVELS - l);
        size_t y = (size_t)g->y[from] >> (LEVELS - l);
        if (has(g, l, x, y, g->host[to]))
            return go_down(g, l, x, y, to);
    }
    return false;
}

static void close_squares(region *g)
{
    for (size_t l = 0; l <= LEVELS; l++)
        for (size_t x = 0; x < SIDE; x++)
            for (size_t y = 0; y < SIDE; y++)
                umbel_close(g->square[l][x][y]);
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    region g = {.square = {{{NULL}}}};
    umbel_status status = open_squares(&g, um_random(&r->rng), err);

    if (status == UMBEL_OK)
        status = settle(&g, &r->rng, err);
    out[DELIVERED] = 0;
    for (size_t i = 0; status == UMBEL_OK && i < SENT; i++)
        out[DELIVERED] += send(&g, um_random_below(&r->rng, HOSTS),
                               um_random_below(&r->rng, HOSTS))
                              ? 1. / SENT
                              : 0;
    out[EXPECTED] = status == UMBEL_OK ? umbel_predict(g.square[0][0][0]) : NAN;
    close_squares(&g);
    return status;
}

static void conclude(um_study *s)
{
    um_mean delivered = um_column(s, DELIVERED);

    um_check_value(s, "false positive rate of a square",
                   um_column(s, EXPECTED).value, NAN);
    um_check_mean(s, "messages delivered at the first try", &delivered);
    um_record_note(&s->record,
                   "A square's filter is the union of its parts' (umbel "
                   "merge), if they have one size; here each level has a size "
                   "of its own. A message goes astray when a smaller square "
                   "around the sender matches falsely, or an earlier child: "
                   "about ten look-ups of rate f.");
}

const um_paper um_paper_survey_geographic = {
    .name = "survey-geographic",
    .source = SURVEY_SOURCE "section 6.3",
    .claim = "filters of squares lead a message to its host, but for some "
             "false turns",
    .rounds = 20,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};
