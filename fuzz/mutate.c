/*
 * mutate.c - changes that stay behind the checksums.
 *
 * A flipped bit in a head is caught by the head's checksum, and a random one
 * never hits it: without help the fuzzer would see little but E_CHECKSUM. So
 * after a change of any kind the rest of the file is mostly, not always, made
 * to agree with it.
 */
#include "fuzz.h"

#include "base/error.h"
#include "base/rng.h"

#include <stdlib.h>

/* The head, as docs/FORMAT.md has it. */
typedef struct place {
    size_t at, len;
} place;

static const place fields[] = {
    {8, 4},    /* version */
    {12, 4},   /* head length */
    {64, 8},   /* seed */
    {72, 8},   /* secret id */
    {80, 8},   /* cells */
    {88, 4},   /* hashes */
    {92, 4},   /* flags */
    {96, 8},   /* capacity */
    {104, 8},  /* fpr */
    {112, 8},  /* added */
    {120, 8},  /* denied */
    {128, 4},  /* settings */
    {132, 4},  /* sections */
    {136, 8},  /* payload checksum */
    {144, 24}, /* the first section */
};

enum {
    NAME_LEN = 16,
    ADDRESSING_AT = 32,
    HASH_AT = 48,
    CELLS_AT = 80,
    HASHES_AT = 88,
    SECTION_AT = 144,
    HEAD_LEN = 192 /* of kinds without settings and with one section */
};

typedef size_t change(uint8_t *data, size_t len, size_t cap, um_rng *rng);

static size_t change_anything(uint8_t *data, size_t len, size_t cap,
                              um_rng *rng)
{
    (void)rng;
    return LLVMFuzzerMutate(data, len, cap);
}

static size_t change_field(uint8_t *data, size_t len, size_t cap, um_rng *rng)
{
    const place *p = &fields[um_random_below(rng, UM_COUNT(fields))];

    (void)cap;
    if (len >= p->at + p->len)
        LLVMFuzzerMutate(data + p->at, p->len, p->len);
    return len;
}

/* A number with few bits: sizes and counts of every magnitude. */
static size_t change_magnitude(uint8_t *data, size_t len, size_t cap,
                               um_rng *rng)
{
    const place *p = &fields[2 + um_random_below(rng, 9)];
    uint64_t x = um_random(rng) >> um_random_below(rng, 64);
    uint8_t bytes[8];

    (void)cap;
    um_store64(bytes, x);
    if (len >= p->at + p->len)
        memcpy(data + p->at, bytes, p->len);
    return len;
}

static size_t change_payload(uint8_t *data, size_t len, size_t cap, um_rng *rng)
{
    (void)rng;
    if (len <= HEAD_LEN)
        return LLVMFuzzerMutate(data, len, cap);
    return HEAD_LEN +
           LLVMFuzzerMutate(data + HEAD_LEN, len - HEAD_LEN, cap - HEAD_LEN);
}

static void put_name(uint8_t *at, const char *name)
{
    memset(at, 0, NAME_LEN);
    memcpy(at, name, strlen(name));
}

/* Names the library knows, in any pairing. */
static size_t change_names(uint8_t *data, size_t len, size_t cap, um_rng *rng)
{
    const char *name;
    uint64_t which = um_random(rng);

    (void)cap;
    if (len < HEAD_LEN)
        return len;
    if (which & 1 && umbel_addressing_at(which >> 1 & 7, &name, NULL))
        put_name(data + ADDRESSING_AT, name);
    if (which & 16 && umbel_hash_at(which >> 5 & 7, &name, NULL, NULL))
        put_name(data + HASH_AT, name);
    return len;
}

/* Another size that the input has room for, with a number of hashes. */
static size_t change_shape(uint8_t *data, size_t len, size_t cap, um_rng *rng)
{
    static const uint64_t granule[] = {1, 2, 6, 8, 256, 512};

    if (len < HEAD_LEN || cap <= HEAD_LEN)
        return len;
    uint64_t unit = granule[um_random_below(rng, UM_COUNT(granule))];
    uint64_t cells = 1 + um_random_below(rng, (cap - HEAD_LEN) * 8);
    um_store64(data + CELLS_AT, (cells + unit - 1) / unit * unit);
    if (um_random(rng) & 1)
        data[HASHES_AT] = (uint8_t)(1 + um_random_below(rng, 20));
    return len;
}

static change *const changes[] = {
    change_anything, change_anything, change_field, change_magnitude,
    change_payload,  change_payload,  change_names, change_shape,
};

/* Section and length follow the number of cells; nothing behind the last. */
static size_t agree(uint8_t *data, size_t len, size_t cap)
{
    if (len < HEAD_LEN)
        return len;
    uint64_t cells = um_load64(data + CELLS_AT);
    uint64_t bytes = cells / 8 + (cells % 8 != 0);
    um_store64(data + SECTION_AT, cells);
    um_store64(data + SECTION_AT + 16, bytes);
    uint64_t full = (bytes + 63) / 64 * 64;
    if (bytes == 0 || full > cap - HEAD_LEN)
        return len;
    if (len < HEAD_LEN + full)
        memset(data + len, 0, HEAD_LEN + full - len);
    memset(data + HEAD_LEN + bytes, 0, full - bytes);
    if (cells % 8)
        data[HEAD_LEN + bytes - 1] &= (uint8_t)((1u << cells % 8) - 1);
    return HEAD_LEN + full;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t cap,
                               unsigned seed)
{
    um_rng rng = {seed};
    uint64_t dice = um_random(&rng);

    len =
        changes[um_random_below(&rng, UM_COUNT(changes))](data, len, cap, &rng);
    if (dice & 7)
        len = agree(data, len, cap);
    if (dice >> 3 & 15)
        um_fuzz_repair(data, len, dice >> 7 & 7);
    return len;
}
