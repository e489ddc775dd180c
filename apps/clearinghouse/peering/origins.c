/*
 * origins.c - rows of peers and origins, from the sync engine and its links, as
 * text and as JSON.
 *
 * The engine forgets a disconnected peer. To compute its lag, each tick records
 * the last time at which each peer had everything that we have.
 */
#include "clearinghouse/peering/origins.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "clearinghouse/peering/peers.h"
#include "clearinghouse/runtime/format.h"
#include "cli/framework/report.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_MIN = 4, MAX_NOTICES = 1024 };

/* What the last tick recorded about a peer. */
typedef struct progress {
    uint8_t key[UMBEL_ORIGIN_LEN];
    uint64_t whole; /* last time at which it had everything that we have */
    uint64_t refused[UMBEL_SYNC_REASONS], refused_at[UMBEL_SYNC_REASONS];
    bool found; /* it is still a peer */
} progress;

/* A server's request to drop an origin that has a row. */
typedef struct drop_notice {
    uint8_t from[UMBEL_ORIGIN_LEN], origin[UMBEL_ORIGIN_LEN];
} drop_notice;

struct um_origins {
    const um_peers *peers;
    const um_clock *clock;
    const um_store *store;
    progress *progress;
    size_t nprogress;
    drop_notice *notice; /* each once */
    size_t nnotices;
    uint64_t notices_at; /* umbel_sync_log_changes, + 1, and rows then */
    size_t notices_rows;
    um_origin *item;
    size_t n, cap;
    um_origins_view view;
};

/* --- lag ------------------------------------------------------------------ */

static progress *find_progress(const um_origins *o, const uint8_t *key)
{
    for (size_t i = 0; i < o->nprogress; i++)
        if (memcmp(o->progress[i].key, key, UMBEL_ORIGIN_LEN) == 0)
            return &o->progress[i];
    return NULL;
}

/* Appends the progress of a peer; NULL without memory. */
static progress *add_progress(um_origins *o, const uint8_t *key)
{
    if (!um_array_resize(&o->progress, o->nprogress + 1, sizeof *o->progress))
        return NULL;
    progress *p = &o->progress[o->nprogress++];
    *p = (progress){.whole = 0};
    memcpy(p->key, key, UMBEL_ORIGIN_LEN);
    return p;
}

/* Removes peers that are no longer configured. */
static void sweep_progress(um_origins *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->nprogress; i++)
        if (o->progress[i].found)
            o->progress[n++] = o->progress[i];
    o->nprogress = n;
}

/* Returns the last time at which a connected peer had everything that we have;
 * 0 if it has not announced its versions yet. */
static uint64_t whole_until(const um_origins *o, int number)
{
    umbel_sync_peer_stats s;

    umbel_sync_peer_stats_get(um_peers_machine(o->peers), number, &s);
    if (!s.known)
        return 0;
    if (!s.behind)
        return o->clock->now;
    return s.lacks_since ? s.lacks_since
                         : o->clock->now - um_clock_uptime(o->clock);
}

static void record_refusals(progress *p, const um_peer_info *info, uint64_t now)
{
    for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++) {
        if (info->refused[i] > p->refused[i])
            p->refused_at[i] = now;
        p->refused[i] = info->refused[i];
    }
}

void um_origins_tick(um_origins *o)
{
    um_peer_info info;

    if (!o)
        return;
    for (size_t i = 0; i < o->nprogress; i++)
        o->progress[i].found = false;
    for (size_t at = 0; um_peers_next(o->peers, &at, &info);) {
        progress *p = find_progress(o, info.key);
        if (!p)
            p = add_progress(o, info.key);
        if (!p)
            return;
        p->found = true;
        record_refusals(p, &info, o->clock->now);
        uint64_t whole = info.number < 0 ? 0 : whole_until(o, info.number);
        if (whole)
            p->whole = whole;
    }
    sweep_progress(o);
}

static double lag_of(const progress *p, uint64_t now)
{
    if (!p || !p->whole)
        return NAN;
    return p->whole < now ? (double)(now - p->whole) : 0;
}

/* --- rows ----------------------------------------------------------------- */

static um_origin *find_row(um_origins *o, const char *key)
{
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->item[i].key, key) == 0)
            return &o->item[i];
    return NULL;
}

/* Returns the row of a key, created if it is missing; NULL without memory. */
static um_origin *row_of(um_origins *o, const uint8_t *key)
{
    char hex[UM_ORIGIN_HEX];
    um_origin *r;

    um_digest_text(key, hex);
    if ((r = find_row(o, hex)) != NULL)
        return r;
    if (!um_array_reserve(&o->item, &o->cap, o->n + 1, sizeof *o->item))
        return NULL;
    r = &o->item[o->n++];
    *r = (um_origin){.state = "forwarded", .error = "", .lag = NAN};
    memcpy(r->key, hex, sizeof hex);
    return r;
}

