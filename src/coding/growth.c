/*
 * growth.c - codes the growth of a page, decision by decision.
 *
 *   for each page: 1, the gap of its number; the number of changes - 1;
 *     for each change: the gap of its place; its fingerprint, if it was free;
 *       by how much it grew, less 1, unless it is a bit
 *   0
 *
 * A number is coded as in section.c: its length in bits, in unary; the two bits
 * below the highest; the rest with probability 1/2 each.
 */
#include "coding/entries.h"

#include "coding/internal.h"

enum {
    LENGTHS = 65,
    MANTISSA = 2,
    SECTIONS = 8,
    OLD_CLASSES = 4 /* free, 1, 2 and 3, more */
};

typedef struct number_model {
    um_chance length[LENGTHS];
    um_chance below[LENGTHS][1 << MANTISSA];
} number_model;

typedef struct section_model {
    number_model changes, gap, by[OLD_CLASSES];
} section_model;

struct um_growth {
    um_binary c;
    um_chance more;
    number_model page;
    uint64_t last; /* number of the previous page, + 1 */
    bool fine;
    bool begun[SECTIONS];
    section_model section[SECTIONS];
};

/* Returns the model of a section, initialized at first use: most codes have
 * one. */
static section_model *model_of(um_growth *g, unsigned section)
{
    if (!g->begun[section]) {
        um_chances_init((um_chance *)&g->section[section],
                        sizeof(section_model) / sizeof(um_chance));
        g->begun[section] = true;
    }
    return &g->section[section];
}

size_t um_growth_size(void)
{
    return sizeof(um_growth);
}

static void growth_init(um_growth *g)
{
    um_chances_init(&g->more, 1);
    um_chances_init((um_chance *)&g->page, sizeof g->page / sizeof(um_chance));
    memset(g->begun, 0, sizeof g->begun);
    g->last = 0;
    g->fine = true;
}

void um_growth_encoder(um_growth *g, um_writer *w)
{
    growth_init(g);
    g->c = um_binary_encoder(w);
}

bool um_growth_decoder(um_growth *g, um_reader *r)
{
    growth_init(g);
    g->c = um_binary_decoder(r, &g->fine);
    return g->fine;
}

uint64_t um_growth_len(const um_growth *g)
{
    return g->c.len;
}

static inline uint64_t code_number(um_binary *c, number_model *m,
                                   uint64_t value, bool decoding)
{
    unsigned want = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
    unsigned len = 0;
    uint64_t out = 1;

    while (len < 64 && um_learn(c, &m->length[len], len < want, decoding))
        len++;
    if (len < 2)
        return len;
    unsigned left = len - 1, even = left > MANTISSA ? left - MANTISSA : 0;
    while (left > even)
        out = out << 1 | um_learn(c, &m->below[len][out],
                                  (unsigned)(value >> --left & 1), decoding);
    return even ? out << even | um_decide_bits(c, even, value, decoding) : out;
}

static unsigned old_class(uint64_t count)
{
    return count < 2 ? (unsigned)count : count < 4 ? 2 : 3;
}

/* --- places --------------------------------------------------------------- */

static bool is_bit(const um_entry_form *f)
{
    return f->layout == UM_ENTRY_CELLS && f->count_bits == 1;
}

static uint64_t valid_bits(uint64_t n, uint64_t word)
{
    uint64_t left = n - 64 * word;
    return left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
}

/* Returns the number of entries from `from` to before `to` that a gap
 * counts. */
static uint64_t gap_between(const um_growth_page *p, uint64_t from, uint64_t to)
{
    uint64_t n = 0;

    if (!is_bit(p->form))
        return to - from;
    for (uint64_t w = from / 64; w <= to / 64 && from < to; w++) {
        uint64_t open = ~um_load64(p->old + 8 * w);
        if (w == from / 64)
            open &= ~(uint64_t)0 << from % 64;
        if (w == to / 64)
            open &= ((uint64_t)1 << to % 64) - 1;
        n += um_ones(open);
        if (w == to / 64)
            break;
    }
    return n;
}

