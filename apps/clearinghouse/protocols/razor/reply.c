/*
 * reply.c - replies to Razor2 clients, sent now or after the commit.
 *
 * A client reads once, at most 1,024 bytes, and assumes that this is the whole
 * reply. So each reply is one write that fits. While one waits for the store
 * the session does not read, so replies come in the order of the requests.
 */
#include "clearinghouse/protocols/razor/internal.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- verdicts ------------------------------------------------------------- */

const um_verdict um_razor_verdicts[] = {
    [UM_RAZOR_OK] = {200, "OK", NULL},
    [UM_RAZOR_WANTS_MAIL] = {230, "send the mail", NULL},
    [UM_RAZOR_NAME_TAKEN] = {210, "the name is taken", "name_taken"},
    [UM_RAZOR_UNKNOWN_USER] = {213, "no such account", "unknown_user"},
    [UM_RAZOR_MALFORMED] = {400, "not a query", "malformed"},
    [UM_RAZOR_NOT_AUTHENTICATED] = {401, "not authenticated",
                                    "not_authenticated"},
    [UM_RAZOR_WRONG_PASSWORD] = {401, "wrong password, or no such account",
                                 "wrong_password"},
    [UM_RAZOR_LOGIN_LIMIT] = {429, "too many wrong passwords", "login_limit"},
    [UM_RAZOR_CLOSED] = {403, "registration is closed", "closed"},
    [UM_RAZOR_NO_ENGINE] = {404, "an engine other than 4", "engine"},
    [UM_RAZOR_NO_SIGNATURE] = {409, "a mail without a report of its signature",
                               "no_signature"},
    [UM_RAZOR_WRONG_SEED] = {409, "another seed than ours", "wrong_seed"},
    [UM_RAZOR_TOO_MANY] = {413, "a batch of too many queries", "long_batch"},
    [UM_RAZOR_RATE_LIMIT] = {429, "too many requests of its network",
                             "rate_limit"},
    [UM_RAZOR_SIGNUP_LIMIT] = {429, "too many registrations of its network",
                               "registration_limit"},
    [UM_RAZOR_NO_ACTION] = {501, "no such action", "unknown_action"},
    [UM_RAZOR_NOT_STORED] = {503, "not counted: the disk cannot be written",
                             "not_stored"},
    [UM_RAZOR_ACCOUNTS_FULL] = {507, "too many accounts", "accounts_full"},
    [UM_RAZOR_NEW_LIMIT] = {429, "not counted: " UM_TEXT_NEW_LIMIT,
                            "new_digests"},
    [UM_RAZOR_SHARE_FULL] = {507, "not counted: " UM_TEXT_SHARE_FULL,
                             "anonymous_full"},
    [UM_RAZOR_LIST_FULL] = {507, "not counted: the list is full", "list_full"},
    UM_END_VERDICTS(UM_RAZOR_ENDS)};
_Static_assert(UM_COUNT(um_razor_verdicts) <= UM_MAX_VERDICTS,
               "space for verdicts");

/* --- bytes ---------------------------------------------------------------- */

/*
 * Only engine 4 is offered: signatures of other engines depend only on the
 * domains of links, and would match much ordinary mail. The mask has the bit of
 * engine 4, in hexadecimal.
 */
#define ENGINES "8"

enum { ENGINE = 4, BATCH_KB = 128 };

size_t um_razor_print(const um_razor_answer *a, char *out)
{
    bool shown = a->is_check && (a->outcome == UM_RAZOR_OK ||
                                 a->outcome == UM_RAZOR_NO_ENGINE ||
                                 a->outcome == UM_RAZOR_WRONG_SEED);
    enum { MOST = 24 };

    if (shown && a->confidence)
        return (size_t)snprintf(out, MOST, "p=1&cf=%u&ct=0\r\n", a->confidence);
    if (shown)
        return (size_t)snprintf(out, MOST, "p=0\r\n");
    if (a->outcome == UM_RAZOR_OK || a->outcome == UM_RAZOR_WRONG_PASSWORD)
        return (size_t)snprintf(out, MOST, "res=%d\r\n",
                                a->outcome == UM_RAZOR_OK);
    return (size_t)snprintf(out, MOST, "err=%u\r\n",
                            um_razor_verdicts[a->outcome].code);
}

size_t um_razor_print_greeting(const um_razor_state *s,
                               char out[UM_RAZOR_REPLY])
{
    return (size_t)snprintf(out, UM_RAZOR_REPLY,
                            "sn=C&srl=%" PRIu64 "&ep4=%s&a=l&a=cg\r\n",
                            s->serial, s->seed);
}

