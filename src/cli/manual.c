/*
 * manual.c - the parts of a command's manual page that its row knows. The prose
 * between them is in docs/man.
 */
#include "cli/program.h"

#include <string.h>

/* Escapes what roff would take for its own. */
static void put_roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++)
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            putc(*text, out);
}

static void put_synopsis(FILE *out, const um_command *c)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    fprintf(out, ".B umbel %s\n", c->name);
    for (size_t i = 0; i < UM_MAX_OPERANDS && c->operands[i].name; i++) {
        const um_operand *p = &c->operands[i];
        fprintf(out, p->min ? ".I %s%s\n" : ".RI [ %s%s ]\n", p->name,
                p->type == UM_LIST ? "..." : "");
    }
    for (size_t i = 0; (o = um_option_at(c, i, &base, &modes)); i++)
        if (o->required) {
            fputs(o->letter ? ".BI \\-" : ".BI \\-\\-", out);
            if (o->letter)
                putc(o->letter, out);
            else
                put_roff(out, o->name);
            fprintf(out, "\\  %s\n", o->arg);
        }
    fputs(".RI [ options ]\n", out);
}

static void print_head(FILE *out, const um_command *c)
{
    fprintf(out, ".TH UMBEL\\-");
    for (const char *p = c->name; *p; p++)
        putc(*p - 'a' + 'A', out);
    fprintf(out, " 1 \"\" \"umbel %s\" \"User Commands\"\n.nh\n",
            umbel_version());
    fprintf(out, ".SH NAME\numbel\\-%s \\- ", c->name);
    put_roff(out, c->summary);
    fputs("\n.SH SYNOPSIS\n", out);
    put_synopsis(out, c);
}

static void put_words(FILE *out, const char *before, const char *words)
{
    if (!words)
        return;
    fputs(before, out);
    for (const char *end; *words; words = end + strspn(end, " ")) {
        end = words + strcspn(words, " ");
        fprintf(out, " \\fB\\-\\-%.*s\\fR%s", (int)(end - words), words,
                *end ? "," : "");
    }
    fputs(".\n", out);
}

static void put_modes(FILE *out, const um_command *c, unsigned modes)
{
    bool first = true;

    for (size_t i = 0; i < UM_MAX_MODES && c->modes[i].when && modes; i++)
        if (modes & UM_MODE(i)) {
            fputs(first ? "Used " : ", or ", out);
            put_roff(out, c->modes[i].when);
            first = false;
        }
    if (!first)
        fputs(".\n", out);
}

static void put_option(FILE *out, const um_command *c, const um_option *o,
                       unsigned modes)
{
    fputs(".TP\n", out);
    if (o->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", out);
    put_roff(out, o->name);
    fputs("\\fR", out);
    if (o->arg) {
        fputs(" \\fI", out);
        put_roff(out, o->arg);
        fputs("\\fR", out);
    }
    putc('\n', out);
    put_roff(out, o->help);
    fputs(".\n", out);
    put_modes(out, c, modes);
    put_words(out, "Needs one of", o->needs);
    put_words(out, "Not together with", o->excludes);
}

static void print_options(FILE *out, const um_command *c)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; (o = um_option_at(c, i, &base, &modes)); i++)
        put_option(out, c, o, modes);
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
