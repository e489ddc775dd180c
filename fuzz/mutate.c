/*
 * mutate.c - a mutator that corrects checksums.
 *
 * The head's checksum catches every flipped bit in a head, and a random change
 * never produces a correct one: without help the fuzzer would see little but
 * E_CHECKSUM. So after a change the rest of the file is usually, not always,
 * made consistent with it.
 */
#include "fuzz.h"

#include "base/error.h"
#include "base/rng.h"
#include "filter/head.h"
#include "filter/sizing.h"

#include <stdlib.h>

typedef size_t change(uint8_t *data, size_t len, size_t cap, um_rng *rng);

static size_t change_anything(uint8_t *data, size_t len, size_t cap,
                              um_rng *rng)
{
    (void)rng;
    return LLVMFuzzerMutate(data, len, cap);
}

/* Returns the offset of the payload; 0 if there is none. */
static size_t payload_at(const uint8_t *data, size_t len)
{
    size_t head = um_fuzz_head_len(data, len);

    return head < UM_HEAD_NAMES_AT + UM_HEAD_CHECKSUM_LEN ? 0 : head;
}

/* Changes bytes of the head between its length and its checksum. */
static size_t change_head(uint8_t *data, size_t len, size_t cap, um_rng *rng)
{
    size_t head = payload_at(data, len), at = UM_HEAD_NAMES_AT;

    (void)rng;
    if (!head)
        return LLVMFuzzerMutate(data, len, cap);
    size_t n = head - at - UM_HEAD_CHECKSUM_LEN;
    if (n)
        LLVMFuzzerMutate(data + at, n, n);
    return len;
}

static size_t change_payload(uint8_t *data, size_t len, size_t cap, um_rng *rng)
{
    size_t head = payload_at(data, len);

    (void)rng;
    return head + LLVMFuzzerMutate(data + head, len - head, cap - head);
}

/*
 * Returns a random number of random bit length: sizes and counts of every
 * magnitude.
 */
static uint64_t magnitude(um_rng *rng)
{
    return um_random(rng) >> um_random_below(rng, 64);
}

static void change_number(um_shape *s, um_rng *rng)
{
    uint64_t *const numbers[] = {
        &s->seed,       &s->secret_id,
        &s->cells,      &s->capacity,
        &s->added,      &s->false_negatives,
        &s->attached,   &s->key_form,
        &s->setting[0], &s->setting[1 + um_random_below(rng, 9)],
        &s->delta.from, &s->delta.to};
    uint64_t which = um_random_below(rng, UM_COUNT(numbers) + 2);
    bool *const flags[] = {&s->estimated, &s->intersected, &s->joined,
                           &s->difference};

    if (which < UM_COUNT(numbers))
        *numbers[which] = magnitude(rng);
    else if (which == UM_COUNT(numbers))
        s->fpr = (double)magnitude(rng) / 1.8446744073709552e19;
    else
        *flags[um_random_below(rng, 4)] ^= true;
}

/* Sets spare fields, as a later version might. */
static void change_spare(um_shape *s, um_rng *rng)
{
    static const uint8_t likely[] = {0, 1, 2, 4, 8, 15, 19, 21, 32, 128};

    s->spare_len = (uint8_t)um_random_below(rng, 12);
    for (size_t i = 0; i < s->spare_len; i++)
        s->spare[i] = likely[um_random_below(rng, sizeof likely)];
}

/*
 * Chooses a random kind, addressing and hash, in any combination; a row past
 * the end of a table changes nothing.
 */
static void change_names(um_shape *s, um_rng *rng)
{
    enum { ROWS = 16 }; /* more than any of the tables has */
    const um_kind *kind = um_kind_row(um_random_below(rng, ROWS));
    const um_addressing *addressing =
        um_addressing_row(um_random_below(rng, ROWS));
    const um_hash *hash = um_hash_row(um_random_below(rng, ROWS));
    uint64_t which = um_random(rng);

    s->kind = which & 1 && kind ? kind : s->kind;
    s->addressing = which & 2 && addressing ? addressing : s->addressing;
    s->hash = which & 4 && hash ? hash : s->hash;
}

/*
 * Sets a random number of cells that the input has space for, and possibly the
 * number of hashes.
 */
static void change_size(um_shape *s, size_t room, um_rng *rng)
{
    static const uint64_t granule[] = {1, 2, 6, 8, 256, 512};
    uint64_t unit = granule[um_random_below(rng, UM_COUNT(granule))];
    uint64_t cells = 1 + um_random_below(rng, room * 8);

    s->cells = (cells + unit - 1) / unit * unit;
    if (um_random(rng) & 1)
        s->hashes = (uint32_t)(1 + um_random_below(rng, 20));
}

/*
 * Clears the bits after the last cell of each section. Returns the new length.
 */
static size_t fill_up(const um_shape *s, uint8_t *data, size_t head, size_t len,
                      size_t cap)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(s, section), at = head, payload;

    if (s->coded || !um_payload_len(s, &payload) || payload > cap - head)
        return len;
    if (len < head + payload)
        memset(data + len, 0, head + payload - len);
    for (size_t i = 0; i < n; i++) {
        uint64_t used = um_section_bytes(&section[i]);
        uint64_t over = um_section_bits(&section[i]) % 8;
        uint64_t room = um_section_space(&section[i]);
        if (over)
            data[at + used - 1] &= (uint8_t)((1u << over) - 1);
        memset(data + at + used, 0, room - used);
        at += room;
    }
    return at;
}

/* Rewrites the file with a changed shape, as the library would write it. */
static size_t change_shape(uint8_t *data, size_t len, size_t cap, um_rng *rng)
{
    uint8_t bytes[UM_HEAD_MAX];
    um_head head;

    um_fuzz_repair(data, len, false);
    if (um_head_decode(data, len, &head, NULL) != UMBEL_OK || cap <= head.len)
        return change_head(data, len, cap, rng);
    um_shape s = head.shape;
    switch (um_random_below(rng, 4)) {
    case 0:
        change_number(&s, rng);
        break;
    case 1:
        change_names(&s, rng);
        break;
    case 2:
        change_spare(&s, rng);
        break;
    default:
        change_size(&s, cap - head.len, rng);
    }
    /* An invalid shape has no sections: only the head changes. */
    bool sound = um_check_shape(&s, NULL) == UMBEL_OK;
    size_t n = um_head_encode(&s, head.payload_checksum,
                              s.coded && sound ? head.stored : NULL, bytes);
    size_t rest = len - head.len;
    if (n >= cap)
        return len;
    if (rest > cap - n)
        rest = cap - n;
    memmove(data + n, data + head.len, rest);
    memcpy(data, bytes, n);
    bool sane = sound && s.cells < 8 * cap && s.attached < cap;
    return sane && um_random(rng) & 7 ? fill_up(&s, data, n, n + rest, cap)
                                      : n + rest;
}

static change *const changes[] = {
    change_anything, change_head,  change_head,  change_payload,
    change_payload,  change_shape, change_shape, change_shape,
};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t cap,
                               unsigned seed)
{
    um_rng rng = {seed};
    uint64_t dice = um_random(&rng);

    len =
        changes[um_random_below(&rng, UM_COUNT(changes))](data, len, cap, &rng);
    if (dice >> 3 & 15)
        um_fuzz_repair(data, len, dice >> 7 & 7);
    return len;
}
