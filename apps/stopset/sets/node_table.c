/*
 * node_table.c - tables of nodes learned from traces, as files.
 */
#include "stopset/sets/node_table.h"

#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- counting what traces show ------------------------------------------- */

void ss_table_init(ss_table *t, ss_prefix_len prefix)
{
    *t = (ss_table){.prefix = prefix};
}

void ss_table_fini(ss_table *t)
{
    ss_index_fini(&t->hops);
    ss_index_fini(&t->prefixes);
    ss_index_fini(&t->monitors);
    ss_index_fini(&t->pairs);
    free(t->hop);
    free(t->pair);
    free(t->monitor);
    free(t->hop_trace);
    *t = (ss_table){0};
}

/* Resizes an array to the capacity of the index that numbers it; new elements
 * are zero. */
static bool follow(void *array, size_t *cap, const ss_index *x, size_t size)
{
    char *bytes;

    if (*cap >= x->cap)
        return true;
    if (!um_array_resize(array, x->cap, size))
        return false;
    memcpy(&bytes, array, sizeof bytes);
    memset(bytes + *cap * size, 0, (x->cap - *cap) * size);
    *cap = x->cap;
    return true;
}

static umbel_status no_room(umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM, "no memory for the table");
}

static ss_use *use_of_hop(ss_table *t, ss_addr hop, uint32_t *number)
{
    size_t cap = t->hop_cap;

    *number = ss_index_add(&t->hops, hop);
    if (*number == SS_NO_NUMBER ||
        !follow(&t->hop_trace, &cap, &t->hops, sizeof *t->hop_trace) ||
        !follow(&t->hop, &t->hop_cap, &t->hops, sizeof *t->hop))
        return NULL;
    return &t->hop[*number];
}

static ss_use *use_of_pair(ss_table *t, uint32_t hop, uint32_t prefix)
{
    uint32_t number = ss_index_add(&t->pairs, ss_pair(hop, prefix));

    if (number == SS_NO_NUMBER ||
        !follow(&t->pair, &t->pair_cap, &t->pairs, sizeof *t->pair))
        return NULL;
    return &t->pair[number];
}

static ss_monitor_use *use_of_monitor(ss_table *t, ss_addr monitor)
{
    uint32_t number = ss_index_add(&t->monitors, monitor);

    if (number == SS_NO_NUMBER ||
        !follow(&t->monitor, &t->monitor_cap, &t->monitors, sizeof *t->monitor))
        return NULL;
    return &t->monitor[number];
}

static void add_times(ss_monitor_use *m, uint64_t first, uint64_t last)
{
    if (first && (!m->first || first < m->first))
        m->first = first;
    if (last > m->last)
        m->last = last;
}

/* Counts a node once per trace, at however many TTLs it replied. */
static bool count_hop(ss_table *t, ss_addr addr, uint32_t prefix, bool ending)
{
    uint32_t number;
    ss_use *hop = use_of_hop(t, addr, &number);

    if (!hop)
        return false;
    if (t->hop_trace[number] == t->stamp)
        return true;
    t->hop_trace[number] = t->stamp;
    ss_use *pair = use_of_pair(t, number, prefix);
    if (!pair)
        return false;
    hop->ending += ending;
    pair->ending += ending;
    hop->through += !ending;
    pair->through += !ending;
    return true;
}

/* Counts the nodes of a trace, the penultimate one first: if it also replied at
 * an earlier TTL, it still counts as the end. */
static bool count_hops(ss_table *t, const ss_trace *trace, uint8_t reached)
{
    uint32_t prefix =
        ss_index_add(&t->prefixes, ss_addr_mask(trace->dst, t->prefix));

    if (prefix == SS_NO_NUMBER)
        return false;
    for (int ending = 1; ending >= 0; ending--)
        for (size_t i = 0; i < trace->nhops; i++) {
            const ss_hop *h = &trace->hop[i];
            if (reached && h->ttl >= reached)
                continue;
            if ((reached && h->ttl == reached - 1) != ending)
                continue;
            if (i && ss_addr_equal(h->addr, h[-1].addr) && h->ttl == h[-1].ttl)
                continue; /* counted with the previous reply */
            if (!count_hop(t, h->addr, prefix, ending))
                return false;
        }
    return true;
}

