/*
 * milter.c - runs umbel-milter next to the server, and restarts it when it
 * ends.
 *
 * libmilter has its own threads and signal handlers, so the filter is a
 * separate process (apps/milter), a client of the dccifd protocol like any
 * other. It ends with the server.
 */
#include "base/error.h"
#include "clearinghouse/protocols/dccifd/internal.h"
#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/protocol.h"
#include "net/server/socket.h"

#include <arpa/inet.h>
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

static const char *const ops[] = {
    [UM_MILTER_OP_MAIL] = "mail", [UM_MILTER_OP_START] = "start", NULL};
static const um_verdict verdicts[] = {
    [UM_MILTER_FINE] = {200, "OK", NULL},
    [UM_MILTER_ENDED] = {503, "umbel-milter ended", "ended"},
    {0}};

enum { CHECK_MS = 1000, LONGEST_PAUSE = 60, MAX_ARGUMENTS = 160 };

typedef struct milter_protocol {
    const um_environment *env;
    um_timer *timer;
    bool stopping;       /* do not start it again */
    pid_t pid;           /* 0 if it is not running */
    uint64_t start;      /* when it may be started, milliseconds */
    uint64_t pause;      /* seconds until the next start */
    uint64_t started_at; /* milliseconds */
} milter_protocol;

static const milter_settings *settings_of(const um_config *c)
{
    return um_config_get(c, &um_section_milter);
}

/* --- the process ---------------------------------------------------------- */

/* Finds umbel-milter in the directory of the running server. */
static bool find_program(char out[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - 32);

    if (len <= 0)
        return false;
    out[len] = '\0';
    char *name = strrchr(out, '/');
    static const char program[] = "umbel-milter"; /* fits */
    memcpy(name ? name + 1 : out, program, sizeof program);
    return true;
}

