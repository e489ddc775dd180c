/*
 * cmd_why.c - umbel clearinghouse why: what the server knows about a mail.
 */
#include "clearinghouse/admin/ask.h"
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/admin/requests.h"
#include "net/server/address.h"
#include "net/server/control.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct why_args {
    const char *config, *mail, *sender, *client;
    um_list digests;
} why_args;

/* Modes of the command. */
enum { MAIL, DIGESTS };

static const um_option options[] = {
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

/* Writes the digests, one a line; false: too many. */
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

static umbel_status ask_why(const um_args *args, char *bytes, umbel_error *err)
{
    const why_args *a = args->values;
    char line[UM_CONTROL_LINE];
    size_t len;

    if (!a->digests.n)
        UM_TRY(um_read_mail(a->mail, bytes, &len, err));
    else if (!join_digests(&a->digests, bytes, &len))
        return um_fail(err, UMBEL_E_LIMIT, "too many digests at once");
    UM_TRY(check_sender(a->sender, err));
    UM_TRY(check_client(a->client, err));
    snprintf(line, sizeof line, "%s%s%s%s%s%s%s%s",
             a->digests.n ? "why-digest" : "why",
             args->common.json ? " --json" : "", a->sender ? " --sender=" : "",
             a->sender ? a->sender : "", a->client ? " --client=" : "",
             a->client ? a->client : "", a->config ? " --config=" : "",
             a->config ? a->config : "");
    return um_ask(a->config, line, (umbel_slice){bytes, len},
                  args->common.quiet ? NULL : stdout, err);
}

static int run(const um_args *args)
{
    char *bytes = malloc(UM_REQUEST_MAIL);
    umbel_error err;

    if (!bytes) {
        um_set_error(&err, UMBEL_E_NOMEM, "no memory for a mail");
        return um_trouble(args, &err);
    }
    umbel_status status = ask_why(args, bytes, &err);
    free(bytes);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
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
    .options = {{options, .base = 0}},
    .operands = {{"MAIL", UM_TEXT, offsetof(why_args, mail), UM_INPUT,
                  .modes = UM_MODE(MAIL)}},
    .modes = {{"without --digest", ""},
              {"with --digest",
               "--digest da39a3ee5e6b4b0d3255bfef95601890afd80709"}},
    .mode = why_mode,
    .run = run,
};
