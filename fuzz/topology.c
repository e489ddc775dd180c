/*
 * topology.c - arbitrary topologies for umbel packets trace-back.
 *
 * A text is rejected, or every link is listed at both of its ends, and a search
 * for a filter of ones ends at its limit.
 */
#include "fuzz.h"

#include "packets/mark/mark.h"

#include <string.h>

static void check_links(const pk_topology *t)
{
    size_t loops = 0;

    UM_WANT(t->nvictims > 0 && t->first[0] == 0);
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t j = t->first[i]; j < t->first[i + 1]; j++) {
            uint32_t other = t->link[j];
            bool back = false;
            UM_WANT(other < t->n);
            loops += other == i;
            for (uint32_t k = t->first[other]; k < t->first[other + 1]; k++)
                back |= t->link[k] == i;
            UM_WANT(back);
        }
    UM_WANT(loops % 2 == 0);
}

static void check_search(const pk_topology *t)
{
    pk_tracer_config c = {
        .shape = {.reset = 1, .set = 1}, .wildcards = true, .limit = 1000};
    uint8_t packet[56] = {0x4E, 0, 0, 56};
    pk_tracer *tracer;
    pk_trace trace;

    memset(packet + 20, 0xAA, 36);
    memcpy(packet + 20, "\x9e\x24\x11", 3);
    UM_WANT(pk_tracer_open(t, &c, &tracer, NULL) == UMBEL_OK);
    UM_WANT(pk_trace_packet(tracer, packet, sizeof packet, &trace));
    UM_WANT(trace.npath <= t->n && trace.ncandidates <= t->n);
    UM_WANT(trace.expected_false >= 0);
    pk_tracer_close(tracer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    umbel_slice text = {data, size};
    umbel_error err;
    pk_topology t;

    umbel_status status = pk_topology_parse(text, &t, &err);
    if (status) {
        um_fuzz_check_error(status, &err);
        return 0;
    }
    check_links(&t);
    if (um_fuzz_one_in(8, data, size))
        check_search(&t);
    pk_topology_fini(&t);
    return 0;
}
