/*
 * packet.c - mark a packet on its way, and go the way back.
 */
#include "papers/gbf-traceback/packet.h"

#include <math.h>
#include <string.h>

typedef struct packet {
    const way *way;
    uint64_t salt; /* places of a router are its own in every packet */
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

/* Which bits are one does not matter: no place is likelier than another. */
static void begin(packet *p, const way *w, const start *s, um_rng *rng)
{
    double zeros = start_zeros(s, w);

    p->way = w;
    p->salt = um_random(rng);
    um_gbf_fill(p->bits, BITS, s->random ? zeros : 1, rng);
    for (uint64_t i = (uint64_t)lround(zeros * BITS); !s->random && i < BITS;
         i++)
        um_set_bit(p->bits, i);
}

static void places_of(const packet *p, uint16_t router,
                      uint32_t place[MAX_PLACES])
{
    um_rng own = {p->salt ^ router};

    own.state = um_random(&own);
    um_gbf_places(&own, BITS, p->way->k0 + p->way->k1, p->way->distinct, place);
}

static void mark(packet *p, uint16_t router)
{
    uint32_t place[MAX_PLACES];

    places_of(p, router, place);
    um_gbf_insert(p->bits, place, p->way->k0, p->way->k1);
}

static bool is_marked(const packet *p, uint16_t router)
{
    uint32_t place[MAX_PLACES];

    places_of(p, router, place);
    return um_gbf_has(p->bits, place, p->way->k0, p->way->k1);
}

/* Of routers that did not mark it, the share accepted: by what arrived. */
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

/* From the victim: ask all neighbours, go on from those that are marked. */
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

void packet_trace(const graph *g, const uint16_t path[HOPS], const way *w,
                  const start *s, um_rng *rng, trace *out)
{
    packet p;

    memset(out, 0, sizeof *out);
    begin(&p, w, s, rng);
    for (size_t i = 0; i < HOPS; i++)
        mark(&p, path[i]);
    for (size_t i = 0; i < HOPS; i++) {
        out->lost[i] = !is_marked(&p, path[HOPS - 1 - i]);
        out->missed += out->lost[i] ? 1 : 0;
    }
    walk(g, path, &p, out);
    ask_others(path, &p, rng, out);
}
