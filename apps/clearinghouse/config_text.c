/*
 * config_text.c - what libconfuse does not check in the text of a file.
 *
 * libconfuse 3.3 counts the line of a comment twice, and accepts a file that
 * ends within a string or a section.
 */
#include "clearinghouse/config_text.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

enum { MAX_DEPTH = 8 };

typedef struct scanner {
    char *at, *end;
    const char *path;
    size_t line;
    size_t opened[MAX_DEPTH]; /* lines of braces that are open */
    size_t depth;
} scanner;

static umbel_status refuse_at(const scanner *s, size_t line, const char *what,
                              umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT, "%s%s:%zu: %s", um_path_dots(s->path),
                   um_path_tail(s->path), line, what);
}

/* Goes one byte on. */
static void step(scanner *s)
{
    s->line += *s->at == '\n';
    s->at++;
}

static bool looking_at(const scanner *s, const char *word)
{
    size_t len = strlen(word);

    return (size_t)(s->end - s->at) >= len && memcmp(s->at, word, len) == 0;
}

static void blank_line(scanner *s)
{
    while (s->at < s->end && *s->at != '\n')
        *s->at++ = ' ';
}

static umbel_status blank_comment(scanner *s, umbel_error *err)
{
    size_t line = s->line;

    while (s->at < s->end && !looking_at(s, "*/")) {
        if (*s->at != '\n')
            *s->at = ' ';
        step(s);
    }
    if (s->at == s->end)
        return refuse_at(s, line, "a comment without its end: */", err);
    memset(s->at, ' ', 2);
    s->at += 2;
    return UMBEL_OK;
}

static umbel_status skip_string(scanner *s, umbel_error *err)
{
    char quote = *s->at;
    size_t line = s->line;

    for (step(s); s->at < s->end && *s->at != quote; step(s))
        if (*s->at == '\\' && s->at + 1 < s->end)
            step(s);
    if (s->at == s->end)
        return refuse_at(s, line, "a string without its closing quote", err);
    step(s);
    return UMBEL_OK;
}

static umbel_status scan_brace(scanner *s, umbel_error *err)
{
    if (*s->at == '{') {
        if (s->depth == MAX_DEPTH)
            return refuse_at(s, s->line, "too many braces within each other",
                             err);
        s->opened[s->depth++] = s->line;
    } else if (s->depth == 0) {
        return refuse_at(s, s->line, "a } without its {", err);
    } else {
        s->depth--;
    }
    step(s);
    return UMBEL_OK;
}

static umbel_status scan_next(scanner *s, umbel_error *err)
{
    if (*s->at == '\0')
        return refuse_at(s, s->line, "a NUL byte: this is no text", err);
    if (*s->at == '#' || looking_at(s, "//"))
        blank_line(s);
    else if (looking_at(s, "/*"))
        return blank_comment(s, err);
    else if (*s->at == '"' || *s->at == '\'')
        return skip_string(s, err);
    else if (*s->at == '{' || *s->at == '}')
        return scan_brace(s, err);
    else
        step(s);
    return UMBEL_OK;
}

umbel_status um_config_prepare(char *text, size_t len, const char *path,
                               umbel_error *err)
{
    scanner s = {.at = text, .end = text + len, .path = path, .line = 1};

    while (s.at < s.end)
        UM_TRY(scan_next(&s, err));
    if (s.depth)
        return refuse_at(&s, s.opened[s.depth - 1], "a { without its }", err);
    return UMBEL_OK;
}
