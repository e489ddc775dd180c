/*
 * option_groups.h - options that several commands share, the structs they fill,
 * and functions that apply them.
 */
#ifndef UM_CLI_GROUPS_H
#define UM_CLI_GROUPS_H

#include "cli/framework/command.h"
#include "keylist/source.h"

/* --- keys: how lists are read --------------------------------------------- */
typedef struct um_key_args {
    um_choice form;
    um_choice list_format;
    bool csv;
    const char *column, *json_field;
    bool null, hex, fold_case;
    um_whole field;
    const char *delimiter;
} um_key_args;
extern const um_option um_key_options[];
/* --key-form, into the same struct, for commands that create filters. */
extern const um_option um_form_options[];

/* --threads, for commands that read many keys. */
typedef struct um_thread_args {
    um_whole threads;
} um_thread_args;
extern const um_option um_thread_options[];

/* --times and --amount-field, for commands that add keys. */
typedef struct um_amount_args {
    um_whole times, amount_field;
} um_amount_args;
extern const um_option um_amount_options[];

/* Sets the amounts of keys in a format. */
void um_set_amounts(const um_amount_args *a, um_key_format *format);

/* Creates a source of the keys in these files, with progress on a terminal.
 * threads may be NULL (one thread). */
umbel_status um_key_source_from_args(const um_args *args, const um_key_args *k,
                                     const um_thread_args *threads,
                                     um_list paths, um_key_source *out,
                                     umbel_error *err);

/*
 * Sets the key form that f records, if it records one. Refuses options that
 * contradict it.
 */
umbel_status um_obey_key_form(const umbel_filter *f, um_key_format *format,
                              umbel_error *err);
/* Finds the form that a new file records. Refuses options that contradict each
 * other. */
umbel_status um_key_form_from_args(const um_key_args *k, umbel_key_form *out,
                                   umbel_error *err);

/* --- filters: how files are opened ---------------------------------------- */
typedef struct um_open_args {
    const char *key_file;
    bool no_checksum;
    um_whole max_memory;
} um_open_args;
extern const um_option um_open_options[];

/* --key-file alone, for commands that hash keys, but read no filter. */
typedef struct um_secret_args {
    const char *key_file;
} um_secret_args;
extern const um_option um_secret_options[];

/* --max-memory alone, for commands that read untrusted filters. */
typedef struct um_memory_args {
    um_whole max_memory;
} um_memory_args;
extern const um_option um_memory_options[];

/* --- shapes: parameters of a new filter ----------------------------------- */
typedef struct um_shape_args {
    const char *kind, *addressing, *hash;
    um_whole seed;
    um_share fpr;
    um_whole bits, cells, hashes;
    bool exact_size;
    um_whole groups, cell_bits, reset, set;
    um_choice update;
    um_real fill;
    um_list param;
} um_shape_args;
extern const um_option um_shape_options[];

enum { UM_MAX_PARAMS = 16 };

/* Parameters from options, with their memory. */
typedef struct um_filter_params {
    const char *kind; /* NULL: the default */
    umbel_params params;
    uint8_t secret[UMBEL_SECRET_LEN];
    umbel_setting settings[UM_MAX_PARAMS];
    char names[UM_MAX_PARAMS][32];
} um_filter_params;

/* Converts options to parameters; key_file may be NULL. Wipe *out with
 * um_filter_params_fini. */
umbel_status um_params_from_args(const um_shape_args *s, const char *key_file,
                                 um_filter_params *out, umbel_error *err);
void um_filter_params_fini(um_filter_params *p);
/* Appends a setting of the kind; E_RANGE if there are too many. */
umbel_status um_params_add(um_filter_params *p, const char *name,
                           uint64_t value, umbel_error *err);
/* Returns --bits or --cells, whichever was given. */
um_whole um_size_asked(const um_shape_args *s);
/* Returns true if the kind (NULL: the default) has a setting of that name. */
bool um_kind_has(const char *kind, const char *setting);

#endif
