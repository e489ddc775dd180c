/*
 * ask.h - the commands' side of the control socket.
 */
#ifndef UM_CLEARINGHOUSE_ASK_H
#define UM_CLEARINGHOUSE_ASK_H

#include "clearinghouse/config/config.h"

/* Reads the configuration at path; NULL: the defaults. */
umbel_status um_load_config(um_config *out, const char *path, umbel_error *err);

/*
 * Asks the server of this configuration, and copies its answer to out unless
 * that is NULL. E_IO: no server answers; E_REFUSED: it answers with an error,
 * which is in *err.
 */
umbel_status um_ask_server(const um_config *c, const char *line,
                           umbel_slice more, FILE *out, umbel_error *err);
/* The same by the path of a configuration. */
umbel_status um_ask(const char *config, const char *line, umbel_slice more,
                    FILE *out, umbel_error *err);

/*
 * Reads what workers read of a mail, its beginning, into bytes, which has
 * UM_REQUEST_MAIL of them (house_requests.h). path NULL or "-": standard input.
 * E_RANGE: it is empty.
 */
umbel_status um_read_mail(const char *path, char *bytes, size_t *len,
                          umbel_error *err);

#endif
