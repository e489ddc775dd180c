/*
 * filters.c - filter queries that several studies use.
 */
#include "base/error.h"
#include "papers/frame/paper.h"

#include <umbel/filter.h>

#include <stdlib.h>

umbel_status um_share_matching(const umbel_filter *f, const uint64_t *keys,
                               size_t n, double *share, umbel_error *err)
{
    bool *hit = malloc(n * sizeof *hit);
    size_t hits = 0;

    if (!hit)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for answers");
    umbel_status status = umbel_query_fixed(f, keys, sizeof *keys, n, hit, err);
    for (size_t i = 0; status == UMBEL_OK && i < n; i++)
        hits += hit[i];
    free(hit);
    if (status == UMBEL_OK)
        *share = (double)hits / (double)n;
    return status;
}
