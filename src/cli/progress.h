/*
 * progress.h - a line on stderr while long input is read.
 */
#ifndef UM_CLI_PROGRESS_H
#define UM_CLI_PROGRESS_H

#include "cli/command.h"

typedef struct um_progress um_progress;

/* NULL, which the others accept, when nobody would look. */
um_progress *um_progress_open(const um_args *args, const char *const *paths,
                              size_t npaths);
void um_progress_tell(um_progress *p, uint64_t bytes);
/* Wipes the line. */
void um_progress_close(um_progress *p);

#endif
