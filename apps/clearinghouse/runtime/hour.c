/*
 * hour.c - what a front did in each minute of the last hour.
 */
#include "clearinghouse/runtime/hour.h"

void um_hour_tick(um_hour *h, uint64_t minute, const um_totals *now)
{
    if (minute > h->minute + UM_HOUR_MINUTES) /* the process was stopped */
        h->minute = minute - UM_HOUR_MINUTES;
    while (h->minute < minute)
        h->begin[++h->minute % UM_HOUR_MINUTES] = *now;
}

static um_totals difference(const um_totals *end, const um_totals *begin)
{
    return (um_totals){.requests = end->requests - begin->requests,
                       .hits = end->hits - begin->hits,
                       .refused = end->refused - begin->refused};
}

size_t um_hour_read(const um_hour *h, const um_totals *now,
                    um_totals out[UM_HOUR_MINUTES])
{
    size_t n =
        h->minute < UM_HOUR_MINUTES ? (size_t)h->minute + 1 : UM_HOUR_MINUTES;
    uint64_t first = h->minute + 1 - n;

    for (size_t i = 0; i < n; i++) {
        uint64_t m = first + i;
        const um_totals *end =
            m == h->minute ? now : &h->begin[(m + 1) % UM_HOUR_MINUTES];
        out[i] = difference(end, &h->begin[m % UM_HOUR_MINUTES]);
    }
    return n;
}

um_totals um_hour_sum(const um_hour *h, const um_totals *now, size_t n)
{
    um_totals minute[UM_HOUR_MINUTES], sum = {0};
    size_t have = um_hour_read(h, now, minute);

    for (size_t i = have > n ? have - n : 0; i < have; i++) {
        sum.requests += minute[i].requests;
        sum.hits += minute[i].hits;
        sum.refused += minute[i].refused;
    }
    return sum;
}
