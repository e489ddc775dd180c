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
 *             An entry belongs to a shingle at a position, or to a name.
 *   names     a record's name (64), print (3) and flag (1)
 *   numbers   its stamp (32 bits; 0: it is free), and its value + 2^31 (32
 *             bits; 0: a deletion)
 *
 * A key probes random lines until it meets one that is not full. Entries never
 * move; records are never overwritten, but for a value and a stamp that grow.
 * So every cell only grows, an older copy of a page is a state that it once
 * had, and servers can copy filters page by page. What would make something
 * smaller (a negative amount, a deletion, another flag) is a new record, with
 * a larger number, and entries that lead to the old one lead to it.
 *
 * A shingle leads to the latest mail that has it. A tag of 8 bits does not tell
 * whose entry it is: of those with the right tag the one is taken over whose
 * mail has three shingles of the new one, or else it gets an entry of its own.
 * A search takes every entry with the right tag for a voice. At a load of 0.94
 * a key that is not in meets 3 lines, and hears 0.3 voices by chance, spread
 * over all N records. For a mail that has nothing in common with any, 17 of
 * them have to agree: about C(32, 17) (0.3 / N)^16, less than 1e-50 for N =
 * 20,000. One that has 16 shingles of a mail gets a 17th with a chance of 16 *
 * 0.3 / N, 1 in 4,000. A mail's own voices are all heard.
 *
 * When not to use it: it is for one program, and holds nothing but mails.
 */
#include "kinds/near.h"
#include "base/error.h"
#include "filter/handle.h"
#include "kinds/near_lines.h"
#include "kinds/rows.h"

#include <inttypes.h>
#include <math.h>

enum {
    PLACES = UM_NEAR_SHINGLES + 1, /* entries of a mail */
    LOAD_NUM = 19,                 /* of slots that are taken when ... */
    LOAD_DEN = 20,                 /* ... all records are */
    PRINT = UM_NEAR_NAME,
    FLAG = PRINT + 3,
    NAME_ROOM = FLAG + 1,
    NUMBER_ROOM = 8,
    HASHES = PLACES,
    FIRST = 18, /* positions that a search asks first: chance gives two votes */
    KIN = 3     /* shingles that a mail has in common with an older one whose
                   entries it takes over */
};

#define MOST_MAILS (UINT64_C(1) << 28)

typedef struct near {
    um_near_lines lines;
    uint8_t *names, *numbers;
    uint64_t mails;
} near;

/* --- shape ---------------------------------------------------------------- */

static uint64_t lines_of(uint64_t mails)
{
    uint64_t full = (uint64_t)um_near_slots(mails) * LOAD_NUM;

    return (mails * PLACES * LOAD_DEN + full - 1) / full;
}

static size_t sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    out[0] = (um_section){.cells = lines_of(s->cells) * 8, .cell_bits = 64};
    out[1] = (um_section){.cells = s->cells * NAME_ROOM, .cell_bits = 8};
    out[2] = (um_section){.cells = s->cells * 2, .cell_bits = 32};
    return 3;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    near *t = self;

    (void)l;
    *t = (near){.lines =
                    um_near_lines_of(memory[0], lines_of(s->cells), s->cells),
                .names = memory[1],
                .numbers = memory[2],
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
    return MOST_MAILS;
}

static uint32_t hashes_of(const um_shape *s)
{
    (void)s;
    return HASHES;
}

/* A cell is a record: its section is three. */
static const um_addressing records = {
    .name = "records",
    .summary = "records in order, and an index of lines",
    .block = 1,
    .granule = granule,
    .limit = limit,
};

/* --- records -------------------------------------------------------------- */

