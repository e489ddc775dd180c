/*
 * key_set.c - the different keys of a list, hashed with a secret; and their
 * filters.
 *
 * Two hosts choose the secret together after both have their lists, so nobody
 * can choose keys whose digests collide. Digests are SipHash-2-4 of 128 bits:
 * lo stands for the key in symbols, both lanes together prove that sets are
 * equal.
 *
 * The table has the number of each key at a place that the low bits of lo
 * determine, so that a key is also found by the low bits alone.
 */
#include "reconcile/internal.h"

#include "base/batch.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"

#include <umbel/build.h>
#include <umbel/describe.h>
#include <umbel/file.h>
#include <umbel/filter.h>

#include <math.h>
#include <string.h>

enum { MAX_KEYS = 1 << 29 };

static bool is_free(const void *slot)
{
    return ((const um_key_slot *)slot)->number == 0;
}

static bool has_key(const void *ctx, const void *slot, const void *key)
{
    const um_key_slot *x = slot;
    const umbel_digest *d = key;

    if (x->tag != (uint32_t)(d->lo >> 32))
        return false;
    const umbel_digest *other =
        &((const um_key_set *)ctx)->digest[x->number - 1];
    return other->lo == d->lo && other->hi == d->hi;
}

static um_key_slot *place_of(const um_key_set *s, const umbel_digest *d)
{
    static const um_map_rule rule = {sizeof *s->slot, is_free, has_key, NULL};

    return um_map_find(&rule, s, s->slot, s->nslots, d->lo, d);
}

static umbel_status allocate(um_key_set *s, size_t n, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);

    s->nslots = um_map_cap(n, 16);
    um_pool_init(&s->memory, &alloc);
    s->at = um_pool_get(&s->memory, n, sizeof *s->at);
    s->digest = um_pool_get(&s->memory, n, sizeof *s->digest);
    s->state = um_pool_get(&s->memory, n, sizeof *s->state);
    s->slot = um_pool_get(&s->memory, s->nslots, sizeof *s->slot);
    if (!s->memory.failed)
        return UMBEL_OK;
    um_key_set_fini(s);
    return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", n);
}

/* Adds a batch of keys from number `from` on. */
static void add_batch(um_key_set *s, const um_hasher *h, size_t from, size_t n)
{
    umbel_digest d[UM_BATCH];

    h->row->digest(h, s->keys + from, n, d);
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(&s->slot[d[i].lo & (s->nslots - 1)], 1);
    for (size_t i = 0; i < n; i++) {
        um_key_slot *slot = place_of(s, &d[i]);
        if (slot->number)
            continue;
        s->at[s->n] = (uint32_t)(from + i);
        s->digest[s->n] = d[i];
        *slot = (um_key_slot){(uint32_t)++s->n, (uint32_t)(d[i].lo >> 32)};
        um_sum_add(&s->sum, d[i]);
    }
}

umbel_status um_key_set_init(um_key_set *s, const umbel_slice *keys, size_t n,
                             const uint8_t *secret, umbel_error *err)
{
    um_secret room = {.ready = false};
    um_hasher h;

    *s = (um_key_set){.keys = keys};
    if (n > MAX_KEYS)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%zu keys are too many: at most %d can be compared", n,
                       MAX_KEYS);
    UM_TRY(allocate(s, n, err));
    um_hasher_init(&h, um_hash_find("sip"), 0, &room);
    um_hasher_unlock(&h, secret);
    for (size_t i = 0; i < n; i += UM_BATCH)
        add_batch(s, &h, i, um_next_batch(n - i));
    um_hasher_fini(&h);
    return UMBEL_OK;
}

void um_key_set_fini(um_key_set *s)
{
    um_pool_fini(&s->memory);
    *s = (um_key_set){.n = 0};
}

size_t um_key_set_find(const um_key_set *s, const umbel_digest *d)
{
    return s->nslots ? (size_t)place_of(s, d)->number - 1 : UM_NO_KEY;
}

unsigned um_key_set_bits(size_t n)
{
    unsigned bits = 34;

    while (n >> (bits - 34) && bits < 64)
        bits++;
    return bits;
}

