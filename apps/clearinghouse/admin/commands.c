/*
 * commands.c - the operator's commands. Each parses its arguments, sends one
 * request to the running server, and prints the reply.
 *
 * The commands import and shape do more, and have their own files.
 */
#include "clearinghouse/admin/commands.h"

#include "base/error.h"
#include "base/text.h"
#include "clearinghouse/admin/doctor.h"
#include "clearinghouse/admin/internal.h"
#include "clearinghouse/lists/welcome.h"
#include "clearinghouse/runtime/digest_text.h"
#include "cli/framework/report.h"
#include "net/server/address.h"

#include <stdlib.h>
#include <string.h>

#define ROW(name) &um_clearinghouse_cmd_##name,
const um_command *const um_clearinghouse_commands[] = {
    UM_CLEARINGHOUSE_COMMANDS(ROW) NULL};

static int exit_code(const um_args *args, umbel_status status,
                     const umbel_error *err)
{
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, err);
}

/* Sends a request to the server that this configuration describes, and prints
 * the reply. */
static umbel_status send_request(const um_args *args, const char *config,
                                 const char *line, umbel_slice bytes,
                                 umbel_error *err)
{
    um_config c;

    UM_TRY(um_load_config(&c, config, err));
    umbel_status status = um_admin_query(
        &c, line, bytes, args->common.quiet ? NULL : stdout, err);
    um_config_fini(&c);
    return status;
}

/* Arguments of the commands that have only --config. */
typedef struct plain_args {
    const char *config;
} plain_args;

static const um_option plain_options[] = {UM_SERVER_CONFIG(plain_args), {0}};

/* --- status, peers -------------------------------------------------------- */

static int print_document(const um_args *args, const char *name)
{
    const plain_args *a = args->values;
    umbel_error err;
    char line[32];

    snprintf(line, sizeof line, "%s%s", name,
             args->common.json ? " --json" : "");
    umbel_status status =
        send_request(args, a->config, line, (umbel_slice){NULL, 0}, &err);
    return exit_code(args, status, &err);
}

static int run_status(const um_args *args)
{
    return print_document(args, "status");
}

const um_command um_clearinghouse_cmd_status = {
    .name = "clearinghouse status",
    .summary = "print the state of the running server",
    .example = "--json",
    .manual = "8 System Administration",
    .values_len = sizeof(plain_args),
    .options = {{plain_options, .base = 0}},
    .run = run_status,
};

static int run_peers(const um_args *args)
{
    return print_document(args, "peers");
}

const um_command um_clearinghouse_cmd_peers = {
    .name = "clearinghouse peers",
    .summary = "list peers and origins, what they sent and how far behind they "
               "are",
    .details = "An origin is a server whose reports count here; its name is "
               "its public key, of which the first digits are printed.",
    .example = "--json",
    .manual = "8 System Administration",
    .values_len = sizeof(plain_args),
    .options = {{plain_options, .base = 0}},
    .run = run_peers,
};

/* --- doctor --------------------------------------------------------------- */

static int run_doctor(const um_args *args)
{
    const plain_args *a = args->values;
    um_doctor *d = malloc(sizeof *d);
    umbel_error err = {.text = "no memory"};
    um_config c;

    if (!d || um_load_config(&c, a->config, &err) != UMBEL_OK) {
        free(d);
        return um_trouble(args, &err);
    }
    um_doctor_run(d, &c, a->config);
    if (args->common.json)
        um_doctor_print_json(stdout, d);
    else if (!args->common.quiet)
        um_doctor_print_text(stdout, d);
    int code = um_doctor_is_well(d) ? UM_EXIT_FINE : UM_EXIT_TROUBLE;
    um_config_fini(&c);
    free(d);
    return code;
}

const um_command um_clearinghouse_cmd_doctor = {
    .name = "clearinghouse doctor",
    .summary = "try every protocol as a client does, and report what is broken",
    .details =
        "One line for each address of the configuration: works, limited or "
        "broken, why, and what to do. Nothing that it sends is counted. The "
        "exit status is 2 if something is broken.",
    .example = "--config /etc/umbel-clearinghouse.conf",
    .manual = "8 System Administration",
    .values_len = sizeof(plain_args),
    .options = {{plain_options, .base = 0}},
    .run = run_doctor,
};

