/*
 * machine.h - the lists of a server, for machine.c: headers of the server and
 * those of the machine's inside have names in common.
 */
#ifndef UM_TEST_MACHINE_H
#define UM_TEST_MACHINE_H

#include <umbel/experimental/sync.h>

/* Makes the lists of a configuration; returns how many. Their shapes stay. */
size_t machine_lists(const char *path, umbel_sync_list *out, umbel_error *err);

#endif
