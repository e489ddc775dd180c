/*
 * mail_counts.c - what the lists of dccifd say about a mail.
 */
#include "clearinghouse/lists/mail_counts.h"

#include "clearinghouse/lists/counts.h"

#include <string.h>

unsigned um_mail_list(um_mail_key kind)
{
    return um_server_first_list(&um_protocol_dccifd) + kind;
}

void um_mail_counts_init(um_mail_counts *c, const um_server *h,
                         const um_mail_facts *facts)
{
    um_mail_keys_read(&c->keys, facts);
    um_store_digest(h->store, c->keys.key, c->keys.n, c->digest);
}

/* Returns where the keys of a kind end. */
static size_t end_of_kind(const um_mail_keys *k, size_t i)
{
    size_t end = i + 1;

    while (end < k->n && k->kind[end] == k->kind[i])
        end++;
    return end;
}

void um_mail_counts_ask(um_mail_counts *c, const um_server *h)
{
    const um_mail_keys *k = &c->keys;

    for (size_t i = 0, end; i < k->n; i = end) {
        end = end_of_kind(k, i);
        um_server_count(h, um_mail_list(k->kind[i]), c->digest + i, end - i,
                        c->count + i);
    }
}

void um_mail_counts_ask_many(um_mail_counts *c, const um_server *h,
                             uint64_t many)
{
    const um_mail_keys *k = &c->keys;
    bool reached[UM_MAIL_KEYS];

    for (size_t i = 0, end; i < k->n; i = end) {
        end = end_of_kind(k, i);
        um_server_reaches(h, um_mail_list(k->kind[i]), c->digest + i, end - i,
                          many, reached + i);
    }
    for (size_t i = 0; i < k->n; i++)
        c->count[i] = reached[i] ? many : 0;
}

uint64_t um_mail_counts_of(const um_mail_counts *c, um_mail_key kind)
{
    uint64_t first = 0, second = 0;

    for (size_t i = 0; i < c->keys.n; i++) {
        uint64_t n = c->keys.kind[i] == kind ? c->count[i] : 0;
        if (n > first) {
            second = first;
            first = n;
        } else if (n > second) {
            second = n;
        }
    }
    return kind == UM_KEY_SHINGLE ? second : first;
}

static umbel_slice slice_of(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

bool um_mail_is_welcome(const um_server *h, const um_mail_facts *facts,
                        const um_mail_keys *keys, const char *sender,
                        const char *client, um_welcome_rule *which)
{
    um_welcome_mail mail = {.sender = slice_of(sender),
                            .from_domain = slice_of(facts->from_domain),
                            .list_id = slice_of(facts->list_id),
                            .client =
                                slice_of(client[0] ? client : facts->received),
                            .digest = keys->key,
                            .ndigests = keys->n};

    return um_welcome_match(h->welcome, &mail, which);
}
