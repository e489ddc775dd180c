/*
 * config.h - the configuration file, read with libconfuse.
 */
#ifndef UM_CLEARINGHOUSE_CONFIG_H
#define UM_CLEARINGHOUSE_CONFIG_H

#include "clearinghouse/protocols/protocol.h"

enum { UM_MAX_FRONTS = 16, UM_MAX_LISTS = 32 };

/* list "NAME" { ... } */
typedef struct um_list_settings {
    char *kind, *addressing;
    uint64_t capacity, epoch, epochs, cell_bits, hashes;
    unsigned update;
    double error;
} um_list_settings;

/* account "NAME" { ... } */
typedef struct um_account_settings {
    char *name;
    uint64_t weight; /* in hundredths */
} um_account_settings;

/* peers { ... }: servers that count together */
typedef struct um_peers_settings {
    um_texts listen;
    uint64_t quorum, revoke_quorum, drop_quorum, origin_cap;
    uint64_t interval, save; /* milliseconds */
    uint64_t bandwidth, memory, origins, log_entries;
    bool strict;
} um_peers_settings;

/* peer "NAME" { ... } */
typedef struct um_peer_settings {
    char *name, *address, *key;
} um_peer_settings;

/* limits { ... }: of a client's network, for each second; 0: none */
typedef struct um_limit_settings {
    uint64_t requests, reports, burst;
    uint64_t networks; /* that are remembered */
    uint64_t prefix_v4, prefix_v6;
    bool loopback;
} um_limit_settings;

/* mail { ... }: workers that read mails */
typedef struct um_mail_settings {
    uint64_t workers, time, bytes;
} um_mail_settings;

typedef enum um_durability_choice {
    UM_ALWAYS,
    UM_INTERVAL,
    UM_NONE
} um_durability_choice;

typedef struct um_config {
    char *data, *secret, *control, *welcome, *origin;
    unsigned durability;
    uint64_t memory;
    um_limit_settings limits;
    um_mail_settings mail;
    um_list_settings list[UM_MAX_LISTS]; /* as um_protocol_list numbers them */
    um_account_settings *account;
    size_t naccounts;
    um_peers_settings peers;
    um_peer_settings *peer;
    size_t npeers;
    void *front[UM_MAX_FRONTS]; /* as um_protocol_row numbers them */
} um_config;

/* Fills *out with what holds if nothing is configured. */
umbel_status um_config_default(um_config *out, umbel_error *err);

/* Reads a file. A refusal names the file, the line and what is allowed. */
umbel_status um_config_read(um_config *out, const char *path, umbel_error *err);
/* The same from a text; path is for messages. */
umbel_status um_config_parse(um_config *out, umbel_slice text, const char *path,
                             umbel_error *err);
/* Accepts zeroed ones. */
void um_config_fini(um_config *c);

/*
 * Writes the settings that differ and that no reload can change, as "data,
 * pyzor.listen". Returns how many there are.
 */
size_t um_config_fixed_changes(const um_config *old, const um_config *new,
                               char *out, size_t cap);

/* The weight of an account's reports in hundredths; other unless it was
 * configured. */
uint64_t um_config_weight_percent(const um_config *c, const char *account,
                                  uint64_t other);
/* The same rounded down to whole reports; 1 unless it was configured. */
uint32_t um_config_weight(const um_config *c, const char *account);

/* Refuses a configuration in which no front listens. */
umbel_status um_config_check_listens(const um_config *c, umbel_error *err);

/* The section of a front. */
void *um_config_protocol(const um_config *c, const um_protocol *f);

extern const char *const um_durability_names[];

/* A section of the file: "" is the file itself. */
typedef struct um_section_row {
    const char *name;
    const um_setting *rows;
    bool titled;
    /* The struct that the settings fill, by the title, or the name of a section
     * without one. NULL: no such title, or no memory. */
    void *(*target)(um_config *c, const char *title);
    /* Names the titles that are allowed; NULL: any. */
    const char *(*title)(size_t i);
} um_section_row;

/* Sections, fronts included; false past the end. */
bool um_config_section(size_t i, um_section_row *out);

#endif
