/*
 * replay.h - replays recorded traces with a stopping rule; sends no packets.
 */
#ifndef UM_STOPSET_REPLAY_H
#define UM_STOPSET_REPLAY_H

#include "stopset/formats/input.h"
#include "stopset/formats/trace.h"
#include "stopset/sets/build_set.h"
#include "stopset/sets/node_table.h"
#include "stopset/sets/set.h"

/* --- recorded traces, numbered (corpus.c) --------------------------------- */

/*
 * A corpus is replayed many times. A step is a TTL below that of the
 * destination. If several nodes replied at one TTL, the first reply counts, as
 * it would for a tracer; of a trace along several paths, the path that was
 * chosen counts.
 */

/* Values of node for steps without one. */
#define SS_SILENT UINT32_MAX         /* probed, no reply */
#define SS_UNPROBED (UINT32_MAX - 1) /* not in the record */

typedef struct ss_step {
    uint32_t node;
    uint32_t link; /* from the node one TTL before; SS_SILENT if unknown */
} ss_step;

typedef struct ss_route {
    size_t start;  /* index of its steps; TTL 1 comes first */
    uint8_t steps; /* TTLs before the destination; all if not reached */
    bool reached;  /* the destination replies from TTL steps + 1 on */
    uint32_t monitor;
    ss_addr dst;
} ss_route;

/* Starts zeroed. */
typedef struct ss_corpus {
    ss_index nodes, links, monitors;
    uint32_t nnodes; /* all nodes have smaller numbers */
    ss_step *step;
    size_t nsteps, step_cap;
    ss_route *route;
    size_t nroutes, route_cap;
} ss_corpus;

void ss_corpus_fini(ss_corpus *c);
umbel_status ss_corpus_add(ss_corpus *c, const ss_trace *t, umbel_error *err);
/* Adds a route whose nodes are already numbered, and which reached its
 * destination. */
umbel_status ss_corpus_add_numbers(ss_corpus *c, uint32_t monitor,
                                   const uint32_t *node, uint8_t n,
                                   umbel_error *err);
/* Reads files of traces. */
umbel_status ss_corpus_read(ss_corpus *c, const char *const *paths, size_t n,
                            ss_input_counts *counts, umbel_error *err);

/* The different questions that sets are asked about a corpus. */
typedef struct ss_keying {
    ss_set_info info; /* key and prefix of the sets that it applies to */
    uint32_t *of_step;
    ss_question *question;
    uint32_t n;
} ss_keying;

umbel_status ss_keying_init(ss_keying *k, const ss_corpus *c,
                            const ss_set_info *info, umbel_error *err);
void ss_keying_fini(ss_keying *k);
/* Returns the answers of a set, one per question, to be freed; NULL on
 * failure. */
bool *ss_keying_ask(const ss_keying *k, const ss_set *s, umbel_error *err);

/*
 * Replays recorded traces with a stopping rule; sends no packets.
 */

/* Answers of a set: hit[key[i]] for step i. If key is NULL, a step's node is
 * its key. If hit is NULL, the set is not used. */
typedef struct ss_answers {
    const uint32_t *key;
    bool *hit;
} ss_answers;

typedef struct ss_replay {
    const ss_corpus *corpus;
    ss_policy policy;
    ss_answers red, global;
    const bool *listed; /* by key of red: really a member; NULL if unknown */
    ss_answers learned; /* what the table has; without hit: unknown */
    bool grow;  /* pairs that a trace finds forwards join the global set, which
                   changes its hits */
    bool local; /* each monitor has a set of the nodes that it found */
} ss_replay;

/* Counts of traces, probes, and what full traces find. */
typedef struct ss_outcome {
    uint64_t traces;
    uint64_t genuine;   /* stopped at the penultimate node, a member */
    uint64_t lucky;     /* the same at a non-member: a lucky false positive */
    uint64_t shorter;   /* stopped before the penultimate node */
    uint64_t collision; /* probed the destination */
    uint64_t never;     /* neither stopped nor reached it */
    uint64_t probes, probes_full;
    uint64_t destination_probes;
    /* Traces with a node that the table does not have, which it was therefore
     * not learned from, and how they ended. */
    uint64_t unlearned, unlearned_success, unlearned_short;
} ss_outcome;

/* Nodes and links that were found. */
typedef struct ss_found {
    bool *node, *link;
} ss_found;

/* Allocates memory for a corpus; returns false if there is too little. Call
 * ss_found_fini in any case. */
bool ss_found_init(ss_found *f, const ss_corpus *c);
void ss_found_fini(ss_found *f);
/* Returns the share of the elements in `all` that `some` lacks, among n; 0 if
 * there are none. */
double ss_missed(const bool *all, const bool *some, size_t n);

/* Marks everything that full traces find. */
void ss_find_all(const ss_corpus *c, ss_found *found);

/* Replays all traces in order. Marks what is found in *found, which the caller
 * has cleared. */
umbel_status ss_replay_run(const ss_replay *r, ss_found *found, ss_outcome *out,
                           umbel_error *err);

/* --- sets tried on recorded traces: what replay and report share --------- */

/* State shared by all trials of a run. */
typedef struct ss_trials {
    ss_corpus corpus;
    ss_found all;          /* what full traces find */
    const ss_table *table; /* to know the members; may be NULL */
    ss_policy policy;
    bool doubletree; /* the global set has what earlier traces found */
    bool local;
    ss_set_info growing; /* key of that global set if no file defines it */
    ss_keying red_keys, global_keys; /* of the last trial */
    /* Members among red_keys; keys that the table has. NULL if unknown. */
    bool *listed, *red_learned, *global_learned;
} ss_trials;

/* The result of a trial. */
typedef struct ss_result {
    ss_outcome outcome;
    double nodes_missed, links_missed; /* shares of what full traces find */
    bool members_known; /* otherwise lucky stops are counted as genuine */
    bool learned_known; /* otherwise no trace counts as unlearned */
} ss_result;

/* Reads the traces. The caller sets the rest of *t. */
umbel_status ss_trials_read(ss_trials *t, const char *const *paths, size_t n,
                            ss_input_counts *counts, umbel_error *err);
void ss_trials_fini(ss_trials *t);

/* Replays all traces with these sets; either may be NULL. */
umbel_status ss_try(ss_trials *t, const ss_set *red, const ss_set *global,
                    ss_result *out, umbel_error *err);

/*
 * Replays every form in several sizes: figures, table and page.
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

/* Builds and tries all sets of a task. Sizes that are too small for a form are
 * left out. */
umbel_status ss_tradeoff_run(ss_tradeoff *x, const ss_task *task,
                             ss_trials *trials, uint64_t seed,
                             umbel_error *err);

#define SS_TRADEOFF_GENERATOR "umbel stopset"

/* Writes tradeoff.csv, figures as SVG and CSV, and index.html. */
umbel_status ss_tradeoff_publish(const ss_tradeoff *x, const char *dir,
                                 umbel_error *err);

#endif
