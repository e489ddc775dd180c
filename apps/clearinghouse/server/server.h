/*
 * house.h - the server: one store, one loop, and the fronts that share them.
 */
#ifndef UM_CLEARINGHOUSE_HOUSE_H
#define UM_CLEARINGHOUSE_HOUSE_H

#include "clearinghouse/config/config.h"
#include "clearinghouse/lists/welcome.h"
#include "clearinghouse/runtime/busiest.h"
#include "clearinghouse/runtime/limits.h"
#include "clearinghouse/runtime/protocol_stats.h"
#include "clearinghouse/status/status.h"
#include "mail/pool.h"
#include "net/server/loop.h"
#include "net/server/socket.h"
#include "store/store.h"

#include <umbel/sync.h>

enum { UM_MAX_ADDRESSES = 64 };

struct um_server {
    const char *config_path; /* NULL: the defaults */
    um_config opened;        /* settings as they were at the start */
    um_config config; /* as they are now: those that no reload changes differ
                         from opened only here */
    bool reloaded;    /* false: config is opened, and owns nothing */
    um_log log;
    um_loop *loop;
    um_store *store;
    umbel_sync *machine; /* of the peers; NULL: no origin is configured */
    um_limits *limits;
    um_mail_pool *pool;                      /* reads mails */
    um_welcome *welcome;                     /* never NULL while it serves */
    size_t exceptions;                       /* forget.h; some may be over */
    uint64_t swept;                          /* forget.c's own */
    bool shared;                             /* the same */
    struct um_exceptions *others_exceptions; /* exceptions.h */
    struct um_peers *peers;                  /* NULL: no origin is configured */
    struct um_requests *requests;            /* of the operator, that wait */
    um_origins *origins;                     /* NULL: no origin is configured */
    um_passed passed;                        /* sockets of systemd */
    um_server_address address[UM_MAX_ADDRESSES];
    size_t naddresses;
    um_protocol_stats stats[UM_MAX_FRONTS], control;
    um_busiest busiest;
    void *front[UM_MAX_FRONTS]; /* states; NULL: not open */
    uint64_t now;               /* seconds since 1970 */
    uint64_t started;           /* by um_server_ms, which no clock changes */
    bool stopping;
    umbel_error not_reloaded; /* why the last reload was refused; empty text: it
                                 was not */
    const char *failure;      /* of the store, as it was logged last */
    int snapshot_error;       /* of the last snapshot, the same */
    struct server_parts *parts; /* house.c's own */
};

/* Checks that a front listens, the memory, the data directory and the secret;
 * makes nothing. */
umbel_status um_server_check(const um_config *c, umbel_error *err);

/* Opens everything and listens; config is taken over. path is where a reload
 * reads it again, NULL: nowhere. */
umbel_status um_server_open(um_server *h, um_config *config, const char *path,
                            umbel_error *err);
/* Serves until SIGTERM or SIGINT, and until what was asked is answered. */
void um_server_run(um_server *h);
/* Accepts half-open ones. */
void um_server_close(um_server *h);

/* Reads the welcome file again, and logs it; on failure the old rules stay. */
umbel_status um_server_reload_welcome(um_server *h, umbel_error *err);
/* Reads the configuration again, and applies what can change. */
void um_server_reload(um_server *h);

/* The statistics of a front, and its place in the table. */
um_protocol_stats *um_server_stats(um_server *h, const um_protocol *f);
/* The address that a front listens on first; NULL: none. */
const char *um_server_address_of(const um_server *h, const um_protocol *f);
/* How workers are configured that read mails. */
um_mail_pool_config um_server_pool_config(const um_config *c);
/* How a list is configured, for the store. */
um_list_config um_server_list_config(const um_config *c, size_t list);
/* Counts stop at what a list can hold: a higher threshold is never reached. */
umbel_status um_server_check_threshold(const um_list *list, umbel_error *err);
/* The number of the front's first list in the store. */
unsigned um_server_first_list(const um_protocol *f);

/* Opens a socket for a front: one that was passed, or a new one. Notes where it
 * listens. */
umbel_status um_server_listen(um_server *h, const um_protocol *f,
                              const char *text, int type, int *fd,
                              umbel_error *err);

/* What a client says that it wants, and is; data NULL: it does not. */
typedef struct um_server_claim {
    umbel_slice op, user;
} um_server_claim;

/* Logs a refusal, within the limit of its reason. claim NULL: not known. */
void um_server_log_refusal(um_server *h, const um_protocol *f, unsigned verdict,
                           const um_address *client,
                           const um_server_claim *claim);

/* Counts digests of a client that were accepted, for the busiest reporters.
 * account NULL: it has none. */
void um_server_count_reports(um_server *h, const um_protocol *f,
                             const char *account, const um_address *client,
                             uint64_t reports);

/* Fills *out with the state at this moment. */
void um_server_status(const um_server *h, um_status *out);

/* Milliseconds that only grow. */
static inline uint64_t um_server_ms(const um_server *h)
{
    return um_loop_now(h->loop);
}

/* Seconds since the start. */
static inline uint64_t um_server_uptime(const um_server *h)
{
    return (um_server_ms(h) - h->started) / 1000;
}

#endif
