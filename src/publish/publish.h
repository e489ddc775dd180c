/*
 * publish.h - the manifest that follows another.
 */
#ifndef UM_EXCHANGE_PUBLISH_H
#define UM_EXCHANGE_PUBLISH_H

#include "publish/manifest.h"

/* What is published next, and when. */
typedef struct um_edition {
    um_blob filter;
    const um_blob *step; /* from the last filter to it; NULL: there is none */
    uint64_t now;        /* seconds since 1970 */
    uint64_t valid;      /* seconds; 0: for ever */
    uint64_t reports;    /* reported keys that the filter excludes */
    size_t keep;         /* most steps that are listed, up to UMBEL_MAX_STEPS */
} um_edition;

/*
 * Makes the manifest after last, which has the name and, when it is the first
 * one, serial 0. A filter that was listed before drops the steps up to it: the
 * steps never lead through the same filter twice.
 */
void um_manifest_next(const um_manifest *last, const um_edition *e,
                      um_manifest *out);

#endif