/* --- requests with a mail ------------------------------------------------- */

/* Reads the beginning of a mail, as much as workers read, into UM_REQUEST_MAIL
 * bytes. path NULL or "-" means standard input. E_RANGE if it is empty. */
static umbel_status read_mail(const char *path, char *bytes, size_t *len,
                              umbel_error *err)
{
    bool standard = !path || strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "re");

    if (!in)
        return um_fail_path(err, path);
    *len = fread(bytes, 1, UM_REQUEST_MAIL, in);
    umbel_status status =
        ferror(in) ? um_fail_path(err, path ? path : "-") : UMBEL_OK;
    if (!standard)
        fclose(in);
    if (status == UMBEL_OK && *len == 0)
        return um_fail(err, UMBEL_E_RANGE, "the mail is empty");
    return status;
}

/* Runs a command that needs a buffer of UM_REQUEST_MAIL bytes. */
static int run_with_buffer(const um_args *args, const char *request,
                           umbel_status (*run)(const um_args *args,
                                               const char *request, char *bytes,
                                               umbel_error *err))
{
    char *bytes = malloc(UM_REQUEST_MAIL);
    umbel_error err;

    if (!bytes) {
        um_set_error(&err, UMBEL_E_NOMEM, "no memory for a mail");
        return um_trouble(args, &err);
    }
    umbel_status status = run(args, request, bytes, &err);
    free(bytes);
    return exit_code(args, status, &err);
}

/* --- why ------------------------------------------------------------------ */

typedef struct why_args {
    const char *config, *mail, *sender, *client;
    um_list digests;
} why_args;

/* Modes of why. */
enum { MAIL, DIGESTS };

static const um_option why_options[] = {
    UM_SERVER_CONFIG(why_args),
    {"digest", 0, "DIGEST",
     "ask about a digest, without its mail; may be repeated",
     UM_TARGET(why_args, digests)},
    {"sender", 0, "ADDRESS", "envelope sender of the mail, for welcome rules",
     UM_TARGET(why_args, sender), .modes = UM_MODE(MAIL)},
    {"client", 0, "IP",
     "client of the mail, for welcome rules, instead of the one in Received:",
     UM_TARGET(why_args, client), .modes = UM_MODE(MAIL)},
    {0}};

static unsigned why_mode(const void *values)
{
    return ((const why_args *)values)->digests.n ? UM_MODE(DIGESTS)
                                                 : UM_MODE(MAIL);
}

/* Joins the digests, one per line, in a buffer of UM_REQUEST_DIGESTS bytes;
 * false if they do not fit. */
static bool join_digests(const um_list *digests, char *out, size_t *len)
{
    *len = 0;
    for (size_t i = 0; i < digests->n; i++) {
        size_t n = strlen(digests->item[i]);
        if (n + 1 > UM_REQUEST_DIGESTS - *len)
            return false;
        memcpy(out + *len, digests->item[i], n);
        out[*len + n] = '\n';
        *len += n + 1;
    }
    return true;
}

static umbel_status check_sender(const char *value, umbel_error *err)
{
    if (!value || strcmp(value, "<>") == 0 ||
        (strchr(value, '@') && !strpbrk(value, " \t\n")))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "--sender: \"%.60s\" is no address such as "
                   "news@example.org",
                   value);
}

static umbel_status check_client(const char *value, umbel_error *err)
{
    um_network n;
    unsigned bits;

    if (!value || (!strchr(value, '/') &&
                   um_network_parse(value, &n, &bits, NULL) == UMBEL_OK))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "--client: \"%.60s\" is no IP address such as 192.0.2.7",
                   value);
}

static umbel_status request_why(const um_args *args, const char *request,
                                char *bytes, umbel_error *err)
{
    const why_args *a = args->values;
    char line[UM_CONTROL_LINE];
    size_t len;

    if (!a->digests.n)
        UM_TRY(read_mail(a->mail, bytes, &len, err));
    else if (!join_digests(&a->digests, bytes, &len))
        return um_fail(err, UMBEL_E_LIMIT, "too many digests at once");
    UM_TRY(check_sender(a->sender, err));
    UM_TRY(check_client(a->client, err));
    snprintf(line, sizeof line, "%s%s%s%s%s%s%s%s%s", request,
             a->digests.n ? "-digest" : "", args->common.json ? " --json" : "",
             a->sender ? " --sender=" : "", a->sender ? a->sender : "",
             a->client ? " --client=" : "", a->client ? a->client : "",
             a->config ? " --config=" : "", a->config ? a->config : "");
    return send_request(args, a->config, line, (umbel_slice){bytes, len}, err);
}

