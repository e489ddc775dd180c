/*
 * build_set.h - stop sets built from a table, in any form.
 */
#ifndef UM_STOPSET_BUILD_SET_H
#define UM_STOPSET_BUILD_SET_H

#include "stopset/sets/node_table.h"
#include "stopset/sets/set.h"

/* --- stop sets made from a table, in any form ---------------------------- */

/*
 * What a set must hold, and what it should not match, as a table knows it.
 *
 * Of a red set the members are the penultimate nodes, each worth the traces
 * that end there; the negatives are the other nodes, each worth the traces that
 * pass it, because all of these would stop short. Of a global set all that was
 * seen is a member; the negatives are nodes and targets that were not seen
 * together.
 */
typedef struct ss_task {
    ss_set_info info;
    ss_index hops, targets, seen; /* what the table has, by the set's key */
    ss_use *use;                  /* of each that was seen */
    size_t use_cap;
    umbel_digest *member, *never;
    double *ending, *through; /* weights */
    size_t nmembers, nnever;
    double reached;        /* traces that reached their destination */
    double passed_members; /* traces that pass a member: even a list stops them
                              short */
} ss_task;

/* How to make a set. */
typedef struct ss_build_params {
    uint64_t bytes;  /* of the file, at most; 0: see bits */
    uint64_t bits;   /* of the filter; 0: as few as the form needs */
    uint32_t hashes; /* 0: the best number */
    uint64_t seed;
    const char *method; /* of retouching; NULL: "greedy" */
    double beta;        /* share of the false positives to remove; 0: all, and
                           greedy stops where it costs more than it brings */
} ss_build_params;

/* What came out, measured. */
typedef struct ss_build_result {
    uint64_t bytes;         /* of the file */
    uint64_t lost, matched; /* members that do not match; negatives that do */
    double lost_weight, matched_weight;
    double success; /* at least this share of the table's traces stops at the
                       penultimate node; of red sets */
} ss_build_result;

/* Refuses prefixes that the table does not know. Release with ss_task_fini. */
umbel_status ss_task_init(ss_task *t, const ss_table *table,
                          const ss_set_info *info, uint64_t seed,
                          umbel_error *err);
void ss_task_fini(ss_task *t);

/* Makes the set in a form, as the bytes of its file. Free *bytes. */
umbel_status ss_build_set(const ss_task *t, ss_form form,
                          const ss_build_params *p, char **bytes, size_t *len,
                          ss_build_result *out, umbel_error *err);

/* Makes the smallest file whose success is at least that. */
umbel_status ss_build_set_for(const ss_task *t, ss_form form, double success,
                              const ss_build_params *p, char **bytes,
                              size_t *len, ss_build_result *out,
                              umbel_error *err);

#endif
