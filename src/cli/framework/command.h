/*
 * command.h - commands: each is one file with one row.
 *
 * The usage text, the completion, the manual pages and the test that every
 * option is used or refused are generated from the rows. A command parses,
 * calls the library and prints; logic belongs in the library, where it can be
 * tested without a shell.
 */
#ifndef UM_CLI_FRAMEWORK_COMMAND_H
#define UM_CLI_FRAMEWORK_COMMAND_H

#include <umbel/experimental.h>
#include <umbel/umbel.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The declaration of an option: its type, where its value is stored, what it
 * needs and excludes, and in which modes of the command it is used.
 *
 * args.c refuses all wrong command lines according to these rows. A command
 * never looks up an option by name: it reads the member of its own struct that
 * the row fills.
 *
 *     typedef struct merge_args {
 *         um_list filters;
 *         const char *output;
 *         um_choice op;
 *     } merge_args;
 *
 *     static const um_option options[] = {
 *         {"output", 'o', "FILE", "write the result to FILE",
 *          UM_TARGET(merge_args, output), .role = UM_OUTPUT, .required = true},
 *         {"op", 0, "OP", "how to combine cells",
 *          UM_TARGET(merge_args, op), .choices = ops},
 *         {0}};
 */

/* The types that a target may have, all zero if the option is absent. Besides
 * these: bool, set by an option without value, and const char *, any text. */
typedef struct um_whole { /* a whole number: 5000, 1e6, 850M, 64MiB */
    uint64_t n;
    bool given;
} um_whole;
typedef struct um_share { /* between 0 and 1, exclusive: 0.001, 0.1% */
    double x;
    bool given;
} um_share;
typedef struct um_real { /* any number from low to high */
    double x;
    bool given;
} um_real;
typedef struct um_choice { /* one of the row's choices */
    size_t index;          /* 0, the default, if absent */
    const char *name;      /* as typed; NULL if absent */
} um_choice;
typedef struct um_list { /* texts of an option that may be repeated */
    const char *const *item;
    size_t n;
    bool literal; /* operands after "--": "-" is not standard input */
} um_list;

typedef enum um_option_type {
    UM_FLAG,
    UM_TEXT,
    UM_WHOLE,
    UM_SHARE,
    UM_REAL,
    UM_CHOICE,
    UM_LIST
} um_option_type;

/* The meaning of a text. "-" is standard input or output. */
typedef enum um_role {
    UM_PLAIN_TEXT,
    UM_INPUT,        /* an input file; no output may replace it */
    UM_REPLACEABLE,  /* an input file that an output may replace */
    UM_OUTPUT,       /* an output file */
    UM_UMBEL_OUTPUT, /* the same; replaces only files that umbel created */
    UM_OTHER_OUTPUT, /* the same; replaces no file that umbel created */
    UM_NEW_OUTPUT    /* the same; replaces only empty files */
} um_role;

/* The member of a command's struct that an option fills; its C type determines
 * how the value is parsed. */
#define UM_TARGET(args, member)                                                \
    .type = _Generic(((args *)0)->member,                                      \
        bool: UM_FLAG,                                                         \
        const char *: UM_TEXT,                                                 \
        um_whole: UM_WHOLE,                                                    \
        um_share: UM_SHARE,                                                    \
        um_real: UM_REAL,                                                      \
        um_choice: UM_CHOICE,                                                  \
        um_list: UM_LIST),                                                     \
    .target = offsetof(args, member)

/* A row. Tables end with a NULL name. */
/* NOLINTNEXTLINE(clang-analyzer-*): the order in which rows are read */
typedef struct um_option {
    const char *name;
    char letter;     /* 0: none */
    const char *arg; /* name of the value in help; NULL for flags */
    const char *help;
    um_option_type type;
    size_t target;
    um_role role;
    bool required;
    double low, high;           /* limits of um_whole and um_real; 0, 0: none */
    const char *const *choices; /* of um_choice: ends with NULL */
    const char *needs;    /* options of which one is required, "a b"; or NULL */
    const char *excludes; /* options that are not allowed with it; or NULL */
    unsigned modes;       /* modes that use it; 0: all */
    const char *names; /* for a text: the topic of 'umbel help' that lists it */
    const char *advice;   /* added if a number is refused; or NULL */
    const char *formerly; /* a name that users may guess, for suggestions */
} um_option;

/* A table of rows of a command, and the offset of its struct in the
 * command's. */
typedef struct um_option_group {
    const um_option *rows;
    size_t base;
    unsigned modes;      /* modes that use any of them; 0: all */
    const char *ignored; /* rows that this command does not have, "a b" */
} um_option_group;

/* An argument without a name; operands are in this order. */
typedef struct um_operand {
    const char *name;    /* NULL ends */
    um_option_type type; /* UM_TEXT: one; UM_LIST: all that remain */
    size_t target;
    um_role role;
    size_t min; /* smallest number; a text is required unless 0 */
    unsigned modes;
    const char *example; /* for tests of the table; NULL: "operand" */
} um_operand;

