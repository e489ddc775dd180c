/*
 * config.h - the configuration file, read with libconfuse.
 */
#ifndef UM_CLEARINGHOUSE_CONFIG_H
#define UM_CLEARINGHOUSE_CONFIG_H

#include "clearinghouse/runtime/limits.h"

#include "base/text.h"

#include <umbel/base.h>

/* --- rows of settings -----------------------------------------------------
 *
 * Each setting is one row: its type, where its value is stored, and the values
 * that are allowed. The parser, its error messages, the check of the manual
 * page, and the list of changes that a reload can apply all come from these
 * rows.
 */

typedef struct um_setting um_setting;

enum { UM_ALLOWED_LEN = 256 };

typedef struct um_setting_type {
    const char *name;
    bool many; /* written {"a", "b"}: a um_texts */
    /* Parses text into *target; false if it is not allowed. */
    bool (*parse)(const um_setting *s, const char *text, void *target);
    /* Writes what is allowed, for an error message. */
    void (*allowed)(const um_setting *s, char out[UM_ALLOWED_LEN]);
    bool (*equal)(const void *a, const void *b);
    void (*fini)(void *target); /* NULL if there is nothing to free */
} um_setting_type;

/* The comment of each type names the C type of its target. */
extern const um_setting_type um_type_text;       /* char *, NULL if unset */
extern const um_setting_type um_type_kind;       /* the same, a counting kind */
extern const um_setting_type um_type_size;       /* uint64_t, bytes */
extern const um_setting_type um_type_duration;   /* uint64_t, milliseconds */
extern const um_setting_type um_type_count;      /* uint64_t */
extern const um_setting_type um_type_share;      /* double, 0 to 1, both
                                                    excluded unless low and high
                                                    say otherwise */
extern const um_setting_type um_type_choice;     /* unsigned, an index */
extern const um_setting_type um_type_flag;       /* bool */
extern const um_setting_type um_type_address;    /* char *, NULL if unset */
extern const um_setting_type um_type_addresses;  /* um_texts */
extern const um_setting_type um_type_ports;      /* the same, but no paths */
extern const um_setting_type um_type_hosts;      /* um_texts, host names */
extern const um_setting_type um_type_host_ports; /* the same, with a port */
extern const um_setting_type um_type_seed;       /* char *, two numbers */
extern const um_setting_type um_type_weight;     /* uint64_t, hundredths */
extern const um_setting_type um_type_networks;   /* um_texts */

/* A setting. Tables end with a NULL name. */
struct um_setting {
    const char *name;
    const um_setting_type *type;
    size_t target;       /* offset in the struct of its section */
    const char *initial; /* in the syntax of the file; NULL if unset */
    const char *help;
    double low, high;           /* limits of numbers; any if both are 0 */
    const char *const *choices; /* of um_type_choice; ends with NULL */
    bool live;                  /* can be changed by a reload */
};

/* Sets the initial values in the zeroed struct of a section. */
void um_settings_init(const um_setting *rows, void *target);
void um_settings_fini(const um_setting *rows, void *target);
/* Returns the row of that name, or NULL. */
const um_setting *um_setting_find(const um_setting *rows, const char *name);
/* Writes "name, name or name". */
void um_join_or(const char *const *names, size_t n, char *out, size_t cap);

static inline void *um_setting_target(const um_setting *s, void *section)
{
    return (char *)section + s->target;
}

enum { UM_MAX_PROTOCOLS = 16, UM_MAX_LISTS = 32 };

/* --- lists ---------------------------------------------------------------- */

/* The lists, in the order of the data directory: append, never insert. */
enum {
    UM_LIST_PYZOR_REPORTS,
    UM_LIST_PYZOR_WHITELIST,
    UM_LIST_BODY,
    UM_LIST_FUZ1,
    UM_LIST_FUZ2,
    UM_LIST_RAZOR_SPAM,
    UM_LIST_RAZOR_REVOKED,
    UM_LIST_FUZZY,
    UM_LISTS
};

/* A default of one list that differs from the common one. */
typedef struct um_list_default {
    const char *setting, *value;
} um_list_default;

