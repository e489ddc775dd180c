/*
 * hour.h - what a front did in each minute of the last hour.
 *
 * The totals are noted when a minute begins, so counting a request costs
 * nothing more; a minute is the difference of two notes. Minutes are counted
 * from the start of the server, and nothing survives its end.
 */
#ifndef UM_CLEARINGHOUSE_HOUR_H
#define UM_CLEARINGHOUSE_HOUR_H

#include <stddef.h>
#include <stdint.h>

enum { UM_HOUR_MINUTES = 60 };

typedef struct um_totals {
    uint64_t requests, hits, refused;
} um_totals;

/* Zero to begin. */
typedef struct um_hour {
    um_totals begin[UM_HOUR_MINUTES]; /* of minute m, at m % UM_HOUR_MINUTES */
    uint64_t minute;                  /* that has begun last */
} um_hour;

/* Notes the totals if a minute has begun: once a second. A minute that nobody
 * noted is empty. */
void um_hour_tick(um_hour *h, uint64_t minute, const um_totals *now);

/* Writes the minutes, oldest first; the last one has not ended. Returns how
 * many there are. */
size_t um_hour_read(const um_hour *h, const um_totals *now,
                    um_totals out[UM_HOUR_MINUTES]);

/* Sums the last n minutes. */
um_totals um_hour_sum(const um_hour *h, const um_totals *now, size_t n);

#endif
