/*
 * sandbox.h - a process that can compute, and talk on one descriptor.
 */
#ifndef UM_MAIL_SANDBOX_H
#define UM_MAIL_SANDBOX_H

#include <umbel/base.h>

/*
 * Gives up everything else for ever: descriptor fd can be read and written,
 * memory be asked for up to the limit, time be read. Opening a file fails;
 * anything else ends the process (SIGSYS). 0: no limit on memory.
 */
umbel_status um_sandbox_enter(int fd, uint64_t memory, umbel_error *err);

#endif
