/*
 * forge.c - the targets; draws shapes and designs of filters made of cells, and
 * fills as many cells as the budget seems to allow.
 */
#include "papers/forgeries/forge.h"

#include "base/error.h"
#include "filter/addressing/addressing.h"
#include "filter/handle.h"
#include "kinds/counting/cells.h"
#include "kinds/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS(on, drawn) on, drawn, BUDGET, forge_cells

static forge_fn forge_cells, forge_chain;

const target targets[] = {
    {"bloom on blocked512", "bloom", CELLS("blocked512", "")},
    {"bloom on blocked256", "bloom", CELLS("blocked256", "")},
    {"bloom on blocked128", "bloom", CELLS("blocked128", "")},
    {"bloom on classic", "bloom", CELLS("classic", "")},
    {"bloom on partitioned", "bloom", CELLS("partitioned", "")},
    {"bloom on universal", "bloom", CELLS("universal", "")},
    {"bloom on chunks-md5", "bloom", CELLS("chunks-md5", "")},
    {"bloom on dcso", "bloom", CELLS("dcso", "")},
    {"bloom on redisbloom", "bloom", CELLS("redisbloom", "")},
    {"bloom on guava", "bloom", CELLS("guava", "")},
    {"bloom on guava32", "bloom", CELLS("guava32", "")},
    {"bloom with groups", "bloom", CELLS(NULL, " groups ")},
    {"counting", "counting", CELLS(NULL, " cell_bits update ")},
    {"countmin", "countmin", CELLS(NULL, " cell_bits ")},
    {"aging", "aging", CELLS(NULL, "")},
    {"tally", "tally", CELLS("blocked128", " heavy ")},
    {"generalized", "generalized", CELLS(NULL, " reset set start ")},
    {"generalized, cells may coincide", "generalized",
     CELLS(NULL, " reset set start collide ")},
    {"chain", "chain", "redisbloom-sub", " links ", BUDGET, forge_chain},
    {"ribbon", "ribbon", "band64", " finer buckets_1 buckets_2 tail salt ",
     BUDGET, forge_ribbon},
    {"ribbon, wide", "ribbon", "band64", " wide ", BUDGET, forge_ribbon},
    {"ribbon with values", "ribbon", "band64", " value_bits ", BUDGET,
     forge_ribbon},
    {"ribbon of two levels", "ribbon", "band64",
     " wide never_wide never_buckets_1 never_buckets_2 never_tail never_salt ",
     BUDGET, forge_ribbon},
    {"ribbon in partitions", "ribbon", "band64",
     " wide never_wide never_tail steps_1 steps_2 steps_3 index_bits "
     "index_buckets_1 index_buckets_2 index_tail index_salt ",
     BUDGET, forge_ribbon},
    {"scalable", "scalable", "buckets16", " spill ", BUDGET, forge_entries},
    {"table", "table", "lines64", " cell_bits ", BUDGET, forge_entries},
    /* Its error is at most 5e-5. */
    {"near", "near", "records", "", 1e-6, forge_near},
};
_Static_assert(UM_COUNT(targets) == TARGETS, "as many as told");

/* --- shapes ----------------------------------------------------------------*/

/* Draws a number of cells: a power of 2, a small multiple of one, or any
 * number; sometimes a large one. */
static uint64_t draw_cells(um_rng *rng)
{
    uint64_t log = between(rng, 8, 11);

    switch (um_random_below(rng, 4)) {
    case 0:
        return UINT64_C(1) << log;
    case 1:
        return between(rng, 3, 9) << (log - 2);
    case 2:
        return between(rng, UINT64_C(1) << log, UINT64_C(2) << log);
    default:
        return um_random_below(rng, 16) ? between(rng, 256, 4096)
                                        : between(rng, 5000, 60000);
    }
}

static uint32_t draw_hashes(um_rng *rng)
{
    uint64_t most = um_random_below(rng, 16) ? 14 : UM_MAX_HASHES;
    return (uint32_t)between(rng, 1, most);
}

/* A shape that is being drawn. */
typedef struct draft_shape {
    const um_kind *kind;
    const um_addressing *addressing;
    uint32_t hashes;
    umbel_setting setting[UM_MAX_SETTINGS];
    size_t nsettings;
} draft_shape;

