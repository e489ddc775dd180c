/*
 * corpus.h - recorded traces with everything numbered, to be walked again many
 * times.
 *
 * A step is a TTL below that of the destination. Where several nodes replied at
 * one TTL the first reply is the node, as a tracer would have seen it.
 */
#ifndef UM_STOPSET_CORPUS_H
#define UM_STOPSET_CORPUS_H

#include "stopset/formats/input.h"
#include "stopset/sets/set.h"

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

#endif
