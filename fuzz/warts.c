/* warts.c - arbitrary traces in scamper's binary format: see traces.h. */
#include "traces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 2 && ss_format_warts.begins(data + 1, size - 1))
        um_fuzz_traces(data, size);
    return 0;
}