/* Returns the entry that a gap leads to; n if there is none. */
static uint64_t place_after(const um_growth_page *p, uint64_t from,
                            uint64_t gap)
{
    if (!is_bit(p->form))
        return gap < p->n - from ? from + gap : p->n;
    for (uint64_t w = from / 64; 64 * w < p->n; w++) {
        uint64_t open = ~um_load64(p->old + 8 * w) & valid_bits(p->n, w);
        if (w == from / 64)
            open &= ~(uint64_t)0 << from % 64;
        uint64_t have = um_ones(open);
        if (gap < have) {
            while (gap--)
                open &= open - 1;
            return 64 * w + (unsigned)__builtin_ctzll(open);
        }
        gap -= have;
    }
    return p->n;
}

/* Finds the first bit that differs, and the entry it belongs to. */
static bool differs_in_words(const um_growth_page *p, unsigned bits,
                             uint64_t *at)
{
    uint64_t from = *at * bits, end = p->n * bits;
    uint64_t mask = ~(uint64_t)0 << from % 64;

    for (from -= from % 64; from < end; from += 64, mask = ~(uint64_t)0) {
        uint64_t differ =
            (um_load64(p->old + from / 8) ^ um_load64(p->now + from / 8)) &
            mask;
        if (!differ)
            continue;
        *at = (from + (unsigned)__builtin_ctzll(differ)) / bits;
        return *at < p->n;
    }
    return false;
}

static bool same_value(um_entry_value a, um_entry_value b)
{
    return a.count == b.count && a.print == b.print;
}

static bool differs_in_lines(const um_growth_page *p, uint64_t *at)
{
    unsigned per = p->form->per_line, slot = (unsigned)(*at % per);
    uint64_t lines = p->n / per;

    for (uint64_t line = *at / per; line < lines; line++, slot = 0) {
        const uint8_t *old = p->old + line * UM_LINE,
                      *now = p->now + line * UM_LINE;
        if (memcmp(old, now, UM_LINE) == 0)
            continue;
        for (; slot < per; slot++)
            if (!same_value(um_line_get(p->form, old, slot),
                            um_line_get(p->form, now, slot))) {
                *at = line * per + slot;
                return true;
            }
    }
    return false;
}

bool um_growth_differs(const um_growth_page *p, uint64_t *at)
{
    if (p->form->layout == UM_ENTRY_LINES)
        return differs_in_lines(p, at);
    return differs_in_words(
        p, p->form->layout == UM_ENTRY_WORDS ? 64 : p->form->count_bits, at);
}

/* --- one page ------------------------------------------------------------- */

/* Codes the change of an entry. Returns false if it would exceed its
 * maximum. */
static inline bool code_entry(um_growth *g, um_growth_page *p, uint64_t i,
                              bool decoding)
{
    const um_entry_form *f = p->form;
    section_model *m = model_of(g, p->section);
    um_entry_value old = um_entry_get(f, p->old, i), now = old;
    uint64_t most = um_entry_max(f), by = 0;

    if (!decoding)
        now = um_entry_get(f, p->now, i);
    if (!old.count && f->print_bits)
        now.print = um_decide_bits(&g->c, f->print_bits, now.print, decoding);
    if (most > 1)
        by = code_number(&g->c, &m->by[old_class(old.count)],
                         now.count - old.count - 1, decoding);
    p->changed++;
    p->fresh += !old.count;
    if (!decoding)
        return true;
    if (old.count >= most || by >= most - old.count ||
        (f->layout == UM_ENTRY_LINES && !(now.print & 255)))
        return false;
    now.count = old.count + by + 1;
    um_entry_set(f, p->now, i, now);
    return true;
}

static uint64_t count_changes(const um_growth_page *p)
{
    uint64_t n = 0;

    for (uint64_t i = 0; um_growth_differs(p, &i); i++)
        n++;
    return n;
}

void um_growth_append(um_growth *g, um_growth_page *p)
{
    section_model *m = model_of(g, p->section);
    uint64_t from = 0;

    p->changed = p->fresh = 0;
    um_learn(&g->c, &g->more, 1, false);
    code_number(&g->c, &g->page, p->number - g->last, false);
    g->last = p->number + 1;
    code_number(&g->c, &m->changes, count_changes(p) - 1, false);
    for (uint64_t i = 0; um_growth_differs(p, &i); from = ++i) {
        code_number(&g->c, &m->gap, gap_between(p, from, i), false);
        code_entry(g, p, i, false);
    }
}

