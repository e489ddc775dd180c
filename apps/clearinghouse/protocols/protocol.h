/*
 * front.h - a front speaks the protocol of some mail software: one file with
 * one row. A new front is a file and a line in fronts.c; configuration, lists,
 * metrics and status pages pick it up from the row.
 */
#ifndef UM_CLEARINGHOUSE_FRONT_H
#define UM_CLEARINGHOUSE_FRONT_H

#include "clearinghouse/config/setting.h"
#include "clearinghouse/runtime/verdict.h"

#include <stdio.h>
#include <umbel/sync.h>

typedef struct um_protocol um_protocol;
struct um_config;
struct um_status;
struct um_doctor_row;
typedef struct um_server um_server;

enum { UM_MAX_FRONT_LISTS = 4 };

/* What a list has if nothing is configured, where it differs from the table of
 * settings (config_rows.c). */
typedef struct um_list_initial {
    const char *list; /* NULL: all lists of the front */
    const char *setting, *value;
} um_list_initial;

struct um_protocol {
    const char *name; /* of its section, in metrics and in messages */
    const char *summary;
    const um_setting *settings; /* of its section */
    size_t settings_len;        /* of the struct that they fill */
    const char *lists[UM_MAX_FRONT_LISTS + 1]; /* names; NULL ends */
    unsigned revokes; /* the number of the list that takes back what others
                         have; 0: none. Clients of a front that has one send
                         nothing but digests */
    const um_list_initial *list_initials; /* setting NULL ends; NULL: none */
    const char *list_kind; /* of all its lists; NULL: as configured */
    /* The count from which on a digest is a hit; NULL: it is the client's. */
    unsigned (*threshold)(const void *settings);
    /* The count in that list from which on it does; NULL: any. */
    uint64_t (*revoked_at)(const um_server *h);
    /* Writes what its lists agree on with those of peers beside their shape, as
     * umbel_sync_list has it; NULL: nothing. */
    void (*agree)(const void *settings, char out[UMBEL_SYNC_MAX_AGREE]);
    bool times; /* the times of its first two lists are known to ten seconds,
                   for an hour; for one front */
    unsigned socket_mode;   /* of its unix sockets; 0: for the server's user */
    const char *const *ops; /* in metrics; NULL ends */
    const um_verdict *verdicts; /* a row with code 0 ends */

    /* Adds the bytes that it may need beside its lists; NULL: few. */
    umbel_status (*memory)(const struct um_config *c, uint64_t *need,
                           umbel_error *err);
    /* Checks the files that the settings name, and prints what was ignored in
     * them. NULL: they name none. */
    umbel_status (*check)(const void *settings, FILE *out, umbel_error *err);
    /* Listens. *state is the front's own, for the calls below. */
    umbel_status (*open)(um_server *h, void **state, umbel_error *err);
    /* Takes over what um_server_config says now; on failure nothing changes. */
    umbel_status (*reload)(void *state, umbel_error *err);
    /* Answers what waited for the store: its committed ticket, or its failure,
     * has moved. NULL: nothing waits. */
    void (*committed)(void *state);
    /* Takes the requests that have arrived, and no more. */
    void (*stop)(void *state);
    /* Returns true while answers are owed. */
    bool (*busy)(const void *state);
    void (*close)(void *state);
    /* Fills what documents show of it beside its counts; NULL: nothing. */
    void (*describe)(const void *state, struct um_status *out);
    /* Writes what to configure in mail software; NULL: nothing. */
    void (*hint)(const void *state, FILE *out);
    /* How its addresses are tried as a client does (doctor.h); NULL: not. */
    const struct um_doctor_row *doctor;
};

/* The table: NULL past the end, or if no front has that name. */
const um_protocol *um_protocol_row(size_t i);
const um_protocol *um_protocol_find(const char *name);

/* The lists of all fronts, in the order of the table; NULL past the end. The
 * order is that of the data directory: append, never insert. */
const char *um_protocol_list(size_t i);
/* Where the times of list i are kept (um_list_config.recent_column); 0:
 * nowhere. */
unsigned um_protocol_list_times(size_t i);
/* Returns true for a list that takes back what others of its front have. */
bool um_protocol_list_revokes(size_t i);
/* The front whose list it is. */
const um_protocol *um_protocol_of_list(size_t i);
/* Returns the index of the list of that name, or the number of lists. */
size_t um_protocol_list_find(const char *name);

extern const um_protocol um_protocol_pyzor, um_protocol_http,
    um_protocol_dccifd, um_protocol_scan, um_protocol_razor, um_protocol_milter,
    um_protocol_fuzzy;

#endif
