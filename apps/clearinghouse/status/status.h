/*
 * status.h - the state of the server at one moment, and the documents that
 * show it.
 *
 *     status_figures.c    rows: figures of the server and of its lists. A new
 *                         figure is a row, and all documents show it
 *     status_problems.c   rows: what can be wrong, and what to do about it
 *     status_json.c, status_metrics.c, status_text.c, status_page.c
 *                         the documents; page/ has the page's own files
 *     status_table.c, status_page_peers.c
 *                         tables of the page, and that of peers
 */
#ifndef UM_CLEARINGHOUSE_STATUS_H
#define UM_CLEARINGHOUSE_STATUS_H

#include "clearinghouse/peering/origins.h"
#include "clearinghouse/protocols/protocol.h"
#include "clearinghouse/protocols/razor/razor.h"
#include "clearinghouse/runtime/format.h"
#include "clearinghouse/runtime/statistics.h"
#include "clearinghouse/runtime/top_reporters.h"
#include "mail/pool.h"
#include "net/server/address.h"
#include "store/store.h"

#include <stdio.h>

/* Where the state is read from. */
typedef struct um_status_source {
    const um_environment *env;
    const um_running *running;
    const umbel_error *not_reloaded; /* why the last reload was refused; an
                                        empty text: it was not */
} um_status_source;

typedef struct um_status {
    uint64_t now;             /* seconds since 1970 */
    uint64_t uptime;          /* seconds */
    const char *not_reloaded; /* why the last reload was refused, or "" */
    const char *data;         /* directory of the store */
    uint64_t memory, memory_limit;
    const um_listen_address *address;
    size_t naddresses;
    const um_service_stats *service[UM_MAX_SERVICES];
    size_t nservices;
    um_list_stats list[UM_MAX_LISTS];
    size_t nlists;
    um_store_stats store;
    um_mail_pool_stats pool;
    um_razor_lookups razor;
    size_t welcome_rules, forgotten;
    um_top_reporter top[UM_TOP_SHOWN]; /* last: seconds ago */
    size_t ntop;
    const um_origins_view *peers; /* NULL: no origin is configured */
} um_status;

/* Fills *out with the state at this moment. */
void um_status_get(const um_status_source *s, um_status *out);

/* Returns the agreement word of a list as text; "" without peers. */
um_formatted um_status_agreement(const um_status *s, size_t list);

/* Returns the code of /health: 200, or 503 while reports are refused. */
unsigned um_status_health(const um_status *s);

void um_status_print_json(FILE *out, const um_status *s);
void um_status_print_metrics(FILE *out, const um_status *s);
void um_status_print_page(FILE *out, const um_status *s);
void um_status_print_health(FILE *out, const um_status *s);
/* For a terminal. */
void um_status_print_text(FILE *out, const um_status *s);

#endif
