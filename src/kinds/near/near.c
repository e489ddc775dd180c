/*
 * near.c - kind near: finds a mail from a slightly different copy.
 *
 * A text has 32 shingles: for each of 32 hash functions, the minimum hash over
 * its sequences of three words. Two texts agree at a position with the
 * probability that a sequence of either is in both (Broder 1997). rspamd
 * considers a mail a copy of another if they agree at more than 16 positions.
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
 * Entries find candidate records, marks decide: every position with equal marks
 * counts, even if other mails have that shingle. For a copy that agrees at just
 * 17 positions, none of these is among the ten indexed ones with probability 1
 * in 21,000. If two shingles differ, their marks are equal with probability 1
 * in 65,536: a mail that agrees at 16 positions is taken for a copy with
 * probability 1 in 4,096, and one that agrees at 15 with 1 in 32 million.
 *
 * A shingle that many mails share (from a greeting or footer) leads to the
 * latest four of them; the others are found by their own shingles.
 *
 * A key probes random lines until one is not full. Entries never move; records
 * are never overwritten, except that value and stamp grow. So every cell only
 * grows, an older copy of a page is a former state of it, and servers can
 * replicate filters page by page. A change that would make something smaller (a
 * negative amount, a deletion, another flag) is a new record, with a larger
 * number, and the entries of the old record are changed to point to it.
 *
 * When not to use it: it is for the clearinghouse, and holds only mails.
 */
#include "base/error.h"
#include "filter/handle.h"
#include "kinds/near/internal.h"
#include "kinds/rows.h"

#include <inttypes.h>

