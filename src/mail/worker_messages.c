/*
 * worker_messages.c - requests to workers and their answers, as bytes.
 */
#include "base/bytes.h"
#include "base/text.h"
#include "mail/internal.h"

#include <string.h>

#define REQUEST_MAGIC UINT32_C(0x6d617131)
#define ANSWER_MAGIC UINT32_C(0x6d616131)

enum { CUT = 1, UNWRAP = 2 }; /* added to the magic of a request */

/* --- requests ------------------------------------------------------------- */

void um_mail_request_encode(const um_mail_request *r,
                            uint8_t out[UM_MAIL_REQUEST])
{
    um_writer w = {.at = out, .end = out + UM_MAIL_REQUEST};

    um_write_u32(&w,
                 REQUEST_MAGIC + (r->cut ? CUT : 0) + (r->unwrap ? UNWRAP : 0));
    um_write_u32(&w, r->id);
    um_write_u32(&w, r->len);
}

bool um_mail_request_decode(const uint8_t in[UM_MAIL_REQUEST],
                            um_mail_request *r)
{
    um_reader in_reader = {.at = in, .end = in + UM_MAIL_REQUEST};
    uint32_t bits = um_get_u32(&in_reader) - REQUEST_MAGIC;

    r->cut = bits & CUT;
    r->unwrap = bits & UNWRAP;
    r->id = um_get_u32(&in_reader);
    r->len = um_get_u32(&in_reader);
    return bits <= (CUT | UNWRAP);
}

/* --- answers -------------------------------------------------------------- */

static void write_signature(um_writer *w, const um_signature *s)
{
    uint8_t present = s->present;

    um_write_bytes(w, &present, 1);
    um_write_bytes(w, s->digest, sizeof s->digest);
}

void um_mail_answer_encode(const um_mail_answer *a, uint8_t out[UM_MAIL_ANSWER])
{
    um_writer w = {.at = out, .end = out + UM_MAIL_ANSWER};
    const um_mail_facts *f = &a->facts;

    um_write_u32(&w, ANSWER_MAGIC);
    um_write_u32(&w, a->id);
    um_write_u32(&w, (uint32_t)a->kind);
    write_signature(&w, &f->exact);
    write_signature(&w, &f->pyzor);
    um_write_u32(&w, f->nshingles);
    for (size_t i = 0; i < UM_SHINGLES; i++)
        um_write_u64(&w, f->shingle[i]);
    um_write_bytes(&w, f->from_domain, sizeof f->from_domain);
    um_write_bytes(&w, f->list_id, sizeof f->list_id);
    um_write_bytes(&w, f->received, sizeof f->received);
    um_write_bytes(&w, f->sample, sizeof f->sample);
    um_write_u32(&w, f->parts);
    um_write_u64(&w, f->text_bytes);
    um_write_u32(&w, f->notes);
}

static void get_signature(um_reader *r, um_signature *s)
{
    uint8_t present;

    um_get_bytes(r, &present, 1);
    r->bad |= present > 1;
    s->present = present == 1;
    um_get_bytes(r, s->digest, sizeof s->digest);
}

static bool is_plain(const uint8_t *c, size_t len)
{
    return len == 1 ? *c >= 0x20 && *c != 0x7f
                    : len > 1 && !(len == 2 && c[0] == 0xc2 && c[1] < 0xa0);
}

/* Reads a terminated text of printable UTF-8 or, if name is set, of characters
 * of names; only zeroes may follow it. */
static void get_text(um_reader *r, char *out, size_t cap, bool name)
{
    const uint8_t *text = (const uint8_t *)out;
    size_t len, n;

    um_get_bytes(r, out, cap);
    len = strnlen(out, cap);
    if (len == cap || !um_all_zero(out + len, cap - len))
        r->bad = true;
    for (size_t i = 0; i < len && !r->bad; i += n) {
        n = um_utf8_len(text + i, len - i);
        if (!n || !is_plain(text + i, n) ||
            (name &&
             (n > 1 || text[i] <= ' ' || (text[i] >= 'A' && text[i] <= 'Z'))))
            r->bad = true;
    }
}

bool um_mail_answer_decode(const uint8_t in[UM_MAIL_ANSWER], um_mail_answer *a)
{
    um_reader r = {.at = in, .end = in + UM_MAIL_ANSWER};
    um_mail_facts *f = &a->facts;
    uint32_t magic = um_get_u32(&r), kind;

    a->id = um_get_u32(&r);
    kind = um_get_u32(&r);
    if (magic != ANSWER_MAGIC || kind >= UM_MAIL_ANSWER_KINDS)
        return false;
    a->kind = (um_mail_answer_kind)kind;
    get_signature(&r, &f->exact);
    get_signature(&r, &f->pyzor);
    f->nshingles = um_get_u32(&r);
    for (size_t i = 0; i < UM_SHINGLES; i++)
        f->shingle[i] = um_get_u64(&r);
    get_text(&r, f->from_domain, sizeof f->from_domain, true);
    get_text(&r, f->list_id, sizeof f->list_id, true);
    get_text(&r, f->received, sizeof f->received, true);
    get_text(&r, f->sample, sizeof f->sample, false);
    f->parts = um_get_u32(&r);
    f->text_bytes = um_get_u64(&r);
    f->notes = um_get_u32(&r);
    return !r.bad && (f->nshingles == 0 || f->nshingles == UM_SHINGLES) &&
           f->notes < 1u << UM_MAIL_NOTES;
}
