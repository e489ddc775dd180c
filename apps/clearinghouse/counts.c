/*
 * counts.c - what the store counts, without what was forgotten.
 */
#include "clearinghouse/counts.h"

#include "clearinghouse/forget.h"

void um_house_fetch(const um_house *h, unsigned list, const umbel_digest *d,
                    size_t n)
{
    um_list_fetch(um_store_list(h->store, list), d, n);
}

void um_house_count(const um_house *h, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *count)
{
    um_store_count(h->store, list, d, n, count);
    for (size_t i = 0; h->exceptions && i < n; i++)
        if (count[i] && um_forgotten(h, list, &d[i]))
            count[i] = 0;
}

bool um_house_times(const um_house *h, unsigned list, const umbel_digest *d,
                    uint64_t *entered, uint64_t *updated)
{
    return um_store_times(h->store, list, d, h->now, entered, updated);
}
