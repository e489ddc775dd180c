/*
 * write.h - keys that a command changes.
 */
#ifndef UM_MODULE_WRITE_H
#define UM_MODULE_WRITE_H

#include "module/runtime/body.h"
#include "module/runtime/command.h"

/*
 * Gives the filter of argv[1] to change, which nobody else holds. If somebody
 * does, the key gets a copy: a large one is made in a thread, and then `again`,
 * the command itself, runs again. NULL: a reply was given, or will be.
 */
um_body *um_begin_change(um_ctx *ctx, um_str **argv, int argc,
                         um_command_run *again);

/* After a change: replicates the command as it came, and notifies. event is the
 * name of the command. */
void um_end_change(um_ctx *ctx, um_str *name, const char *event);

/*
 * Puts a body into a key, in place of what is there; the key holds it then. The
 * caller has seen that the key has no other type.
 */
void um_write_body(um_ctx *ctx, um_str *name, um_body *b);

/* Gives the body in a key, NULL: no key. False if the key has another type. */
bool um_peek_body(um_ctx *ctx, um_str *name, um_body **out);

#endif
