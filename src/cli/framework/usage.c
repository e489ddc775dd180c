/*
 * usage.c - help texts, made from the rows.
 */
#include "cli/framework/command.h"

#include <string.h>

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

int um_print_synopsis(FILE *out, const um_command *command)
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
    um_print_synopsis(out, command);
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
