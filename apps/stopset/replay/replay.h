/*
 * replay.h - recorded traces walked again with a stopping rule; no packet is
 * sent.
 */
#ifndef UM_STOPSET_REPLAY_H
#define UM_STOPSET_REPLAY_H

#include "stopset/formats/input.h"
#include "stopset/formats/trace.h"
#include "stopset/sets/build_set.h"
#include "stopset/sets/node_table.h"
#include "stopset/sets/set.h"

/* --- recorded traces with everything numbered (corpus.c) ------------------ */

/*
 * A corpus is walked many times. A step is a TTL below that of the destination.
 * Where several nodes replied at one TTL the first reply is the node, as a
 * tracer would have seen it.
 */

/* As the node of a step. */
#define SS_SILENT UINT32_MAX         /* probed, no reply */
#define SS_UNPROBED (UINT32_MAX - 1) /* not in the record */

typedef struct ss_step {
    uint32_t node;
    uint32_t link; /* by which it was reached from the node one TTL before;
                      SS_SILENT: that is not known */
} ss_step;

typedef struct ss_route {
    size_t start;  /* of its steps; TTL 1 comes first */
    uint8_t steps; /* TTLs before the destination, or all */
    bool reached;  /* the destination replies from TTL steps + 1 on */
    uint32_t monitor;
    ss_addr dst;
} ss_route;

/* Zeroed: empty. */
typedef struct ss_corpus {
    ss_index nodes, links, monitors;
    uint32_t nnodes; /* no node has this number, or a larger one */
    ss_step *step;
    size_t nsteps, step_cap;
    ss_route *route;
    size_t nroutes, route_cap;
} ss_corpus;

void ss_corpus_fini(ss_corpus *c);
umbel_status ss_corpus_add(ss_corpus *c, const ss_trace *t, umbel_error *err);
/* Adds a route whose nodes are numbers already; it reached its destination. */
umbel_status ss_corpus_add_numbers(ss_corpus *c, uint32_t monitor,
                                   const uint32_t *node, uint8_t n,
                                   umbel_error *err);
/* Reads files of traces. */
umbel_status ss_corpus_read(ss_corpus *c, const char *const *paths, size_t n,
                            ss_input_counts *counts, umbel_error *err);

/* What sets are asked about a corpus: each question once. */
typedef struct ss_keying {
    ss_set_info info; /* key and prefix of the sets it is for */
    uint32_t *of_step;
    ss_question *question;
    uint32_t n;
} ss_keying;

umbel_status ss_keying_init(ss_keying *k, const ss_corpus *c,
                            const ss_set_info *info, umbel_error *err);
void ss_keying_fini(ss_keying *k);
/* Returns the answers of a set, one for each question; free them. NULL: *err
 * says why. */
bool *ss_keying_ask(const ss_keying *k, const ss_set *s, umbel_error *err);

/*
 * walk recorded traces again with a stopping rule; no packet is sent.
 */

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

/* --- sets tried on recorded traces: what replay and report share --------- */

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

/*
 * every form in several sizes, replayed: figures, table and page.
 */

/* One set that was tried. */
typedef struct ss_attempt {
    ss_form form;
    uint64_t bytes;
    ss_result result;
} ss_attempt;

enum { SS_SIZES = 8, SS_MAX_ATTEMPTS = 1 + SS_SIZES * (SS_FORMS - 1) };

typedef struct ss_tradeoff {
    ss_set_info info;
    ss_attempt attempt[SS_MAX_ATTEMPTS]; /* the list first, then by form */
    size_t n;
} ss_tradeoff;

/* Makes and tries all sets of a task. Sizes that are too small for a form are
 * left out. */
umbel_status ss_tradeoff_run(ss_tradeoff *x, const ss_task *task,
                             ss_trials *trials, uint64_t seed,
                             umbel_error *err);

#define SS_TRADEOFF_GENERATOR "umbel stopset"

/* Writes tradeoff.csv, figures as SVG and CSV, and index.html. */
umbel_status ss_tradeoff_publish(const ss_tradeoff *x, const char *dir,
                                 umbel_error *err);

#endif
