/*
 * lists.h - the lists of the server: counts, forgotten digests, and the rules
 * of the welcome file.
 *
 * Protocols, `why` and `forget` all get their counts here, so they report the
 * same numbers that clients get.
 */
#ifndef UM_CLEARINGHOUSE_LISTS_H
#define UM_CLEARINGHOUSE_LISTS_H

#include "clearinghouse/config/config.h"
#include "clearinghouse/lists/welcome.h"
#include "clearinghouse/runtime/clock.h"
#include "clearinghouse/runtime/log.h"
#include "store/store.h"

#include <umbel/experimental/sync.h>

/* --- the table (list_table.c) --------------------------------------------- */

/* Returns the configuration of a list for the store. */
um_list_config um_list_config_of(const um_config *c, size_t list);
/* Returns the smallest count that is a hit in the list; 0 if the client
 * decides. */
unsigned um_list_threshold(const um_config *c, size_t list);
/* Writes the settings that servers must have in common besides the shape of a
 * list, as in umbel_sync_list; "" if there are none. */
void um_list_agree(const um_config *c, size_t list,
                   char out[UMBEL_SYNC_MAX_AGREE]);
/* Refuses a threshold that the list's counters cannot reach. */
umbel_status um_list_check_threshold(const um_list *list, umbel_error *err);
/* Returns what a report of weight 1 adds to a count: 100 in lists of hundredths
 * whose counters are large enough, otherwise 1. */
uint64_t um_list_report(const um_store *store, size_t list);

/* --- the lists ------------------------------------------------------------ */

typedef struct um_lists um_lists;

typedef struct um_lists_params {
    const um_config *opened, *config; /* at the start, and now */
    const um_clock *clock;
    um_log *log;
} um_lists_params;

umbel_status um_lists_open(const um_lists_params *p, um_lists **out,
                           umbel_error *err);
/* Accepts NULL. */
void um_lists_close(um_lists *l);
/* Sets the store, once it is open. Call um_forget_open next. */
void um_lists_set_store(um_lists *l, um_store *store);
/* Appends an entry to the log that peers read. */
typedef umbel_status um_lists_append(void *ctx, uint8_t type, umbel_slice body,
                                     uint64_t *ticket, umbel_error *err);
/* Sets where log entries are appended, and the sync engine that has the counts
 * of other servers. Used with peers only; the engine is NULL until it is
 * open. */
void um_lists_set_peers(um_lists *l, um_lists_append *append, void *ctx);
void um_lists_set_machine(um_lists *l, umbel_sync *machine);
/* Records that the log was loaded: from now on exceptions that it lacks are
 * appended. */
void um_lists_set_log_read(um_lists *l);

/* --- counts --------------------------------------------------------------- */

/* Prefetches what um_lists_count will read, for a request that looks up several
 * lists. */
void um_lists_fetch(const um_lists *l, unsigned list, const umbel_digest *d,
                    size_t n);
/*
 * Looks up the counts in one list: those of the store, and of all origins that
 * count here (umbel_sync_count_with). A forgotten digest has 0.
 */
void um_lists_count(const um_lists *l, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *count);
/*
 * Sets reached[i] if um_lists_count would return at least threshold for digest
 * i. The threshold must not be 0, the list not one of mails. Faster than
 * counting if there are peers and few digests reach it.
 */
void um_lists_reaches(const um_lists *l, unsigned list, const umbel_digest *d,
                      size_t n, uint64_t threshold, bool *reached);
/* Finds when a digest was first and last counted, as um_store_times; false if
 * never. */
bool um_lists_times(const um_lists *l, unsigned list, const umbel_digest *d,
                    uint64_t *entered, uint64_t *updated);

/*
 * Decides whether a digest may be counted for a reporter (um_entry.reporter).
 * Clients without an account share a part of each epoch (anonymous_share), and
 * a rate of new digests (limits.new_digests), which this consumes.
 */
um_store_admission um_lists_admits(um_lists *l, unsigned list,
                                   const umbel_digest *d, uint16_t reporter);
/* As um_store_list_stats; `sole` is false as soon as a client was refused for
 * lack of its part. */
void um_lists_stats(const um_lists *l, unsigned list, um_list_stats *out);
/* Returns true if more than 80 % of the newest epoch is used. */
bool um_list_is_nearly_full(const um_list_stats *s);
/* Returns true if clients without an account have filled their part. */
bool um_list_is_share_full(const um_list_stats *s, double share);
/* Logs, when it begins, that a list is nearly full, that the part of clients
 * without an account is full, that the list refuses new digests, or that an
 * epoch ended early. Call it once a second. */
void um_lists_tick(um_lists *l);

/* Iterates over the replicas that count here: of other servers, and of our own
 * older incarnations. *at starts with 0. */
bool um_lists_next_replica(const um_lists *l, unsigned list, size_t *at,
                           umbel_sync_replica *out);

/* --- welcome rules -------------------------------------------------------- */

/* Returns the current rules. */
const um_welcome *um_lists_welcome(const um_lists *l);
/* Returns true if a rule matches a digest, as printed by
 * runtime/digest_text.h. */
bool um_lists_welcomes(const um_lists *l, umbel_slice digest);
/* Reads the welcome file of the current configuration, and logs its
 * warnings. */
umbel_status um_lists_read_welcome(const um_lists *l, um_welcome **out,
                                   umbel_error *err);
/* Replaces the rules, and closes the old ones. */
void um_lists_set_welcome(um_lists *l, um_welcome *rules);
/* Reads and replaces the rules, and logs that; on failure the old rules
 * stay. */
umbel_status um_lists_reload_welcome(um_lists *l, umbel_error *err);

#endif
