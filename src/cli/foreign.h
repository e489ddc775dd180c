/*
 * foreign.h - files of other programs, on a command line.
 */
#ifndef UM_CLI_FOREIGN_H
#define UM_CLI_FOREIGN_H

#include "cli/command.h"

#include <umbel/foreign.h>

/*
 * The filter in path, which that format may have written, plain or gzipped;
 * - is standard input. It may take limit bytes of memory; 0: a plain file what
 * it takes, others as much as a coded filter.
 */
umbel_status um_import_file(const char *format, const char *path,
                            uint64_t limit, umbel_filter **out,
                            umbel_error *err);

/* Write it so; - is standard output. */
umbel_status um_export_file(const umbel_filter *f, const char *format,
                            const char *path, umbel_error *err);

/* Whether there is such a format. */
bool um_is_format(const char *name);

#endif