static uint32_t fitting_hashes(const draft_shape *s, um_rng *rng)
{
    if (strcmp(s->addressing->name, "chunks-md5") == 0)
        return 1u << um_random_below(rng, 4);
    if (strcmp(s->kind->name, "tally") == 0)
        return (uint32_t)between(rng, 1, 8);
    return draw_hashes(rng);
}

/* Rounds up to whole blocks, or slices. */
static uint64_t fitting_cells(const draft_shape *s, um_rng *rng)
{
    uint64_t unit_cells = um_granule(s->addressing, s->hashes);
    uint64_t cells = draw_cells(rng);

    if (!unit_cells) /* not with that many hashes */
        return cells;
    if (cells < 2 * (uint64_t)s->hashes)
        cells = 2 * (uint64_t)s->hashes;
    return (cells + unit_cells - 1) / unit_cells * unit_cells;
}

/*
 * Seeds, among the first 1.5 billion, whose first two functions of universal
 * are related: c is the same, its negative, its double, or its half.
 */
static const uint64_t aligned_seeds[] = {310438037, 438138082, 855655146,
                                         920240280, 1059001892};

static uint64_t draw_seed(const um_addressing *a, um_rng *rng)
{
    uint64_t any = um_random_below(rng, 1 << 20);

    if (strcmp(a->name, "universal") == 0 && any % 2)
        return aligned_seeds[any % UM_COUNT(aligned_seeds)];
    return a->hash ? 0 : any;
}

/* Settings of kinds made of cells, with their values. */
static const struct {
    const char *kind, *name;
    uint64_t low, high, step;
} drawn[] = {
    {"bloom", "groups", 2, 8, 1},
    {"counting", "cell_bits", 1, 32, 1},
    {"counting", "update", 0, 1, 1},
    {"countmin", "cell_bits", 32, 64, 32},
    {"tally", "heavy", 1, 1600, 1},
    {"generalized", "reset", 0, 8, 1},
    {"generalized", "set", 0, 8, 1},
    {"generalized", "start", 0, 1000000000, 50000000},
    {"generalized", "collide", 1, 1, 1},
};

static void draw_settings(const target *t, um_rng *rng, draft_shape *s)
{
    uint32_t functions = 0;

    for (size_t i = 0; i < UM_COUNT(drawn); i++) {
        if (strcmp(drawn[i].kind, t->kind) != 0 || !draws(t, drawn[i].name))
            continue;
        uint64_t steps = (drawn[i].high - drawn[i].low) / drawn[i].step;
        uint64_t value =
            drawn[i].low + drawn[i].step * um_random_below(rng, steps + 1);
        s->setting[s->nsettings++] = (umbel_setting){drawn[i].name, value};
        if (strcmp(drawn[i].name, "reset") == 0 ||
            strcmp(drawn[i].name, "set") == 0)
            functions += (uint32_t)value;
    }
    if (functions)
        s->hashes = functions;
}

static const um_addressing *draw_addressing(const target *t, um_rng *rng)
{
    const um_addressing *fits[64];
    size_t n = 0;

    if (t->addressing)
        return um_kind_addressing(um_kind_find(t->kind), t->addressing);
    for (size_t i = 0; um_addressing_row(i) && n < UM_COUNT(fits); i++)
        if (um_kind_addressing(um_kind_find(t->kind),
                               um_addressing_row(i)->name))
            fits[n++] = um_addressing_row(i);
    /* NOLINTNEXTLINE(clang-analyzer-core.*): every kind has an addressing */
    return fits[um_random_below(rng, n)];
}

static umbel_status create_any(const target *t, um_rng *rng, umbel_filter **out,
                               umbel_error *err)
{
    draft_shape s = {.kind = um_kind_find(t->kind),
                     .addressing = draw_addressing(t, rng)};
    umbel_params p = UMBEL_PARAMS_INIT;

    s.hashes = fitting_hashes(&s, rng);
    draw_settings(t, rng, &s);
    p.addressing = s.addressing->name;
    p.seed = draw_seed(s.addressing, rng);
    p.settings = s.setting;
    p.nsettings = s.nsettings;
    p.capacity = strcmp(t->kind, "aging") == 0 ? 1000 : 0;
    p.hashes = s.hashes;
    p.cells = fitting_cells(&s, rng);
    return umbel_create(t->kind, &p, out, err);
}

