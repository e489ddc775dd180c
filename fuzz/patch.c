/*
 * patch.c - arbitrary differences: the filter that they name, or a status.
 *
 * The input is the difference; the first byte of its magic selects one of four
 * old filters. It is applied as it is. Then the parts that a mutation cannot
 * guess are corrected (its length, its checksums and the name of the old
 * filter), so that the code after these checks is reached. A name that begins
 * with 0 is not corrected.
 */
#include "fuzz.h"

#include "base/hash.h"

#include <umbel/diff.h>

#include <stdlib.h>
#include <string.h>

enum {
    MAGIC = 0x89,
    HEAD_LEN_AT = 12,
    OLD_AT = 16,
    TOTAL_AT = 88,
    HEAD_AT = 96,
    LEAST = 104
};

/* Returns an old filter, created at the first call and never changed. */
static const umbel_filter *old_filter(unsigned which)
{
    static umbel_filter *old[UM_FUZZ_OLD];

    if (!old[which])
        old[which] = um_fuzz_old(which, UM_FUZZ_OLD_KEYS);
    return old[which];
}

static void write_right(uint8_t *bytes, size_t len, const umbel_filter *old)
{
    if (len < LEAST)
        return;
    size_t head = bytes[HEAD_LEN_AT] | (size_t)bytes[HEAD_LEN_AT + 1] << 8;
    if (head <= len - LEAST)
        um_fuzz_repair(bytes + HEAD_AT, head, false);
    if (bytes[OLD_AT])
        umbel_content_name(old, bytes + OLD_AT);
    um_store64(bytes + TOTAL_AT, len);
    um_store64(bytes + len - 8, um_checksum(bytes, len - 8));
}

/*
 * Checks that the result is a filter, and that a difference to it can be made
 * again.
 */
static void use(const umbel_filter *old, const umbel_filter *now)
{
    umbel_diff_result bill;
    umbel_filter *again = NULL;
    size_t room = umbel_diff_bound(now);
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

static void try_patch(const umbel_filter *old, const uint8_t *bytes, size_t len)
{
    umbel_filter *now = NULL;
    umbel_error err;
    umbel_status status = umbel_patch(old, bytes, len, &now, &err);

    UM_WANT((status == UMBEL_OK) == (now != NULL));
    if (status != UMBEL_OK)
        um_fuzz_check_error(status, &err);
    else if (um_fuzz_one_in(4, bytes, len))
        use(old, now);
    umbel_close(now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    unsigned which = len ? (data[0] ^ MAGIC) % UM_FUZZ_OLD : 0;
    const umbel_filter *old = old_filter(which);
    uint8_t *bytes = malloc(len + 1);

    if (!bytes)
        abort();
    if (len)
        memcpy(bytes, data, len);
    bytes[0] = MAGIC;
    try_patch(old, bytes, len);
    write_right(bytes, len, old);
    try_patch(old, bytes, len);
    free(bytes);
    return 0;
}
