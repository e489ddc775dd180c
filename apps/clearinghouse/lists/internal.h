/*
 * internal.h - the lists of the server, for the files of this directory.
 *
 *     list_table.c   the table of lists, and how each is opened
 *     lists.c        connects the lists with store, sync engine, welcome rules
 *     counts.c       the counts that clients get
 *     admission.c    what may be counted, and lists that are full
 *     exceptions.c   digests that were forgotten
 *     fuzzy_mails.c  mails of rspamd's fuzzy storage
 *     mails.c        a mail that is reported, or looked up, in several lists
 *     welcome.c      the rules of the welcome file
 */
#ifndef UM_CLEARINGHOUSE_LISTS_INTERNAL_H
#define UM_CLEARINGHOUSE_LISTS_INTERNAL_H

#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/lists.h"

/* Exceptions from the logs of all servers, sorted by digest and list. */
typedef struct um_exception_set {
    const umbel_sync *machine; /* the engine that they were read from */
    uint64_t changes;
    um_exception *item;
    size_t n;
} um_exception_set;

/* What was logged about a list. */
typedef struct um_list_watch {
    bool nearly_full, share_full, held;
    unsigned extra;
    uint64_t ended_early;
} um_list_watch;

struct um_lists {
    const um_config *opened, *config;
    const um_clock *clock;
    um_log *log;
    um_store *store;
    umbel_sync *machine;     /* NULL without peers */
    um_lists_append *append; /* NULL without peers */
    void *append_ctx;
    um_welcome *welcome;
    um_shared_rate
        strangers[UM_LISTS]; /* new digests of clients without an account */
    um_list_watch watch[UM_LISTS];
    uint64_t share_refused[UM_LISTS]; /* end of the epoch whose part was full */
    /* The rest belongs to exceptions.c. */
    size_t exceptions;     /* in the store; some may have expired */
    uint64_t swept;        /* oldest_epochs() at the last removal */
    bool log_read, shared; /* shared: our log has all our exceptions */
    um_exception_set *logged;
};

/* Iterates over the logged exceptions of all servers; if d is not NULL, only
 * over those of that digest and list. *at starts with 0. */
bool um_logged_next(const um_lists *l, unsigned list, const umbel_digest *d,
                    size_t *at, um_exception *out);
/* Returns true if nothing is logged. */
bool um_logged_none(const um_lists *l);

/* Records what the lists are like, so that um_lists_tick logs what is new. */
void um_lists_watch(um_lists *l);

#endif
