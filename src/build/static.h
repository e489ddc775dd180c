/*
 * build_static.h - a static filter while it is built.
 */
#ifndef UM_KEYS_BUILD_STATIC_H
#define UM_KEYS_BUILD_STATIC_H

#include "build/build.h"
#include "build/clashes.h"

typedef struct um_static_build {
    const um_build_job *job;
    umbel_params params;    /* of the job, with its size in cells */
    um_key_source source;   /* of the members, with their values */
    umbel_filter *empty;    /* hashes as the result will */
    uint32_t value_bits;    /* 0: a set */
    um_key_list list;       /* of the members */
    umbel_key_list members; /* the same, as the library takes them */
    umbel_build_params how;

    umbel_exact *exact;
    um_key_names names; /* of keys that a refusal is about */
    umbel_digest named[UM_MAX_NAMED];
} um_static_build;

static inline bool um_same_digest(const umbel_digest *a, const umbel_digest *b)
{
    return a->lo == b->lo && a->hi == b->hi;
}

/*
 * Names the members with these digests in x->names, up to UM_MAX_NAMED: as the
 * input has them, or, where it cannot be read again, by their numbers.
 */
void um_name_members(um_static_build *x, const umbel_digest *wanted, size_t n);

/* Builds with never and universe, when the members are read. */
umbel_status um_build_exact(um_static_build *x, um_build_result *out,
                            umbel_error *err);

#endif
