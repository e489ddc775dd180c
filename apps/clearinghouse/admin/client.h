/*
 * client.h - the admin client: asks a running server over its control socket.
 */
#ifndef UM_CLEARINGHOUSE_CLIENT_H
#define UM_CLEARINGHOUSE_CLIENT_H

#include "clearinghouse/config/config.h"

#include <stdio.h>

/* Reads the configuration at path; NULL means the defaults. */
umbel_status um_load_config(um_config *out, const char *path, umbel_error *err);

/* Returns the path of the control socket from the root: as configured, or
 * "control" in the data directory. To be freed; NULL: no memory. */
char *um_admin_path(const um_config *c);

/*
 * Sends a line and the bytes that follow it to the server of this
 * configuration, and copies the reply to out unless that is NULL. Returns E_IO
 * if no server answers, E_REFUSED if the reply is an error, which is in *err.
 */
umbel_status um_admin_query(const um_config *c, const char *line,
                            umbel_slice bytes, FILE *out, umbel_error *err);

#endif
