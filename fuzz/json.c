/*
 * json.c - arbitrary traces in the JSON of scamper and RIPE Atlas: see
 * traces.h.
 */
#include "traces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    um_fuzz_traces(data, size);
    return 0;
}
