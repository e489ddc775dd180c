/*
 * net.c - hash keys to cells, find those that can be miscounted.
 */
#include "papers/spam/net.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { ALONE = 1, SHARED = 2, WATCHED = 3 }; /* what a cell is; 0: nobody's */

static bool alloc_net(um_net *n, size_t nkeys)
{
    n->key = malloc(nkeys * sizeof *n->key);
    n->first = malloc((nkeys + 1) * sizeof *n->first);
    n->cell = malloc(nkeys * (SPAM_MAX_HASHES + 1) * sizeof *n->cell);
    return n->key && n->first && n->cell;
}

umbel_status um_net_init(um_net_space *s, size_t nkeys, size_t ncells,
                         umbel_error *err)
{
    memset(s, 0, sizeof *s);
    s->suspect = malloc(nkeys * sizeof *s->suspect);
    s->state = malloc(ncells);
    s->number = malloc(ncells * sizeof *s->number);
    if (!alloc_net(&s->whole, nkeys) || !alloc_net(&s->reduced, nkeys) ||
        !s->suspect || !s->state || !s->number)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    return UMBEL_OK;
}

static void free_net(um_net *n)
{
    free(n->key);
    free(n->first);
    free(n->cell);
}

void um_net_fini(um_net_space *s)
{
    free_net(&s->whole);
    free_net(&s->reduced);
    free(s->suspect);
    free(s->state);
    free(s->number);
    memset(s, 0, sizeof *s);
}

/* The next key of n, to which cells are then added. */
static void begin_key(um_net *n, size_t key)
{
    n->key[n->nkeys] = (uint32_t)key;
    n->first[n->nkeys + 1] = n->first[n->nkeys];
    n->nkeys++;
}

static void add_cell(um_net *n, uint32_t cell)
{
    n->cell[n->first[n->nkeys]++] = cell;
}

/* The same unless the key has it already. */
static void add_new_cell(um_net *n, uint32_t cell)
{
    for (uint32_t i = n->first[n->nkeys - 1]; i < n->first[n->nkeys]; i++)
        if (n->cell[i] == cell)
            return;
    add_cell(n, cell);
}

void um_net_hash(um_net_space *s, const uint32_t *keys, const uint8_t *count,
                 size_t n, unsigned k, uint32_t m, um_rng *rng)
{
    uint64_t c[SPAM_MAX_HASHES], d[SPAM_MAX_HASHES];
    um_net *net = &s->whole;

    for (unsigned j = 0; j < k; j++) {
        c[j] = 1 + um_random_below(rng, SPAM_PRIME - 1);
        d[j] = um_random_below(rng, SPAM_PRIME);
    }
    net->nkeys = 0;
    net->ncells = m;
    net->first[0] = 0;
    for (size_t i = 0; i < n; i++) {
        if (!count[i])
            continue;
        begin_key(net, i);
        for (unsigned j = 0; j < k; j++)
            add_new_cell(net,
                         (uint32_t)((c[j] * keys[i] + d[j]) % SPAM_PRIME) % m);
    }
}

static void find_shared(um_net_space *s)
{
    const um_net *w = &s->whole;

    memset(s->state, 0, w->ncells);
    for (size_t i = 0; i < w->first[w->nkeys]; i++) {
        uint8_t *state = &s->state[w->cell[i]];
        *state = *state ? SHARED : ALONE;
    }
}

static bool has_own_cell(const um_net_space *s, um_spam_list l)
{
    for (size_t i = 0; i < l.n; i++)
        if (s->state[l.cell[i]] == ALONE)
            return true;
    return false;
}

static void watch_cells(um_net_space *s, um_spam_list l)
{
    for (size_t i = 0; i < l.n; i++)
        if (s->state[l.cell[i]] == SHARED) {
            s->state[l.cell[i]] = WATCHED;
            s->number[l.cell[i]] = (uint32_t)s->reduced.ncells++;
        }
}

static bool has_watched_cell(const um_net_space *s, um_spam_list l)
{
    for (size_t i = 0; i < l.n; i++)
        if (s->state[l.cell[i]] == WATCHED)
            return true;
    return false;
}

/* Keys whose cells are all watched are just the suspects; others get a cell of
 * their own. */
static void keep_key(um_net_space *s, size_t i)
{
    um_spam_list l = um_net_list(&s->whole, i);
    um_net *r = &s->reduced;
    size_t watched = 0;

    if (!has_watched_cell(s, l))
        return;
    begin_key(r, s->whole.key[i]);
    for (size_t j = 0; j < l.n; j++)
        if (s->state[l.cell[j]] == WATCHED) {
            add_cell(r, s->number[l.cell[j]]);
            watched++;
        }
    if (watched < l.n)
        add_cell(r, (uint32_t)r->ncells++);
}

void um_net_reduce(um_net_space *s)
{
    const um_net *w = &s->whole;

    s->reduced.nkeys = s->reduced.ncells = s->suspects = 0;
    s->reduced.first[0] = 0;
    find_shared(s);
    for (size_t i = 0; i < w->nkeys; i++)
        if (!has_own_cell(s, um_net_list(w, i))) {
            s->suspect[s->suspects++] = w->key[i];
            watch_cells(s, um_net_list(w, i));
        }
    for (size_t i = 0; i < w->nkeys; i++)
        keep_key(s, i);
}
