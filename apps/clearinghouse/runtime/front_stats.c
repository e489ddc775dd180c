/*
 * front_stats.c - sums of what a front counted.
 */
#include "clearinghouse/runtime/front_stats.h"

void um_front_stats_init(um_front_stats *s, const um_front *f)
{
    *s = (um_front_stats){.front = f};
    for (size_t i = 0; i < um_front_verdicts(f); i++)
        s->topic[i] =
            (um_log_topic){.source = f->name, .name = f->verdicts[i].reason};
}

size_t um_front_ops(const um_front *f)
{
    size_t n = 0;

    while (f->ops && f->ops[n])
        n++;
    return n;
}

size_t um_front_verdicts(const um_front *f)
{
    size_t n = 0;

    while (f->verdicts && f->verdicts[n].code)
        n++;
    return n;
}

uint64_t um_front_with_verdict(const um_front_stats *s, unsigned verdict)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < um_front_ops(s->front); i++)
        sum += s->count[i][verdict];
    return sum;
}

uint64_t um_front_with_code(const um_front_stats *s, unsigned op, unsigned code)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < um_front_verdicts(s->front); i++)
        if (s->front->verdicts[i].code == code)
            sum += s->count[op][i];
    return sum;
}

uint64_t um_front_requests(const um_front_stats *s)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < um_front_verdicts(s->front); i++)
        sum += um_front_with_verdict(s, i);
    return sum;
}

uint64_t um_front_refused(const um_front_stats *s)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < um_front_verdicts(s->front); i++)
        if (s->front->verdicts[i].reason)
            sum += um_front_with_verdict(s, i);
    return sum;
}

um_totals um_front_totals(const um_front_stats *s)
{
    return (um_totals){.requests = um_front_requests(s),
                       .hits = s->hits,
                       .refused = um_front_refused(s)};
}

void um_front_tick(um_front_stats *s, uint64_t minute)
{
    um_totals now = um_front_totals(s);

    um_hour_tick(&s->hour, minute, &now);
}

size_t um_front_minutes(const um_front_stats *s, um_totals out[UM_HOUR_MINUTES])
{
    um_totals now = um_front_totals(s);

    return um_hour_read(&s->hour, &now, out);
}

um_totals um_front_last_minutes(const um_front_stats *s, size_t n)
{
    um_totals now = um_front_totals(s);

    return um_hour_sum(&s->hour, &now, n);
}
