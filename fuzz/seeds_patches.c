/* seeds_patches.c - seeds of patch.c. */
#include "seeds.h"

#include "base/bytes.h"
#include "base/error.h"
#include "filter/head.h"

#include <umbel/diff.h>

#include <stdio.h>
#include <stdlib.h>

/* Writes a difference from an old filter of patch.c to one with other keys. */
static void write_patch(unsigned which, size_t nkeys, bool as_coded)
{
    static const char *const old_names[] = {"bits", "counts", "static", "data"};
    umbel_filter *old = um_fuzz_old(which, UM_FUZZ_OLD_KEYS);
    umbel_filter *now = um_fuzz_old(which, nkeys);
    umbel_diff_result bill;
    size_t room = umbel_diff_bound(now);
    uint8_t *bytes = malloc(room);
    umbel_error err;
    char name[64];

    umbel_set_coded(now, as_coded);
    if (!bytes)
        exit(EXIT_FAILURE);
    if (umbel_diff(old, now, bytes, room, &bill, &err) == UMBEL_OK) {
        bytes[0] ^= (uint8_t)which;
        snprintf(name, sizeof name, "%s-%zu%s", old_names[which], nkeys,
                 as_coded ? "-coded" : "");
        um_seed_write("patch", name, bytes, (size_t)bill.bytes);
    } else if (which != 2) { /* static filters of other sizes have none */
        um_seed_fail("difference", &err);
    }
    free(bytes);
    umbel_close(old);
    umbel_close(now);
}

/* Writes differences whose inner head is changed, or which end after it. */
static void write_patch_claims(void)
{
    enum { HEAD_LEN_AT = 12, HEAD_AT = 96, SUM = 8 };
    umbel_filter *old = um_fuzz_old(3, UM_FUZZ_OLD_KEYS);
    uint8_t bytes[UM_SEED_ROOM], inner[UM_HEAD_MAX];
    umbel_diff_result bill;
    um_head head;

    uint8_t *room = malloc(umbel_diff_bound(old));
    if (!room || umbel_diff(old, old, room, umbel_diff_bound(old), &bill, NULL))
        exit(EXIT_FAILURE);
    size_t n = room[HEAD_LEN_AT] | (size_t)room[HEAD_LEN_AT + 1] << 8;
    if (um_head_decode(room + HEAD_AT, n, &head, NULL) ||
        bill.bytes > UM_SEED_ROOM)
        exit(EXIT_FAILURE);
    room[0] ^= 3;
    memcpy(bytes, room, HEAD_AT + n);
    um_seed_write("patch", "data-cut", bytes, HEAD_AT + n + SUM);
    for (int as_coded = 0; as_coded < 2; as_coded++) {
        um_shape s = head.shape;
        uint64_t code[UM_MAX_SECTIONS] = {1, 1};
        s.attached = as_coded ? s.attached : UINT64_C(1) << 40;
        size_t len = um_head_encode(&s, head.payload_checksum,
                                    as_coded ? code : NULL, inner);
        memcpy(bytes, room, HEAD_AT);
        memcpy(bytes + HEAD_AT, inner, len);
        bytes[HEAD_LEN_AT] = (uint8_t)len;
        memset(bytes + HEAD_AT + len, 0, SUM);
        um_seed_write("patch", as_coded ? "head-coded" : "data-2e40", bytes,
                      HEAD_AT + len + SUM);
    }
    free(room);
    umbel_close(old);
}

void um_seed_patches(void)
{
    static const size_t keys[] = {2, 30, 59, 60, 61, 90, 500};

    for (unsigned which = 0; which < UM_FUZZ_OLD; which++)
        for (size_t i = 0; i < UM_COUNT(keys); i++)
            write_patch(which, keys[i], i % 2);
    um_seed_write("patch", "empty", "", 0);
    um_seed_write("patch", "magic-only", "\x89UMD\r\n\x1A\n", 8);
    write_patch_claims();
}
