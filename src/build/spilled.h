/*
 * build_spilled.h - filters from more keys, or of more cells, than memory may
 * hold: digests go to temporary files by their highest bits.
 */
#ifndef UM_KEYS_BUILD_SPILLED_H
#define UM_KEYS_BUILD_SPILLED_H

#include "build/static.h"

/* Refuses a job whose memory cannot be limited, with the reason. */
umbel_status um_check_memory(const um_build_job *job, umbel_error *err);

/* Builds a static filter within job->max_memory. */
umbel_status um_build_static_within(um_static_build *x, um_build_result *out,
                                    umbel_error *err);

/* Creates a filter and adds the keys, within job->max_memory. */
umbel_status um_build_sized_within(const um_build_job *job,
                                   const umbel_params *params,
                                   um_build_result *out, umbel_error *err);

/* The same for keys of a pipe, which are counted first; hashing is a filter
 * that hashes as the result will. If no key comes, out->filter stays NULL. */
umbel_status um_build_piped_within(const um_build_job *job,
                                   const umbel_filter *hashing,
                                   um_build_result *out, umbel_error *err);

#endif
