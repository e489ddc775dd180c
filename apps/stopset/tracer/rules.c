/*
 * rules.c - where a trace goes on, and where it stops.
 */
#include "stopset/tracer/rules.h"

static uint8_t first_ttl(const ss_policy *p)
{
    return p->first ? p->first : 1;
}

static uint8_t last_ttl(const ss_policy *p)
{
    return p->max_ttl ? p->max_ttl : SS_MAX_TTL;
}

void ss_walk_begin(ss_walk *w, const ss_policy *policy)
{
    *w = (ss_walk){.policy = *policy, .ttl = first_ttl(policy)};
}

static void turn_back(ss_walk *w)
{
    uint8_t first = first_ttl(&w->policy);

    w->back = true;
    w->ttl = w->policy.backwards ? (uint8_t)(first - 1) : 0;
}

/* The order counts: a destination is reached whatever the sets say, and the red
 * set comes before the global one, which would also spare what lies behind. */
static ss_stop forward_stop(const ss_walk *w, const ss_reply *r)
{
    if (r->destination)
        return SS_STOP_COMPLETED;
    if (r->red)
        return SS_STOP_RED;
    if (r->global)
        return SS_STOP_GSS;
    if (r->unreachable)
        return SS_STOP_UNREACH;
    if (r->seen)
        return SS_STOP_LOOP;
    if (w->policy.gap_limit && w->gap >= w->policy.gap_limit)
        return SS_STOP_GAPLIMIT;
    return w->ttl >= last_ttl(&w->policy) ? SS_STOP_HOPLIMIT : SS_STOP_NONE;
}

static void consume_forwards(ss_walk *w, const ss_reply *r)
{
    w->gap = r->silent ? (uint8_t)(w->gap + 1) : 0;
    w->stop = forward_stop(w, r);
    w->at = w->ttl;
    if (w->stop == SS_STOP_NONE)
        w->ttl++;
    else
        turn_back(w);
}

/* Where the first probe reached the destination, those before it may, too. */
static void consume_backwards(ss_walk *w, const ss_reply *r)
{
    if (r->destination) {
        w->stop = SS_STOP_COMPLETED;
        w->at = w->ttl;
    }
    if (r->local && !r->destination)
        w->back_at = w->ttl;
    w->ttl = w->back_at ? 0 : (uint8_t)(w->ttl - 1);
}

void ss_walk_take(ss_walk *w, const ss_reply *reply)
{
    if (w->ttl == 0)
        return;
    if (w->back)
        consume_backwards(w, reply);
    else
        consume_forwards(w, reply);
}