/* A mode of a command, in which only some options have an effect. */
typedef struct um_mode {
    const char *when;    /* for messages: "with --never", "for --kind ribbon" */
    const char *example; /* arguments that select it */
} um_mode;

#define UM_MODE(i) (1u << (i))

typedef struct um_args um_args;

enum { UM_MAX_GROUPS = 12, UM_MAX_OPERANDS = 3, UM_MAX_MODES = 12 };

/* The section of 'umbel --help' that lists a command. */
typedef enum um_help_section {
    UM_EVERYDAY,
    UM_EXCHANGE,
    UM_OTHER
} um_help_section;

typedef struct um_command {
    const char *name;
    const char *summary;
    um_help_section section;
    const char *details; /* a paragraph after the options; or NULL */
    const char *example; /* arguments that can be typed */
    const char *excess;  /* option to suggest for an unexpected argument */
    const char *manual;  /* section of its page and its title; NULL: 1 */
    size_t values_len;   /* of the struct that options and operands fill */
    um_option_group options[UM_MAX_GROUPS]; /* NULL rows end */
    um_operand operands[UM_MAX_OPERANDS];   /* NULL names end */
    um_mode modes[UM_MAX_MODES];            /* NULL when ends; or none */
    unsigned (*mode)(const void *values);   /* UM_MODE(i); NULL: one mode */
    int (*run)(const um_args *args);        /* returns the exit code */
} um_command;

enum { UM_EXIT_FINE = 0, UM_EXIT_NO = 1, UM_EXIT_TROUBLE = 2 };

/* Return a command of the table; NULL past the end, or if no command has that
 * name. */
const um_command *um_command_row(size_t i);
const um_command *um_command_find(const char *name);

/* Returns the commands of the table, for messages that name other commands;
 * NULL in programs with one command. */
extern const um_command *(*um_other_command)(size_t i);

/* Options that every command takes. */
typedef struct um_common {
    bool json, quiet, no_progress, help;
} um_common;
extern const um_option um_common_options[];

/* An option as it was typed. */
typedef struct um_option_value {
    const um_option *option;
    const char *value; /* NULL for flags */
    void *target;
} um_option_value;

/* A parsed command line. */
struct um_args {
    const um_command *command;
    void *values; /* the command's struct */
    um_common common;
    um_option_value *used;
    size_t nused;
    size_t stdin_uses;  /* number of inputs that are "-" */
    bool stdout_taken;  /* an output is "-": reports go to standard error */
    const char **texts; /* operands, then the items of lists */
    size_t noperands;
    size_t nfree; /* operands before "--" */
};

/*
 * Parses the arguments, checks all rules and fills *out; release it with
 * um_args_fini. On failure returns false, and *err says what to change. With
 * --help only the syntax is checked.
 */
bool um_args_init(um_args *out, const um_command *command, char **argv,
                  umbel_error *err);
void um_args_fini(um_args *args);

/* Returns the i-th option of a command, in any group; NULL past the end. Sets
 * *modes to the modes that use it, 0 for all. */
const um_option *um_option_at(const um_command *c, size_t i, size_t *base,
                              unsigned *modes);

/* Prints "umbel build: TEXT" to stderr. Returns the exit code: UM_EXIT_NO if a
 * filter was refused for its content, otherwise UM_EXIT_TROUBLE. */
int um_trouble(const um_args *args, const umbel_error *err);
/* Prints "umbel build: warning: TEXT" to stderr. */
void um_warn(const um_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Does the same as um_trouble, and prints where to find help. */
int um_misuse(const um_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Refuses a second use of standard input, besides those of the options. */
umbel_status um_claim_stdin(const um_args *args, umbel_error *err);

/* Fails with E_IO if path is the same file as input. Options and operands with
 * a role were checked already. */
umbel_status um_refuse_overwrite(const char *path, const char *input,
                                 umbel_error *err);
/* Fails with E_IO if path exists and is not empty, unless the role is
 * UM_UMBEL_OUTPUT and umbel created it. */
umbel_status um_check_replaceable(const char *path, um_role role,
                                  umbel_error *err);

/* Prints words in lines for a terminal: the first begins at column `at`, where
 * the cursor already is, the others at indent. */
void um_print_words(FILE *out, const char *text, int at, int indent);

/* Prints the usage of a command, and its options. */
void um_print_usage(FILE *out, const um_command *command);

/* Prints the options of a table that were given, so that they can be typed
 * again, without those in except, "a b" (NULL: all). */
void um_print_used(FILE *out, const um_args *args, const um_option *rows,
                   const char *except);
/* Prints a word quoted for the shell. */
void um_print_quoted(FILE *out, const char *word);

/*
 * Suggests the name that was probably meant.
 */

/* The best suggestion so far. Zero-initialise. */
typedef struct um_suggestion {
    const char *name; /* NULL: none is near */
    size_t edits;
} um_suggestion;

/* Replaces the best suggestion by name if name is nearer to the len bytes
 * typed. */
void um_suggest(um_suggestion *best, const char *typed, size_t len,
                const char *name);

/* Returns true if a list of words, "a b", contains this one. */
bool um_has_word(const char *words, const char *word, size_t len);

#endif
