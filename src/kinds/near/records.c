/*
 * records.c - the index of kind near, and its records.
 *
 * Own table (the index): see bench_mechanisms.
 */
#include "base/bytes.h"
#include "kinds/near/internal.h"

#include <math.h>
#include <string.h>

/* --- the index ------------------------------------------------------------ */

enum {
    LINE_BITS = 8 * UM_LINE,
    MAX_SLOTS = 8 * UM_NEAR_WORDS,
    REACH = 32 /* lines that a key probes, at most */
};

unsigned um_near_bits(uint64_t mails)
{
    unsigned bits = 1;

    while (bits < 63 && (mails - 1) >> bits)
        bits++;
    return bits;
}

unsigned um_near_slots(uint64_t mails)
{
    unsigned slots = LINE_BITS / (UM_NEAR_TAG_BITS + um_near_bits(mails));

    return slots < MAX_SLOTS ? slots : MAX_SLOTS;
}

um_near_lines um_near_lines_of(void *memory, uint64_t lines, uint64_t mails)
{
    return (um_near_lines){.at = memory,
                           .n = lines,
                           .mails = mails,
                           .slots = um_near_slots(mails),
                           .bits = um_near_bits(mails)};
}

static void next_line(um_probe *p)
{
    p->x = um_classic_step(p->x, p->step);
}

/* Returns a bit for each slot that has the tag. */
static uint32_t slots_with(const um_near_lines *t, const uint8_t *line,
                           uint64_t tags)
{
    return um_near_tags(line, tags) & ((UINT32_C(1) << t->slots) - 1);
}

static int free_slot(const um_near_lines *t, const uint8_t *line)
{
    uint32_t open = slots_with(t, line, 0);

    return open ? __builtin_ctz(open) : -1;
}

static uint64_t bit_of(const um_near_lines *t, unsigned slot)
{
    return (uint64_t)UM_NEAR_TAG_BITS * t->slots + (uint64_t)slot * t->bits;
}

static uint64_t number_in(const um_near_lines *t, const uint8_t *line,
                          unsigned slot)
{
    return um_get_field(line, bit_of(t, slot), t->bits,
                        (UINT64_C(1) << t->bits) - 1);
}

static void set_number(const um_near_lines *t, uint8_t *line, unsigned slot,
                       uint64_t number)
{
    um_set_field(line, bit_of(t, slot), t->bits, (UINT64_C(1) << t->bits) - 1,
                 number);
}

/* Returns true if all slots are used. They are filled in order, so the last one
 * decides. */
static bool is_full(const um_near_lines *t, const uint8_t *line)
{
    return line[t->slots - 1] != 0;
}

static void collect_slots(const um_near_lines *t, uint8_t *line, uint32_t slots,
                          um_near_matches *out)
{
    for (; slots && out->n < UM_NEAR_MAX_MATCHES; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        uint64_t number = number_in(t, line, slot);
        out->at[out->n] = (um_near_match){line, number, (uint8_t)slot};
        out->n += number < t->mails;
    }
}

/* A line that contains the tag of a key. */
typedef struct hit_line {
    uint8_t *line;
    uint32_t slots;
    uint8_t key;
} hit_line;

/*
 * Looks up keys. Each round reads the next line of all keys that still have
 * one, while the following lines are prefetched. Whether a line has the tag, or
 * is full, is unpredictable, so neither is a branch.
 */
void um_near_look_up(const um_near_lines *t, um_probe *p, unsigned n,
                     um_near_matches *out)
{
    uint8_t open[UM_NEAR_KEYS] = {0};
    hit_line h[UM_NEAR_KEYS];

    for (unsigned i = 0; i < n; i++) {
        out[i].n = 0;
        open[i] = (uint8_t)i;
    }
    for (int round = 0; n && round < REACH; round++) {
        unsigned more = 0, found = 0;
        for (unsigned i = 0; i < n; i++) {
            uint8_t key = open[i], *line = um_near_line(t, &p[key]);
            next_line(&p[key]);
            __builtin_prefetch(um_near_line(t, &p[key]));
            h[found] = (hit_line){line, slots_with(t, line, p[key].tags), key};
            found += h[found].slots != 0;
            open[more] = key;
            more += is_full(t, line);
        }
        for (unsigned i = 0; i < found; i++)
            collect_slots(t, h[i].line, h[i].slots, &out[h[i].key]);
        n = more;
    }
}

