/*
 * machine.h - the lists of a server, for machine.c. They are in a file of their
 * own because the headers of the server and the internal ones of the machine
 * define the same names.
 */
#ifndef UM_TEST_MACHINE_H
#define UM_TEST_MACHINE_H

#include <umbel/experimental/sync.h>

/*
 * Creates the lists of a configuration. Returns their number, 0 on error. Their
 * shapes are never freed.
 */
size_t machine_lists(const char *path, umbel_sync_list *out, umbel_error *err);

#endif
