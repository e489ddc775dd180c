/*
 * entries.c - forges buckets (scalable), lines (table) and records (near), with
 * as many entries as the budget seems to allow.
 *
 * Entries are anywhere in a bucket or line, short or long, equal or not. The
 * number of keys in the header is their number; admission refuses any other.
 */
#include "papers/forgeries/forge.h"

#include "base/error.h"
#include "filter/handle.h"

#include <stdlib.h>
#include <string.h>

/* Returns the start of section i. */
static uint8_t *section_at(const umbel_filter *f, size_t i, um_section *out)
{
    um_section section[UM_MAX_SECTIONS];
    uint8_t *at = f->payload;

    f->kind->sections(um_shape_of(f), section);
    for (size_t k = 0; k < i; k++)
        at += um_section_space(&section[k]);
    *out = section[i];
    return at;
}

/* How a try fills its buckets or lines. */
typedef struct filling {
    double full;  /* share of buckets or lines that are full */
    double dense; /* share of entries in use in the others */
} filling;

static filling draw_filling(um_rng *rng)
{
    static const double shares[] = {0, 0, 0.5, 1};
    double full = shares[um_random_below(rng, 4)];

    return (filling){um_random_below(rng, 4) ? full : unit(rng), unit(rng)};
}

static void claim_entries(umbel_filter *f)
{
    f->added = f->kind->entries(f->self);
    f->estimated = false;
}

/* --- buckets of kind scalable --------------------------------------------- */

enum { BUCKET = 16, HEAD_LEN = 2 };

/* Returns an entry with a random fingerprint of that many bits. */
static uint32_t entry_of(um_rng *rng, uint32_t bits, uint32_t print_bits)
{
    uint64_t any = um_random(rng) >> (64 - bits);
    uint32_t zeros = bits - 1 - print_bits;

    return (uint32_t)((any >> zeros | 1) << zeros);
}

static void fill_buckets(umbel_filter *f, um_rng *rng)
{
    um_section heads, tails;
    uint32_t bits = f->layout.hashes + 1;
    uint8_t *head = section_at(f, 0, &heads), *tail = section_at(f, 1, &tails);
    uint32_t print = (uint32_t)um_random_below(rng, bits);
    bool same = um_random_below(rng, 2);
    filling how = draw_filling(rng);

    for (uint64_t b = 0; b < heads.cells / BUCKET; b++) {
        double dense = unit(rng) < how.full ? 1 : how.dense;
        for (uint64_t i = b * BUCKET; i < (b + 1) * BUCKET; i++) {
            uint32_t len = same ? print : (uint32_t)um_random_below(rng, bits);
            uint32_t e = unit(rng) < dense ? entry_of(rng, bits, len) : 0;
            head[HEAD_LEN * i] = (uint8_t)(e >> (bits - 16));
            head[HEAD_LEN * i + 1] = (uint8_t)(e >> (bits - 8));
            for (uint32_t k = 0; k < (bits - 16) / 8; k++)
                tail[(bits - 16) / 8 * i + k] = (uint8_t)(e >> 8 * k);
        }
    }
}

/* Writes digests of keys whose bucket is full. */
static void fill_spill(umbel_filter *f, um_rng *rng)
{
    um_section spill;
    size_t last = f->layout.hashes + 1 > 16 ? 3 : 2;
    uint8_t *at = section_at(f, last, &spill);
    double dense = unit(rng);

    for (uint64_t i = 0; i < spill.cells; i++)
        um_store64(at + 8 * i, unit(rng) < dense ? um_random(rng) : 0);
}

/* Drops entries until the error seems to be within the budget. */
static void forge_scalable(umbel_filter *f, um_rng *rng, double budget)
{
    um_section heads, tails;
    uint8_t *head = section_at(f, 0, &heads), *tail = section_at(f, 1, &tails);
    size_t tail_len = (f->layout.hashes + 1 - 16) / 8;

    fill_buckets(f, rng);
    fill_spill(f, rng);
    for (int i = 0; i < 64 && umbel_predict(f) > budget; i++)
        for (uint64_t k = 0; k < heads.cells; k++)
            if (um_random_below(rng, 4) == 0) {
                memset(head + HEAD_LEN * k, 0, HEAD_LEN);
                memset(tail + tail_len * k, 0, tail_len);
            }
}

