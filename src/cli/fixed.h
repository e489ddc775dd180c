/*
 * fixed.h - build of static kinds: all keys are read, then the filter is made.
 */
#ifndef UM_CLI_FIXED_H
#define UM_CLI_FIXED_H

#include "cli/files.h"

enum { UM_PIPE_MEMORY = 256000000 }; /* --max-memory, unless it is given */

/* What was built, for the report. */
typedef struct um_fixed {
    umbel_filter *filter;
    uint64_t n;            /* keys in the input */
    bool exact;            /* there was a list: the bill holds */
    umbel_exact_bill bill; /* of --never and --universe */
} um_fixed;

/* --universe, --values and --bytes. */
umbel_status um_build_fixed(const um_args *args, um_asked *asked, um_fixed *out,
                            umbel_error *err);

/* What is wrong with the combination of options; NULL: nothing. */
const char *um_fixed_misuse(const um_args *args);

/* Lines and fields of the report that only static filters have. */
void um_print_fixed(FILE *out, const um_args *args, const um_fixed *f);
void um_fixed_to_info(const um_fixed *f, umbel_info *out);

#endif
