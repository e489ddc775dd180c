/*
 * control.h - requests of the operator, over a socket that only the server's
 * user may open.
 */
#ifndef UM_CLEARINGHOUSE_CONTROL_H
#define UM_CLEARINGHOUSE_CONTROL_H

#include "clearinghouse/protocols/protocol.h"

typedef struct um_operator um_operator;

/* Release *out with um_operator_close, even on failure. */
umbel_status um_operator_open(const um_environment *env, um_operator **out,
                              umbel_error *err);
/* Answers what the store has committed, or cannot. */
void um_operator_committed(um_operator *o);
/* NULL is accepted. */
void um_operator_close(um_operator *o);

/* Writes the answer to a line: a document, or which lines are known and false.
 */
bool um_operator_answer(const um_environment *env, const char *line, FILE *out);

#endif
