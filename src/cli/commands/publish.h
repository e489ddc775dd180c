/*
 * publish.h - umbel publish --never: what removing reported false positives
 * cost, and the command that would cost nothing.
 */
#ifndef UM_CLI_PUBLISH_H
#define UM_CLI_PUBLISH_H

#include "cli/framework/groups.h"
#include "cli/framework/report.h"

#include <umbel/exchange.h>

typedef struct publish_args {
    const char *dir;
    um_list filters;
    const char *sign;
    um_whole valid, keep;
    um_list never, members;
    um_key_args keys;
    um_secret_args secret;
    um_memory_args memory;
} publish_args;

/*
 * Changes f, which is to be published by that name, so that the keys of --never
 * no longer match. A filter with groups keeps the choices of the newest edition
 * on the shelf. Reported keys that are members are left out, and noted in the
 * report.
 */
umbel_status um_publish_never(const um_args *args, const umbel_store *shelf,
                              const char *name, umbel_filter *f,
                              umbel_taken_back *out, um_report *r,
                              umbel_error *err);

/*
 * Refuses f, given without --never, if keys that were removed from the last
 * edition would match again. A filter with groups may exclude them itself:
 * where the last one had groups, too, a warning is printed.
 */
umbel_status um_check_reports(const um_args *args, const umbel_store *shelf,
                              const char *name, const umbel_filter *f,
                              umbel_error *err);

/* Reports what it did. */
void um_report_taken_back(const um_args *args, const umbel_filter *f,
                          const umbel_taken_back *t, um_report *r);

#endif
