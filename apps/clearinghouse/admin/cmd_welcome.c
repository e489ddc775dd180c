/*
 * cmd_welcome.c - umbel clearinghouse welcome: rules of the welcome file.
 */
#include "clearinghouse/admin/ask.h"
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/lists/welcome_edit.h"
#include "cli/framework/report.h"

#include "base/error.h"

#include <string.h>

typedef struct welcome_args {
    const char *config;
    const char *action;
    um_list rule;
} welcome_args;

static const um_option options[] = {UM_SERVER_CONFIG(welcome_args), {0}};

/* Reads the rule from its words, which may also be given in one. */
static umbel_status rule_from_args(const welcome_args *a, um_welcome_rule *out,
                                   umbel_error *err)
{
    char line[UM_WELCOME_LINE] = "";
    size_t len = 0;
    bool given;

    for (size_t i = 0; i < a->rule.n && len < sizeof line; i++)
        len += (size_t)snprintf(line + len, sizeof line - len, "%s ",
                                a->rule.item[i]);
    UM_TRY(um_welcome_rule_read((umbel_slice){line, strlen(line)}, out, &given,
                                err));
    return given ? UMBEL_OK
                 : um_fail(err, UMBEL_E_RANGE,
                           "give a rule of two words, such as: welcome %s "
                           "list-id news.example.org",
                           a->action);
}

/* Prints sentences: neither --quiet nor --json was given. */
static bool talks(const um_args *args)
{
    return !args->common.quiet && !args->common.json;
}

/* A server that runs takes the file; one that does not reads it later. */
static umbel_status tell_server(const um_args *args, const um_config *c,
                                umbel_error *err)
{
    umbel_error why;
    umbel_status status =
        um_ask_server(c, "welcome reload", (umbel_slice){NULL, 0},
                      talks(args) ? stdout : NULL, &why);

    if (status == UMBEL_E_REFUSED)
        return um_fail(err, status, "%s", why.text);
    if (status != UMBEL_OK)
        um_warn(args, "%s; it reads the file when it starts", why.text);
    return UMBEL_OK;
}

static void print_rule(void *ctx, const um_welcome_rule *r)
{
    const um_args *args = ctx;

    if (args->common.quiet)
        return;
    if (!args->common.json) {
        printf("%s %s\n", um_welcome_type_name(r->type), r->value);
        return;
    }
    putchar('{');
    if (r->line)
        printf("\"line\": %zu, ", r->line);
    printf("\"type\": \"%s\", \"value\": ", um_welcome_type_name(r->type));
    um_print_json_string(stdout, r->value, strlen(r->value));
    puts("}");
}

static umbel_status change_rule(const um_args *args, const um_config *c,
                                um_welcome_edit *edit, umbel_error *err)
{
    um_welcome_rule r;
    um_args copy = *args;

    UM_TRY(rule_from_args(args->values, &r, err));
    UM_TRY(edit(c->welcome, &r, err));
    if (edit == um_welcome_add && um_welcome_too_wide(&r))
        um_warn(args, "%s %s %s", um_welcome_type_name(r.type), r.value,
                um_welcome_too_wide(&r));
    if (talks(args))
        printf("%s: %s ", c->welcome,
               edit == um_welcome_add ? "added" : "removed");
    print_rule(&copy, &r);
    return tell_server(args, c, err);
}

static umbel_status run_action(const um_args *args, const um_config *c,
                               umbel_error *err)
{
    const welcome_args *a = args->values;
    um_args copy = *args;

    if (strcmp(a->action, "list") == 0 && a->rule.n)
        return um_fail(err, UMBEL_E_RANGE,
                       "list takes no rule, and prints all of them: leave out "
                       "\"%.60s\"",
                       a->rule.item[0]);
    if (!c->welcome)
        return um_fail(err, UMBEL_E_REFUSED,
                       "the settings name no welcome file: add welcome = "
                       "\"FILE\" to %s",
                       a->config ? a->config : "a file for --config");
    if (strcmp(a->action, "add") == 0)
        return change_rule(args, c, um_welcome_add, err);
    if (strcmp(a->action, "remove") == 0)
        return change_rule(args, c, um_welcome_remove, err);
    if (strcmp(a->action, "list") == 0)
        return um_welcome_each(c->welcome, print_rule, &copy, err);
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "\"%.60s\" is not known: give add RULE, remove RULE or list",
                   a->action);
}

static int run(const um_args *args)
{
    const welcome_args *a = args->values;
    um_config c = {0};
    umbel_error err;
    umbel_status status = um_load_config(&c, a->config, &err);

    if (status == UMBEL_OK)
        status = run_action(args, &c, &err);
    um_config_fini(&c);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_clearinghouse_cmd_welcome = {
    .name = "clearinghouse welcome",
    .summary = "add, remove or list rules for mail that is never a hit",
    .details = "A rule is a word and a value: sender, from, list-id, client or "
               "digest; see umbel-clearinghouse.conf(5). Comments in the file "
               "stay. The running server takes the change at once.",
    .example = "add list-id news.example.org",
    .manual = "8 System Administration",
    .values_len = sizeof(welcome_args),
    .options = {{options, .base = 0}},
    .operands = {{"add|remove|list", UM_TEXT, offsetof(welcome_args, action),
                  .min = 1, .example = "list"},
                 {"RULE", UM_LIST, offsetof(welcome_args, rule), .min = 0}},
    .run = run,
};