typedef struct um_list_row {
    const char *name;    /* in files, messages and metrics; never reused */
    const char *section; /* of the protocol that uses it */
    const char *clients; /* that send only digests to it, or NULL */
    const char *kind;    /* the only kind allowed; NULL if any is */
    const um_list_default *defaults; /* up to a NULL setting; NULL if none */
    unsigned revoked_by;   /* the list that cancels its counts; 0 if none */
    bool revokes;          /* its counts cancel those of another list */
    bool hundredths;       /* a report adds 100, if counters can hold it */
    unsigned times;        /* column of the recent times (um_list_config.times),
                              accurate to ten seconds for an hour; 0 if it has
                              none */
    const char *threshold; /* setting of the section: the smallest count that is
                              a hit; NULL if the client decides */
    const char *accounts; /* how to give its clients accounts; NULL: they cannot
                             have any */
    const char *agree; /* setting that must be equal on all peers, besides the
                          shape; NULL if none */
} um_list_row;

/* Defined in lists/, a layer above this one. */
extern const um_list_row um_list_rows[UM_LISTS];

/* Returns the name of list i; NULL past the end. */
static inline const char *um_list_name(size_t i)
{
    return i < UM_LISTS ? um_list_rows[i].name : NULL;
}
/* Returns the number of the list with that name, or UM_LISTS. */
size_t um_list_find(const char *name);

/* --- settings ------------------------------------------------------------- */

/* list "NAME" { ... } */
typedef struct um_list_settings {
    char *kind, *addressing;
    uint64_t capacity, epoch, epochs, cell_bits, hashes;
    unsigned update;
    double error, anonymous_share;
} um_list_settings;

/* account "NAME" { ... } */
typedef struct um_account_settings {
    char *name;
    uint64_t weight; /* in hundredths */
} um_account_settings;

/* peers { ... }: servers that share their counts */
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
    char *data, *secret, *control, *control_group, *welcome, *origin;
    unsigned durability;
    uint64_t memory;
    um_limit_settings limits;
    um_mail_settings mail;
    um_list_settings list[UM_MAX_LISTS];
    um_account_settings *account;
    size_t naccounts;
    um_peers_settings peers;
    um_peer_settings *peer;
    size_t npeers;
    void *section[UM_MAX_PROTOCOLS]; /* numbered as in um_protocol_sections */
} um_config;

/* Fills *out with the defaults. */
umbel_status um_config_default(um_config *out, umbel_error *err);

/* Reads a file. An error names the file, the line and what is allowed. */
umbel_status um_config_read(um_config *out, const char *path, umbel_error *err);
/* Parses the text of a file; path is for messages. */
umbel_status um_config_parse(um_config *out, umbel_slice text, const char *path,
                             umbel_error *err);
/* Frees a configuration; accepts a zeroed one. */
void um_config_fini(um_config *c);

/*
 * Writes the names of settings that differ but cannot be changed by a reload,
 * as "data, pyzor.listen". Returns their number.
 */
size_t um_config_fixed_changes(const um_config *old, const um_config *new,
                               char *out, size_t cap);

/* Returns the weight of an account's reports in hundredths, or other if none is
 * configured. */
uint64_t um_config_weight_percent(const um_config *c, const char *account,
                                  uint64_t other);
/* Returns true if the configuration has a section for the account. */
bool um_config_has_account(const um_config *c, const char *account);
/* Returns the weight rounded down to whole reports, or 1 if none is
 * configured. */
uint32_t um_config_weight(const um_config *c, const char *account);

/* Refuses a configuration in which no protocol listens. */
umbel_status um_config_check_listens(const um_config *c, umbel_error *err);

/* The section of a protocol: its settings, and the size of the struct that
 * stores them. */
typedef struct um_protocol_section {
    const char *name;
    const um_setting *settings;
    size_t len;
} um_protocol_section;

/* All sections, up to NULL. Defined by the table of protocols, a layer above
 * this one. */
extern const um_protocol_section *const um_protocol_sections[];

/* Returns the struct with the settings of a section. */
const void *um_config_get(const um_config *c, const um_protocol_section *s);
/* Returns the address of a setting in the section of that name, or NULL. */
const void *um_config_find(const um_config *c, const char *section,
                           const char *setting);

extern const char *const um_durability_names[];

/* A section of the file: "" is the file itself. */
typedef struct um_section_row {
    const char *name;
    const um_setting *rows;
    bool titled;
    /* Returns the struct for the settings of a title, or, in a section without
     * titles, of the section's name. NULL if the title is unknown or there is
     * no memory. */
    void *(*target)(um_config *c, const char *title);
    /* Returns the i-th allowed title; NULL if any title is allowed. */
    const char *(*title)(size_t i);
} um_section_row;

/* Sets *out to section i, counting those of protocols; false past the end. */
bool um_config_section_at(size_t i, um_section_row *out);

#endif
