/*
 * sync.c - arbitrary messages from peers.
 *
 * The input is a series of messages without their frames: type, length (2
 * bytes) and body. Every signature is valid, so that the code after the check
 * is reached. Memory must stay within its limit, and the machine must still
 * answer and send.
 */
#include "fuzz.h"

#include "base/hash.h"
#include "sync/internal.h"

#include <stdlib.h>
#include <string.h>

enum { MEMORY = 1 << 16, MOST = 64 };

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names */
void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature);
bool __wrap_um_sync_is_signed(const uint8_t *origin, const void *text,
                              size_t len, const uint8_t *signature);

void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature)
{
    (void)key, (void)text, (void)len;
    memset(signature, 0, UM_SIGNATURE_LEN);
}

bool __wrap_um_sync_is_signed(const uint8_t *origin, const void *text,
                              size_t len, const uint8_t *signature)
{
    (void)origin, (void)text, (void)len, (void)signature;
    return true;
}
/* NOLINTEND(bugprone-reserved-identifier) */

static umbel_sync *open_machine(uint32_t slice_pages)
{
    umbel_sync_list list = um_fuzz_sync_list();
    umbel_sync_params p = UMBEL_SYNC_INIT;
    umbel_sync *s;

    p.lists = &list;
    p.nlists = 1;
    p.incarnation = 1;
    p.session = UM_FUZZ_SESSION;
    p.drop_quorum = 1;
    p.limits = (umbel_sync_limits){.memory = MEMORY,
                                   .origins = 4,
                                   .message_bytes = 8192,
                                   .log_bytes = 4096,
                                   .log_entries = 8,
                                   .history_bytes = 512,
                                   .slice_pages = slice_pages};
    if (umbel_sync_open(&p, &s, NULL))
        abort();
    return s;
}

/* Calls umbel_sync_work up to twice, as the low bits of byte say. */
static void work(umbel_sync *s, uint8_t byte)
{
    for (int i = 0; i < 2 && byte >> i & 1; i++)
        umbel_sync_work(s);
}

static void live_through(const uint8_t *data, size_t len, uint32_t slice_pages)
{
    um_buffer m = {.len = 0};
    umbel_digest d = {1, 2};
    umbel_slice out;
    uint64_t count;
    bool reached;
    int peer;

    umbel_sync *s = open_machine(slice_pages);
    if (umbel_sync_connect(s, &peer, NULL))
        abort();
    for (int n = 0; len >= 3 && n < MOST; n++) {
        size_t body = data[1] | (size_t)data[2] << 8;
        body = body < len - 3 ? body : len - 3;
        um_message_begin(&m, (um_message_type)data[0]);
        um_buffer_append(&m, data + 3, body);
        um_message_end(&m);
        uint64_t now = UM_FUZZ_NOW + 20 * (uint64_t)n;
        umbel_sync_receive(s, peer, m.data, m.len, now, NULL);
        memset(m.data, 0xA5, m.len); /* the caller may reuse the buffer */
        work(s, body ? data[2 + body] : 0);
        for (int i = 0; i < 8 && umbel_sync_next(s, peer, now, &out); i++)
            if (out.len > s->limit.message_bytes)
                abort();
        if (s->memory > MEMORY || s->log_bytes > 4096)
            abort();
        data += 3 + body;
        len -= 3 + body;
    }
    if (umbel_sync_count(s, 0, &d, 1, &count, NULL, NULL) ||
        umbel_sync_reaches(s, 0, &d, 1, NULL, 1, &reached, NULL) ||
        reached != (count >= 1))
        abort();
    umbel_sync_agreement(s, 0);
    um_buffer_fini(&m);
    umbel_sync_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    for (uint32_t slice_pages = 0; slice_pages < 2; slice_pages++)
        live_through(data, len, slice_pages);
    return 0;
}
