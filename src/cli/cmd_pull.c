/*
 * cmd_pull.c - umbel pull: keep a copy of a published filter up to date.
 */
#include "base/error.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"

#include <umbel/fetch.h>

#include <inttypes.h>
#include <signal.h>
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

/* The command line, as the library takes it. */
typedef struct pulling {
    uint8_t trust[UMBEL_TRUST_KEY_LEN];
    umbel_admission wants;
    umbel_pull_params params;
    umbel_fetch_params fetch;
    umbel_store store;
    uint64_t seconds; /* between two rounds; 0: one round */
} pulling;

static void report(const um_args *args, const umbel_pulled *p)
{
    static const char *const how[] = {[UMBEL_PULL_CURRENT] = "current",
                                      [UMBEL_PULL_STEPS] = "differences",
                                      [UMBEL_PULL_WHOLE] = "whole"};
    umbel_info info = {0};
    const char *path = um_value(args, "output");
    bool steps = p->route == UMBEL_PULL_STEPS;

    if (um_has(args, "json")) {
        um_info_text(&info, "file", path);
        um_info_count(&info, "serial", p->serial);
        um_info_text(&info, "how", how[p->route]);
        um_info_count(&info, "bytes", p->bytes);
        um_info_count(&info, "moved", p->moved);
        um_info_flag(&info, "signed", p->is_signed);
        um_print_json(stdout, &info);
    } else if (!um_has(args, "quiet")) {
        um_print_path(stdout, path);
        printf("serial %" PRIu64 ", ", p->serial);
        if (p->route == UMBEL_PULL_CURRENT)
            printf("nothing to fetch (moved %s bytes)",
                   um_grouped(p->moved).text);
        else
            printf("moved %s bytes%s%s", um_grouped(p->moved).text,
                   steps ? " instead of " : ", the whole file",
                   steps ? um_grouped(p->bytes).text : "");
        puts(!p->is_signed ? ", not signed"
             : p->new_key  ? ", signed; its key is trusted from now on"
                           : ", signed");
    }
    fflush(stdout);
}

/* Ends at once, also amid a transfer: a reader can be killed at any moment. */
static void stop(int number)
{
    (void)number;
    _exit(UM_EXIT_FINE);
}

/* Reports trouble and tries again: a reader outlives its server's bad days. */
static _Noreturn void watch(const um_args *args, umbel_puller *p,
                            uint64_t seconds)
{
    struct sigaction action = {.sa_handler = stop};
    struct timespec pause = {.tv_sec = (time_t)seconds};
    umbel_pulled pulled;
    umbel_error err;

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    for (;;) {
        if (umbel_pull_round(p, (uint64_t)time(NULL), &pulled, &err))
            um_trouble(args, &err);
        else if (pulled.route != UMBEL_PULL_CURRENT)
            report(args, &pulled);
        nanosleep(&pause, NULL);
    }
}

static umbel_status take_options(const um_args *args, pulling *p,
                                 umbel_error *err)
{
    const char *key = um_value(args, "trust");

    p->wants = (umbel_admission)UMBEL_ADMISSION_INIT;
    p->params = (umbel_pull_params)UMBEL_PULL_INIT;
    p->params.url = args->operands[0];
    p->params.wants = &p->wants;
    p->fetch.ca = um_value(args, "ca");
    UM_TRY(um_value_share(args, "max-error", &p->wants.max_error, err));
    UM_TRY(um_value_count(args, "max-bytes", &p->wants.max_bytes, err));
    UM_TRY(um_value_count(args, "max-memory", &p->params.memory_limit, err));
    UM_TRY(um_value_count(args, "watch", &p->seconds, err));
    if (um_has(args, "watch") && (p->seconds < 1 || p->seconds > 1000000))
        return um_fail(err, UMBEL_E_RANGE, "--watch is 1 to 1000000 seconds");
    if (key) {
        UM_TRY(umbel_trust_key_load(key, p->trust, err));
        p->params.trust_key = p->trust;
    }
    return umbel_store_file(um_value(args, "output"), &p->store, err);
}

/* Returns 1 when the filter was refused, 2 for other trouble. */
static int conclude(const um_args *args, umbel_status status, umbel_error *err)
{
    umbel_error said = *err;

    if (err->detail == UMBEL_D_MEMORY_LIMIT)
        um_set_error(err, status,
                     "%.180s: allow more by --max-memory, if you trust it",
                     said.text);
    int code = um_trouble(args, err);
    return status == UMBEL_E_REFUSED || status == UMBEL_E_CHECKSUM ||
                   status == UMBEL_E_LIMIT
               ? UM_EXIT_NO
               : code;
}

static int run(const um_args *args)
{
    const char *path = um_value(args, "output");
    umbel_puller *puller = NULL;
    umbel_pulled pulled;
    umbel_error err = {.status = UMBEL_OK};
    pulling p = {.seconds = 0};
    umbel_fetcher fetcher = umbel_fetch_curl(&p.fetch);

    if (args->noperands != 1 || !path)
        return um_misuse(args, "give one address, and where to: -o FILE");
    if (strcmp(path, "-") == 0)
        return um_misuse(args, "what is pulled is kept in a file: -o FILE");
    umbel_status status = take_options(args, &p, &err);
    if (status == UMBEL_OK)
        status = umbel_pull_open(&p.params, &fetcher, &p.store, &puller, &err);
    if (status == UMBEL_OK && p.seconds)
        watch(args, puller, p.seconds);
    if (status == UMBEL_OK)
        status = umbel_pull_round(puller, (uint64_t)time(NULL), &pulled, &err);
    umbel_pull_close(puller);
    umbel_store_close(&p.store);
    if (status != UMBEL_OK)
        return conclude(args, status, &err);
    report(args, &pulled);
    return UM_EXIT_FINE;
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
