/*
 * dump.c - stopset_dump FILE...: prints the traces that our readers find in
 * files as scamper's JSON. Tests compare it with the output of other readers.
 */
#include "stopset/formats/input.h"
#include "stopset/formats/output.h"

static umbel_status dump_trace(void *ctx, const ss_trace *t, umbel_error *err)
{
    (void)err;
    ss_trace_write_json(t, ctx);
    return UMBEL_OK;
}

int main(int argc, char **argv)
{
    ss_sink sink = {.ctx = stdout, .trace = dump_trace};
    ss_input_counts counts = {0};
    umbel_error err;

    if (argc < 2 || ss_input_each((const char *const *)argv + 1,
                                  (size_t)argc - 1, &sink, &counts, &err)) {
        fprintf(stderr, "stopset_dump: %s\n", argc < 2 ? "no file" : err.text);
        return 2;
    }
    return 0;
}
