/*
 * args.c - command lines against a command's table of options.
 *
 * Long options may be written --name=value or --name value; letters may be
 * joined (-cv). "--" ends the options, "-" is an operand.
 */
#include "cli/command.h"

#include "base/error.h"
#include "cli/suggest.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const um_option um_common_options[] = {
    {"json", 0, NULL, "print one JSON object per line"},
    {"quiet", 'q', NULL, "print no report"},
    {"no-progress", 0, NULL, "show no progress on the terminal"},
    {"help", 'h', NULL, "explain this command"},
    {0}};

/* Walk all options of a command: groups of its own, then the common ones. */
static const um_option *option_at(const um_command *c, size_t i)
{
    for (size_t g = 0; g <= UM_MAX_GROUPS; g++) {
        const um_option *group = g < UM_MAX_GROUPS ? c->options[g] : NULL;
        bool last = !group;
        if (last)
            group = um_common_options;
        for (; group->name; group++)
            if (i-- == 0)
                return group;
        if (last)
            return NULL;
    }
    return NULL;
}

static const um_option *find_long(const um_command *c, const char *name,
                                  size_t len)
{
    const um_option *o;

    for (size_t i = 0; (o = option_at(c, i)); i++)
        if (strlen(o->name) == len && strncmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

static const um_option *find_letter(const um_command *c, char letter)
{
    const um_option *o;

    for (size_t i = 0; (o = option_at(c, i)); i++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static void give(um_args *a, const um_option *o, const char *value)
{
    a->given[a->ngiven++] = (um_given){o, value};
}

static void no_option(const um_command *c, const char *name, size_t len,
                      umbel_error *err)
{
    um_suggestion near = {0};
    const um_option *o;

    for (size_t i = 0; (o = option_at(c, i)); i++)
        um_suggest(&near, name, len, o->name);
    um_set_error(err, UMBEL_E_UNKNOWN, "there is no option --%.*s%s%s%s",
                 (int)len, name, near.name ? ": did you mean --" : "",
                 near.name ? near.name : "", near.name ? "?" : "");
}

static bool is_option(const um_command *c, const char *word)
{
    if (word[0] != '-' || !word[1])
        return false;
    if (word[1] == '-')
        return find_long(c, word + 2, strcspn(word + 2, "="));
    return !word[2] && find_letter(c, word[1]);
}

/* One that is an option of the command was not meant as a value: it would do
 * nothing, without a word. Who means it writes --name=value. */
static bool want_value(const um_args *a, const char *name, const um_option *o,
                       const char *word, umbel_error *err)
{
    if (!word)
        um_set_error(err, UMBEL_E_RANGE, "%s wants a value: %s", name, o->arg);
    else if (is_option(a->command, word))
        um_set_error(err, UMBEL_E_RANGE,
                     "%s wants a value: %s; behind it stands %s", name, o->arg,
                     word);
    else
        return true;
    return false;
}

static bool take_long(um_args *a, char ***argv, umbel_error *err)
{
    const char *name = **argv + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const um_option *o = find_long(a->command, name, len);

    if (!o) {
        no_option(a->command, name, len, err);
        return false;
    }
    if (!o->arg && equals) {
        um_set_error(err, UMBEL_E_RANGE, "--%s takes no value", o->name);
        return false;
    }
    if (o->arg && !equals && !want_value(a, **argv, o, (*argv)[1], err))
        return false;
    give(a, o, !o->arg ? NULL : equals ? equals + 1 : *++*argv);
    return true;
}

static bool take_letters(um_args *a, char ***argv, umbel_error *err)
{
    for (const char *p = **argv + 1; *p; p++) {
        const um_option *o = find_letter(a->command, *p);
        if (!o) {
            um_set_error(err, UMBEL_E_UNKNOWN, "there is no option -%c", *p);
            return false;
        }
        if (!o->arg) {
            give(a, o, NULL);
            continue;
        }
        const char letter[] = {'-', *p, '\0'};
        if (!p[1] && !want_value(a, letter, o, (*argv)[1], err))
            return false;
        give(a, o, p[1] ? p + 1 : *++*argv);
        return true;
    }
    return true;
}

static size_t most_given(char **argv)
{
    size_t n = 1;
    for (; *argv; argv++)
        n += strlen(*argv) + 1;
    return n;
}

static size_t count(char **argv)
{
    size_t n = 0;
    while (argv[n])
        n++;
    return n;
}

bool um_args_init(um_args *out, const um_command *command, char **argv,
                  umbel_error *err)
{
    um_args a = {.command = command};
    bool options = true, fine = true;

    a.given = calloc(most_given(argv), sizeof *a.given);
    a.operands = calloc(count(argv) + 1, sizeof *a.operands);
    if (!a.given || !a.operands) {
        um_set_error(err, UMBEL_E_NOMEM, "no memory for the arguments");
        fine = false;
    }
    for (; fine && *argv; argv++) {
        if (!options || **argv != '-' || strcmp(*argv, "-") == 0)
            a.operands[a.noperands++] = *argv;
        else if (strcmp(*argv, "--") == 0)
            options = false;
        else if ((*argv)[1] == '-')
            fine = take_long(&a, &argv, err);
        else
            fine = take_letters(&a, &argv, err);
    }
    if (fine)
        *out = a;
    else
        um_args_fini(&a);
    return fine;
}

void um_args_fini(um_args *args)
{
    free(args->given);
    free(args->operands);
}

const char *um_value_at(const um_args *args, const char *name, size_t i)
{
    for (size_t j = 0; j < args->ngiven; j++)
        if (strcmp(args->given[j].option->name, name) == 0 && i-- == 0)
            return args->given[j].value;
    return NULL;
}

bool um_has(const um_args *args, const char *name)
{
    for (size_t i = 0; i < args->ngiven; i++)
        if (strcmp(args->given[i].option->name, name) == 0)
            return true;
    return false;
}

const char *um_value(const um_args *args, const char *name)
{
    const char *last = NULL, *value;

    for (size_t i = 0; (value = um_value_at(args, name, i)); i++)
        last = value;
    return last;
}

static double unit(const char *suffix)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1},
                 {"k", 1e3},
                 {"K", 1e3},
                 {"M", 1e6},
                 {"G", 1e9},
                 {"T", 1e12},
                 {"kB", 1e3},
                 {"MB", 1e6},
                 {"GB", 1e9},
                 {"TB", 1e12},
                 {"KiB", 1024},
                 {"MiB", 1048576},
                 {"GiB", 1073741824},
                 {"TiB", 1099511627776}};

    for (size_t i = 0; i < UM_COUNT(units); i++)
        if (strcmp(suffix, units[i].name) == 0)
            return units[i].factor;
    return 0;
}

/* All digits: exact to 2^64. False: no plain number, or too large. */
static bool plain_count(const char *text, uint64_t *out)
{
    char *end;

    if (!*text || strspn(text, "0123456789") != strlen(text))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0;
}

umbel_status um_value_count(const um_args *args, const char *name,
                            uint64_t *out, umbel_error *err)
{
    const char *text = um_value(args, name);
    char *end;

    if (!text || plain_count(text, out))
        return UMBEL_OK;
    double x = strtod(text, &end) * unit(end);
    if (end == text || !(x >= 0) || x >= 18e18 || unit(end) == 0 ||
        fabs(x - round(x)) > 1e-6)
        return um_fail(err, UMBEL_E_RANGE,
                       "--%s wants a whole number such as 5000, 1e6, 850M or "
                       "64MiB, got \"%s\"",
                       name, text);
    *out = (uint64_t)round(x);
    return UMBEL_OK;
}

/* With % behind it, or " %" as reports have it: of a hundred. */
static bool read_number(const char *text, double *out)
{
    char *end;
    double x = strtod(text, &end);
    bool percent = strcmp(end + strspn(end, " "), "%") == 0;

    *out = percent ? x / 100 : x;
    return end != text && (*end == '\0' || percent);
}

umbel_status um_value_share(const um_args *args, const char *name, double *out,
                            umbel_error *err)
{
    const char *text = um_value(args, name);
    double x;

    if (!text)
        return UMBEL_OK;
    if (!read_number(text, &x) || !(x > 0 && x < 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "--%s wants a share between 0 and 1, such as 0.001 or "
                       "0.1%%, got \"%s\"",
                       name, text);
    *out = x;
    return UMBEL_OK;
}

umbel_status um_value_real(const um_args *args, const char *name, double low,
                           double high, double *out, umbel_error *err)
{
    const char *text = um_value(args, name);
    double x;

    if (!text)
        return UMBEL_OK;
    if (!read_number(text, &x) || !(x >= low && x <= high))
        return um_fail(err, UMBEL_E_RANGE,
                       "--%s wants a number from %g to %g, got \"%s\"", name,
                       low, high, text);
    *out = x;
    return UMBEL_OK;
}

int um_trouble(const um_args *args, const umbel_error *err)
{
    bool lacks = err->status == UMBEL_E_SECRET && !um_has(args, "key-file") &&
                 !strstr(err->text, "key-file");

    fprintf(stderr, "umbel %s: %s%s\n", args->command->name, err->text,
            lacks ? " (with --key-file FILE)" : "");
    return UM_EXIT_TROUBLE;
}

int um_misuse(const um_args *args, const char *format, ...)
{
    char text[256];
    umbel_error err;
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    um_set_error(&err, UMBEL_E_RANGE, "%s", text);
    um_trouble(args, &err);
    fprintf(stderr, "Try 'umbel %s --help'.\n", args->command->name);
    return UM_EXIT_TROUBLE;
}

void um_print_words(FILE *out, const char *text, int at, int indent)
{
    enum { COLUMNS = 79 };
    bool first = true;

    for (int len; *text; text += len + (text[len] != '\0')) {
        len = (int)strcspn(text, " ");
        if (!first && at + 1 + len > COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", len, text);
        at += len + !first;
        first = false;
    }
    putc('\n', out);
}

static void print_option(FILE *out, const um_option *o)
{
    enum { HELP_AT = 29 };
    char left[64];

    snprintf(left, sizeof left, "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
             o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
             o->arg ? " " : "", o->arg ? o->arg : "");
    int at = fprintf(out, "  %-26s ", left);
    um_print_words(out, o->help, at, HELP_AT);
}

void um_print_usage(FILE *out, const um_command *command)
{
    const um_option *o;

    int at = fprintf(out, "usage: umbel %s ", command->name);
    um_print_words(out, command->args, at, at);
    fprintf(out, "%s\n\n", command->summary);
    for (size_t i = 0; (o = option_at(command, i)); i++)
        print_option(out, o);
    if (command->details) {
        putc('\n', out);
        um_print_words(out, command->details, 0, 0);
    }
    if (command->example)
        fprintf(out, "\nexample: umbel %s %s\n", command->name,
                command->example);
}
