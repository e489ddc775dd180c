/*
 * statistics.h - requests to the services of the server and their replies:
 * since the start, and in each minute of the last hour.
 *
 * A service is whatever has its own counts: a protocol, or the control socket.
 * There is one count for each operation and verdict. Metrics of codes and of
 * reasons are sums of these counts, so they cannot disagree.
 *
 * Minutes: the totals are recorded when a minute begins, so that counting a
 * request costs nothing more; a minute is the difference of two records.
 * Minutes are counted from the start of the server, and a restart begins with
 * none.
 */
#ifndef UM_CLEARINGHOUSE_STATISTICS_H
#define UM_CLEARINGHOUSE_STATISTICS_H

#include "clearinghouse/runtime/log.h"
#include "net/server/address.h"

enum { UM_MAX_OPS = 16, UM_MAX_VERDICTS = 40, UM_HOUR_MINUTES = 60 };

/* The verdict on a request. */
typedef struct um_verdict {
    unsigned code;      /* in the protocol, and in metrics */
    const char *diag;   /* for the client; reveals nothing to strangers */
    const char *reason; /* in metrics and log; NULL if not refused */
} um_verdict;

typedef struct um_service {
    const char *name;           /* in metrics, messages and "ready" */
    const char *const *ops;     /* in metrics, up to NULL; or NULL */
    const um_verdict *verdicts; /* up to a row with code 0; or NULL */
    bool counts_mail;           /* false if it serves the operator */
    bool relays_mail;           /* to another service, which counts it */
} um_service;

typedef struct um_totals {
    uint64_t requests, hits, refused;
} um_totals;

/* The minutes of the last hour; starts zeroed. */
typedef struct um_minutes {
    um_totals begin[UM_HOUR_MINUTES]; /* minute m is at m % UM_HOUR_MINUTES */
    uint64_t minute;                  /* the latest one that has begun */
} um_minutes;

typedef struct um_service_stats {
    const um_service *service;
    um_log *log; /* for refusals */
    uint64_t count[UM_MAX_OPS][UM_MAX_VERDICTS];
    uint64_t hits;
    uint64_t own, probed_from; /* counted, but not of clients; requests of
                                  clients before a run of `doctor` */
    um_minutes minutes;
    um_log_topic topic[UM_MAX_VERDICTS]; /* one for each kind of refusal */
} um_service_stats;

void um_service_stats_init(um_service_stats *s, const um_service *service,
                           um_log *log);

static inline void um_service_count(um_service_stats *s, unsigned op,
                                    unsigned verdict)
{
    s->count[op][verdict]++;
}

/* The same for what no client caused. */
static inline void um_service_count_own(um_service_stats *s, unsigned op,
                                        unsigned verdict)
{
    um_service_count(s, op, verdict);
    s->own++;
}

/* The operation and user that a client claims; data is NULL if it does not. */
typedef struct um_claim {
    umbel_slice op, user;
} um_claim;

/* Logs a refusal, within the limit of its reason. claim may be NULL. */
void um_service_log_refusal(um_service_stats *s, unsigned verdict,
                            const um_address *client, const um_claim *claim);

size_t um_service_ops(const um_service *service);
size_t um_service_verdicts(const um_service *service);

/* Returns a sum since the start. */
uint64_t um_service_requests(const um_service_stats *s);
uint64_t um_service_refused(const um_service_stats *s);
um_totals um_service_totals(const um_service_stats *s);
/* Returns the number of requests of one operation that got this code. */
uint64_t um_service_with_code(const um_service_stats *s, unsigned op,
                              unsigned code);
/* Returns the number of requests of any operation that got this verdict. */
uint64_t um_service_with_verdict(const um_service_stats *s, unsigned verdict);

/* Returns the requests of clients: not those while `doctor` tried the service,
 * nor um_service_count_own. */
uint64_t um_service_client_requests(const um_service_stats *s);

/* Records the totals if a minute has begun. Call it once a second. A minute
 * that was not recorded is empty. */
void um_service_tick(um_service_stats *s, uint64_t minute);
/* Writes the minutes of the last hour, oldest first; the last one is still
 * running. Returns their number. */
size_t um_service_minutes(const um_service_stats *s,
                          um_totals out[UM_HOUR_MINUTES]);
/* Sums the last n minutes. */
um_totals um_service_last_minutes(const um_service_stats *s, size_t n);

/* --- all services --------------------------------------------------------- */

enum { UM_MAX_SERVICES = 17 };

typedef struct um_statistics um_statistics;

umbel_status um_statistics_open(um_log *log, um_statistics **out,
                                umbel_error *err);
/* Accepts NULL. */
void um_statistics_close(um_statistics *s);
/* Returns the counts of a service, created by its first call; NULL without
 * memory. */
um_service_stats *um_statistics_of(um_statistics *s, const um_service *service);
/* Returns the services in the order of their first calls; NULL past the end. */
const um_service_stats *um_statistics_at(const um_statistics *s, size_t i);
void um_statistics_tick(um_statistics *s, uint64_t minute);
/* Mark the beginning and the end of a run of `doctor`: requests between them
 * are not those of clients. An end without a beginning does nothing. */
void um_statistics_begin_probes(um_statistics *s);
void um_statistics_end_probes(um_statistics *s);

#endif