/* Draws until the settings allow the addressing and the size. */
static umbel_status create_empty(const target *t, um_rng *rng,
                                 umbel_filter **out, umbel_error *err)
{
    enum { TRIES = 100 };
    umbel_status status = UMBEL_E_RANGE;

    for (int i = 0; i < TRIES && status != UMBEL_OK; i++)
        status = create_any(t, rng, out, err);
    return status;
}

/* --- designs ---------------------------------------------------------------*/

/* Parameters of a design; not every design uses all. */
typedef struct design {
    uint64_t cells, block, lane, a, b;
} design;

static double hashed(uint64_t x)
{
    um_rng rng = {x};
    return unit(&rng);
}

static double by_chance(const design *d, uint64_t x)
{
    return hashed(x + d->a * d->cells);
}

static double by_number(const design *d, uint64_t x)
{
    return (double)x / (double)d->cells;
}

static double by_lane(const design *d, uint64_t x)
{
    uint64_t lane = x % d->block / d->lane, lanes = d->block / d->lane;

    return ((double)lane + hashed(x + d->a * d->cells)) / (double)lanes;
}

/* Scores cells by residue class: classes in random order, or odd ones first, to
 * which walks keep. */
static double by_class(const design *d, uint64_t x)
{
    uint64_t modulus = 2 + d->a % 63, class = x % modulus;
    double rest = by_number(d, x) / 4;

    if (d->b & 1) {
        modulus = UINT64_C(2) << d->a % 5;
        class = x % modulus;
        return class % 2 ? rest / 4 : (hashed(class + d->b) + rest) / 1.5;
    }
    return (hashed(class + d->b) + rest) / 1.25;
}

static double by_wave(const design *d, uint64_t x)
{
    double times = (double)(1 + d->a % (d->cells / 2));
    double phase = times * (double)x / (double)d->cells;
    return 2 * fabs(phase - floor(phase) - 0.5);
}

/* Returns the inverse of r modulo m, or 1. */
static uint64_t inverse(uint64_t r, uint64_t m)
{
    int64_t a = (int64_t)r, b = (int64_t)m, u = 1, v = 0;

    while (b) {
        int64_t q = a / b, rest = a - q * b, next = u - q * v;
        a = b, b = rest, u = v, v = next;
    }
    return a == 1 ? (uint64_t)(u < 0 ? u + (int64_t)m : u) : 1;
}

/* Scores cells by the digits of y, where x = y r mod m and r = 2^64 mod m:
 * cells with both digits near the middle come first. */
static double by_digits(const design *d, uint64_t x)
{
    enum { WAYS = 1469 };
    uint64_t y = x * d->b % d->cells, top = y / WAYS;
    uint64_t tops = d->cells / WAYS + 1;
    double low = fabs((double)(y % WAYS) / WAYS - 0.5);
    double high = fabs(((double)top + 0.5) / (double)tops - 0.5);

    return 2 * fmin(fmax(low, high), 0.499);
}

/* Scores cells by multiples of a number: shifts by it stay within them. */
static double by_shift(const design *d, uint64_t x)
{
    return (double)(x * d->b % d->cells) / (double)d->cells;
}

typedef double score_fn(const design *d, uint64_t x);
static score_fn *const designs[] = {by_chance, by_number, by_lane, by_class,
                                    by_wave,   by_digits, by_shift};

/* Returns the increment of dcso's walk, or the shift of universal's second
 * function. */
static uint64_t shift_of(const um_layout *l)
{
    uint64_t m = l->cells, p = UM_INTEGER_PRIME;

    if (l->hashes > 1 && l->row == &um_addressing_universal) {
        um_universal h[UM_MAX_HASHES];
        um_draw_universal(l, h);
        uint64_t on = (p + h[1].d - h[0].d) % p;
        return on < p / 2 ? on % m : m - (p - on) % m;
    }
    return (UINT64_MAX % m + 1) % m;
}

