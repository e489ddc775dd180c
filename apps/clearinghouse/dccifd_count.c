/*
 * dccifd_count.c - facts of a mail: what is counted, and the counts.
 *
 * A mail has up to ten keys: its exact signature in the list body, Pyzor's in
 * fuz1, eight super-shingles in fuz2. A near copy shares some of the eight, and
 * one of them may be common by chance, so the second largest count is that of
 * the mail.
 */
#include "clearinghouse/counts.h"
#include "clearinghouse/dccifd_front.h"
#include "clearinghouse/forget.h"
#include "clearinghouse/mail_keys.h"

#include "base/bytes.h"

#include <string.h>

typedef struct mail_keys {
    um_mail_keys of;
    umbel_digest digest[UM_MAIL_KEYS];
    uint64_t count[UM_MAIL_KEYS];
} mail_keys;

/* Keys of one kind have a list of their own. */
_Static_assert((int)UM_DCCIFD_SUM_BODY == (int)UM_KEY_EXACT &&
                   (int)UM_DCCIFD_SUM_FUZ1 == (int)UM_KEY_PYZOR &&
                   (int)UM_DCCIFD_SUM_FUZ2 == (int)UM_KEY_SHINGLE,
               "the order of the lists");

/* --- counting --------------------------------------------------------------
 */

static bool is_welcome(const um_dccifd_job *job, const um_mail_facts *facts,
                       const mail_keys *k)
{
    const um_dccifd_envelope *e = &job->envelope;
    const char *client = e->client[0] ? e->client : facts->received;
    um_welcome_mail mail = {
        .sender = {e->sender, strlen(e->sender)},
        .from_domain = {facts->from_domain, strlen(facts->from_domain)},
        .list_id = {facts->list_id, strlen(facts->list_id)},
        .client = {client, strlen(client)},
        .digest = k->of.key,
        .ndigests = k->of.n};

    return um_welcome_match(job->front->house->welcome, &mail, NULL);
}

static uint64_t amount_of(const um_dccifd_job *job)
{
    const um_dccifd_settings *s = um_dccifd_settings_of(job->front);

    if (job->envelope.words & UM_DCCIFD_SPAM)
        return job->front->many;
    return s->count == UM_DCCIFD_PER_RECIPIENT ? job->envelope.recipients : 1;
}

static um_dccifd_outcome count_keys(um_dccifd_job *job, const mail_keys *k)
{
    um_dccifd_front *f = job->front;
    um_house *h = f->house;
    uint64_t amount = amount_of(job);
    um_entry entry[UM_MAIL_KEYS];
    size_t n = 0;
    bool full = false;

    for (size_t i = 0; i < k->of.n; i++) {
        unsigned list = f->list + k->of.kind[i];
        if (um_forgotten(h, list, &k->digest[i]))
            continue;
        if (um_store_takes(h->store, list, &k->digest[i], h->now))
            entry[n++] = (um_entry){.list = list,
                                    .digest = k->digest[i],
                                    .amount = (uint32_t)amount};
        else
            full = true;
    }
    if (n && um_store_append(h->store, entry, n, h->now, &job->ticket, NULL) !=
                 UMBEL_OK)
        return UM_DCCIFD_NOT_STORED;
    job->reply.reported = n ? amount : 0;
    if (n)
        um_house_count_reports(h, &um_front_dccifd, NULL, &job->client, 1);
    return full ? UM_DCCIFD_LIST_FULL : UM_DCCIFD_OK;
}

/* --- counts ----------------------------------------------------------------
 */

static void look_up(const um_dccifd_front *f, mail_keys *k)
{
    for (size_t i = 0, end; i < k->of.n; i = end) {
        for (end = i + 1; end < k->of.n && k->of.kind[end] == k->of.kind[i];
             end++)
            ;
        um_house_count(f->house, f->list + k->of.kind[i], k->digest + i,
                       end - i, k->count + i);
    }
}

static uint64_t second_largest(const uint64_t *count, size_t n)
{
    uint64_t first = 0, second = 0;

    for (size_t i = 0; i < n; i++)
        if (count[i] > first) {
            second = first;
            first = count[i];
        } else if (count[i] > second) {
            second = count[i];
        }
    return second;
}

static void fill_reply(um_dccifd_reply *r, const um_mail_facts *facts,
                       const mail_keys *k)
{
    um_dccifd_count *fuz2 = &r->sum[UM_DCCIFD_SUM_FUZ2];
    um_writer w = {fuz2->checksum, fuz2->checksum + sizeof fuz2->checksum,
                   false};
    size_t i = 0;

    for (; i < k->of.n && k->of.kind[i] != UM_KEY_SHINGLE; i++) {
        um_dccifd_count *c = &r->sum[k->of.kind[i]];
        const um_signature *s =
            k->of.kind[i] == UM_KEY_EXACT ? &facts->exact : &facts->pyzor;
        c->present = true;
        c->count = k->count[i];
        memcpy(c->checksum, s->digest, sizeof c->checksum);
    }
    fuz2->present = i < k->of.n;
    fuz2->count = second_largest(k->count + i, k->of.n - i);
    um_put_u64(&w, facts->shingle[0]);
    um_put_u64(&w, facts->shingle[1]);
}

um_dccifd_outcome um_dccifd_count_mail(um_dccifd_job *job,
                                       const um_mail_facts *facts)
{
    um_dccifd_front *f = job->front;
    um_dccifd_outcome outcome = UM_DCCIFD_OK;
    mail_keys k;

    um_mail_keys_read(&k.of, facts);
    if (is_welcome(job, facts, &k)) {
        job->reply.welcome = true;
        return UM_DCCIFD_OK;
    }
    um_store_digest(f->house->store, k.of.key, k.of.n, k.digest);
    if (!um_dccifd_is_query(&job->envelope))
        outcome = count_keys(job, &k);
    look_up(f, &k);
    fill_reply(&job->reply, facts, &k);
    return outcome;
}