/* --- lines of kind table -------------------------------------------------- */

enum { TAGS = 16 }; /* of a line, or fewer */

static void fill_lines(umbel_filter *f, um_rng *rng)
{
    filling how = draw_filling(rng);
    bool same = um_random_below(rng, 4) == 0;

    for (size_t at = 0; at < f->payload_len; at += UM_LINE) {
        double dense = unit(rng) < how.full ? 1 : how.dense;
        for (size_t i = 0; i < UM_LINE; i++)
            f->payload[at + i] = (uint8_t)um_random(rng);
        for (size_t i = 0; i < TAGS; i++)
            if (!(unit(rng) < dense))
                f->payload[at + i] = 0;
            else if (same || !f->payload[at + i])
                f->payload[at + i] = 1;
    }
}

/* Drops tags, or whole lines, until the error seems to be within the budget. */
static void forge_table(umbel_filter *f, um_rng *rng, double budget)
{
    bool whole = um_random_below(rng, 2);

    fill_lines(f, rng);
    for (int i = 0; i < 64 && umbel_predict(f) > budget; i++)
        for (size_t at = 0; at < f->payload_len; at += UM_LINE)
            for (size_t k = 0; k < TAGS; k += whole ? TAGS : 1)
                if (um_random_below(rng, 4) == 0)
                    memset(f->payload + at + k, 0, whole ? TAGS : 1);
}

/* --- both ----------------------------------------------------------------- */

/* With any number of doublings of the last section. */
static umbel_status create_scalable(um_rng *rng, umbel_filter **out,
                                    umbel_error *err)
{
    static const double fprs[] = {0.01, 0.001, 1e-6}; /* 15, 23, 31 bits */
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *any = NULL;

    p.capacity = between(rng, 1, 900);
    p.fpr = fprs[um_random_below(rng, 3)];
    UM_TRY(umbel_create("scalable", &p, &any, err));
    um_shape s = *um_shape_of(any);
    s.setting[0] = um_random_below(rng, 4);
    umbel_status status = um_filter_create(&s, &any->alloc, out, err);
    umbel_close(any);
    return status;
}

static umbel_status create_table(um_rng *rng, umbel_filter **out,
                                 umbel_error *err)
{
    umbel_setting bits = {"cell_bits", between(rng, 1, 32)};
    umbel_params p = UMBEL_PARAMS_INIT;

    p.settings = &bits;
    p.nsettings = 1;
    p.hashes = (uint32_t)between(rng, 8, 24);
    p.cells = UINT64_C(8) * UM_LINE * between(rng, 1, 48);
    return umbel_create("table", &p, out, err);
}

umbel_status forge_entries(const target *t, um_rng *rng, umbel_filter **out,
                           umbel_error *err)
{
    bool scalable = draws(t, "spill");
    double budget = um_random_below(rng, 4) ? t->budget : 1.99 * t->budget;

    UM_TRY((scalable ? create_scalable : create_table)(rng, out, err));
    (scalable ? forge_scalable : forge_table)(*out, rng, budget);
    claim_entries(*out);
    return UMBEL_OK;
}

/* --- records of kind near --------------------------------------------------
 */

enum { LINES, NAMES, NUMBERS }; /* sections */
enum { NAME_LEN = 68, PRINT_AT = 64, PRINT_LEN = 3, NUMBER_LEN = 8 };

