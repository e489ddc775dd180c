/*
 * house_control.h - questions of umbel-clearinghouse status, over a socket that
 * only the server's user may open.
 */
#ifndef UM_CLEARINGHOUSE_HOUSE_CONTROL_H
#define UM_CLEARINGHOUSE_HOUSE_CONTROL_H

#include "clearinghouse/server/house.h"

typedef struct um_house_control um_house_control;

/* Its row for statistics; it is not one of the fronts' table. */
extern const um_front um_front_control;

umbel_status um_house_control_open(um_house *h, um_house_control **out,
                                   umbel_error *err);
/* NULL is fine. */
void um_house_control_close(um_house_control *c);

/* The path of the socket from the root: as configured, or "control" in the data
 * directory. To be freed; NULL: no memory. */
char *um_house_control_path(const um_config *c);

/* Writes the answer to a line: a document, or which lines are known and false.
 */
bool um_house_control_answer(um_house *h, const char *line, FILE *out);

#endif
