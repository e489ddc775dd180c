/*
 * status_text.c - the status for a terminal.
 */
#include "clearinghouse/status/status.h"

#include "clearinghouse/status/figures.h"
#include "clearinghouse/status/problems.h"

#include <math.h>

static void write_line(FILE *out, const char *name, const char *what,
                       const char *value)
{
    fprintf(out, "%-16s %-22s %s\n", name, what, value);
}

static void write_problems(FILE *out, const um_status *s)
{
    um_problems p;

    um_status_problems(s, &p);
    write_line(out, "server", "state", um_level_name(um_problems_level(&p)));
    for (size_t i = 0; i < p.n; i++) {
        write_line(out, "server", um_level_name(p.item[i].level),
                   p.item[i].what);
        write_line(out, "server", "", p.item[i].advice);
    }
}

static void write_protocol(FILE *out, const um_service_stats *f)
{
    const char *name = f->service->name;
    char reason[32];

    write_line(out, name, "requests",
               um_format_count(um_service_requests(f)).text);
    write_line(out, name, "hits", um_format_count(f->hits).text);
    write_line(out, name, "refused",
               um_format_count(um_service_refused(f)).text);
    for (unsigned v = 0; v < um_service_verdicts(f->service); v++)
        if (f->service->verdicts[v].reason && um_service_with_verdict(f, v)) {
            snprintf(reason, sizeof reason, "  %s",
                     f->service->verdicts[v].reason);
            write_line(out, name, reason,
                       um_format_count(um_service_with_verdict(f, v)).text);
        }
}

static void write_list(FILE *out, const um_status *s, size_t i)
{
    const um_list_stats *l = &s->list[i];
    uint64_t now = s->now;

    for (const um_list_figure *f = um_list_figures; f->row.name; f++)
        if (f->row.label && !isnan(f->value(l, now).number))
            write_line(out, l->name, f->row.label,
                       um_figure_words(&f->row, f->value(l, now)).text);
    if (s->peers)
        write_line(out, l->name, "agreement", um_status_agreement(s, i).text);
}

/* umbel clearinghouse peers has more. */
static void write_peer(FILE *out, const um_origin *o)
{
    char value[320];

    snprintf(value, sizeof value, "%.32s, lag %s, in %s, out %s, refused %s",
             o->state, um_format_unit(UM_UNIT_SECONDS, o->lag).text,
             um_format_bytes(o->bytes_in).text,
             um_format_bytes(o->bytes_out).text,
             um_format_count(um_origin_refusals(o)).text);
    write_line(out, "peer", o->name, value);
}

void um_status_print_text(FILE *out, const um_status *s)
{
    write_problems(out, s);
    write_line(out, "server", "uptime", um_format_duration(s->uptime).text);
    for (size_t i = 0; i < s->nservices; i++)
        write_protocol(out, s->service[i]);
    for (size_t i = 0; i < s->nlists; i++)
        write_list(out, s, i);
    for (size_t i = 0; s->peers && i < s->peers->n; i++)
        if (s->peers->item[i].name)
            write_peer(out, &s->peers->item[i]);
    for (const um_server_figure *f = um_server_figures; f->section; f++)
        if (f->row.label)
            write_line(out, f->section, f->row.label,
                       um_figure_words(&f->row, f->value(s)).text);
    for (size_t i = 0; i < s->ntop; i++)
        write_line(out, "busiest", s->top[i].name,
                   um_format_count(s->top[i].reports).text);
}