static design draw_design(const um_layout *l, um_rng *rng)
{
    design d = {.cells = l->cells,
                .block = l->cells / l->blocks,
                .lane = l->width,
                .a = um_random(rng) >> 20,
                .b = um_random(rng) >> 20};

    d.b = d.a % 4 ? inverse(shift_of(l), l->cells) : d.b % l->cells;
    return d;
}

/* --- cells -----------------------------------------------------------------*/

typedef struct draft {
    umbel_filter *f;
    um_rng *rng;
    double *score; /* of every cell */
} draft;

static um_cells cells_of(const umbel_filter *f, size_t *sections)
{
    um_section section[UM_MAX_SECTIONS];

    *sections = f->kind->sections(um_shape_of(f), section);
    return um_cells_of(f->payload, section[0].cell_bits);
}

/* Sets the cells up to a score; kind aging has the others in its second
 * generation. */
static void write_cells(const draft *d, double at_most)
{
    size_t n;
    umbel_filter *f = d->f;
    um_cells cells = cells_of(f, &n);
    bool ages = n == 3 && cells.width == 1;
    uint64_t second = f->payload_len / 2 / UM_SECTION_ALIGN * UM_SECTION_ALIGN;

    /* A chain keeps its table of links. */
    memset(f->payload, 0,
           f->kind->links ? (size_t)f->layout.cells / 8 : f->payload_len);
    for (uint64_t i = 0; i < f->layout.cells; i++) {
        double score = d->score[i];
        if (score < at_most)
            um_set_bit(f->payload, i * cells.width);
        if (ages && 1 - score < at_most)
            um_set_bit(f->payload + second, i);
    }
}

/* Sets the counters of used cells: to 1, to the maximum, or to any value. */
static void write_counts(const draft *d)
{
    size_t n;
    um_cells cells = cells_of(d->f, &n);

    for (uint64_t i = 0; cells.width > 1 && i < d->f->layout.cells; i++)
        if (um_cell(&cells, i) && um_random(d->rng) & 1)
            um_set_cell(&cells, i,
                        um_random(d->rng) & 1
                            ? cells.max
                            : 1 + um_random_below(d->rng, cells.max));
}

/* Sets as many cells as the predicted error rate allows. */
static void fill_up(const draft *d, double budget)
{
    double low = 0, high = 1;

    for (int i = 0; i < 9; i++) {
        double mid = (low + high) / 2;
        write_cells(d, mid);
        if (umbel_predict(d->f) <= budget)
            low = mid;
        else
            high = mid;
    }
    write_cells(d, low);
}

/* Tries some thresholds, because more cells may mean a smaller error; uses the
 * best one within the budget. */
static void try_some(const draft *d, double budget)
{
    double best = 0, at_most = 0;

    for (int i = 0; i < 8; i++) {
        double x = unit(d->rng);
        write_cells(d, x);
        double error = umbel_predict(d->f);
        if (error <= budget && error > best)
            best = error, at_most = x;
    }
    write_cells(d, at_most);
}

/* Adds members, each the one of SOME random keys that needs the fewest new
 * cells. */
static umbel_status choose_keys(umbel_filter *f, um_rng *rng, double budget,
                                umbel_error *err)
{
    enum { SOME = 16 };

    for (int n = 0; n < 400 && umbel_predict(f) < budget * 0.9; n++) {
        umbel_digest best = {0, 0};
        uint64_t least = UINT64_MAX, pos[UM_MAX_HASHES];
        for (int i = 0; i < SOME; i++) {
            umbel_digest d = {um_random(rng), 0};
            uint64_t clear = 0;
            d.hi = um_remix(d.lo);
            f->layout.row->positions(&f->layout, &d, 1, pos);
            for (uint32_t j = 0; j < f->layout.hashes; j++)
                clear += !um_bit(f->payload, pos[j]);
            if (clear && clear < least)
                least = clear, best = d;
        }
        UM_TRY(umbel_add_digests(f, &best, 1, NULL, err));
    }
    return UMBEL_OK;
}

/* Sets the header: no number of keys, or the number that explains the cells. */
static void claim(umbel_filter *f, bool honest)
{
    const um_row_bits *bits = f->kind->bits;
    double keys = bits ? um_keys_behind(f, bits->used(f->self, NULL)) : NAN;

    f->estimated = !(honest && keys < 1e15);
    f->added = f->estimated ? 0 : (uint64_t)llround(keys);
}