umbel_status ss_table_learn(ss_table *t, const ss_trace *trace,
                            umbel_error *err)
{
    uint8_t reached = ss_trace_reached(trace);
    ss_monitor_use *m = use_of_monitor(t, trace->monitor);

    if (!m)
        return no_room(err);
    t->traces++;
    t->stamp++;
    m->traces++;
    add_times(m, trace->start, trace->start);
    t->reached += reached != 0;
    t->length[reached] += reached != 0;
    return count_hops(t, trace, reached) ? UMBEL_OK : no_room(err);
}

/* --- tables as input ------------------------------------------------------ */

/* The words of a line. */
typedef struct words {
    const char *at, *end;
    bool bad;
} words;

typedef struct word {
    const char *at;
    size_t len;
} word;

static word next_word(words *w)
{
    while (w->at < w->end && *w->at == ' ')
        w->at++;
    word got = {w->at, 0};
    while (w->at < w->end && *w->at != ' ' && *w->at != '\r')
        w->at++;
    got.len = (size_t)(w->at - got.at);
    w->bad |= got.len == 0;
    return got;
}

static uint64_t next_number(words *w, uint64_t most)
{
    word got = next_word(w);
    uint64_t x = 0;

    w->bad |= !um_decimal_read(got.at, got.len, most, &x);
    return x;
}

/* The largest count in a table: 2^16 such tables add up without overflow. */
#define MAX_TRACES (UINT64_C(1) << 48)

static ss_addr next_address(words *w)
{
    word got = next_word(w);
    ss_addr a = {0};

    w->bad |= !ss_addr_parse(got.at, got.len, &a) || ss_addr_none(a);
    return a;
}

static bool word_is(word w, const char *text)
{
    return w.len == strlen(text) && memcmp(w.at, text, w.len) == 0;
}

typedef umbel_status fact(ss_table *t, words *w, umbel_error *err);

static umbel_status read_head(ss_table *t, words *w, umbel_error *err)
{
    word kind = next_word(w);

    t->reading = (ss_prefix_len){0, 0};
    if (!word_is(kind, "table") || next_number(w, 1000) != 1)
        return um_fail(err, UMBEL_E_FORMAT, "not a table of version 1");
    return UMBEL_OK;
}

static umbel_status read_prefix(ss_table *t, words *w, umbel_error *err)
{
    ss_prefix_len p = {(uint8_t)next_number(w, 32),
                       (uint8_t)next_number(w, 128)};

    if (w->bad || !p.v4 || !p.v6)
        return um_fail(err, UMBEL_E_FORMAT,
                       "prefixes have 1 to 32 and 1 to 128 bits");
    if (!t->prefix_fixed && !t->traces)
        t->prefix = p;
    t->prefix_fixed = true;
    if (p.v4 < t->prefix.v4 || p.v6 < t->prefix.v6)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "pairs of this table are by /%u and /%u, wider than /%u "
                       "and /%u: learn with --prefix %u --prefix6 %u",
                       p.v4, p.v6, t->prefix.v4, t->prefix.v6, p.v4, p.v6);
    t->reading = p;
    return UMBEL_OK;
}

static umbel_status read_traces(ss_table *t, words *w, umbel_error *err)
{
    uint64_t all = next_number(w, MAX_TRACES);
    uint64_t reached = next_number(w, MAX_TRACES);

    (void)err;
    w->bad |= reached > all;
    if (!w->bad) {
        t->traces += all;
        t->reached += reached;
    }
    return UMBEL_OK;
}

static umbel_status read_monitor(ss_table *t, words *w, umbel_error *err)
{
    word name = next_word(w);
    ss_addr monitor = {0};

    w->bad |= !ss_monitor_parse(name.at, name.len, &monitor);
    uint64_t traces = next_number(w, MAX_TRACES);
    uint64_t first = next_number(w, UINT64_MAX);
    uint64_t last = next_number(w, UINT64_MAX);
    ss_monitor_use *m = w->bad ? NULL : use_of_monitor(t, monitor);
    if (m) {
        m->traces += traces;
        add_times(m, first, last);
    }
    return m || w->bad ? UMBEL_OK : no_room(err);
}

static umbel_status read_length(ss_table *t, words *w, umbel_error *err)
{
    uint64_t ttl = next_number(w, SS_MAX_TTL);
    uint64_t n = next_number(w, MAX_TRACES);

    (void)err;
    w->bad |= ttl == 0;
    if (!w->bad)
        t->length[ttl] += n;
    return UMBEL_OK;
}

static void add_use(ss_use *use, words *w)
{
    use->through += next_number(w, MAX_TRACES);
    use->ending += next_number(w, MAX_TRACES);
}

