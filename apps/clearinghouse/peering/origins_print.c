/*
 * origins_print.c - rows of peers and origins, for a terminal and as JSON.
 */
#include "clearinghouse/peering/origins.h"

#include "base/error.h"
#include "base/json.h"
#include "clearinghouse/runtime/format.h"
#include "cli/framework/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

uint64_t um_origin_refusals(const um_origin *o)
{
    uint64_t n = 0;

    for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
        n += o->refused[i];
    return n;
}

static uint64_t seconds_since(uint64_t then, uint64_t now)
{
    return then < now ? now - then : 0;
}

/* --- for a terminal ------------------------------------------------------- */

static um_formatted name_cell(const um_origin *o, uint64_t now)
{
    um_formatted w;

    (void)now;
    snprintf(w.text, sizeof w.text, "%.48s", o->name ? o->name : "-");
    return w;
}

/* As many digits as tell origins apart; commands take them. */
static um_formatted key_cell(const um_origin *o, uint64_t now)
{
    um_formatted w;

    (void)now;
    snprintf(w.text, sizeof w.text, "%.8s", o->key);
    return w;
}

static um_formatted state_cell(const um_origin *o, uint64_t now)
{
    um_formatted w;

    if (o->since)
        snprintf(w.text, sizeof w.text, "%.24s %.32s", o->state,
                 um_format_about(seconds_since(o->since, now)).text);
    else
        snprintf(w.text, sizeof w.text, "%s", o->state);
    return w;
}

static um_formatted digests_cell(const um_origin *o, uint64_t now)
{
    (void)now;
    return um_format_count(o->digests);
}

static um_formatted fill_cell(const um_origin *o, uint64_t now)
{
    (void)now;
    return um_format_unit(UM_UNIT_SHARE, o->fill);
}

static um_formatted seen_cell(const um_origin *o, uint64_t now)
{
    um_formatted w = {"-"};

    if (o->seen)
        snprintf(w.text, sizeof w.text, "%.32s ago",
                 um_format_about(seconds_since(o->seen, now)).text);
    return w;
}

/* Only a peer has a link. */
static um_formatted link_cell(const um_origin *o, um_formatted words)
{
    return o->name ? words : (um_formatted){"-"};
}

static um_formatted lag_cell(const um_origin *o, uint64_t now)
{
    (void)now;
    return link_cell(o, um_format_unit(UM_UNIT_SECONDS, o->lag));
}

static um_formatted in_cell(const um_origin *o, uint64_t now)
{
    (void)now;
    return link_cell(o, um_format_bytes(o->bytes_in));
}

static um_formatted out_cell(const um_origin *o, uint64_t now)
{
    (void)now;
    return link_cell(o, um_format_bytes(o->bytes_out));
}

/* They fit into 80 characters; JSON and the page have more. What was refused
 * stands below its row. */
static const struct {
    const char *head;
    bool left; /* texts; figures stand at the right */
    um_formatted (*cell)(const um_origin *o, uint64_t now);
} columns[] = {
    {"name", true, name_cell},   {"origin", true, key_cell},
    {"state", true, state_cell}, {"digests", false, digests_cell},
    {"full", false, fill_cell},  {"heard", false, seen_cell},
    {"lag", false, lag_cell},    {"in", false, in_cell},
    {"out", false, out_cell},
};

static void measure(const um_origins_view *v, uint64_t now,
                    int width[UM_COUNT(columns)])
{
    for (size_t c = 0; c < UM_COUNT(columns); c++) {
        width[c] = (int)strlen(columns[c].head);
        for (size_t i = 0; i < v->n; i++) {
            int len = (int)strlen(columns[c].cell(&v->item[i], now).text);
            width[c] = len > width[c] ? len : width[c];
        }
    }
}

static void write_column(FILE *out, size_t c, const int *width,
                         const char *text)
{
    bool last = c + 1 == UM_COUNT(columns);

    fprintf(out, "%*s%s", columns[c].left ? -width[c] : width[c], text,
            last ? "\n" : "  ");
}

/* What is wrong with one, below its row. */
static void write_troubles(FILE *out, const um_origin *o)
{
    if (o->error[0])
        fprintf(out, "    no link: %s\n", o->error);
    if (o->held)
        fputs("    held at its capacity: raise capacity of the list "
              "everywhere\n",
              out);
    for (unsigned i = 0; i < UMBEL_SYNC_REASONS; i++)
        if (o->refused[i])
            fprintf(out, "    refused %s: %s\n",
                    umbel_sync_reason_name((umbel_sync_reason)i),
                    um_format_count(o->refused[i]).text);
}

void um_origins_print_text(FILE *out, const um_origins_view *v, uint64_t now)
{
    int width[UM_COUNT(columns)];

    measure(v, now, width);
    for (size_t c = 0; c < UM_COUNT(columns); c++)
        write_column(out, c, width, columns[c].head);
    for (size_t i = 0; i < v->n; i++) {
        for (size_t c = 0; c < UM_COUNT(columns); c++)
            write_column(out, c, width, columns[c].cell(&v->item[i], now).text);
        write_troubles(out, &v->item[i]);
    }
    fprintf(out, "\n%-16s agreement\n", "list");
    for (size_t i = 0; um_list_name(i); i++)
        fprintf(out, "%-16s %016" PRIx64 "\n", um_list_name(i),
                v->agreement[i]);
}

/* --- JSON ----------------------------------------------------------------- */

static void write_number(FILE *out, const char *name, uint64_t n)
{
    fprintf(out, ", \"%s\": %" PRIu64, name, n);
}

static void write_origin(FILE *out, const um_origin *o, uint64_t now)
{
    const char *between = "";

    fprintf(out, "{\"origin\": \"%s\"", o->key);
    um_json_field(out, 1, "name", o->name);
    um_json_field(out, 1, "address", o->address);
    um_json_field(out, 1, "state", o->state);
    fprintf(out, ", \"own\": %s, \"up\": %s, \"held\": %s",
            o->own ? "true" : "false", o->up ? "true" : "false",
            o->held ? "true" : "false");
    write_number(out, "version", o->version);
    write_number(out, "digests", o->digests);
    fprintf(out, ", \"fill\": %.6g", o->fill);
    write_number(out, "memory", o->memory);
    if (o->seen)
        write_number(out, "last_seen_seconds", seconds_since(o->seen, now));
    else
        um_json_field(out, 1, "last_seen_seconds", NULL);
    if (isnan(o->lag))
        um_json_field(out, 1, "lag_seconds", NULL);
    else
        write_number(out, "lag_seconds", (uint64_t)o->lag);
    write_number(out, "bytes_in", o->bytes_in);
    write_number(out, "bytes_out", o->bytes_out);
    write_number(out, "refused", um_origin_refusals(o));
    fputs(", \"reasons\": {", out);
    for (unsigned i = 0; i < UMBEL_SYNC_REASONS; i++)
        if (o->refused[i]) {
            fprintf(out, "%s\"%s\": %" PRIu64, between,
                    umbel_sync_reason_name((umbel_sync_reason)i),
                    o->refused[i]);
            between = ", ";
        }
    putc('}', out);
    um_json_field(out, 1, "error", o->error[0] ? o->error : NULL);
    putc('}', out);
}

void um_origins_print_json(FILE *out, const um_origins_view *v, uint64_t now)
{
    putc('[', out);
    for (size_t i = 0; i < v->n; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        write_origin(out, &v->item[i], now);
    }
    putc(']', out);
}
