/*
 * json.c - values of JSON, printed.
 */
#include "base/json.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void print_character(FILE *out, const uint8_t *s, size_t len)
{
    if (len == 0)
        fputs("\\ufffd", out); /* not UTF-8, and JSON has nothing else */
    else if (len == 1 && (*s == '"' || *s == '\\'))
        fprintf(out, "\\%c", *s);
    else if (len == 1 && (*s < ' ' || *s == 127))
        fprintf(out, "\\u%04x", *s);
    else if (len == 2 && s[0] == 0xC2 && s[1] < 0xA0)
        fprintf(out, "\\u%04x", s[1]); /* steers terminals, too */
    else
        fwrite(s, 1, len, out);
}

void um_json_string(FILE *out, const void *text, size_t len)
{
    const uint8_t *s = text;

    putc('"', out);
    for (size_t i = 0; i < len;) {
        size_t some = um_utf8_len(s + i, len - i);
        print_character(out, s + i, some);
        i += some ? some : 1;
    }
    putc('"', out);
}

void um_json_text(FILE *out, const char *text)
{
    if (text)
        um_json_string(out, text, strlen(text));
    else
        fputs("null", out);
}

void um_json_name(FILE *out, size_t i, const char *name)
{
    fputs(i ? ", " : "", out);
    um_json_text(out, name);
    fputs(": ", out);
}

void um_json_field(FILE *out, size_t i, const char *name, const char *text)
{
    um_json_name(out, i, name);
    um_json_text(out, text);
}

void um_json_real(FILE *out, double x)
{
    char text[40];

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    fputs(text, out);
}
