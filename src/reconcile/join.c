/*
 * join.c - the messages of a join, and what both sides remember.
 *
 * The holder chooses the filter: a false positive costs the bytes of a key, so
 * the bits for each key of the set grow with the logarithm of the bytes of the
 * rows. A key that does not match the filter is certainly not in the set; the
 * others are asked for, each once, so the answer is exact.
 */
#include "reconcile/internal.h"

#include "base/batch.h"
#include "base/error.h"
#include "base/map.h"

#include <umbel/filter.h>

#include <string.h>

static const uint8_t magic[4] = {'U', 'M', 'J', 'N'};
enum { VERSION = 1, ESTIMATE_BITS = 10 };

static umbel_status damaged(umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT,
                   "the other side sent a damaged message, or is not umbel "
                   "join --stdio");
}

/* --- messages --------------------------------------------------------------
 */

void um_join_hello_write(um_buffer *out, const um_join_hello *h)
{
    um_buffer body = {.len = 0};
    uint8_t head[3] = {VERSION, h->seeks, (uint8_t)h->flags};

    um_buffer_append(&body, magic, sizeof magic);
    um_buffer_append(&body, head, sizeof head);
    um_append_varint(&body, h->bytes);
    um_buffer_append(&body, h->secret, sizeof h->secret);
    for (size_t i = 0; i < UM_JOIN_TEXTS; i++)
        um_append_text(&body, h->text[i]);
    um_frame_write(out, UM_JOIN_HELLO, body.data, body.len);
    out->failed |= body.failed;
    um_buffer_fini(&body);
}

umbel_status um_join_hello_read(umbel_slice body, um_join_hello *out,
                                umbel_error *err)
{
    const uint8_t *at = body.data;
    um_reader r = {at, at + body.len, false};
    uint8_t theirs[sizeof magic], head[3];

    um_get_bytes(&r, theirs, sizeof theirs);
    um_get_bytes(&r, head, sizeof head);
    if (r.bad || memcmp(theirs, magic, sizeof magic) != 0)
        return damaged(err);
    if (head[0] != VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "the other side speaks version %u of the protocol, this "
                       "one %d: update the older one",
                       head[0], VERSION);
    out->seeks = head[1] == 1;
    out->flags = head[2];
    out->bytes = um_get_varint(&r);
    um_get_bytes(&r, out->secret, sizeof out->secret);
    for (size_t i = 0; i < UM_JOIN_TEXTS; i++)
        out->text[i] = um_read_text(&r);
    return r.bad || r.at != r.end || head[1] > 1 ||
                   out->flags > (UM_JOIN_ANTI | UM_JOIN_ESTIMATE)
               ? damaged(err)
               : UMBEL_OK;
}

void um_join_done_write(um_buffer *out, um_join_totals totals)
{
    um_buffer body = {.len = 0};

    um_append_varint(&body, totals.rows);
    um_append_varint(&body, totals.matches);
    um_frame_write(out, UM_JOIN_DONE, body.data, body.len);
    out->failed |= body.failed;
    um_buffer_fini(&body);
}

umbel_status um_join_done_read(umbel_slice body, um_join_totals *out,
                               umbel_error *err)
{
    const uint8_t *at = body.data;
    um_reader r = {at, at + body.len, false};

    out->rows = um_get_varint(&r);
    out->matches = um_get_varint(&r);
    return r.bad || r.at != r.end || out->matches > out->rows ? damaged(err)
                                                              : UMBEL_OK;
}

/* --- the holder ------------------------------------------------------------
 */

umbel_status um_join_holder_init(um_join_holder *h, const umbel_slice *keys,
                                 size_t n, const uint8_t *secret,
                                 umbel_error *err)
{
    *h = (um_join_holder){.asked = 0};
    memcpy(h->secret, secret, sizeof h->secret);
    return um_key_set_init(&h->set, keys, n, secret, err);
}

void um_join_holder_fini(um_join_holder *h)
{
    um_key_set_fini(&h->set);
    um_buffer_fini(&h->bits);
}