/* Adds an entry. The tag is written last: it makes the entry valid. */
void um_near_add_entry(const um_near_lines *t, um_probe p, uint64_t number)
{
    for (int i = 0; i < REACH; i++, next_line(&p)) {
        uint8_t *line = um_near_line(t, &p);
        int slot = free_slot(t, line);
        if (slot < 0)
            continue;
        set_number(t, line, (unsigned)slot, number);
        line[slot] = (uint8_t)p.tags;
        return;
    }
}

void um_near_move_entry(const um_near_lines *t, const um_near_match *v,
                        uint64_t number)
{
    set_number(t, v->line, v->slot, number);
}

/* --- the fields of a record ----------------------------------------------- */

static uint8_t *name_at(const um_near *t, uint64_t i)
{
    return t->names + i * UM_NEAR_NAME_SPACE;
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

/* Returns the bits of a digest that include those of its tag. */
static uint32_t print_of(const umbel_digest *d)
{
    return (uint32_t)(d->hi >> 40);
}

static uint32_t print_at(const uint8_t *name)
{
    return (uint32_t)name[UM_NEAR_PRINT] |
           (uint32_t)name[UM_NEAR_PRINT + 1] << 8 |
           (uint32_t)name[UM_NEAR_PRINT + 2] << 16;
}

bool um_near_read(const um_near *t, uint64_t i, um_near_record *out)
{
    const uint8_t *numbers = t->numbers + i * UM_NEAR_NUMBER_SPACE;
    uint32_t value = get32(numbers + 4);

    *out = (um_near_record){.name = name_at(t, i),
                            .flag = name_at(t, i)[UM_NEAR_FLAG],
                            .gone = value == 0,
                            .value = (int32_t)(value ^ 0x80000000),
                            .stamp = get32(numbers)};
    return out->stamp != 0;
}

static void set_numbers(const um_near *t, uint64_t i, uint32_t stamp,
                        uint32_t value)
{
    set32(t->numbers + i * UM_NEAR_NUMBER_SPACE, stamp);
    set32(t->numbers + i * UM_NEAR_NUMBER_SPACE + 4, value);
}

void um_near_raise(const um_near *t, uint64_t i, uint32_t stamp, int32_t value)
{
    um_near_record r;

    um_near_read(t, i, &r);
    set_numbers(t, i, stamp > r.stamp ? stamp : r.stamp,
                (uint32_t)value ^ 0x80000000);
}

void um_near_write_record(const um_near *t, const um_near_write *w,
                          int32_t value, uint64_t i)
{
    uint8_t *at = name_at(t, i);
    uint32_t print = print_of(&w->digest);

    memcpy(at, w->name, UM_NEAR_NAME);
    for (int k = 0; k < 3; k++)
        at[UM_NEAR_PRINT + k] = (uint8_t)(print >> 8 * k);
    at[UM_NEAR_FLAG] = w->flag;
    if (w->has_shingles) {
        um_near_marks m = um_near_marks_of(w->shingle);
        memcpy(t->marks + i * UM_NEAR_MARK_SPACE, m.at, sizeof m.at);
    }
    set_numbers(t, i, w->stamp, w->gone ? 0 : (uint32_t)value ^ 0x80000000);
}

/* --- marks ---------------------------------------------------------------- */

/* Computes the marks: the low bits of a shingle. Its high bits select the
 * line. */
um_near_marks um_near_marks_of(const uint64_t shingle[UM_NEAR_SHINGLES])
{
    um_near_marks m;

    for (size_t i = 0; i < UM_NEAR_SHINGLES; i++) {
        m.at[2 * i] = (uint8_t)shingle[i];
        m.at[2 * i + 1] = (uint8_t)(shingle[i] >> 8);
    }
    return m;
}

uint32_t um_near_agree(const um_near *t, uint64_t i, const um_near_marks *m)
{
    uint16_t a[UM_NEAR_SHINGLES], b[UM_NEAR_SHINGLES];
    uint32_t bits = 0;

    memcpy(a, t->marks + i * UM_NEAR_MARK_SPACE, sizeof a);
    memcpy(b, m->at, sizeof b);
    for (unsigned k = 0; k < UM_NEAR_SHINGLES; k++)
        bits |= (uint32_t)(a[k] == b[k]) << k;
    return bits;
}

bool um_near_agrees_at(const um_near *t, uint64_t i, const um_near_marks *m,
                       unsigned position)
{
    return memcmp(t->marks + i * UM_NEAR_MARK_SPACE + 2 * (size_t)position,
                  m->at + 2 * (size_t)position, 2) == 0;
}

/* --- names ---------------------------------------------------------------- */

bool um_near_is_of(const um_near *t, uint64_t i, const umbel_digest *d,
                   const uint8_t *name)
{
    const uint8_t *at = name_at(t, i);
    um_near_record r;

    return print_at(at) == print_of(d) &&
           (!name || memcmp(at, name, UM_NEAR_NAME) == 0) &&
           um_near_read(t, i, &r);
}

bool um_near_may_be_name(const um_near *t, uint64_t i, uint8_t tag)
{
    uint64_t hi = (uint64_t)print_at(name_at(t, i)) << 40;
    uint64_t of_name = um_probe_of(0, hi).tags & 0xff;

    /* Bits below the print may have increased the tag by one. */
    return tag == of_name || tag == of_name + 1;
}

bool um_near_find_name(const um_near *t, const umbel_digest *d,
                       const uint8_t *name, um_near_match *out)
{
    um_probe p = um_probe_of(d->lo, d->hi);
    um_near_matches v;
    bool found = false;

    um_near_look_up(&t->lines, &p, 1, &v);
    for (unsigned i = 0; i < v.n; i++) {
        if (!um_near_is_of(t, v.at[i].number, d, name) ||
            (found && v.at[i].number < out->number))
            continue;
        *out = v.at[i];
        found = true;
    }
    return found;
}

/* --- the error rate ---------------------------------------------------------
 *
 * A digest matches an entry by its tag, and then the entry's record by its
 * print, the 24 bits from which the tag is computed. So an entry matches one
 * digest in 2^24 of those that probe its line, provided that its tag is that of
 * its record's name. Other entries match none. A digest probes random lines up
 * to the first that is not full.
 */

enum { PRINT_BITS = 24 };

static bool leads_to_name(const um_near *t, const uint8_t *line, unsigned slot)
{
    uint64_t number = number_in(&t->lines, line, slot);
    um_near_record r;

    return line[slot] && number < t->mails &&
           um_near_may_be_name(t, number, line[slot]) &&
           um_near_read(t, number, &r) && !r.gone;
}

double um_near_chance(const um_near *t)
{
    const um_near_lines *l = &t->lines;
    uint64_t names = 0, full = 0;

    for (uint64_t i = 0; i < l->n; i++) {
        const uint8_t *line = l->at + i * UM_LINE;
        full += is_full(l, line);
        for (unsigned slot = 0; slot < l->slots; slot++)
            names += leads_to_name(t, line, slot);
    }
    double on = (double)full / (double)l->n;
    double probed = on < 1 ? (1 - pow(on, REACH)) / (1 - on) : REACH;
    return ldexp(probed * (double)names / (double)l->n, -PRINT_BITS);
}

/* Assumes that all lines are full. The entry of a shingle has one of the two
 * possible tags of its record's name with probability 2/255. */
double um_near_max_chance(uint64_t lines, uint64_t records)
{
    double names = (double)records * (1 + UM_NEAR_INDEXED * 2.0 / 255);

    return ldexp(REACH * names / (double)lines, -PRINT_BITS);
}
