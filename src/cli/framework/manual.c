/*
 * manual.c - prints the parts of a command's manual page that are generated
 * from its row. The prose between them is in docs/man.
 */
#include "cli/framework/command.h"
#include "cli/framework/program.h"

#include <ctype.h>
#include <string.h>

/*
 * Help texts, generated from the rows.
 */

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

static int print_operand(FILE *out, const um_operand *o)
{
    bool optional = o->min == 0;

    return fprintf(out, " %s%s%s%s", optional ? "[" : "", o->name,
                   o->type == UM_LIST ? "..." : "", optional ? "]" : "");
}

/* Prints the arguments of a command: "FILE [KEYS...] -o FILE [options]". */
static int print_synopsis(FILE *out, const um_command *command)
{
    const um_option *o;
    size_t base;
    unsigned modes;
    int len = fprintf(out, "umbel %s", command->name);

    for (size_t i = 0; i < UM_MAX_OPERANDS && command->operands[i].name; i++)
        len += print_operand(out, &command->operands[i]);
    for (size_t i = 0; (o = um_option_at(command, i, &base, &modes)); i++)
        if (o->required && o->letter)
            len += fprintf(out, " -%c %s", o->letter, o->arg);
        else if (o->required)
            len += fprintf(out, " --%s %s", o->name, o->arg);
    return len + fprintf(out, " [options]\n");
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
    size_t base;
    unsigned modes;

    fputs("usage: ", out);
    print_synopsis(out, command);
    fprintf(out, "%s\n\n", command->summary);
    for (size_t i = 0; (o = um_option_at(command, i, &base, &modes)); i++)
        print_option(out, o);
    if (command->details) {
        putc('\n', out);
        um_print_words(out, command->details, 0, 0);
    }
    if (command->example)
        fprintf(out, "\nexample: umbel %s %s\n", command->name,
                command->example);
}

/* Writes len bytes of text, escaped for roff. */
static void write_roff_part(FILE *out, const char *text, size_t len)
{
    if (len && (*text == '.' || *text == '\''))
        fputs("\\&", out);
    for (size_t i = 0; i < len; i++)
        if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '\\')
            fputs("\\e", out);
        else
            putc(text[i], out);
}

static void write_roff(FILE *out, const char *text)
{
    write_roff_part(out, text, strlen(text));
}

/* Writes text as a sentence: "keys are ..." becomes "Keys are ....". A name at
 * its beginning ("generalized: ...", "hop (default)") stays as it is. */
static void write_sentence(FILE *out, const char *text)
{
    size_t word = strcspn(text, " ");

    if (word && (text[word - 1] == ':' || strncmp(text + word, " (", 2) == 0)) {
        write_roff(out, text);
    } else {
        putc(toupper((unsigned char)*text), out);
        write_roff(out, text + 1);
    }
    fputs(".\n", out);
}

static void write_synopsis(FILE *out, const um_command *c)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    fprintf(out, ".B umbel %s\n", c->name);
    for (size_t i = 0; i < UM_MAX_OPERANDS && c->operands[i].name; i++) {
        const um_operand *p = &c->operands[i];
        fprintf(out, p->min ? ".I %s%s\n" : ".RI [ %s%s ]\\&\n", p->name,
                p->type == UM_LIST ? "...\\&" : "");
    }
    for (size_t i = 0; (o = um_option_at(c, i, &base, &modes)); i++)
        if (o->required) {
            fputs(o->letter ? ".BI \\-" : ".BI \\-\\-", out);
            if (o->letter)
                putc(o->letter, out);
            else
                write_roff(out, o->name);
            fprintf(out, "\\  %s\n", o->arg);
        }
    fputs(".RI [ options ]\n", out);
}

/* Prints the title and the name; manual is the section and its title, as in a
 * row (NULL: user commands). */
