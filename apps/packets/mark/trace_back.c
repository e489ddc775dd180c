/*
 * trace_back.c - from the filter in a packet back to its source.
 *
 * A router that is on the path left its cells in the filter, unless a later
 * router overwrote one of them. The victim knows the topology: it tests the
 * routers next to it, then the neighbours of those that match, and so on
 * (Laufer, Velloso, Duarte 2011, sections 1 and 6). Without wildcards, one
 * overwritten cell hides a router, and all behind it. With wildcards, the cells
 * of the routers between it and the victim do not count, so every router of the
 * path matches. What is a wildcard depends on the way, so this search follows
 * all ways without repetition, up to a limit of tests.
 *
 * Several routers may match at a branch. The path that is reported is the one
 * with the most evidence: cells that were compared and agree. The number of
 * false candidates is expected from the zeros, the ones and the wildcards at
 * each test of a router off that path.
 */
#include "base/bits.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/map.h"
#include "base/text.h"
#include "packets/mark/mark.h"

#include <umbel/experimental/generalized.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_LEN = 2 * PK_ROUTER_LEN + 80, MAX_TEXT = 64 << 20 };

/* --- topologies ----------------------------------------------------------- */

typedef struct edge {
    uint32_t from, to;
} edge;

bool pk_router_name(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (name[i] <= ' ' || name[i] > '~' || strchr("#\"\\", name[i]))
            return false;
    return len > 0 && len < PK_ROUTER_LEN;
}

/* A topology that is being read. */
typedef struct draft {
    pk_topology *t;
    size_t names_cap, links_cap, victims_cap;
    edge *links;
    size_t nlinks;
    uint32_t *slots; /* number + 1 of a router, by its name; 0: free */
    size_t nslots;
    unsigned line;
} draft;

static bool slot_free(const void *slot)
{
    return *(const uint32_t *)slot == 0;
}

static bool slot_has(const void *ctx, const void *slot, const void *key)
{
    const pk_topology *t = ctx;

    return strcmp(t->name[*(const uint32_t *)slot - 1], key) == 0;
}

static uint64_t name_hash(const char *name)
{
    uint64_t h = 0xcbf29ce484222325;

    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3;
    return h ^ h >> 29;
}

static uint64_t slot_hash(const void *ctx, const void *slot)
{
    const pk_topology *t = ctx;

    return name_hash(t->name[*(const uint32_t *)slot - 1]);
}

static const um_map_rule names = {sizeof(uint32_t), slot_free, slot_has,
                                  slot_hash};

static bool grow_slots(draft *d)
{
    size_t cap = um_map_cap((size_t)d->t->n + 1, 64);
    uint32_t *more;

    if (cap <= d->nslots)
        return true;
    more = calloc(cap, sizeof *more);
    if (!more)
        return false;
    if (d->nslots)
        um_map_move(&names, d->t, d->slots, d->nslots, more, cap);
    free(d->slots);
    d->slots = more;
    d->nslots = cap;
    return true;
}

/* Finds a router, or adds it. */
static umbel_status get_node(draft *d, const char *name, uint32_t *out,
                             umbel_error *err)
{
    pk_topology *t = d->t;

    if (!grow_slots(d))
        return um_no_memory(err, d->nslots);
    uint32_t *slot =
        um_map_find(&names, t, d->slots, d->nslots, name_hash(name), name);
    if (!*slot) {
        if (t->n == PK_MAX_NODES)
            return um_fail(err, UMBEL_E_LIMIT, "line %u: more than %d routers",
                           d->line, PK_MAX_NODES);
        if (!um_array_reserve(&t->name, &d->names_cap, t->n + 1u,
                              sizeof *t->name))
            return um_no_memory(err, d->names_cap);
        snprintf(t->name[t->n], PK_ROUTER_LEN, "%s", name);
        *slot = ++t->n;
    }
    *out = *slot - 1;
    return UMBEL_OK;
}

