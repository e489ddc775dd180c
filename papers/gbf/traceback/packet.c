/*
 * packet.c - marks a packet on its path, and traces it back.
 */
#include "papers/gbf/traceback/packet.h"

#include <umbel/base.h>
#include <umbel/experimental/generalized.h>

#include <math.h>
#include <string.h>

/* A packet, and the filter parameters that its routers agree on. */
typedef struct packet {
    const way *way;
    umbel_packet *shape; /* a router has the same cells in every packet */
    uint8_t bits[BITS / 8];
} packet;

double start_zeros(const start *s, const way *w)
{
    return s->ones < 0 ? (double)w->k0 / (w->k0 + w->k1) : 1 - s->ones;
}

um_gbf way_model(const way *w, const start *s)
{
    return (um_gbf){.p0 = start_zeros(s, w),
                    .k0 = w->k0,
                    .k1 = w->k1,
                    .m = BITS,
                    .n = HOPS};
}

/* Begins a packet. Which bits are one does not matter: all places are equally
 * likely. */
static umbel_status begin(packet *p, const way *w, const start *s, um_rng *rng,
                          umbel_error *err)
{
    double zeros = start_zeros(s, w);
    umbel_packet_params params = {.size = sizeof params,
                                  .bits = BITS,
                                  .reset = w->k0,
                                  .set = w->k1,
                                  .seed = um_random(rng),
                                  .collide = !w->distinct};

    p->way = w;
    um_gbf_fill(p->bits, BITS, s->random ? zeros : 1, rng);
    for (uint64_t i = (uint64_t)lround(zeros * BITS); !s->random && i < BITS;
         i++)
        um_set_bit(p->bits, i);
    return umbel_packet_open(&params, &p->shape, err);
}

static void mark(packet *p, uint16_t router)
{
    umbel_packet_add(p->shape, p->bits, &router, sizeof router);
}

/* Returns the number of cells that differ from what the router writes. */
static uint32_t inverted(const packet *p, const uint8_t *unknown,
                         uint16_t router)
{
    return umbel_packet_inverted(p->shape, p->bits, unknown, &router,
                                 sizeof router);
}

static bool is_marked(const packet *p, uint16_t router)
{
    return inverted(p, NULL, router) == 0;
}

/* Returns the share of routers not on the path that are accepted, given the
 * bits that arrived. */
static double share_accepted(const packet *p)
{
    um_gbf g = {.k0 = p->way->k0, .k1 = p->way->k1, .m = BITS};
    uint32_t zeros = BITS - (uint32_t)um_popcount(p->bits, 0, BITS);

    return p->way->distinct ? um_gbf_accepts_distinct(&g, zeros)
                            : um_gbf_accepts(&g, (double)zeros / BITS);
}

static bool is_among(const uint16_t path[HOPS], uint16_t router)
{
    for (size_t i = 0; i < HOPS; i++)
        if (path[i] == router)
            return true;
    return false;
}

/* Traces back from the victim: queries all neighbours, and continues from those
 * that match. */
static void walk(const graph *g, const uint16_t path[HOPS], const packet *p,
                 trace *out)
{
    bool tested[NODES] = {[VICTIM] = true};
    uint16_t stack[NODES] = {VICTIM};
    double share = share_accepted(p);

    for (size_t n = 1; n > 0;) {
        uint16_t at = stack[--n];
        for (size_t i = g->first[at]; i < g->first[at + 1]; i++) {
            uint16_t next = g->link[i];
            if (tested[next])
                continue;
            tested[next] = true;
            bool marked = is_marked(p, next), right = is_among(path, next);
            if (marked)
                stack[n++] = next;
            out->tests += right ? 0 : 1;
            out->expected += right ? 0 : share;
            out->branches += !right && marked ? 1 : 0;
            out->found += next == path[0] && marked ? 1 : 0;
        }
    }
}

/* A router on the path back, and the cells of the routers between it and the
 * victim. */
typedef struct step {
    uint16_t at;
    uint8_t unknown[BITS / 8];
} step;

/*
 * Does the same with wildcards: cells that routers nearer to the victim
 * overwrote do not count against a router (section 6, after [14]); or with that
 * many inverted cells tolerated. Returns the number of false routers that are
 * followed; *found is 1 if the source is reached.
 */
static double walk_kindly(const graph *g, const uint16_t path[HOPS],
                          const packet *p, bool wild, uint32_t forgiven,
                          double *found)
{
    bool tested[NODES] = {[VICTIM] = true};
    step stack[NODES] = {{.at = VICTIM}};
    double branches = 0;

    *found = 0;
    for (size_t n = 1; n > 0;) {
        step here = stack[--n];
        for (size_t i = g->first[here.at]; i < g->first[here.at + 1]; i++) {
            uint16_t next = g->link[i];
            if (tested[next] ||
                inverted(p, wild ? here.unknown : NULL, next) > forgiven)
                continue;
            tested[next] = true;
            stack[n] = here;
            stack[n].at = next;
            umbel_packet_cover(p->shape, stack[n++].unknown, &next,
                               sizeof next);
            branches += is_among(path, next) ? 0 : 1;
            *found = next == path[0] ? 1 : *found;
        }
    }
    return branches;
}

static void ask_others(const uint16_t path[HOPS], const packet *p, um_rng *rng,
                       trace *out)
{
    for (size_t i = 0; i < ASKED; i++) {
        uint16_t router;
        do
            router = (uint16_t)(1 + um_random_below(rng, ROUTERS));
        while (is_among(path, router));
        out->asked += is_marked(p, router) ? 1 : 0;
    }
}

umbel_status packet_trace(const graph *g, const uint16_t path[HOPS],
                          const way *w, const start *s, um_rng *rng, trace *out,
                          umbel_error *err)
{
    packet p;
    umbel_status status = begin(&p, w, s, rng, err);

    memset(out, 0, sizeof *out);
    if (status != UMBEL_OK)
        return status;
    for (size_t i = 0; i < HOPS; i++)
        mark(&p, path[i]);
    for (size_t i = 0; i < HOPS; i++) {
        out->lost[i] = !is_marked(&p, path[HOPS - 1 - i]);
        out->missed += out->lost[i] ? 1 : 0;
    }
    walk(g, path, &p, out);
    out->wild_branches = walk_kindly(g, path, &p, true, 0, &out->wild_found);
    out->one_branches = walk_kindly(g, path, &p, false, 1, &out->one_found);
    ask_others(path, &p, rng, out);
    umbel_packet_close(p.shape);
    return UMBEL_OK;
}