static bool add_self(um_origins *o)
{
    um_origin *r = row_of(o, umbel_sync_origin(um_peers_machine(o->peers)));

    if (!r)
        return false;
    r->own = true;
    r->state = "self";
    r->lag = 0;
    return true;
}

static bool add_peers(um_origins *o)
{
    um_peer_info info;

    for (size_t at = 0; um_peers_next(o->peers, &at, &info);) {
        um_origin *r = row_of(o, info.key);
        if (!r)
            return false;
        r->name = info.name;
        r->address = info.address;
        r->state = info.state;
        r->error = info.up ? "" : info.error;
        r->up = info.up;
        r->since =
            info.since ? info.since : o->clock->now - um_clock_uptime(o->clock);
        const progress *p = find_progress(o, info.key);
        r->lag = lag_of(p, o->clock->now);
        r->bytes_in = info.bytes_in;
        r->bytes_out = info.bytes_out;
        memcpy(r->refused, info.refused, sizeof r->refused);
        if (p)
            memcpy(r->refused_at, p->refused_at, sizeof r->refused_at);
    }
    return true;
}

static double fill_of(const um_store *store, const umbel_sync_replica *c)
{
    um_list_stats l;

    um_list_stats_get(um_store_list(store, (unsigned)c->list), &l);
    return l.n ? (double)c->keys / (double)l.epoch[0].capacity : 0;
}

static bool add_replicas(um_origins *o)
{
    umbel_sync_replica c;

    for (size_t at = 0;
         umbel_sync_next_replica(um_peers_machine(o->peers), &at, &c);) {
        um_origin *r = row_of(o, c.origin);
        if (!r)
            return false;
        double fill = fill_of(o->store, &c);
        r->version = c.version > r->version ? c.version : r->version;
        r->digests += c.keys;
        r->memory += c.bytes;
        r->fill = fill > r->fill ? fill : r->fill;
        r->seen = c.seen > r->seen ? c.seen : r->seen;
        r->held |= c.held;
    }
    return true;
}

static bool add_origin_status(um_origins *o)
{
    umbel_sync_origin_status s;

    for (size_t at = 0;
         umbel_sync_next_origin_status(um_peers_machine(o->peers), &at, &s);) {
        um_origin *r = s.dropped || s.muted ? row_of(o, s.origin) : NULL;
        if (r)
            r->state = s.dropped ? "dropped" : "muted";
        else if (s.dropped || s.muted)
            return false;
    }
    return true;
}

static bool has_notice(const um_origins *o, const drop_notice *n)
{
    for (size_t i = 0; i < o->nnotices; i++)
        if (memcmp(&o->notice[i], n, sizeof *n) == 0)
            return true;
    return false;
}

/* Reads the notices of other servers from the logs, if logs or rows have
 * changed. */
static bool read_notices(um_origins *o)
{
    const umbel_sync *s = um_peers_machine(o->peers);
    uint64_t at_change = umbel_sync_log_changes(s) + 1;
    char hex[UM_ORIGIN_HEX];
    umbel_sync_entry e;
    drop_notice n;

    if (o->notices_at == at_change && o->notices_rows == o->n)
        return true;
    o->nnotices = 0;
    for (size_t at = 0;
         o->nnotices < MAX_NOTICES && umbel_sync_next_entry(s, &at, &e);) {
        if (e.type != UMBEL_SYNC_LOG_DROP || e.body.len != sizeof n.origin ||
            memcmp(e.origin, umbel_sync_origin(s), sizeof n.from) == 0)
            continue;
        memcpy(n.from, e.origin, sizeof n.from);
        memcpy(n.origin, e.body.data, sizeof n.origin);
        um_digest_text(n.origin, hex);
        if (!find_row(o, hex) || has_notice(o, &n))
            continue;
        if (!um_array_resize(&o->notice, o->nnotices + 1, sizeof *o->notice))
            return false;
        o->notice[o->nnotices++] = n;
    }
    o->notices_at = at_change;
    o->notices_rows = o->n;
    return true;
}

static bool add_notices(um_origins *o)
{
    char hex[UM_ORIGIN_HEX];

    if (!read_notices(o))
        return false;
    for (size_t i = 0; i < o->nnotices; i++) {
        um_digest_text(o->notice[i].origin, hex);
        um_origin *r = find_row(o, hex);
        if (r)
            r->notices++;
    }
    return true;
}

