/*
 * serve.h - what the command does: serve, check a configuration.
 */
#ifndef UM_CLEARINGHOUSE_SERVE_H
#define UM_CLEARINGHOUSE_SERVE_H

#include <umbel/base.h>

/* Serves until SIGTERM. config NULL: on loopback, with data in
 * ./clearinghouse. */
umbel_status um_serve(const char *config, umbel_error *err);

/* Checks the configuration, the files it names, and the data directory; binds
 * no port and makes nothing; prints what it found, if quiet only warnings. */
umbel_status um_serve_check(const char *config, bool quiet, umbel_error *err);

/* Prints "section.name", type and initial value of every setting: for
 * tools/docs-match. */
void um_serve_list_settings(void);

#endif
