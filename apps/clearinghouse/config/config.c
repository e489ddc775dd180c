/*
 * config.c - the configuration file, read with libconfuse.
 *
 * libconfuse sees every setting as a text, and checks each with its row as soon
 * as it was read, so that refusals have a line. When the whole file is fine the
 * same rows fill the configuration.
 */
#include "clearinghouse/config/config.h"

#include "base/error.h"
#include "base/text.h"
#include "clearinghouse/config/config_rows.h"
#include "clearinghouse/config/config_text.h"
#include "clearinghouse/runtime/file_text.h"
#include "cli/framework/command.h"

#include <confuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 32, MAX_SECTIONS = UM_MAX_FRONTS + 8 };

/* libconfuse hands no context to its callbacks, and its lexer is not reentrant
 * either: one file is read at a time. */
static umbel_error *refusal;
static bool refused;
static const char *shown_path;

/* --- refusals ------------------------------------------------------------- */

static bool section_of(const cfg_t *cfg, um_section_row *out)
{
    const char *name = strcmp(cfg->name, "root") == 0 ? "" : cfg->name;

    for (size_t i = 0; um_config_section(i, out); i++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

/* What may stand in a section, and in the file beside settings. */
static size_t names_in(const um_section_row *s,
                       const char *out[MAX_ROWS + MAX_SECTIONS])
{
    um_section_row other;
    size_t n = 0;

    for (; s->rows[n].name; n++)
        out[n] = s->rows[n].name;
    for (size_t i = 1; s->name[0] == '\0' && um_config_section(i, &other); i++)
        out[n++] = other.name;
    return n;
}

/* Keeps the first refusal, with file and line. */
static void refuse(const cfg_t *cfg, const char *what, const char *allowed)
{
    if (refused)
        return;
    refused = true;
    um_set_error(refusal, UMBEL_E_FORMAT, "%s%s:%d: %s; allowed: %s",
                 um_path_dots(shown_path), um_path_tail(shown_path), cfg->line,
                 what, allowed);
}

/* Replaces libconfuse's words for an unknown name by ours. */
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

/* Messages of libconfuse itself: syntax, and names that it does not know. */
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

/* --- rows as libconfuse wants them ---------------------------------------- */

static cfg_opt_t value_opt(const um_setting *s)
{
    char *initial; /* libconfuse does not change it, but its type says so */
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

    um_config_section(0, &s);
    value_opts(s.rows, top);
    while (top[n].name)
        n++;
    for (size_t i = 1; um_config_section(i, &s); i++)
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
    bool fine = um_config_section(0, &s) && fill_section(cfg, &s, "", out);

    for (size_t i = 1; fine && um_config_section(i, &s); i++)
        for (unsigned j = 0; fine && j < cfg_size(cfg, s.name); j++) {
            cfg_t *section = cfg_getnsec(cfg, s.name, j);
            const char *title = s.titled ? cfg_title(section) : s.name;
            fine = fill_section(section, &s, title, out);
        }
    return fine ? UMBEL_OK : um_no_memory(err, sizeof *out);
}

/* Applies what the rows of fronts say about their lists. */
static void init_lists(um_config *c)
{
    for (size_t i = 0; um_protocol_list(i); i++) {
        const um_list_initial *row = um_protocol_of_list(i)->list_initials;

        for (; row && row->setting; row++) {
            const um_setting *s = um_setting_find(um_list_rows, row->setting);
            if (!row->list || strcmp(row->list, um_protocol_list(i)) == 0)
                s->type->parse(s, row->value,
                               um_setting_target(s, &c->list[i]));
        }
        if (um_protocol_of_list(i)->list_kind) {
            free(c->list[i].kind);
            c->list[i].kind = NULL;
        }
    }
}

static umbel_status check_lists(const um_config *c, umbel_error *err)
{
    for (size_t i = 0; um_protocol_list(i); i++)
        if (um_protocol_of_list(i)->list_kind && c->list[i].kind)
            return um_fail(err, UMBEL_E_RANGE,
                           "%s: list \"%s\" has a kind of its own: leave kind "
                           "out",
                           shown_path, um_protocol_list(i));
    return UMBEL_OK;
}

umbel_status um_config_default(um_config *out, umbel_error *err)
{
    um_config c = {0};
    um_section_row s;

    for (size_t i = 0; um_protocol_row(i); i++)
        if (!(c.front[i] = calloc(1, um_protocol_row(i)->settings_len))) {
            um_config_fini(&c);
            return um_no_memory(err, um_protocol_row(i)->settings_len);
        }
    for (size_t i = 0; um_config_section(i, &s); i++)
        if (!s.titled)
            um_settings_init(s.rows, s.target(&c, s.name));
        else
            for (size_t j = 0; s.title && s.title(j); j++)
                um_settings_init(s.rows, s.target(&c, s.title(j)));
    init_lists(&c);
    *out = c;
    return UMBEL_OK;
}

void um_config_fini(um_config *c)
{
    um_section_row s;

    for (size_t i = 0; um_config_section(i, &s); i++)
        for (size_t j = 0; s.titled && s.title && s.title(j); j++)
            um_settings_fini(s.rows, s.target(c, s.title(j)));
    for (size_t i = 0; um_config_section(i, &s); i++)
        if (!s.titled && s.target(c, s.name))
            um_settings_fini(s.rows, s.target(c, s.name));
    for (size_t i = 0; i < c->naccounts; i++)
        free(c->account[i].name);
    free(c->account);
    for (size_t i = 0; i < c->npeers; i++) {
        free(c->peer[i].name);
        um_settings_fini(um_peer_rows, &c->peer[i]);
    }
    free(c->peer);
    for (size_t i = 0; i < UM_MAX_FRONTS; i++)
        free(c->front[i]);
    *c = (um_config){0};
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
    umbel_status status = um_config_prepare(copy, text.len, path, err);
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
