/*
 * list_format.h - the keys in lines of common lists: hosts files, adblock
 * rules, domain names, hashes of Have I Been Pwned, JSON objects.
 */
#ifndef UM_KEYLIST_LIST_FORMAT_H
#define UM_KEYLIST_LIST_FORMAT_H

#include "keylist/source.h"

/* Lines that are valid in their format, but are no keys. */
typedef struct um_left_out {
    uint64_t rules;      /* of adblock: that block no whole domain */
    uint64_t exceptions; /* of adblock: that unblock something */
} um_left_out;

enum { UM_LEFT_OUT_CAP = 384 };
/* Formats what was left out. Returns false if nothing was. */
bool um_left_out_report(const um_left_out *n, char *out, size_t cap);

/* Reduces a line of a hosts file, of adblock rules or of domains to the names
 * in it, separated by blanks; perhaps none. Returns what is wrong with it, and
 * reduces it to the text that is wrong; or NULL. */
const char *um_list_names(um_list_format list, umbel_slice *line,
                          um_left_out *left_out);

/* Cuts the next name off what um_list_names left. Returns false if there is
 * none. Skips the names of the machine itself in hosts files. */
bool um_list_next(um_list_format list, umbel_slice *names, umbel_slice *out);

/*
 * Finds the hash of a line HASH:COUNT. If the file has a range (not ""), the
 * hash is completed in out, which has space for UM_HIBP_DIGITS. An empty hash
 * is padding. Returns what is wrong with the line, or NULL.
 */
enum { UM_HIBP_DIGITS = 40 };
const char *um_hibp_hash(umbel_slice *line, const char *range, uint8_t *out);

/* Finds the member of a JSON object, and decodes it to out, which has space for
 * the line. null is an empty key. Returns what is wrong with the line, or
 * NULL. */
const char *um_json_member_key(umbel_slice line, const char *name, uint8_t *out,
                               size_t *len);

#endif
