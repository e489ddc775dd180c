/*
 * sync_pair.c - two machines joined back to back, and a scheduler as input.
 *
 * Each byte is something that happens: a report, a version, a message that
 * comes, is lost, repeated or late, a cut. Each copy holds at most what its
 * origin does; and after the last byte both agree.
 */
#include "fuzz.h"

#include "exchange/sync_inside.h"

#include <umbel/counting.h>

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { LATE = 8, RETRY = 5 };

typedef struct end {
    umbel_sync *machine;
    umbel_filter *own;
    int peer;
    um_bytes late[LATE]; /* messages on their way from here */
} end;

static void hash_sign(const uint8_t *key, const void *text, size_t len,
                      uint8_t *signature)
{
    crypto_generichash(signature, 64, text, len, key + 32, 32);
}

static bool hash_signed_by(const uint8_t *origin, const void *text, size_t len,
                           const uint8_t *signature)
{
    uint8_t again[64];

    crypto_generichash(again, 64, text, len, origin, 32);
    return memcmp(again, signature, 64) == 0;
}

static void open_end(end *e, const umbel_filter *shape, uint8_t number)
{
    static um_sync_rules rules;
    uint8_t seed[32] = {number}, public[32], secret[64];
    umbel_sync_list list = {.name = "list", .shape = shape, .page_bytes = 512};
    umbel_sync_params p = UMBEL_SYNC_INIT;

    *e = (end){.peer = 0};
    crypto_sign_seed_keypair(public, secret, seed);
    p.lists = &list;
    p.nlists = 1;
    p.sign_key = secret;
    p.incarnation = 1;
    p.session = number;
    p.limits = (umbel_sync_limits){
        .message_bytes = 8192, .history_bytes = 400, .retry_seconds = RETRY};
    if (umbel_copy(shape, &e->own, NULL) ||
        umbel_sync_open(&p, &e->machine, NULL) ||
        umbel_sync_connect(e->machine, &e->peer, NULL))
        abort();
    rules = um_sync_rules_standard;
    rules.sign = hash_sign;
    rules.signed_by = hash_signed_by;
    um_sync_set_rules(e->machine, &rules);
}

static void report(end *e, uint8_t which)
{
    umbel_digest d = {which * UINT64_C(0x9E3779B97F4A7C15),
                      which * UINT64_C(0xD6E8FEB86659FD93)};
    uint64_t times = 1 + which % 3;

    if (umbel_add_digest_amounts(e->own, &d, &times, 1, NULL, NULL))
        abort();
}

static void send(end *e, uint8_t slot, uint64_t now)
{
    umbel_slice m;

    if (!umbel_sync_next(e->machine, e->peer, now, &m))
        return;
    e->late[slot % LATE].len = 0;
    um_bytes_put(&e->late[slot % LATE], m.data, m.len);
}

static void deliver(end *from, end *to, uint8_t slot, uint64_t now)
{
    um_bytes *m = &from->late[slot % LATE];

    if (m->len)
        umbel_sync_receive(to->machine, to->peer, m->at, m->len, now, NULL);
}

static void cut(end pair[2])
{
    for (int i = 0; i < 2; i++) {
        umbel_sync_disconnect(pair[i].machine, pair[i].peer);
        if (umbel_sync_connect(pair[i].machine, &pair[i].peer, NULL))
            abort();
    }
}

static void happen(end pair[2], uint8_t what, uint64_t *now)
{
    end *e = &pair[what >> 7], *other = &pair[!(what >> 7)];
    uint8_t x = what & 15;

    switch (what >> 4 & 7) {
    case 0:
    case 1:
        report(e, what & 31);
        break;
    case 2:
        umbel_sync_publish(e->machine, 0, 0, e->own, NULL);
        break;
    case 3:
    case 4:
        send(e, x, *now);
        break;
    case 5:
        deliver(e, other, x, *now);
        break;
    case 6:
        *now += x;
        break;
    default:
        if (x == 0)
            cut(pair);
        else
            deliver(e, other, x, *now);
    }
}

/* What the other has of an origin is at most what the origin has. */
static void expect_not_ahead(const end *origin, const end *other)
{
    umbel_sync_copy c;

    for (size_t at = 0; umbel_sync_next_copy(other->machine, &at, &c);) {
        if (c.own)
            continue;
        for (size_t i = 0; i < umbel_cells(c.filter); i++)
            if (c.filter->payload[i] > origin->own->payload[i])
                abort();
    }
}

static void heal(end pair[2], uint64_t now)
{
    umbel_slice m;

    for (int i = 0; i < 2; i++)
        umbel_sync_publish(pair[i].machine, 0, 0, pair[i].own, NULL);
    for (int round = 0; round < 40; round++, now += RETRY)
        for (int i = 0; i < 2; i++)
            while (umbel_sync_next(pair[i].machine, pair[i].peer, now, &m))
                umbel_sync_receive(pair[!i].machine, pair[!i].peer, m.data,
                                   m.len, now, NULL);
    if (umbel_sync_agreement(pair[0].machine, 0) !=
        umbel_sync_agreement(pair[1].machine, 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static umbel_filter *shape;
    umbel_setting bits = {"cell_bits", 8};
    umbel_params p = UMBEL_PARAMS_INIT;
    uint64_t now = 10;
    end pair[2];

    p.cells = 2048;
    p.hashes = 3;
    p.settings = &bits;
    p.nsettings = 1;
    if (!shape && umbel_create("counting", &p, &shape, NULL))
        abort();
    open_end(&pair[0], shape, 1);
    open_end(&pair[1], shape, 2);
    for (size_t i = 0; i < len && i < 512; i++)
        happen(pair, data[i], &now);
    expect_not_ahead(&pair[0], &pair[1]);
    expect_not_ahead(&pair[1], &pair[0]);
    heal(pair, now);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < LATE; j++)
            um_bytes_fini(&pair[i].late[j]);
        umbel_sync_close(pair[i].machine);
        umbel_close(pair[i].own);
    }
    return 0;
}
