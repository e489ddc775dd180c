/*
 * mail_change.c - one report reaches all lists.
 */
#include "clearinghouse/lists/mail_change.h"

#include "base/error.h"
#include "clearinghouse/lists/forget.h"
#include "clearinghouse/lists/mail_counts.h"
#include "clearinghouse/protocols/pyzor/protocol.h"

#include <string.h>

/* Lists that count a signature the server computes itself. */
static const struct {
    const um_protocol *front;
    unsigned list; /* of its own */
    um_mail_key kind;
} rows[] = {{&um_protocol_pyzor, UM_PYZOR_REPORTS, UM_KEY_PYZOR},
            {&um_protocol_dccifd, 0, UM_KEY_EXACT},
            {&um_protocol_dccifd, 1, UM_KEY_PYZOR},
            {&um_protocol_dccifd, 2, UM_KEY_SHINGLE}};

enum { MAX_ENTRIES = UM_COUNT(rows) * UM_MAIL_KEYS };

static umbel_status read_keys(um_mail_keys *keys, const um_mail_facts *facts,
                              um_mail_change *out, umbel_error *err)
{
    um_mail_keys_read(keys, facts);
    *out = (um_mail_change){.signatures = keys->n};
    return keys->n ? UMBEL_OK
                   : um_fail(err, UMBEL_E_RANGE,
                             "the mail has no text that a signature could be "
                             "made of");
}

static umbel_status check_welcome(const um_server *h,
                                  const um_mail_facts *facts,
                                  const um_mail_keys *keys, umbel_error *err)
{
    um_welcome_rule rule;

    if (!um_mail_is_welcome(h, facts, keys, "", "", &rule))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED,
                   "the mail is welcome (rule \"%s %s\"), and was not counted",
                   um_welcome_type_name(rule.type), rule.value);
}

/* How often a report counts: until the front calls it a hit. */
static uint32_t amount_in(const um_server *h, const um_protocol *f)
{
    return f->threshold ? f->threshold(um_config_protocol(&h->opened, f)) : 1;
}

umbel_status um_mail_report(um_server *h, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err)
{
    um_mail_keys keys;
    umbel_digest digest[UM_MAIL_KEYS];
    um_entry entry[MAX_ENTRIES];

    UM_TRY(read_keys(&keys, facts, out, err));
    UM_TRY(check_welcome(h, facts, &keys, err));
    um_store_digest(h->store, keys.key, keys.n, digest);
    for (size_t r = 0; r < UM_COUNT(rows); r++) {
        unsigned list = um_server_first_list(rows[r].front) + rows[r].list;
        for (size_t i = 0; i < keys.n; i++) {
            if (keys.kind[i] != rows[r].kind ||
                um_forgotten(h, list, &digest[i]))
                continue;
            if (!um_store_accepts(h->store, list, &digest[i], h->now))
                return um_fail(err, UMBEL_E_FULL,
                               "list %s is full, and takes no new digests "
                               "until its epoch ends: raise its capacity",
                               um_protocol_list(list));
            entry[out->changed++] =
                (um_entry){.list = list,
                           .digest = digest[i],
                           .amount = amount_in(h, rows[r].front)};
            out->in_list[list] = true;
        }
    }
    return out->changed ? um_store_add(h->store, entry, out->changed, h->now,
                                       &out->ticket, err)
                        : UMBEL_OK;
}

/* Notes in which lists a digest is forgotten. */
static void note_lists(const um_server *h, const char *text,
                       um_mail_change *out)
{
    umbel_slice key = {text, strlen(text)};
    umbel_digest d;

    um_store_digest(h->store, &key, 1, &d);
    for (unsigned i = 0; um_protocol_list(i); i++)
        out->in_list[i] |= um_forgotten(h, i, &d);
}

umbel_status um_mail_revoke(um_server *h, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err)
{
    um_mail_keys keys;

    UM_TRY(read_keys(&keys, facts, out, err));
    for (size_t i = 0; i < keys.n; i++) {
        size_t lists;
        umbel_status status =
            um_forget(h, keys.text[i], &lists, &out->ticket, err);
        if (status == UMBEL_E_UNKNOWN)
            continue;
        UM_TRY(status);
        out->changed += lists;
        note_lists(h, keys.text[i], out);
    }
    return UMBEL_OK;
}

/* --- the reply ----------------------------------------------------------- */

static void print_lists(FILE *out, const um_mail_change *r, const char *quote)
{
    const char *between = "";

    for (unsigned i = 0; um_protocol_list(i); i++)
        if (r->in_list[i]) {
            fprintf(out, "%s%s%s%s", between, quote, um_protocol_list(i),
                    quote);
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
        fputs("]}\n", out);
    } else if (r->changed) {
        fprintf(out, "%s in ", done);
        print_lists(out, r, "");
        putc('\n', out);
    } else {
        fprintf(out,
                "nothing to be %s: its signatures are forgotten, or in no "
                "list; umbel clearinghouse why MAIL shows them\n",
                done);
    }
}
