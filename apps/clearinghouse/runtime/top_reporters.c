/*
 * top_reporters.c - the accounts and client networks that report the most.
 */
#include "clearinghouse/runtime/top_reporters.h"

#include "base/hash.h"
#include "base/text.h"

#include <string.h>

static bool same_key(const um_reporter_key *a, const um_reporter_key *b)
{
    return a->service == b->service && a->account == b->account &&
           um_network_equal(a->network, b->network);
}

/* Returns the counter of a reporter: its own, a free one, or the smallest one,
 * which it takes over. */
static um_top_reporter *counter_of(um_top_reporters *b,
                                   const um_reporter_key *key)
{
    um_top_reporter *least = b->counted;

    for (size_t i = 0; i < b->n; i++) {
        if (same_key(&b->counted[i].key, key))
            return &b->counted[i];
        if (b->counted[i].reports < least->reports)
            least = &b->counted[i];
    }
    return b->n < UM_TOP_COUNTED ? &b->counted[b->n++] : least;
}

static void adopt(um_top_reporter *r, const um_reporter_key *key,
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

void um_top_reporters_add(um_top_reporters *b, const um_service *service,
                          const char *account, um_network network,
                          const um_prefixes *prefixes, uint64_t reports,
                          uint64_t now)
{
    um_reporter_key key = {.service = service};

    if (account)
        key.account = um_checksum(account, strlen(account)) | 1;
    else
        key.network = network;
    um_top_reporter *r = counter_of(b, &key);
    if (!same_key(&r->key, &key))
        adopt(r, &key, account, prefixes);
    r->reports += reports;
    r->last = now;
}

size_t um_top_reporters_read(const um_top_reporters *b, um_top_reporter *out,
                             size_t cap)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++) {
        size_t at = n < cap ? n++ : n;
        for (; at > 0 && out[at - 1].reports < b->counted[i].reports; at--)
            if (at < cap)
                out[at] = out[at - 1];
        if (at < cap)
            out[at] = b->counted[i];
    }
    return n;
}