static uint32_t print_at(const uint8_t *names, uint64_t i)
{
    const uint8_t *at = names + i * NAME_LEN + PRINT_AT;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

size_t near_prints(const umbel_filter *f, uint32_t *out)
{
    um_section section;
    const uint8_t *names = section_at(f, NAMES, &section);
    size_t all = (size_t)f->layout.cells, n = 0;

    for (size_t i = 0; i < all; i++)
        out[i] = print_at(names, i);
    qsort(out, all, sizeof *out, by_number);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || out[i] != out[n - 1])
            out[n++] = out[i];
    return n;
}

/* Returns the digest with that hi, by inverting um_remix. */
static umbel_digest digest_of(uint64_t hi)
{
    const uint64_t factor = 0xD6E8FEB86659FD93;
    uint64_t inverse = 1;

    for (int i = 0; i < 6; i++) /* doubles the correct bits */
        inverse *= 2 - factor * inverse;
    return (umbel_digest){(hi ^ hi >> 32) * inverse, hi};
}

umbel_digest near_stranger(const uint32_t *print, size_t n, um_rng *rng)
{
    uint64_t high = print[um_random_below(rng, n)];

    return digest_of(high << 40 | um_random(rng) >> 24);
}

static void write_records(umbel_filter *f, um_rng *rng)
{
    um_section section;
    uint8_t *names = section_at(f, NAMES, &section);
    uint8_t *numbers = section_at(f, NUMBERS, &section);
    double live = um_random_below(rng, 2) ? 1 : unit(rng);

    for (uint64_t i = 0; i < f->layout.cells; i++) {
        bool there = unit(rng) < live;
        for (size_t k = 0; k < PRINT_LEN; k++)
            names[i * NAME_LEN + PRINT_AT + k] = (uint8_t)um_random(rng);
        /* A record with a value; or a free one, or a deletion. */
        memset(numbers + i * NUMBER_LEN, there ? 0x81 : 0, NUMBER_LEN);
        if (!there && um_random(rng) & 1)
            numbers[i * NUMBER_LEN] = 1;
    }
}

/* Writes entries that lead to random records, most with the tag of the name. */
static void write_lines(umbel_filter *f, um_rng *rng)
{
    um_section section;
    uint8_t *names = section_at(f, NAMES, &section);
    uint8_t *line = section_at(f, LINES, &section);
    uint64_t mails = f->layout.cells, most = 0;
    unsigned bits = 1;
    filling how = draw_filling(rng);
    double right = um_random_below(rng, 2) ? 1 : unit(rng);

    while ((mails - 1) >> bits)
        bits++;
    most = (UINT64_C(1) << bits) - 1;
    unsigned slots = 8 * UM_LINE / (8 + bits);
    slots = slots < 24 ? slots : 24;
    for (uint64_t n = section.cells * 8 / UM_LINE; n; n--, line += UM_LINE) {
        double dense = unit(rng) < how.full ? 1 : how.dense;
        memset(line, 0, UM_LINE);
        for (unsigned i = 0; i < slots; i++) {
            uint64_t to = um_random_below(rng, mails);
            uint64_t tag = ((uint64_t)print_at(names, to) << 8) * 255 >> 32;
            if (!(unit(rng) < dense))
                continue;
            line[i] =
                (uint8_t)(unit(rng) < right ? 1 + tag : between(rng, 1, 255));
            um_set_field(line, (uint64_t)8 * slots + (uint64_t)i * bits, bits,
                         most, to);
        }
    }
}

umbel_status forge_near(const target *t, um_rng *rng, umbel_filter **out,
                        umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    um_section section;

    p.cells = between(rng, 64, 1024);
    UM_TRY(umbel_create(t->kind, &p, out, err));
    write_records(*out, rng);
    write_lines(*out, rng);
    uint8_t *lines = section_at(*out, LINES, &section);
    for (int i = 0; i < 64 && umbel_predict(*out) > t->budget; i++)
        for (uint64_t at = 0; at < section.cells * 8; at += UM_LINE)
            if (um_random_below(rng, 4) == 0)
                memset(lines + at, 0, UM_LINE);
    claim_entries(*out);
    return UMBEL_OK;
}
