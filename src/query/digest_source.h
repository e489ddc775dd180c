/*
 * digest_source.h - digests that can be gone through again and again, in memory
 * or not.
 *
 * Work on all members of a large filter goes through them a few times instead
 * of keeping them.
 */
#ifndef UM_OPS_DIGEST_SOURCE_H
#define UM_OPS_DIGEST_SOURCE_H

#include <umbel/keys.h>

/* Takes the next n digests, in the order of the source. */
typedef umbel_status um_take_some(void *ctx, const umbel_digest *d, size_t n,
                                  umbel_error *err);

typedef struct um_digest_source {
    const void *ctx;
    size_t n;  /* digests; each fails when there are more */
    bool kept; /* in memory: always the same, for any thread */
    /* Hands over those from .. to - 1; of a source that is not kept, all. */
    umbel_status (*each)(const void *ctx, size_t from, size_t to,
                         um_take_some *take, void *take_ctx, umbel_error *err);
} um_digest_source;

/* The digests of a list, which must stay where it is. */
um_digest_source um_source_of_list(const umbel_key_list *list);

#endif
