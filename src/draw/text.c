/*
 * text.c - escaping, and numbers as text.
 */
#include "draw/text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void um_write_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        const char *name = entity(*text);
        if (name)
            fputs(name, out);
        else if (c >= ' ' || c == '\n' || c == '\t')
            putc(c, out);
    }
}

void um_write_csv(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

void um_write_csv_number(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, "%.9g", x);
}

um_shown um_show(double x)
{
    um_shown s = {""};

    if (isnan(x))
        return s;
    bool whole = x == floor(x) && fabs(x) < 1e7;
    snprintf(s.text, sizeof s.text, whole ? "%.0f" : "%.5g", x);
    return s;
}
