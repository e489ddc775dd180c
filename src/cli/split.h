/*
 * split.h - from lines to keys.
 */
#ifndef UM_CLI_SPLIT_H
#define UM_CLI_SPLIT_H

#include "cli/input.h"

/* Where the last field of a line is a weight; elsewhere keys weigh 1. */
typedef enum um_weigh { UM_WEIGH_NONE, UM_WEIGH_TSV, UM_WEIGH_ALL } um_weigh;

/* As amount: the last field. */
#define UM_LAST_FIELD UINT64_MAX

/* What of a line is the key. */
typedef struct um_rule {
    char end, delimiter;
    bool hex;
    uint64_t field;  /* 0: the whole line */
    uint64_t amount; /* field that is an amount, kept as weight; 0: none */
    um_weigh weigh;  /* nowhere, in files named *.tsv, in all */
} um_rule;

/* Options of every command that reads keys. */
extern const um_option um_keys_options[];

umbel_status um_rule_init(um_rule *r, const um_args *args, umbel_error *err);
/* Whether every line that is not empty is a key as it stands. */
bool um_rule_is_plain(const um_rule *r);

/*
 * The keys of a piece, up to its first bad line. Touches nothing else, so
 * pieces may be split by threads together.
 */
void um_split(const um_rule *r, um_piece *p);

/* Decode hexadecimal text of len digits; false when it is none. */
bool um_decode_hex(const void *text, size_t len, uint8_t *out);

#endif
