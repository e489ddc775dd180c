/*
 * build_set.h - builds stop sets from a table, in any form.
 */
#ifndef UM_STOPSET_BUILD_SET_H
#define UM_STOPSET_BUILD_SET_H

#include "stopset/sets/node_table.h"
#include "stopset/sets/set.h"

/* --- stop sets built from a table, in any form ---------------------------- */

/*
 * What a set must contain, and what it should not match, according to a table.
 *
 * The members of a red set are the penultimate nodes, each weighted with the
 * traces that end there; its negatives are the other nodes, each weighted with
 * the traces that pass it, because all of these would stop too early. Without
 * passed nodes, a penultimate node that more traces pass than end at is a
 * negative: even a list stops more traces short there than it stops well. The
 * members of a global set are all pairs that were seen; its negatives are nodes
 * and targets that were not seen together.
 */
typedef struct ss_task {
    ss_set_info info;
    ss_index hops, targets, seen; /* from the table, by the set's key */
    ss_use *use;                  /* of each element of seen */
    size_t use_cap;
    umbel_digest *member, *never;
    double *ending, *through; /* weights */
    size_t nmembers, nnever;
    double reached;        /* traces that reached their destination */
    double passed_members; /* traces that pass a member: even a list stops them
                              too early */
    double left_out;       /* traces that end at a node that was left out */
} ss_task;

/* The default of ss_build_params.fpr. */
#define SS_DEFAULT_FPR 0.001

/* How to build a set. */
typedef struct ss_build_params {
    uint64_t bytes;  /* of the file, at most; 0 to use bits */
    uint64_t bits;   /* of the filter; 0 for as few as the form needs */
    double fpr;      /* of form exact: share of the unknown nodes that match, at
                        most. 0 means SS_DEFAULT_FPR, or what the size gives */
    uint32_t hashes; /* 0 for the best number */
    uint64_t seed;
    const char *method; /* of retouching; NULL means "greedy" */
    double beta;        /* share of the false positives to remove; 0 means all,
                           but greedy stops where it costs more than it gains */
} ss_build_params;

/* Measured properties of a set that was built. */
typedef struct ss_build_result {
    uint64_t bytes;         /* of the file */
    uint64_t lost, matched; /* members that do not match; negatives that do */
    double lost_weight, matched_weight;
    double success; /* of red sets: lower bound of the share of the table's
                       traces that stop at the penultimate node */
    double unknown_error; /* share of the nodes that the table does not have
                             that match, as predicted */
} ss_build_result;

/* Collects members and negatives. Refuses prefixes that the table does not
 * have. Release with ss_task_fini. */
umbel_status ss_task_init(ss_task *t, const ss_table *table,
                          const ss_set_info *info, uint64_t seed,
                          umbel_error *err);
/* The same without digests, for ss_task_find. */
umbel_status ss_task_gather(ss_task *t, const ss_table *table,
                            const ss_set_info *info, umbel_error *err);
void ss_task_fini(ss_task *t);

/* Returns the number of a node and destination in seen, or SS_NO_NUMBER if the
 * table does not have them. */
uint32_t ss_task_find(const ss_task *t, const ss_question *q);
/* Returns true if an element of seen is a member of the set. */
bool ss_task_is_member(const ss_task *t, uint32_t number);

/* Builds the set in a form, as the bytes of its file. The caller frees
 * *bytes. */
umbel_status ss_build_set(const ss_task *t, ss_form form,
                          const ss_build_params *p, char **bytes, size_t *len,
                          ss_build_result *out, umbel_error *err);

/* Builds the smallest file with at least this success. */
umbel_status ss_build_set_for(const ss_task *t, ss_form form, double success,
                              const ss_build_params *p, char **bytes,
                              size_t *len, ss_build_result *out,
                              umbel_error *err);

#endif
