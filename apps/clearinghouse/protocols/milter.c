/*
 * front_milter.c - starts umbel-milter beside the server, and starts it again
 * when it ends.
 *
 * libmilter wants threads and signals of its own, so the filter is a process of
 * its own (apps/milter), a client of the dccifd front like any other. It ends
 * with the server.
 */
#include "base/error.h"
#include "clearinghouse/admin/doctor_rows.h"
#include "clearinghouse/protocols/dccifd/protocol.h"
#include "clearinghouse/server/server.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct milter_settings {
    char *socket, *contact;
    uint64_t reject_at, timeout;
    um_texts networks;
} milter_settings;

static const um_setting settings[] = {
    {"socket", &um_type_text, offsetof(milter_settings, socket), NULL,
     .help = "where umbel-milter listens: inet:8894@127.0.0.1 or unix:/PATH; "
             "default: it is not started"},
    {"reject_at", &um_type_count, offsetof(milter_settings, reject_at), "0",
     .help = "count from which on a mail is rejected; 0: never",
     .high = UM_LIST_MAX_THRESHOLD},
    {"contact", &um_type_text, offsetof(milter_settings, contact), NULL,
     .help = "whom a rejection tells the sender to ask; default: the "
             "postmaster"},
    {"networks", &um_type_networks, offsetof(milter_settings, networks),
     "127.0.0.0/8", .help = "mail from there passes"},
    {"timeout", &um_type_duration, offsetof(milter_settings, timeout), "5s",
     .help = "for an answer of the server; then mail passes", .low = 1000,
     .high = 600000},
    {0}};

static const char *const ops[] = {"start", NULL};
enum { STARTED, ENDED };
static const um_verdict verdicts[] = {
    [STARTED] = {200, "started", NULL},
    [ENDED] = {503, "umbel-milter ended", "ended"},
    {0}};

enum { CHECK_MS = 1000, LONGEST_PAUSE = 60, MAX_ARGUMENTS = 160 };

typedef struct milter_protocol {
    um_server *house;
    um_timer *timer;
    pid_t pid;           /* 0: it does not run */
    uint64_t start;      /* when it may be started, milliseconds */
    uint64_t pause;      /* seconds until the next start */
    uint64_t started_at; /* milliseconds */
} milter_protocol;

static const milter_settings *settings_of(const um_config *c)
{
    return um_config_protocol(c, &um_protocol_milter);
}

/* --- the process -----------------------------------------------------------
 */

/* The program beside the server's own. */
static bool find_program(char out[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - 32);

    if (len <= 0)
        return false;
    out[len] = '\0';
    char *name = strrchr(out, '/');
    static const char program[] = "umbel-milter"; /* there is room for it */
    memcpy(name ? name + 1 : out, program, sizeof program);
    return true;
}

