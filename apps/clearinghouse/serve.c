/*
 * serve.c - what the command does: serve, check a configuration, ask a server.
 */
#include "clearinghouse/serve.h"

#include "base/error.h"
#include "clearinghouse/house_control.h"
#include "net/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_MS = 5000 };

static umbel_status load_config(um_config *c, const char *path,
                                umbel_error *err)
{
    return path ? um_config_read(c, path, err) : um_config_default(c, err);
}

/* --- serve ---------------------------------------------------------------- */

/* What to type so that mail software uses this server. */
static void print_hints(const um_house *h)
{
    for (size_t i = 0; um_front_row(i); i++)
        if (h->front[i] && um_front_row(i)->hint)
            um_front_row(i)->hint(h->front[i], stderr);
}

static void print_ready(um_house *h)
{
    char line[UM_LOG_LINE_LEN] = "ready";
    size_t len = strlen(line);

    for (size_t i = 0; i < h->naddresses && len < sizeof line; i++)
        len += (size_t)snprintf(line + len, sizeof line - len, " %s=%s",
                                h->address[i].front->name, h->address[i].text);
    fprintf(stderr, "%s\n", line);
    fflush(stderr);
    um_notify("READY=1", NULL);
}

umbel_status um_serve(const char *config, umbel_error *err)
{
    um_house h = {0};
    um_config c = {0};
    umbel_status status = load_config(&c, config, err);

    if (status == UMBEL_OK)
        status = um_house_open(&h, &c, config, err);
    if (status == UMBEL_OK) {
        if (!config)
            print_hints(&h);
        print_ready(&h);
        um_house_run(&h);
        um_log_event(&h.log, "stopped");
    }
    um_house_close(&h);
    um_config_fini(&c);
    return status;
}

/* --- check ---------------------------------------------------------------- */

static umbel_status check_fronts(const um_config *c, umbel_error *err)
{
    for (size_t i = 0; um_front_row(i); i++)
        if (um_front_row(i)->check)
            UM_TRY(um_front_row(i)->check(c->front[i], stdout, err));
    return UMBEL_OK;
}

static umbel_status check_welcome(const um_config *c, umbel_error *err)
{
    um_welcome *w;

    UM_TRY(um_welcome_read(c->welcome, um_print_warning, stdout, &w, err));
    if (c->welcome)
        printf("%s: %zu rules\n", c->welcome, um_welcome_rules(w));
    um_welcome_close(w);
    return UMBEL_OK;
}

umbel_status um_serve_check(const char *config, umbel_error *err)
{
    um_config c = {0};
    umbel_status status = load_config(&c, config, err);

    if (status == UMBEL_OK)
        status = um_house_check(&c, err);
    if (status == UMBEL_OK)
        status = check_fronts(&c, err);
    if (status == UMBEL_OK)
        status = check_welcome(&c, err);
    if (status == UMBEL_OK)
        printf("%s: fine\n", config ? config : "the default settings");
    um_config_fini(&c);
    return status;
}

/* --- status --------------------------------------------------------------- */

static umbel_status ask(const um_config *c, const char *line, umbel_error *err)
{
    char *path = um_house_control_path(c);

    if (!path)
        return um_no_memory(err, 1);
    umbel_error why;
    umbel_status status = um_control_ask(path, line, (umbel_slice){NULL, 0},
                                         ASK_MS, stdout, &why);
    free(path);
    if (status != UMBEL_OK)
        return um_fail(err, status, "no server answers: %s", why.text);
    return UMBEL_OK;
}

umbel_status um_serve_status(const char *config, const char *question,
                             bool json, umbel_error *err)
{
    um_config c = {0};

    if (strcmp(question, "status") != 0)
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "\"%s\" is not known; give a file of settings with "
                       "--config, or status to ask a running server",
                       question);
    UM_TRY(load_config(&c, config, err));
    umbel_status status = ask(&c, json ? "status --json" : "status", err);
    um_config_fini(&c);
    return status;
}

/* --- settings ------------------------------------------------------------- */

void um_serve_list_settings(void)
{
    um_section_row s;

    for (size_t i = 0; um_config_section(i, &s); i++)
        for (const um_setting *row = s.rows; row->name; row++)
            printf("%s%s%s %s %s\n", s.name, s.name[0] ? "." : "", row->name,
                   row->type->name, row->initial ? row->initial : "-");
}
