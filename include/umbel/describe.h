/*
 * describe.h - properties of a filter, and the tables of kinds, addressings and
 * hashes.
 */
#ifndef UMBEL_DESCRIBE_H
#define UMBEL_DESCRIBE_H

#include <umbel/umbel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return one property each. Strings live as long as the program. */
UMBEL_API const char *umbel_kind(const umbel_filter *f);
UMBEL_API uint64_t umbel_cells(const umbel_filter *f);
UMBEL_API uint32_t umbel_hashes(const umbel_filter *f);
UMBEL_API double umbel_target_fpr(const umbel_filter *f);

/*
 * Returns the instruction set that adds and queries batches of keys: "plain",
 * "avx2" or "avx512". The environment variable UMBEL_CPU limits the choice for
 * filters created later. Answers and files do not depend on it.
 */
UMBEL_API const char *umbel_fast_path(const umbel_filter *f);

/* Returns how the keys were read: params.key_form at creation. */
UMBEL_API umbel_key_form umbel_key_form_of(const umbel_filter *f);
/* Returns the name of a key form, such as "hexadecimal"; NULL if unknown. */
UMBEL_API const char *umbel_key_form_name(umbel_key_form form);
/* Returns true if keys that were added may not match (false negatives). */
UMBEL_API bool umbel_has_false_negatives(const umbel_filter *f);
/* Returns the number of false negatives that the file records (retouching). */
UMBEL_API uint64_t umbel_known_false_negatives(const umbel_filter *f);
/* Predicts the false positive rate from the shape, for this many keys. */
UMBEL_API double umbel_fpr_at(const umbel_filter *f, double keys);

/* --- descriptions --------------------------------------------------------- */

/* The type of a field's value. */
typedef enum umbel_field_type {
    UMBEL_FIELD_TEXT,
    UMBEL_FIELD_COUNT,
    UMBEL_FIELD_REAL, /* NAN: unknown */
    UMBEL_FIELD_HEX,  /* in count: 64 bits, such as a checksum */
    UMBEL_FIELD_FLAG  /* in count: 0 or 1 */
} umbel_field_type;

/* One property of a filter. Strings live as long as the filter. */
typedef struct umbel_field {
    const char *name;
    umbel_field_type type;
    union {
        const char *text;
        uint64_t count;
        double real;
    } value;
} umbel_field;

enum { UMBEL_MAX_FIELDS = 48 };

typedef struct umbel_info {
    size_t n;
    umbel_field field[UMBEL_MAX_FIELDS];
} umbel_info;

/*
 * Describes f as named fields: shape, sizes, keys, fill, predicted error,
 * checksum and fields specific to its kind. Reads every cell, so it takes time
 * on a large filter.
 */
UMBEL_API void umbel_describe(const umbel_filter *f, umbel_info *out);

/*
 * Describes f without reading a cell, in constant time: kind, addressing, hash,
 * seed, size, settings, capacity, fpr, payload_bytes, added and the like. The
 * fields are those of umbel_describe.
 */
UMBEL_API void umbel_describe_shape(const umbel_filter *f, umbel_info *out);

/*
 * Finds one field of umbel_describe by name, such as "fill". Reads the cells
 * only if umbel_describe_shape lacks the field. E_UNKNOWN when f has no such
 * field; the text lists the names.
 */
UMBEL_API umbel_status umbel_info_get(const umbel_filter *f, const char *name,
                                      umbel_field *out, umbel_error *err);

/* --- tables --------------------------------------------------------------- */

/* Returns true for kinds that grow as keys are added and need no capacity. */
UMBEL_API bool umbel_is_growing(const char *kind);

/* Return row i of a table in the outputs; false when i is past the end. summary
 * and keyed may be NULL. */
UMBEL_API bool umbel_kind_at(size_t i, const char **name, const char **summary);
UMBEL_API bool umbel_addressing_at(size_t i, const char **name,
                                   const char **summary);
UMBEL_API bool umbel_hash_at(size_t i, const char **name, const char **summary,
                             bool *keyed);
/* A setting of a kind, with its range and default. */
typedef struct umbel_setting_info {
    const char *name, *summary;
    uint64_t min, max, standard;
} umbel_setting_info;
/* Returns setting i of a kind in *out; false when i is past the end. */
UMBEL_API bool umbel_kind_setting(const char *kind, size_t i,
                                  umbel_setting_info *out);

#ifdef __cplusplus
}
#endif
#endif
