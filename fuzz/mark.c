/*
 * mark.c - arbitrary packets for a router that marks them.
 *
 * A packet is passed unchanged, or it carries the filter afterwards: the router
 * matches, a second router finds the option, its length is what its header
 * states, and the memory behind it is untouched. Byte 0 of the input chooses
 * the policy.
 */
#include "fuzz.h"

#include "packets/mark/mark.h"

#include <stdlib.h>
#include <string.h>

static pk_marker *open_marker(const char *router, bool loop)
{
    pk_marker_config c = {.shape = {.reset = loop ? 0 : 4, .set = loop ? 8 : 4},
                          .router = router,
                          .suspicions = loop ? 2 : 0,
                          .mtu = 1500};
    pk_marker *m;

    UM_WANT(pk_marker_open(&c, &m, NULL) == UMBEL_OK);
    return m;
}

static void check_length(const uint8_t *p, uint32_t len)
{
    uint32_t at = p[0] >> 4 == 4 ? 2 : 4;
    uint32_t field = (uint32_t)p[at] << 8 | p[at + 1];

    UM_WANT(len == field + (at == 2 ? 0 : 40));
}

/* Tests that both routers match; no other one is between them. */
static void check_marks(const uint8_t *p, uint32_t len)
{
    pk_tracer_config c = {
        .shape = {.reset = 4, .set = 4}, .wildcards = true, .limit = 100};
    static const char text[] = "victim b\nb a\n";
    pk_topology t;
    pk_tracer *tracer;
    pk_trace trace;

    UM_WANT(pk_topology_parse((umbel_slice){text, sizeof text - 1}, &t, NULL) ==
            UMBEL_OK);
    UM_WANT(pk_tracer_open(&t, &c, &tracer, NULL) == UMBEL_OK);
    UM_WANT(pk_trace_packet(tracer, p, len, &trace));
    UM_WANT(trace.npath == 2 && trace.ncandidates == 2);
    pk_tracer_close(tracer);
    pk_topology_fini(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 4096)
        return 0;
    bool loop = data[0] & 1;
    uint32_t len = (uint32_t)size - 1, before = len;
    /* Not one byte more than is promised, so that sanitizers see the end. */
    uint8_t *p = malloc(len + PK_MARK_GROWTH);
    pk_marker *a = open_marker("a", loop), *b = open_marker("b", loop);

    UM_WANT(p);
    memcpy(p, data + 1, len);
    pk_verdict verdict = pk_mark(a, p, &len);
    if (verdict == PK_PASS) {
        UM_WANT(len == before && memcmp(p, data + 1, len) == 0);
    } else if (verdict == PK_CHANGED) {
        UM_WANT(len <= before + PK_MARK_GROWTH);
        check_length(p, len);
        uint32_t marked = len;
        verdict = pk_mark(b, p, &len);
        UM_WANT(len == marked);
        UM_WANT(verdict == PK_CHANGED || (loop && verdict == PK_DROP));
        if (!loop)
            check_marks(p, len);
    } else {
        UM_WANT(loop);
    }
    pk_marker_close(a);
    pk_marker_close(b);
    free(p);
    return 0;
}