size_t um_key_set_find_low(const um_key_set *s, uint64_t low, unsigned bits)
{
    uint64_t mask = ~(uint64_t)0 >> (64 - bits);
    size_t found = UM_NO_KEY;

    for (size_t i = (size_t)low & (s->nslots - 1);
         s->nslots && s->slot[i].number; i = (i + 1) & (s->nslots - 1)) {
        if ((s->digest[s->slot[i].number - 1].lo & mask) != low)
            continue;
        if (found != UM_NO_KEY)
            return UM_NO_KEY;
        found = s->slot[i].number - 1;
    }
    return found;
}

/* --- frames --------------------------------------------------------------- */

enum { MAX_HEAD = 11 }; /* bytes: a type, and the longest varint */

umbel_status um_frame_read(umbel_slice bytes, uint64_t max, um_frame *out,
                           umbel_error *err)
{
    const uint8_t *at = bytes.data;
    um_reader r = {at + (bytes.len > 0), at + bytes.len, false};
    uint64_t len = um_get_varint(&r);

    *out = (um_frame){.type = bytes.len ? at[0] : 0};
    if (r.bad && bytes.len > MAX_HEAD)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the other side sent something else than messages of "
                       "this protocol");
    if (r.bad)
        return UMBEL_OK;
    if (len > max)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the other side announces a message of %llu bytes; at "
                       "most %llu are accepted",
                       (unsigned long long)len, (unsigned long long)max);
    if ((uint64_t)(r.end - r.at) < len)
        return UMBEL_OK;
    out->body = (umbel_slice){r.at, (size_t)len};
    out->len = (size_t)(r.at - at) + (size_t)len;
    return UMBEL_OK;
}

void um_append_text(um_buffer *out, umbel_slice text)
{
    um_append_varint(out, text.len);
    um_buffer_append(out, text.data, text.len);
}

umbel_slice um_read_text(um_reader *r)
{
    uint64_t len = um_get_varint(r);
    umbel_slice text = {r->at, (size_t)len};

    if (r->bad || len > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return (umbel_slice){"", 0};
    }
    r->at += len;
    return text;
}

void um_frame_begin(um_buffer *out, uint8_t type, size_t len)
{
    um_buffer_append(out, &type, 1);
    um_append_varint(out, len);
}

void um_frame_write(um_buffer *out, uint8_t type, const void *body, size_t len)
{
    um_frame_begin(out, type, len);
    um_buffer_append(out, body, len);
}

/* --- filters ---------------------------------------------------------------
 */

enum { MIN_BITS = 2, MAX_BITS = 24 };

/* n bits / 8 + others * cost * 2^-bits is smallest where 2^bits is 8 ln 2 *
 * others * cost / n. */
unsigned um_set_filter_bits(double n, double others, double cost)
{
    double ratio = n > 0 ? 8 * log(2) * others * cost / n : 1;
    double bits = ratio > 1 ? round(log2(ratio)) : 0;

    return (unsigned)fmin(fmax(bits, MIN_BITS), MAX_BITS);
}

umbel_status um_set_filter_append(um_buffer *out, const um_key_set *s,
                                  unsigned bits, const uint8_t *secret,
                                  umbel_error *err)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_key_list members = UMBEL_KEY_LIST(s->digest, s->n);
    umbel_filter *f = NULL;
    size_t len = 0;

    params.hash = "sip";
    params.secret = secret;
    params.fpr = ldexp(1, -(int)bits);
    UM_TRY(umbel_build("ribbon", &params, &members, NULL, &f, err));
    size_t cap = umbel_encoded_len(f);
    uint8_t *at = um_buffer_reserve(out, cap);
    umbel_status status = um_no_memory(err, cap);
    if (at)
        status = umbel_encode(f, at, cap, &len, err);
    out->len += len;
    umbel_close(f);
    return status;
}

umbel_status um_set_filter_open(umbel_slice bytes, uint64_t max_memory,
                                const uint8_t *secret, umbel_filter **out,
                                umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f;

    source.memory_limit = max_memory;
    source.verify = true;
    source.secret = secret;
    UM_TRY(umbel_decode(bytes.data, bytes.len, &source, &f, err));
    if (strcmp(umbel_kind(f), "ribbon") == 0) {
        *out = f;
        return UMBEL_OK;
    }
    umbel_close(f);
    return um_fail(err, UMBEL_E_FORMAT,
                   "the other side sent a filter of another kind than ribbon");
}
