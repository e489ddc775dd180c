/*
 * set.h - a stop set: its contents, its file, and queries.
 *
 * A file is a list, which is text, or an umbel filter. A list begins with the
 * description (query/stop_set.h), a filter contains it as data. In a list the
 * members follow, one per line, written as they are hashed:
 *
 *     198.51.100.1                      key hop
 *     198.51.100.1 203.0.113.0/24       key hop+prefix
 *     198.51.100.1 203.0.113.7          key hop+destination
 *
 * So 'umbel check red.umb 198.51.100.1' works.
 */
#ifndef UM_STOPSET_SET_H
#define UM_STOPSET_SET_H

#include "stopset/sets/address_index.h"

#include "query/stop_set.h"

#include <umbel/umbel.h>

#include <stdio.h>

typedef enum ss_kind { SS_RED, SS_GLOBAL } ss_kind;
typedef enum ss_key { SS_HOP, SS_HOP_PREFIX, SS_HOP_DESTINATION } ss_key;
typedef enum ss_form {
    SS_LIST,
    SS_BLOOM,
    SS_RETOUCHED,
    SS_GROUPS,
    SS_EXACT,
    SS_FORMS
} ss_form;

/* Names for options and files; end with NULL. */
extern const char *const ss_kind_names[], *const ss_key_names[],
                                              *const ss_form_names[];

typedef struct ss_set_info {
    ss_kind kind;
    ss_key key;
    ss_prefix_len prefix; /* for key hop+prefix */
    ss_form form;
    uint64_t members, monitors;
    uint64_t first, last; /* start of the first and last trace; 0 if unknown */
    bool without_passed;  /* when a red set is built: leave out nodes that more
                             traces pass than end at; not in the description */
} ss_set_info;

enum { SS_KEY_TEXT = 2 * SS_ADDR_TEXT + 8, SS_INFO_TEXT = UM_STOP_SET_TEXT };

/* Returns the prefix lengths for a key; 0 means the default. */
ss_prefix_len ss_key_prefix(ss_key key, uint8_t v4, uint8_t v6);
/* Returns the target part of a key: the destination itself, its prefix, or
 * nothing. */
ss_addr ss_key_target(const ss_set_info *info, ss_addr dst);
/* Writes a key as it is hashed; returns its length. target comes from
 * ss_key_target. */
size_t ss_key_format(const ss_set_info *info, ss_addr hop, ss_addr target,
                     char out[SS_KEY_TEXT]);

/* Writes the description; returns its length. */
size_t ss_info_format(const ss_set_info *info, char out[SS_INFO_TEXT]);
/* Parses a description. *used is its length, including the last line. */
umbel_status ss_info_parse(const char *text, size_t len, size_t *used,
                           ss_set_info *out, umbel_error *err);

/* A set that was read. */
typedef struct ss_set {
    ss_set_info info;
    uint64_t bytes;       /* of the file */
    umbel_filter *filter; /* NULL for a list */
    ss_index hops, targets, list;
} ss_set;

/* Reads a file. Messages begin with its name. */
umbel_status ss_set_open(ss_set *s, const char *path, umbel_error *err);
/* Parses the bytes of a file. */
umbel_status ss_set_parse(ss_set *s, const void *bytes, size_t len,
                          umbel_error *err);
void ss_set_fini(ss_set *s);
/* Adds a member to a list; false without memory. */
bool ss_set_add(ss_set *s, ss_addr hop, ss_addr dst);

/* A question: is this node, on the path to this destination, in the set? */
typedef struct ss_question {
    ss_addr hop, dst;
} ss_question;

/* Answers n questions: hit[i] is true if question[i] is in the set. */
umbel_status ss_set_query(const ss_set *s, const ss_question *question,
                          size_t n, bool *hit, umbel_error *err);

#endif
