/*
 * sync_pair.c - two machines connected to each other, and a scheduler as input.
 *
 * Each byte is an event: a report, a version, a page of one, a message that
 * arrives, is lost, repeated or late, a disconnect, a restart that loses all
 * data, a log entry, the end of an epoch. No replica ever holds more than its
 * origin, and verdicts equal those computed from the counts; after the last
 * byte both machines agree.
 */
#include "fuzz.h"

#include "base/hash.h"
#include "sync/internal.h"

#include <umbel/counting.h>

#include <stdlib.h>
#include <string.h>

enum { LATE = 8, RETRY = 5, ROUNDS = 4 };

typedef struct end {
    umbel_sync *machine;
    umbel_filter *own;
    uint64_t epoch, incarnation;
    uint8_t number;
    int peer;
    um_buffer late[LATE]; /* messages sent from here and not yet delivered */
} end;

/*
 * Returns a cheap keyed hash as a signature; no machine here forges another's.
 */
static uint64_t hash_as(const uint8_t *origin, const void *text, size_t len)
{
    return um_checksum(text, len) ^ um_load64(origin);
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names */
void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature);
bool __wrap_um_sync_is_signed(const uint8_t *origin, const void *text,
                              size_t len, const uint8_t *signature);

void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature)
{
    memset(signature, 0, UM_SIGNATURE_LEN);
    um_store64(signature, hash_as(key + 32, text, len));
}

