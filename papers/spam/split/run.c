/*
 * run.c - spam-split: what split storage saves, and what it costs (section IV).
 *
 * Signatures with heavy-tailed counts, P(c >= x) = 1/x up to 1,000,000, are
 * inserted in random order, with refined updates, into kind counting with
 * 32-bit cells and into a split store. Both must have the same counts, also
 * after a merge of two servers with half of the insertions each. The size of
 * each layout is computed from the number of cells that overflow. For
 * comparison, the library's kind tally, in which keys overflow instead of
 * cells, gets the same insertions.
 */
#include "base/error.h"
#include "papers/spam/split/store.h"
#include "papers/spam/table.h"

#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    KEYS = 210000, /* 1 % of the signatures that DCC has */
    PER_KEY = 8,
    CELLS = KEYS * PER_KEY,
    HASHES = 4,
    MOST = 1000000,
    COUNT_BITS = 20, /* for a count of a million */
    LEAST_LOW = 2,
    LOWS = 4 /* s = 2 .. 5 */
};

/* Numbers of a round: cells of at least 2^s for each s, then the following. */
enum {
    DIFFERENT = LOWS,
    MERGED_DIFFERENT,
    LOOKUPS,
    INSERTIONS,
    TALLY_BITS,
    TALLY_WRONG,
    WIDTH
};

/* Draws the keys, in the order of their insertions. */
static uint32_t *draw_stream(um_rng *rng, size_t *n)
{
    uint32_t *count = malloc(KEYS * sizeof *count), *stream = NULL;
    size_t sum = 0, at = 0;

    for (size_t i = 0; count && i < KEYS; i++) {
        double u = (double)((um_random(rng) >> 11) + 1) * 0x1p-53;
        count[i] = (uint32_t)fmin(1 / u, MOST);
        sum += count[i];
    }
    if (count)
        stream = malloc(sum * sizeof *stream);
    for (size_t i = 0; stream && i < KEYS; i++)
        for (uint32_t j = 0; j < count[i]; j++)
            stream[at++] = (uint32_t)i;
    free(count);
    if (stream)
        um_spam_shuffle(stream, sum, rng);
    *n = sum;
    return stream;
}

/* Applies the refined update. A cell that occurs twice is harmless: it is
 * incremented once. */
static void add_split(um_split *s, const uint64_t *cell)
{
    uint32_t value[HASHES], least = UINT32_MAX;

    for (size_t i = 0; i < HASHES; i++) {
        value[i] = um_split_get(s, (uint32_t)cell[i]);
        least = value[i] < least ? value[i] : least;
    }
    for (size_t i = 0; i < HASHES; i++)
        if (value[i] == least)
            um_split_append(s, (uint32_t)cell[i], least + 1);
}

/* A server: the library's counters, and the same in a split store. */
typedef struct server {
    umbel_filter *plain;
    um_split split;
} server;

static umbel_status server_init(server *v, uint64_t seed, umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting settings[] = {{"cell_bits", 32},
                                {"update", SPAM_REFINED_UPDATE}};

    *v = (server){.plain = NULL};
    p.addressing = "classic";
    p.cells = CELLS;
    p.hashes = HASHES;
    p.seed = seed;
    p.settings = settings;
    p.nsettings = 2;
    UM_TRY(um_split_init(&v->split, 3, CELLS, err));
    return umbel_create("counting", &p, &v->plain, err);
}

static void server_fini(server *v)
{
    umbel_close(v->plain);
    um_split_fini(&v->split);
}

static umbel_status insert(server *v, const uint32_t *stream, size_t n,
                           umbel_error *err)
{
    UM_TRY(umbel_add_fixed(v->plain, stream, sizeof *stream, n, NULL, err));
    for (size_t i = 0; i < n; i++) {
        uint64_t cell[HASHES];
        umbel_digest d;
        UM_TRY(umbel_digest_fixed(v->plain, &stream[i], sizeof *stream, 1, &d,
                                  err));
        um_spam_cells(v->plain, d, cell);
        add_split(&v->split, cell);
    }
    return UMBEL_OK;
}

