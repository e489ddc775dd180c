/*
 * cmd_report.c - umbel clearinghouse report, revoke: one mail, all lists.
 */
#include "clearinghouse/admin/ask.h"
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/admin/requests.h"

#include "base/error.h"

#include <stdlib.h>

typedef struct report_args {
    const char *config, *mail;
} report_args;

static const um_option options[] = {UM_SERVER_CONFIG(report_args), {0}};

static umbel_status ask(const um_args *args, const char *request, char *bytes,
                        umbel_error *err)
{
    const report_args *a = args->values;
    char line[32];
    size_t len;

    UM_TRY(um_read_mail(a->mail, bytes, &len, err));
    snprintf(line, sizeof line, "%s%s", request,
             args->common.json ? " --json" : "");
    return um_ask(a->config, line, (umbel_slice){bytes, len},
                  args->common.quiet ? NULL : stdout, err);
}

static int run(const um_args *args, const char *request)
{
    char *bytes = malloc(UM_REQUEST_MAIL);
    umbel_error err;

    if (!bytes) {
        um_set_error(&err, UMBEL_E_NOMEM, "no memory for a mail");
        return um_trouble(args, &err);
    }
    umbel_status status = ask(args, request, bytes, &err);
    free(bytes);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

static int run_report(const um_args *args)
{
    return run(args, "report");
}

static int run_revoke(const um_args *args)
{
    return run(args, "revoke");
}

#define MAIL_COMMAND                                                           \
    .example = "spam.eml", .manual = "8 System Administration",                \
    .values_len = sizeof(report_args), .options = {{options, .base = 0}},      \
    .operands = {                                                              \
        {"MAIL", UM_TEXT, offsetof(report_args, mail), UM_INPUT, .min = 0}}

const um_command um_clearinghouse_cmd_report = {
    .name = "clearinghouse report",
    .summary = "report a mail as spam, to the clients of all fronts",
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