static umbel_status choose_cells(const target *t, um_rng *rng, umbel_filter *f,
                                 umbel_error *err)
{
    bool honest = um_random_below(rng, 4) == 0;
    double budget = honest ? 1.99 * t->budget : t->budget;
    design d = draw_design(&f->layout, rng);
    draft w = {.f = f, .rng = rng};

    if (strcmp(t->kind, "bloom") == 0 && um_random_below(rng, 16) == 0) {
        UM_TRY(choose_keys(f, rng, budget, err));
        claim(f, honest);
        return UMBEL_OK;
    }
    w.score = calloc((size_t)f->layout.cells, sizeof *w.score);
    if (!w.score)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for scores");
    score_fn *score = designs[um_random_below(rng, UM_COUNT(designs))];
    for (uint64_t i = 0; i < f->layout.cells; i++)
        w.score[i] = score(&d, i);
    if (strcmp(t->kind, "generalized") == 0)
        try_some(&w, budget);
    else
        fill_up(&w, budget);
    write_counts(&w);
    free(w.score);
    claim(f, honest);
    return UMBEL_OK;
}

static umbel_status forge_cells(const target *t, um_rng *rng,
                                umbel_filter **out, umbel_error *err)
{
    umbel_filter *f = NULL;

    UM_TRY(create_empty(t, rng, &f, err));
    umbel_status status = choose_cells(t, rng, f, err);
    if (status == UMBEL_OK)
        *out = f;
    else
        umbel_close(f);
    return status;
}

/* --- chains of filters ------------------------------------------------------
 *
 * One in 512 is made as costly as possible: many hashes, and so few free cells
 * that a query reads a hundred cells of each link.
 */

/* A number of bytes without small divisors: few keys return to their cells. */
enum {
    USUAL_LINKS = 8,
    MAX_LINKS = 32,
    MANY_HASHES = 1000,
    COSTLY_BYTES = 120121
};

static um_chain_link draw_link(um_rng *rng, bool costly)
{
    uint64_t bytes = costly ? COSTLY_BYTES : (draw_cells(rng) + 7) / 8;

    return (um_chain_link){.nbits = 8 * bytes,
                           .items = um_random_below(rng, 100),
                           .capacity = 100,
                           .error = 0.01,
                           .bits_per_item = 10,
                           .hashes = costly ? MANY_HASHES : draw_hashes(rng)};
}

/* Leaves so few cells free that about half of the budget is used. */
static void fill_costly(umbel_filter *f, um_rng *rng)
{
    uint64_t cells = f->layout.cells;
    double clear = (11.3 + unit(rng)) / MANY_HASHES * (double)cells;

    memset(f->payload, 0xFF, (size_t)cells / 8);
    for (uint64_t i = 0; i < (uint64_t)clear; i++) {
        uint64_t at = um_random_below(rng, cells);
        f->payload[at / 8] = (uint8_t)(f->payload[at / 8] & ~(1u << at % 8));
    }
    claim(f, false);
}

static umbel_status forge_chain(const target *t, um_rng *rng,
                                umbel_filter **out, umbel_error *err)
{
    bool costly = um_random_below(rng, 512) == 0;
    uint64_t n = costly ? MAX_LINKS : between(rng, 1, USUAL_LINKS);
    um_chain_link link[MAX_LINKS];
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    UM_TRY(umbel_create(t->kind, &p, &f, err));
    umbel_alloc alloc = f->alloc;
    um_shape s = *um_shape_of(f);
    umbel_close(f);
    s.setting[0] = n;
    s.cells = 0;
    for (uint64_t i = 0; i < n; i++) {
        link[i] = draw_link(rng, costly);
        s.cells += link[i].nbits;
    }
    UM_TRY(um_filter_create(&s, &alloc, &f, err));
    for (uint64_t i = 0; i < n; i++)
        um_chain_set_link(f->self, (size_t)i, &link[i]);
    umbel_status status = UMBEL_OK;
    if (costly)
        fill_costly(f, rng);
    else
        status = choose_cells(t, rng, f, err);
    if (status == UMBEL_OK)
        *out = f;
    else
        umbel_close(f);
    return status;
}
