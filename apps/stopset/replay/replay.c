/*
 * replay.c - replays recorded traces with a stopping rule.
 */
#include "stopset/replay/replay.h"

#include "base/error.h"
#include "stopset/sets/build_set.h"

#include <stdlib.h>
#include <string.h>

/* --- replay of recorded traces -------------------------------------------- */

/*
 * A replay sends one probe per TTL. The recorded trace answers: with a node,
 * with nothing, or, from the TTL of the destination on, with the destination.
 */

bool ss_found_init(ss_found *f, const ss_corpus *c)
{
    f->node = calloc((size_t)c->nnodes + 1, sizeof *f->node);
    f->link = calloc((size_t)c->links.n + 1, sizeof *f->link);
    return f->node && f->link;
}

void ss_found_fini(ss_found *f)
{
    free(f->node);
    free(f->link);
    *f = (ss_found){0};
}

double ss_missed(const bool *all, const bool *some, size_t n)
{
    size_t there = 0, gone = 0;

    for (size_t i = 0; i < n; i++) {
        there += all[i];
        gone += all[i] && !some[i];
    }
    return there ? (double)gone / (double)there : 0;
}

static bool is_node(uint32_t node)
{
    return node < SS_UNPROBED;
}

/* Marks the nodes of TTLs low to high, and the links between them. */
static void mark(const ss_corpus *c, const ss_route *route, unsigned low,
                 unsigned high, ss_found *found)
{
    const ss_step *step = c->step + route->start;

    for (unsigned ttl = low; ttl <= high && ttl <= route->steps; ttl++) {
        if (is_node(step[ttl - 1].node))
            found->node[step[ttl - 1].node] = true;
        if (ttl > low && step[ttl - 1].link != SS_SILENT)
            found->link[step[ttl - 1].link] = true;
    }
}

void ss_find_all(const ss_corpus *c, ss_found *found)
{
    for (size_t i = 0; i < c->nroutes; i++)
        mark(c, &c->route[i], 1, SS_MAX_TTL, found);
}

/* --- one trace ------------------------------------------------------------ */

typedef struct run {
    const ss_replay *r;
    ss_index locals; /* (monitor, node) */
    ss_outcome *out;
} run;

static bool answer(const ss_answers *a, size_t step, uint32_t node)
{
    return a->hit && a->hit[a->key ? a->key[step] : node];
}

static bool is_local(const run *u, const ss_route *route, uint32_t node)
{
    return u->r->local &&
           ss_index_find(&u->locals, ss_pair(route->monitor, node)) !=
               SS_NO_NUMBER;
}

/* Returns the recorded reply for a TTL. Sets *probed if the TTL was probed,
 * which costs a probe. */
static ss_reply reply_at(const run *u, const ss_route *route, uint8_t ttl,
                         bool back, bool *probed)
{
    size_t i = route->start + ttl - 1u;

    *probed = true;
    if (ttl > route->steps && route->reached)
        return (ss_reply){.destination = true};
    uint32_t node =
        ttl > route->steps ? SS_UNPROBED : u->r->corpus->step[i].node;
    *probed = node != SS_UNPROBED;
    if (!is_node(node))
        return (ss_reply){.silent = true};
    if (back)
        return (ss_reply){.local = is_local(u, route, node)};
    return (ss_reply){.red = answer(&u->r->red, i, node),
                      .global = answer(&u->r->global, i, node)};
}

/* The range of TTLs that a walk probed. */
typedef struct span {
    uint8_t low, high;
    bool hit; /* the destination was probed */
} span;

static span walk_route(run *u, const ss_route *route, ss_walk *w)
{
    ss_policy policy = u->r->policy;
    span s = {0};

    if (!route->reached) /* the recorded trace ends there */
        policy.max_ttl = route->steps > policy.first ? route->steps
                         : policy.first              ? policy.first
                                                     : 1;
    ss_walk_begin(w, &policy);
    s.low = s.high = w->ttl;
    while (w->ttl) {
        bool probed;
        uint8_t ttl = w->ttl;
        ss_reply reply = reply_at(u, route, ttl, w->back, &probed);
        u->out->probes += probed;
        u->out->destination_probes += reply.destination;
        s.hit |= reply.destination;
        s.low = ttl < s.low ? ttl : s.low;
        s.high = ttl > s.high ? ttl : s.high;
        ss_walk_apply(w, &reply);
    }
    return s;
}

/* Adds the nodes of a trace to the monitor's local set, after the walk: during
 * a trace no set changes. */
static bool learn_locals(run *u, const ss_route *route, span s)
{
    const ss_step *step = u->r->corpus->step + route->start;

    for (unsigned ttl = s.low; ttl <= s.high && ttl <= route->steps; ttl++)
        if (is_node(step[ttl - 1].node) &&
            ss_index_add(&u->locals,
                         ss_pair(route->monitor, step[ttl - 1].node)) ==
                SS_NO_NUMBER)
            return false;
    return true;
}

