/*
 * busiest.c - the accounts and client networks that report the most.
 */
#include "clearinghouse/runtime/busiest.h"

#include "base/hash.h"
#include "base/text.h"

#include <string.h>

static bool same_key(const um_busy_key *a, const um_busy_key *b)
{
    return a->front == b->front && a->account == b->account &&
           um_network_equal(a->network, b->network);
}

/* The counter of a reporter, or the smallest one, which it takes over. */
static um_busy_reporter *counter_of(um_busiest *b, const um_busy_key *key)
{
    um_busy_reporter *least = b->kept;

    for (size_t i = 0; i < b->n; i++) {
        if (same_key(&b->kept[i].key, key))
            return &b->kept[i];
        if (b->kept[i].reports < least->reports)
            least = &b->kept[i];
    }
    return b->n < UM_BUSIEST_KEPT ? &b->kept[b->n++] : least;
}

static void adopt(um_busy_reporter *r, const um_busy_key *key,
                  const char *account, const um_prefixes *prefixes)
{
    r->key = *key;
    r->surplus = r->reports;
    if (account)
        snprintf(r->name, sizeof r->name, "%s", account);
    else
        um_network_print(key->network, prefixes, r->name);
    um_disarm(r->name);
}

void um_busiest_count(um_busiest *b, const um_protocol *f, const char *account,
                      um_network network, const um_prefixes *prefixes,
                      uint64_t reports, uint64_t now)
{
    um_busy_key key = {.front = f};

    if (account)
        key.account = um_checksum(account, strlen(account)) | 1;
    else
        key.network = network;
    um_busy_reporter *r = counter_of(b, &key);
    if (!same_key(&r->key, &key))
        adopt(r, &key, account, prefixes);
    r->reports += reports;
    r->last = now;
}

size_t um_busiest_read(const um_busiest *b,
                       um_busy_reporter out[UM_BUSIEST_SHOWN])
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++) {
        size_t at = n < UM_BUSIEST_SHOWN ? n++ : n;
        for (; at > 0 && out[at - 1].reports < b->kept[i].reports; at--)
            if (at < UM_BUSIEST_SHOWN)
                out[at] = out[at - 1];
        if (at < UM_BUSIEST_SHOWN)
            out[at] = b->kept[i];
    }
    return n;
}