static umbel_status add_victim(draft *d, const char *name, umbel_error *err)
{
    uint32_t node = 0;

    UM_TRY(get_node(d, name, &node, err));
    if (!um_array_reserve(&d->t->victims, &d->victims_cap, d->t->nvictims + 1u,
                          sizeof *d->t->victims))
        return um_no_memory(err, d->victims_cap);
    d->t->victims[d->t->nvictims++] = node;
    return UMBEL_OK;
}

static umbel_status add_link(draft *d, const char *a, const char *b,
                             umbel_error *err)
{
    edge l = {0, 0};

    if (d->nlinks == PK_MAX_LINKS)
        return um_fail(err, UMBEL_E_LIMIT, "line %u: more than %d links",
                       d->line, PK_MAX_LINKS);
    UM_TRY(get_node(d, a, &l.from, err));
    UM_TRY(get_node(d, b, &l.to, err));
    if (!um_array_reserve(&d->links, &d->links_cap, d->nlinks + 1,
                          sizeof *d->links))
        return um_no_memory(err, d->links_cap);
    d->links[d->nlinks++] = l;
    return UMBEL_OK;
}

static umbel_status add_line(draft *d, umbel_slice line, umbel_error *err)
{
    char word[2][PK_ROUTER_LEN];
    const char *comment = memchr(line.data, '#', line.len);
    umbel_slice next;
    size_t n = 0;

    if (comment)
        line.len = (size_t)(comment - (const char *)line.data);
    while (um_next_word(&line, &next)) {
        if (n == 2 || !um_slice_text(next, word[n], PK_ROUTER_LEN) ||
            !pk_router_name(word[n]))
            return um_fail(err, UMBEL_E_FORMAT,
                           "line %u: expected \"A B\" for a link between "
                           "routers, or \"victim A\"; names have at most %d "
                           "printable characters other than '\"' and '\\\\'",
                           d->line, PK_ROUTER_LEN - 1);
        n++;
    }
    if (n == 0)
        return UMBEL_OK;
    if (n == 1)
        return um_fail(err, UMBEL_E_FORMAT,
                       "line %u: \"%s\" stands alone; expected \"A B\" for a "
                       "link between routers, or \"victim A\"",
                       d->line, word[0]);
    return strcmp(word[0], "victim") == 0 ? add_victim(d, word[1], err)
                                          : add_link(d, word[0], word[1], err);
}

/* Sorts the links by router, in both directions. */
static umbel_status sort_links(draft *d, umbel_error *err)
{
    pk_topology *t = d->t;

    t->first = calloc(t->n + 2u, sizeof *t->first);
    t->link = malloc((2 * d->nlinks + 1) * sizeof *t->link);
    if (!t->first || !t->link)
        return um_no_memory(err, 2 * d->nlinks * sizeof *t->link);
    /* first[i + 2] counts, then first[i + 1] is where i's next link goes. */
    for (size_t i = 0; i < d->nlinks; i++) {
        t->first[d->links[i].from + 2]++;
        t->first[d->links[i].to + 2]++;
    }
    for (uint32_t i = 2; i < t->n + 2; i++)
        t->first[i] += t->first[i - 1];
    for (size_t i = 0; i < d->nlinks; i++) {
        t->link[t->first[d->links[i].from + 1]++] = d->links[i].to;
        t->link[t->first[d->links[i].to + 1]++] = d->links[i].from;
    }
    return UMBEL_OK;
}

umbel_status pk_topology_parse(umbel_slice text, pk_topology *out,
                               umbel_error *err)
{
    pk_topology t = {.n = 0};
    draft d = {.t = &t};
    umbel_slice line;
    umbel_status status = UMBEL_OK;

    while (!status && um_next_line(&text, &line)) {
        d.line++;
        status = add_line(&d, line, err);
    }
    if (!status && !t.nvictims)
        status = um_fail(err, UMBEL_E_FORMAT,
                         "no line \"victim A\", which names the router that "
                         "the victim is attached to");
    if (!status)
        status = sort_links(&d, err);
    free(d.links);
    free(d.slots);
    if (status)
        pk_topology_fini(&t);
    else
        *out = t;
    return status;
}

