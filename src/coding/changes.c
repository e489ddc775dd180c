/*
 * changes.c - codes the positions of changed cells and their new values, by old
 * value.
 *
 * Cells of one bit are handled in words of 64: a word without a flip costs a
 * popcount.
 */
#include "coding/section.h"

/* A context for each old value 0, 1, 2, and one for all above; bits have
 * two. */
enum { CONTEXTS = 4 };

/* An iterator over the cells of one context, in either direction. */
typedef struct walk {
    const um_packed *old, *now;
    uint64_t context;
    uint64_t at;    /* current word or cell */
    uint64_t rank;  /* backwards: minus the number of cells of the context
                       passed so far */
    uint64_t later; /* backwards: rank of the last change found, whose gap is
                       still open */
    bool open;      /* backwards: there is an open gap */
    bool begun;     /* backwards: at, rank and open are set */
    uint64_t rest;  /* forwards: mask of the context's cells left in the word */
} walk;

static uint64_t contexts(const um_packed *old)
{
    return !old->at ? 1 : old->bits == 1 ? 2 : CONTEXTS;
}

static bool in_context(const walk *w, uint64_t old)
{
    return !w->old->at ||
           (old < CONTEXTS - 1 ? old : CONTEXTS - 1) == w->context;
}

/* Returns a mask of the cells of a word that belong to the context. */
static uint64_t mask_of(const walk *w, uint64_t word)
{
    uint64_t old = um_packed_word(w->old, word);
    return (w->context ? old : ~old) & um_packed_valid(w->now, word);
}

/* --- backwards: gaps ------------------------------------------------------ */

static void begin(walk *w, uint64_t end)
{
    w->at = end;
    w->rank = 0;
    w->open = false;
    w->begun = true;
}

/* Stores the gap between a change of this rank and the one found before it.
 * Returns the number of gaps stored: 0 for the first change found. */
static size_t close_gap(walk *w, uint64_t rank, uint64_t *out)
{
    size_t n = w->open;

    *out = w->later - rank - 1;
    w->later = rank;
    w->open = true;
    return n;
}

/* Stores the gap before the first change, which is still open at cell 0. */
static size_t finish(walk *w, uint64_t *out, size_t n)
{
    if (!w->at && w->open) {
        out[n++] = w->later - w->rank;
        w->open = false;
    }
    w->begun = n > 0;
    return n;
}

static size_t flips_of_word(walk *w, uint64_t mask, uint64_t flips,
                            uint64_t *out)
{
    size_t n = 0;

    for (; flips; n++) {
        uint64_t below =
            ((uint64_t)1 << (63 - (unsigned)__builtin_clzll(flips))) - 1;
        uint64_t rank = w->rank + um_ones(mask & below);
        out[n] = w->later - rank - 1;
        w->later = rank;
        flips &= below;
    }
    return n;
}

/*
 * Stores the positions of the ones of a word, highest first. Finds them from
 * the lowest up, which is faster.
 */
static inline size_t places_of_word(uint64_t word, uint64_t base, uint64_t *out)
{
    size_t n = word ? (size_t)um_ones(word) : 0;

    for (size_t i = n; word; word &= word - 1)
        out[--i] = base + (unsigned)__builtin_ctzll(word);
    return n;
}

/* Drops the gap behind the last change of the section: it is not coded. */
static size_t drop_first(walk *w, uint64_t *out, size_t n)
{
    if (n && !w->open) {
        w->open = true;
        memmove(out, out + 1, --n * sizeof *out);
    }
    return n;
}

static size_t gaps_of_flips(void *self, uint64_t out[UM_VALUES_PIECE])
{
    walk *w = self;
    size_t n = 0;

    if (!w->begun)
        begin(w, um_packed_words(w->now));
    while (w->at && n + 65 <= UM_VALUES_PIECE) {
        uint64_t mask = mask_of(w, --w->at);
        uint64_t flips =
            (um_packed_word(w->old, w->at) ^ um_packed_word(w->now, w->at)) &
            mask;
        w->rank -= um_ones(mask);
        n += flips_of_word(w, mask, flips, out + n);
    }
    return finish(w, out, drop_first(w, out, n));
}

/* Like gaps_of_flips, where all old cells are equal: the rank of a bit is its
 * position. */
