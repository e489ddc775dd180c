/*
 * mail_answer.c - arbitrary answers, as from a compromised mail worker.
 *
 * An accepted answer has its numbers in range and its texts terminated, and
 * encodes to the same bytes.
 */
#include "fuzz.h"

#include "mail/internal.h"

#include <string.h>

static bool ends(const char *text, size_t cap)
{
    return memchr(text, '\0', cap) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t bytes[UM_MAIL_ANSWER] = {0}, again[UM_MAIL_ANSWER];
    um_mail_request request;
    um_mail_answer a;

    memcpy(bytes, data, len < sizeof bytes ? len : sizeof bytes);
    um_mail_request_decode(bytes, &request);
    if (!um_mail_answer_decode(bytes, &a))
        return 0;
    UM_WANT(a.kind < UM_MAIL_ANSWER_KINDS);
    UM_WANT(a.facts.nshingles <= UM_SHINGLES);
    UM_WANT(ends(a.facts.from_domain, sizeof a.facts.from_domain) &&
            ends(a.facts.list_id, sizeof a.facts.list_id) &&
            ends(a.facts.received, sizeof a.facts.received) &&
            ends(a.facts.sample, sizeof a.facts.sample));
    um_mail_answer_encode(&a, again);
    UM_WANT(memcmp(bytes, again, sizeof again) == 0);
    return 0;
}
