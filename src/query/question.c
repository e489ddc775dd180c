/*
 * question.c - what a user wrote, as the keys to ask of a filter.
 *
 * All keys of a question are asked with one call, so that memory fetches
 * overlap. Their number is bounded whatever the file or the text says: by the
 * labels of a name, and by the prefix lengths that exist.
 */
#include "query/internal.h"

#include "base/error.h"
#include "base/hex.h"

#include <umbel/describe.h>
#include <umbel/umbel.h>

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)UM_MAX_CANDIDATES >= (int)UM_LABELS_MAX &&
                   UM_MAX_CANDIDATES >= 129,
               "a question holds all labels, and all prefixes of IPv6");
_Static_assert(sizeof(((um_question *)NULL)->few) >=
                   (size_t)129 * UM_NETWORK_V6,
               "all prefixes of IPv6 have space");

const char *um_form_option(umbel_key_form form)
{
    static const char *const names[] = {"text",   "text",   "hex",    "integer",
                                        "folded", "sha1",   "sha256", "md5",
                                        "ntlm",   "domain", "network"};

    return names[form];
}

bool um_form_asks_several(umbel_key_form form)
{
    return form > UMBEL_KEYS_FOLDED_TEXT;
}

static void add_key(um_question *q, umbel_slice key)
{
    q->key[q->n++] = key;
}

/* The digest of the text comes first: a text that is both a member and the
 * digest of one is reported as a member. */
static void expand_digest(um_question *q, umbel_slice stored)
{
    uint8_t *own = q->few + sizeof q->few - stored.len;

    add_key(q, stored);
    if (!q->digests && q->text.len == 2 * stored.len &&
        um_hex_decode(q->text.data, q->text.len, own))
        add_key(q, (umbel_slice){own, stored.len});
}

static void expand_domain(um_question *q, umbel_slice name)
{
    const uint8_t *at = name.data;
    uint64_t dots[UM_DOT_WORDS];

    add_key(q, name);
    um_find_dots(name, dots);
    for (size_t i = 0; i < UM_DOT_WORDS; i++)
        for (; dots[i]; dots[i] &= dots[i] - 1) {
            size_t next = 64 * i + (size_t)__builtin_ctzll(dots[i]) + 1;
            add_key(q, (umbel_slice){at + next, name.len - next});
        }
}

/* Returns true if the filter may have prefixes of that length. */
static bool has_length(const um_prefix_lengths *p, bool v6, unsigned bits)
{
    if (!p || !(p->word[0] & UM_PREFIXES_RECORDED))
        return true;
    if (v6 && bits == 128)
        return p->word[0] & UM_PREFIXES_V6_HOST;
    return (v6 ? p->word[1 + bits / 64] >> bits % 64 : p->word[0] >> bits) & 1;
}

static void expand_network(um_question *q, const umbel_filter *f,
                           umbel_slice stored)
{
    const um_prefix_lengths *known = um_prefixes_of(f);
    uint8_t *at = q->few, own[UM_NETWORK_V6];

    memcpy(own, stored.data, stored.len); /* may be in q->few */
    for (unsigned bits = own[0] + 1u; bits-- > 0;) {
        own[0] = (uint8_t)bits;
        um_mask_prefix(own, stored.len);
        if (!has_length(known, stored.len == UM_NETWORK_V6, bits))
            continue;
        memcpy(at, own, stored.len);
        add_key(q, (umbel_slice){at, stored.len});
        at += stored.len;
    }
}

void um_question_expand(um_question *q, const umbel_filter *f,
                        umbel_slice stored, umbel_slice text)
{
    q->n = 0;
    q->form = umbel_key_form_of(f);
    q->text = text;
    if (!q->raw && um_form_digest_len(q->form))
        expand_digest(q, stored);
    else if (!q->raw && q->form == UMBEL_KEYS_DOMAIN)
        expand_domain(q, stored);
    else if (!q->raw && q->form == UMBEL_KEYS_NETWORK)
        expand_network(q, f, stored);
    else
        add_key(q, stored);
}

/* Returns space for what len bytes become; NULL when out of memory. */
static uint8_t *reserve(um_question *q, size_t len)
{
    if (UM_FORM_SPACE(len) <= sizeof q->few - UM_DIGEST_LEN)
        return q->few;
    q->space.len = 0;
    q->space.failed = false;
    return um_buffer_reserve(&q->space, UM_FORM_SPACE(len));
}

