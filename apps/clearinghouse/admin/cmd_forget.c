/*
 * cmd_forget.c - umbel clearinghouse forget: take digests back.
 */
#include "clearinghouse/admin/ask.h"
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/admin/requests.h"
#include "clearinghouse/runtime/digest_text.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct forget_args {
    const char *config;
    bool undo, revoked, list;
    um_list digests;
} forget_args;

/* Modes of the command. */
enum { FORGET, LIST };

static const um_option options[] = {
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

/* The digests as the server takes them: one a line. */
static umbel_status ask_digests(const um_args *args, umbel_error *err)
{
    const forget_args *a = args->values;
    char line[32];
    char *text = NULL;
    size_t len = 0;

    if (!a->digests.n)
        return um_fail(err, UMBEL_E_RANGE,
                       "name a digest, as umbel clearinghouse why prints it");
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return um_no_memory(err, 1);
    for (size_t i = 0; i < a->digests.n; i++)
        fprintf(out, "%s\n", a->digests.item[i]);
    fclose(out);
    umbel_status status = UMBEL_E_LIMIT;
    if (len > UM_REQUEST_DIGESTS)
        um_set_error(err, status, "too many digests at once: at most %d",
                     UM_REQUEST_DIGESTS / UM_DIGEST_TEXT);
    else {
        snprintf(line, sizeof line, "%s%s",
                 a->undo      ? "forget-undo"
                 : a->revoked ? "forget-revoked"
                              : "forget",
                 args->common.json ? " --json" : "");
        status = um_ask(a->config, line, (umbel_slice){text, len},
                        args->common.quiet ? NULL : stdout, err);
    }
    free(text);
    return status;
}

static int run(const um_args *args)
{
    const forget_args *a = args->values;
    umbel_error err;
    umbel_status status;

    if (a->list)
        status = um_ask(
            a->config, args->common.json ? "forgotten --json" : "forgotten",
            (umbel_slice){NULL, 0}, args->common.quiet ? NULL : stdout, &err);
    else
        status = ask_digests(args, &err);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_clearinghouse_cmd_forget = {
    .name = "clearinghouse forget",
    .summary = "take digests back: clients are told 0",
    .details =
        "A forgotten digest has no count and is not counted, until the epochs "
        "that held its counts are gone; what is reported meanwhile does not "
        "count. To let mail through for good, use umbel clearinghouse "
        "welcome.",
    .example = "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    .manual = "8 System Administration",
    .values_len = sizeof(forget_args),
    .options = {{options, .base = 0}},
    .operands = {{"DIGEST", UM_LIST, offsetof(forget_args, digests),
                  .modes = UM_MODE(FORGET),
                  .example = "da39a3ee5e6b4b0d3255bfef95601890afd80709"}},
    .modes = {{"without --list", ""}, {"with --list", "--list"}},
    .mode = forget_mode,
    .run = run,
};