static int run_why(const um_args *args)
{
    return run_with_buffer(args, "why", request_why);
}

const um_command um_clearinghouse_cmd_why = {
    .name = "clearinghouse why",
    .summary = "explain why a mail is a hit, and how to take it back",
    .details =
        "MAIL is a file, standard input without it. Printed are the text that "
        "the signatures saw, each signature with its counts, the welcome rule "
        "that matches, and the commands that take the mail back.",
    .example = "newsletter.eml",
    .manual = "8 System Administration",
    .values_len = sizeof(why_args),
    .options = {{why_options, .base = 0}},
    .operands = {{"MAIL", UM_TEXT, offsetof(why_args, mail), UM_INPUT,
                  .modes = UM_MODE(MAIL)}},
    .modes = {{"without --digest", ""},
              {"with --digest",
               "--digest da39a3ee5e6b4b0d3255bfef95601890afd80709"}},
    .mode = why_mode,
    .run = run_why,
};

/* --- report, revoke ------------------------------------------------------- */

typedef struct report_args {
    const char *config, *mail;
} report_args;

static const um_option report_options[] = {UM_SERVER_CONFIG(report_args), {0}};

static umbel_status request_report(const um_args *args, const char *request,
                                   char *bytes, umbel_error *err)
{
    const report_args *a = args->values;
    char line[32];
    size_t len;

    UM_TRY(read_mail(a->mail, bytes, &len, err));
    snprintf(line, sizeof line, "%s%s", request,
             args->common.json ? " --json" : "");
    return send_request(args, a->config, line, (umbel_slice){bytes, len}, err);
}

static int run_report(const um_args *args)
{
    return run_with_buffer(args, "report", request_report);
}

static int run_revoke(const um_args *args)
{
    return run_with_buffer(args, "revoke", request_report);
}

#define MAIL_COMMAND                                                           \
    .example = "spam.eml", .manual = "8 System Administration",                \
    .values_len = sizeof(report_args),                                         \
    .options = {{report_options, .base = 0}},                                  \
    .operands = {                                                              \
        {"MAIL", UM_TEXT, offsetof(report_args, mail), UM_INPUT, .min = 0}}

const um_command um_clearinghouse_cmd_report = {
    .name = "clearinghouse report",
    .summary = "report a mail as spam, to the clients of all protocols",
    .details =
        "MAIL is a file, standard input without it. The server computes the "
        "signatures itself: Pyzor's counts once, those of dccifd count as "
        "often as makes the mail bulk. For junk folders, spam traps and "
        "scripts.",
    MAIL_COMMAND,
    .run = run_report,
};

const um_command um_clearinghouse_cmd_revoke = {
    .name = "clearinghouse revoke",
    .summary = "take a mail back that was reported by mistake",
    .details =
        "MAIL is a file, standard input without it. All its signatures that "
        "have a count are forgotten, as by umbel clearinghouse forget.",
    MAIL_COMMAND,
    .run = run_revoke,
};

/* --- forget --------------------------------------------------------------- */

typedef struct forget_args {
    const char *config;
    bool undo, revoked, list;
    um_list digests;
} forget_args;

/* Modes of forget. */
enum { FORGET, LIST };

static const um_option forget_options[] = {
    UM_SERVER_CONFIG(forget_args),
    {"undo", 0, NULL, "let the counts of these digests hold again",
     UM_TARGET(forget_args, undo), .modes = UM_MODE(FORGET)},
    {"revoked", 0, NULL,
     "forget only that clients revoked or whitelisted these digests",
     UM_TARGET(forget_args, revoked), .modes = UM_MODE(FORGET)},
    {"list", 0, NULL, "print what is forgotten, and since when",
     UM_TARGET(forget_args, list)},
    {0}};