void um_growth_end(um_growth *g)
{
    um_learn(&g->c, &g->more, 0, false);
    um_binary_finish(&g->c);
}

bool um_growth_next(um_growth *g, uint64_t most, uint64_t *number)
{
    if (!g->fine || um_binary_lost(&g->c) ||
        !um_learn(&g->c, &g->more, 0, true))
        return false;
    uint64_t gap = code_number(&g->c, &g->page, 0, true);
    g->fine = g->last <= most && gap <= most - g->last;
    *number = g->last + gap;
    g->last = *number + 1;
    return g->fine;
}

bool um_growth_get(um_growth *g, um_growth_page *p)
{
    section_model *m = model_of(g, p->section);
    uint64_t left = code_number(&g->c, &m->changes, 0, true), from = 0;

    p->changed = p->fresh = 0;
    g->fine = left < p->n;
    for (left++; g->fine && left; left--) {
        uint64_t i = place_after(p, from, code_number(&g->c, &m->gap, 0, true));
        g->fine =
            i < p->n && !um_binary_lost(&g->c) && code_entry(g, p, i, true);
        from = i + 1;
    }
    return g->fine;
}

bool um_growth_ended(const um_growth *g)
{
    return g->fine && um_binary_ended(&g->c);
}

/* --- pages that were received whole --------------------------------------- */

/* Checks a page of bits: none may be cleared. */
static bool check_bits(um_growth_page *p)
{
    for (uint64_t w = 0; w < (p->n + 63) / 64; w++) {
        uint64_t old = um_load64(p->old + 8 * w),
                 now = um_load64(p->now + 8 * w);
        if (old & ~now)
            return false;
        p->changed += um_ones(old ^ now);
    }
    p->fresh = p->changed;
    return true;
}

static bool check_entry(um_growth_page *p, um_entry_value old,
                        um_entry_value now)
{
    if (same_value(old, now))
        return true;
    p->changed++;
    p->fresh += !old.count;
    return now.count >= old.count && (!old.count || now.print == old.print);
}

/* Checks pages of lines: bits outside entries must be 0. Unchanged lines were
 * checked when they were received. */
static bool check_lines(um_growth_page *p)
{
    const um_entry_form *f = p->form;

    for (size_t at = 0; at < p->n / f->per_line * UM_LINE; at += UM_LINE) {
        const uint8_t *old = p->old + at, *now = p->now + at;
        uint8_t again[UM_LINE] = {0};
        if (memcmp(old, now, UM_LINE) == 0)
            continue;
        for (unsigned i = 0; i < f->per_line; i++) {
            um_entry_value v = um_line_get(f, now, i);
            if (!check_entry(p, um_line_get(f, old, i), v))
                return false;
            if (v.count)
                um_line_set(f, again, i, v);
        }
        if (memcmp(again, now, UM_LINE) != 0)
            return false;
    }
    return true;
}

static bool check_entries(um_growth_page *p)
{
    for (uint64_t i = 0; um_growth_differs(p, &i); i++)
        if (!check_entry(p, um_entry_get(p->form, p->old, i),
                         um_entry_get(p->form, p->now, i)))
            return false;
    return true;
}

/* Checks pages of words: a word without a count must be 0. */
static bool check_words(um_growth_page *p)
{
    for (uint64_t i = 0; i < p->n; i++)
        if (um_load64(p->now + 8 * i) &&
            !um_entry_get(p->form, p->now, i).count)
            return false;
    return check_entries(p);
}

bool um_growth_check(um_growth_page *p)
{
    p->changed = p->fresh = 0;
    if (p->form->layout == UM_ENTRY_LINES)
        return check_lines(p);
    if (p->form->layout == UM_ENTRY_WORDS)
        return check_words(p);
    return is_bit(p->form) ? check_bits(p) : check_entries(p);
}
