/*
 * protocol.h - the row that describes a protocol, and the environment that it
 * is opened with.
 *
 * A new protocol is a file with a row and a section, their declarations below,
 * and a name in protocol_table.c; configuration, metrics and status pages pick
 * it up from the row. Lists are declared in lists/list_table.c.
 */
#ifndef UM_CLEARINGHOUSE_PROTOCOL_H
#define UM_CLEARINGHOUSE_PROTOCOL_H

#include "clearinghouse/lists/lists.h"
#include "clearinghouse/runtime/addresses.h"
#include "clearinghouse/runtime/top_reporters.h"
#include "mail/pool.h"

#include <stdio.h>

struct um_doctor_row;
struct um_origins;
struct um_peers;
struct um_status_source;

/* What protocols, status documents and the operator's requests use. The server
 * owns all of it, and closes it after them. */
typedef struct um_environment {
    const um_config *opened; /* settings at the start */
    const um_config *config; /* current settings: a reload changes them */
    const um_clock *clock;
    um_loop *loop;
    um_log *log;
    um_limits *limits;
    um_addresses *addresses;
    um_statistics *statistics;
    um_top_reporters *reporters;
    um_store *store;
    um_lists *lists;
    um_mail_pool *pool;         /* reads mails */
    struct um_peers *peers;     /* NULL if no origin is configured */
    struct um_origins *origins; /* NULL if no origin is configured */
    const struct um_status_source *status;
} um_environment;

typedef struct um_protocol {
    um_service service; /* its section of the configuration has the same name */
    const um_protocol_section *section;
    /* Adds the bytes needed besides the lists, and refuses settings that cannot
     * work. NULL if the protocol needs little. */
    umbel_status (*memory)(const um_config *c, uint64_t *need,
                           umbel_error *err);
    /* Checks the files that the settings name, and prints which parts were
     * ignored. NULL if they name none. */
    umbel_status (*check)(const void *settings, FILE *out, umbel_error *err);
    /* Starts listening. *state is passed to the functions below; it is closed
     * even if open fails, and stays NULL if the protocol is not configured. */
    umbel_status (*open)(const um_environment *env, void **state,
                         umbel_error *err);
    /* Applies the current env->config; on failure nothing changes. */
    umbel_status (*reload)(void *state, umbel_error *err);
    /* Sends answers that waited for the store, which has committed a ticket or
     * has failed. NULL if answers never wait. */
    void (*committed)(void *state);
    /* It is a client of another protocol, and is stopped before that one. */
    bool asks;
    /* Handles the requests that have arrived, and accepts no more. */
    void (*stop)(void *state);
    /* Returns true while answers are pending. */
    bool (*busy)(const void *state);
    void (*close)(void *state);
    /* Writes what to configure in mail software; NULL if there is nothing. */
    void (*hint)(const void *state, FILE *out);
    /* How `doctor` tries its addresses (doctor_probe.h), or NULL. */
    const struct um_doctor_row *doctor;
} um_protocol;

/* The table, up to NULL; defined in protocol_table.c. */
extern const um_protocol *const um_protocols[];

extern const um_protocol um_protocol_pyzor, um_protocol_http,
    um_protocol_dccifd, um_protocol_scan, um_protocol_razor, um_protocol_milter,
    um_protocol_fuzzy;
extern const um_protocol_section um_section_pyzor, um_section_http,
    um_section_dccifd, um_section_scan, um_section_razor, um_section_milter,
    um_section_fuzzy;

/* --- all protocols of a configuration ------------------------------------- */

/* Checks that a protocol listens, and the memory, the peers, the data directory
 * and the secret. Creates nothing. */
umbel_status um_protocols_check(const um_config *c, umbel_error *err);
/* Checks the files that protocols name, and prints which parts were ignored. */
umbel_status um_protocols_check_files(const um_config *c, FILE *out,
                                      umbel_error *err);
/*
 * Opens each list once, which refuses wrong kinds and sizes. Returns E_LIMIT if
 * the lists with all their epochs and the protocols need more memory than the
 * configuration allows.
 */
umbel_status um_protocols_check_memory(const um_config *c, umbel_error *err);
/* Returns true if memory in peers { } is too small for the configured peers
 * once their epochs are full, and writes what to set instead. */
bool um_protocols_short_memory(const um_config *c, char *out, size_t cap);
/* Returns the memory for um_store_build_totals: half of what is left, so that
 * the welcome file may grow. 0 without peers, where totals gain little. */
uint64_t um_protocols_sums_bytes(const um_config *c);
/* Returns the memory for further filters of full epochs: what is left beside
 * the sums, except for a quarter. */
uint64_t um_protocols_extra_bytes(const um_config *c);
/* Returns the configuration of the workers that read mails. */
um_mail_pool_config um_protocols_pool_config(const um_config *c);

/* --- all protocols of a server -------------------------------------------- */

typedef struct um_running um_running;

/* Opens all protocols. Release *out with um_running_close, even on failure. */
umbel_status um_running_open(const um_environment *env, um_running **out,
                             umbel_error *err);
umbel_status um_running_reload(um_running *r, umbel_error *err);
void um_running_committed(um_running *r);
/* Stop the protocols that ask others (um_protocol.asks), or the others; return
 * true while one of them is busy. */
void um_running_stop(um_running *r, bool asks);
bool um_running_busy(const um_running *r, bool asks);
void um_running_print_hints(const um_running *r, FILE *out);
/* Returns the state of a protocol, or NULL if it is not open. */
const void *um_running_state(const um_running *r, const um_protocol *p);
/* Accepts NULL. */
void um_running_close(um_running *r);

/* --- for protocols -------------------------------------------------------- */

/* Texts for UM_REFUSE_SHARE and UM_REFUSE_RATE (um_lists_admits). */
#define UM_TEXT_SHARE_FULL "the part of clients without an account is full"
#define UM_TEXT_NEW_LIMIT "too many new digests of clients without an account"

/* Returns true if the client is within its limit for n more of something; if
 * not, refuse it. */
static inline bool um_env_allows(const um_environment *env,
                                 const um_address *client, um_limit which,
                                 uint64_t n)
{
    return um_limits_consume(env->limits, client, which, n,
                             um_clock_ms(env->clock));
}

/* Returns what um_entry.reporter is for a client without an account: the tag of
 * its network, or 0 for one of this machine, unless limits hold for these. */
uint16_t um_env_reporter(const um_environment *env, const um_address *client);

/* Counts accepted digests of a client for the top reporters. account may be
 * NULL. */
void um_env_count_reports(const um_environment *env, const um_service *service,
                          const char *account, const um_address *client,
                          uint64_t reports);

#endif
