/*
 * keylist.h - keys of files kept in memory: digests, weights, and their lines.
 */
#ifndef UM_CLI_KEYLIST_H
#define UM_CLI_KEYLIST_H

#include "cli/keys.h"

typedef struct um_keylist {
    const umbel_filter *filter; /* whose digests these are */
    bool keep_lines;
    umbel_digest *digests;
    double *weights;
    size_t n, cap;
    char *text; /* lines one after the other, when kept */
    size_t *end;
    size_t text_len, text_cap;
} um_keylist;

/* Everything that option names, which may be given again. Release with
 * um_keylist_fini. */
umbel_status um_keylist_read(um_keylist *out, const um_args *args,
                             const char *option, const umbel_filter *f,
                             bool keep_lines, umbel_error *err);
/* The same without weights: lines are keys, as for 'umbel build'. */
umbel_status um_keylist_keys(um_keylist *out, const um_args *args,
                             const char *option, const umbel_filter *f,
                             umbel_error *err);
void um_keylist_fini(um_keylist *k);

umbel_keyset um_keylist_set(const um_keylist *k);
/* The i-th line, when kept. */
umbel_slice um_keylist_line(const um_keylist *k, size_t i);

#endif
