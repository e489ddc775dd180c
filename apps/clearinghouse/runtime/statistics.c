/*
 * statistics.c - counts of requests by operation and verdict.
 */
#include "clearinghouse/runtime/statistics.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct um_statistics {
    um_log *log;
    um_service_stats *item[UM_MAX_SERVICES];
    size_t n;
    bool probing; /* `doctor` tries the services */
};

void um_service_stats_init(um_service_stats *s, const um_service *service,
                           um_log *log)
{
    *s = (um_service_stats){.service = service, .log = log};
    for (size_t i = 0; i < um_service_verdicts(service); i++)
        s->topic[i] = (um_log_topic){.source = service->name,
                                     .name = service->verdicts[i].reason};
}

size_t um_service_ops(const um_service *service)
{
    size_t n = 0;

    while (service->ops && service->ops[n])
        n++;
    return n;
}

size_t um_service_verdicts(const um_service *service)
{
    size_t n = 0;

    while (service->verdicts && service->verdicts[n].code)
        n++;
    return n;
}

/* --- refusals ------------------------------------------------------------- */

/* Appends ", NAME TEXT", cut and without control characters: strangers choose
 * the text. */
static void add_claim(char *out, size_t cap, const char *name, umbel_slice text)
{
    enum { LONGEST = 32 };
    size_t len = strlen(out);
    int shown = text.len < LONGEST ? (int)text.len : LONGEST;

    if (text.len)
        snprintf(out + len, cap - len, ", %s %.*s", name, shown,
                 (const char *)text.data);
    um_disarm(out);
}

void um_service_log_refusal(um_service_stats *s, unsigned verdict,
                            const um_address *client, const um_claim *claim)
{
    const um_verdict *v = &s->service->verdicts[verdict];
    char text[UM_ADDRESS_TEXT], claimed[128] = "";

    if (!um_log_wants(s->log, &s->topic[verdict]))
        return;
    if (claim) {
        add_claim(claimed, sizeof claimed, "operation", claim->op);
        add_claim(claimed, sizeof claimed, "user", claim->user);
    }
    um_log_limited(s->log, &s->topic[verdict], "%s: refused %s: %s (%s)%s",
                   s->service->name, um_address_print(client, text), v->diag,
                   v->reason, claimed);
}

/* --- sums ----------------------------------------------------------------- */

uint64_t um_service_with_verdict(const um_service_stats *s, unsigned verdict)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < um_service_ops(s->service); i++)
        sum += s->count[i][verdict];
    return sum;
}

uint64_t um_service_with_code(const um_service_stats *s, unsigned op,
                              unsigned code)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < um_service_verdicts(s->service); i++)
        if (s->service->verdicts[i].code == code)
            sum += s->count[op][i];
    return sum;
}

uint64_t um_service_requests(const um_service_stats *s)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < um_service_verdicts(s->service); i++)
        sum += um_service_with_verdict(s, i);
    return sum;
}

uint64_t um_service_client_requests(const um_service_stats *s)
{
    return um_service_requests(s) - s->own;
}

uint64_t um_service_refused(const um_service_stats *s)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < um_service_verdicts(s->service); i++)
        if (s->service->verdicts[i].reason)
            sum += um_service_with_verdict(s, i);
    return sum;
}

um_totals um_service_totals(const um_service_stats *s)
{
    return (um_totals){.requests = um_service_requests(s),
                       .hits = s->hits,
                       .refused = um_service_refused(s)};
}

/* --- minutes -------------------------------------------------------------- */

void um_service_tick(um_service_stats *s, uint64_t minute)
{
    um_minutes *m = &s->minutes;
    um_totals now = um_service_totals(s);

    if (minute > m->minute + UM_HOUR_MINUTES) /* the process was stopped */
        m->minute = minute - UM_HOUR_MINUTES;
    while (m->minute < minute)
        m->begin[++m->minute % UM_HOUR_MINUTES] = now;
}

static um_totals difference(const um_totals *end, const um_totals *begin)
{
    return (um_totals){.requests = end->requests - begin->requests,
                       .hits = end->hits - begin->hits,
                       .refused = end->refused - begin->refused};
}

size_t um_service_minutes(const um_service_stats *s,
                          um_totals out[UM_HOUR_MINUTES])
{
    const um_minutes *m = &s->minutes;
    um_totals now = um_service_totals(s);
    size_t n =
        m->minute < UM_HOUR_MINUTES ? (size_t)m->minute + 1 : UM_HOUR_MINUTES;
    uint64_t first = m->minute + 1 - n;

    for (size_t i = 0; i < n; i++) {
        uint64_t at = first + i;
        const um_totals *end =
            at == m->minute ? &now : &m->begin[(at + 1) % UM_HOUR_MINUTES];
        out[i] = difference(end, &m->begin[at % UM_HOUR_MINUTES]);
    }
    return n;
}

um_totals um_service_last_minutes(const um_service_stats *s, size_t n)
{
    um_totals minute[UM_HOUR_MINUTES], sum = {0};
    size_t have = um_service_minutes(s, minute);

    for (size_t i = have > n ? have - n : 0; i < have; i++) {
        sum.requests += minute[i].requests;
        sum.hits += minute[i].hits;
        sum.refused += minute[i].refused;
    }
    return sum;
}

/* --- all services --------------------------------------------------------- */

umbel_status um_statistics_open(um_log *log, um_statistics **out,
                                umbel_error *err)
{
    um_statistics *s = calloc(1, sizeof *s);

    if (!s)
        return um_no_memory(err, sizeof *s);
    s->log = log;
    *out = s;
    return UMBEL_OK;
}

void um_statistics_close(um_statistics *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        free(s->item[i]);
    free(s);
}

um_service_stats *um_statistics_of(um_statistics *s, const um_service *service)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->item[i]->service == service)
            return s->item[i];
    if (s->n == UM_MAX_SERVICES)
        return NULL;
    um_service_stats *fresh = malloc(sizeof *fresh);
    if (fresh) {
        um_service_stats_init(fresh, service, s->log);
        s->item[s->n++] = fresh;
    }
    return fresh;
}

const um_service_stats *um_statistics_at(const um_statistics *s, size_t i)
{
    return i < s->n ? s->item[i] : NULL;
}

void um_statistics_tick(um_statistics *s, uint64_t minute)
{
    for (size_t i = 0; i < s->n; i++)
        um_service_tick(s->item[i], minute);
}

void um_statistics_begin_probes(um_statistics *s)
{
    s->probing = true;
    for (size_t i = 0; i < s->n; i++)
        s->item[i]->probed_from = um_service_client_requests(s->item[i]);
}

void um_statistics_end_probes(um_statistics *s)
{
    for (size_t i = 0; s->probing && i < s->n; i++)
        s->item[i]->own +=
            um_service_client_requests(s->item[i]) - s->item[i]->probed_from;
    s->probing = false;
}
