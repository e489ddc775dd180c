/*
 * filter_picture.c - computes the figures of a filter.
 *
 * A key takes cells of one block, so blocks fill unevenly even if all is well:
 * the number of keys of a block is Poisson, and the cells that j keys use in a
 * lane have the mean and variance of an occupancy. The expected distribution
 * mixes normal distributions with these moments. A filter with a single block
 * is divided into regions instead, whose cells are independent of each other.
 */
#include "draw/svg.h"

#include "base/alloc.h"
#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <math.h>
#include <string.h>

enum {
    CURVE = 96,     /* points of a curve */
    REGION = 512,   /* cells of a region */
    REGIONS = 16,   /* of a small filter */
    BINS = 48,      /* of a histogram, at most */
    HEADING = 58,   /* height of title and line */
    MAX_LOAD = 4096 /* keys of a block */
};

/* --- error against keys --------------------------------------------------- */

/* Returns the number of keys at which the error reaches fpr. */
static double keys_at(const um_shape *s, double fpr)
{
    double low = 0, high = 1;

    while (high < 1e18 && um_shape_error(s, high) < fpr)
        high *= 2;
    for (int i = 0; i < 64; i++) {
        double middle = (low + high) / 2;
        *(um_shape_error(s, middle) < fpr ? &low : &high) = middle;
    }
    return floor(low);
}

static void add_point(um_figure *g, const char *name, double x, double y)
{
    um_series *c = um_figure_series(g, name);

    if (c)
        c->named = true;
    um_series_point(c, x, y, 0);
}

static void draw_error(um_filter_picture *p, const um_shape *s)
{
    um_figure *g = &p->figure[p->n++];
    double most = 1.6 * fmax(p->keys, p->capacity);

    um_figure_init(g, "error", "Error against the number of keys", "keys",
                   "share of other keys that match");
    g->log_y = true;
    um_series *c = um_figure_series(g, "this size");
    for (int i = 1; i <= CURVE; i++) {
        double keys = fmax(1, most * i / CURVE);
        double error = um_shape_error(s, keys);
        /* nobody needs the rest of the curve, unless the filter is there */
        if (error >= fmin(p->fpr / 1e4, p->error))
            um_series_point(c, keys, error, 0);
    }
    c = um_figure_series(g, "error it was built for");
    if (c)
        c->faint = true;
    um_series_point(c, 0, p->fpr, 0);
    um_series_point(c, most, p->fpr, 0);
    if (p->keys > 0 && p->error > 0)
        add_point(g, "you are here", p->keys, p->error);
}

/* --- cells in use, block by block ------------------------------------------
 */

typedef struct histogram {
    double *seen, *expected; /* share of the blocks, by cells in use */
    uint64_t cells;          /* of a block */
    uint64_t blocks;
} histogram;

static uint64_t count_bits(const uint8_t *bits, uint64_t from, uint64_t to)
{
    uint64_t n = 0;

    while (from < to && from % 8)
        n += bits[from / 8] >> from % 8 & 1, from++;
    for (; from + 64 <= to; from += 64) {
        uint64_t word;
        memcpy(&word, bits + from / 8, sizeof word);
        n += (uint64_t)__builtin_popcountll(word);
    }
    for (; from < to; from++)
        n += bits[from / 8] >> from % 8 & 1;
    return n;
}

static void count_blocks(const uint8_t *bits, histogram *h)
{
    for (uint64_t i = 0; i < h->blocks; i++)
        h->seen[count_bits(bits, i * h->cells, (i + 1) * h->cells)] +=
            1 / (double)h->blocks;
}

/* Adds a normal distribution, cut into whole numbers. */
static void add_normal(histogram *h, double mean, double variance,
                       double weight)
{
    double scale = sqrt(2 * fmax(variance, 1e-9));

    for (uint64_t x = 0; x <= h->cells; x++) {
        double low = x ? erf(((double)x - 0.5 - mean) / scale) : -1,
               high = x < h->cells ? erf(((double)x + 0.5 - mean) / scale) : 1;
        h->expected[x] += weight * (high - low) / 2;
    }
}

