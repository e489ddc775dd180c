/*
 * table_write.c - a table as text, sorted, so that equal tables are equal
 * texts.
 */
#include "stopset/sets/table.h"

#include <inttypes.h>
#include <stdlib.h>

/* A line with up to two addresses, and the number of what it is about. */
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

/* The keys of an index, or pairs of those of two, sorted. NULL: no memory. */
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

/* A hop that is known from pairs alone has no count of its own. */
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