static void print_name(FILE *out, const char *name, const char *summary,
                       const char *manual)
{
    fprintf(out, ".TH UMBEL\\-");
    for (const char *p = name; *p; p++)
        putc(*p - 'a' + 'A', out);
    fprintf(out, " %.1s \"\" \"umbel %s\" \"%s\"\n.nh\n.ad l\n",
            manual ? manual : "1", umbel_version(),
            manual ? manual + 2 : "User Commands");
    fprintf(out, ".SH NAME\numbel\\-%s \\- ", name);
    write_roff(out, summary);
    fputs("\n.SH SYNOPSIS\n", out);
}

static void print_head(FILE *out, const um_command *c)
{
    print_name(out, c->name, c->summary, c->manual);
    write_synopsis(out, c);
}

static bool has_option(const um_command *c, const char *name, size_t len)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    for (size_t i = 0; (o = um_option_at(c, i, &base, &modes)); i++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return true;
    return false;
}

/* Writes a sentence that ends with the names of options that the command has,
 * since rows are shared between commands. */
static void write_names(FILE *out, const um_command *c, const char *before,
                        const char *names)
{
    bool first = true;

    for (size_t len; names && *names; names += len + strspn(names + len, " ")) {
        len = strcspn(names, " ");
        if (!has_option(c, names, len))
            continue;
        fprintf(out, "%s \\fB\\-\\-", first ? before : " or");
        write_roff_part(out, names, len);
        fputs("\\fR", out);
        first = false;
    }
    if (!first)
        fputs(".\n", out);
}

static void write_modes(FILE *out, const um_command *c, unsigned modes)
{
    bool first = true;

    for (size_t i = 0; i < UM_MAX_MODES && c->modes[i].when && modes; i++)
        if (modes & UM_MODE(i)) {
            fputs(first ? "Used " : " or ", out);
            write_roff(out, c->modes[i].when);
            first = false;
        }
    if (!first)
        fputs(".\n", out);
}

static void write_option(FILE *out, const um_command *c, const um_option *o,
                         unsigned modes)
{
    fputs(".TP\n", out);
    if (o->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", out);
    write_roff(out, o->name);
    fputs("\\fR", out);
    if (o->arg) {
        fputs(" \\fI", out);
        write_roff(out, o->arg);
        fputs("\\fR", out);
    }
    putc('\n', out);
    write_sentence(out, o->help);
    write_modes(out, c, modes);
    write_names(out, c, "Needs", o->needs);
    write_names(out, c, "Cannot be combined with", o->excludes);
}

static void write_options(FILE *out, const um_command *c)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    for (size_t i = 0; (o = um_option_at(c, i, &base, &modes)); i++)
        write_option(out, c, o, modes);
}

static void print_options(FILE *out, const um_command *c)
{
    fputs(".SH OPTIONS\n", out);
    write_options(out, c);
}

bool um_print_man(FILE *out, const um_command *command, const char *word)
{
    if (strcmp(word, "--man-head") == 0)
        print_head(out, command);
    else if (strcmp(word, "--man-options") == 0)
        print_options(out, command);
    else
        return false;
    return true;
}

static void print_group_head(FILE *out, const um_program_group *g)
{
    print_name(out, g->name, g->summary, g->manual);
    if (g->plain)
        write_synopsis(out, g->plain);
    for (size_t i = 0; g->rows[i]; i++) {
        if (i || g->plain)
            fputs(".br\n", out);
        write_synopsis(out, g->rows[i]);
    }
}

static void print_group_options(FILE *out, const um_program_group *g)
{
    fputs(".SH OPTIONS\n", out);
    if (g->plain)
        write_options(out, g->plain);
    for (size_t i = 0; g->rows[i]; i++) {
        fprintf(out, ".SS umbel %s\n", g->rows[i]->name);
        write_options(out, g->rows[i]);
    }
}

bool um_print_group_man(FILE *out, const um_program_group *group,
                        const char *word)
{
    if (strcmp(word, "--man-head") == 0)
        print_group_head(out, group);
    else if (strcmp(word, "--man-options") == 0)
        print_group_options(out, group);
    else
        return false;
    return true;
}
