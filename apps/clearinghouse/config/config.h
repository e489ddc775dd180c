/*
 * config.h - the configuration file, read with libconfuse.
 */
#ifndef UM_CLEARINGHOUSE_CONFIG_H
#define UM_CLEARINGHOUSE_CONFIG_H

#include "clearinghouse/runtime/limits.h"

#include <umbel/base.h>

/* --- rows of settings -----------------------------------------------------
 *
 * A setting is declared by a row, with its type, where its value goes, and what
 * is allowed. The rows make the parser, its refusals, the check of the manual
 * page, and the decision which changes a reload can apply.
 */

typedef struct um_setting um_setting;

/* Several texts, owned by the configuration. */
typedef struct um_texts {
    char **item;
    size_t n;
} um_texts;

enum { UM_ALLOWED_LEN = 256 };

typedef struct um_setting_type {
    const char *name;
    bool many; /* written {"a", "b"}: a um_texts */
    /* Parses text into *target; false: it is not allowed. */
    bool (*parse)(const um_setting *s, const char *text, void *target);
    /* Writes what is allowed, for a refusal. */
    void (*allowed)(const um_setting *s, char out[UM_ALLOWED_LEN]);
    bool (*equal)(const void *a, const void *b);
    void (*fini)(void *target); /* NULL: nothing to free */
} um_setting_type;

/* Targets: */
extern const um_setting_type um_type_text;       /* char *, NULL: none */
extern const um_setting_type um_type_kind;       /* the same, that counts */
extern const um_setting_type um_type_size;       /* uint64_t, bytes */
extern const um_setting_type um_type_duration;   /* uint64_t, milliseconds */
extern const um_setting_type um_type_count;      /* uint64_t */
extern const um_setting_type um_type_share;      /* double, 0 to 1 exclusive */
extern const um_setting_type um_type_choice;     /* unsigned, an index */
extern const um_setting_type um_type_flag;       /* bool */
extern const um_setting_type um_type_address;    /* char *, NULL: none */
extern const um_setting_type um_type_addresses;  /* um_texts */
extern const um_setting_type um_type_ports;      /* the same, without paths */
extern const um_setting_type um_type_hosts;      /* um_texts, names of hosts */
extern const um_setting_type um_type_host_ports; /* the same, with a port */
extern const um_setting_type um_type_seed;       /* char *, two numbers */
extern const um_setting_type um_type_weight;     /* uint64_t, hundredths */
extern const um_setting_type um_type_networks;   /* um_texts */

/* A row. Tables end with a NULL name. */
struct um_setting {
    const char *name;
    const um_setting_type *type;
    size_t target;       /* in the struct of its section */
    const char *initial; /* as it could be written; NULL: none */
    const char *help;
    double low, high;           /* of numbers; 0, 0: any */
    const char *const *choices; /* of a choice: ends with NULL */
    bool live;                  /* a reload changes it */
};

/* Fills the struct of a section with initial values, over zeroes. */
void um_settings_init(const um_setting *rows, void *target);
void um_settings_fini(const um_setting *rows, void *target);
/* NULL: no row has that name. */
const um_setting *um_setting_find(const um_setting *rows, const char *name);
/* Writes "name, name or name". */
void um_join_or(const char *const *names, size_t n, char *out, size_t cap);

/* Appends a copy; false: no memory. */
bool um_texts_add(um_texts *t, const char *text);
void um_texts_fini(um_texts *t);

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

/* A default of a list that differs from that of all lists. */
typedef struct um_list_default {
    const char *setting, *value;
} um_list_default;

typedef struct um_list_row {
    const char *name;    /* in files, messages and metrics; never reused */
    const char *section; /* of the protocol that asks it */
    const char *clients; /* who send nothing but digests to it; NULL: nobody */
    const char *kind;    /* the only kind that it may have; NULL: any */
    const um_list_default *defaults; /* a NULL setting ends them; NULL: none */
    unsigned revoked_by;   /* the list that takes back what this one has, which
                              is another one; 0: none */
    bool revokes;          /* takes back what another list has */
    bool hundredths;       /* a report counts 100 if the list counts so far */
    unsigned times;        /* where its times are kept (um_list_config.times):
                              known to ten seconds, for an hour; 0: nowhere */
    const char *threshold; /* the setting of the section that has the count from
                              which on a digest is a hit; NULL: the client's */
    const char *agree; /* the setting that all peers must have alike, beside its
                          shape; NULL: none */
} um_list_row;

/* Declared in lists/, which stands above: it registers them by this name. */
extern const um_list_row um_list_rows[UM_LISTS];

/* Returns the name of list i; NULL past the end. */
static inline const char *um_list_name(size_t i)
{
    return i < UM_LISTS ? um_list_rows[i].name : NULL;
}
/* Returns the number of the list of that name, or UM_LISTS. */
size_t um_list_find(const char *name);

/* --- settings ------------------------------------------------------------- */

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
    um_list_settings list[UM_MAX_LISTS];
    um_account_settings *account;
    size_t naccounts;
    um_peers_settings peers;
    um_peer_settings *peer;
    size_t npeers;
    void *section[UM_MAX_PROTOCOLS]; /* as um_protocol_sections numbers them */
} um_config;

/* Fills *out with what holds if nothing is configured. */
umbel_status um_config_default(um_config *out, umbel_error *err);

/* Reads a file. A refusal names the file, the line and what is allowed. */
umbel_status um_config_read(um_config *out, const char *path, umbel_error *err);
/* Reads the text of a file; path is for messages. */
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

/* Returns the weight of an account's reports in hundredths; other unless it was
 * configured. */
uint64_t um_config_weight_percent(const um_config *c, const char *account,
                                  uint64_t other);
/* Returns it rounded down to whole reports; 1 unless it was configured. */
uint32_t um_config_weight(const um_config *c, const char *account);

/* Refuses a configuration in which no protocol listens. */
umbel_status um_config_check_listens(const um_config *c, umbel_error *err);

/* The section of a protocol: its settings, and the size of the struct that they
 * fill. */
typedef struct um_protocol_section {
    const char *name;
    const um_setting *settings;
    size_t len;
} um_protocol_section;

/* Sections up to NULL, registered by the table of protocols, which stands
 * above. */
extern const um_protocol_section *const um_protocol_sections[];

/* Returns the settings of a section: the struct that they fill. */
const void *um_config_get(const um_config *c, const um_protocol_section *s);
/* Returns the address of one setting in the section of that name; NULL: there
 * is no such setting. */
const void *um_config_find(const um_config *c, const char *section,
                           const char *setting);

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

/* Returns section i, those of protocols included; false past the end. */
bool um_config_section_at(size_t i, um_section_row *out);

#endif