static umbel_status read_hop(ss_table *t, words *w, umbel_error *err)
{
    uint32_t number;
    ss_addr addr = next_address(w);
    ss_use *use = w->bad ? NULL : use_of_hop(t, addr, &number);

    if (use)
        add_use(use, w);
    return use || w->bad ? UMBEL_OK : no_room(err);
}

/* Parses "203.0.113.0/24". */
static ss_addr next_prefix(words *w, ss_prefix_len len)
{
    word got = next_word(w);
    const char *slash = memchr(got.at, '/', got.len);
    ss_addr a = {0};

    if (!slash || !ss_addr_parse(got.at, (size_t)(slash - got.at), &a)) {
        w->bad = true;
        return a;
    }
    words bits = {slash + 1, got.at + got.len, false};
    uint64_t n = next_number(&bits, 128);
    w->bad |= bits.bad || n != (ss_addr_is_v4(a) ? len.v4 : len.v6) ||
              !ss_addr_equal(a, ss_addr_mask(a, len));
    return a;
}

static umbel_status read_pair(ss_table *t, words *w, umbel_error *err)
{
    uint32_t number;
    ss_addr addr = next_address(w);
    ss_addr prefix = next_prefix(w, t->reading);

    if (w->bad)
        return UMBEL_OK;
    if (!use_of_hop(t, addr, &number))
        return no_room(err);
    uint32_t to = ss_index_add(&t->prefixes, ss_addr_mask(prefix, t->prefix));
    ss_use *use = to == SS_NO_NUMBER ? NULL : use_of_pair(t, number, to);
    if (use)
        add_use(use, w);
    return use ? UMBEL_OK : no_room(err);
}

umbel_status ss_table_line(ss_table *t, const char *line, size_t len,
                           umbel_error *err)
{
    static const struct {
        const char *name;
        fact *read;
    } facts[] = {{"umbel-stopset", read_head}, {"prefix", read_prefix},
                 {"traces", read_traces},      {"monitor", read_monitor},
                 {"length", read_length},      {"hop", read_hop},
                 {"pair", read_pair}};
    words w = {line, line + len, false};
    word name = next_word(&w);

    if (!name.len || *name.at == '#')
        return UMBEL_OK;
    for (size_t i = 0; i < UM_COUNT(facts); i++)
        if (word_is(name, facts[i].name)) {
            UM_TRY(facts[i].read(t, &w, err));
            if (w.bad)
                return um_fail(err, UMBEL_E_FORMAT,
                               "this line of a table is not understood: "
                               "%.*s",
                               (int)(len < 60 ? len : 60), line);
            return UMBEL_OK;
        }
    return um_fail(err, UMBEL_E_FORMAT, "no table has a line \"%.*s\"",
                   (int)(name.len < 40 ? name.len : 40), name.at);
}

static umbel_status consume_trace(void *ctx, const ss_trace *t,
                                  umbel_error *err)
{
    return ss_table_learn(ctx, t, err);
}

static umbel_status consume_line(void *ctx, const char *line, size_t len,
                                 umbel_error *err)
{
    return ss_table_line(ctx, line, len, err);
}

static umbel_status end_table(void *ctx, umbel_error *err)
{
    const ss_table *t = ctx;

    if (!t->reading.v4)
        return um_fail(err, UMBEL_E_FORMAT, "the table has no line \"prefix\"");
    return UMBEL_OK;
}

umbel_status ss_table_read(ss_table *t, const char *const *paths, size_t n,
                           ss_input_counts *counts, umbel_error *err)
{
    ss_sink sink = {t, consume_trace, consume_line, end_table};

    UM_TRY(ss_input_each(paths, n, &sink, counts, err));
    if (!t->traces)
        return um_fail(err, UMBEL_E_RANGE, "the tables contain no trace");
    return UMBEL_OK;
}

static umbel_status refuse_trace(void *ctx, const ss_trace *t, umbel_error *err)
{
    (void)ctx, (void)t;
    return um_fail(err, UMBEL_E_FORMAT,
                   "these are traces: make a table of them with 'umbel stopset "
                   "learn'");
}

umbel_status ss_table_load(ss_table *t, const char *path, umbel_error *err)
{
    ss_sink sink = {t, refuse_trace, consume_line, end_table};
    ss_input_counts counts = {0};

    ss_table_init(t, (ss_prefix_len){SS_PREFIX4, SS_PREFIX6});
    return ss_input_each(&path, 1, &sink, &counts, err);
}

