/*
 * negatives.h - lists of negatives in files: refuses those that are members,
 * and retouches a filter with them.
 */
#ifndef UM_BUILD_NEGATIVES_H
#define UM_BUILD_NEGATIVES_H

#include "keylist/key_list.h"
#include "negatives/retouch/retouch.h"

/*
 * Keys of never that are members.
 */

/* Number of keys that a message names, and bytes of each. */
enum { UM_MAX_NAMED = 4, UM_NAME_LEN = 24 };

/* "a, b, c": the first few keys that a message is about. Zero-initialise. */
typedef struct um_key_names {
    size_t n;
    char text[UM_MAX_NAMED * (UM_NAME_LEN + 6)];
} um_key_names;

/* Appends a key, shortened; does nothing if there are UM_MAX_NAMED already. */
void um_name_key(um_key_names *names, const umbel_slice *key);

/*
 * Finds the keys of never that are members. Sets both[i] for the first key of
 * each digest, and *n to their number. Allocates as f does.
 */
umbel_status um_find_conflicts(const umbel_filter *f,
                               const umbel_key_list *members,
                               const um_key_list *never, bool *both, size_t *n,
                               umbel_error *err);

/* Fails with E_KEY, because n keys of --never are members; the message names
 * some of them and the remedy. */
umbel_status um_fail_members(size_t n, const um_key_names *names,
                             const char *what_to_do, umbel_error *err);

/* Does the same for the marked keys of never, whose lines are kept. */
umbel_status um_fail_marked(const um_key_list *never, const bool *member,
                            const char *what_to_do, umbel_error *err);

/* Does the same if any key of never, whose lines are kept, is a member. */
umbel_status um_refuse_members(const umbel_filter *f,
                               const umbel_key_list *members,
                               const um_key_list *never, const char *what_to_do,
                               umbel_error *err);

/*
 * Retouching a filter with lists of keys in files.
 */

/* The input of a retouch. */
typedef struct um_retouch_job {
    const um_key_source *members, *never;
    umbel_retouch_params params;
    bool find_lost; /* find the lost members; keeps their lines */
    bool record;    /* record the curve */
    bool explore;   /* also find what larger losses would remove */
} um_retouch_job;

/* The result. Zero-initialise; release with um_retouched_fini. */
typedef struct um_retouched {
    um_key_list members, never;
    bool *lost; /* per member; NULL unless find_lost */
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
/* Retouches f with the lists that were read. E_MISMATCH if the members are not
 * those of f. */
umbel_status um_retouch_run_lists(umbel_filter *f, const um_retouch_job *job,
                                  um_retouched *out, umbel_error *err);
void um_retouched_fini(um_retouched *r);

/* Returns true if the method named in params (NULL: the default) uses that
 * parameter, a um_method_param; false for an unknown method. */
bool um_method_uses(const char *method, unsigned param);

#endif