static double count_different(server *v)
{
    double n = 0;

    for (uint32_t i = 0; i < CELLS; i++)
        n += um_split_get(&v->split, i) != um_spam_counter(v->plain, i);
    return n;
}

/* Merges two servers with half of the insertions each, both ways. */
static umbel_status try_merge(const uint32_t *stream, size_t n, uint64_t seed,
                              double *out, umbel_error *err)
{
    server a, b;
    umbel_status status = server_init(&a, seed, err);
    umbel_status second = server_init(&b, seed, err);

    status = status ? status : second;
    if (status == UMBEL_OK)
        status = insert(&a, stream, n / 2, err);
    if (status == UMBEL_OK)
        status = insert(&b, stream + n / 2, n - n / 2, err);
    if (status == UMBEL_OK)
        status = umbel_merge(a.plain, b.plain, UMBEL_ADD, err);
    if (status == UMBEL_OK)
        um_split_merge(&a.split, &b.split, CELLS);
    if (status == UMBEL_OK)
        out[MERGED_DIFFERENT] = count_different(&a);
    server_fini(&a);
    server_fini(&b);
    return status;
}

static void count_cells(server *v, double *out)
{
    for (uint32_t i = 0; i < CELLS; i++)
        for (unsigned j = 0; j < LOWS; j++)
            out[j] += um_spam_counter(v->plain, i) >> (LEAST_LOW + j) != 0;
    out[DIFFERENT] = count_different(v);
}

/* Counts the keys whose count in f is not the number of times they occur in the
 * stream. */
static umbel_status count_wrong(const umbel_filter *f, const uint32_t *stream,
                                size_t n, double *wrong, umbel_error *err)
{
    uint64_t *truth = calloc(KEYS, sizeof *truth), count;
    umbel_status status = UMBEL_OK;

    if (!truth)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the counts");
    for (size_t i = 0; i < n; i++)
        truth[stream[i]]++;
    for (uint32_t key = 0; status == UMBEL_OK && key < KEYS; key++) {
        umbel_slice slice = {&key, sizeof key};
        status = umbel_count_many(f, &slice, 1, &count, err);
        *wrong += status == UMBEL_OK && count != truth[key];
    }
    free(truth);
    return status;
}

static umbel_status try_tally(const uint32_t *stream, size_t n, uint64_t seed,
                              double *out, umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.capacity = KEYS;
    p.seed = seed;
    umbel_status status = umbel_create("tally", &p, &f, err);
    if (status != UMBEL_OK)
        return status;
    status = umbel_add_fixed(f, stream, sizeof *stream, n, NULL, err);
    if (status == UMBEL_OK)
        status = count_wrong(f, stream, n, &out[TALLY_WRONG], err);
    out[TALLY_BITS] = 8 * (double)umbel_encoded_len(f) / KEYS;
    umbel_close(f);
    return status;
}

static umbel_status insert_all(um_round *r, double *out, umbel_error *err)
{
    uint64_t seed = um_random(&r->rng);
    size_t n;
    uint32_t *stream = draw_stream(&r->rng, &n);
    server v;

    if (!stream)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the insertions");
    umbel_status status = server_init(&v, seed, err);
    if (status == UMBEL_OK)
        status = insert(&v, stream, n, err);
    out[LOOKUPS] = (double)v.split.lookups;
    out[INSERTIONS] = (double)n;
    if (status == UMBEL_OK)
        count_cells(&v, out);
    server_fini(&v);
    if (status == UMBEL_OK)
        status = try_merge(stream, n, seed, out, err);
    if (status == UMBEL_OK)
        status = try_tally(stream, n, seed, out, err);
    free(stream);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    for (size_t i = 0; i < WIDTH; i++)
        out[i] = 0;
    return insert_all(r, out, err);
}

