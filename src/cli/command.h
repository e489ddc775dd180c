/*
 * command.h - a command of the shell is one file with one row.
 *
 * The table of rows makes the usage text, the completion and the manual's
 * check. A command parses, calls the library, prints; what decides belongs
 * below, where a test can reach it without a shell.
 */
#ifndef UM_CLI_COMMAND_H
#define UM_CLI_COMMAND_H

#include <umbel/umbel.h>

#include <stdio.h>

/* An option, with an argument when arg is given. Ends with a NULL name. */
typedef struct um_option {
    const char *name;
    char letter; /* 0: none */
    const char *arg;
    const char *help;
} um_option;

typedef struct um_args um_args;

enum { UM_MAX_GROUPS = 8 };

typedef struct um_command {
    const char *name;
    const char *args; /* operands, for the usage line */
    const char *summary;
    const char *details; /* a paragraph below the options; or NULL */
    const char *example; /* a line to type; or NULL */
    const um_option *options[UM_MAX_GROUPS]; /* groups; NULL ends */
    int (*run)(const um_args *args);         /* gives the exit code */
} um_command;

enum { UM_EXIT_FINE = 0, UM_EXIT_NO = 1, UM_EXIT_TROUBLE = 2 };

/* The table: NULL when past the end, or no command has that name. */
const um_command *um_command_row(size_t i);
const um_command *um_command_find(const char *name);

/* A parsed command line. */
typedef struct um_given {
    const um_option *option;
    const char *value;
} um_given;

struct um_args {
    const um_command *command;
    um_given *given;
    size_t ngiven;
    const char **operands; /* ends with NULL */
    size_t noperands;
};

/* Options that every command takes. */
extern const um_option um_common_options[];

/* Fill *out; release it with um_args_fini. False: *err tells the mistake. */
bool um_args_init(um_args *out, const um_command *command, char **argv,
                  umbel_error *err);
void um_args_fini(um_args *args);

bool um_has(const um_args *args, const char *name);
/* The last value given, or NULL. */
const char *um_value(const um_args *args, const char *name);
/* The i-th value given, or NULL. */
const char *um_value_at(const um_args *args, const char *name, size_t i);

/*
 * Values as numbers: 1e6, 850M, 64KiB; probabilities also as 0.1%. Untouched
 * when the option is absent.
 */
umbel_status um_value_count(const um_args *args, const char *name,
                            uint64_t *out, umbel_error *err);
umbel_status um_value_share(const um_args *args, const char *name, double *out,
                            umbel_error *err);
/* Any number from low to high; 5% is 0.05. */
umbel_status um_value_real(const um_args *args, const char *name, double low,
                           double high, double *out, umbel_error *err);

/* "umbel build: TEXT" to stderr; gives UM_EXIT_TROUBLE. */
int um_trouble(const um_args *args, const umbel_error *err);
int um_misuse(const um_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Words broken into lines of a terminal: the first begins at column at, where
 * the caller already is, the others at indent. */
void um_print_words(FILE *out, const char *text, int at, int indent);

/* How a command is called, and what its options are. */
void um_print_usage(FILE *out, const um_command *command);

#endif