umbel_status um_join_holder_filter(const um_join_holder *h, uint64_t bytes,
                                   bool estimate, um_buffer *out,
                                   umbel_error *err)
{
    double unknown = 1 << 30;
    unsigned bits = um_set_filter_bits((double)h->set.n,
                                       bytes ? (double)bytes : unknown, 1);
    um_buffer body = {.len = 0};

    if (estimate)
        bits = ESTIMATE_BITS;
    um_append_varint(&body, h->set.n);
    umbel_status status =
        h->set.n ? um_set_filter_append(&body, &h->set, bits, h->secret, err)
                 : UMBEL_OK;
    um_frame_write(out, UM_JOIN_FILTER, body.data, body.len);
    out->failed |= body.failed;
    um_buffer_fini(&body);
    return status;
}

umbel_status um_join_holder_keys(um_join_holder *h, umbel_slice body,
                                 umbel_error *err)
{
    const uint8_t *at = body.data;
    um_reader r = {at, at + body.len, false};
    um_key_set asked;

    while (r.at < r.end && !r.bad) {
        umbel_slice key[UM_BATCH];
        size_t n = 0;
        for (; n < UM_BATCH && r.at < r.end && !r.bad; n++)
            key[n] = um_read_text(&r);
        if (r.bad)
            break;
        /* A set of the batch hashes it; the keys in it differ. */
        UM_TRY(um_key_set_init(&asked, key, n, h->secret, err));
        bool differ = asked.n == n;
        for (size_t i = 0; differ && i < n; i++) {
            size_t j = um_key_set_find(&h->set, &asked.digest[i]);
            umbel_slice ours = {"", 0};
            if (j != UM_NO_KEY)
                ours = um_key_set_key(&h->set, j);
            bool in =
                j != UM_NO_KEY && ours.len == key[i].len &&
                (!ours.len || memcmp(ours.data, key[i].data, ours.len) == 0);
            if (h->asked % 8 == 0)
                um_buffer_append(&h->bits, "", 1);
            if (in && !h->bits.failed)
                h->bits.data[h->asked / 8] |= (uint8_t)(1 << h->asked % 8);
            h->asked++;
            h->found += in;
        }
        um_key_set_fini(&asked);
        if (!differ)
            return damaged(err);
    }
    if (h->bits.failed)
        return um_no_memory(err, h->bits.len);
    return r.bad ? damaged(err) : UMBEL_OK;
}

void um_join_holder_reply(um_join_holder *h, um_buffer *out)
{
    um_frame_write(out, UM_JOIN_REPLY, h->bits.data, h->bits.len);
}

/* --- the seeker ------------------------------------------------------------
 */

void um_join_seeker_fini(um_join_seeker *s)
{
    umbel_close(s->filter);
    um_buffer_fini(&s->text);
    free(s->digest);
    free(s->end);
    free(s->confirmed);
    free(s->slot);
    *s = (um_join_seeker){.filter = NULL};
}

umbel_status um_join_seeker_filter(um_join_seeker *s, umbel_slice body,
                                   const uint8_t *secret, uint64_t max_memory,
                                   umbel_error *err)
{
    const uint8_t *at = body.data;
    um_reader r = {at, at + body.len, false};
    uint64_t n = um_get_varint(&r);

    if (r.bad || s->ready || !n != (r.at == r.end))
        return damaged(err);
    s->ready = true;
    return n ? um_set_filter_open((umbel_slice){r.at, (size_t)(r.end - r.at)},
                                  max_memory, secret, &s->filter, err)
             : UMBEL_OK;
}

static bool is_free(const void *slot)
{
    return *(const uint32_t *)slot == 0;
}

static bool has_key(const void *ctx, const void *slot, const void *key)
{
    const um_join_seeker *s = ctx;
    const umbel_digest *a = &s->digest[*(const uint32_t *)slot - 1], *b = key;

    return a->lo == b->lo && a->hi == b->hi;
}

static uint64_t hash_of(const void *ctx, const void *slot)
{
    const um_join_seeker *s = ctx;

    return s->digest[*(const uint32_t *)slot - 1].lo;
}

static const um_map_rule rule = {sizeof(uint32_t), is_free, has_key, hash_of};

