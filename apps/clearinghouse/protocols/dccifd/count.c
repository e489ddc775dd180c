/*
 * dccifd_count.c - facts of a mail: what is counted, and the counts.
 *
 * A mail has up to ten keys: its exact signature in the list body, Pyzor's in
 * fuz1, eight super-shingles in fuz2.
 */
#include "clearinghouse/lists/forget.h"
#include "clearinghouse/lists/mail_counts.h"
#include "clearinghouse/protocols/dccifd/row.h"

#include "base/bytes.h"

#include <string.h>

_Static_assert((int)UM_DCCIFD_SUM_BODY == (int)UM_KEY_EXACT &&
                   (int)UM_DCCIFD_SUM_FUZ1 == (int)UM_KEY_PYZOR &&
                   (int)UM_DCCIFD_SUM_FUZ2 == (int)UM_KEY_SHINGLE,
               "the order of the lists");

/* --- counting --------------------------------------------------------------
 */

static uint64_t amount_of(const um_dccifd_job *job)
{
    const um_dccifd_settings *s = um_dccifd_settings_of(job->front);

    if (job->envelope.words & UM_DCCIFD_SPAM)
        return job->front->many;
    return s->count == UM_DCCIFD_PER_RECIPIENT ? job->envelope.recipients : 1;
}

static um_dccifd_outcome count_keys(um_dccifd_job *job, const um_mail_counts *k)
{
    um_dccifd_service *f = job->front;
    um_server *h = f->house;
    uint64_t amount = amount_of(job);
    um_entry entry[UM_MAIL_KEYS];
    size_t n = 0;
    bool full = false;

    for (size_t i = 0; i < k->keys.n; i++) {
        unsigned list = um_mail_list(k->keys.kind[i]);
        if (um_forgotten(h, list, &k->digest[i]))
            continue;
        if (um_store_accepts(h->store, list, &k->digest[i], h->now))
            entry[n++] = (um_entry){.list = list,
                                    .digest = k->digest[i],
                                    .amount = (uint32_t)amount};
        else
            full = true;
    }
    if (n && um_store_add(h->store, entry, n, h->now, &job->ticket, NULL) !=
                 UMBEL_OK)
        return UM_DCCIFD_NOT_STORED;
    job->reply.reported = n ? amount : 0;
    if (n)
        um_server_count_reports(h, &um_protocol_dccifd, NULL, &job->client, 1);
    return full ? UM_DCCIFD_LIST_FULL : UM_DCCIFD_OK;
}

/* --- counts ----------------------------------------------------------------
 */

static void fill_reply(um_dccifd_reply *r, const um_mail_facts *facts,
                       const um_mail_counts *k)
{
    um_dccifd_count *fuz2 = &r->sum[UM_DCCIFD_SUM_FUZ2];
    um_writer w = {fuz2->checksum, fuz2->checksum + sizeof fuz2->checksum,
                   false};
    size_t i = 0;

    for (; i < k->keys.n && k->keys.kind[i] != UM_KEY_SHINGLE; i++) {
        um_dccifd_count *c = &r->sum[k->keys.kind[i]];
        const um_signature *s =
            k->keys.kind[i] == UM_KEY_EXACT ? &facts->exact : &facts->pyzor;
        c->present = true;
        c->count = k->count[i];
        memcpy(c->checksum, s->digest, sizeof c->checksum);
    }
    fuz2->present = i < k->keys.n;
    fuz2->count = um_mail_counts_of(k, UM_KEY_SHINGLE);
    um_write_u64(&w, facts->shingle[0]);
    um_write_u64(&w, facts->shingle[1]);
}

um_dccifd_outcome um_dccifd_count_mail(um_dccifd_job *job,
                                       const um_mail_facts *facts)
{
    const um_dccifd_envelope *e = &job->envelope;
    um_server *h = job->front->house;
    um_dccifd_outcome outcome = UM_DCCIFD_OK;
    um_mail_counts c;

    um_mail_counts_init(&c, h, facts);
    if (um_mail_is_welcome(h, facts, &c.keys, e->sender, e->client, NULL)) {
        job->reply.welcome = true;
        return UM_DCCIFD_OK;
    }
    if (!um_dccifd_is_query(e))
        outcome = count_keys(job, &c);
    um_mail_counts_ask(&c, h);
    fill_reply(&job->reply, facts, &c);
    return outcome;
}
