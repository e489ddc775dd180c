/*
 * key_value.c - the key-value table: exceptions, accounts, settings.
 *
 * A hash table with linear probing.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/internal.h"

#include <stdlib.h>
#include <string.h>

/* gcc's analyzer loses track of a pair in a slot with a computed index. */
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

static size_t home(const um_kv_table *t, const void *key, size_t len)
{
    return um_checksum(key, len) & (t->cap - 1);
}

static size_t home_of(const um_kv_table *t, const um_kv_pair *pair)
{
    return home(t, pair->bytes, pair->key_len);
}

/* Returns the slot of a key, or the empty slot where it would go. */
static size_t find_slot(const um_kv_table *t, umbel_slice key)
{
    size_t i = home(t, key.data, key.len);

    while (t->slot[i] && (t->slot[i]->key_len != key.len ||
                          memcmp(t->slot[i]->bytes, key.data, key.len) != 0))
        i = (i + 1) & (t->cap - 1);
    return i;
}

static umbel_slice value_of(const um_kv_pair *pair)
{
    return (umbel_slice){pair->bytes + pair->key_len, pair->value_len};
}

bool um_kv_get(const um_kv_table *t, umbel_slice key, umbel_slice *value)
{
    const um_kv_pair *pair = t->cap ? t->slot[find_slot(t, key)] : NULL;

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
    for (size_t i = 0; i < t->cap; i++) {
        um_kv_pair *pair = t->slot[i];
        if (pair)
            bigger.slot[find_slot(
                &bigger, (umbel_slice){pair->bytes, pair->key_len})] = pair;
    }
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
    size_t place = find_slot(t, key);
    um_kv_pair *old = t->slot[place];
    t->slot[place] = pair;
    t->n += old == NULL;
    t->bytes += key.len + value.len;
    t->bytes -= old ? key.len + old->value_len : 0;
    free(old);
    return UMBEL_OK;
}

/* Fills the hole with pairs that could not be found behind it. */
static void close_hole(um_kv_table *t, size_t hole)
{
    size_t mask = t->cap - 1;

    for (size_t i = (hole + 1) & mask; t->slot[i]; i = (i + 1) & mask) {
        size_t far = (i - home_of(t, t->slot[i])) & mask;
        if (far >= ((i - hole) & mask)) {
            t->slot[hole] = t->slot[i];
            t->slot[i] = NULL;
            hole = i;
        }
    }
}

bool um_kv_remove(um_kv_table *t, umbel_slice key)
{
    size_t i = t->cap ? find_slot(t, key) : 0;

    if (t->cap == 0 || !t->slot[i])
        return false;
    t->bytes -= key.len + t->slot[i]->value_len;
    t->n--;
    free(t->slot[i]);
    t->slot[i] = NULL;
    close_hole(t, i);
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
