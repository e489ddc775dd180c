/*
 * sync_line.h - a directory of 'umbel sync' and what is at the other end of a
 * line: two pipes, or a socket with an encrypted link (trust/link.h).
 */
#ifndef UM_CLI_SYNC_LINE_H
#define UM_CLI_SYNC_LINE_H

#include "sync/dir.h"

/* What was exchanged. */
typedef struct um_sync_outcome {
    uint64_t bytes_in, bytes_out, cells, agreement, refused;
} um_sync_outcome;

void um_sync_note_outcome(const um_sync_dir *d, int peer, um_sync_outcome *out);

/* Takes a message. What is refused of one origin is no failure. */
umbel_status um_sync_parse(um_sync_dir *d, int peer, umbel_slice message,
                           umbel_error *err);

/*
 * Exchanges all with 'umbel sync --stdio', which reads what we write to out, or
 * the other way round. The one with the smaller origin locks its directory
 * first: so two that call each other at a time do not wait for ever.
 */
umbel_status um_sync_over_pipes(const char *path, int in, int out,
                                um_sync_outcome *result, umbel_error *err);

/* The same with a clearinghouse at HOST:PORT, whose key the terms name. */
umbel_status um_sync_over_tcp(um_sync_dir *d, const char *address,
                              um_sync_outcome *result, umbel_error *err);

#endif
