/*
 * option.h - an option of a command, declared: its type, where its value goes,
 * what it needs and excludes, and in which modes of the command it is heard.
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
#ifndef UM_CLI_OPTION_H
#define UM_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    unsigned modes;       /* modes that hear it; 0: all */
    const char *names;    /* of a text: the topic of 'umbel help' it is from */
    const char *advice;   /* added when a number is refused; NULL: none */
    const char *formerly; /* a name that users may guess: "did you mean" */
} um_option;

/* A table of rows in a command, and where its struct lies in the command's. */
typedef struct um_option_group {
    const um_option *rows;
    size_t base;
    unsigned modes;      /* modes that hear any of them; 0: all */
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

#endif