static unsigned forget_mode(const void *values)
{
    return ((const forget_args *)values)->list ? UM_MODE(LIST)
                                               : UM_MODE(FORGET);
}

static umbel_status request_forget(const um_args *args, umbel_error *err)
{
    const forget_args *a = args->values;
    const char *json = args->common.json ? " --json" : "";
    char line[32], text[UM_REQUEST_DIGESTS];
    size_t len = 0;

    if (!a->list && !a->digests.n)
        return um_fail(err, UMBEL_E_RANGE,
                       "name a digest, as umbel clearinghouse why prints it");
    if (!join_digests(&a->digests, text, &len))
        return um_fail(err, UMBEL_E_LIMIT,
                       "too many digests at once: at most %d",
                       UM_REQUEST_DIGESTS / UM_DIGEST_TEXT);
    snprintf(line, sizeof line, "%s%s",
             a->list      ? "forgotten"
             : a->undo    ? "forget-undo"
             : a->revoked ? "forget-revoked"
                          : "forget",
             json);
    return send_request(args, a->config, line,
                        (umbel_slice){a->list ? NULL : text, len}, err);
}

static int run_forget(const um_args *args)
{
    umbel_error err;

    return exit_code(args, request_forget(args, &err), &err);
}

const um_command um_clearinghouse_cmd_forget = {
    .name = "clearinghouse forget",
    .summary = "take digests back: clients get a count of 0",
    .details =
        "A forgotten digest has no count and is not counted, until the epochs "
        "that held its counts are gone; what is reported meanwhile does not "
        "count. To let mail through for good, use umbel clearinghouse "
        "welcome.",
    .example = "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    .manual = "8 System Administration",
    .values_len = sizeof(forget_args),
    .options = {{forget_options, .base = 0}},
    .operands = {{"DIGEST", UM_LIST, offsetof(forget_args, digests),
                  .modes = UM_MODE(FORGET),
                  .example = "da39a3ee5e6b4b0d3255bfef95601890afd80709"}},
    .modes = {{"without --list", ""}, {"with --list", "--list"}},
    .mode = forget_mode,
    .run = run_forget,
};

/* --- drop, mute, allow ---------------------------------------------------- */

typedef struct origin_args {
    const char *config, *origin;
    bool notice;
} origin_args;

static const um_option origin_options[] = {UM_SERVER_CONFIG(origin_args), {0}};

static const um_option drop_options[] = {
    UM_SERVER_CONFIG(origin_args),
    {"notice", 0, NULL,
     "announce it to the other servers, which follow if their drop_quorum is "
     "reached",
     UM_TARGET(origin_args, notice)},
    {0}};

static umbel_status request_change(const um_args *args, const char *verb,
                                   umbel_error *err)
{
    const origin_args *a = args->values;
    char line[64];

    if (!a->origin)
        return um_fail(err, UMBEL_E_RANGE,
                       "name an origin, as umbel clearinghouse peers lists "
                       "them");
    snprintf(line, sizeof line, "%s%s%s", verb,
             args->common.json ? " --json" : "", a->notice ? " --notice" : "");
    return send_request(args, a->config, line,
                        (umbel_slice){a->origin, strlen(a->origin)}, err);
}

static int change_origin(const um_args *args, const char *verb)
{
    umbel_error err;

    return exit_code(args, request_change(args, verb, &err), &err);
}

static int run_drop(const um_args *args)
{
    return change_origin(args, "drop");
}

static int run_mute(const um_args *args)
{
    return change_origin(args, "mute");
}

static int run_allow(const um_args *args)
{
    return change_origin(args, "allow");
}

#define ORIGIN                                                                 \
    {                                                                          \
        {                                                                      \
            "ORIGIN", UM_TEXT, offsetof(origin_args, origin),                  \
                .example = "north"                                             \
        }                                                                      \
    }

const um_command um_clearinghouse_cmd_drop = {
    .name = "clearinghouse drop",
    .summary = "remove all reports of an origin, and refuse it from now on",
    .details = "ORIGIN is the name of a peer, a public key, or the first "
               "digits of one. Counts are then as if it had never reported. "
               "umbel clearinghouse allow takes it back; peers then send "
               "its reports again.",
    .example = "north",
    .manual = "8 System Administration",
    .values_len = sizeof(origin_args),
    .options = {{drop_options, .base = 0}},
    .operands = ORIGIN,
    .run = run_drop,
};