size_t um_razor_print_state(const um_razor_state *s, char out[UM_RAZOR_REPLY])
{
    return (size_t)snprintf(out, UM_RAZOR_REPLY,
                            "-ep4=%s\r\nse=" ENGINES "\r\nac=%" PRIu64
                            "\r\nbql=%d\r\nbqs=%d\r\ndre=%d\r\nsn=C\r\n"
                            "zone=razor2.umbel\r\n.\r\n",
                            s->seed, s->confidence, UM_RAZOR_BATCH, BATCH_KB,
                            ENGINE);
}

/* Prints the addresses. A single line is not sent as a batch, which clients
 * would misread. */
size_t um_razor_print_addresses(const um_razor_state *s, const char *key,
                                char out[UM_RAZOR_REPLY])
{
    enum { END = 3 };
    size_t len = 0;

    for (size_t i = 0; i < s->naddresses; i++) {
        size_t room = UM_RAZOR_REPLY - END - len;
        int more = snprintf(out + len, room, "%s%s=%s\r\n",
                            i == 0 && s->naddresses > 1 ? "-" : "", key,
                            s->address[i]);
        if ((size_t)more >= room)
            break;
        len += (size_t)more;
    }
    if (s->naddresses > 1)
        len += (size_t)snprintf(out + len, END + 1, ".\r\n");
    return len;
}

/* --- replies -------------------------------------------------------------- */

void um_razor_send(um_razor_session *s, umbel_slice text)
{
    um_stream_write(s->stream, text);
}

void um_razor_note(um_razor_service *f, um_razor_op op,
                   um_razor_outcome outcome, const um_address *client,
                   umbel_slice user)
{
    um_claim claim = {.user = user};

    um_service_count(f->stats, op, outcome);
    if (um_razor_verdicts[outcome].reason)
        um_service_log_refusal(f->stats, outcome, client, &claim);
}

void um_razor_refuse(um_razor_session *s, um_razor_op op,
                     um_razor_outcome outcome)
{
    um_razor_answer a = {.outcome = outcome};
    char text[UM_RAZOR_REPLY];

    s->malformed |= um_razor_is_malformed(outcome);
    um_razor_note(s->service, op, outcome, um_stream_peer(s->stream),
                  um_razor_user_of(s));
    um_razor_send(s, (umbel_slice){text, um_razor_print(&a, text)});
}

/* --- pending replies ------------------------------------------------------ */

static void note_counted(um_razor_service *f,
                         const uint8_t counted[UM_RAZOR_OPS],
                         um_razor_outcome outcome, const um_address *client)
{
    for (unsigned op = 0; op < UM_RAZOR_OPS; op++)
        for (unsigned i = 0; i < counted[op]; i++)
            um_razor_note(f, (um_razor_op)op, outcome, client,
                          (umbel_slice){NULL, 0});
}

static void wait_for_store(um_razor_session *s, um_razor_pending *p)
{
    um_razor_service *f = s->service;

    s->pending = p;
    if (f->last)
        f->last->next = p;
    else
        f->first = p;
    f->last = p;
    um_stream_pause(s->stream);
}

bool um_razor_send_committed(um_razor_session *s, uint64_t ticket,
                             const uint8_t counted[UM_RAZOR_OPS],
                             umbel_slice text, umbel_slice failed)
{
    um_razor_service *f = s->service;
    const um_address *client = um_stream_peer(s->stream);
    um_razor_pending *p;

    if (ticket <= um_store_committed(f->env->store)) {
        note_counted(f, counted, UM_RAZOR_OK, client);
        um_razor_send(s, text);
        return true;
    }
    p = malloc(sizeof *p + text.len + failed.len);
    if (!p) {
        um_stream_close(s->stream, UM_END_MEMORY);
        return false;
    }
    *p = (um_razor_pending){.session = s,
                            .ticket = ticket,
                            .client = *client,
                            .len = text.len,
                            .failed_len = failed.len};
    memcpy(p->counted, counted, sizeof p->counted);
    memcpy(p->text, text.data, text.len);
    memcpy(p->text + text.len, failed.data, failed.len);
    wait_for_store(s, p);
    return true;
}

static void send_pending(um_razor_service *f, um_razor_pending *p, bool stored)
{
    um_razor_session *s = p->session;

    note_counted(f, p->counted, stored ? UM_RAZOR_OK : UM_RAZOR_NOT_STORED,
                 &p->client);
    if (s) {
        s->pending = NULL;
        um_razor_send(s, stored
                             ? (umbel_slice){p->text, p->len}
                             : (umbel_slice){p->text + p->len, p->failed_len});
        um_stream_resume(s->stream);
    }
    free(p);
}

void um_razor_answer_pending(um_razor_service *f)
{
    const um_store *store = f->env->store;
    uint64_t committed = um_store_committed(store);
    bool failed = um_store_failure(store);

    while (f->first && (failed || f->first->ticket <= committed)) {
        um_razor_pending *p = f->first;

        f->first = p->next;
        if (!f->first)
            f->last = NULL;
        send_pending(f, p, p->ticket <= committed);
    }
}
