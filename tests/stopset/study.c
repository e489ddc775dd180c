/*
 * study.c - stopset_study LEARN PROBE: writes the two cycles of the synthetic
 * internet of papers/rbf-case-study as scamper's JSON, seed 1.
 */
#include "papers/frame/paper.h"
#include "papers/rbf/case-study/world.h"
#include "stopset/formats/output.h"

#include <stdlib.h>
#include <string.h>

/*
 * Writes a route. Routers have addresses in 10.0.0.0/8, destinations a /24
 * each.
 */
static void write_route(const routes *r, size_t t, FILE *out)
{
    ss_hop hop[SS_MAX_TTL];
    uint32_t n = r->start[t + 1] - r->start[t];
    uint32_t destination = (uint32_t)(t % DESTINATIONS);
    uint32_t monitor = (uint32_t)(t / DESTINATIONS);
    ss_trace trace = {.src = ss_addr_v4(0xC0000200 + 1 + monitor),
                      .dst = ss_addr_v4(0x64400001 + (destination << 8)),
                      .start = 1794768519,
                      .stop = SS_STOP_COMPLETED,
                      .first = 1,
                      .last = (uint8_t)(n + 1),
                      .hop = hop,
                      .nhops = n + 1};

    for (uint32_t i = 0; i < n; i++)
        hop[i] =
            (ss_hop){.addr = ss_addr_v4(0x0A000000 + r->hop[r->start[t] + i]),
                     .ttl = (uint8_t)(i + 1),
                     .icmp_type = 11};
    hop[n] = (ss_hop){.addr = trace.dst, .ttl = (uint8_t)(n + 1)};
    ss_trace_write_json(&trace, out);
}

static bool write_routes(const routes *r, const char *path)
{
    FILE *out = fopen(path, "w");

    for (size_t t = 0; out && t < TRACES; t++)
        write_route(r, t, out);
    return out && fclose(out) == 0;
}

int main(int argc, char **argv)
{
    um_rng rng = um_round_stream(1, "the world of rbf-case-study", 0);
    world *w = calloc(1, sizeof *w);
    bool fine =
        argc == 3 && w && world_make(w, &world_shapes[PLAIN_WORLD], &rng) &&
        write_routes(&w->learn, argv[1]) && write_routes(&w->probe, argv[2]);

    if (!fine)
        fputs("usage: stopset_study LEARN PROBE\n", stderr);
    if (w)
        world_fini(w);
    free(w);
    return fine ? 0 : 2;
}
