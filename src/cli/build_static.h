/*
 * build_static.h - build of static kinds: all keys are read, then the filter is
 * made.
 */
#ifndef UM_CLI_BUILD_STATIC_H
#define UM_CLI_BUILD_STATIC_H

#include "cli/files.h"

enum { UM_PIPE_MEMORY = 256000000 }; /* --max-memory, unless it is given */

/* What was built, for the report. */
typedef struct um_static_result {
    umbel_filter *filter;
    uint64_t n;            /* keys in the input */
    bool exact;            /* there was a list: the bill holds */
    umbel_exact_bill bill; /* of --never and --universe */
} um_static_result;

/* --universe, --values and --bytes. */
umbel_status um_build_static(const um_args *args, um_filter_args *asked,
                             um_static_result *out, umbel_error *err);

/* What is wrong with the combination of options; NULL: nothing. */
const char *um_static_misuse(const um_args *args);

/* Lines and fields of the report that only static filters have. */
void um_print_static(FILE *out, const um_args *args, const um_static_result *f);
void um_static_to_info(const um_static_result *f, umbel_info *out);

#endif
