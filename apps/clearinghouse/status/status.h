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

#include "clearinghouse/config/config.h"
#include "clearinghouse/peering/origins.h"
#include "clearinghouse/protocols/razor/protocol.h"
#include "clearinghouse/runtime/busiest.h"
#include "clearinghouse/runtime/protocol_stats.h"
#include "clearinghouse/runtime/words.h"
#include "mail/pool.h"
#include "net/server/address.h"
#include "store/store.h"

#include <stdio.h>

/* Where a front listens, with its real port. */
typedef struct um_server_address {
    const um_protocol *front;
    char text[UM_ADDRESS_TEXT];
    bool made; /* false: the socket was passed, and its path stays */
} um_server_address;

typedef struct um_status {
    uint64_t now;             /* seconds since 1970 */
    uint64_t uptime;          /* seconds */
    const char *not_reloaded; /* why the last reload was refused, or "" */
    const char *data;         /* directory of the store */
    uint64_t memory, memory_limit;
    const um_server_address *address;
    size_t naddresses;
    const um_protocol_stats *front[UM_MAX_FRONTS + 1];
    size_t nfronts;
    um_list_stats list[UM_MAX_LISTS];
    size_t nlists;
    um_store_stats store;
    um_mail_pool_stats pool;
    um_razor_lookups razor;
    size_t welcome_rules, forgotten;
    um_busy_reporter busiest[UM_BUSIEST_SHOWN]; /* last: seconds ago */
    size_t nbusiest;
    const um_origins_view *peers; /* NULL: no origin is configured */
} um_status;

/* Returns the agreement word of a list as text; "" without peers. */
um_words um_status_agreement(const um_status *s, size_t list);

/* Returns the code of /health: 200, or 503 while reports are refused. */
unsigned um_status_health(const um_status *s);

void um_status_print_json(FILE *out, const um_status *s);
void um_status_print_metrics(FILE *out, const um_status *s);
void um_status_print_page(FILE *out, const um_status *s);
void um_status_print_health(FILE *out, const um_status *s);
/* For a terminal. */
void um_status_print_text(FILE *out, const um_status *s);

#endif