static void learn_globals(run *u, const ss_route *route, unsigned from,
                          unsigned to)
{
    const ss_answers *g = &u->r->global;

    for (unsigned ttl = from; ttl <= to && ttl <= route->steps; ttl++) {
        size_t i = route->start + ttl - 1;
        uint32_t node = u->r->corpus->step[i].node;
        if (is_node(node))
            g->hit[g->key ? g->key[i] : node] = true;
    }
}

static void count_stop(const run *u, const ss_route *route, const ss_walk *w,
                       bool hit)
{
    const ss_replay *r = u->r;
    bool stopped = w->stop == SS_STOP_RED || w->stop == SS_STOP_GSS;

    if (hit) {
        u->out->collision++;
    } else if (!stopped) {
        u->out->never++;
    } else if (!route->reached || w->at < route->steps) {
        u->out->shorter++;
    } else {
        size_t i = route->start + w->at - 1u;
        bool lucky =
            w->stop == SS_STOP_RED && r->listed &&
            !r->listed[r->red.key ? r->red.key[i] : r->corpus->step[i].node];
        u->out->lucky += lucky;
        u->out->genuine += !lucky;
    }
}

static uint64_t full_probes(const ss_corpus *c, const ss_route *route)
{
    uint64_t n = route->reached;

    for (size_t i = 0; i < route->steps; i++)
        n += c->step[route->start + i].node != SS_UNPROBED;
    return n;
}

/* Returns true if the table lacks a node of the trace. */
static bool is_unlearned(const ss_replay *r, const ss_route *route)
{
    for (size_t i = route->start; i < route->start + route->steps; i++) {
        uint32_t node = r->corpus->step[i].node;
        if (is_node(node) && !answer(&r->learned, i, node))
            return true;
    }
    return false;
}

/* Adds the outcome of one trace, which is what changed since `before`. */
static void count_unlearned(ss_outcome *out, const ss_outcome *before)
{
    out->unlearned++;
    out->unlearned_success +=
        out->genuine + out->lucky - before->genuine - before->lucky;
    out->unlearned_short += out->shorter - before->shorter;
}

umbel_status ss_replay_run(const ss_replay *r, ss_found *found, ss_outcome *out,
                           umbel_error *err)
{
    const ss_corpus *c = r->corpus;
    run u = {.r = r, .out = out};
    bool fine = true;

    *out = (ss_outcome){.traces = c->nroutes};
    for (size_t i = 0; fine && i < c->nroutes; i++) {
        const ss_route *route = &c->route[i];
        ss_walk w;
        ss_outcome before = *out;
        span s = walk_route(&u, route, &w);
        mark(c, route, s.low, s.high, found);
        count_stop(&u, route, &w, s.hit);
        if (r->learned.hit && is_unlearned(r, route))
            count_unlearned(out, &before);
        out->probes_full += full_probes(c, route);
        if (r->grow && r->global.hit)
            learn_globals(&u, route, r->policy.first ? r->policy.first : 1,
                          s.high);
        fine = !r->local || learn_locals(&u, route, s);
    }
    ss_index_fini(&u.locals);
    return fine ? UMBEL_OK
                : um_fail(err, UMBEL_E_NOMEM, "no memory for the local sets");
}

/* --- sets tried on recorded traces --------------------------------------- */

/*
 * Many sets are asked the same questions about a corpus. So the questions are
 * numbered once for each kind of key, and a set answers all of them together.
 */

umbel_status ss_trials_read(ss_trials *t, const char *const *paths, size_t n,
                            ss_input_counts *counts, umbel_error *err)
{
    UM_TRY(ss_corpus_read(&t->corpus, paths, n, counts, err));
    if (!t->corpus.nroutes)
        return um_fail(err, UMBEL_E_RANGE, "the files hold no trace");
    if (!ss_found_init(&t->all, &t->corpus))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the traces");
    ss_find_all(&t->corpus, &t->all);
    return UMBEL_OK;
}

void ss_trials_fini(ss_trials *t)
{
    ss_found_fini(&t->all);
    ss_keying_fini(&t->red_keys);
    ss_keying_fini(&t->global_keys);
    free(t->listed);
    free(t->red_learned);
    free(t->global_learned);
    t->listed = t->red_learned = t->global_learned = NULL;
    ss_corpus_fini(&t->corpus);
}

static bool same_keys(const ss_set_info *a, const ss_set_info *b)
{
    return a->kind == b->kind && a->key == b->key &&
           a->prefix.v4 == b->prefix.v4 && a->prefix.v6 == b->prefix.v6;
}