/*
 * Returns the bits per signature: the base, and tables with a load of 0.85
 * whose entries have the number of the cell in its chunk and the high bits.
 */
static double split_bits(const um_study *s, unsigned low, unsigned index_bits)
{
    double overflow = um_column(s, low - LEAST_LOW).value / KEYS;

    return PER_KEY * (low + 1.) +
           overflow * (index_bits + COUNT_BITS - low) / 0.85;
}

static double best_bits(const um_study *s, unsigned index_bits, unsigned *low)
{
    double best = INFINITY;

    for (unsigned i = LEAST_LOW; i < LEAST_LOW + LOWS; i++)
        if (split_bits(s, i, index_bits) < best) {
            best = split_bits(s, i, index_bits);
            *low = i;
        }
    return best;
}

/* Lists the sizes of one table for 2.1 million signatures, and of chunks of
 * 2^16 and 2^8 cells. */
static void list(um_study *s)
{
    static const unsigned index_bits[] = {24, 16, 8};
    static const char *const heads[] = {"cells a table", "s = 2", "s = 3",
                                        "s = 4",         "s = 5", NULL};
    um_record *r = &s->record;
    um_sheet *sheet =
        um_record_sheet(r, "sizes", "Split storage, bits a signature", heads);

    for (size_t i = 0; i < UM_COUNT(index_bits); i++) {
        um_sheet_cell(sheet, "2^%u", index_bits[i]);
        for (unsigned low = LEAST_LOW; low < LEAST_LOW + LOWS; low++)
            um_sheet_cell(sheet, "%.1f", split_bits(s, low, index_bits[i]));
    }
}

static void conclude(um_study *s)
{
    unsigned low = 0;
    double bits = best_bits(s, 8, &low);
    um_mean lookups = um_column_ratio(s, LOOKUPS, INSERTIONS);

    um_check_value(s, "cells that differ from plain ones",
                   um_column(s, DIFFERENT).value, NAN);
    um_check_value(s, "cells that differ after two servers merge",
                   um_column(s, MERGED_DIFFERENT).value, NAN);
    um_check_value(s, "bits, chunks of 256 cells, s = 3", split_bits(s, 3, 8),
                   NAN);
    um_check_value(s, "bits, chunks of 65536 cells, s = 4",
                   split_bits(s, 4, 16), NAN);
    um_check_value(s, "best s, chunks of 256 cells", low, NAN);
    um_check_value(s, "cells of 32 bits over the split", 32 * PER_KEY / bits,
                   NAN);
    um_check_value(s, "cells of 20 bits over the split",
                   COUNT_BITS * PER_KEY / bits, NAN);
    um_check_value(s, "the split over cells of 5 bits", bits / (5. * PER_KEY),
                   NAN);
    um_check_value(s, "table lookups an insertion, s = 3", lookups.value, NAN);
    um_check_value(s, "bits, kind tally", um_column(s, TALLY_BITS).value, NAN);
    um_check_value(s, "wrong counts of kind tally, percent",
                   um_column(s, TALLY_WRONG).value * 100 / KEYS, NAN);
    list(s);
    um_record_note(
        &s->record,
        "The paper prints no numbers (\"preliminary results suggest "
        "that this technique is promising\"). Few cells overflow, "
        "but most insertions are of frequent keys, and these look "
        "into the table for nearly every cell, to read and to write. "
        "Cells of 5 bits, all that a threshold of 20 needs, are "
        "smaller than the split. Kind tally moves keys, not cells, to "
        "its table: one lookup, and fewer bits for all counts.");
}

const um_paper um_paper_spam_split = {
    .name = "spam-split",
    .source = SPAM_SOURCE "section IV, split storage",
    .claim = "small counts in a base filter, the rest in tables: less space "
             "than wide cells",
    .rounds = 4,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};
