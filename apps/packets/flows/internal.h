/*
 * internal.h - what the files of flows/ share.
 *
 *     intervals.c   the command: packets into intervals, rows, --exec
 *     history.c     --http: the intervals of the last hour
 */
#ifndef UM_PACKETS_FLOWS_INTERNAL_H
#define UM_PACKETS_FLOWS_INTERNAL_H

#include "cli/framework/command.h"

#include <umbel/experimental/flows.h>

enum { PK_FLOW_TEXT = 112 }; /* two IPv6 addresses, protocol, ports */

/* A row, as it is printed. */
typedef struct pk_flow_row {
    char key[PK_FLOW_TEXT];
    uint64_t bytes, bytes_low, packets;
} pk_flow_row;

/* An interval that has ended. */
typedef struct pk_interval_end {
    double start, seconds; /* seconds: its length */
    uint64_t packets, bytes, drops, unnamed, rows;
} pk_interval_end;

typedef struct pk_page pk_page;

/* Opens a page on an address, for the intervals of the last hour. All of its
 * memory is allocated here. */
umbel_status pk_page_open(const char *address, double seconds, pk_page **out,
                          umbel_error *err);
/* Starts the thread that serves it: after privileges were dropped. */
umbel_status pk_page_start(pk_page *p, umbel_error *err);
/* Returns the memory that a page for intervals of that length takes. */
size_t pk_page_memory(double seconds);
/* Adds an interval with its heaviest rows: begin, rows in order, end. */
void pk_page_begin(pk_page *p);
void pk_page_row(pk_page *p, const pk_flow_row *row);
void pk_page_end(pk_page *p, const pk_interval_end *end);
/* Returns the address, with its port. */
const char *pk_page_address(const pk_page *p);
/* NULL is accepted. */
void pk_page_close(pk_page *p);

#endif
