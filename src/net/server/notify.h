/*
 * notify.h - what systemd and a service say to each other, without libsystemd.
 */
#ifndef UM_NET_NOTIFY_H
#define UM_NET_NOTIFY_H

#include "net/server/address.h"

/*
 * Sends "READY=1", "STOPPING=1", "STATUS=..." to $NOTIFY_SOCKET. Without one
 * there is nobody to notify, which is UMBEL_OK.
 */
umbel_status um_notify(const char *state, umbel_error *err);

enum { UM_PASSED_MAX = 64 };

/* Sockets that were opened before us, by a .socket unit. */
typedef struct um_passed {
    size_t n;
    int fd[UM_PASSED_MAX]; /* -1: somebody has taken it */
} um_passed;

/*
 * Gets the descriptors of $LISTEN_FDS, if $LISTEN_PID says that they are ours,
 * and removes both variables, so that children do not take them for theirs.
 */
umbel_status um_passed_open(um_passed *out, umbel_error *err);

/* Takes the socket of that type and address, which the caller then owns; -1:
 * none was passed. */
int um_passed_parse(um_passed *p, const um_address *a, int type);

/* Closes what nobody took, and returns how many those were. */
size_t um_passed_close(um_passed *p);

#endif