bool __wrap_um_sync_is_signed(const uint8_t *origin, const void *text,
                              size_t len, const uint8_t *signature)
{
    return um_load64(signature) == hash_as(origin, text, len);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void open_machine(end *e)
{
    uint8_t secret[64] = {0};
    umbel_sync_list list = um_fuzz_sync_list();
    umbel_sync_params p = UMBEL_SYNC_INIT;

    secret[32] = e->number; /* public key: nothing is signed with it */
    p.lists = &list;
    p.nlists = 1;
    p.sign_key = secret;
    p.incarnation = ++e->incarnation;
    p.session = e->number + 2 * e->incarnation;
    p.limits = (umbel_sync_limits){.message_bytes = 8192,
                                   .history_bytes = 400,
                                   .retry_seconds = RETRY,
                                   .slice_pages = e->number - 1U};
    if (umbel_sync_open(&p, &e->machine, NULL) ||
        umbel_sync_connect(e->machine, &e->peer, NULL))
        abort();
}

static void open_end(end *e, uint8_t number)
{
    *e = (end){.number = number};
    if (umbel_copy(um_fuzz_sync_list().shape, &e->own, NULL))
        abort();
    open_machine(e);
}

/* Advances the clock, and clears the filter when a new epoch begins. */
static void advance_clock(end *e, uint64_t now)
{
    umbel_sync_tick(e->machine, now);
    if (umbel_sync_epoch(e->machine, 0) == e->epoch)
        return;
    e->epoch = umbel_sync_epoch(e->machine, 0);
    if (umbel_clear(e->own, NULL))
        abort();
}

static umbel_digest digest_of(uint8_t which)
{
    return (umbel_digest){which * UINT64_C(0x9E3779B97F4A7C15),
                          which * UINT64_C(0xD6E8FEB86659FD93)};
}

static void report(end *e, uint8_t which)
{
    umbel_digest d = digest_of(which);
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
    um_buffer_append(&e->late[slot % LATE], m.data, m.len);
}

static void deliver(end *from, end *to, uint8_t slot, uint64_t now)
{
    um_buffer *m = &from->late[slot % LATE];

    if (m->len)
        umbel_sync_receive(to->machine, to->peer, m->data, m->len, now, NULL);
}

static void cut(end pair[2])
{
    for (int i = 0; i < 2; i++) {
        umbel_sync_disconnect(pair[i].machine, pair[i].peer);
        if (umbel_sync_connect(pair[i].machine, &pair[i].peer, NULL))
            abort();
    }
}

static void restart(end pair[2], end *e)
{
    umbel_sync_close(e->machine);
    if (umbel_clear(e->own, NULL))
        abort();
    open_machine(e);
    e->epoch = 0;
    e = &pair[e == pair];
    umbel_sync_disconnect(e->machine, e->peer);
    if (umbel_sync_connect(e->machine, &e->peer, NULL))
        abort();
}

static void happen(end pair[2], uint8_t what, uint64_t *now)
{
    end *e = &pair[what >> 7], *other = &pair[!(what >> 7)];
    uint8_t x = what & 15;
    umbel_sync_slice slice;

    switch (what >> 4 & 7) {
    case 0:
    case 1:
        report(e, what & 31);
        break;
    case 2:
        umbel_sync_publish_pages(e->machine, 0, e->epoch, e->own, x == 1,
                                 x == 2 ? 1 : 2, &slice, NULL);
        break;
    case 3:
    case 4:
        send(e, x, *now);
        break;
    case 5:
        deliver(e, other, x, *now);
        break;
    case 6:
        *now += x * x;
        break;
    default:
        if (x == 0)
            cut(pair);
        else if (x == 1)
            restart(pair, e);
        else if (x == 2)
            umbel_sync_log_append(e->machine, UMBEL_SYNC_LOG_FIRST,
                                  (umbel_slice){&what, 1}, NULL, NULL);
        else if (x == 3)
            umbel_sync_work(e->machine);
        else
            deliver(e, other, x, *now);
    }
    advance_clock(&pair[0], *now);
    advance_clock(&pair[1], *now);
}

/* Checks that the replica of an origin holds no more than the origin. */
static void expect_not_ahead(const end *origin, const end *other)
{
    umbel_sync_replica c;

    for (size_t at = 0; umbel_sync_next_replica(other->machine, &at, &c);) {
        if (c.own || c.epoch != origin->epoch ||
            c.incarnation != origin->incarnation ||
            memcmp(c.origin, umbel_sync_origin(origin->machine),
                   UMBEL_ORIGIN_LEN) != 0)
            continue;
        for (size_t i = 0; i < umbel_cells(c.filter); i++)
            if (c.filter->payload[i] > origin->own->payload[i])
                abort();
    }
}

/* Checks that umbel_sync_reaches agrees with the counts. */
static void expect_same_verdicts(const end *e)
{
    umbel_digest d[32];
    uint64_t count[32];
    bool reached[32];

    for (uint8_t i = 0; i < 32; i++)
        d[i] = digest_of(i);
    if (umbel_sync_count(e->machine, 0, d, 32, count, NULL, NULL))
        abort();
    for (uint64_t threshold = 1; threshold < 8; threshold += 2) {
        if (umbel_sync_reaches(e->machine, 0, d, 32, NULL, threshold, reached,
                               NULL))
            abort();
        for (int i = 0; i < 32; i++)
            if (reached[i] != (count[i] >= threshold))
                abort();
    }
}

static void heal(end pair[2], uint64_t now)
{
    umbel_slice m;

    for (int i = 0; i < 2; i++)
        umbel_sync_publish(pair[i].machine, 0, pair[i].epoch, pair[i].own,
                           NULL);
    for (int round = 0; round < ROUNDS; now += RETRY, round++)
        for (int quiet = 0; quiet < 2;)
            for (int i = 0; i < 2; i++, quiet++) {
                while (umbel_sync_work(pair[i].machine))
                    ;
                while (
                    umbel_sync_next(pair[i].machine, pair[i].peer, now, &m)) {
                    quiet = -1;
                    umbel_sync_receive(pair[!i].machine, pair[!i].peer, m.data,
                                       m.len, now, NULL);
                }
                if (umbel_sync_busy(pair[i].machine))
                    quiet = -1;
            }
    if (umbel_sync_agreement(pair[0].machine, 0) !=
        umbel_sync_agreement(pair[1].machine, 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint64_t now = UM_FUZZ_NOW;
    end pair[2];

    for (uint8_t i = 0; i < 2; i++) {
        open_end(&pair[i], i + 1);
        advance_clock(&pair[i], now);
    }
    for (size_t i = 0; i < len && i < 512; i++)
        happen(pair, data[i], &now);
    expect_not_ahead(&pair[0], &pair[1]);
    expect_not_ahead(&pair[1], &pair[0]);
    expect_same_verdicts(&pair[0]);
    expect_same_verdicts(&pair[1]);
    heal(pair, now);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < LATE; j++)
            um_buffer_fini(&pair[i].late[j]);
        umbel_sync_close(pair[i].machine);
        umbel_close(pair[i].own);
    }
    return 0;
}
