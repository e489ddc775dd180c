/*
 * help.h - 'umbel --help', 'umbel help TOPIC', and lists for completion.
 */
#ifndef UM_CLI_HELP_H
#define UM_CLI_HELP_H

#include "cli/framework/command.h"

/* Prints the commands, in one screen. */
void um_print_help(FILE *out);
/* Prints kinds, addressings, hashes or methods. False: no such topic. */
bool um_print_topic(FILE *out, const char *name);

/* Prints the names of commands or of a topic, one per line. False: there is no
 * such table. */
bool um_list_names(FILE *out, const char *name);

#endif