static uint8_t *name_at(const near *t, uint64_t i)
{
    return t->names + i * NAME_ROOM;
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

static void set32(uint8_t *at, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(x >> 8 * i);
}

/* The bits of a digest that its tag comes from, and more. */
static uint32_t print_of(const umbel_digest *d)
{
    return (uint32_t)(d->hi >> 40);
}

static uint32_t print_at(const uint8_t *name)
{
    return (uint32_t)name[PRINT] | (uint32_t)name[PRINT + 1] << 8 |
           (uint32_t)name[PRINT + 2] << 16;
}

/* Returns false if it is free: its page may not have come yet. */
static bool read_record(const near *t, uint64_t i, um_near_record *out)
{
    const uint8_t *numbers = t->numbers + i * NUMBER_ROOM;
    uint32_t value = get32(numbers + 4);

    *out = (um_near_record){.name = name_at(t, i),
                            .flag = name_at(t, i)[FLAG],
                            .gone = value == 0,
                            .value = (int32_t)(value ^ 0x80000000),
                            .stamp = get32(numbers)};
    return out->stamp != 0;
}

static int32_t clamped(int64_t value)
{
    return value > INT32_MAX    ? INT32_MAX
           : value <= INT32_MIN ? INT32_MIN + 1
                                : (int32_t)value;
}

static void set_numbers(const near *t, uint64_t i, uint32_t stamp,
                        uint32_t value)
{
    set32(t->numbers + i * NUMBER_ROOM, stamp);
    set32(t->numbers + i * NUMBER_ROOM + 4, value);
}

static um_probe probe_of_shingle(uint64_t key)
{
    return um_probe_of(key, um_remix(key));
}

/* --- votes ---------------------------------------------------------------- */

enum {
    PLACES_OF_URNS = 1024, /* a power of two, more than there are voices */
    URNS = UM_NEAR_SHINGLES * UM_NEAR_VOICES
};

typedef struct urn {
    uint32_t number;
    uint16_t last; /* the position that voted last, + 1 */
    uint16_t n;
} urn;

/* How many positions lead to each record. */
typedef struct votes {
    unsigned n;
    uint16_t place[PLACES_OF_URNS]; /* of an urn, + 1; 0: free */
    urn urn[URNS];
} votes;

static void votes_init(votes *v)
{
    v->n = 0;
    memset(v->place, 0, sizeof v->place);
}

/* The urn of a record; a new one is empty. */
static urn *urn_of(votes *v, uint64_t number)
{
    uint32_t i = (uint32_t)(number * 0x9E3779B1u) >> 22;

    while (v->place[i] && v->urn[v->place[i] - 1].number != number)
        i = (i + 1) % PLACES_OF_URNS;
    if (!v->place[i]) {
        v->urn[v->n] = (urn){.number = (uint32_t)number};
        v->place[i] = (uint16_t)++v->n;
    }
    return &v->urn[v->place[i] - 1];
}

static urn *vote(votes *v, uint64_t number, unsigned position)
{
    urn *u = urn_of(v, number);

    u->n = (uint16_t)(u->n + (u->last != position + 1));
    u->last = (uint16_t)(position + 1);
    return u;
}

/* --- one mail ------------------------------------------------------------- */

static bool is_record_of(const near *t, uint64_t i, const umbel_digest *d,
                         const uint8_t *name)
{
    const uint8_t *at = name_at(t, i);
    um_near_record r;

    return print_at(at) == print_of(d) &&
           (!name || memcmp(at, name, UM_NEAR_NAME) == 0) &&
           read_record(t, i, &r);
}

/* Finds the entry of a name; *out is a voice of the latest record. */
static bool find_name(const near *t, const umbel_digest *d, const uint8_t *name,
                      um_voice *out)
{
    um_probe p = um_probe_of(d->lo, d->hi);
    um_voices v;
    bool found = false;

    um_near_hear(&t->lines, &p, 1, &v);
    for (unsigned i = 0; i < v.n; i++) {
        if (!is_record_of(t, v.at[i].number, d, name) ||
            (found && v.at[i].number < out->number))
            continue;
        *out = v.at[i];
        found = true;
    }
    return found;
}

/* Returns true for what may be the entry of the record's name. Whoever took
 * that over would hide the mail. */
static bool is_of_name(const near *t, const um_voice *v)
{
    uint64_t hi = (uint64_t)print_at(name_at(t, v->number)) << 40;
    uint64_t tag = um_probe_of(0, hi).tags & 0xff;

    /* The bits below the print may make it one more. */
    return v->line[v->slot] == tag || v->line[v->slot] == tag + 1;
}

/* The voice whose mail has most shingles in common with the new one; NULL: none
 * has enough. */
static const um_voice *find_kin(const near *t, votes *count, const um_voices *v)
{
    const um_voice *best = NULL;
    unsigned most = KIN - 1;

    for (unsigned k = 0; k < v->n; k++) {
        unsigned common = urn_of(count, v->at[k].number)->n;
        if (common <= most || is_of_name(t, &v->at[k]))
            continue;
        best = &v->at[k];
        most = common;
    }
    return best;
}

/* Hears what positions first to first + n - 1 say, and counts it. Returns the
 * urn with most votes of these and *best, the latest of several. */
static urn hear_some(const near *t, const uint64_t *shingle, unsigned first,
                     unsigned n, um_voices *v, votes *count, urn best)
{
    um_probe p[UM_NEAR_SHINGLES];

    for (unsigned i = 0; i < n; i++)
        p[i] = probe_of_shingle(shingle[first + i]);
    um_near_hear(&t->lines, p, n, v);
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < v[i].n; k++) {
            const urn *u = vote(count, v[i].at[k].number, first + i);
            if (u->n > best.n || (u->n == best.n && u->number > best.number))
                best = *u;
        }
    return best;
}

