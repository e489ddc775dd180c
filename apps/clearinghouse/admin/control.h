/*
 * house_control.h - questions of umbel-clearinghouse status, over a socket that
 * only the server's user may open.
 */
#ifndef UM_CLEARINGHOUSE_HOUSE_CONTROL_H
#define UM_CLEARINGHOUSE_HOUSE_CONTROL_H

#include "clearinghouse/server/server.h"

typedef struct um_server_control um_server_control;

/* Its row for statistics; it is not one of the fronts' table. */
extern const um_protocol um_protocol_control;

umbel_status um_server_control_open(um_server *h, um_server_control **out,
                                    umbel_error *err);
/* NULL is fine. */
void um_server_control_close(um_server_control *c);

/* The path of the socket from the root: as configured, or "control" in the data
 * directory. To be freed; NULL: no memory. */
char *um_server_control_path(const um_config *c);

/* Writes the answer to a line: a document, or which lines are known and false.
 */
bool um_server_control_answer(um_server *h, const char *line, FILE *out);

#endif
