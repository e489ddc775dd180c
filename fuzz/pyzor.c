/*
 * pyzor.c - arbitrary Pyzor requests and account files.
 *
 * The input is a request, a passwd file and an access file, separated by NUL
 * bytes. Whatever they are, a verified request has an answer that fits its
 * buffer, and a request signed here is accepted.
 */
#include "fuzz.h"

#include "clearinghouse/protocols/pyzor/internal.h"

#include <string.h>

enum { NOW = 1794768499 };

/* Returns the bytes up to the next NUL byte, and removes them from rest. */
static umbel_slice cut(umbel_slice *rest)
{
    const char *at = rest->data, *nul = memchr(at, '\0', rest->len);
    umbel_slice part = {at, nul ? (size_t)(nul - at) : rest->len};

    *rest = nul ? (umbel_slice){nul + 1, rest->len - part.len - 1}
                : (umbel_slice){NULL, 0};
    return part;
}

static bool lies_in(umbel_slice s, umbel_slice text)
{
    const char *at = s.data, *from = text.data;

    return !at || (at >= from && at + s.len <= from + text.len);
}

static void check_fields(const um_pyzor_request *r)
{
    umbel_slice d;
    size_t n = 0;

    for (um_pyzor_walk w = um_pyzor_begin(r->text);
         um_pyzor_next_digest(&w, &d); n++)
        UM_WANT(lies_in(d, r->text));
    UM_WANT(n == r->ndigests);
    UM_WANT(lies_in(r->op, r->text) && lies_in(r->thread, r->text));
    UM_WANT(lies_in(r->sig, r->text) && lies_in(r->user, r->text));
}

static void answer(const um_pyzor_request *r, um_pyzor_outcome outcome)
{
    char out[UM_PYZOR_REPLY_MAX];
    um_pyzor_reply reply = {.code = um_pyzor_verdicts[outcome].code,
                            .diag = um_pyzor_verdicts[outcome].diag,
                            .thread = r->thread,
                            .body = UM_PYZOR_TIMES_AND_COUNTS,
                            .count = UINT64_MAX};
    size_t len = um_pyzor_print(&reply, out);

    UM_WANT(len < sizeof out && memcmp(out + len - 2, "\n\n", 2) == 0);
    UM_WANT(!memchr(out, '\0', len));
}

/* Signs the request with an account that may do everything, and verifies it. */
static void sign_and_verify(umbel_slice text)
{
    static const char passwd[] = "u : 12", access[] = "all : u : allow";
    char bytes[2 * UM_PYZOR_MAX], sig[UM_SHA1_HEX + 1];
    um_pyzor_accounts a;
    um_pyzor_request r;
    um_pyzor_decision judged;
    static const char head[] = "User: u\nTime: 1794768499\nSig: ";
    static const char tail[] = "\nX: so that the text continues no signature\n";

    UM_WANT(um_pyzor_accounts_read(&a, (umbel_slice){passwd, strlen(passwd)},
                                   (umbel_slice){access, strlen(access)}, NULL,
                                   NULL) == UMBEL_OK);
    size_t at = strlen(head);
    memcpy(bytes, head, at);
    memset(bytes + at, '0', UM_SHA1_HEX);
    memcpy(bytes + at + UM_SHA1_HEX, tail, strlen(tail));
    umbel_slice whole = {bytes, at + UM_SHA1_HEX + strlen(tail) + text.len};
    memcpy(bytes + whole.len - text.len, text.data, text.len);
    um_pyzor_sign(whole, NOW,
                  um_pyzor_account_find(&a, (umbel_slice){"u", 1})->hashed_key,
                  sig);
    memcpy(bytes + at, sig, UM_SHA1_HEX);
    um_pyzor_parse(whole.data, whole.len, &r);
    um_pyzor_outcome outcome = um_pyzor_decide(&r, &a, NOW, &judged);
    UM_WANT(outcome != UM_PYZOR_BAD_SIGNATURE);
    UM_WANT(outcome == UM_PYZOR_ANSWER || (judged.is_signed && judged.account));
    um_pyzor_accounts_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    umbel_slice rest = {data, len};
    umbel_slice text = cut(&rest), passwd = {0}, access = {0};
    um_pyzor_accounts accounts;
    um_pyzor_request r;
    um_pyzor_decision judged;

    if (len == 0 || text.len > UM_PYZOR_MAX - 200)
        return 0;
    if (rest.data)
        passwd = cut(&rest);
    if (rest.data)
        access = cut(&rest);
    UM_WANT(um_pyzor_accounts_read(&accounts, passwd, access, NULL, NULL) ==
            UMBEL_OK);
    um_pyzor_parse(text.data, text.len, &r);
    check_fields(&r);
    um_pyzor_outcome outcome = um_pyzor_decide(&r, &accounts, NOW, &judged);
    UM_WANT(outcome != UM_PYZOR_OK || (judged.account && judged.op < 6));
    answer(&r, outcome);
    sign_and_verify(text);
    um_pyzor_accounts_fini(&accounts);
    return 0;
}