umbel_status um_question_set(um_question *q, const umbel_filter *f,
                             umbel_slice text, umbel_error *err)
{
    umbel_key_form form = umbel_key_form_of(f);
    umbel_slice key = text;

    q->n = 0;
    if (form == UMBEL_KEYS_UNRECORDED)
        form = q->unrecorded;
    if (!q->raw) {
        uint8_t *space = reserve(q, text.len);
        if (!space)
            return um_no_memory(err, text.len);
        UM_TRY(um_form_key(form, q->digests, text, space, &key, err));
    }
    um_question_expand(q, f, key, text);
    return UMBEL_OK;
}

static umbel_slice text_of(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

umbel_slice um_question_matched(um_question *q, size_t i)
{
    const uint8_t *key = q->key[i].data;
    char address[INET6_ADDRSTRLEN];

    if (q->raw || !um_form_asks_several(q->form))
        return q->text;
    if (um_form_digest_len(q->form))
        return text_of(i == 0 && !q->digests ? "plain key" : "digest");
    if (q->form == UMBEL_KEYS_DOMAIN)
        return q->key[i];
    inet_ntop(q->key[i].len == UM_NETWORK_V4 ? AF_INET : AF_INET6, key + 1,
              address, sizeof address);
    snprintf(q->matched, sizeof q->matched, "%s/%u", address, key[0]);
    return text_of(q->matched);
}

umbel_status um_question_ask(um_question *q, const umbel_filter *f,
                             um_question_answer *out, umbel_error *err)
{
    bool hit[UM_MAX_CANDIDATES];
    size_t i = 0;

    UM_TRY(umbel_query_many(f, q->key, q->n, hit, err));
    while (i < q->n && !hit[i])
        i++;
    out->hit = i < q->n;
    out->matched = out->hit ? um_question_matched(q, i) : (umbel_slice){"", 0};
    return UMBEL_OK;
}

void um_question_fini(um_question *q)
{
    um_buffer_fini(&q->space);
    q->n = 0;
}

umbel_status umbel_ask(const umbel_filter *f, const void *text, size_t len,
                       bool *hit, char matched[UMBEL_MATCHED_LEN],
                       umbel_error *err)
{
    um_question q;
    um_question_answer answer;

    q.raw = q.digests = false;
    q.unrecorded = UMBEL_KEYS_UNRECORDED;
    q.space = (um_buffer){NULL, 0, 0, false};
    umbel_status status = um_question_set(&q, f, (umbel_slice){text, len}, err);
    if (!status)
        status = um_question_ask(&q, f, &answer, err);
    if (!status) {
        *hit = answer.hit;
        size_t n = um_form_asks_several(q.form) ? answer.matched.len : 0;
        if (matched) {
            memcpy(matched, answer.matched.data, n);
            matched[n] = '\0';
        }
    }
    um_question_fini(&q);
    return status;
}

/* --- errors --------------------------------------------------------------- */

static unsigned count_bits(uint64_t word)
{
    return (unsigned)__builtin_popcountll(word);
}

unsigned um_form_lookups_of(umbel_key_form form)
{
    enum { LABELS = 4, V4_LENGTHS = 33 }; /* of a usual name; at most */

    return form == UMBEL_KEYS_DOMAIN    ? LABELS
           : form == UMBEL_KEYS_NETWORK ? V4_LENGTHS
                                        : 1;
}

unsigned um_form_lookups(const umbel_filter *f)
{
    const um_prefix_lengths *p = um_prefixes_of(f);

    if (!p)
        return um_form_lookups_of(umbel_key_form_of(f));
    if (!(p->word[0] & UM_PREFIXES_RECORDED))
        return 129;
    unsigned v4 = count_bits(p->word[0] & (UM_PREFIXES_V6_HOST - 1)),
             v6 = count_bits(p->word[0] & UM_PREFIXES_V6_HOST) +
                  count_bits(p->word[1]) + count_bits(p->word[2]);
    return v4 > v6 ? v4 : v6;
}

double um_question_error(double key_error, unsigned lookups)
{
    return -expm1(lookups * log1p(-key_error));
}
