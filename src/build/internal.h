/*
 * internal.h - shared by the files of this directory: static filters, and
 * filters within a memory limit.
 */
#ifndef UM_BUILD_INTERNAL_H
#define UM_BUILD_INTERNAL_H

#include "build/build.h"
#include "build/negatives.h"

/*
 * A static filter while it is built.
 */

typedef struct um_static_build {
    const um_build_job *job;
    umbel_params params;    /* of the job, with the size in cells */
    um_key_source source;   /* of the members, with their values */
    umbel_filter *empty;    /* has the hash of the result */
    uint32_t value_bits;    /* 0: a set */
    um_key_list list;       /* of the members */
    umbel_key_list members; /* view of list */
    umbel_build_params how;

    umbel_exact *exact;
    um_key_names names; /* keys to name in a refusal */
    umbel_digest named[UM_MAX_NAMED];
} um_static_build;

static inline bool um_same_digest(const umbel_digest *a, const umbel_digest *b)
{
    return a->lo == b->lo && a->hi == b->hi;
}

/*
 * Adds the members with these digests to x->names, up to UM_MAX_NAMED: as they
 * are in the input, or by number if it cannot be read again.
 */
void um_name_members(um_static_build *x, const umbel_digest *wanted, size_t n);

/*
 * Builds with more keys or more cells than memory may hold: digests are written
 * to temporary files by their highest bits.
 */

/* Refuses a job whose memory cannot be limited. */
umbel_status um_check_memory(const um_build_job *job, umbel_error *err);

/* Builds a static filter within job->max_memory. */
umbel_status um_build_static_within(um_static_build *x, um_build_result *out,
                                    umbel_error *err);

/* Creates a filter and adds the keys, within job->max_memory. */
umbel_status um_build_sized_within(const um_build_job *job,
                                   const umbel_params *params,
                                   um_build_result *out, umbel_error *err);

/* Does the same for keys of a pipe, which are counted first; hashing is a
 * filter with the hash of the result. If there are no keys, out->filter stays
 * NULL. */
umbel_status um_build_piped_within(const um_build_job *job,
                                   const umbel_filter *hashing,
                                   um_build_result *out, umbel_error *err);

#endif
