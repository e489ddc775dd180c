/*
 * internal.h - the lists of the server, for the files of this directory.
 *
 *     list_table.c        the rows of the lists, and how each is opened
 *     lists.c        what the lists are given: store, machine, welcome rules
 *     counts.c       the counts that clients are sent
 *     exceptions.c   digests that were taken back
 *     fuzzy_mails.c  mails of rspamd's fuzzy storage
 *     mails.c        a mail that is reported, or looked up, in several lists
 *     welcome.c      the rules of the welcome file
 */
#ifndef UM_CLEARINGHOUSE_LISTS_INTERNAL_H
#define UM_CLEARINGHOUSE_LISTS_INTERNAL_H

#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/lists.h"

/* Exceptions of all servers, from the entries of their logs: sorted by digest
 * and list. */
typedef struct um_exception_set {
    const umbel_sync *machine; /* that they were read from */
    uint64_t changes;
    um_exception *item;
    size_t n;
} um_exception_set;

struct um_lists {
    const um_config *opened, *config;
    const um_clock *clock;
    um_log *log;
    um_store *store;
    umbel_sync *machine;     /* NULL: there are no peers */
    um_lists_append *append; /* NULL: there are no peers */
    void *append_ctx;
    um_welcome *welcome;
    /* The rest belongs to exceptions.c. */
    size_t exceptions;     /* in the store; some may be over */
    uint64_t swept;        /* oldest epochs when exceptions were removed last */
    bool log_read, shared; /* shared: our log has all exceptions of ours */
    um_exception_set *logged;
};

/* Walks the logged exceptions of all servers, of one digest and list if d is
 * not NULL; *at is 0 at first. */
bool um_logged_next(const um_lists *l, unsigned list, const umbel_digest *d,
                    size_t *at, um_exception *out);
/* Returns true if nothing is logged. */
bool um_logged_none(const um_lists *l);

#endif