/* Takes entries over whose mail has other shingles of this one, too. */
static void index_shingles(const near *t, const um_near_write *w,
                           uint64_t number)
{
    um_voices v[UM_NEAR_SHINGLES];
    votes count;

    votes_init(&count);
    hear_some(t, w->shingle, 0, UM_NEAR_SHINGLES, v, &count, (urn){0});
    for (unsigned i = 0; i < UM_NEAR_SHINGLES; i++) {
        const um_voice *best = find_kin(t, &count, &v[i]);
        if (best)
            um_near_move_entry(&t->lines, best, number);
        else
            um_near_add_entry(&t->lines, probe_of_shingle(w->shingle[i]),
                              number);
    }
}

static void index_name(const near *t, const um_near_write *w,
                       const um_voice *old, uint64_t number)
{
    if (old)
        um_near_move_entry(&t->lines, old, number);
    else
        um_near_add_entry(&t->lines, um_probe_of(w->digest.lo, w->digest.hi),
                          number);
}

/* What a write finds. */
typedef struct finding {
    bool found, adds; /* adds: the record takes the amount */
    um_voice voice;
    int32_t value; /* that the mail has then */
} finding;

static finding find_for(const near *t, const um_near_write *w)
{
    finding f = {.found = false};
    um_near_record r = {.gone = true};

    f.found = find_name(t, &w->digest, w->name, &f.voice);
    if (f.found)
        read_record(t, f.voice.number, &r);
    bool counts = !r.gone && !w->renewed && r.flag == w->flag;
    f.value = clamped((counts ? (int64_t)r.value : 0) + w->amount);
    f.adds = counts && !w->gone && f.value >= r.value;
    return f;
}

static const near *near_of(const umbel_filter *f)
{
    return f->self;
}

bool um_is_near(const umbel_filter *f)
{
    return f->kind == &um_kind_near;
}

bool um_near_needs_room(const umbel_filter *f, const um_near_write *w)
{
    return !find_for(near_of(f), w).adds;
}

static void make_record(const near *t, const um_near_write *w, int32_t value,
                        uint64_t number)
{
    uint8_t *at = name_at(t, number);
    uint32_t print = print_of(&w->digest);

    memcpy(at, w->name, UM_NEAR_NAME);
    for (int i = 0; i < 3; i++)
        at[PRINT + i] = (uint8_t)(print >> 8 * i);
    at[FLAG] = w->flag;
    set_numbers(t, number, w->stamp,
                w->gone ? 0 : (uint32_t)value ^ 0x80000000);
}

