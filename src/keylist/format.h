/*
 * format.h - which part of a line is the key.
 */
#ifndef UM_KEYS_FORMAT_H
#define UM_KEYS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UM_MAX_KEY_LEN = 1 << 20 }; /* bytes of a line */

/* As amount_field: the last field of the line. */
#define UM_LAST_FIELD UINT64_MAX

/* In which files the last field of a line is a weight. Other keys weigh 1. */
typedef enum um_weights {
    UM_WEIGHTS_NONE,
    UM_WEIGHTS_TSV, /* in files named *.tsv */
    UM_WEIGHTS_ALL
} um_weights;

/* Zeroed: every line that is not empty is a key. */
typedef struct um_key_format {
    bool null_ended;       /* records end with NUL instead of newline */
    bool hex;              /* keys are written in hexadecimal digits */
    bool fold_case;        /* ASCII letters of keys become lower case */
    char delimiter;        /* between fields; 0: tab */
    uint64_t field;        /* that is the key, from 1; 0: the whole line, or
                              field 1 where there is an amount_field */
    uint64_t amount_field; /* from 1, or UM_LAST_FIELD; 0: none */
    uint64_t times;        /* amount of every key without an amount_field;
                              0: 1, and um_keys_add adds to any kind */
    um_weights weights;
    bool skip_bad; /* bad lines do not end the input: um_key_source.bad_line */
} um_key_format;

/* Returns true if keys get amounts, which only counting kinds take. */
static inline bool um_format_has_amounts(const um_key_format *f)
{
    return f->amount_field || f->times;
}

/* Returns the byte behind each record. */
static inline char um_format_end(const um_key_format *f)
{
    return f->null_ended ? '\0' : '\n';
}

/* Makes ASCII letters lower case; other bytes stay. */
void um_fold_case(const uint8_t *from, size_t len, uint8_t *to);

/* Says why um_hex_decode refuses a text, and where. */
enum { UM_WHY_LEN = 80 };
void um_why_not_hex(const void *text, size_t len, char out[UM_WHY_LEN]);

#endif