/* Numbers the questions of a set, unless the last set had the same keys. */
static umbel_status number_keys(ss_trials *t, ss_keying *k,
                                const ss_set_info *info, bool *fresh,
                                umbel_error *err)
{
    *fresh = !k->question || !same_keys(&k->info, info);
    if (!*fresh)
        return UMBEL_OK;
    ss_keying_fini(k);
    umbel_status status = ss_keying_init(k, &t->corpus, info, err);
    if (status != UMBEL_OK)
        ss_keying_fini(k);
    return status;
}

/* Finds which questions the table has, and which of these are about members if
 * member is given. Otherwise a table that lacks the set's key is not refused,
 * since it may be given for its path lengths. */
static umbel_status consult_table(const ss_trials *t, const ss_keying *k,
                                  bool **learned, bool **member,
                                  umbel_error *err)
{
    ss_task task;

    free(*learned);
    *learned = NULL;
    if (member) {
        free(*member);
        *member = NULL;
    }
    umbel_status status = ss_task_gather(&task, t->table, &k->info, err);
    if (status == UMBEL_OK) {
        *learned = calloc((size_t)k->n + 1, sizeof **learned);
        if (member)
            *member = calloc((size_t)k->n + 1, sizeof **member);
        if (!*learned || (member && !*member))
            status = um_no_memory(err, k->n);
    }
    for (uint32_t i = 0; status == UMBEL_OK && i < k->n; i++) {
        uint32_t number = ss_task_find(&task, &k->question[i]);
        (*learned)[i] = number != SS_NO_NUMBER;
        if (member)
            (*member)[i] =
                number != SS_NO_NUMBER && ss_task_is_member(&task, number);
    }
    ss_task_fini(&task);
    return status == UMBEL_E_MISMATCH && !member ? UMBEL_OK : status;
}

static umbel_status ask_red(ss_trials *t, const ss_set *red, ss_answers *out,
                            umbel_error *err)
{
    bool fresh;

    if (!red)
        return UMBEL_OK;
    UM_TRY(number_keys(t, &t->red_keys, &red->info, &fresh, err));
    if (t->table && (fresh || !t->listed))
        UM_TRY(
            consult_table(t, &t->red_keys, &t->red_learned, &t->listed, err));
    out->key = t->red_keys.of_step;
    out->hit = ss_keying_ask(&t->red_keys, red, err);
    return out->hit ? UMBEL_OK : UMBEL_E_NOMEM;
}

static umbel_status ask_global(ss_trials *t, const ss_set *global,
                               ss_answers *out, umbel_error *err)
{
    ss_set empty = {0};
    bool fresh;

    if (!global && !t->doubletree)
        return UMBEL_OK;
    if (!global) {
        empty.info = t->growing;
        global = &empty;
    }
    UM_TRY(number_keys(t, &t->global_keys, &global->info, &fresh, err));
    if (t->table && (fresh || !t->global_learned))
        UM_TRY(
            consult_table(t, &t->global_keys, &t->global_learned, NULL, err));
    out->key = t->global_keys.of_step;
    out->hit = ss_keying_ask(&t->global_keys, global, err);
    return out->hit ? UMBEL_OK : UMBEL_E_NOMEM;
}

static umbel_status run_replay(ss_trials *t, const ss_replay *r, ss_result *out,
                               umbel_error *err)
{
    const ss_corpus *c = &t->corpus;
    ss_found found = {0};
    umbel_status status;

    if (ss_found_init(&found, c))
        status = ss_replay_run(r, &found, &out->outcome, err);
    else
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for a replay");
    if (status == UMBEL_OK) {
        out->nodes_missed = ss_missed(t->all.node, found.node, c->nnodes);
        out->links_missed = ss_missed(t->all.link, found.link, c->links.n);
    }
    ss_found_fini(&found);
    return status;
}

umbel_status ss_try(ss_trials *t, const ss_set *red, const ss_set *global,
                    ss_result *out, umbel_error *err)
{
    ss_replay r = {.corpus = &t->corpus,
                   .policy = t->policy,
                   .grow = t->doubletree || global,
                   .local = t->local};
    umbel_status status = ask_red(t, red, &r.red, err);

    if (status == UMBEL_OK)
        status = ask_global(t, global, &r.global, err);
    r.listed = red ? t->listed : NULL;
    if (r.global.hit)
        r.learned = (ss_answers){r.global.key, t->global_learned};
    else if (r.red.hit)
        r.learned = (ss_answers){r.red.key, t->red_learned};
    r.policy.backwards = t->policy.first > 1;
    out->learned_known = r.learned.hit != NULL;
    out->members_known = r.listed != NULL || (red && !red->filter);
    if (status == UMBEL_OK)
        status = run_replay(t, &r, out, err);
    free(r.red.hit);
    free(r.global.hit);
    return status;
}
