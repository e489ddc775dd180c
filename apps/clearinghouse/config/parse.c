/*
 * parse.c - the configuration file, read with libconfuse.
 *
 * For libconfuse every setting is a text. A callback checks each one against
 * its row as soon as it is read, so that errors have a line number. If the
 * whole file is valid, the same rows fill the configuration.
 *
 * A scan of the text comes first, because libconfuse 3.3 counts the line of a
 * comment twice, and accepts a file that ends within a string or a section. If
 * a setting or section occurs twice, it uses the last one.
 */
#include "clearinghouse/config/config.h"

#include "base/error.h"
#include "base/text.h"
#include "clearinghouse/runtime/file_text.h"
#include "cli/framework/command.h"

#include <confuse.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the scan ------------------------------------------------------------- */

enum { MAX_DEPTH = 8, MAX_NAMES = 128, NAME_SHOWN = 40 };

/* The name of a setting, or of a section without a title. */
typedef struct scan_name {
    const char *at;
    size_t len, line;
    size_t depth; /* of the section that contains it */
} scan_name;

typedef struct scanner {
    char *at, *end;
    const char *path;
    size_t line;
    size_t opened[MAX_DEPTH]; /* line numbers of open braces */
    size_t depth;
    scan_name word;           /* the last word; len is 0 after anything else */
    bool value;               /* after "=": a brace begins a list */
    scan_name set[MAX_NAMES]; /* names in the open sections; any beyond
                                 MAX_NAMES are not checked for duplicates */
    size_t nset;
} scanner;

static umbel_status refuse_at(const scanner *s, size_t line, const char *what,
                              umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT, "%s%s:%zu: %s", um_path_dots(s->path),
                   um_path_tail(s->path), line, what);
}

/* Advances by one byte. */
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

/* Records a word, quoted or not. A value or the title of a section is consumed;
 * any other word may turn out to be a name. */
static void parse_token(scanner *s, scan_name token)
{
    bool is_title = s->word.len > 0;

    s->word = token;
    if (s->value || is_title)
        s->word.len = 0;
    s->value = false;
}

static umbel_status parse_string(scanner *s, umbel_error *err)
{
    scan_name token = {.at = s->at + 1, .line = s->line, .depth = s->depth};
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
    scan_name token = {.at = s->at, .line = s->line, .depth = s->depth};

    while (s->at < s->end && is_word_char(*s->at))
        step(s);
    token.len = (size_t)(s->at - token.at);
    parse_token(s, token);
}