enum {
    PLACES = UM_NEAR_INDEXED + 1, /* entries per mail */
    LOAD_NUM = 19,                /* load of the slots when ... */
    LOAD_DEN = 20,                /* ... all records are in use */
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
        (um_section){.cells = s->cells * UM_NEAR_NAME_SPACE, .cell_bits = 8};
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
    return keys > (double)s->cells
               ? 1
               : um_near_max_chance(lines_of(s->cells), (uint64_t)keys);
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

/* Counts digests. Without a name only presence is known: the count is at least
 * 1. */
static void count(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out)
{
    const um_near *t = self;

    for (size_t i = 0; i < n; i++) {
        um_near_record r;
        um_near_match v;
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
    return um_near_chance(self);
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
    .admissible = true,
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

/* --- writing mails, and finding them by name or by a copy ----------------- */

enum {
    OWNERS = 4, /* latest mails that a shingle leads to */
    EVERY = 3,  /* every third position has an entry */
    CANDIDATES = UM_NEAR_INDEXED * UM_NEAR_MAX_MATCHES
};
_Static_assert((UM_NEAR_INDEXED - 1) * EVERY < UM_NEAR_SHINGLES,
               "there are as many positions");

static const um_near *near_of(const umbel_filter *f)
{
    return f->self;
}

bool um_is_near(const umbel_filter *f)
{
    return f->kind == &um_kind_near;
}

uint64_t um_near_shingle(uint64_t shingle, uint64_t secret)
{
    return um_remix(um_remix(um_remix(shingle ^ secret) + secret));
}

static um_probe probe_of(const uint64_t *shingle, unsigned entry)
{
    uint64_t key = shingle[(size_t)entry * EVERY];

    return um_probe_of(key, um_remix(key));
}

static void look_up_shingles(const um_near *t, const uint64_t *shingle,
                             um_near_matches v[UM_NEAR_INDEXED])
{
    um_probe p[UM_NEAR_INDEXED];

    for (unsigned i = 0; i < UM_NEAR_INDEXED; i++)
        p[i] = probe_of(shingle, i);
    um_near_look_up(&t->lines, p, UM_NEAR_INDEXED, v);
}

/* --- writing -------------------------------------------------------------- */

/* Returns the entry of a shingle to reuse for a new record: that of an older
 * record of the same mail, or the oldest if there are OWNERS; NULL: add
 * another. Entries that may belong to a name are kept, or that mail could not
 * be found. */
static const um_near_match *find_entry(const um_near *t, const um_near_write *w,
                                       const um_near_marks *m,
                                       unsigned position,
                                       const um_near_matches *v)
{
    const um_near_match *oldest = NULL;
    unsigned owners = 0;

    for (unsigned i = 0; i < v->n; i++) {
        const um_near_match *one = &v->at[i];
        if (!um_near_agrees_at(t, one->number, m, position) ||
            um_near_may_be_name(t, one->number, one->line[one->slot]))
            continue;
        if (um_near_is_of(t, one->number, &w->digest, w->name))
            return one;
        if (!oldest || one->number < oldest->number)
            oldest = one;
        owners++;
    }
    return owners >= OWNERS ? oldest : NULL;
}

static void index_shingles(const um_near *t, const um_near_write *w,
                           uint64_t number)
{
    um_near_marks m = um_near_marks_of(w->shingle);
    um_near_matches v[UM_NEAR_INDEXED];

    look_up_shingles(t, w->shingle, v);
    for (unsigned i = 0; i < UM_NEAR_INDEXED; i++) {
        const um_near_match *entry = find_entry(t, w, &m, i * EVERY, &v[i]);
        if (entry)
            um_near_move_entry(&t->lines, entry, number);
        else
            um_near_add_entry(&t->lines, probe_of(w->shingle, i), number);
    }
}

static void index_name(const um_near *t, const um_near_write *w,
                       const um_near_match *old, uint64_t number)
{
    if (old)
        um_near_move_entry(&t->lines, old, number);
    else
        um_near_add_entry(&t->lines, um_probe_of(w->digest.lo, w->digest.hi),
                          number);
}

static int32_t clamped(int64_t value)
{
    return value > INT32_MAX    ? INT32_MAX
           : value <= INT32_MIN ? INT32_MIN + 1
                                : (int32_t)value;
}

/* What a write will do. */
typedef struct finding {
    bool found, adds; /* adds: the amount can be added to the record */
    um_near_match entry;
    int32_t value; /* of the mail after the write */
} finding;

static finding find_for(const um_near *t, const um_near_write *w)
{
    finding f = {.found = false};
    um_near_record r = {.gone = true};

    f.found = um_near_find_name(t, &w->digest, w->name, &f.entry);
    if (f.found)
        um_near_read(t, f.entry.number, &r);
    bool counts = !r.gone && !w->renewed && r.flag == w->flag;
    f.value = clamped((counts ? (int64_t)r.value : 0) + w->amount);
    f.adds = counts && !w->gone && f.value >= r.value;
    return f;
}

bool um_near_needs_record(const umbel_filter *f, const um_near_write *w)
{
    return !find_for(near_of(f), w).adds;
}

umbel_status um_near_append(umbel_filter *f, const um_near_write *w,
                            umbel_error *err)
{
    const um_near *t = near_of(f);
    finding found = find_for(t, w);
    uint64_t number = f->added;

    if (found.adds) {
        um_near_raise(t, found.entry.number, w->stamp, found.value);
        return UMBEL_OK;
    }
    if (number >= t->mails)
        return um_fail(err, UMBEL_E_FULL, "there is room for %" PRIu64 " mails",
                       t->mails);
    um_near_write_record(t, w, found.value, number);
    index_name(t, w, found.found ? &found.entry : NULL, number);
    if (w->has_shingles)
        index_shingles(t, w, number);
    f->added++;
    return UMBEL_OK;
}

/* --- finding -------------------------------------------------------------- */

bool um_near_find(const umbel_filter *f, const umbel_digest *d,
                  const uint8_t *name, um_near_record *out)
{
    um_near_match v;

    return um_near_find_name(near_of(f), d, name, &v) &&
           um_near_read(near_of(f), v.number, out);
}

/* Lists the records that the matches lead to, each once, and prefetches their
 * marks. */
static unsigned list_records(const um_near *t,
                             const um_near_matches v[UM_NEAR_INDEXED],
                             uint64_t out[CANDIDATES])
{
    unsigned n = 0;

    for (unsigned i = 0; i < UM_NEAR_INDEXED; i++)
        for (unsigned k = 0; k < v[i].n; k++) {
            uint64_t number = v[i].at[k].number;
            unsigned at = 0;
            while (at < n && out[at] != number)
                at++;
            if (at < n)
                continue;
            __builtin_prefetch(t->marks + number * UM_NEAR_MARK_SPACE);
            out[n++] = number;
        }
    return n;
}

/* Finds the record with the most equal positions, among those with enough of
 * them; the latest if several tie. Returns false if there is none. *common
 * receives the positions at which records with too few agree. */
static bool find_best(const uint32_t *agree, const uint64_t *record, unsigned n,
                      unsigned *out, uint32_t *common)
{
    bool found = false;

    *common = 0;
    for (unsigned i = 0; i < n; i++) {
        int shared = __builtin_popcount(agree[i]);
        int most = found ? __builtin_popcount(agree[*out]) : 0;
        if (shared < UM_NEAR_HIT) {
            *common |= agree[i];
        } else if (shared > most ||
                   (shared == most && record[i] > record[*out])) {
            *out = i;
            found = true;
        }
    }
    return found;
}

/*
 * Of many mails with the same footer one may agree at 17 positions by chance. A
 * copy shares something with its mail that it does not share with all the
 * others. Of 20,000 mails of 53 to 92 words that share 33 with 1,000 stored
 * ones, 1.9 have four positions of their own by chance, 0.6 five and 0.05 six;
 * of 20,000 copies 8, 19 and 49 have fewer (means of 20 runs, mails of
 * bench/fuzzy).
 */
unsigned um_near_search(const umbel_filter *f,
                        const uint64_t shingle[UM_NEAR_SHINGLES],
                        um_near_record *out)
{
    const um_near *t = near_of(f);
    um_near_marks m = um_near_marks_of(shingle);
    um_near_matches v[UM_NEAR_INDEXED];
    uint64_t record[CANDIDATES];
    uint32_t agree[CANDIDATES], common;
    unsigned best = 0;

    look_up_shingles(t, shingle, v);
    unsigned n = list_records(t, v, record);
    for (unsigned i = 0; i < n; i++)
        agree[i] = um_near_agree(t, record[i], &m);
    if (!find_best(agree, record, n, &best, &common) ||
        __builtin_popcount(agree[best] & ~common) < UM_NEAR_OWN ||
        !um_near_read(t, record[best], out))
        return 0;
    return (unsigned)__builtin_popcount(agree[best]);
}

void um_near_fetch(const umbel_filter *f, const umbel_digest *d,
                   const uint64_t *shingle)
{
    const um_near *t = near_of(f);
    um_probe p = um_probe_of(d->lo, d->hi);

    __builtin_prefetch(um_near_line(&t->lines, &p));
    for (unsigned i = 0; shingle && i < UM_NEAR_INDEXED; i++) {
        p = probe_of(shingle, i);
        __builtin_prefetch(um_near_line(&t->lines, &p));
    }
}

bool um_near_next(const umbel_filter *f, uint64_t *at, um_near_record *out)
{
    const um_near *t = near_of(f);

    while (*at < t->mails)
        if (um_near_read(t, (*at)++, out))
            return true;
    return false;
}
