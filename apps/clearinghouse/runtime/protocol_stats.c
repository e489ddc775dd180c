/*
 * front_stats.c - sums of what a front counted.
 */
#include "clearinghouse/runtime/protocol_stats.h"

void um_protocol_stats_init(um_protocol_stats *s, const um_protocol *f)
{
    *s = (um_protocol_stats){.front = f};
    for (size_t i = 0; i < um_protocol_verdicts(f); i++)
        s->topic[i] =
            (um_log_topic){.source = f->name, .name = f->verdicts[i].reason};
}

size_t um_protocol_ops(const um_protocol *f)
{
    size_t n = 0;

    while (f->ops && f->ops[n])
        n++;
    return n;
}

size_t um_protocol_verdicts(const um_protocol *f)
{
    size_t n = 0;

    while (f->verdicts && f->verdicts[n].code)
        n++;
    return n;
}

uint64_t um_protocol_with_verdict(const um_protocol_stats *s, unsigned verdict)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < um_protocol_ops(s->front); i++)
        sum += s->count[i][verdict];
    return sum;
}

uint64_t um_protocol_with_code(const um_protocol_stats *s, unsigned op,
                               unsigned code)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < um_protocol_verdicts(s->front); i++)
        if (s->front->verdicts[i].code == code)
            sum += s->count[op][i];
    return sum;
}

uint64_t um_protocol_requests(const um_protocol_stats *s)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < um_protocol_verdicts(s->front); i++)
        sum += um_protocol_with_verdict(s, i);
    return sum;
}

uint64_t um_protocol_refused(const um_protocol_stats *s)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < um_protocol_verdicts(s->front); i++)
        if (s->front->verdicts[i].reason)
            sum += um_protocol_with_verdict(s, i);
    return sum;
}

um_totals um_protocol_totals(const um_protocol_stats *s)
{
    return (um_totals){.requests = um_protocol_requests(s),
                       .hits = s->hits,
                       .refused = um_protocol_refused(s)};
}

void um_protocol_tick(um_protocol_stats *s, uint64_t minute)
{
    um_totals now = um_protocol_totals(s);

    um_hour_tick(&s->hour, minute, &now);
}

size_t um_protocol_minutes(const um_protocol_stats *s,
                           um_totals out[UM_HOUR_MINUTES])
{
    um_totals now = um_protocol_totals(s);

    return um_hour_read(&s->hour, &now, out);
}

um_totals um_protocol_last_minutes(const um_protocol_stats *s, size_t n)
{
    um_totals now = um_protocol_totals(s);

    return um_hour_sum(&s->hour, &now, n);
}