umbel_status pk_topology_load(const char *path, pk_topology *out,
                              umbel_error *err)
{
    um_buffer text = {.len = 0};
    FILE *in = fopen(path, "re");

    if (!in)
        return um_fail_path(err, path);
    for (size_t n = 1; n > 0 && text.len <= MAX_TEXT;) {
        uint8_t *at = um_buffer_reserve(&text, 65536);
        n = at ? fread(at, 1, 65536, in) : 0;
        text.len += n;
    }
    umbel_status status = UMBEL_OK;
    if (ferror(in))
        status = um_fail_path(err, path);
    else if (text.failed || text.len > MAX_TEXT)
        status = um_fail(err, UMBEL_E_LIMIT, "%s: larger than 64 MiB", path);
    else
        status = um_name_file(
            pk_topology_parse((umbel_slice){text.data, text.len}, out, err),
            path, err);
    fclose(in);
    um_buffer_fini(&text);
    return status;
}

void pk_topology_fini(pk_topology *t)
{
    free(t->name);
    free(t->first);
    free(t->link);
    free(t->victims);
    *t = (pk_topology){.n = 0};
}

uint32_t pk_topology_find(const pk_topology *t, const char *name)
{
    uint32_t i = 0;

    while (i < t->n && strcmp(t->name[i], name) != 0)
        i++;
    return i;
}

/* --- the search ----------------------------------------------------------- */

/* A step of the way that is being followed, or of the search without
 * wildcards. */
typedef struct step {
    uint32_t node;
    uint32_t next;   /* neighbour that is tried next */
    uint32_t parent; /* step; without wildcards */
    uint32_t evidence;
    uint8_t unknown[PK_MARK_BYTES];
} step;

struct pk_tracer {
    const pk_topology *topology;
    pk_tracer_config config;
    umbel_packet *filter;
    step *steps; /* n + 1 */
    uint32_t *path, *candidates;
    uint32_t npath, ncandidates;
    uint32_t most; /* evidence of the path */
    bool *on_way, *found, *on_path;
    double *chance; /* the highest at which a router was tested */
    uint32_t tests;

    /* The packet. */
    const uint8_t *packet, *bits;
    size_t len;
};

umbel_status pk_tracer_open(const pk_topology *topology,
                            const pk_tracer_config *c, pk_tracer **out,
                            umbel_error *err)
{
    umbel_packet_params params = {.size = sizeof params,
                                  .bits = PK_MARK_BITS,
                                  .reset = c->shape.reset,
                                  .set = c->shape.set,
                                  .secret = c->shape.secret};
    size_t n = topology->n + 1u;
    pk_tracer *t = calloc(1, sizeof *t);

    if (!t)
        return um_no_memory(err, sizeof *t);
    t->topology = topology;
    t->config = *c;
    t->steps = malloc(n * sizeof *t->steps);
    t->path = malloc(n * sizeof *t->path);
    t->candidates = malloc(n * sizeof *t->candidates);
    t->on_way = malloc(n);
    t->found = malloc(n);
    t->on_path = malloc(n);
    t->chance = malloc(n * sizeof *t->chance);
    bool whole = t->steps && t->path && t->candidates && t->on_way &&
                 t->found && t->on_path && t->chance;
    umbel_status status;
    if (whole)
        status = umbel_packet_open(&params, &t->filter, err);
    else
        status = um_no_memory(err, n * sizeof *t->steps);
    if (status)
        pk_tracer_close(t);
    else
        *out = t;
    return status;
}

void pk_tracer_close(pk_tracer *t)
{
    if (!t)
        return;
    umbel_packet_close(t->filter);
    free(t->steps);
    free(t->path);
    free(t->candidates);
    free(t->on_way);
    free(t->found);
    free(t->on_path);
    free(t->chance);
    free(t);
}

