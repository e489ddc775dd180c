/*
 * build_static_job.h - a static filter while it is built.
 */
#ifndef UM_CLI_BUILD_STATIC_JOB_H
#define UM_CLI_BUILD_STATIC_JOB_H

#include "cli/build_static.h"
#include "cli/keys.h"

enum { UM_NAMED = 4, UM_NAME_LEN = 24 }; /* keys of a refusal, and bytes each */
enum { UM_VALUE_FIELD = 2 };             /* of a line of a map */

typedef struct um_static_build {
    const um_args *args;
    const um_filter_args *asked;
    umbel_filter *empty; /* which hashes as the result will */
    umbel_members members;
    umbel_digest *digests;
    uint64_t *values;
    size_t n, cap;
    size_t most; /* keys, from a pipe */
    uint32_t value_bits;
    unsigned threads;

    umbel_exact *exact;
    umbel_digest clash[UM_NAMED]; /* keys of --never that are members: named */
    size_t nclashes;              /* ... up to UM_NAMED */
    char names[UM_NAMED * (UM_NAME_LEN + 6)];
} um_static_build;

static inline bool um_same_digest(const umbel_digest *a, const umbel_digest *b)
{
    return a->lo == b->lo && a->hi == b->hi;
}

/* x->names gets the members behind n digests, up to UM_NAMED: as they stand in
 * the input, or where it cannot be read again their numbers. */
void um_name_members(um_static_build *x, const umbel_digest *wanted, size_t n);

/* With --never or --universe: the members are read. */
umbel_status um_build_exact(um_static_build *x, const umbel_params *p,
                            um_static_result *out, umbel_error *err);

#endif
