/*
 * key_value.c - the key-value table: exceptions, accounts, settings.
 *
 * A hash table with linear probing.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "store/internal.h"

#include <stdlib.h>
#include <string.h>

/* gcc's analyzer loses track of pairs stored in slots with a computed index. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum { CAP_MIN = 64 };

struct um_kv_pair {
    size_t key_len, value_len;
    uint8_t bytes[];
};

void um_kv_fini(um_kv_table *t)
{
    for (size_t i = 0; i < t->cap; i++)
        free(t->slot[i]);
    free(t->slot);
    *t = (um_kv_table){0};
}

static bool is_free(const void *slot)
{
    return *(um_kv_pair *const *)slot == NULL;
}

static bool has_key(const void *ctx, const void *slot, const void *key)
{
    const um_kv_pair *pair = *(um_kv_pair *const *)slot;
    const umbel_slice *k = key;

    (void)ctx;
    return pair->key_len == k->len && memcmp(pair->bytes, k->data, k->len) == 0;
}

static uint64_t hash_slot(const void *ctx, const void *slot)
{
    const um_kv_pair *pair = *(um_kv_pair *const *)slot;

    (void)ctx;
    return um_checksum(pair->bytes, pair->key_len);
}

static const um_map_rule rule = {sizeof(um_kv_pair *), is_free, has_key,
                                 hash_slot};

/* Returns the slot of a key, or the empty slot where it would go. */
static um_kv_pair **find_slot(const um_kv_table *t, umbel_slice key)
{
    return um_map_find(&rule, NULL, t->slot, t->cap,
                       um_checksum(key.data, key.len), &key);
}

static umbel_slice value_of(const um_kv_pair *pair)
{
    return (umbel_slice){pair->bytes + pair->key_len, pair->value_len};
}

bool um_kv_get(const um_kv_table *t, umbel_slice key, umbel_slice *value)
{
    const um_kv_pair *pair = t->cap ? *find_slot(t, key) : NULL;

    if (pair)
        *value = value_of(pair);
    return pair != NULL;
}

static umbel_status reserve(um_kv_table *t, umbel_error *err)
{
    um_kv_table bigger = *t;

    if (t->cap && t->n < t->cap / 2)
        return UMBEL_OK;
    bigger.cap = t->cap ? 2 * t->cap : CAP_MIN;
    bigger.slot = calloc(bigger.cap, sizeof(void *));
    if (!bigger.slot)
        return um_no_memory(err, bigger.cap * sizeof(void *));
    um_map_move(&rule, NULL, t->slot, t->cap, bigger.slot, bigger.cap);
    free(t->slot);
    *t = bigger;
    return UMBEL_OK;
}

static umbel_status check_lengths(const um_kv_table *t, umbel_slice key,
                                  umbel_slice value, umbel_error *err)
{
    if (key.len < 1 || key.len > UM_KV_KEY_MAX)
        return um_fail(err, UMBEL_E_RANGE, "keys have 1 to %d bytes, got %zu",
                       UM_KV_KEY_MAX, key.len);
    if (value.len > UM_KV_VALUE_MAX)
        return um_fail(err, UMBEL_E_RANGE,
                       "values have at most %d bytes, got %zu", UM_KV_VALUE_MAX,
                       value.len);
    if (key.len + value.len > UM_KV_MAX_BYTES - t->bytes)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the key-value table would exceed %d bytes",
                       UM_KV_MAX_BYTES);
    return UMBEL_OK;
}

umbel_status um_kv_set(um_kv_table *t, umbel_slice key, umbel_slice value,
                       umbel_error *err)
{
    UM_TRY(check_lengths(t, key, value, err));
    UM_TRY(reserve(t, err));
    size_t len = sizeof(um_kv_pair) + key.len + value.len;
    um_kv_pair *pair = malloc(len);
    if (!pair)
        return um_no_memory(err, len);
    pair->key_len = key.len;
    pair->value_len = value.len;
    memcpy(pair->bytes, key.data, key.len);
    if (value.len)
        memcpy(pair->bytes + key.len, value.data, value.len);
    um_kv_pair **slot = find_slot(t, key), *old = *slot;
    *slot = pair;
    t->n += old == NULL;
    t->bytes += key.len + value.len;
    t->bytes -= old ? key.len + old->value_len : 0;
    free(old);
    return UMBEL_OK;
}

bool um_kv_remove(um_kv_table *t, umbel_slice key)
{
    um_kv_pair **slot = t->cap ? find_slot(t, key) : NULL;

    if (!slot || !*slot)
        return false;
    t->bytes -= key.len + (*slot)->value_len;
    t->n--;
    free(*slot);
    um_map_remove(&rule, NULL, t->slot, t->cap, slot);
    return true;
}

bool um_kv_next(const um_kv_table *t, size_t *at, umbel_slice *key,
                umbel_slice *value)
{
    while (*at < t->cap && !t->slot[*at])
        ++*at;
    if (*at >= t->cap)
        return false;
    const um_kv_pair *pair = t->slot[(*at)++];
    *key = (umbel_slice){pair->bytes, pair->key_len};
    *value = value_of(pair);
    return true;
}

umbel_status um_kv_encode(const um_kv_table *t, const um_sink *to,
                          umbel_error *err)
{
    uint64_t n = um_le64(t->n);
    umbel_slice key, value;

    UM_TRY(um_sink_write(to, &n, sizeof n, err));
    for (size_t at = 0; um_kv_next(t, &at, &key, &value);) {
        uint64_t lengths = um_le64(key.len | (uint64_t)value.len << 32);
        UM_TRY(um_sink_write(to, &lengths, sizeof lengths, err));
        UM_TRY(um_sink_write(to, key.data, key.len, err));
        UM_TRY(um_sink_write(to, value.data, value.len, err));
    }
    return UMBEL_OK;
}

static umbel_status decode_pair(um_kv_table *t, um_feed *from, umbel_error *err)
{
    uint8_t bytes[UM_KV_KEY_MAX + UM_KV_VALUE_MAX];
    uint64_t lengths;

    UM_TRY(um_feed_get(from, &lengths, sizeof lengths, err));
    lengths = um_le64(lengths);
    size_t key = (uint32_t)lengths, value = (size_t)(lengths >> 32);
    UM_TRY(check_lengths(t, (umbel_slice){NULL, key},
                         (umbel_slice){NULL, value}, err));
    UM_TRY(um_feed_get(from, bytes, key + value, err));
    return um_kv_set(t, (umbel_slice){bytes, key},
                     (umbel_slice){bytes + key, value}, err);
}

umbel_status um_kv_decode(um_kv_table *t, um_feed *from, umbel_error *err)
{
    uint64_t n;

    UM_TRY(um_feed_get(from, &n, sizeof n, err));
    n = um_le64(n);
    for (uint64_t i = 0; i < n; i++)
        UM_TRY(decode_pair(t, from, err));
    return UMBEL_OK;
}
