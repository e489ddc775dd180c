/*
 * run.c - spam-signatures: hash functions for signatures of 160 bits (section
 * III).
 *
 * Chunks of SHA-1 reach at most 2^(160/k) cells, or k times as many in k parts
 * of the filter; equation 2 over the whole signature reaches all cells. The
 * cells are private to this study (signature.h says why); the last row is the
 * library's.
 */
#include "base/error.h"
#include "papers/frame/paper.h"
#include "papers/spam/signatures/signature.h"
#include "papers/spam/table.h"

#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 100000, ASKED = 100000, ALL = KEYS + ASKED };

/* How a signature finds its cells. */
enum { CHUNKS, PARTS, LINEAR, LIBRARY, WAYS };
static const char *const way_names[WAYS] = {"chunks", "chunks in k parts",
                                            "equation 2", "kind bloom"};

typedef struct shape {
    uint32_t hashes;
    uint64_t cells;
} shape;

/* 2^(160/k) is 1,048,576 for k = 8 and 65,536 for k = 10. */
static const shape shapes[] = {
    {8, 500000}, {8, 1500000}, {10, 500000}, {10, 1500000}};
enum { SHAPES = sizeof shapes / sizeof *shapes, LARGEST = 1500000 };

/* Numbers of a round: the error, and the share of the cells up to the highest
 * one that is set. */
enum { ERROR, REACH, NUMBERS };
enum { WIDTH = SHAPES * WAYS * NUMBERS };

/* --- expected values ------------------------------------------------------ */

/* Returns the number of cells that a function can reach. */
static double utilisable(const shape *h, int way)
{
    double chunk = ldexp(1, (int)(SIGNATURE_BITS / h->hashes));
    double part = ceil((double)h->cells / h->hashes);

    return way == CHUNKS  ? fmin((double)h->cells, chunk)
           : way == PARTS ? fmin(part, chunk)
                          : (double)h->cells;
}

/*
 * Computes equation 1 over the cells that can be reached. A chunk modulo m is
 * not uniform: of its r values, the first r mod m cells get one more than the
 * others, so the probability that a function hits a set cell is a mean over
 * both sorts.
 */
static double formula(const shape *h, int way)
{
    double chunk = ldexp(1, (int)(SIGNATURE_BITS / h->hashes));
    double cells =
        way == PARTS ? ceil((double)h->cells / h->hashes) : (double)h->cells;
    double throws = way == PARTS ? KEYS : (double)h->hashes * KEYS;
    double each = floor(chunk / cells), more = chunk - each * cells;
    double u = (each + 1) / chunk, v = each / chunk;

    if (way >= LINEAR) /* the prime is much larger than m */
        return pow(-expm1(-throws / cells), h->hashes);
    return pow(more * u * -expm1(-throws * u) +
                   (cells - more) * v * -expm1(-throws * v),
               h->hashes);
}

/* --- rounds ----------------------------------------------------------------*/

typedef struct space {
    um_wide signature[ALL];
    um_wide c[SIGNATURE_MAX], d[SIGNATURE_MAX];
    uint8_t bit[LARGEST]; /* one byte per bit */
} space;

static uint64_t cell_of(const space *s, const shape *h, int way,
                        const um_wide *x, uint32_t i)
{
    uint64_t part = (h->cells + h->hashes - 1) / h->hashes;

    if (way == CHUNKS)
        return um_wide_chunk(x, i, h->hashes) % h->cells;
    if (way == PARTS)
        return i * part + um_wide_chunk(x, i, h->hashes) % part;
    um_wide y = um_wide_linear(&s->c[i], x, &s->d[i]);
    return um_wide_mod(&y, h->cells);
}

static void measure(space *s, const shape *h, int way, double *out)
{
    uint64_t highest = 0, errors = 0;

    memset(s->bit, 0, sizeof s->bit);
    for (size_t i = 0; i < KEYS; i++)
        for (uint32_t j = 0; j < h->hashes; j++) {
            uint64_t cell = cell_of(s, h, way, &s->signature[i], j);
            s->bit[cell] = 1;
            highest = cell > highest ? cell : highest;
        }
    for (size_t i = KEYS; i < ALL; i++) {
        uint32_t j = 0;
        while (j < h->hashes && s->bit[cell_of(s, h, way, &s->signature[i], j)])
            j++;
        errors += j == h->hashes;
    }
    out[ERROR] = (double)errors / ASKED;
    out[REACH] = (double)(highest + 1) / (double)h->cells;
}

/* Measures the library's filter with the same signatures as keys, which it
 * hashes. */
