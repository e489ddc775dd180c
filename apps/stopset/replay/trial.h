/*
 * trial.h - sets tried on recorded traces: what replay and report share.
 */
#ifndef UM_STOPSET_TRIAL_H
#define UM_STOPSET_TRIAL_H

#include "stopset/replay/replay.h"
#include "stopset/sets/table.h"

/* What all trials of a run have in common. */
typedef struct ss_trials {
    ss_corpus corpus;
    ss_found all;          /* what full traces find */
    const ss_table *table; /* knows the members; NULL: nobody does */
    ss_policy policy;
    bool doubletree; /* a global set, of what the traces before found */
    bool local;
    ss_set_info growing; /* key of that global set when no file says it */
    ss_keying red_keys, global_keys; /* of the last trial */
    bool *listed;                    /* members among red_keys */
} ss_trials;

/* The result of a trial. */
typedef struct ss_result {
    ss_outcome outcome;
    double nodes_missed, links_missed; /* shares of what full traces find */
    bool members_known; /* else lucky stops are counted as genuine */
} ss_result;

/* Reads traces. The rest of *t is the caller's. */
umbel_status ss_trials_read(ss_trials *t, const char *const *paths, size_t n,
                            ss_input_counts *counts, umbel_error *err);
void ss_trials_fini(ss_trials *t);

/* Replays all traces with these sets; either may be NULL. */
umbel_status ss_try(ss_trials *t, const ss_set *red, const ss_set *global,
                    ss_result *out, umbel_error *err);

#endif
