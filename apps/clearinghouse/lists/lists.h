/*
 * lists.h - the lists of the server: what they count, what was taken back, and
 * the rules of the welcome file.
 *
 * Protocols, `why` and `forget` take the counts that clients are sent from
 * here and from nowhere else, so all of them report the same.
 */
#ifndef UM_CLEARINGHOUSE_LISTS_H
#define UM_CLEARINGHOUSE_LISTS_H

#include "clearinghouse/config/config.h"
#include "clearinghouse/lists/welcome.h"
#include "clearinghouse/runtime/clock.h"
#include "clearinghouse/runtime/log.h"
#include "store/store.h"

#include <umbel/experimental/sync.h>

/* --- the table (list_table.c)
 * -------------------------------------------------- */

/* Returns how a list is configured, for the store. */
um_list_config um_list_config_of(const um_config *c, size_t list);
/* Returns the count from which on a digest of the list is a hit; 0: the client
 * decides. */
unsigned um_list_threshold(const um_config *c, size_t list);
/* Writes what servers must have alike beside the shape of a list, as
 * umbel_sync_list has it; "": nothing. */
void um_list_agree(const um_config *c, size_t list,
                   char out[UMBEL_SYNC_MAX_AGREE]);
/* Refuses a threshold above what a list can count: it is never reached. */
umbel_status um_list_check_threshold(const um_list *list, umbel_error *err);
/* Returns what a report of weight 1 adds to a count: 100 in lists of hundredths
 * that count so far, otherwise 1. */
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
/* NULL is accepted. */
void um_lists_close(um_lists *l);
/* Uses a store that was opened; um_forget_open follows. */
void um_lists_set_store(um_lists *l, um_store *store);
/* Appends an entry to the log that peers read. */
typedef umbel_status um_lists_append(void *ctx, uint8_t type, umbel_slice body,
                                     uint64_t *ticket, umbel_error *err);
/* With peers: where entries are appended, and the machine that counts what
 * other servers report; NULL before it is open. */
void um_lists_set_peers(um_lists *l, um_lists_append *append, void *ctx);
void um_lists_set_machine(um_lists *l, umbel_sync *machine);
/* Call it once the log was read: exceptions that it lacks are appended from
 * then on. */
void um_lists_set_log_read(um_lists *l);

/* --- counts --------------------------------------------------------------- */

/* Begins to fetch what um_lists_count will read, for a request that asks
 * several lists. */
void um_lists_fetch(const um_lists *l, unsigned list, const umbel_digest *d,
                    size_t n);
/*
 * Counts of one list: of the store, and of all origins that count here
 * (umbel_sync_count_with). 0 for digests that were forgotten.
 */
void um_lists_count(const um_lists *l, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *count);
/*
 * Sets reached[i] if um_lists_count would give digest i at least that
 * count, 1 or more; of a list that is not one of mails. Takes less time where
 * few do, and there are peers.
 */
void um_lists_reaches(const um_lists *l, unsigned list, const umbel_digest *d,
                      size_t n, uint64_t threshold, bool *reached);
/* Finds when a digest was first and last counted, as um_store_times; false:
 * never. */
bool um_lists_times(const um_lists *l, unsigned list, const umbel_digest *d,
                    uint64_t *entered, uint64_t *updated);

/* Walks the copies of other servers that count here, and of our own older
 * incarnations; *at is 0 at first. */
bool um_lists_next_replica(const um_lists *l, unsigned list, size_t *at,
                           umbel_sync_replica *out);

/* --- welcome rules -------------------------------------------------------- */

/* Returns the rules that are used now. */
const um_welcome *um_lists_welcome(const um_lists *l);
/* Returns true if a rule welcomes a digest, as runtime/digest_text.h prints it.
 */
bool um_lists_welcomes(const um_lists *l, umbel_slice digest);
/* Reads the welcome file that is configured now, and logs its warnings. */
umbel_status um_lists_read_welcome(const um_lists *l, um_welcome **out,
                                   umbel_error *err);
/* Uses these rules from now on, and closes the old ones. */
void um_lists_set_welcome(um_lists *l, um_welcome *rules);
/* Does both, and logs it; on failure the old rules stay. */
umbel_status um_lists_reload_welcome(um_lists *l, umbel_error *err);

#endif