static size_t gaps_of_ones(void *self, uint64_t out[UM_VALUES_PIECE])
{
    walk *w = self;
    size_t n = 0;

    if (!w->begun)
        begin(w, um_packed_words(w->now));
    while (w->at && n + 65 <= UM_VALUES_PIECE) {
        w->at--;
        uint64_t flips =
            um_packed_word(w->old, w->at) ^ um_packed_word(w->now, w->at);
        w->rank -= 64;
        n += places_of_word(flips & um_packed_valid(w->now, w->at), w->rank,
                            out + n);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t place = out[i];
        out[i] = w->later - place - 1;
        w->later = place;
    }
    return finish(w, out, drop_first(w, out, n));
}

/* Cells before position at, last first, in units of 64, which unpack faster. */
enum { WORD = 64 };

typedef struct stretch {
    uint64_t old[UM_VALUES_PIECE], now[UM_VALUES_PIECE];
    size_t n;
} stretch;

/* Unpacks at most room cells, which is at least WORD. */
static void go_back(walk *w, size_t room, stretch *s)
{
    size_t most = room / WORD * WORD, part = (size_t)(w->at % WORD);

    s->n = part ? part : w->at < most ? (size_t)w->at : most;
    um_packed_before(w->old, w->at, s->n, s->old);
    um_packed_before(w->now, w->at, s->n, s->now);
    w->at -= s->n;
}

static size_t gaps_of_cells(void *self, uint64_t out[UM_VALUES_PIECE])
{
    walk *w = self;
    stretch s;
    size_t n = 0;

    if (!w->begun)
        begin(w, w->now->n);
    while (w->at && n + 1 + WORD <= UM_VALUES_PIECE) {
        uint64_t rank = w->rank;
        go_back(w, UM_VALUES_PIECE - 1 - n, &s);
        for (size_t i = 0; i < s.n; i++) {
            bool in = in_context(w, s.old[i]); /* no branch: it is
                                                  unpredictable */
            rank -= in;
            if (in & (s.now[i] != s.old[i]))
                n += close_gap(w, rank, out + n);
        }
        w->rank = rank;
    }
    return finish(w, out, n);
}

/* --- the new value of a cell -----------------------------------------------
 *
 * Steps alternate up and down, short ones first, while both are in range: +1 -1
 * +2 -2 ..., then those of the remaining side. So every other value has a
 * number below max.
 */

static uint64_t number_of(uint64_t old, uint64_t now, uint64_t max)
{
    uint64_t above = max - old, both = old < above ? old : above;
    uint64_t step = now > old ? now - old : old - now;

    return step > both ? step - 1 + both : 2 * (step - 1) + (now < old);
}

static uint64_t value_of(uint64_t old, uint64_t number, uint64_t max)
{
    uint64_t above = max - old, both = old < above ? old : above;
    bool down = number < 2 * both ? number & 1 : above < old;
    uint64_t step = number < 2 * both ? number / 2 + 1 : number - both + 1;

    return down ? old - step : old + step;
}

static size_t numbers_of_cells(void *self, uint64_t out[UM_VALUES_PIECE])
{
    walk *w = self;
    uint64_t max = um_packed_max(w->now);
    stretch s;
    size_t n = 0;

    if (!w->begun)
        begin(w, w->now->n);
    while (w->at && n + WORD <= UM_VALUES_PIECE) {
        go_back(w, UM_VALUES_PIECE - n, &s);
        for (size_t i = 0; i < s.n; i++)
            if (s.now[i] != s.old[i] && in_context(w, s.old[i]))
                out[n++] = number_of(s.old[i], s.now[i], max);
    }
    w->begun = n > 0;
    return n;
}

static bool encode_walk(um_writer *to, walk *w,
                        size_t (*before)(void *, uint64_t *), uint64_t *len)
{
    um_values_from from = {before, w};
    um_values_count count;

    um_values_count_all(&from, &count);
    return um_values_encode(to, &from, &count, len);
}

