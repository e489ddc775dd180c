/*
 * pull.c - umbel pull: keeps a copy of a published filter up to date.
 */
#include "base/error.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/option_groups.h"
#include "cli/framework/progress.h"
#include "cli/framework/report.h"
#include "publish/publish.h"

#include <umbel/fetch.h>

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct pull_args {
    const char *address, *output, *trust, *ca, *exec;
    um_share max_error;
    um_whole max_bytes, timeout, min_rate, watch;
    um_memory_args memory;
} pull_args;

static const um_option options[] = {
    {"output", 'o', "FILE", "keep the filter in FILE, and bring it up to date",
     UM_TARGET(pull_args, output), .role = UM_OUTPUT, .required = true},
    {"trust", 0, "KEY",
     "accept only what this key signed: a file, or 64 digits",
     UM_TARGET(pull_args, trust)},
    {"max-error", 0, "P", "refuse a filter with a higher false positive rate",
     UM_TARGET(pull_args, max_error)},
    {"max-bytes", 0, "N", "refuse a larger filter (default 1GiB)",
     UM_TARGET(pull_args, max_bytes), .low = 1},
    {"ca", 0, "FILE", "certificate authorities for https (PEM)",
     UM_TARGET(pull_args, ca), .role = UM_INPUT},
    {"timeout", 0, "S", "give a silent server up after S seconds (default 30)",
     UM_TARGET(pull_args, timeout), .low = 1, .high = 1000000},
    {"min-rate", 0, "N",
     "give up a server that sends fewer bytes a second (default 10k)",
     UM_TARGET(pull_args, min_rate), .low = 1, .high = 1e12},
    {"watch", 0, "S", "do not end: look for changes every S seconds",
     UM_TARGET(pull_args, watch), .low = 1, .high = 1000000},
    {"exec", 0, "COMMAND", "run COMMAND after each new filter is in place",
     UM_TARGET(pull_args, exec)},
    {0}};

/* The command line as library parameters. */
typedef struct pulling {
    uint8_t trust[UMBEL_TRUST_KEY_LEN];
    umbel_admission wants;
    umbel_pull_params params;
    umbel_fetch_params fetch;
    umbel_store store;
} pulling;

static void print_pulled(const um_args *args, const umbel_pulled *p, bool again)
{
    static const char *const how[] = {[UMBEL_PULL_CURRENT] = "current",
                                      [UMBEL_PULL_STEPS] = "differences",
                                      [UMBEL_PULL_WHOLE] = "whole"};
    const pull_args *a = args->values;
    um_report r = {0};

    um_report_file(&r, "file", NULL, a->output);
    um_report_count(&r, "serial", NULL, NULL, p->serial);
    um_report_text(&r, "how", "fetched", how[p->route]);
    um_report_count(&r, "bytes", "filter", "bytes", p->bytes);
    um_report_count(&r, "moved", "transferred", "bytes", p->moved);
    um_report_flag(&r, "signed", NULL, p->is_signed);
    if (p->new_key)
        um_report_note(&r, "It is signed with a key that you did not name. "
                           "From now on only this key is trusted.");
    if (again)
        um_report_note(&r, "The command failed, or was not run, after an "
                           "earlier pull: it runs now.");
    um_report_print(args, &r);
    um_report_fini(&r);
    fflush(stdout);
}

/* Runs the command if it is due; its environment names the file and the
 * edition. */
static umbel_status run_command(const pull_args *a, umbel_puller *puller,
                                const umbel_pulled *p, umbel_error *err)
{
    char serial[24];

    if (!a->exec || !um_pull_is_due(puller))
        return UMBEL_OK;
    snprintf(serial, sizeof serial, "%" PRIu64, p->serial);
    if (setenv("UMBEL_FILE", a->output, 1) != 0 ||
        setenv("UMBEL_SERIAL", serial, 1) != 0)
        return um_fail_errno(err, "cannot set the environment");
    um_progress_pause();
    umbel_status status = um_watch_run(a->exec, err);
    um_progress_resume();
    return status ? status : um_pull_done(puller, err);
}

