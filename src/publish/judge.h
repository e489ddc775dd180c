/*
 * judge.h - which manifests a reader accepts, and what it then fetches.
 */
#ifndef UM_EXCHANGE_JUDGE_H
#define UM_EXCHANGE_JUDGE_H

#include "publish/manifest.h"

/* What a reader asks for, and when. */
typedef struct um_terms {
    const char *name;
    const uint8_t *trust; /* the key that must sign; NULL: the last one, if any
                           */
    uint64_t now;         /* seconds since 1970 */
} um_terms;

/*
 * Accepts a manifest that has the name, is signed as the terms say, has not
 * expired, and is not older than the last one; E_REFUSED otherwise. A reader
 * that names another key than before starts over with it: serial numbers belong
 * to a key.
 */
umbel_status um_judge(const um_manifest *m, const um_manifest *last,
                      const um_terms *terms, umbel_error *err);

/*
 * Returns true if the last manifest meets the terms, time apart: only then may
 * a server answer that nothing changed. um_judge_again checks the time.
 */
bool um_judge_unchanged(const um_manifest *last, const um_terms *terms);
umbel_status um_judge_again(const um_manifest *last, uint64_t now,
                            umbel_error *err);

/* What to fetch. */
typedef struct um_route {
    bool current;  /* nothing: the reader has it */
    bool by_steps; /* steps from `first` on; otherwise the whole file */
    size_t first;
    uint64_t bytes; /* of all that */
} um_route;

/* Returns the cheaper route from the filter that a reader has, or NULL. */
um_route um_route_from(const um_manifest *m, const uint8_t *have);

#endif