static uint32_t *place_of(const um_join_seeker *s, const umbel_digest *d)
{
    return um_map_find(&rule, s, s->slot, s->nslots, d->lo, d);
}

/* Makes space for one more candidate. */
static bool grow(um_join_seeker *s)
{
    if (s->n == s->cap) {
        size_t cap = um_next_cap(s->cap, s->n + 1);
        if (cap > UINT32_MAX / 4 ||
            !um_array_resize(&s->digest, cap, sizeof *s->digest) ||
            !um_array_resize(&s->end, cap, sizeof *s->end) ||
            !um_array_resize(&s->confirmed, cap, sizeof *s->confirmed))
            return false;
        s->cap = cap;
    }
    size_t nslots = um_map_cap(s->n + 1, 64);
    if (nslots == s->nslots)
        return true;
    uint32_t *slot = calloc(nslots, sizeof *slot);
    if (!slot)
        return false;
    um_map_move(&rule, s, s->slot, s->nslots, slot, nslots);
    free(s->slot);
    s->slot = slot;
    s->nslots = nslots;
    return true;
}

static umbel_status add_candidate(um_join_seeker *s, umbel_slice key,
                                  const umbel_digest *d, umbel_error *err)
{
    if (!grow(s))
        return um_no_memory(err, s->text.len);
    uint32_t *slot = place_of(s, d);
    if (*slot)
        return UMBEL_OK;
    um_append_text(&s->text, key);
    if (s->text.failed)
        return um_no_memory(err, s->text.len);
    s->digest[s->n] = *d;
    s->end[s->n] = s->text.len;
    s->confirmed[s->n] = false;
    *slot = (uint32_t)++s->n;
    return UMBEL_OK;
}

umbel_status um_join_seeker_add(um_join_seeker *s, const umbel_slice *keys,
                                const umbel_digest *digests, size_t n,
                                bool count_only, umbel_error *err)
{
    bool hit[UM_BATCH];

    s->rows += n;
    for (size_t i = 0; s->filter && i < n; i += UM_BATCH) {
        size_t batch = um_next_batch(n - i);
        UM_TRY(umbel_query_digests(s->filter, digests + i, batch, hit, err));
        for (size_t j = 0; j < batch; j++) {
            s->matching += hit[j];
            if (hit[j] && !count_only)
                UM_TRY(add_candidate(s, keys[i + j], &digests[i + j], err));
        }
    }
    return UMBEL_OK;
}

bool um_join_seeker_keys(const um_join_seeker *s, size_t *at, um_buffer *out)
{
    size_t from = *at, start = from ? s->end[from - 1] : 0;

    if (from == s->n)
        return false;
    while (*at < s->n && (*at == from || s->end[*at] - start < UM_FRAME_PIECE))
        ++*at;
    um_frame_write(out, UM_JOIN_KEYS, s->text.data + start,
                   s->end[*at - 1] - start);
    return true;
}

umbel_status um_join_seeker_reply(um_join_seeker *s, umbel_slice body,
                                  umbel_error *err)
{
    const uint8_t *bits = body.data;

    if (body.len != (s->n + 7) / 8 ||
        (s->n % 8 && bits[body.len - 1] >> s->n % 8))
        return damaged(err);
    for (size_t i = 0; i < s->n; i++)
        s->confirmed[i] = bits[i / 8] >> i % 8 & 1;
    return UMBEL_OK;
}

umbel_status um_join_seeker_look_up(const um_join_seeker *s,
                                    const umbel_digest *digests, size_t n,
                                    bool *in, umbel_error *err)
{
    memset(in, 0, n * sizeof *in);
    for (size_t i = 0; s->filter && s->n && i < n; i += UM_BATCH) {
        size_t batch = um_next_batch(n - i);
        UM_TRY(umbel_query_digests(s->filter, digests + i, batch, in + i, err));
        for (size_t j = i; j < i + batch; j++)
            if (in[j]) {
                uint32_t number = *place_of(s, &digests[j]);
                in[j] = number && s->confirmed[number - 1];
            }
    }
    return UMBEL_OK;
}
