/*
 * command.h - commands: each is one file with one row.
 *
 * The table of rows makes the usage text, the completion, the manual pages and
 * the test that every option is used or refused. A command parses, calls the
 * library, prints; what decides belongs below, where a test can reach it
 * without a shell.
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
 * An option of a command, declared: its type, where its value goes,
 * what it needs and excludes, and in which modes of the command it is used.
 *
 * Everything a command line can get wrong is refused by args.c from these rows.
 * A command never looks an option up by name: it reads the member of its own
 * struct that the row fills.
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

/* The types that a target may have; all zero when the option is absent. Beside
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
    size_t index;          /* 0, the default, when absent */
    const char *name;      /* as typed; NULL when absent */
} um_choice;
typedef struct um_list { /* texts of an option that may be repeated */
    const char *const *item;
    size_t n;
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

/* What a text names. "-" is standard input, or output. */
typedef enum um_role {
    UM_PLAIN_TEXT,
    UM_INPUT,        /* a file that is read, and that no output may replace */
    UM_REPLACEABLE,  /* a file that is read before an output may replace it */
    UM_OUTPUT,       /* a file that is written */
    UM_UMBEL_OUTPUT, /* the same, and it replaces only files that umbel made */
    UM_NEW_OUTPUT    /* the same, and it replaces no file but an empty one */
} um_role;

/* The member of a command's struct that an option fills; its C type decides how
 * the value is parsed. */
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
    const char *arg; /* how help calls the value; NULL for flags */
    const char *help;
    um_option_type type;
    size_t target;
    um_role role;
    bool required;
    double low, high;           /* limits of um_whole and um_real; 0, 0: none */
    const char *const *choices; /* of um_choice: ends with NULL */
    const char *needs;    /* options of which one must be given, "a b"; NULL */
    const char *excludes; /* options of which none may be given; NULL */
    unsigned modes;       /* modes that use it; 0: all */
    const char *names;    /* of a text: the topic of 'umbel help' it is from */
    const char *advice;   /* added when a number is refused; NULL: none */
    const char *formerly; /* a name that users may guess: "did you mean" */
} um_option;

/* A table of rows in a command, and where its struct lies in the command's. */
typedef struct um_option_group {
    const um_option *rows;
    size_t base;
    unsigned modes;      /* modes that use any of them; 0: all */
    const char *ignored; /* rows that this command does not take, "a b" */
} um_option_group;

/* What stands on the command line without a name, in this order. */
typedef struct um_operand {
    const char *name;    /* NULL ends */
    um_option_type type; /* UM_TEXT: one; UM_LIST: all that are left */
    size_t target;
    um_role role;
    size_t min; /* of a list; a text is required unless 0 */
    unsigned modes;
    const char *example; /* for tests of the table; NULL: "operand" */
} um_operand;

/* A way a command is used, in which only some options mean anything. */
typedef struct um_mode {
    const char *when;    /* for refusals: "with --never", "for --kind ribbon" */
    const char *example; /* arguments that choose it */
} um_mode;

#define UM_MODE(i) (1u << (i))

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
    const char *excess;  /* an option to suggest for an unexpected argument */
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
typedef struct um_option_value {
    const um_option *option;
    const char *value; /* NULL for flags */
    void *target;
} um_option_value;

/* A parsed command line. */
struct um_args {
    const um_command *command;
    void *values; /* the command's struct, filled */
    um_common common;
    um_option_value *used;
    size_t nused;
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
 * gets the modes that use it, 0 for all. */
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

/* The options of a table that were given, as they can be typed again, without
 * those of the list except, "a b"; NULL: all. */
void um_print_used(FILE *out, const um_args *args, const um_option *rows,
                   const char *except);
/* A word as the shell wants it. */
void um_print_quoted(FILE *out, const char *word);

/*
 * The name that was meant, by the one that was typed.
 */

/* The best so far; begins as zero. */
typedef struct um_suggestion {
    const char *name; /* NULL: none is near */
    size_t edits;
} um_suggestion;

/* Replaces the best suggestion by name if name is nearer to the len bytes
 * typed. */
void um_suggest(um_suggestion *best, const char *typed, size_t len,
                const char *name);

/* Returns true if a list of words, "a b", has this one. */
bool um_has_word(const char *words, const char *word, size_t len);

#endif
