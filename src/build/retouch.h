/*
 * retouch.h - retouching a filter by lists of keys in files.
 */
#ifndef UM_KEYS_RETOUCH_H
#define UM_KEYS_RETOUCH_H

#include "keylist/list.h"
#include "negatives/retouch/curve.h"

/* What to do. */
typedef struct um_retouch_job {
    const um_key_source *members, *never;
    umbel_retouch_params params;
    bool find_lost; /* which members are lost; keeps their lines */
    bool record;    /* the curve */
    bool explore;   /* also find out what larger losses would remove */
} um_retouch_job;

/* What came of it. Zero to begin; release with um_retouched_fini. */
typedef struct um_retouched {
    um_key_list members, never;
    bool *lost; /* of each member; NULL unless find_lost */
    umbel_retouch_result result;
    um_curve curve; /* empty unless record */
    um_curve more; /* without a limit; empty unless explore and keys are left */
} um_retouched;

/*
 * Reads both lists, for f. E_KEY if a key of never is a member, unless
 * params.allow_members.
 */
umbel_status um_retouch_read(const umbel_filter *f, const um_retouch_job *job,
                             um_retouched *out, umbel_error *err);
/* Retouches f by lists that were read. E_MISMATCH if the members are not those
 * of f. */
umbel_status um_retouch_run_lists(umbel_filter *f, const um_retouch_job *job,
                                  um_retouched *out, umbel_error *err);
void um_retouched_fini(um_retouched *r);

/* Returns true if the method named in params (NULL: the default) uses that
 * parameter, a um_method_param; false for an unknown method. */
bool um_method_uses(const char *method, unsigned param);

#endif
