/*
 * config_text.c - what libconfuse does not check in the text of a file.
 *
 * libconfuse 3.3 counts the line of a comment twice, and accepts a file that
 * ends within a string or a section. Of a setting or section that stands twice
 * it takes the last one.
 */
#include "clearinghouse/config/config_text.h"

#include "base/error.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 8, MAX_NAMES = 128, NAME_SHOWN = 40 };

/* The name of a setting, or of a section without a title. */
typedef struct name {
    const char *at;
    size_t len, line;
    size_t depth; /* of the section that it stands in */
} name;

typedef struct scanner {
    char *at, *end;
    const char *path;
    size_t line;
    size_t opened[MAX_DEPTH]; /* lines of braces that are open */
    size_t depth;
    name word;           /* the last one; its len is 0 after something else */
    bool value;          /* it follows =, so a brace begins a list */
    name set[MAX_NAMES]; /* in the sections that are open; more are not
                            compared */
    size_t nset;
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

/* A word, quoted or not: a value, the title of a section, or else what may turn
 * out to be a name. */
static void parse_token(scanner *s, name token)
{
    bool is_title = s->word.len > 0;

    s->word = token;
    if (s->value || is_title)
        s->word.len = 0;
    s->value = false;
}

static umbel_status parse_string(scanner *s, umbel_error *err)
{
    name token = {.at = s->at + 1, .line = s->line, .depth = s->depth};
    char quote = *s->at;

    for (step(s); s->at < s->end && *s->at != quote; step(s))
        if (*s->at == '\\' && s->at + 1 < s->end)
            step(s);
    if (s->at == s->end)
        return refuse_at(s, token.line, "a string without its closing quote",
                         err);
    token.len = (size_t)(s->at - token.at);
    step(s);
    parse_token(s, token);
    return UMBEL_OK;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static void parse_word(scanner *s)
{
    name token = {.at = s->at, .line = s->line, .depth = s->depth};

    while (s->at < s->end && is_word_char(*s->at))
        step(s);
    token.len = (size_t)(s->at - token.at);
    parse_token(s, token);
}

/* The last word is a name: refuses one that stands there already. */
static umbel_status parse_name(scanner *s, umbel_error *err)
{
    char what[NAME_SHOWN + 64];
    name n = s->word;

    s->word.len = 0;
    for (size_t i = 0; n.len && i < s->nset; i++) {
        const name *old = &s->set[i];
        if (old->depth != n.depth || old->len != n.len ||
            memcmp(old->at, n.at, n.len) != 0)
            continue;
        snprintf(what, sizeof what, "%.*s stands in line %zu already",
                 (int)(n.len < NAME_SHOWN ? n.len : NAME_SHOWN), n.at,
                 old->line);
        return refuse_at(s, n.line, what, err);
    }
    if (n.len && s->nset < MAX_NAMES)
        s->set[s->nset++] = n;
    return UMBEL_OK;
}

static umbel_status scan_equals(scanner *s, umbel_error *err)
{
    bool adds = s->word.len && s->at[-1] == '+'; /* to what it has */

    step(s);
    s->value = true;
    if (!adds)
        return parse_name(s, err);
    s->word.len = 0;
    return UMBEL_OK;
}

/* Forgets the names of the section that ends. */
static void end_section(scanner *s)
{
    while (s->nset && s->set[s->nset - 1].depth > s->depth)
        s->nset--;
}

static umbel_status scan_brace(scanner *s, umbel_error *err)
{
    if (*s->at == '{' && !s->value)
        UM_TRY(parse_name(s, err));
    s->value = false;
    s->word.len = 0;
    if (*s->at == '{') {
        if (s->depth == MAX_DEPTH)
            return refuse_at(s, s->line, "too many braces within each other",
                             err);
        s->opened[s->depth++] = s->line;
    } else if (s->depth == 0) {
        return refuse_at(s, s->line, "a } without its {", err);
    } else {
        s->depth--;
        end_section(s);
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
        return parse_string(s, err);
    else if (*s->at == '{' || *s->at == '}')
        return scan_brace(s, err);
    else if (*s->at == '=')
        return scan_equals(s, err);
    else if (is_word_char(*s->at))
        parse_word(s);
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