/* Returns x (x - 1) .. with n factors. */
static double falling(double x, unsigned n)
{
    double product = 1;

    for (unsigned i = 0; i < n; i++)
        product *= x > i ? x - i : 0;
    return product;
}

static double choose(unsigned n, unsigned k)
{
    return falling(n, k) / falling(k, k);
}

/*
 * Returns the probability that a router that is not on the path matches: its
 * distinct cells are drawn from zeros, ones and wildcards. i of the reset cells
 * and j of the set cells are wildcards.
 */
static double accept_chance(const pk_tracer *t, const uint8_t *unknown)
{
    unsigned k0 = t->config.shape.reset, k1 = t->config.shape.set;
    double ones = 0, wild = 0, ways = 0;

    for (uint32_t i = 0; i < PK_MARK_BITS; i++) {
        bool is_wild = unknown && um_bit(unknown, i);
        wild += is_wild;
        ones += !is_wild && um_bit(t->bits, i);
    }
    for (unsigned i = 0; i <= k0; i++)
        for (unsigned j = 0; j <= k1; j++)
            ways += choose(k0, i) * choose(k1, j) *
                    falling(PK_MARK_BITS - ones - wild, k0 - i) *
                    falling(ones, k1 - j) * falling(wild, i + j);
    return ways / falling(PK_MARK_BITS, k0 + k1);
}

static size_t write_key_of(const pk_tracer *t, uint32_t node,
                           uint8_t key[PK_MARK_KEY])
{
    return pk_mark_key(t->packet, t->len, t->topology->name[node], key);
}

/* Tests a router at a place where a false one matches with this chance. */
static bool test(pk_tracer *t, uint32_t node, const uint8_t *unknown,
                 double chance)
{
    uint8_t key[PK_MARK_KEY];
    size_t n = write_key_of(t, node, key);

    t->tests++;
    if (chance > t->chance[node])
        t->chance[node] = chance;
    if (umbel_packet_inverted(t->filter, t->bits, unknown, key, n) != 0)
        return false;
    if (!t->found[node])
        t->candidates[t->ncandidates++] = node;
    t->found[node] = true;
    return true;
}

/* Appends a router to the way. Its evidence is the cells that were not
 * wildcards. */
static void append_step(pk_tracer *t, step *s, const step *before,
                        uint32_t node)
{
    uint8_t key[PK_MARK_KEY], inverse[PK_MARK_BYTES], fresh[PK_MARK_BYTES];
    size_t n = write_key_of(t, node, key);

    *s = (step){.node = node, .next = t->topology->first[node]};
    if (before) {
        memcpy(s->unknown, before->unknown, sizeof s->unknown);
        s->evidence = before->evidence;
    }
    memset(inverse, 0, sizeof inverse);
    umbel_packet_cover(t->filter, inverse, key, n);
    for (size_t i = 0; i < sizeof fresh; i++)
        fresh[i] = inverse[i] & (uint8_t)~s->unknown[i];
    s->evidence += (uint32_t)um_popcount(fresh, 0, PK_MARK_BITS);
    umbel_packet_cover(t->filter, s->unknown, key, n);
}

/* Keeps the way to the last step if its evidence is the best. */
static void update_path(pk_tracer *t, uint32_t nsteps)
{
    if (t->steps[nsteps - 1].evidence <= t->most)
        return;
    t->most = t->steps[nsteps - 1].evidence;
    t->npath = nsteps;
    for (uint32_t i = 0; i < nsteps; i++)
        t->path[i] = t->steps[i].node;
}