static int spawn(const char *const *argv, pid_t *pid)
{
    extern char **environ;
    posix_spawnattr_t a;
    sigset_t none, all;
    /* posix_spawn's type is older than const; it only reads. */
    union {
        const char *const *in;
        char *const *plain;
    } u = {argv};

    sigemptyset(&none);
    sigfillset(&all);
    int code = posix_spawnattr_init(&a);
    if (code)
        return code;
    posix_spawnattr_setsigmask(&a, &none);
    posix_spawnattr_setsigdefault(&a, &all);
    posix_spawnattr_setflags(&a,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    code = posix_spawn(pid, argv[0], NULL, &a, u.plain, environ);
    posix_spawnattr_destroy(&a);
    return code;
}

static int start_process(const milter_protocol *f, pid_t *pid)
{
    const milter_settings *s = settings_of(&f->house->opened);
    const char *argv[MAX_ARGUMENTS];
    char program[PATH_MAX], reject_at[24], timeout[24], self[24];
    size_t n = 0;

    if (!find_program(program))
        return ENOENT;
    snprintf(reject_at, sizeof reject_at, "%" PRIu64, s->reject_at);
    snprintf(self, sizeof self, "%ld", (long)getpid());
    snprintf(timeout, sizeof timeout, "%" PRIu64, (s->timeout + 999) / 1000);
    argv[n++] = program;
    argv[n++] = "--child";
    argv[n++] = self;
    argv[n++] = "--socket";
    argv[n++] = s->socket;
    argv[n++] = "--server";
    argv[n++] = um_server_address_of(f->house, &um_protocol_dccifd);
    argv[n++] = "--reject-at";
    argv[n++] = reject_at;
    argv[n++] = "--timeout";
    argv[n++] = timeout;
    if (s->contact) {
        argv[n++] = "--contact";
        argv[n++] = s->contact;
    }
    for (size_t i = 0; i < s->networks.n && n + 3 < MAX_ARGUMENTS; i++) {
        argv[n++] = "--network";
        argv[n++] = s->networks.item[i];
    }
    argv[n] = NULL;
    return spawn(argv, pid);
}

/* --- upkeep ----------------------------------------------------------------
 */

static void note_end(milter_protocol *f, const char *how, int number)
{
    um_server *h = f->house;

    f->pid = 0;
    if (um_server_ms(h) - f->started_at > LONGEST_PAUSE * UINT64_C(1000))
        f->pause = 0;
    f->pause = f->pause ? f->pause * 2 : 1;
    if (f->pause > LONGEST_PAUSE)
        f->pause = LONGEST_PAUSE;
    f->start = um_server_ms(h) + 1000 * f->pause;
    um_protocol_count(um_server_stats(h, &um_protocol_milter), 0, ENDED);
    um_log_event(&h->log,
                 "milter: umbel-milter %s %d; it is started again in %" PRIu64
                 " s",
                 how, number, f->pause);
}

static void check_process(milter_protocol *f)
{
    int status;

    if (waitpid(f->pid, &status, WNOHANG) != f->pid)
        return;
    if (WIFSIGNALED(status))
        note_end(f, "was ended by signal", WTERMSIG(status));
    else
        note_end(f, "ended with status", WEXITSTATUS(status));
}

static void try_start(milter_protocol *f)
{
    um_server *h = f->house;

    f->started_at = um_server_ms(h);
    int code = start_process(f, &f->pid);
    if (code) {
        note_end(f, "cannot be started: error", code);
        return;
    }
    um_protocol_count(um_server_stats(h, &um_protocol_milter), 0, STARTED);
}

static void tick(void *ctx)
{
    milter_protocol *f = ctx;

    if (f->pid)
        check_process(f);
    else if (um_server_ms(f->house) >= f->start && !f->house->stopping)
        try_start(f);
}

/* --- the front -------------------------------------------------------------
 */

/* Refuses what cannot work; it needs no memory of the server. */
static umbel_status check(const um_config *c, uint64_t *need, umbel_error *err)
{
    const milter_settings *s = settings_of(c);
    const um_dccifd_settings *d = um_config_protocol(c, &um_protocol_dccifd);

    (void)need;
    if (!s->socket)
        return UMBEL_OK;
    if (strncmp(s->socket, "inet:", 5) != 0 &&
        strncmp(s->socket, "inet6:", 6) != 0 &&
        strncmp(s->socket, "unix:/", 6) != 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "milter: socket = \"%.60s\": write "
                       "\"inet:8894@127.0.0.1\" or \"unix:/PATH\"",
                       s->socket);
    if (!d->listen.n)
        return um_fail(err, UMBEL_E_RANGE,
                       "milter: it asks the dccifd front, which does not "
                       "listen: give dccifd an address");
    if (s->reject_at > d->many)
        return um_fail(err, UMBEL_E_RANGE,
                       "milter: reject_at = %" PRIu64
                       " is never reached: dccifd says \"many\" from %" PRIu64
                       " on",
                       s->reject_at, d->many);
    if (s->networks.n > 64)
        return um_fail(err, UMBEL_E_RANGE, "milter: at most 64 networks");
    return UMBEL_OK;
}

static umbel_status open_protocol(um_server *h, void **state, umbel_error *err)
{
    if (!settings_of(&h->opened)->socket)
        return UMBEL_OK;
    milter_protocol *f = calloc(1, sizeof *f);
    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed with the house */
    f->house = h;
    UM_TRY(um_timer_open(h->loop, CHECK_MS, CHECK_MS, tick, f, &f->timer, err));
    try_start(f);
    return UMBEL_OK;
}

static void close_protocol(void *state)
{
    milter_protocol *f = state;

    if (f->pid) {
        kill(f->pid, SIGTERM);
        waitpid(f->pid, NULL, 0);
    }
    free(f);
}

static void hint(const void *state, FILE *out)
{
    const milter_protocol *f = state;

    fprintf(out,
            "Postfix, in main.cf:\n"
            "    smtpd_milters = %s\n"
            "    milter_default_action = accept\n",
            settings_of(&f->house->opened)->socket);
}

static void try_milter(um_doctor *d)
{
    um_doctor_milter(d, settings_of(d->config)->socket);
}

static const um_doctor_row doctor[] = {{.name = "milter", .run = try_milter},
                                       {0}};

const um_protocol um_protocol_milter = {
    .name = "milter",
    .summary = "umbel-milter, a filter for Postfix and Sendmail",
    .settings = settings,
    .settings_len = sizeof(milter_settings),
    .ops = ops,
    .verdicts = verdicts,
    .memory = check,
    .open = open_protocol,
    .close = close_protocol,
    .hint = hint,
    .doctor = doctor,
};
