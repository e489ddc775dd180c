/*
 * trace.c - one traced route, whatever wrote it down.
 */
#include "stopset/tracer/trace.h"

#include "base/bits.h"

#include <string.h>

#define SS_STOP_NAME(name) #name,
static const char *const stop_names[] = {SS_STOP_LIST(SS_STOP_NAME)};

const char *ss_stop_name(ss_stop stop)
{
    return stop_names[stop];
}

ss_stop ss_stop_find(const char *name, size_t len)
{
    for (size_t i = 0; i < SS_STOPS; i++)
        if (strlen(stop_names[i]) == len &&
            memcmp(stop_names[i], name, len) == 0)
            return (ss_stop)i;
    return SS_STOP_OTHER;
}

ss_trace *ss_trace_begin(ss_trace_room *room)
{
    room->trace = (ss_trace){.hop = room->hop};
    return &room->trace;
}

void ss_trace_probed(ss_trace *t, unsigned from, unsigned to)
{
    if (from > to || to > SS_MAX_TTL)
        return;
    for (unsigned ttl = from; ttl <= to; ttl++)
        um_set_bit(t->probed, ttl);
    if (t->first == 0 || from < t->first)
        t->first = (uint8_t)from;
    if (to > t->last)
        t->last = (uint8_t)to;
}

bool ss_trace_add(ss_trace *t, const ss_hop *hop)
{
    if (t->nhops == SS_MAX_REPLIES)
        return false;
    t->hop[t->nhops++] = *hop;
    if (!um_bit(t->probed, hop->ttl))
        ss_trace_probed(t, hop->ttl, hop->ttl);
    return true;
}

uint8_t ss_trace_reached(const ss_trace *t)
{
    unsigned least = SS_MAX_TTL + 1;

    for (size_t i = 0; i < t->nhops; i++)
        if (t->hop[i].ttl < least && ss_addr_equal(t->hop[i].addr, t->dst))
            least = t->hop[i].ttl;
    return least > SS_MAX_TTL ? 0 : (uint8_t)least;
}
