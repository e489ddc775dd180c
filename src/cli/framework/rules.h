/*
 * rules.h - between args.c, which fills in values, and rules.c, which checks
 * what rows state about the whole command line.
 */
#ifndef UM_CLI_RULES_H
#define UM_CLI_RULES_H

#include "cli/framework/command.h"

/* An option of a command, with what its group says of it. */
typedef struct um_found {
    const um_option *option; /* NULL: there is none */
    size_t base;
    unsigned modes;
} um_found;
um_found um_find_option(const um_command *c, const char *name, size_t len);

/* Returns true if the option of that name was typed. For rows alone: commands
 * look at their struct. */
bool um_is_given(const um_args *args, const char *name, size_t len);
/* Returns true if a list of words, "a b", has this one. */
bool um_has_word(const char *words, const char *word, size_t len);

/* Fills *err and returns false. */
bool um_refuse(umbel_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns a filter among the files of the command line, if its operand FILE,
 * the first one, is another file; NULL: there is none. */
const char *um_suggest_filter(const um_args *args);

/* Checks a command line whose values are set. */
bool um_check_rules(um_args *args, umbel_error *err);

#endif
