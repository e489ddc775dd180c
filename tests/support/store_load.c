/* store_load.c - random changes to a store, and checks of what remains. */
#include "support/store_load.h"

#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T0 = 1000000 };

static const um_list_config lists[LOAD_LISTS] = {{.name = "a",
                                                  .kind = "table",
                                                  .capacity = 20,
                                                  .error = 1e-6,
                                                  .epoch_seconds = 500,
                                                  .epochs = 60,
                                                  .cell_bits = 16,
                                                  .recent_column = 1},
                                                 {.name = "b",
                                                  .kind = "countmin",
                                                  .capacity = 64,
                                                  .error = 1e-9,
                                                  .epoch_seconds = 700,
                                                  .epochs = 60}};
static const uint8_t secret[UMBEL_SECRET_LEN] = "store's secret.";

load *load_open(uint64_t seed, um_durability durability)
{
    load *l = calloc(1, sizeof *l);

    if (!l)
        abort();
    l->disk = sim_open(seed);
    l->durability = durability;
    l->now = T0;
    um_rng rng = {seed ^ 77};
    for (int i = 0; i < LOAD_KEYS; i++)
        l->digest[i] = (umbel_digest){um_random(&rng), um_random(&rng)};
    return l;
}

void load_close(load *l)
{
    um_store_close(l->store);
    sim_close(l->disk);
    free(l);
}

static void complain(load *l, const char *what, int list, int key, uint64_t got,
                     uint64_t low, uint64_t high)
{
    if (!*l->wrong)
        snprintf(l->wrong, sizeof l->wrong,
                 "%s: list %d, key %d: %" PRIu64 " is not within %" PRIu64
                 "..%" PRIu64 ", operation %" PRIu64,
                 what, list, key, got, low, high, sim_stats_of(l->disk).ops);
}

bool load_start(load *l)
{
    um_store_config c = {.disk = sim_ops(l->disk),
                         .secret_bytes = secret,
                         .durability = l->durability,
                         .lists = lists,
                         .nlists = LOAD_LISTS,
                         .recent = 64,
                         .extra_bytes = 1 << 20,
                         .journal_bytes = 3000};
    umbel_error err;

    if (um_store_open(&c, l->now, &l->store, &err) != UMBEL_OK) {
        l->store = NULL;
        if (!sim_is_off(l->disk))
            snprintf(l->wrong, sizeof l->wrong, "refused: %.150s", err.text);
        return false;
    }
    um_store_stats st;
    um_store_stats_get(l->store, &st);
    l->torn += st.torn > 0;
    l->was_failed = um_store_failure(l->store) != NULL;
    return true;
}

void load_kill(load *l, bool power)
{
    um_store_stats st;

    if (l->store) {
        um_store_stats_get(l->store, &st);
        l->snapshots += st.snapshots;
    }
    if (!sim_is_off(l->disk))
        sim_off(l->disk, power);
    um_store_close(l->store);
    l->store = NULL;
    l->n = 0;
    sim_power_on(l->disk);
}

/* --- acknowledgements ---------------------------------------------------- */

static void acknowledge(load *l)
{
    uint64_t committed = um_store_committed(l->store);
    size_t i;

    for (i = 0; i < l->n && l->waiting[i].ticket <= committed; i++) {
        const load_sent *s = &l->waiting[i];
        l->acknowledged++;
        if (s->key < 0) {
            l->value_acked[s->list] = s->amount;
            continue;
        }
        l->acked[s->list][s->key] += s->amount;
        if (s->request_id) {
            l->request_acked = s->request_id;
            l->request_time = s->time;
        }
    }
    memmove(l->waiting, l->waiting + i, (l->n - i) * sizeof *l->waiting);
    l->n -= i;
}

static void wait_for(load *l, load_sent s)
{
    if (l->n < LOAD_WAITING)
        l->waiting[l->n++] = s;
}

/* --- changes ------------------------------------------------------------- */

static void check_refusal(load *l)
{
    l->refused++;
    if (!um_store_failure(l->store) && !*l->wrong)
        snprintf(l->wrong, sizeof l->wrong, "refused without a reason");
}

