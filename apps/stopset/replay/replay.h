/*
 * replay.h - walk recorded traces again with a stopping rule; no packet is
 * sent.
 */
#ifndef UM_STOPSET_REPLAY_H
#define UM_STOPSET_REPLAY_H

#include "stopset/sets/corpus.h"
#include "stopset/tracer/rules.h"

/* Answers of a set: hit[key[i]] for step i. key NULL: a step's node is its key.
 * hit NULL: the set is not used. */
typedef struct ss_answers {
    const uint32_t *key;
    bool *hit;
} ss_answers;

typedef struct ss_replay {
    const ss_corpus *corpus;
    ss_policy policy;
    ss_answers red, global;
    const bool *listed; /* by the key of red: really a member; NULL: unknown */
    bool grow;  /* what a trace finds forwards joins the global set: its hits
                   change */
    bool local; /* a set of its own for each monitor, of what it found */
} ss_replay;

/* Counts of traces, probes, and what full traces find. */
typedef struct ss_outcome {
    uint64_t traces;
    uint64_t genuine; /* stopped at the penultimate node, a member */
    uint64_t lucky; /* ... not a member: a false positive at the right place */
    uint64_t shorter;   /* stopped before the penultimate node */
    uint64_t collision; /* probed the destination */
    uint64_t never;     /* neither stopped nor reached it */
    uint64_t probes, probes_full;
    uint64_t destination_probes;
} ss_outcome;

/* What was found. */
typedef struct ss_found {
    bool *node, *link;
} ss_found;

/* Memory for a corpus; false: none. ss_found_fini accepts that. */
bool ss_found_init(ss_found *f, const ss_corpus *c);
void ss_found_fini(ss_found *f);
/* Returns the share of what `all` has and `some` lacks, of n; 0 of nothing. */
double ss_missed(const bool *all, const bool *some, size_t n);

/* Marks what full traces find. */
void ss_find_all(const ss_corpus *c, ss_found *found);

/* Replays all traces in their order. What is found is marked in *found, which
 * the caller has cleared. */
umbel_status ss_replay_run(const ss_replay *r, ss_found *found, ss_outcome *out,
                           umbel_error *err);

#endif