/* Pulls repeatedly. Failures are reported and retried, including those of the
 * command. */
static _Noreturn void watch(const um_args *args, umbel_puller *p)
{
    const pull_args *a = args->values;
    umbel_pulled pulled = {0};
    umbel_error err;
    unsigned failures = 0;

    um_watch_signals();
    um_progress_end(); /* a watcher logs, and mostly waits */
    for (;; um_watch_wait(a->watch.n, failures)) {
        bool fine = !umbel_pull_round(p, (uint64_t)time(NULL), &pulled, &err);
        failures = fine ? 0 : failures + 1;
        if (!fine)
            um_trouble(args, &err);
        if (fine && pulled.route != UMBEL_PULL_CURRENT)
            print_pulled(args, &pulled, false);
        if (fine && run_command(a, p, &pulled, &err))
            um_warn(args, "trying again after the next look: %s", err.text);
    }
}

static umbel_status apply_options(const pull_args *a, pulling *p,
                                  umbel_error *err)
{
    p->wants = (umbel_admission)UMBEL_ADMISSION_INIT;
    p->wants.max_error = a->max_error.x;
    p->wants.max_bytes = a->max_bytes.n;
    p->params = (umbel_pull_params)UMBEL_PULL_INIT;
    p->params.url = a->address;
    p->params.wants = &p->wants;
    p->params.memory_limit = a->memory.max_memory.n;
    p->fetch = (umbel_fetch_params)UMBEL_FETCH_INIT;
    p->fetch.ca = a->ca;
    p->fetch.timeout = a->timeout.n;
    p->fetch.min_rate = a->min_rate.n;
    if (a->trust) {
        UM_TRY(umbel_trust_key_load(a->trust, p->trust, err));
        p->params.trust_key = p->trust;
    }
    return umbel_store_file(a->output, &p->store, err);
}

/* Returns the exit code: 1 if the filter was refused, 2 for other failures. */
static int conclude(const um_args *args, umbel_status status,
                    const umbel_error *err)
{
    int code = um_trouble(args, err);

    return status == UMBEL_E_REFUSED || status == UMBEL_E_CHECKSUM ||
                   status == UMBEL_E_LIMIT
               ? UM_EXIT_NO
               : code;
}

static umbel_status pull(const um_args *args, pulling *p, umbel_error *err)
{
    const pull_args *a = args->values;
    umbel_fetcher fetcher = umbel_fetch_curl(&p->fetch);
    umbel_puller *puller;
    umbel_pulled pulled;

    UM_TRY(apply_options(a, p, err));
    UM_TRY(umbel_pull_open(&p->params, &fetcher, &p->store, &puller, err));
    if (a->exec)
        um_pull_set_command(puller);
    if (a->watch.given)
        watch(args, puller);
    umbel_status status =
        umbel_pull_round(puller, (uint64_t)time(NULL), &pulled, err);
    if (status)
        goto done;
    print_pulled(args, &pulled,
                 a->exec && um_pull_is_due(puller) &&
                     pulled.route == UMBEL_PULL_CURRENT);
    status = run_command(a, puller, &pulled, err);
done:
    umbel_pull_close(puller);
    return status;
}

/* --- redis:// ------------------------------------------------------------- */

/* Returns an option that was given but does not apply to a filter in Redis;
 * NULL if there is none. */
static const char *web_option(const pull_args *a)
{
    return a->trust            ? "--trust"
           : a->ca             ? "--ca"
           : a->min_rate.given ? "--min-rate"
           : a->watch.given    ? "--watch"
           : a->exec           ? "--exec"
                               : NULL;
}