static void read_agreement(um_origins *o)
{
    for (unsigned i = 0; um_list_name(i); i++) {
        o->view.agreement[i] = um_peers_agreement(o->peers, i);
        o->view.alone[i] = um_peers_counts_alone(o->peers, i);
    }
}

const um_origins_view *um_origins_look(um_origins *o)
{
    if (!o)
        return NULL;
    o->n = 0;
    um_origins_tick(o);
    read_agreement(o);
    if (!add_self(o) || !add_peers(o) || !add_replicas(o) ||
        !add_origin_status(o) || !add_notices(o))
        return NULL;
    o->view.item = o->item;
    o->view.n = o->n;
    o->view.strangers = um_peers_strangers(o->peers);
    o->view.needs = um_peers_needs(o->peers);
    um_replica_store_stats_get(um_peers_replicas(o->peers), &o->view.saved);
    return &o->view;
}

umbel_status um_origins_open(const um_peers *peers, const um_clock *clock,
                             const um_store *store, um_origins **out,
                             umbel_error *err)
{
    um_origins *o = calloc(1, sizeof *o);

    if (!o)
        return um_no_memory(err, sizeof *o);
    o->peers = peers;
    o->clock = clock;
    o->store = store;
    *out = o;
    return UMBEL_OK;
}

void um_origins_close(um_origins *o)
{
    if (!o)
        return;
    free(o->progress);
    free(o->notice);
    free(o->item);
    free(o);
}

/* --- finding an origin ---------------------------------------------------- */

/* Counts rows whose key begins with text, or the peer of that name alone;
 * *found is the last one. */
static size_t count_matches(const um_origins *o, const char *text,
                            const um_origin **found)
{
    size_t len = strlen(text), n = 0;

    for (size_t i = 0; i < o->n; i++) {
        const um_origin *r = &o->item[i];
        if (r->name && strcmp(r->name, text) == 0) {
            *found = r;
            return 1;
        }
        if (len >= PREFIX_MIN && strncmp(r->key, text, len) == 0) {
            *found = r;
            n++;
        }
    }
    return n;
}

umbel_status um_origins_find(um_origins *o, const char *text,
                             uint8_t key[UMBEL_ORIGIN_LEN], umbel_error *err)
{
    const um_origin *found = NULL;

    if (!um_origins_look(o))
        return um_no_memory(err, sizeof *found);
    size_t n = count_matches(o, text, &found);
    if (n > 1)
        return um_fail(err, UMBEL_E_RANGE,
                       "%zu origins begin with %.64s: give more digits; umbel "
                       "clearinghouse peers --json has all of them",
                       n, text);
    if (n == 1 && found->own)
        return um_fail(err, UMBEL_E_RANGE,
                       "%.64s is this server itself: name another origin, as "
                       "umbel clearinghouse peers lists them",
                       text);
    if (found)
        text = found->key;
    if (strlen(text) != UM_ORIGIN_HEX - 1 ||
        !um_hex_decode(text, UM_ORIGIN_HEX - 1, key))
        return um_fail(err, UMBEL_E_RANGE,
                       "%.64s is neither a peer nor an origin: give a name or "
                       "the first digits of a key, as umbel clearinghouse "
                       "peers lists them, or all 64 digits",
                       text);
    return UMBEL_OK;
}

/* --- documents ------------------------------------------------------------ */

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

/* Returns enough digits to distinguish origins; commands accept them. */
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

/* Returns "-" for an origin that is not a peer: only peers have a link. */
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

/* The columns fit into 80 characters; JSON and the status page have more.
 * Refusals are printed below the row. */
static const struct {
    const char *head;
    bool left; /* for texts; numbers are right-aligned */
    um_formatted (*cell)(const um_origin *o, uint64_t now);
} columns[] = {
    {"name", true, name_cell},   {"origin", true, key_cell},
    {"state", true, state_cell}, {"digests", false, digests_cell},
    {"full", false, fill_cell},  {"seen", false, seen_cell},
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

/* Writes the problems of an origin below its row. */
static void write_problems(FILE *out, const um_origin *o)
{
    if (o->error[0])
        fprintf(out, "    no link: %s\n", o->error);
    if (o->held)
        fputs("    held at its capacity: raise capacity of the list "
              "everywhere\n",
              out);
    if (o->notices)
        fprintf(out, "    servers that ask to drop it: %s\n",
                um_format_count(o->notices).text);
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
        write_problems(out, &v->item[i]);
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
    write_number(out, "drop_notices", o->notices);
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
