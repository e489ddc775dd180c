/*
 * stop_set.h - the description of a stop set, which is the data of its filter.
 *
 * 'umbel stopset' writes and reads it, and 'umbel merge' merges it:
 *
 *     umbel-stopset set 1
 *     set red
 *     key hop+prefix
 *     prefix 24 48
 *     form bloom
 *     monitors 10
 *     learned 1574867159 1574867900
 *     members 50
 */
#ifndef UM_QUERY_STOP_SET_H
#define UM_QUERY_STOP_SET_H

#include <umbel/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UM_STOP_SET_WORD = 16, UM_STOP_SET_TEXT = 512 };

typedef struct um_stop_set {
    /* What its keys mean. */
    char set[UM_STOP_SET_WORD], key[UM_STOP_SET_WORD];
    unsigned prefix4, prefix6;
    char form[UM_STOP_SET_WORD];
    /* Where they come from. */
    uint64_t monitors;
    uint64_t first, last; /* start of the first and last trace; 0 if unknown */
    uint64_t members;
} um_stop_set;

/* Returns true for a text that begins as a description, in any version. */
bool um_is_stop_set(umbel_slice text);
/* Writes the description; returns its length. */
size_t um_stop_set_format(const um_stop_set *s, char out[UM_STOP_SET_TEXT]);
/* Parses a description at the beginning of a text, exactly as
 * um_stop_set_format writes it; *used is its length. */
bool um_stop_set_parse(umbel_slice text, size_t *used, um_stop_set *out);
/* Makes *into the description of the union of both sets, which has that many
 * members. E_MISMATCH, with the line that differs, if their keys mean different
 * things. */
umbel_status um_stop_set_merge(um_stop_set *into, const um_stop_set *other,
                               uint64_t members, umbel_error *err);

#endif
