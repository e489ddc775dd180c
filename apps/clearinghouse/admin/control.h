/*
 * control.h - the operator's requests, sent over a socket that only the
 * server's user and control_group may open: the commands' side and the server's
 * side.
 */
#ifndef UM_CLEARINGHOUSE_CONTROL_H
#define UM_CLEARINGHOUSE_CONTROL_H

#include "clearinghouse/config/config.h"
#include "clearinghouse/protocols/protocol.h"

#include <stdio.h>

/* --- client.c ------------------------------------------------------------- */

/* Reads the configuration at path; NULL means the defaults. */
umbel_status um_load_config(um_config *out, const char *path, umbel_error *err);

/* Returns the absolute path of the control socket: as configured, or "control"
 * in the data directory. The caller frees it; NULL without memory. */
char *um_admin_path(const um_config *c);

/* Checks control_group: the group exists, and can reach the socket. */
umbel_status um_admin_check(const um_config *c, umbel_error *err);

/* Returns true if this user may not use the control socket, and writes what to
 * do. */
bool um_admin_forbids(const um_config *c, const char *path, char *advice,
                      size_t cap);

/*
 * Sends a line and the bytes that follow it to the server of this
 * configuration, and copies the reply to out unless that is NULL. Returns E_IO
 * if no server answers, E_REFUSED if the reply is an error, which is in *err.
 */
umbel_status um_admin_query(const um_config *c, const char *line,
                            umbel_slice bytes, FILE *out, umbel_error *err);

/* --- control.c ------------------------------------------------------------ */

typedef struct um_operator um_operator;

/* Opens the control socket. Release *out with um_operator_close, even on
 * failure. */
umbel_status um_operator_open(const um_environment *env, um_operator **out,
                              umbel_error *err);
/* Answers requests whose change the store has committed, or cannot commit. */
void um_operator_committed(um_operator *o);
/* Answers the requests that still wait, and closes the socket. Accepts NULL. */
void um_operator_close(um_operator *o);

/* Writes the document that answers a line. For an unknown line it lists the
 * known ones, and returns false. */
bool um_operator_answer(const um_environment *env, const char *line, FILE *out);

#endif
