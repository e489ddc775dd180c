/*
 * command.h - a command of the shell is one file with one row.
 *
 * The table of rows makes the usage text, the completion, the manual pages and
 * the test that every option is heard or refused. A command parses, calls the
 * library, prints; what decides belongs below, where a test can reach it
 * without a shell.
 */
#ifndef UM_CLI_COMMAND_H
#define UM_CLI_COMMAND_H

#include "cli/framework/option.h"

#include <umbel/experimental.h>
#include <umbel/umbel.h>

#include <stdio.h>

typedef struct um_args um_args;

enum { UM_MAX_GROUPS = 8, UM_MAX_OPERANDS = 3, UM_MAX_MODES = 12 };

/* Where 'umbel --help' lists a command. */
typedef enum um_help_section {
    UM_EVERYDAY,
    UM_EXCHANGE,
    UM_OTHER
} um_help_section;

typedef struct um_command {
    const char *name;
    const char *summary;
    um_help_section section;
    const char *details; /* a paragraph below the options; or NULL */
    const char *example; /* arguments that can be typed */
    const char *excess;  /* an option that one operand too many may lack */
    const char *manual;  /* section of its page and its title; NULL: 1 */
    size_t values_len;   /* of the struct that options and operands fill */
    um_option_group options[UM_MAX_GROUPS]; /* NULL rows end */
    um_operand operands[UM_MAX_OPERANDS];   /* NULL names end */
    um_mode modes[UM_MAX_MODES];            /* NULL when ends; or none */
    unsigned (*mode)(const void *values);   /* UM_MODE(i); NULL: one mode */
    int (*run)(const um_args *args);        /* returns the exit code */
} um_command;

enum { UM_EXIT_FINE = 0, UM_EXIT_NO = 1, UM_EXIT_TROUBLE = 2 };

/* The table: NULL when past the end, or no command has that name. */
const um_command *um_command_row(size_t i);
const um_command *um_command_find(const char *name);

/* The table, for refusals that name other commands; NULL in programs that have
 * one command. */
extern const um_command *(*um_other_command)(size_t i);

/* Options that every command takes. */
typedef struct um_common {
    bool json, quiet, no_progress, help;
} um_common;
extern const um_option um_common_options[];

/* An option as it was typed. */
typedef struct um_given {
    const um_option *option;
    const char *value; /* NULL for flags */
    void *target;
} um_given;

/* A parsed command line. */
struct um_args {
    const um_command *command;
    void *values; /* the command's struct, filled */
    um_common common;
    um_given *given;
    size_t ngiven;
    size_t stdin_uses;  /* inputs that are "-" */
    bool stdout_taken;  /* an output is "-": reports go to standard error */
    const char **texts; /* operands, then the items of lists */
    size_t noperands;
};

/*
 * Parses, checks every rule of the rows, and fills *out, to be released with
 * um_args_fini. False: *err says what to change. With --help nothing but the
 * syntax is checked.
 */
bool um_args_init(um_args *out, const um_command *command, char **argv,
                  umbel_error *err);
void um_args_fini(um_args *args);

/* The i-th option of a command, whatever its group; NULL past the end. *modes
 * gets the modes that hear it, 0 for all. */
const um_option *um_option_at(const um_command *c, size_t i, size_t *base,
                              unsigned *modes);

/* Prints "umbel build: TEXT" to stderr; returns UM_EXIT_TROUBLE. */
int um_trouble(const um_args *args, const umbel_error *err);
/* Prints "umbel build: warning: TEXT" to stderr. */
void um_warn(const um_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same as um_trouble, and where to find help. */
int um_misuse(const um_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Refuses a second use of standard input, beside those of the options. */
umbel_status um_claim_stdin(const um_args *args, umbel_error *err);

/* E_IO when writing path would destroy input, which is the same file. Options
 * and operands with a role are checked already. */
umbel_status um_refuse_overwrite(const char *path, const char *input,
                                 umbel_error *err);
/* E_IO when path exists and is not empty, unless the role is UM_UMBEL_OUTPUT
 * and umbel made it. */
umbel_status um_check_replaceable(const char *path, um_role role,
                                  umbel_error *err);

/* Breaks words into lines of a terminal: the first begins at column at, where
 * the caller already is, the others at indent. */
void um_print_words(FILE *out, const char *text, int at, int indent);

/* Prints how a command is called, and its options. */
void um_print_usage(FILE *out, const um_command *command);
/* Prints the arguments of a command: "FILE [KEYS...] -o FILE [options]". */
int um_print_synopsis(FILE *out, const um_command *command);

/* The options of a table that were given, as they can be typed again, without
 * those of the list except, "a b"; NULL: all. */
void um_print_given(FILE *out, const um_args *args, const um_option *rows,
                    const char *except);
/* A word as the shell wants it. */
void um_print_quoted(FILE *out, const char *word);

#endif