/* Follows all ways from a router that matches, depth first. */
static void follow_ways(pk_tracer *t, uint32_t start)
{
    const pk_topology *g = t->topology;
    uint32_t n = 1;

    append_step(t, &t->steps[0], NULL, start);
    t->on_way[start] = true;
    update_path(t, n);
    while (n > 0 && t->tests < t->config.limit) {
        step *s = &t->steps[n - 1];
        if (s->next == g->first[s->node + 1]) {
            t->on_way[s->node] = false;
            n--;
            continue;
        }
        uint32_t node = g->link[s->next++];
        if (t->on_way[node] ||
            !test(t, node, s->unknown, accept_chance(t, s->unknown)))
            continue;
        append_step(t, &t->steps[n++], s, node);
        t->on_way[node] = true;
        update_path(t, n);
    }
    while (n > 0)
        t->on_way[t->steps[--n].node] = false;
}

/* Writes the path that ends at a step of the search without wildcards. */
static void walk_up(pk_tracer *t, uint32_t last)
{
    t->npath = 0;
    for (uint32_t i = last; i != UINT32_MAX; i = t->steps[i].parent)
        t->path[t->npath++] = t->steps[i].node;
    for (uint32_t i = 0; i < t->npath / 2; i++) {
        uint32_t swap = t->path[i];
        t->path[i] = t->path[t->npath - 1 - i];
        t->path[t->npath - 1 - i] = swap;
    }
}

/* Tests each router once, breadth first; the path ends at the last one, which
 * is the farthest. */
static void spread(pk_tracer *t)
{
    const pk_topology *g = t->topology;
    double chance = accept_chance(t, NULL);
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->nvictims; i++) {
        uint32_t node = g->victims[i];
        if (!t->on_way[node] && test(t, node, NULL, chance))
            t->steps[n++] = (step){.node = node, .parent = UINT32_MAX};
        t->on_way[node] = true;
    }
    for (uint32_t i = 0; i < n && t->tests < t->config.limit; i++)
        for (uint32_t j = g->first[t->steps[i].node];
             j < g->first[t->steps[i].node + 1]; j++) {
            uint32_t node = g->link[j];
            if (!t->on_way[node] && test(t, node, NULL, chance))
                t->steps[n++] = (step){.node = node, .parent = i};
            t->on_way[node] = true;
        }
    if (n)
        walk_up(t, n - 1);
}

/* Tests all routers, wherever they are. */
static void test_every(pk_tracer *t)
{
    double chance = accept_chance(t, NULL);

    for (uint32_t i = 0; i < t->topology->n; i++)
        test(t, i, NULL, chance);
}

static void search(pk_tracer *t)
{
    const pk_topology *g = t->topology;
    double chance = accept_chance(t, NULL);

    if (t->config.every) {
        test_every(t);
    } else if (!t->config.wildcards || !t->config.shape.reset) {
        /* A plain filter overwrites nothing. */
        spread(t);
    } else {
        for (uint32_t i = 0; i < g->nvictims; i++)
            if (test(t, g->victims[i], NULL, chance))
                follow_ways(t, g->victims[i]);
    }
}

bool pk_trace_packet(pk_tracer *t, const uint8_t *packet, size_t len,
                     pk_trace *out)
{
    uint32_t n = t->topology->n;

    t->bits = pk_mark_find(&t->config.shape, packet, len);
    if (!t->bits)
        return false;
    t->packet = packet;
    t->len = len;
    t->npath = t->ncandidates = t->most = t->tests = 0;
    memset(t->on_way, 0, n);
    memset(t->found, 0, n);
    memset(t->on_path, 0, n);
    for (uint32_t i = 0; i < n; i++)
        t->chance[i] = 0;
    search(t);
    *out = (pk_trace){.path = t->path,
                      .npath = t->npath,
                      .candidates = t->candidates,
                      .ncandidates = t->ncandidates,
                      .cut = t->tests >= t->config.limit};
    for (uint32_t i = 0; i < t->npath; i++)
        t->on_path[t->path[i]] = true;
    for (uint32_t i = 0; i < n; i++)
        out->expected_false += t->on_path[i] ? 0 : t->chance[i];
    return true;
}
