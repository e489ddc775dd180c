/*
 * map.h - hash tables with open addressing and linear probing.
 *
 * The caller owns the slots and allocates them: an array whose length is a
 * power of two, never full, in which zeroed slots are free. A um_map_rule
 * defines how to read a slot. All functions are inline, so that with a constant
 * rule nothing is called through a pointer.
 *
 *     static const um_map_rule rule = {sizeof(row), is_free, has_key, hash_of};
 *     row *r = um_map_find(&rule, ctx, rows, nrows, hash(key), &key);
 *
 * Removing moves later slots back, so that no slot is ever marked as deleted.
 */
#ifndef UM_BASE_MAP_H
#define UM_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct um_map_rule {
    size_t size; /* bytes of a slot */
    bool (*is_free)(const void *slot);
    bool (*has_key)(const void *ctx, const void *slot, const void *key);
    uint64_t (*hash)(const void *ctx, const void *slot); /* of its key */
} um_map_rule;

#define UM_MAP_INLINE static inline __attribute__((always_inline))

/* Returns the number of slots, a power of two and at least min, that n keys
 * fill at most by half. */
UM_MAP_INLINE size_t um_map_cap(size_t n, size_t min)
{
    size_t cap = min;

    while (cap / 2 < n)
        cap *= 2;
    return cap;
}

/* Returns the slot of a key, or the free slot where it belongs. */
UM_MAP_INLINE void *um_map_find(const um_map_rule *rule, const void *ctx,
                                const void *slots, size_t cap, uint64_t hash,
                                const void *key)
{
    const uint8_t *base = slots;
    size_t i = (size_t)hash & (cap - 1);

    while (!rule->is_free(base + i * rule->size) &&
           !rule->has_key(ctx, base + i * rule->size, key))
        i = (i + 1) & (cap - 1);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the caller's own slots */
    return (uint8_t *)(uintptr_t)(base + i * rule->size);
}

/* Copies all used slots to a larger array of free ones. */
UM_MAP_INLINE void um_map_move(const um_map_rule *rule, const void *ctx,
                               const void *from, size_t n, void *to, size_t cap)
{
    for (size_t k = 0; k < n; k++) {
        const uint8_t *slot = (const uint8_t *)from + k * rule->size;
        if (rule->is_free(slot))
            continue;
        size_t i = (size_t)rule->hash(ctx, slot) & (cap - 1);
        while (!rule->is_free((const uint8_t *)to + i * rule->size))
            i = (i + 1) & (cap - 1);
        memcpy((uint8_t *)to + i * rule->size, slot, rule->size);
    }
}

/* Frees a slot that um_map_find returned, and moves back later slots that could
 * no longer be found. */
UM_MAP_INLINE void um_map_remove(const um_map_rule *rule, const void *ctx,
                                 void *slots, size_t cap, void *slot)
{
    uint8_t *base = slots;
    size_t mask = cap - 1, hole = (size_t)((uint8_t *)slot - base) / rule->size;

    for (size_t i = (hole + 1) & mask; !rule->is_free(base + i * rule->size);
         i = (i + 1) & mask) {
        size_t home = (size_t)rule->hash(ctx, base + i * rule->size) & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        memcpy(base + hole * rule->size, base + i * rule->size, rule->size);
        hole = i;
    }
    memset(base + hole * rule->size, 0, rule->size);
}

#endif
