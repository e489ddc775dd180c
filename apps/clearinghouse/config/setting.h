/*
 * setting.h - settings of the configuration file, declared: a row each, with
 * its type, where its value goes, and what is allowed.
 *
 * The rows make the parser, its refusals, the check of the manual page, and the
 * decision which changes a reload can apply.
 */
#ifndef UM_CLEARINGHOUSE_SETTING_H
#define UM_CLEARINGHOUSE_SETTING_H

#include <umbel/base.h>

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

#endif