static umbel_status admit(const pull_args *a, const umbel_filter *f,
                          umbel_error *err)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_ruling ruling;

    wants.max_error = a->max_error.x;
    wants.max_bytes = a->max_bytes.n;
    UM_TRY(umbel_admit(f, &wants, &ruling, err));
    if (!ruling.admitted)
        return um_fail(err, UMBEL_E_REFUSED, "%s", ruling.reason[0].text);
    return UMBEL_OK;
}

static umbel_status pull_redis(const um_args *args, umbel_error *err)
{
    const pull_args *a = args->values;
    const um_redis_limits limits = {a->timeout.n, a->max_bytes.n,
                                    a->memory.max_memory.n};
    umbel_pulled pulled = {.route = UMBEL_PULL_WHOLE};
    umbel_filter *f = NULL;

    UM_TRY(um_redis_fetch(a->address, &limits, &f, &pulled.moved, err));
    pulled.bytes = umbel_encoded_len(f);
    umbel_status status = admit(a, f, err);
    if (!status)
        status = um_save_filter(f, a->output, err);
    if (!status)
        print_pulled(args, &pulled, false);
    umbel_close(f);
    return status;
}

static int run_redis(const um_args *args)
{
    const char *option = web_option(args->values);
    umbel_error err;

    if (option)
        return um_misuse(args, "%s has no effect on redis:// addresses",
                         option);
    umbel_status status = pull_redis(args, &err);
    return status ? conclude(args, status, &err) : UM_EXIT_FINE;
}

/* Returns the scheme for an address that looks like a host and a path: it has a
 * port, or a dot, in the first part of a path that does not exist. NULL if it
 * looks like a path. */
static const char *missing_scheme(const char *address)
{
    size_t len = strcspn(address, "/");
    const char *port = memchr(address, ':', len);

    if (*address == '.' || access(address, F_OK) == 0)
        return NULL;
    if (port)
        return "http://";
    return memchr(address, '.', len) ? "https://" : NULL;
}

/* Suggests an address for an argument that looks like a path, or lacks its
 * scheme. */
static int refuse_path(const um_args *args, const char *path)
{
    const char *scheme = missing_scheme(path);
    char here[PATH_MAX] = "";

    if (scheme)
        return um_misuse(args,
                         "%s is not an address: did you mean %s%s? (Addresses "
                         "begin with http://, https:// or file://.)",
                         path, scheme, path);
    if (*path != '/' && !getcwd(here, sizeof here))
        *here = '\0';
    return um_misuse(args,
                     "%s is not an address, which begins with http://, "
                     "https:// or file://: file://%s%s%s",
                     path, here, *here ? "/" : "", path);
}

static int run(const um_args *args)
{
    const pull_args *a = args->values;
    umbel_error err = {.status = UMBEL_OK};
    pulling p = {.wants = {0}};

    if (args->stdout_taken)
        return um_misuse(args, "a pulled filter is kept in a file: -o FILE");
    if (!strstr(a->address, "://"))
        return refuse_path(args, a->address);
    if (um_is_redis(a->address))
        return run_redis(args);
    umbel_status status = pull(args, &p, &err);
    umbel_store_close(&p.store);
    return status ? conclude(args, status, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_pull = {
    .name = "pull",
    .summary = "fetch a published filter, or what changed in it",
    .section = UM_EXCHANGE,
    .values_len = sizeof(pull_args),
    .operands = {{"ADDRESS", UM_TEXT, offsetof(pull_args, address),
                  UM_PLAIN_TEXT, .min = 1}},
    .options = {{.rows = options},
                {.rows = um_memory_options,
                 .base = offsetof(pull_args, memory)}},
    .run = run,
    .example = "file://$PWD/site/words -o copy.umb --trust key.pub",
    .details =
        "ADDRESS is http://, https:// or file://, up to the filter's "
        "name, without .umb; or redis://HOST:PORT/KEY, for a filter "
        "that lives in Redis. FILE.pull remembers the last pull: keep it "
        "beside FILE. The exit code is 1 when the fetched filter is "
        "refused.",
};
