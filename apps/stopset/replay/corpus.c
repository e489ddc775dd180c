/*
 * corpus.c - recorded traces, with numbered nodes, links and destinations.
 */
#include "stopset/replay/replay.h"

#include "base/bits.h"
#include "base/buffer.h"
#include "base/error.h"

static umbel_status no_room(umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM, "no memory for the traces");
}

void ss_corpus_fini(ss_corpus *c)
{
    ss_index_fini(&c->nodes);
    ss_index_fini(&c->links);
    ss_index_fini(&c->monitors);
    free(c->step);
    free(c->route);
    *c = (ss_corpus){0};
}

static bool reserve(ss_corpus *c)
{
    if (c->nroutes == c->route_cap) {
        size_t cap = c->route_cap ? 2 * c->route_cap : 1024;
        if (!um_array_resize(&c->route, cap, sizeof *c->route))
            return false;
        c->route_cap = cap;
    }
    if (c->step_cap - c->nsteps < SS_MAX_TTL) {
        size_t cap = c->step_cap ? 2 * c->step_cap : 1 << 14;
        if (!um_array_resize(&c->step, cap, sizeof *c->step))
            return false;
        c->step_cap = cap;
    }
    return true;
}

static bool is_node(uint32_t node)
{
    return node < SS_UNPROBED;
}

/* Numbers the links between the steps from start on. */
static bool number_links(ss_corpus *c, size_t start)
{
    for (size_t i = start; i < c->nsteps; i++) {
        uint32_t node = c->step[i].node;
        uint32_t before = i > start ? c->step[i - 1].node : SS_SILENT;
        c->step[i].link = SS_SILENT;
        if (!is_node(node) || !is_node(before))
            continue;
        c->step[i].link = ss_index_add(&c->links, ss_pair(before, node));
        if (c->step[i].link == SS_NO_NUMBER)
            return false;
    }
    return true;
}

/* Marks which TTLs were probed, then sets the first reply of each. */
static bool number_nodes(ss_corpus *c, const ss_trace *t, uint8_t n)
{
    ss_step *step = c->step + c->nsteps;

    for (unsigned ttl = 1; ttl <= n; ttl++)
        step[ttl - 1].node = um_bit(t->probed, ttl) ? SS_SILENT : SS_UNPROBED;
    for (size_t i = 0; i < t->nhops; i++) {
        const ss_hop *h = &t->hop[i];
        if (h->ttl > n || h->aside || is_node(step[h->ttl - 1].node))
            continue;
        step[h->ttl - 1].node = ss_index_add(&c->nodes, h->addr);
        if (!is_node(step[h->ttl - 1].node))
            return false;
    }
    c->nsteps += n;
    c->nnodes = c->nodes.n;
    return true;
}

umbel_status ss_corpus_add(ss_corpus *c, const ss_trace *t, umbel_error *err)
{
    uint8_t reached = ss_trace_reached(t);
    uint8_t n = reached ? (uint8_t)(reached - 1) : t->last;
    size_t start = c->nsteps;
    uint32_t monitor = ss_index_add(&c->monitors, t->monitor);

    if (monitor == SS_NO_NUMBER || !reserve(c) || !number_nodes(c, t, n) ||
        !number_links(c, start))
        return no_room(err);
    c->route[c->nroutes++] = (ss_route){.start = start,
                                        .steps = n,
                                        .reached = reached != 0,
                                        .monitor = monitor,
                                        .dst = t->dst};
    return UMBEL_OK;
}

umbel_status ss_corpus_add_numbers(ss_corpus *c, uint32_t monitor,
                                   const uint32_t *node, uint8_t n,
                                   umbel_error *err)
{
    size_t start = c->nsteps;

    if (!reserve(c))
        return no_room(err);
    for (size_t i = 0; i < n; i++) {
        c->step[c->nsteps++].node = node[i];
        if (node[i] >= c->nnodes)
            c->nnodes = node[i] + 1;
    }
    if (!number_links(c, start))
        return no_room(err);
    c->route[c->nroutes++] = (ss_route){
        .start = start, .steps = n, .reached = true, .monitor = monitor};
    return UMBEL_OK;
}

static umbel_status consume_trace(void *ctx, const ss_trace *t,
                                  umbel_error *err)
{
    return ss_corpus_add(ctx, t, err);
}

umbel_status ss_corpus_read(ss_corpus *c, const char *const *paths, size_t n,
                            ss_input_counts *counts, umbel_error *err)
{
    ss_sink sink = {.ctx = c, .trace = consume_trace};

    return ss_input_each(paths, n, &sink, counts, err);
}

/* --- queries -------------------------------------------------------------- */

/* Numbers the questions: one for each node and target that occur together. */
static bool number_questions(ss_keying *k, const ss_corpus *c,
                             ss_index *targets, ss_index *pairs)
{
    for (size_t r = 0; r < c->nroutes; r++) {
        const ss_route *route = &c->route[r];
        uint32_t target =
            ss_index_add(targets, ss_key_target(&k->info, route->dst));
        for (size_t i = route->start; i < route->start + route->steps; i++) {
            uint32_t node = c->step[i].node;
            k->of_step[i] = is_node(node)
                                ? ss_index_add(pairs, ss_pair(node, target))
                                : SS_SILENT;
            if (is_node(node) && k->of_step[i] == SS_NO_NUMBER)
                return false;
        }
        if (target == SS_NO_NUMBER)
            return false;
    }
    return true;
}

umbel_status ss_keying_init(ss_keying *k, const ss_corpus *c,
                            const ss_set_info *info, umbel_error *err)
{
    ss_index targets = {0}, pairs = {0};

    *k = (ss_keying){.info = *info};
    k->of_step = calloc(c->nsteps + 1, sizeof *k->of_step);
    bool fine = k->of_step && number_questions(k, c, &targets, &pairs);
    k->question =
        fine ? calloc((size_t)pairs.n + 1, sizeof *k->question) : NULL;
    for (uint32_t i = 0; k->question && i < pairs.n; i++)
        k->question[i] = (ss_question){c->nodes.key[pairs.key[i].hi],
                                       targets.key[pairs.key[i].lo]};
    k->n = pairs.n;
    ss_index_fini(&targets);
    ss_index_fini(&pairs);
    return k->question ? UMBEL_OK : no_room(err);
}

void ss_keying_fini(ss_keying *k)
{
    free(k->of_step);
    free(k->question);
    *k = (ss_keying){0};
}

bool *ss_keying_ask(const ss_keying *k, const ss_set *s, umbel_error *err)
{
    bool *hit = calloc((size_t)k->n + 1, sizeof *hit);

    if (!hit) {
        um_set_error(err, UMBEL_E_NOMEM, "no memory for the answers");
        return NULL;
    }
    if (ss_set_query(s, k->question, k->n, hit, err) == UMBEL_OK)
        return hit;
    free(hit);
    return NULL;
}
