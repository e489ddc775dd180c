/*
 * patch.c - differences from anyone: the filter that they name, or a status.
 *
 * The input is the difference; the old filter is always the same. What a
 * changed difference could not guess is put right first, its length, its
 * checksum and the name of the old filter, so that the rest is reached.
 */
#include "fuzz.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { OLD_AT = 16, TOTAL_AT = 88, LEAST = 104, CELLS = 4096, KEYS = 120 };

/* The same that seeds.c has: bits, or counters. */
static umbel_filter *make_old(bool counting)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    uint64_t keys[KEYS];

    p.addressing = "classic";
    p.cells = CELLS;
    p.hashes = 4;
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = um_le64(i);
    UM_WANT(umbel_create(counting ? "counting" : "bloom", &p, &f, NULL) ==
            UMBEL_OK);
    UM_WANT(umbel_add_fixed(f, keys, sizeof *keys, KEYS, NULL, NULL) ==
            UMBEL_OK);
    return f;
}

/* Made once, and never changed. */
static const umbel_filter *old_filter(bool counting)
{
    static umbel_filter *old[2];

    if (!old[counting])
        old[counting] = make_old(counting);
    return old[counting];
}

static void put_right(uint8_t *bytes, size_t len, const umbel_filter *old)
{
    if (len < LEAST)
        return;
    umbel_content_name(old, bytes + OLD_AT);
    um_store64(bytes + TOTAL_AT, len);
    um_store64(bytes + len - 8, um_checksum(bytes, len - 8));
}

/* What was made is a filter, and can be made again. */
static void use(const umbel_filter *old, const umbel_filter *now)
{
    umbel_diff_result bill;
    umbel_filter *again = NULL;
    size_t room = umbel_diff_room(now);
    uint8_t *bytes = malloc(room);

    um_fuzz_use(now, UM_FUZZ_LITTLE);
    if (!bytes)
        abort();
    UM_WANT(umbel_diff(old, now, bytes, room, &bill, NULL) == UMBEL_OK);
    UM_WANT(umbel_patch(old, bytes, (size_t)bill.bytes, &again, NULL) ==
            UMBEL_OK);
    UM_WANT(umbel_payload_checksum(again) == umbel_payload_checksum(now));
    umbel_close(again);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const umbel_filter *old = old_filter(len && data[0] == 0x88);
    umbel_filter *now = NULL;
    uint8_t *bytes = malloc(len + !len);
    umbel_error err;

    if (!bytes)
        abort();
    if (len)
        memcpy(bytes, data, len);
    if (len)
        bytes[0] |= 1; /* the magic; 0x88 stands for counters */
    put_right(bytes, len, old);
    umbel_status status = umbel_patch(old, bytes, len, &now, &err);
    if (status == UMBEL_OK)
        use(old, now);
    else
        um_fuzz_check_error(status, &err);
    UM_WANT((status == UMBEL_OK) == (now != NULL));
    umbel_close(now);
    free(bytes);
    return 0;
}
