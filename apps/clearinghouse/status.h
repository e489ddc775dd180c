/*
 * status.h - the state of the server at one moment, and the documents that
 * show it.
 */
#ifndef UM_CLEARINGHOUSE_STATUS_H
#define UM_CLEARINGHOUSE_STATUS_H

#include "clearinghouse/config.h"
#include "clearinghouse/front_stats.h"
#include "store/store.h"

#include <stdio.h>

typedef struct um_status {
    uint64_t now;    /* seconds since 1970 */
    uint64_t uptime; /* seconds */
    uint64_t memory, memory_limit;
    const um_front_stats *front[UM_MAX_FRONTS + 1];
    size_t nfronts;
    um_list_stats list[UM_MAX_LISTS];
    size_t nlists;
    um_store_stats store;
} um_status;

/* Returns the code of /health: 200, or 503 while reports are refused. */
unsigned um_status_health(const um_status *s);

void um_status_print_json(FILE *out, const um_status *s);
void um_status_print_metrics(FILE *out, const um_status *s);
void um_status_print_page(FILE *out, const um_status *s);
void um_status_print_health(FILE *out, const um_status *s);
/* For a terminal. */
void um_status_print_text(FILE *out, const um_status *s);

#endif
