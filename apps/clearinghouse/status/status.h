/*
 * status.h - the state of the server at one moment, and the documents that
 * show it.
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
    const umbel_error *not_reloaded; /* why the last reload was refused; its
                                        text is "" if it was not */
} um_status_source;

enum { UM_STATUS_HOST = 256 };

typedef struct um_status {
    uint64_t now;              /* seconds since 1970 */
    uint64_t uptime;           /* seconds */
    char host[UM_STATUS_HOST]; /* name of the machine */
    const char *not_reloaded;  /* why the last reload was refused, or "" */
    const char *data;          /* directory of the store */
    uint64_t memory, memory_limit;
    const um_listen_address *address;
    size_t naddresses;
    const um_service_stats *service[UM_MAX_SERVICES];
    size_t nservices;
    um_list_stats list[UM_MAX_LISTS];
    double anonymous_share[UM_MAX_LISTS]; /* of each list, as configured */
    size_t nlists;
    um_store_stats store;
    um_mail_pool_stats pool;
    um_razor_lookups razor;
    size_t welcome_rules, forgotten;
    um_top_reporter top[UM_TOP_COUNTED]; /* last: seconds ago */
    size_t nreporters, ntop;             /* in top; those that documents show */
    const um_origins_view *peers;        /* NULL if no origin is configured */
} um_status;

/* Fills *out with the state at this moment. */
void um_status_get(const um_status_source *s, um_status *out);

/* Returns the agreement hash of a list as text; "" without peers. */
um_formatted um_status_agreement(const um_status *s, size_t list);

/* Returns the code of /health: 200, or 503 while reports are refused. */
unsigned um_status_health(const um_status *s);

/* --- problems ------------------------------------------------------------- */

enum { UM_MAX_PROBLEMS = 12, UM_PROBLEM_LEN = 512 };

typedef enum um_level { UM_WELL, UM_WARNING, UM_FAILED } um_level;

typedef struct um_status_problem {
    um_level level;
    char what[UM_PROBLEM_LEN], advice[UM_PROBLEM_LEN]; /* sentences */
} um_status_problem;

/* All problems, the worst first. */
typedef struct um_problems {
    um_status_problem item[UM_MAX_PROBLEMS];
    size_t n;
} um_problems;

void um_status_problems(const um_status *s, um_problems *out);
/* Returns the level of the worst problem; UM_WELL without problems. */
um_level um_problems_level(const um_problems *p);
/* Returns "well", "warning" or "failed". */
const char *um_level_name(um_level l);

/* --- documents ------------------------------------------------------------ */

void um_status_print_json(FILE *out, const um_status *s);
void um_status_print_metrics(FILE *out, const um_status *s);
void um_status_print_page(FILE *out, const um_status *s);
void um_status_print_health(FILE *out, const um_status *s);
/* Prints the status for a terminal. */
void um_status_print_text(FILE *out, const um_status *s);

#endif