static umbel_status measure_library(um_round *r, const space *s, const shape *h,
                                    double *out, umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    bool *hit = calloc(ASKED, sizeof *hit);
    double errors = 0;

    p.addressing = "classic";
    p.cells = h->cells;
    p.hashes = h->hashes;
    p.seed = um_random(&r->rng);
    umbel_status status = UMBEL_OK;
    if (!hit)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for answers");
    if (status == UMBEL_OK)
        status = umbel_create("bloom", &p, &f, err);
    if (status == UMBEL_OK)
        status = umbel_add_fixed(f, s->signature, sizeof *s->signature, KEYS,
                                 NULL, err);
    if (status == UMBEL_OK)
        status = umbel_query_fixed(f, s->signature + KEYS, sizeof *s->signature,
                                   ASKED, hit, err);
    for (size_t i = 0; status == UMBEL_OK && i < ASKED; i++)
        errors += hit[i];
    out[ERROR] = errors / ASKED;
    out[REACH] = 1;
    umbel_close(f);
    free(hit);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    space *s = malloc(sizeof *s);
    umbel_status status = UMBEL_OK;

    if (!s)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    for (size_t i = 0; i < ALL; i++)
        s->signature[i] = um_signature_of(um_random(&r->rng));
    for (size_t i = 0; i < SIGNATURE_MAX; i++) {
        s->c[i] = um_wide_draw(&r->rng, true);
        s->d[i] = um_wide_draw(&r->rng, false);
    }
    for (size_t i = 0; status == UMBEL_OK && i < SHAPES; i++) {
        double *to = out + i * WAYS * NUMBERS;
        for (int way = 0; way < LIBRARY; way++)
            measure(s, &shapes[i], way, to + (size_t)way * NUMBERS);
        status = measure_library(r, s, &shapes[i],
                                 to + (size_t)LIBRARY * NUMBERS, err);
    }
    free(s);
    return status;
}

/* --- conclusions -----------------------------------------------------------*/

static um_mean column(const um_study *s, size_t shape_of, int way, int what)
{
    return um_column(s,
                     (shape_of * WAYS + (size_t)way) * NUMBERS + (size_t)what);
}

static void check(um_study *s, size_t i, int way)
{
    char item[UM_TEXT_LEN];
    um_mean m = column(s, i, way, ERROR);

    snprintf(item, sizeof item, "%s, k = %u, m = %lu", way_names[way],
             shapes[i].hashes, (unsigned long)shapes[i].cells);
    um_check_events(s, item, &m, 1 / ((double)ASKED * (double)s->rounds));
}

/* Returns true if the library accepts this many cells with MD5: it has the
 * paper's limit. */
static bool md5_takes(uint64_t cells)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = "chunks-md5";
    p.cells = cells;
    p.hashes = 8;
    bool took = umbel_create("bloom", &p, &f, NULL) == UMBEL_OK;
    umbel_close(f);
    return took;
}

static void check_reach(um_study *s, const char *item, size_t i, int way)
{
    um_check_value(
        s, item, column(s, i, way, REACH).value * (double)shapes[i].cells, NAN);
}

static void list(um_study *s)
{
    static const char *const heads[] = {
        "k", "m", "functions", "utilisable cells", "error", "expected", NULL};
    um_sheet *sheet = um_record_sheet(&s->record, "table",
                                      "100,000 signatures of 160 bits", heads);

    for (size_t i = 0; i < SHAPES; i++)
        for (int way = 0; way < WAYS; way++) {
            const shape *h = &shapes[i];
            double all = utilisable(h, way) * (way == PARTS ? h->hashes : 1);
            um_sheet_cell(sheet, "%u", h->hashes);
            um_sheet_cell(sheet, "%lu", (unsigned long)h->cells);
            um_sheet_cell(sheet, "%s", way_names[way]);
            um_sheet_cell(sheet, "%.0f", fmin(all, (double)h->cells));
            um_sheet_cell(sheet, "%.3g", column(s, i, way, ERROR).value);
            um_sheet_cell(sheet, "%.3g", formula(h, way));
        }
}

static void draw(um_study *s)
{
    um_figure *f = um_record_figure(
        &s->record, "errors", "Error of 100,000 signatures, k = 10",
        "bits of the filter", "false positive rate");

    if (f)
        f->log_x = f->log_y = true;
    for (int way = 0; way < WAYS; way++) {
        um_series *c = um_figure_series(f, way_names[way]);
        for (size_t i = 0; i < SHAPES; i++) {
            um_mean m = column(s, i, way, ERROR);
            if (shapes[i].hashes == 10 && m.value > 0)
                um_series_point(c, (double)shapes[i].cells, m.value, m.error);
        }
    }
}

static void conclude(um_study *s)
{
    for (size_t i = 0; i < SHAPES; i++)
        for (int way = 0; way < WAYS; way++)
            check(s, i, way);
    check_reach(s, "highest cell of chunks, k = 8, m = 1500000", 1, CHUNKS);
    check_reach(s, "highest cell of chunks, k = 10, m = 1500000", 3, CHUNKS);
    check_reach(s, "highest cell in k parts, k = 10, m = 1500000", 3, PARTS);
    check_reach(s, "highest cell of equation 2, k = 10, m = 1500000", 3,
                LINEAR);
    um_check_value(s, "chunks-md5 takes 65,536 cells, k = 8", md5_takes(65536),
                   NAN);
    um_check_value(s, "chunks-md5 takes 65,537 cells, k = 8", md5_takes(65537),
                   NAN);
    draw(s);
    list(s);
    um_record_note(
        &s->record,
        "Equation 2 over whole signatures: ((c x + d) mod p) mod m with p = "
        "2^160 + 7, the first prime above every signature. Chunks of SHA-1 "
        "and "
        "this are private to the study, because a digest of the library has "
        "128 bits; the library hashes a signature like any other key.");
}

const um_paper um_paper_spam_signatures = {
    .name = "spam-signatures",
    .source = SPAM_SOURCE "section III, Figs 1 and 2, equation 2",
    .claim = "k chunks of SHA-1 reach 2^(160/k) bits of a filter; universal "
             "hashing reaches all",
    .rounds = 5,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};