static int spawn(const char *const *argv, pid_t *pid)
{
    extern char **environ;
    posix_spawnattr_t a;
    sigset_t none, all;
    /* posix_spawn takes no const strings, but only reads them. */
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
    const milter_settings *s = settings_of(f->env->opened);
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
    argv[n++] =
        um_addresses_first(f->env->addresses, &um_protocol_dccifd.service);
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

/* --- restarts ------------------------------------------------------------- */

static void note_end(milter_protocol *f, const char *how, int number)
{
    const um_environment *env = f->env;

    f->pid = 0;
    if (um_clock_ms(env->clock) - f->started_at >
        LONGEST_PAUSE * UINT64_C(1000))
        f->pause = 0;
    f->pause = f->pause ? f->pause * 2 : 1;
    if (f->pause > LONGEST_PAUSE)
        f->pause = LONGEST_PAUSE;
    f->start = um_clock_ms(env->clock) + 1000 * f->pause;
    um_service_count_own(
        um_statistics_of(env->statistics, &um_protocol_milter.service),
        UM_MILTER_OP_START, UM_MILTER_ENDED);
    um_log_event(env->log,
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
    const um_environment *env = f->env;

    f->started_at = um_clock_ms(env->clock);
    int code = start_process(f, &f->pid);
    if (code) {
        note_end(f, "cannot be started: error", code);
        return;
    }
    um_service_count_own(
        um_statistics_of(env->statistics, &um_protocol_milter.service),
        UM_MILTER_OP_START, UM_MILTER_FINE);
}

static void tick(void *ctx)
{
    milter_protocol *f = ctx;

    if (f->stopping)
        return;
    if (f->pid)
        check_process(f);
    else if (um_clock_ms(f->env->clock) >= f->start)
        try_start(f);
}

/* --- the protocol --------------------------------------------------------- */

/* Refuses settings that cannot work. The server needs no memory for it. */
static umbel_status check(const um_config *c, uint64_t *need, umbel_error *err)
{
    const milter_settings *s = settings_of(c);
    const um_dccifd_settings *d = um_config_get(c, &um_section_dccifd);

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
                       "milter: it asks the dccifd protocol, which does not "
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

static umbel_status open_protocol(const um_environment *env, void **state,
                                  umbel_error *err)
{
    if (!settings_of(env->opened)->socket)
        return UMBEL_OK;
    milter_protocol *f = calloc(1, sizeof *f);
    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed by the server */
    f->env = env;
    UM_TRY(
        um_timer_open(env->loop, CHECK_MS, CHECK_MS, tick, f, &f->timer, err));
    try_start(f);
    return UMBEL_OK;
}

/* Ends the process, which gets its answers until then. It ends at SIGTERM,
 * too, but only after up to five seconds. */
static void stop(void *state)
{
    milter_protocol *f = state;

    f->stopping = true;
    if (f->pid)
        kill(f->pid, SIGUSR1);
}

static bool busy(const void *state)
{
    const milter_protocol *f = state;
    siginfo_t ended = {.si_pid = 0};

    return f->pid &&
           waitid(P_PID, (id_t)f->pid, &ended, WEXITED | WNOHANG | WNOWAIT) ==
               0 &&
           ended.si_pid != f->pid;
}

static void close_protocol(void *state)
{
    milter_protocol *f = state;

    if (f->pid) {
        kill(f->pid, SIGKILL); /* it had its time, if stop was called */
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
            settings_of(f->env->opened)->socket);
}

/* --- the probe of doctor --------------------------------------------------
 *
 * Acts as a mail server that passes a mail to its filter.
 *
 * Packets: four bytes, the length of what follows in network order; a letter;
 * its data. The mail has no text, so the clearinghouse counts nothing. If the
 * filter adds its header, it has queried the clearinghouse.
 */

enum { VERSION = 6, ADD_AND_CHANGE_HEADERS = 0x11, MAX_PACKET = 4096 };

typedef struct packet {
    char letter;
    uint32_t len;
    char data[MAX_PACKET];
} packet;

static umbel_status send_packet(int fd, char letter, const void *data,
                                size_t len, umbel_error *err)
{
    char bytes[256];
    uint32_t n = htonl((uint32_t)len + 1);

    memcpy(bytes, &n, sizeof n);
    bytes[sizeof n] = letter;
    if (len)
        memcpy(bytes + sizeof n + 1, data, len);
    return um_call_send(fd, bytes, sizeof n + 1 + len, err);
}

static umbel_status receive_exactly(int fd, void *to, size_t len,
                                    umbel_error *err)
{
    char *at = to;
    size_t n;

    for (; len; at += n, len -= n) {
        UM_TRY(um_call_receive(fd, at, len, &n, err));
        if (!n)
            return um_fail(err, UMBEL_E_IO, "the filter ends the connection");
    }
    return UMBEL_OK;
}

static umbel_status receive_packet(int fd, packet *p, umbel_error *err)
{
    uint32_t n;

    UM_TRY(receive_exactly(fd, &n, sizeof n, err));
    p->len = ntohl(n) - 1;
    if (ntohl(n) < 1 || p->len > sizeof p->data)
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there is not a milter");
    UM_TRY(receive_exactly(fd, &p->letter, 1, err));
    return receive_exactly(fd, p->data, p->len, err);
}

/* Sends one step of a mail, and checks that the filter answers "continue". */
static umbel_status run_step(int fd, char letter, const void *data, size_t len,
                             umbel_error *err)
{
    packet p;

    UM_TRY(send_packet(fd, letter, data, len, err));
    UM_TRY(receive_packet(fd, &p, err));
    if (p.letter == 'c')
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   "the filter answers %c to step %c of a mail", p.letter,
                   letter);
}

static umbel_status negotiate(int fd, umbel_error *err)
{
    const uint32_t offer[] = {htonl(VERSION), htonl(ADD_AND_CHANGE_HEADERS), 0};
    packet p;

    UM_TRY(send_packet(fd, 'O', offer, sizeof offer, err));
    if (receive_packet(fd, &p, err) == UMBEL_OK && p.letter == 'O')
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT, "what answers there is not a milter");
}

/* Ends the mail; *added is true if the filter added its header. */
static umbel_status end_mail(int fd, bool *added, umbel_error *err)
{
    packet p;

    *added = false;
    UM_TRY(send_packet(fd, 'E', NULL, 0, err));
    do {
        UM_TRY(receive_packet(fd, &p, err));
        *added |=
            p.letter == 'h' && p.len > 8 && memcmp(p.data, "X-Umbel", 8) == 0;
    } while (!strchr("acdrty", p.letter));
    return UMBEL_OK;
}

static umbel_status send_mail(int fd, bool *added, umbel_error *err)
{
    /* a name; IPv4; a port, in network order; the address */
    static const char client[] = "doctor\0004\000\031192.0.2.1";
    static const char sender[] = "<doctor@umbel.invalid>";
    static const char header[] = "Subject\0a test";

    UM_TRY(negotiate(fd, err));
    UM_TRY(run_step(fd, 'C', client, sizeof client, err));
    UM_TRY(run_step(fd, 'H', "doctor", 7, err));
    UM_TRY(run_step(fd, 'M', sender, sizeof sender, err));
    UM_TRY(run_step(fd, 'R', sender, sizeof sender, err));
    UM_TRY(run_step(fd, 'L', header, sizeof header, err));
    UM_TRY(run_step(fd, 'N', NULL, 0, err));
    UM_TRY(end_mail(fd, added, err));
    return send_packet(fd, 'Q', NULL, 0, err);
}

/* Converts "inet:8894@127.0.0.1", "inet6:8894@::1" or "unix:/PATH". */
static umbel_status read_socket(const char *text, char out[UM_ADDRESS_TEXT],
                                umbel_error *err)
{
    const char *port = strchr(text, ':') + 1, *host = strchr(port, '@');
    bool v6 = strncmp(text, "inet6:", 6) == 0;

    if (strncmp(text, "unix:", 5) == 0)
        snprintf(out, UM_ADDRESS_TEXT, "%s", port);
    else if (!host)
        snprintf(out, UM_ADDRESS_TEXT, v6 ? "[::1]:%s" : "127.0.0.1:%s", port);
    else
        snprintf(out, UM_ADDRESS_TEXT, v6 ? "[%s]:%.*s" : "%s:%.*s", host + 1,
                 (int)(host - port), port);
    um_address a;
    return um_address_parse(out, &a, err);
}

static umbel_status probe(const um_doctor_context *d, const um_address *at,
                          um_finding *out, umbel_error *err)
{
    bool added = false;
    int fd;

    (void)d;
    UM_SAY(out->advice, "the log of the server has umbel-milter's lines; is "
                        "the address taken, or the program not installed?");
    UM_TRY(um_call_open(at, UM_DOCTOR_MS, &fd, err));
    umbel_status status = send_mail(fd, &added, err);
    close(fd);
    UM_TRY(status);
    if (!added)
        return um_fail(err, UMBEL_E_REFUSED,
                       "mail passes without a header: the filter gets no "
                       "answer of dccifd, or 192.0.2.1 is in milter.networks");
    out->advice[0] = '\0';
    UM_SAY(out->text, "a mail without text got the header X-Umbel");
    return UMBEL_OK;
}

static umbel_status probe_address(const um_config *c, const char **configured,
                                  char out[UM_ADDRESS_TEXT], umbel_error *err)
{
    *configured = settings_of(c)->socket;
    return *configured ? read_socket(*configured, out, err) : UMBEL_OK;
}

static const um_doctor_row doctor[] = {{.name = "milter",
                                        .type = SOCK_STREAM,
                                        .probe = probe,
                                        .address = probe_address},
                                       {0}};

const um_protocol_section um_section_milter = {"milter", settings,
                                               sizeof(milter_settings)};

const um_protocol um_protocol_milter = {
    .service = {.name = "milter",
                .ops = ops,
                .verdicts = verdicts,
                .relays_mail = true},
    .section = &um_section_milter,
    .memory = check,
    .open = open_protocol,
    .asks = true,
    .stop = stop,
    .busy = busy,
    .close = close_protocol,
    .hint = hint,
    .doctor = doctor,
};