/* Adds the moments of the number of cells in use of lanes of width cells after
 * this many throws into each. */
static void add_lanes(double lanes, double width, double throws, double *mean,
                      double *variance)
{
    double free1 = pow(1 - 1 / width, throws),
           free2 = pow(1 - 2 / width, throws);

    *mean += lanes * width * (1 - free1);
    *variance += lanes * (width * free1 + width * (width - 1) * free2 -
                          width * width * free1 * free1);
}

static void expect_blocks(const um_layout *l, double keys, histogram *h)
{
    double load = keys / (double)h->blocks, weight = exp(-load);

    for (int j = 0; j < MAX_LOAD; weight *= load / ++j) {
        double mean = 0, variance = 0, width = (double)l->width;
        /* Extra cells fall into lanes that each key chooses: on average they
         * are as many in every lane. */
        add_lanes(l->lanes, width,
                  j * (l->throws + l->extra / (double)l->lanes), &mean,
                  &variance);
        if (weight > 1e-9)
            add_normal(h, mean, variance, weight);
        else if (j > load)
            break;
    }
}

static void expect_regions(const um_layout *l, double keys, histogram *h)
{
    double fill = um_model_fill(l, keys), n = (double)h->cells;

    add_normal(h, n * fill, n * fill * (1 - fill), 1);
}

static double *share_of(const histogram *h, bool expected)
{
    return expected ? h->expected : h->seen;
}

static void draw_histogram(um_figure *g, const histogram *h)
{
    uint64_t low = h->cells, high = 0;

    for (uint64_t x = 0; x <= h->cells; x++)
        if (h->seen[x] > 0 || h->expected[x] > 1e-4) {
            low = x < low ? x : low;
            high = x;
        }
    uint64_t bin = (high - low) / BINS + 1;
    for (int expected = 0; expected < 2; expected++) {
        um_series *c = um_figure_series(
            g, expected ? "by chance, with as many keys" : "this filter");
        if (c)
            c->faint = expected;
        for (uint64_t from = low; from <= high; from += bin) {
            double sum = 0;
            for (uint64_t x = from; x < from + bin && x <= h->cells; x++)
                sum += share_of(h, expected)[x];
            um_series_point(c,
                            ((double)from + (double)(bin - 1) / 2) * 100 /
                                (double)h->cells,
                            sum * 100, 0);
        }
    }
}

/* Returns the used cells as bits: its own, or copied to memory of the pool. */
static const uint8_t *used_bits(const umbel_filter *f, um_pool *pool)
{
    if (um_has_bits(f->kind))
        return f->kind->bits->cells(f->self);
    uint8_t *bits = um_pool_get(pool, f->layout.cells / 8 + 8, 1);
    if (bits)
        f->kind->bits->copy(f->self, bits);
    return bits;
}

static umbel_status draw_fill(um_filter_picture *p, const umbel_filter *f,
                              umbel_error *err)
{
    const um_layout *l = &f->layout;
    bool regions = l->blocks == 1;
    histogram h = {.cells = l->cells / l->blocks, .blocks = l->blocks};
    um_pool pool;

    if (regions) {
        h.cells = l->cells / REGIONS < REGION
                      ? (l->cells + REGIONS - 1) / REGIONS
                      : REGION;
        h.blocks = l->cells / h.cells;
    }
    um_pool_init(&pool, &f->alloc);
    h.seen = um_pool_get(&pool, h.cells + 1, sizeof *h.seen);
    h.expected = um_pool_get(&pool, h.cells + 1, sizeof *h.expected);
    const uint8_t *bits = used_bits(f, &pool);
    if (pool.failed) {
        um_pool_fini(&pool);
        return um_fail(err, UMBEL_E_NOMEM, "out of memory");
    }
    count_blocks(bits, &h);
    (regions ? expect_regions : expect_blocks)(l, p->keys, &h);
    um_figure *g = &p->figure[p->n++];
    um_figure_init(g, "fill",
                   regions ? "How full its regions are"
                           : "How full its blocks are",
                   regions ? "cells in use in a region, per cent"
                           : "cells in use in a block, per cent",
                   regions ? "regions, per cent" : "blocks, per cent");
    draw_histogram(g, &h);
    um_pool_fini(&pool);
    return UMBEL_OK;
}

