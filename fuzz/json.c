/*
 * json.c - traces in JSON of scamper and RIPE Atlas, from anyone: see traces.h.
 */
#include "traces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 2 && ss_format_json.begins(data + 1, size - 1))
        um_fuzz_traces(data, size);
    return 0;
}
