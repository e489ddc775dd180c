/*
 * razor.c - arbitrary streams of a Razor2 client: lines, batches and mails.
 *
 * The first byte is the piece length. However the stream is split, the same
 * requests are found; each query lies within its request; an accepted signature
 * is the code of its digest; unescaped text can be escaped again.
 */
#include "fuzz.h"

#include "clearinghouse/protocols/razor/internal.h"

#include <string.h>

enum { MOST = 4096 }; /* requests per stream */

typedef struct finding {
    size_t len[MOST];
    size_t n;
    bool too_long;
} finding;

static bool lies_in(umbel_slice s, const uint8_t *at, size_t len)
{
    const uint8_t *from = s.data;

    return !from || (from >= at && from + s.len <= at + len);
}

static void check_signature(umbel_slice text)
{
    uint8_t digest[UM_DIGEST_BYTES];
    char back[UM_RAZOR_TEXT + 1];

    if (!um_razor_decode(text, digest))
        return;
    um_razor_encode(digest, back);
    UM_WANT(memcmp(back, text.data, text.len) == 0);
}

static void check_escapes(umbel_slice value)
{
    char plain[64], escaped[3 * sizeof plain + 1], again[sizeof plain];
    size_t len, n;

    if (!um_razor_unescape(value, plain, sizeof plain, &len))
        return;
    size_t m = um_razor_escape((umbel_slice){plain, len}, escaped);
    UM_WANT(m < sizeof escaped && strlen(escaped) == m);
    UM_WANT(
        um_razor_unescape((umbel_slice){escaped, m}, again, sizeof again, &n));
    UM_WANT(n == len && memcmp(again, plain, n) == 0);
}

static void check_queries(const um_razor_request *r, const uint8_t *at)
{
    um_razor_walk w = um_razor_begin(r);
    um_razor_query q;
    size_t n = 0;

    for (; um_razor_next(&w, &q); n++)
        for (unsigned k = 0; k < UM_RAZOR_KEYS; k++) {
            UM_WANT(lies_in(q.value[k], at, r->len));
            if (!q.malformed && q.value[k].data)
                check_escapes(q.value[k]);
            if (q.value[k].data)
                check_signature(q.value[k]);
        }
    UM_WANT(n <= r->len + 1);
    UM_WANT(r->form != UM_RAZOR_LINE || n == 1);
}

static size_t parse_mail(const uint8_t *at, size_t len, unsigned *matched,
                         bool *in_mail)
{
    bool over;
    size_t taken = um_razor_skip_mail(at, len, matched, &over);

    UM_WANT(taken <= len && (over || taken == len));
    *in_mail = !over;
    return taken;
}

/* Parses the stream in pieces, retaining unconsumed bytes as um_stream does. */
static void parse_pieces(finding *f, const uint8_t *data, size_t len,
                         size_t piece)
{
    size_t at = 0, end = 0, mail = 0;
    unsigned matched = 0;
    bool in_mail = false;

    while (end < len && !f->too_long && f->n < MOST) {
        end = len - end < piece ? len : end + piece;
        while (at < end && f->n < MOST) {
            if (in_mail) {
                size_t taken =
                    parse_mail(data + at, end - at, &matched, &in_mail);
                at += taken;
                mail += taken;
                if (!in_mail)
                    f->len[f->n++] = mail;
                continue;
            }
            um_razor_request r = um_razor_find(data + at, end - at);
            UM_WANT(r.len <= end - at && (r.len || r.form == UM_RAZOR_MORE));
            if (r.form == UM_RAZOR_MORE) {
                f->too_long = end - at >= UM_RAZOR_REQUEST;
                break;
            }
            check_queries(&r, data + at);
            f->len[f->n++] = r.len;
            at += r.len;
            in_mail = r.form == UM_RAZOR_MAIL;
            matched = UM_RAZOR_MAIL_BEGIN;
            mail = 0;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static finding whole, cut;

    if (len == 0 || len > UM_RAZOR_REQUEST)
        return 0;
    whole.n = cut.n = 0;
    whole.too_long = cut.too_long = false;
    parse_pieces(&whole, data + 1, len - 1, len);
    parse_pieces(&cut, data + 1, len - 1, data[0] + 1u);
    UM_WANT(whole.n == cut.n);
    UM_WANT(memcmp(whole.len, cut.len, whole.n * sizeof whole.len[0]) == 0);
    return 0;
}