/* --- size against error, for filters without such a model ------------------
 */

static void draw_size(um_filter_picture *p, const umbel_filter *f)
{
    um_figure *g = &p->figure[p->n++];
    double here = -log2(p->error);
    um_series *curve[2];
    static const char *const name[] = {"limit: log2(1 / error)",
                                       "a Bloom filter"};

    um_figure_init(g, "size", "Size against error", "bits per key",
                   "share of other keys that match");
    g->log_y = true;
    for (int i = 0; i < 2; i++) {
        curve[i] = um_figure_series(g, name[i]);
        if (curve[i])
            curve[i]->faint = true;
        for (int j = 1; j <= CURVE; j++) {
            double bits = (here + 4) * j / CURVE;
            um_series_point(curve[i], i ? bits / log(2) : bits, exp2(-bits), 0);
        }
    }
    add_point(g, "this filter", 8 * (double)umbel_encoded_len(f) / p->keys,
              p->error);
}

/* --- the picture -----------------------------------------------------------
 */

umbel_status um_filter_picture_init(um_filter_picture *p, const umbel_filter *f,
                                    umbel_error *err)
{
    const um_shape *s = um_shape_of(f);
    bool model = f->kind->bits && um_used_by_chance(f) && !s->intersected &&
                 !s->difference;
    um_filter_picture made = {.keys = (double)umbel_added(f),
                              .capacity = NAN,
                              .error = umbel_predict(f),
                              .fpr = s->fpr};

    if (isnan(made.error) ||
        (!model && (made.keys < 1 || made.error <= 0 || made.error >= 1)))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "there is nothing to draw: its error is not known, or "
                       "it has no keys yet");
    if (model) {
        made.capacity = s->capacity ? (double)s->capacity : keys_at(s, s->fpr);
        draw_error(&made, s);
        umbel_status status = draw_fill(&made, f, err);
        if (status) {
            um_filter_picture_fini(&made);
            return status;
        }
    } else {
        draw_size(&made, f);
    }
    for (size_t i = 0; i < made.n; i++)
        if (um_figure_bad(&made.figure[i])) {
            um_filter_picture_fini(&made);
            return um_fail(err, UMBEL_E_NOMEM, "out of memory");
        }
    *p = made;
    return UMBEL_OK;
}

void um_filter_picture_fini(um_filter_picture *p)
{
    for (size_t i = 0; i < p->n; i++)
        um_figure_fini(&p->figure[i]);
}

void um_filter_picture_svg(FILE *out, const um_filter_picture *p,
                           const char *title, const char *line)
{
    int height = HEADING, y = HEADING;

    for (size_t i = 0; i < p->n; i++)
        height += um_svg_figure_height(&p->figure[i]);
    um_svg_begin(out, UM_SVG_WIDTH, height, title);
    um_svg_text(out, 16, 28, "class=\"title\"", title);
    um_svg_fitted_text(out, 16, 49, "", line, 7.4, UM_SVG_WIDTH - 32);
    for (size_t i = 0; i < p->n; i++) {
        fprintf(out, "<g transform=\"translate(0 %d)\">\n", y);
        um_svg_figure(out, &p->figure[i]);
        fputs("</g>\n", out);
        y += um_svg_figure_height(&p->figure[i]);
    }
    um_svg_end(out);
}
