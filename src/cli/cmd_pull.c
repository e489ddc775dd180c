/*
 * cmd_pull.c - umbel pull: have what somebody publishes, for few bytes.
 */
#include "base/error.h"
#include "cli/files.h"
#include "cli/puller.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const um_option options[] = {
    {"output", 'o', "FILE",
     "the filter here; what is there is brought up to date"},
    {"trust", 0, "KEY", "only what this key signed: a file, or 64 digits"},
    {"max-error", 0, "P", "refuse a filter that errs more"},
    {"max-bytes", 0, "N", "refuse a larger filter (default 1GiB)"},
    {"ca", 0, "FILE", "whose certificates https may have (PEM)"},
    {"watch", 0, "S", "go on, asking every S seconds"},
    {0}};

/* Nobody named it, and none signed before. */
static bool is_new_key(const um_puller *p)
{
    return !p->trust && !p->last.is_signed;
}

static void report(const um_args *args, const um_puller *p)
{
    umbel_info info = {0};
    uint64_t full = p->manifest.filter.len;
    const char *how = p->route.current    ? "current"
                      : p->route.by_steps ? "differences"
                                          : "whole";

    if (um_has(args, "json")) {
        um_info_text(&info, "file", p->path);
        um_info_count(&info, "serial", p->manifest.serial);
        um_info_text(&info, "how", how);
        um_info_count(&info, "bytes", full);
        um_info_count(&info, "moved", p->moved);
        um_info_flag(&info, "signed", p->manifest.is_signed);
        um_print_json(stdout, &info);
    } else if (!um_has(args, "quiet")) {
        um_print_path(stdout, p->path);
        printf("serial %" PRIu64 ", ", p->manifest.serial);
        if (p->route.current)
            printf("nothing to fetch (moved %s bytes)",
                   um_grouped(p->moved).text);
        else
            printf("moved %s bytes%s%s", um_grouped(p->moved).text,
                   p->route.by_steps ? " instead of " : ", the whole file",
                   p->route.by_steps ? um_grouped(full).text : "");
        puts(!p->manifest.is_signed ? ", not signed"
             : is_new_key(p)        ? ", signed; its key is trusted from now on"
                                    : ", signed");
    }
    fflush(stdout);
}

/* At once, also amid a transfer: what kills us at any moment does no harm. */
static void stop(int number)
{
    (void)number;
    _exit(UM_EXIT_FINE);
}

static void await_signals(void)
{
    struct sigaction action = {.sa_handler = stop};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Trouble is told and tried again: a reader outlives its server's bad days. */
static _Noreturn void watch(const um_args *args, um_puller *p, uint64_t seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds};
    umbel_error err;

    await_signals();
    for (;;) {
        if (um_puller_round(p, &err) != UMBEL_OK)
            um_trouble(args, &err);
        else if (!p->route.current)
            report(args, p);
        nanosleep(&pause, NULL);
    }
}

static umbel_status take_options(const um_args *args, um_puller *p,
                                 uint8_t trust[UM_TRUST_KEY_LEN],
                                 uint64_t *seconds, umbel_error *err)
{
    const char *key = um_value(args, "trust");

    p->ca = um_value(args, "ca");
    p->wants = (umbel_admission)UMBEL_ADMISSION_INIT;
    p->wants.max_bytes = (uint64_t)1 << 30;
    p->source = (umbel_source)UMBEL_SOURCE_INIT;
    umbel_status status =
        um_value_share(args, "max-error", &p->wants.max_error, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "max-bytes", &p->wants.max_bytes, err);
    if (status == UMBEL_OK)
        status =
            um_value_count(args, "max-memory", &p->source.memory_limit, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "watch", seconds, err);
    if (status == UMBEL_OK && um_has(args, "watch") &&
        (*seconds < 1 || *seconds > 1000000))
        status = um_fail(err, UMBEL_E_RANGE, "--watch is 1 to 1000000 seconds");
    if (status == UMBEL_OK && key) {
        status = um_read_trust_key(key, trust, err);
        p->trust = trust;
    }
    return status;
}

/* Refused is an answer, 1: what came is not to be believed. Trouble is 2. */
static int conclude(const um_args *args, const um_puller *p,
                    umbel_status status, const umbel_error *err)
{
    if (status == UMBEL_OK) {
        report(args, p);
        return UM_EXIT_FINE;
    }
    int code = um_trouble(args, err);
    return status == UMBEL_E_REFUSED || status == UMBEL_E_CHECKSUM ||
                   status == UMBEL_E_LIMIT
               ? UM_EXIT_NO
               : code;
}

static int run(const um_args *args)
{
    uint8_t trust[UM_TRUST_KEY_LEN];
    const char *path = um_value(args, "output");
    um_puller p = {0};
    uint64_t seconds = 0;
    umbel_error err;

    if (args->noperands != 1 || !path)
        return um_misuse(args, "give one address, and where to: -o FILE");
    if (strcmp(path, "-") == 0)
        return um_misuse(args, "what is pulled is kept in a file: -o FILE");
    if (sodium_init() < 0) /* without it digests take half as long again */
        return um_misuse(args, "the system gives no random numbers");
    umbel_status status = take_options(args, &p, trust, &seconds, &err);
    if (status == UMBEL_OK)
        status = um_puller_init(&p, args->operands[0], path, &err);
    if (status != UMBEL_OK)
        return um_trouble(args, &err);
    if (seconds)
        watch(args, &p, seconds);
    status = um_puller_round(&p, &err);
    return conclude(args, &p, status, &err);
}

const um_command um_cmd_pull = {
    .name = "pull",
    .args = "ADDRESS -o FILE",
    .summary = "fetch a published filter, or what changed in it",
    .options = {options, um_memory_options},
    .example = "file://$PWD/shelf/words -o copy.umb --trust key.pub",
    .details = "ADDRESS is http://, https:// or file://, up to the filter's "
               "name, without .umb. FILE.pull remembers the last pull: keep it "
               "beside FILE. Ends with 1 when what was fetched is refused.",
    .run = run,
};
