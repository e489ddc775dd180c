/*
 * near_lines.c - the index of kind near.
 */
#include "kinds/near/lines.h"
#include "kinds/near/tags.h"

enum {
    LINE_BITS = 8 * UM_LINE,
    MAX_SLOTS = 8 * UM_NEAR_WORDS,
    REACH = 32 /* lines that a key probes at most */
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

/* A bit for each slot that has the tag. */
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

/* Slots are taken in order, so the last tells whether all are. */
static bool is_full(const um_near_lines *t, const uint8_t *line)
{
    return line[t->slots - 1] != 0;
}

static void hear_slots(const um_near_lines *t, uint8_t *line, uint32_t slots,
                       um_voices *out)
{
    for (; slots && out->n < UM_NEAR_VOICES; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        uint64_t number = number_in(t, line, slot);
        out->at[out->n] = (um_voice){line, number, (uint8_t)slot};
        out->n += number < t->mails;
    }
}

/* Lines that have the tag of a key. */
typedef struct heard {
    uint8_t *line;
    uint32_t slots;
    uint8_t key;
} heard;

/*
 * Each turn takes the next line of all keys that have one: the lines come while
 * those of other keys are read. Whether a line has the tag, and whether it is
 * full, is as good as random, so neither is a branch.
 */
void um_near_hear(const um_near_lines *t, um_probe *p, unsigned n,
                  um_voices *out)
{
    uint8_t open[UM_NEAR_KEYS] = {0};
    heard h[UM_NEAR_KEYS];

    for (unsigned i = 0; i < n; i++) {
        out[i].n = 0;
        open[i] = (uint8_t)i;
    }
    for (int turn = 0; n && turn < REACH; turn++) {
        unsigned more = 0, found = 0;
        for (unsigned i = 0; i < n; i++) {
            uint8_t key = open[i], *line = um_near_line(t, &p[key]);
            next_line(&p[key]);
            __builtin_prefetch(um_near_line(t, &p[key]));
            h[found] = (heard){line, slots_with(t, line, p[key].tags), key};
            found += h[found].slots != 0;
            open[more] = key;
            more += is_full(t, line);
        }
        for (unsigned i = 0; i < found; i++)
            hear_slots(t, h[i].line, h[i].slots, &out[h[i].key]);
        n = more;
    }
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