const um_command um_clearinghouse_cmd_mute = {
    .name = "clearinghouse mute",
    .summary = "leave an origin out of all answers, but keep its reports",
    .details = "ORIGIN is the name of a peer, a public key, or the first "
               "digits of one. Its reports are still accepted and forwarded.",
    .example = "north",
    .manual = "8 System Administration",
    .values_len = sizeof(origin_args),
    .options = {{origin_options, .base = 0}},
    .operands = ORIGIN,
    .run = run_mute,
};

const um_command um_clearinghouse_cmd_allow = {
    .name = "clearinghouse allow",
    .summary = "count an origin that was dropped or muted again",
    .details = "ORIGIN is the name of a peer, a public key, or the first "
               "digits of one. With the setting strict, only such origins and "
               "peers count.",
    .example = "north",
    .manual = "8 System Administration",
    .values_len = sizeof(origin_args),
    .options = {{origin_options, .base = 0}},
    .operands = ORIGIN,
    .run = run_allow,
};

/* --- welcome -------------------------------------------------------------- */

typedef struct welcome_args {
    const char *config;
    const char *action;
    um_list rule;
} welcome_args;

static const um_option welcome_options[] = {UM_SERVER_CONFIG(welcome_args),
                                            {0}};

/* Reads the rule, which may be one argument or several. */
static umbel_status rule_from_args(const welcome_args *a, um_welcome_rule *out,
                                   umbel_error *err)
{
    char line[UM_WELCOME_LINE] = "";
    size_t len = 0;
    bool found;

    for (size_t i = 0; i < a->rule.n && len < sizeof line; i++)
        len += (size_t)snprintf(line + len, sizeof line - len, "%s ",
                                a->rule.item[i]);
    UM_TRY(um_welcome_rule_read((umbel_slice){line, strlen(line)}, out, &found,
                                err));
    return found ? UMBEL_OK
                 : um_fail(err, UMBEL_E_RANGE,
                           "give a rule of two words, such as: welcome %s "
                           "list-id news.example.org",
                           a->action);
}

/* Returns true if sentences are printed: without --quiet and --json. */
static bool prints_text(const um_args *args)
{
    return !args->common.quiet && !args->common.json;
}

/* Makes a running server read the file again. A server that does not run
 * reads it when it starts. */
static umbel_status reload_server(const um_args *args, const um_config *c,
                                  umbel_error *err)
{
    umbel_error why;
    umbel_status status =
        um_admin_query(c, "welcome reload", (umbel_slice){NULL, 0},
                       prints_text(args) ? stdout : NULL, &why);

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
    um_json_text(stdout, r->value);
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
    if (prints_text(args))
        printf("%s: %s ", c->welcome,
               edit == um_welcome_add ? "added" : "removed");
    print_rule(&copy, &r);
    return reload_server(args, c, err);
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
    return um_fail(
        err, UMBEL_E_UNKNOWN,
        "unknown action \"%.60s\": give add RULE, remove RULE or list",
        a->action);
}

static int run_welcome(const um_args *args)
{
    const welcome_args *a = args->values;
    um_config c = {0};
    umbel_error err;
    umbel_status status = um_load_config(&c, a->config, &err);

    if (status == UMBEL_OK)
        status = run_action(args, &c, &err);
    um_config_fini(&c);
    return exit_code(args, status, &err);
}

const um_command um_clearinghouse_cmd_welcome = {
    .name = "clearinghouse welcome",
    .summary = "add, remove or list rules for mail that is never a hit",
    .details = "A rule is a word and a value: sender, from, list-id, client or "
               "digest; see umbel-clearinghouse.conf(5). Comments in the file "
               "stay. The running server applies the change at once.",
    .example = "add list-id news.example.org",
    .manual = "8 System Administration",
    .values_len = sizeof(welcome_args),
    .options = {{welcome_options, .base = 0}},
    .operands = {{"add|remove|list", UM_TEXT, offsetof(welcome_args, action),
                  .min = 1, .example = "list"},
                 {"RULE", UM_LIST, offsetof(welcome_args, rule), .min = 0}},
    .run = run_welcome,
};
