/*
 * mails.c - the signatures of a mail: as keys, looked up, reported and revoked.
 */
#include "clearinghouse/lists/mails.h"

#include "base/error.h"
#include "clearinghouse/lists/internal.h"

#include <string.h>

/* --- keys ----------------------------------------------------------------- */

_Static_assert((int)UM_DIGEST_BYTES == (int)UM_SIGNATURE_LEN, "a SHA-1");

static void add_signature(um_mail_keys *k, um_mail_key kind,
                          const um_signature *s)
{
    if (!s->present)
        return;
    k->kind[k->n] = kind;
    k->key[k->n] = um_signature_print(s->digest, k->text[k->n]);
    k->n++;
}

void um_mail_keys_read(um_mail_keys *k, const um_mail_facts *facts)
{
    k->n = 0;
    add_signature(k, UM_KEY_EXACT, &facts->exact);
    add_signature(k, UM_KEY_PYZOR, &facts->pyzor);
    for (unsigned i = 0; i < facts->nshingles && i < UM_SHINGLES; i++) {
        k->kind[k->n] = UM_KEY_SHINGLE;
        k->key[k->n] = um_shingle_print(i, facts->shingle[i], k->text[k->n]);
        k->n++;
    }
}

const char *um_mail_key_name(um_mail_key kind)
{
    static const char *const names[] = {[UM_KEY_EXACT] = "exact",
                                        [UM_KEY_PYZOR] = "pyzor",
                                        [UM_KEY_SHINGLE] = "shingle"};

    return names[kind];
}

/* --- counts --------------------------------------------------------------- */

void um_mail_counts_init(um_mail_counts *c, const um_lists *l,
                         const um_mail_facts *facts)
{
    um_mail_keys_read(&c->keys, facts);
    um_store_digest(l->store, c->keys.key, c->keys.n, c->digest);
}

/* Returns the index after the last key of the same kind as key i. */
static size_t end_of_kind(const um_mail_keys *k, size_t i)
{
    size_t end = i + 1;

    while (end < k->n && k->kind[end] == k->kind[i])
        end++;
    return end;
}

void um_mail_counts_ask(um_mail_counts *c, const um_lists *l)
{
    const um_mail_keys *k = &c->keys;

    for (size_t i = 0, end; i < k->n; i = end) {
        end = end_of_kind(k, i);
        um_lists_count(l, UM_LIST_BODY + k->kind[i], c->digest + i, end - i,
                       c->count + i);
    }
}