/* Records the last word as a name; refuses one that the section has already. */
static umbel_status parse_name(scanner *s, umbel_error *err)
{
    char what[NAME_SHOWN + 64];
    scan_name n = s->word;

    s->word.len = 0;
    for (size_t i = 0; n.len && i < s->nset; i++) {
        const scan_name *old = &s->set[i];
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
    bool adds = s->word.len && s->at[-1] == '+'; /* "+=" may be repeated */

    step(s);
    s->value = true;
    if (!adds)
        return parse_name(s, err);
    s->word.len = 0;
    return UMBEL_OK;
}

/* Removes the names of the section that ends. */
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

/*
 * Replaces comments by blanks, and refuses NUL bytes, strings, comments and
 * sections without an end, and names that are given twice in a section, with
 * their line. path is for messages. The text is not NUL-terminated yet.
 */
static umbel_status prepare_text(char *text, size_t len, const char *path,
                                 umbel_error *err)
{
    scanner s = {.at = text, .end = text + len, .path = path, .line = 1};

    while (s.at < s.end)
        UM_TRY(scan_next(&s, err));
    if (s.depth)
        return refuse_at(&s, s.opened[s.depth - 1], "a { without its }", err);
    return UMBEL_OK;
}

enum { MAX_ROWS = 32, MAX_SECTIONS = UM_MAX_PROTOCOLS + 8 };

/* libconfuse passes no context to its callbacks, and its lexer is not
 * reentrant: one file is read at a time. */
static umbel_error *refusal;
static bool refused;
static const char *shown_path;

/* --- refusals ------------------------------------------------------------- */

static bool section_of(const cfg_t *cfg, um_section_row *out)
{
    const char *name = strcmp(cfg->name, "root") == 0 ? "" : cfg->name;

    for (size_t i = 0; um_config_section_at(i, out); i++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

/* Lists the names that are allowed in a section; outside all sections, also the
 * names of sections. Returns their number. */
static size_t names_in(const um_section_row *s,
                       const char *out[MAX_ROWS + MAX_SECTIONS])
{
    um_section_row other;
    size_t n = 0;

    for (; s->rows[n].name; n++)
        out[n] = s->rows[n].name;
    for (size_t i = 1; s->name[0] == '\0' && um_config_section_at(i, &other);
         i++)
        out[n++] = other.name;
    return n;
}

/* Records the first error, with file and line. */
static void refuse(const cfg_t *cfg, const char *what, const char *allowed)
{
    if (refused)
        return;
    refused = true;
    um_set_error(refusal, UMBEL_E_FORMAT, "%s%s:%d: %s; allowed: %s",
                 um_path_dots(shown_path), um_path_tail(shown_path), cfg->line,
                 what, allowed);
}

/* Replaces libconfuse's message about an unknown name by ours. */
static void describe_unknown(char *what, size_t cap, const char *const *names,
                             size_t n)
{
    char typed[48];
    um_suggestion best = {0};

    if (sscanf(what, "no such option '%47[^']'", typed) != 1)
        return;
    for (size_t i = 0; i < n; i++)
        um_suggest(&best, typed, strlen(typed), names[i]);
    snprintf(what, cap, "no such setting: %s%s%s%s", typed,
             best.name ? " (did you mean " : "", best.name ? best.name : "",
             best.name ? "?)" : "");
}

/* Handles libconfuse's own errors: syntax, and unknown names. */
__attribute__((format(printf, 2, 0))) static void
on_error(cfg_t *cfg, const char *format, va_list args)
{
    const char *names[MAX_ROWS + MAX_SECTIONS];
    char what[128], allowed[240] = "";
    um_section_row s;

    vsnprintf(what, sizeof what, format, args);
    if (section_of(cfg, &s)) {
        size_t n = names_in(&s, names);
        describe_unknown(what, sizeof what, names, n);
        um_join_or(names, n, allowed, sizeof allowed);
    }
    refuse(cfg, what, allowed);
}

static int check_value(cfg_t *cfg, cfg_opt_t *opt)
{
    char what[96], allowed[UM_ALLOWED_LEN];
    um_section_row section;
    union {
        uint64_t number;
        double real;
        char *text;
        um_texts texts;
    } scratch = {.texts = {0}};
    unsigned n = cfg_opt_size(opt);

    if (!section_of(cfg, &section) || n == 0)
        return 0;
    const um_setting *s = um_setting_find(section.rows, opt->name);
    const char *value = cfg_opt_getnstr(opt, n - 1);
    bool fine = s->type->parse(s, value, &scratch);
    if (s->type->fini)
        s->type->fini(&scratch);
    if (fine)
        return 0;
    snprintf(what, sizeof what, "%s = \"%.60s%s\"", s->name, value,
             strlen(value) > 60 ? "..." : "");
    s->type->allowed(s, allowed);
    refuse(cfg, what, allowed);
    return -1;
}

static bool is_allowed_title(const um_section_row *s, const char *title)
{
    size_t i = 0;

    while (s->title(i) && strcmp(s->title(i), title) != 0)
        i++;
    return s->title(i);
}

static int check_title(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *names[UM_MAX_LISTS];
    size_t n = 0;
    char what[96], allowed[240] = "";
    cfg_t *section = cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);
    um_section_row s;

    if (!section_of(section, &s) || !s.title ||
        is_allowed_title(&s, cfg_title(section)))
        return 0;
    snprintf(what, sizeof what, "%s \"%s\"", s.name, cfg_title(section));
    while (n < UM_MAX_LISTS && (names[n] = s.title(n)) != NULL)
        n++;
    um_join_or(names, n, allowed, sizeof allowed);
    refuse(cfg, what, allowed);
    return -1;
}

/* --- settings for libconfuse ---------------------------------------------- */

static cfg_opt_t value_opt(const um_setting *s)
{
    char
        *initial; /* libconfuse does not change it, but its type is not const */
    memcpy(&initial, &s->initial, sizeof initial);
    cfg_opt_t one = CFG_STR(s->name, NULL, CFGF_NODEFAULT);
    cfg_opt_t many = CFG_STR_LIST(s->name, initial, CFGF_NONE);
    cfg_opt_t opt = s->type->many ? many : one;

    opt.validcb = check_value;
    return opt;
}

static void value_opts(const um_setting *rows, cfg_opt_t out[MAX_ROWS])
{
    size_t n = 0;

    for (; rows[n].name; n++)
        out[n] = value_opt(&rows[n]);
    out[n] = (cfg_opt_t)CFG_END();
}

static cfg_opt_t section_opt(const um_section_row *s, cfg_opt_t *rows)
{
    cfg_flag_t titled = CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES;
    cfg_opt_t opt = CFG_SEC(s->name, rows, s->titled ? titled : CFGF_NONE);

    value_opts(s->rows, rows);
    if (s->title)
        opt.validcb = check_title;
    return opt;
}

static cfg_t *open_parser(void)
{
    cfg_opt_t top[MAX_ROWS + MAX_SECTIONS], rows[MAX_SECTIONS][MAX_ROWS];
    um_section_row s;
    size_t n = 0;

    um_config_section_at(0, &s);
    value_opts(s.rows, top);
    while (top[n].name)
        n++;
    for (size_t i = 1; um_config_section_at(i, &s); i++)
        top[n++] = section_opt(&s, rows[i]);
    top[n] = (cfg_opt_t)CFG_END();
    return cfg_init(top, CFGF_NONE);
}

/* --- the configuration ---------------------------------------------------- */

static bool fill_setting(cfg_t *cfg, const um_setting *s, void *section)
{
    void *target = um_setting_target(s, section);

    if (s->type->many)
        s->type->fini(target);
    for (unsigned i = 0; i < cfg_size(cfg, s->name); i++) {
        const char *value = cfg_getnstr(cfg, s->name, i);
        if (value && !s->type->parse(s, value, target))
            return false;
    }
    return true;
}

static bool fill_section(cfg_t *cfg, const um_section_row *s, const char *title,
                         um_config *out)
{
    void *target = s->target(out, title);

    for (size_t i = 0; target && s->rows[i].name; i++)
        if (!fill_setting(cfg, &s->rows[i], target))
            return false;
    return target;
}

static umbel_status fill_config(cfg_t *cfg, um_config *out, umbel_error *err)
{
    um_section_row s;
    bool fine = um_config_section_at(0, &s) && fill_section(cfg, &s, "", out);

    for (size_t i = 1; fine && um_config_section_at(i, &s); i++)
        for (unsigned j = 0; fine && j < cfg_size(cfg, s.name); j++) {
            cfg_t *section = cfg_getnsec(cfg, s.name, j);
            const char *title = s.titled ? cfg_title(section) : s.name;
            fine = fill_section(section, &s, title, out);
        }
    return fine ? UMBEL_OK : um_no_memory(err, sizeof *out);
}

static umbel_status check_lists(const um_config *c, umbel_error *err)
{
    for (size_t i = 0; i < UM_LISTS; i++)
        if (um_list_rows[i].kind && c->list[i].kind)
            return um_fail(err, UMBEL_E_RANGE,
                           "%s: list \"%s\" has a kind of its own: leave kind "
                           "out",
                           shown_path, um_list_name(i));
    return UMBEL_OK;
}

/* --- files ---------------------------------------------------------------- */

static umbel_status parse_into(um_config *out, cfg_t *cfg, int code,
                               umbel_error *err)
{
    um_config c = {0};

    if (code != CFG_SUCCESS)
        return refused ? UMBEL_E_FORMAT
                       : um_fail(err, UMBEL_E_FORMAT,
                                 "%s: cannot be read as a configuration",
                                 shown_path);
    UM_TRY(um_config_default(&c, err));
    umbel_status status = fill_config(cfg, &c, err);
    if (status == UMBEL_OK)
        status = check_lists(&c, err);
    if (status == UMBEL_OK)
        *out = c;
    else
        um_config_fini(&c);
    return status;
}

static umbel_status parse_text(um_config *out, const char *text,
                               umbel_error *err)
{
    cfg_t *cfg = open_parser();

    if (!cfg)
        return um_no_memory(err, sizeof *cfg);
    refusal = err;
    refused = false;
    cfg_set_error_function(cfg, on_error);
    umbel_status status = parse_into(out, cfg, cfg_parse_buf(cfg, text), err);
    cfg_free(cfg);
    refusal = NULL;
    return status;
}

umbel_status um_config_parse(um_config *out, umbel_slice text, const char *path,
                             umbel_error *err)
{
    char *copy = malloc(text.len + 2);

    if (!copy)
        return um_no_memory(err, text.len);
    if (text.len)
        memcpy(copy, text.data, text.len);
    memcpy(copy + text.len, "\n", 2); /* libconfuse refuses an empty text */
    shown_path = path;
    umbel_status status = prepare_text(copy, text.len, path, err);
    if (status == UMBEL_OK)
        status = parse_text(out, copy, err);
    free(copy);
    return status;
}

umbel_status um_config_read(um_config *out, const char *path, umbel_error *err)
{
    um_file_text text;

    UM_TRY(um_file_text_read(&text, path, err));
    if (!text.data)
        return um_fail(err, UMBEL_E_IO, "%s%s: no such file",
                       um_path_dots(path), um_path_tail(path));
    umbel_status status =
        um_config_parse(out, (umbel_slice){text.data, text.len}, path, err);
    free(text.data);
    return status;
}
