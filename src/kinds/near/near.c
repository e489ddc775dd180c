/*
 * near.c - kind near: mails that are found again by a copy that differs a
 * little.
 *
 * A text has 32 shingles, each the least hash of its runs of three words under
 * one of 32 hash functions. Two texts agree at a position with the chance that
 * a run of either is in both (Broder 1997). rspamd takes a mail for a copy of
 * another if they agree at more than 16 positions.
 *
 *   lines     the index, of lines as kind table has them:
 *               | S tags of 8 bits | S times: the number of a record |
 *             An entry belongs to a name, or to a shingle at one of ten
 *             positions.
 *   names     a record's name (64), print (3) and flag (1)
 *   numbers   its stamp (32 bits; 0: it is free), and its value + 2^31 (32
 *             bits; 0: a deletion)
 *   marks     16 bits of each of its 32 shingles
 *
 * Entries find records that may be meant, marks decide: all that agree at a
 * position are counted, whoever else has that shingle. A copy that agrees at
 * just 17 positions has none of the ten among them with a chance of 1 in
 * 21,000. Where two shingles differ, their marks are equal with a chance of 1
 * in 65,536: a mail that agrees at 16 positions is taken for a copy with a
 * chance of 1 in 4,096, and one that agrees at 15 of 1 in 32 million.
 *
 * A shingle that many mails have (of a greeting or footer) leads to the latest
 * four of them; the others are found by what is their own.
 *
 * A key probes random lines until it meets one that is not full. Entries never
 * move; records are never overwritten, but for a value and a stamp that grow.
 * So every cell only grows, an older copy of a page is a state that it once
 * had, and servers can copy filters page by page. What would make something
 * smaller (a negative amount, a deletion, another flag) is a new record, with
 * a larger number, and entries that lead to the old one lead to it.
 *
 * When not to use it: it is for one program, and holds nothing but mails.
 */
#include "base/error.h"
#include "filter/handle.h"
#include "kinds/near/records.h"
#include "kinds/rows.h"

enum {
    PLACES = UM_NEAR_INDEXED + 1, /* entries of a mail */
    LOAD_NUM = 19,                /* of slots that are taken when ... */
    LOAD_DEN = 20,                /* ... all records are */
    HASHES = UM_NEAR_SHINGLES + 1,
    SECTIONS = 4
};

#define MAX_MAILS (UINT64_C(1) << 28)

/* --- shape ---------------------------------------------------------------- */

static uint64_t lines_of(uint64_t mails)
{
    uint64_t full = (uint64_t)um_near_slots(mails) * LOAD_NUM;

    return (mails * PLACES * LOAD_DEN + full - 1) / full;
}

static size_t sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    out[0] = (um_section){.cells = lines_of(s->cells) * 8, .cell_bits = 64};
    out[1] =
        (um_section){.cells = s->cells * UM_NEAR_NAME_ROOM, .cell_bits = 8};
    out[2] = (um_section){.cells = s->cells * 2, .cell_bits = 32};
    out[3] =
        (um_section){.cells = s->cells * UM_NEAR_SHINGLES, .cell_bits = 16};
    return SECTIONS;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    um_near *t = self;

    (void)l;
    *t = (um_near){
        .lines = um_near_lines_of(memory[0], lines_of(s->cells), s->cells),
        .names = memory[1],
        .numbers = memory[2],
        .marks = memory[3],
        .mails = s->cells};
}

static double error(const um_shape *s, const um_layout *l, double keys)
{
    (void)l;
    return keys > (double)s->cells ? 1 : 1e-9;
}

static uint64_t granule(uint32_t hashes)
{
    return hashes == HASHES;
}

static uint64_t limit(uint32_t hashes)
{
    (void)hashes;
    return MAX_MAILS;
}

static uint32_t hashes_of(const um_shape *s)
{
    (void)s;
    return HASHES;
}

/* A cell is a record, in four sections. */
static const um_addressing records = {
    .name = "records",
    .summary = "records in order, and an index of lines",
    .block = 1,
    .granule = granule,
    .limit = limit,
};

/* --- the row -------------------------------------------------------------- */

static uint64_t entries(const void *self)
{
    const um_near *t = self;
    um_near_record r;
    uint64_t n = 0;

    for (uint64_t i = 0; i < t->mails; i++)
        n += um_near_read(t, i, &r);
    return n;
}

/* Without a name a digest can only be counted: 1 at least while it is there. */
static void count(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out)
{
    const um_near *t = self;

    for (size_t i = 0; i < n; i++) {
        um_near_record r;
        um_voice v;
        bool there = um_near_find_name(t, &d[i], NULL, &v) &&
                     um_near_read(t, v.number, &r) && !r.gone;
        out[i] = !there ? 0 : r.value > 1 ? (uint64_t)r.value : 1;
    }
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t one;
        count(self, &d[i], 1, &one);
        hit[i] = one != 0;
    }
}

static double predict(const void *self)
{
    (void)self;
    return 1e-9;
}

static uint64_t most(const void *self)
{
    (void)self;
    return INT32_MAX;
}

static umbel_status may_remove(const um_shape *s, umbel_error *err)
{
    (void)s;
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "records of kind near are never removed: a deletion is a "
                   "record, too");
}

static const um_row_counting counting = {
    .count = count, .most = most, .may_remove = may_remove};

static void paged_forms(const um_shape *s, um_entry_form out[UM_MAX_SECTIONS])
{
    um_section section[UM_MAX_SECTIONS];

    sections(s, section);
    out[0] = (um_entry_form){.layout = UM_ENTRY_LINES,
                             .n = lines_of(s->cells) * um_near_slots(s->cells),
                             .count_bits = um_near_bits(s->cells),
                             .print_bits = UM_NEAR_TAG_BITS,
                             .per_line = um_near_slots(s->cells)};
    for (int i = 1; i < SECTIONS; i++)
        out[i] = (um_entry_form){.n = section[i].cells,
                                 .count_bits = section[i].cell_bits};
}

static const um_row_paged paged = {paged_forms};

static void info(const void *self, umbel_info *out)
{
    const um_near *t = self;

    um_info_count(out, "records", entries(t));
    um_info_count(out, "room", t->mails);
}

const um_kind um_kind_near = {
    .name = UM_NEAR_KIND,
    .summary = "mails, and copies of them that differ a little",
    .self_len = sizeof(um_near),
    .fixed_addressing = &records,
    .unsupported_reason = {.any = "it is written by umbel-clearinghouse alone",
                           .join = "records cannot be moved; ask both filters"},
    .hashes = hashes_of,
    .sections = sections,
    .attach = attach,
    .query = query,
    .entries = entries,
    .error = error,
    .predict = predict,
    .info = info,
    .counting = &counting,
    .paged = &paged,
};
