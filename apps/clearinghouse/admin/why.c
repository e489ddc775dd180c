/*
 * why.c - why a mail is a hit: what the lists say about its signatures.
 */
#include "clearinghouse/admin/why.h"

#include "base/error.h"
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/lists.h"
#include "clearinghouse/lists/mails.h"

#include <stdlib.h>
#include <string.h>

/* --- signatures ----------------------------------------------------------- */

static void look_up(const um_environment *env, um_why_signature *s)
{
    umbel_slice key = {s->digest, strlen(s->digest)};
    umbel_digest d;

    um_store_digest(env->store, &key, 1, &d);
    s->hashed = d;
    for (unsigned i = 0; i < UM_LISTS; i++) {
        um_why_counts *c = &s->list[i];
        c->epochs =
            um_list_count_epochs(um_store_list(env->store, i), &d, c->count);
        c->forgotten = um_forgotten(env->lists, i, &d);
        um_lists_count(env->lists, i, &d, 1, &c->total);
    }
}

static void add_facts(um_why *w)
{
    um_mail_keys keys;

    um_mail_keys_read(&keys, w->facts);
    for (size_t i = 0; i < keys.n; i++) {
        um_why_signature *to = &w->signature[w->n++];
        to->name = um_mail_key_name(keys.kind[i]);
        memcpy(to->digest, keys.text[i], sizeof to->digest);
    }
}

static umbel_status add_digests(um_why *w, const um_why_question *q,
                                umbel_error *err)
{
    if (q->n > UM_WHY_SIGNATURES)
        return um_fail(err, UMBEL_E_LIMIT, "at most %d digests at once",
                       UM_WHY_SIGNATURES);
    for (size_t i = 0; i < q->n; i++) {
        um_why_signature *to = &w->signature[w->n++];
        to->name = "digest";
        UM_TRY(um_signature_read(q->digest[i], to->digest, err));
    }
    return UMBEL_OK;
}

/* --- the verdict ---------------------------------------------------------- */

static umbel_slice text_of(const char *text)
{
    return (umbel_slice){text, text ? strlen(text) : 0};
}

/* A digest as Pyzor clients send it. */
static bool is_pyzor(const um_why_signature *s)
{
    return strcmp(s->name, "pyzor") == 0 || strcmp(s->name, "digest") == 0;
}

static void match_welcome(um_why *w)
{
    umbel_slice key[UM_WHY_SIGNATURES], pyzor[UM_WHY_SIGNATURES];
    um_welcome_mail m = {.sender = text_of(w->sender),
                         .client = text_of(w->client),
                         .digest = key,
                         .ndigests = w->n};
    um_welcome_mail only = {.digest = pyzor};

    for (size_t i = 0; i < w->n; i++) {
        key[i] = text_of(w->signature[i].digest);
        if (is_pyzor(&w->signature[i]))
            pyzor[only.ndigests++] = key[i];
    }
    if (w->facts) {
        m.from_domain = text_of(w->facts->from_domain);
        m.list_id = text_of(w->facts->list_id);
    }
    w->welcome =
        um_welcome_match(um_lists_welcome(w->env->lists), &m, &w->rule);
    w->pyzor_welcome =
        um_welcome_match(um_lists_welcome(w->env->lists), &only, NULL);
}

/* Returns the count from which on a list makes a hit. */
static uint64_t threshold_of(const um_environment *env, unsigned list)
{
    unsigned threshold = um_list_threshold(env->opened, list);

    return threshold ? threshold : 1;
}

/* The count of a mail in a list: of super-shingles the second largest. */
static uint64_t count_in(const um_why *w, unsigned list)
{
    uint64_t first = 0, second = 0, most = 0;

    for (size_t i = 0; i < w->n; i++) {
        uint64_t n = w->signature[i].list[list].total;
        if (strcmp(w->signature[i].name, "shingle") != 0) {
            most = n > most ? n : most;
        } else if (n > first) {
            second = first;
            first = n;
        } else if (n > second) {
            second = n;
        }
    }
    return second > most ? second : most;
}

static bool is_hit_by(const um_why *w, unsigned list)
{
    if (!w->count || w->count < w->threshold)
        return false;
    return um_list_rows[list].clients ? !w->pyzor_welcome && !w->revoked
                                      : !w->welcome;
}

/* Returns how often a list has it that takes back; 0: not often enough. */
static uint64_t revocations(const um_why *w, unsigned list)
{
    uint64_t n = list ? count_in(w, list) : 0;

    return n < um_list_report(w->env->store, list) ? 0 : n;
}

static void judge_counts(um_why *w)
{
    for (unsigned i = 0; i < UM_LISTS && !w->hit; i++) {
        w->list = i;
        w->revoked = um_list_rows[i].revokes ||
                     revocations(w, um_list_rows[i].revoked_by);
        w->count = count_in(w, i);
        w->threshold = threshold_of(w->env, i);
        w->hit = is_hit_by(w, i);
    }
}

bool um_why_hits_digest(const um_why *w)
{
    return w->hit && um_list_rows[w->list].clients;
}

uint64_t um_why_revocations(const um_why *w, unsigned *list)
{
    uint64_t n = 0;

    for (*list = 0; um_list_name(*list); ++*list)
        if (um_list_rows[*list].revokes && (n = revocations(w, *list)))
            break;
    return n;
}

umbel_status um_why_init(um_why *w, const um_environment *env,
                         const um_why_question *q, umbel_error *err)
{
    *w = (um_why){.env = env,
                  .facts = q->facts,
                  .sender = q->sender,
                  .client = q->client,
                  .config = q->config};
    if (q->facts && !q->client)
        w->client = q->facts->received;
    w->signature = calloc(UM_WHY_SIGNATURES, sizeof *w->signature);
    if (!w->signature)
        return um_no_memory(err, UM_WHY_SIGNATURES * sizeof *w->signature);
    umbel_status status = UMBEL_OK;
    if (q->facts)
        add_facts(w);
    else
        status = add_digests(w, q, err);
    if (status != UMBEL_OK) {
        um_why_fini(w);
        return status;
    }
    for (size_t i = 0; i < w->n; i++)
        look_up(env, &w->signature[i]);
    match_welcome(w);
    judge_counts(w);
    return UMBEL_OK;
}

void um_why_fini(um_why *w)
{
    free(w->signature);
    w->signature = NULL;
}