umbel_status um_near_put(umbel_filter *f, const um_near_write *w,
                         umbel_error *err)
{
    const near *t = near_of(f);
    finding found = find_for(t, w);
    uint64_t number = f->added;

    if (found.adds) {
        um_near_record r;
        read_record(t, found.voice.number, &r);
        set_numbers(t, found.voice.number,
                    w->stamp > r.stamp ? w->stamp : r.stamp,
                    (uint32_t)found.value ^ 0x80000000);
        return UMBEL_OK;
    }
    if (number >= t->mails)
        return um_fail(err, UMBEL_E_FULL, "there is room for %" PRIu64 " mails",
                       t->mails);
    make_record(t, w, found.value, number);
    index_name(t, w, found.found ? &found.voice : NULL, number);
    if (w->has_shingles)
        index_shingles(t, w, number);
    f->added++;
    return UMBEL_OK;
}

bool um_near_find(const umbel_filter *f, const umbel_digest *d,
                  const uint8_t *name, um_near_record *out)
{
    um_voice v;

    return find_name(near_of(f), d, name, &v) &&
           read_record(near_of(f), v.number, out);
}

unsigned um_near_search(const umbel_filter *f,
                        const uint64_t shingle[UM_NEAR_SHINGLES],
                        um_near_record *out)
{
    const near *t = near_of(f);
    um_voices v[FIRST];
    votes count;

    votes_init(&count);
    urn best = hear_some(t, shingle, 0, FIRST, v, &count, (urn){0});
    if (best.n + UM_NEAR_SHINGLES - FIRST < UM_NEAR_HIT)
        return 0; /* too many have voted for nobody */
    best =
        hear_some(t, shingle, FIRST, UM_NEAR_SHINGLES - FIRST, v, &count, best);
    return best.n >= UM_NEAR_HIT && read_record(t, best.number, out) ? best.n
                                                                     : 0;
}

void um_near_fetch(const umbel_filter *f, const umbel_digest *d,
                   const uint64_t *shingle)
{
    const near *t = near_of(f);
    um_probe p = um_probe_of(d->lo, d->hi);

    __builtin_prefetch(um_near_line(&t->lines, &p));
    for (unsigned i = 0; shingle && i < UM_NEAR_SHINGLES; i++) {
        p = probe_of_shingle(shingle[i]);
        __builtin_prefetch(um_near_line(&t->lines, &p));
    }
}

uint64_t um_near_shingle(uint64_t shingle, uint64_t secret)
{
    return um_remix(um_remix(um_remix(shingle ^ secret) + secret));
}

bool um_near_next(const umbel_filter *f, uint64_t *at, um_near_record *out)
{
    const near *t = near_of(f);

    while (*at < t->mails)
        if (read_record(t, (*at)++, out))
            return true;
    return false;
}

/* --- the row -------------------------------------------------------------- */

static uint64_t entries(const void *self)
{
    const near *t = self;
    um_near_record r;
    uint64_t n = 0;

    for (uint64_t i = 0; i < t->mails; i++)
        n += read_record(t, i, &r);
    return n;
}

/* Without a name a digest can only be counted: 1 at least while it is there. */
static void count(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out)
{
    const near *t = self;

    for (size_t i = 0; i < n; i++) {
        um_near_record r;
        um_voice v;
        bool there = find_name(t, &d[i], NULL, &v) &&
                     read_record(t, v.number, &r) && !r.gone;
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
    for (int i = 1; i < 3; i++)
        out[i] = (um_entry_form){.n = section[i].cells,
                                 .count_bits = section[i].cell_bits};
}

static const um_row_paged paged = {paged_forms};

static void info(const void *self, umbel_info *out)
{
    const near *t = self;

    um_info_count(out, "records", entries(t));
    um_info_count(out, "room", t->mails);
}

const um_kind um_kind_near = {
    .name = UM_NEAR_KIND,
    .summary = "mails, and copies of them that differ a little",
    .self_len = sizeof(near),
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
