/*
 * pyzor_rules.c - decides how a request is answered: checks in pyzord's order.
 *
 * An answer gets no answer: a forged datagram would make two servers answer
 * each other for ever.
 *
 * Codes are pyzord's, but for two. A request that is too long gets 413, where
 * pyzord counts what fits. A signed request without a time gets 401, where
 * pyzord answers with the text of an exception. An unknown account and a wrong
 * signature get the same answer, so that strangers cannot list the accounts.
 */
#include "clearinghouse/protocols/pyzor/rules.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define UNAUTHORIZED "Unauthorized: account, time or signature is wrong"

const um_verdict um_pyzor_verdicts[UM_PYZOR_OUTCOMES + 1] = {
    [UM_PYZOR_OK] = {200, "OK", NULL},
    [UM_PYZOR_TOO_LONG] = {413, "Bad request: longer than 8192 bytes",
                           "too_long"},
    [UM_PYZOR_UNKNOWN_USER] = {401, UNAUTHORIZED, "unknown_user"},
    [UM_PYZOR_BAD_TIME] = {401, UNAUTHORIZED, "time"},
    [UM_PYZOR_BAD_SIGNATURE] = {401, UNAUTHORIZED, "signature"},
    [UM_PYZOR_BAD_VERSION] = {400, "Bad request: PV is missing or no number",
                              "malformed"},
    [UM_PYZOR_OTHER_VERSION] = {505, "Version Not Supported", "version"},
    [UM_PYZOR_FORBIDDEN] = {403, "Forbidden", "forbidden"},
    [UM_PYZOR_NOT_IMPLEMENTED] = {501, "Not implemented", "not_implemented"},
    [UM_PYZOR_NOT_STORED] = {503, "Service Unavailable: not counted, try later",
                             "not_stored"},
    [UM_PYZOR_LIST_FULL] = {503,
                            "Service Unavailable: not counted, list is full",
                            "list_full"},
    [UM_PYZOR_ANSWER] = {400, "Bad request: the answer of a server", "answer"},
    [UM_PYZOR_RATE_LIMIT] = {429, "Too Many Requests", "rate_limit"},
};

static um_pyzor_outcome check_signature(const um_pyzor_request *r,
                                        const um_pyzor_account *account,
                                        uint64_t now)
{
    char expected[UM_SHA1_HEX + 1];
    uint64_t time;

    if (!account || !account->listed)
        return UM_PYZOR_UNKNOWN_USER;
    if (!r->time.data || !um_pyzor_time(r->time, &time) ||
        (time > now ? time - now : now - time) > UM_PYZOR_WINDOW)
        return UM_PYZOR_BAD_TIME;
    um_pyzor_sign(r->text, time, account->hashed_key, expected);
    if (r->sig.len != UM_SHA1_HEX ||
        sodium_memcmp(r->sig.data, expected, UM_SHA1_HEX) != 0)
        return UM_PYZOR_BAD_SIGNATURE;
    return UM_PYZOR_OK;
}

/* PV is any number whose whole part is 2. */
static um_pyzor_outcome check_version(umbel_slice pv)
{
    char text[32], *end;

    if (!pv.data || pv.len == 0 || pv.len >= sizeof text ||
        memchr(pv.data, 'x', pv.len) || memchr(pv.data, 'X', pv.len))
        return UM_PYZOR_BAD_VERSION;
    memcpy(text, pv.data, pv.len);
    text[pv.len] = '\0';
    double version = strtod(text, &end);
    end += strspn(end, " \t");
    if (end == text || end != text + pv.len || !isfinite(version))
        return UM_PYZOR_BAD_VERSION;
    return trunc(version) == 2 ? UM_PYZOR_OK : UM_PYZOR_OTHER_VERSION;
}

static um_pyzor_outcome check_access(const um_pyzor_request *r,
                                     const um_pyzor_accounts *accounts,
                                     const um_pyzor_account *account,
                                     unsigned *op)
{
    unsigned found =
        r->op.data ? um_pyzor_op_find(accounts, r->op) : UM_PYZOR_MAX_OPS;

    *op = found < UM_PYZOR_OPS ? found : UM_PYZOR_OPS;
    if (found == UM_PYZOR_MAX_OPS || !(account->granted >> found & 1))
        return UM_PYZOR_FORBIDDEN;
    return found < UM_PYZOR_OPS ? UM_PYZOR_OK : UM_PYZOR_NOT_IMPLEMENTED;
}

um_pyzor_outcome um_pyzor_judge(const um_pyzor_request *r,
                                const um_pyzor_accounts *accounts, uint64_t now,
                                um_pyzor_judged *out)
{
    umbel_slice user = {UM_PYZOR_ANONYMOUS, strlen(UM_PYZOR_ANONYMOUS)};
    um_pyzor_outcome outcome = UM_PYZOR_OK;

    *out = (um_pyzor_judged){.op = UM_PYZOR_OPS};
    if (r->code.data)
        return UM_PYZOR_ANSWER;
    if (r->user.len && !um_pyzor_is(r->user, UM_PYZOR_ANONYMOUS)) {
        user = r->user;
        out->is_signed = true;
    }
    const um_pyzor_account *account = um_pyzor_account_find(accounts, user);
    if (out->is_signed)
        outcome = check_signature(r, account, now);
    if (outcome)
        return outcome;
    out->account = account;
    outcome = check_version(r->pv);
    return outcome ? outcome : check_access(r, accounts, account, &out->op);
}

bool um_pyzor_is_empty_text(umbel_slice digest)
{
    return um_pyzor_is(digest, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}
