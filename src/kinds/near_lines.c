/*
 * near_lines.c - the index of kind near.
 */
#include "kinds/near_lines.h"

enum {
    LINE_BITS = 8 * UM_LINE,
    MOST_SLOTS = 8 * UM_NEAR_WORDS,
    REACH = 32 /* lines that a key probes at most */
};

#define ONES UINT64_C(0x0101010101010101)
#define TOPS UINT64_C(0x8080808080808080)

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

    return slots < MOST_SLOTS ? slots : MOST_SLOTS;
}

um_near_lines um_near_lines_of(void *memory, uint64_t lines, uint64_t mails)
{
    um_near_lines t = {.at = memory,
                       .n = lines,
                       .mails = mails,
                       .slots = um_near_slots(mails),
                       .bits = um_near_bits(mails)};

    for (unsigned i = 0; i < t.slots; i++)
        t.tops[i / 8] |= UINT64_C(0x80) << i % 8 * 8;
    return t;
}

static void next_line(um_probe *p)
{
    p->x = um_classic_step(p->x, p->step);
}

/* The top bits of bytes that are 0, and maybe of a byte of 1 above such a
 * one. */
static uint64_t zero_bytes(uint64_t word)
{
    return (word - ONES) & ~word & TOPS;
}

static int free_slot(const um_near_lines *t, const uint8_t *line)
{
    for (unsigned word = 0; word < UM_NEAR_WORDS; word++) {
        uint64_t open =
            zero_bytes(um_load64(line + 8 * (size_t)word)) & t->tops[word];
        if (open)
            return (int)(8 * word) + __builtin_ctzll(open) / 8;
    }
    return -1;
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

/* Collects the voices of a line. *full: a key goes on to its next line. */
static unsigned hear_line(const um_near_lines *t, uint8_t *line, uint64_t tags,
                          um_voice out[UM_NEAR_VOICES], unsigned n, bool *full)
{
    uint64_t open = 0;

    for (unsigned word = 0; word < UM_NEAR_WORDS; word++) {
        uint64_t x = um_load64(line + 8 * (size_t)word);
        uint64_t like = zero_bytes(x ^ tags) & t->tops[word];
        open |= zero_bytes(x) & t->tops[word];
        for (; like && n < UM_NEAR_VOICES; like &= like - 1) {
            unsigned slot = 8 * word + (unsigned)__builtin_ctzll(like) / 8;
            uint64_t number = number_in(t, line, slot);
            if (line[slot] == (uint8_t)tags && number < t->mails)
                out[n++] = (um_voice){line, number, (uint8_t)slot};
        }
    }
    *full = !open;
    return n;
}

unsigned um_near_hear(const um_near_lines *t, um_probe p,
                      um_voice out[UM_NEAR_VOICES])
{
    unsigned n = 0;
    bool full = true;

    for (int i = 0; full && i < REACH && n < UM_NEAR_VOICES; i++) {
        uint8_t *line = um_near_line(t, &p);
        next_line(&p);
        __builtin_prefetch(um_near_line(t, &p));
        n = hear_line(t, line, p.tags, out, n, &full);
    }
    return n;
}

/* The tag comes last: with it the entry is there. */
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

void um_near_move_entry(const um_near_lines *t, const um_voice *v,
                        uint64_t number)
{
    set_number(t, v->line, v->slot, number);
}
