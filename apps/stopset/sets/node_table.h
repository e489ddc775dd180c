/*
 * node_table.h - tables of what traces contain: nodes, (node, prefix) pairs,
 * path lengths, monitors.
 *
 * A table is readable text, with one fact per line:
 *
 *   umbel-stopset table 1
 *   prefix 24 48                          of pairs: IPv4, IPv6
 *   traces 461 460                        all; reached the destination
 *   monitor 192.0.2.1 20 1574867159 1574867900
 *                                         traces; first, last start
 *   length 9 34                           traces with that TTL at the end
 *   hop 198.51.100.1 20 3                 traces that pass it; end there
 *   pair 198.51.100.1 203.0.113.0/24 20 3
 *                                         the same, to that prefix
 *
 * A trace ends at the penultimate node, one hop before its destination, and
 * passes the nodes before. Tables are merged by adding their counts.
 */
#ifndef UM_STOPSET_NODE_TABLE_H
#define UM_STOPSET_NODE_TABLE_H

#include "stopset/formats/input.h"
#include "stopset/sets/address_index.h"

#include <stdio.h>

/* How many traces pass something, and how many end there. */
typedef struct ss_use {
    uint64_t through, ending;
} ss_use;

typedef struct ss_monitor_use {
    uint64_t traces, first, last; /* first and last start; 0 if unknown */
} ss_monitor_use;

/* Starts zeroed except for `prefix`. */
typedef struct ss_table {
    ss_prefix_len prefix;
    bool prefix_fixed; /* prefix is no longer taken from a table that is read */
    uint64_t traces, reached;
    uint64_t length[SS_MAX_TTL + 1];
    ss_index hops, prefixes, monitors;
    ss_index pairs; /* of a hop's and a prefix's number */
    ss_use *hop, *pair;
    ss_monitor_use *monitor;
    uint32_t stamp;      /* number of the current trace, from 1 */
    uint32_t *hop_trace; /* the last trace counted at each hop */
    size_t hop_cap, pair_cap, monitor_cap;
    ss_prefix_len reading; /* prefixes of the table being read */
} ss_table;

void ss_table_init(ss_table *t, ss_prefix_len prefix);
void ss_table_fini(ss_table *t);

/* Counts the nodes of a trace. */
umbel_status ss_table_learn(ss_table *t, const ss_trace *trace,
                            umbel_error *err);
/* Adds a line of another table. */
umbel_status ss_table_line(ss_table *t, const char *line, size_t len,
                           umbel_error *err);

/* Learns from files of traces and tables. Refuses files that hold no trace. */
umbel_status ss_table_read(ss_table *t, const char *const *paths, size_t n,
                           ss_input_counts *counts, umbel_error *err);
/* Reads one table; refuses traces. */
umbel_status ss_table_load(ss_table *t, const char *path, umbel_error *err);

/* Writes the table; equal tables give equal texts. Returns false without
 * memory. */
bool ss_table_write(const ss_table *t, FILE *out);

/* Returns the number of penultimate nodes. */
uint64_t ss_table_red(const ss_table *t);
/* Returns the largest first TTL for which at most `share` of the traces reach
 * their destination with the first probe; at least 1. */
uint8_t ss_table_first_hop(const ss_table *t, double share);
/* Finds the times of the first and last trace of all monitors; 0 if unknown. */
void ss_table_times(const ss_table *t, uint64_t *first, uint64_t *last);

#endif