void um_mail_counts_ask_many(um_mail_counts *c, const um_lists *l,
                             uint64_t many)
{
    const um_mail_keys *k = &c->keys;
    bool reached[UM_MAIL_KEYS];

    for (size_t i = 0, end; i < k->n; i = end) {
        end = end_of_kind(k, i);
        um_lists_reaches(l, UM_LIST_BODY + k->kind[i], c->digest + i, end - i,
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

bool um_mail_is_welcome(const um_lists *l, const um_mail_facts *facts,
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

    return um_welcome_match(l->welcome, &mail, which);
}

/* --- changes -------------------------------------------------------------- */

/* Lists that count signatures which the server computes itself. */
static const struct {
    unsigned list;
    um_mail_key kind;
} rows[] = {{UM_LIST_PYZOR_REPORTS, UM_KEY_PYZOR},
            {UM_LIST_BODY, UM_KEY_EXACT},
            {UM_LIST_FUZ1, UM_KEY_PYZOR},
            {UM_LIST_FUZ2, UM_KEY_SHINGLE}};

enum { MAX_ENTRIES = UM_COUNT(rows) * UM_MAIL_KEYS };

static umbel_status read_keys(um_mail_keys *keys, const um_mail_facts *facts,
                              um_mail_change *out, umbel_error *err)
{
    um_mail_keys_read(keys, facts);
    *out = (um_mail_change){.signatures = keys->n, .notes = facts->notes};
    return keys->n ? UMBEL_OK
                   : um_fail(err, UMBEL_E_RANGE,
                             "the mail has no text that a signature could be "
                             "made of");
}

static umbel_status check_welcome(const um_lists *l, const um_mail_facts *facts,
                                  const um_mail_keys *keys, umbel_error *err)
{
    um_welcome_rule rule;

    if (!um_mail_is_welcome(l, facts, keys, "", "", &rule))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED,
                   "the mail is welcome (rule \"%s %s\"), and was not counted",
                   um_welcome_type_name(rule.type), rule.value);
}

/* Returns how often a report counts in a list: enough for a hit. */
static uint32_t amount_in(const um_lists *l, unsigned list)
{
    unsigned threshold = um_list_threshold(l->opened, list);

    return threshold ? threshold : 1;
}

umbel_status um_mail_report(um_lists *l, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err)
{
    um_mail_keys keys;
    umbel_digest digest[UM_MAIL_KEYS];
    um_entry entry[MAX_ENTRIES];

    UM_TRY(read_keys(&keys, facts, out, err));
    UM_TRY(check_welcome(l, facts, &keys, err));
    um_store_digest(l->store, keys.key, keys.n, digest);
    for (size_t r = 0; r < UM_COUNT(rows); r++) {
        unsigned list = rows[r].list;
        for (size_t i = 0; i < keys.n; i++) {
            if (keys.kind[i] != rows[r].kind ||
                um_forgotten(l, list, &digest[i]))
                continue;
            if (!um_store_accepts(l->store, list, &digest[i], l->clock->now))
                return um_fail(err, UMBEL_E_FULL,
                               "list %s is full, and takes no new digests "
                               "until its epoch ends: raise its capacity",
                               um_list_name(list));
            entry[out->changed++] = (um_entry){.list = list,
                                               .digest = digest[i],
                                               .amount = amount_in(l, list)};
            out->in_list[list] = true;
        }
    }
    return out->changed ? um_store_add(l->store, entry, out->changed,
                                       l->clock->now, &out->ticket, err)
                        : UMBEL_OK;
}

/* Records the lists in which a digest is forgotten. */
static void note_lists(const um_lists *l, const char *text, um_mail_change *out)
{
    umbel_slice key = {text, strlen(text)};
    umbel_digest d;

    um_store_digest(l->store, &key, 1, &d);
    for (unsigned i = 0; i < UM_LISTS; i++)
        out->in_list[i] |= um_forgotten(l, i, &d);
}

umbel_status um_mail_revoke(um_lists *l, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err)
{
    um_mail_keys keys;

    UM_TRY(read_keys(&keys, facts, out, err));
    for (size_t i = 0; i < keys.n; i++) {
        size_t lists;
        umbel_status status =
            um_forget(l, keys.text[i], &lists, &out->ticket, err);
        if (status == UMBEL_E_UNKNOWN)
            continue;
        UM_TRY(status);
        out->changed += lists;
        note_lists(l, keys.text[i], out);
    }
    return UMBEL_OK;
}

/* --- the reply ----------------------------------------------------------- */

static void print_lists(FILE *out, const um_mail_change *r, const char *quote)
{
    const char *between = "";

    for (unsigned i = 0; i < UM_LISTS; i++)
        if (r->in_list[i]) {
            fprintf(out, "%s%s%s%s", between, quote, um_list_name(i), quote);
            between = ", ";
        }
}

void um_mail_change_print(FILE *out, const um_mail_change *r, const char *done,
                          bool json)
{
    if (json) {
        fprintf(out, "{\"%s\": %s, \"signatures\": %zu, \"lists\": [", done,
                r->changed ? "true" : "false", r->signatures);
        print_lists(out, r, "\"");
        fprintf(out, "], \"wrapped\": %s, \"unmarked\": %s}\n",
                r->notes & UM_MAIL_WRAPPED ? "true" : "false",
                r->notes & UM_MAIL_UNMARKED ? "true" : "false");
    } else if (r->changed) {
        fprintf(out, "%s in ", done);
        print_lists(out, r, "");
        if (r->notes & UM_MAIL_WRAPPED)
            fputs(" (the original that SpamAssassin had wrapped)", out);
        if (r->notes & UM_MAIL_UNMARKED)
            fputs(" (as it is: it looks like a wrapper of SpamAssassin, but "
                  "its header lacks X-Spam-Checker-Version, or yes in "
                  "X-Spam-Flag and X-Spam-Status)",
                  out);
        putc('\n', out);
    } else {
        fprintf(out,
                "nothing to be %s: its signatures are forgotten, or in no "
                "list; umbel clearinghouse why MAIL shows them\n",
                done);
    }
}