bool um_changes_encode(um_writer *to, const um_packed *old,
                       const um_packed *now, uint64_t *len)
{
    bool fine = true, bits = now->bits == 1;
    size_t (*where)(void *, uint64_t *) = !bits     ? gaps_of_cells
                                          : old->at ? gaps_of_flips
                                                    : gaps_of_ones;

    for (uint64_t c = 0; fine && c < contexts(old); c++) {
        walk w = {.old = old, .now = now, .context = c};
        fine = encode_walk(to, &w, where, len);
        if (fine && !bits)
            fine = encode_walk(to, &w, numbers_of_cells, len);
    }
    return fine;
}

/* --- forwards ------------------------------------------------------------- */

/* Returns the i-th one of x, which has more than i. */
static uint64_t select_one(uint64_t x, uint64_t i)
{
    while (i--)
        x &= x - 1;
    return x & -x;
}

static bool flip(walk *w, uint64_t gap)
{
    uint64_t have;

    while ((have = um_ones(w->rest)) <= gap) {
        gap -= have;
        if (w->at + 1 >= um_packed_words(w->now))
            return false;
        w->rest = mask_of(w, ++w->at);
    }
    uint64_t bit = select_one(w->rest, gap);
    uint8_t *word = w->now->at + 8 * w->at;
    um_store64(word, um_load64(word) ^ bit);
    w->rest &= ~(bit | (bit - 1));
    return true;
}

static bool consume_flips(void *self, const uint64_t *gaps, size_t n)
{
    walk *w = self;

    for (size_t i = 0; i < n; i++)
        if (!flip(w, gaps[i]))
            return false;
    return true;
}

/* Flips the bits after these gaps, where all old cells are equal: a gap is a
 * distance. */
static bool consume_ones(void *self, const uint64_t *gaps, size_t n)
{
    walk *w = self;

    for (size_t i = 0; i < n; i++) {
        if (gaps[i] >= w->now->n - w->at)
            return false;
        w->at += gaps[i];
        w->now->at[w->at / 8] ^= (uint8_t)(1u << w->at % 8);
        w->at++;
    }
    return true;
}

/* Marks changed cells by storing any value other than the old one;
 * consume_numbers stores the right one. */
static bool consume_cells(void *self, const uint64_t *gaps, size_t n)
{
    walk *w = self;

    for (size_t i = 0; i < n; i++) {
        uint64_t gap = gaps[i];
        for (;; w->at++) {
            if (w->at == w->now->n)
                return false;
            if (in_context(w, um_packed_get(w->old, w->at)) && gap-- == 0)
                break;
        }
        uint64_t old = um_packed_get(w->old, w->at);
        um_packed_set(w->now, w->at++, old ^ 1);
    }
    return true;
}

static bool consume_numbers(void *self, const uint64_t *numbers, size_t n)
{
    walk *w = self;
    uint64_t max = um_packed_max(w->now);

    for (size_t i = 0; i < n; i++, w->at++) {
        uint64_t old = 0;
        for (; w->at < w->now->n; w->at++) {
            old = um_packed_get(w->old, w->at);
            if (old != um_packed_get(w->now, w->at) && in_context(w, old))
                break;
        }
        if (w->at == w->now->n || numbers[i] >= max)
            return false;
        um_packed_set(w->now, w->at, value_of(old, numbers[i], max));
    }
    return true;
}

static bool decode_bits(um_reader *r, const um_packed *old,
                        const um_packed *now, uint64_t context)
{
    walk w = {.old = old, .now = now, .context = context};
    um_values_to to = {old->at ? consume_flips : consume_ones, &w};
    um_values_count seen;

    w.rest = now->n ? mask_of(&w, 0) : 0;
    return um_values_decode(r, now->n, &to, &seen);
}

static bool decode_cells(um_reader *r, const um_packed *old,
                         const um_packed *now, uint64_t context)
{
    walk where = {.old = old, .now = now, .context = context}, what = where;
    um_values_to gaps = {consume_cells, &where},
                 numbers = {consume_numbers, &what};
    um_values_count places, values;

    return um_values_decode(r, now->n, &gaps, &places) &&
           um_values_decode(r, now->n, &numbers, &values) &&
           places.n == values.n;
}

bool um_changes_decode(um_reader *r, const um_packed *old, const um_packed *now)
{
    bool fine = true;

    for (uint64_t c = 0; fine && c < contexts(old); c++)
        fine = (now->bits == 1 ? decode_bits : decode_cells)(r, old, now, c);
    return fine;
}
