/*
 * front_stats.h - what a front was asked and how it answered.
 *
 * One count for each operation and verdict: metrics of codes and of reasons are
 * sums of these, so they cannot disagree.
 */
#ifndef UM_CLEARINGHOUSE_FRONT_STATS_H
#define UM_CLEARINGHOUSE_FRONT_STATS_H

#include "clearinghouse/protocols/protocol.h"
#include "clearinghouse/runtime/hour.h"
#include "clearinghouse/runtime/log.h"

enum { UM_MAX_OPS = 16, UM_MAX_VERDICTS = 32 };

typedef struct um_protocol_stats {
    const um_protocol *front;
    uint64_t count[UM_MAX_OPS][UM_MAX_VERDICTS];
    uint64_t hits;
    um_hour hour;
    um_log_topic topic[UM_MAX_VERDICTS]; /* of the log, for refusals */
} um_protocol_stats;

void um_protocol_stats_init(um_protocol_stats *s, const um_protocol *f);

static inline void um_protocol_count(um_protocol_stats *s, unsigned op,
                                     unsigned verdict)
{
    s->count[op][verdict]++;
}

size_t um_protocol_ops(const um_protocol *f);
size_t um_protocol_verdicts(const um_protocol *f);

uint64_t um_protocol_requests(const um_protocol_stats *s);
uint64_t um_protocol_refused(const um_protocol_stats *s);
/* The sums since the start. */
um_totals um_protocol_totals(const um_protocol_stats *s);
/* Once a second; minute is counted from the start of the server. */
void um_protocol_tick(um_protocol_stats *s, uint64_t minute);
/* The last hour, as um_hour_read and um_hour_sum. */
size_t um_protocol_minutes(const um_protocol_stats *s,
                           um_totals out[UM_HOUR_MINUTES]);
um_totals um_protocol_last_minutes(const um_protocol_stats *s, size_t n);
/* Requests of one operation that were answered with a code. */
uint64_t um_protocol_with_code(const um_protocol_stats *s, unsigned op,
                               unsigned code);
/* Requests of any operation that had one verdict. */
uint64_t um_protocol_with_verdict(const um_protocol_stats *s, unsigned verdict);

#endif