/* --- answers -------------------------------------------------------------- */

uint64_t ss_table_red(const ss_table *t)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < t->hops.n; i++)
        n += t->hop[i].ending > 0;
    return n;
}

uint8_t ss_table_first_hop(const ss_table *t, double share)
{
    uint64_t within = 0;
    unsigned ttl = 1;

    while (ttl < SS_MAX_TTL && t->reached &&
           (double)(within += t->length[ttl]) <= share * (double)t->reached)
        ttl++;
    return t->reached && ttl < SS_MAX_TTL ? (uint8_t)(ttl > 1 ? ttl - 1 : 1)
                                          : 1;
}

void ss_table_times(const ss_table *t, uint64_t *first, uint64_t *last)
{
    ss_monitor_use all = {0};

    for (uint32_t i = 0; i < t->monitors.n; i++)
        add_times(&all, t->monitor[i].first, t->monitor[i].last);
    *first = all.first;
    *last = all.last;
}

/* --- a table as sorted text: equal tables give equal texts ---------------- */

/* A line with up to two addresses, and the number of its node, pair or
 * monitor. */
typedef struct entry {
    ss_addr a, b;
    uint32_t number;
} entry;

static int compare_entries(const void *x, const void *y)
{
    const entry *p = x, *q = y;
    int order = ss_addr_compare(&p->a, &q->a);

    return order ? order : ss_addr_compare(&p->b, &q->b);
}

/* Returns the keys of an index, sorted, with pairs resolved to addresses; NULL
 * without memory. */
static entry *sort_entries(const ss_table *t, const ss_index *x)
{
    entry *list = malloc(((size_t)x->n + 1) * sizeof *list);

    if (!list)
        return NULL;
    for (uint32_t i = 0; i < x->n; i++) {
        ss_addr key = x->key[i];
        list[i] = x == &t->pairs
                      ? (entry){t->hops.key[key.hi], t->prefixes.key[key.lo], i}
                      : (entry){key, {0, 0}, i};
    }
    qsort(list, x->n, sizeof *list, compare_entries);
    return list;
}

static void write_monitor(const ss_table *t, const entry *e, FILE *out)
{
    const ss_monitor_use *m = &t->monitor[e->number];
    char name[SS_ADDR_TEXT];

    ss_monitor_format(e->a, name);
    fprintf(out, "monitor %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name,
            m->traces, m->first, m->last);
}

/* Writes a hop, even if it is known only from pairs and its counts are 0. */
static void write_hop(const ss_table *t, const entry *e, FILE *out)
{
    const ss_use *use = &t->hop[e->number];
    char hop[SS_ADDR_TEXT];

    ss_addr_format(e->a, hop);
    fprintf(out, "hop %s %" PRIu64 " %" PRIu64 "\n", hop, use->through,
            use->ending);
}

static void write_pair(const ss_table *t, const entry *e, FILE *out)
{
    const ss_use *use = &t->pair[e->number];
    char hop[SS_ADDR_TEXT], prefix[SS_ADDR_TEXT];

    ss_addr_format(e->a, hop);
    ss_addr_format(e->b, prefix);
    fprintf(out, "pair %s %s/%u %" PRIu64 " %" PRIu64 "\n", hop, prefix,
            ss_addr_is_v4(e->b) ? t->prefix.v4 : t->prefix.v6, use->through,
            use->ending);
}

static bool write_sorted(const ss_table *t, const ss_index *x,
                         void (*write)(const ss_table *t, const entry *e,
                                       FILE *out),
                         FILE *out)
{
    entry *list = sort_entries(t, x);

    for (uint32_t i = 0; list && i < x->n; i++)
        write(t, &list[i], out);
    free(list);
    return list != NULL;
}

bool ss_table_write(const ss_table *t, FILE *out)
{
    fprintf(out, "%s\nprefix %u %u\ntraces %" PRIu64 " %" PRIu64 "\n",
            SS_TABLE_HEAD, t->prefix.v4, t->prefix.v6, t->traces, t->reached);
    if (!write_sorted(t, &t->monitors, write_monitor, out))
        return false;
    for (unsigned i = 1; i <= SS_MAX_TTL; i++)
        if (t->length[i])
            fprintf(out, "length %u %" PRIu64 "\n", i, t->length[i]);
    return write_sorted(t, &t->hops, write_hop, out) &&
           write_sorted(t, &t->pairs, write_pair, out);
}
