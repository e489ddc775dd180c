/*
 * serve.c - what the command does: serve, check a configuration.
 */
#include "clearinghouse/server/serve.h"

#include "base/error.h"
#include "clearinghouse/admin/client.h"
#include "clearinghouse/server/server.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- serve ---------------------------------------------------------------- */

/* What to type so that mail software uses this server. */
static void print_hints(const um_server *h)
{
    for (size_t i = 0; um_protocol_row(i); i++)
        if (h->front[i] && um_protocol_row(i)->hint)
            um_protocol_row(i)->hint(h->front[i], stderr);
}

static void print_ready(um_server *h)
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
    um_server h = {0};
    um_config c = {0};
    umbel_status status = um_load_config(&c, config, err);

    if (status == UMBEL_OK)
        status = um_server_open(&h, &c, config, err);
    if (status == UMBEL_OK) {
        if (!config)
            print_hints(&h);
        print_ready(&h);
        um_server_run(&h);
        um_log_event(&h.log, "stopped");
    }
    um_server_close(&h);
    um_config_fini(&c);
    return status;
}

/* --- check ---------------------------------------------------------------- */

static umbel_status check_protocols(const um_config *c, umbel_error *err)
{
    for (size_t i = 0; um_protocol_row(i); i++)
        if (um_protocol_row(i)->check)
            UM_TRY(um_protocol_row(i)->check(c->front[i], stdout, err));
    return UMBEL_OK;
}

static umbel_status check_welcome(const um_config *c, bool quiet,
                                  umbel_error *err)
{
    um_welcome *w;

    UM_TRY(um_welcome_read(c->welcome, um_print_warning, stdout, &w, err));
    if (!quiet && c->welcome && access(c->welcome, F_OK) == 0)
        printf("%s: fine, rules: %zu\n", c->welcome, um_welcome_rules(w));
    um_welcome_close(w);
    return UMBEL_OK;
}

umbel_status um_serve_check(const char *config, bool quiet, umbel_error *err)
{
    um_config c = {0};
    umbel_status status = um_load_config(&c, config, err);

    if (status == UMBEL_OK)
        status = um_server_check(&c, err);
    if (status == UMBEL_OK)
        status = check_protocols(&c, err);
    if (status == UMBEL_OK)
        status = check_welcome(&c, quiet, err);
    if (status == UMBEL_OK && !quiet)
        printf("%s: fine\n", config ? config : "the default settings");
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