static void send_counts(load *l)
{
    um_entry e[5];
    size_t n = 1 + (size_t)sim_below(l->disk, 5);
    uint64_t request_id = sim_below(l->disk, 3) ? 0 : ++l->request_id, ticket;
    int key[5];

    for (size_t i = 0; i < n; i++) {
        key[i] = (int)sim_below(l->disk, LOAD_KEYS);
        e[i] =
            (um_entry){(unsigned)sim_below(l->disk, LOAD_LISTS),
                       (uint32_t)(1 + sim_below(l->disk, 3)), l->digest[key[i]],
                       request_id, (uint16_t)(key[i] % 3)};
    }
    umbel_status status = um_store_add(l->store, e, n, l->now, &ticket, NULL);
    if (status == UMBEL_E_FULL)
        return; /* strangers end no epoch early */
    if (status != UMBEL_OK) {
        check_refusal(l);
        return;
    }
    l->reports++;
    for (size_t i = 0; i < n; i++) {
        l->sent[e[i].list][key[i]] += e[i].amount;
        wait_for(l, (load_sent){ticket, (int)e[i].list, key[i], e[i].amount,
                                request_id, l->now});
    }
}

static void set_pair(load *l)
{
    int pair = (int)sim_below(l->disk, LOAD_PAIRS);
    char name[16], value[32];
    uint64_t ticket, number = l->value_sent[pair] + 1;

    snprintf(name, sizeof name, "n%d", pair);
    int len = snprintf(value, sizeof value, "%" PRIu64, number);
    if (um_store_set(l->store, (umbel_slice){name, strlen(name)},
                     (umbel_slice){value, (size_t)len}, l->now, &ticket,
                     NULL) != UMBEL_OK) {
        check_refusal(l);
        return;
    }
    l->value_sent[pair] = number;
    wait_for(l,
             (load_sent){
                 .ticket = ticket, .list = pair, .key = -1, .amount = number});
}

void load_step(load *l)
{
    switch (sim_below(l->disk, 8)) {
    case 0:
    case 1:
    case 2:
        send_counts(l);
        break;
    case 3:
        set_pair(l);
        break;
    case 4:
        um_store_flush(l->store, NULL);
        acknowledge(l);
        break;
    case 5:
        l->now += sim_below(l->disk, 4);
        break;
    case 6:
        if (sim_below(l->disk, 8) == 0)
            um_store_request_snapshot(l->store);
        break;
    default:
        um_store_tick(l->store, l->now);
        acknowledge(l);
    }
    bool failed = um_store_failure(l->store) != NULL;
    l->recoveries += l->was_failed && !failed;
    l->was_failed = failed;
}

/* --- checks after a restart ---------------------------------------------- */

static void check_counts(load *l, bool may_lose)
{
    for (int list = 0; list < LOAD_LISTS; list++)
        for (int key = 0; key < LOAD_KEYS; key++) {
            uint64_t got, low = may_lose ? 0 : l->acked[list][key];
            um_store_count(l->store, (unsigned)list, &l->digest[key], 1, &got);
            if (got < low || got > l->sent[list][key])
                complain(l, "count", list, key, got, low, l->sent[list][key]);
            l->sent[list][key] = got; /* lost counts do not come back */
            if (l->acked[list][key] > got)
                l->acked[list][key] = got;
        }
}

static void check_pairs(load *l, bool may_lose)
{
    for (int pair = 0; pair < LOAD_PAIRS; pair++) {
        char name[16], text[32] = "0";
        umbel_slice value;
        snprintf(name, sizeof name, "n%d", pair);
        umbel_slice slice = {name, strlen(name)};
        if (um_store_get(l->store, slice, &value))
            snprintf(text, sizeof text, "%.*s", (int)value.len,
                     (const char *)value.data);
        uint64_t got = strtoull(text, NULL, 10);
        uint64_t low = may_lose ? 0 : l->value_acked[pair];
        if (got < low || got > l->value_sent[pair])
            complain(l, "key", pair, -1, got, low, l->value_sent[pair]);
        l->value_sent[pair] = got;
        if (l->value_acked[pair] > got)
            l->value_acked[pair] = got;
    }
}

bool load_check(load *l, bool may_lose)
{
    check_counts(l, may_lose);
    check_pairs(l, may_lose);
    if (l->request_acked && l->now - l->request_time <= 600 &&
        !um_store_is_replay(l->store, l->request_acked, l->now)) {
        if (!may_lose)
            complain(l, "request", 0, 0, l->request_acked, 1, 1);
        l->request_acked = 0;
    }
    return !*l->wrong;
}
