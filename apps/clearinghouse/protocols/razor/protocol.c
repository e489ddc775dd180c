/*
 * protocol.c - Razor2 over TCP: settings, opening, reload, accounts for peers,
 * and the probe of `doctor`.
 */
#include "clearinghouse/protocols/razor/internal.h"

#include "base/error.h"
#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/stream_service.h"
#include "net/server/socket.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    IDLE_MS = 60000,
    TOTAL_MS = 3600000,
    SIGNUP_NETWORKS = 4096, /* networks whose registrations are remembered */
    SHARE_MS = 100,         /* between batches of accounts, ... */
    SHARE_MAX_MS = 60000,   /* ... and at most, while the log accepts none */
    ONCE = 100000           /* reports remembered, with weights below 1 */
};

static const char *const orders[] = {[UM_RAZOR_SPAM_FIRST] = "spam-first",
                                     [UM_RAZOR_REVOKED_FIRST] = "revoked-first",
                                     [UM_RAZOR_ORDERS] = NULL};
static const char *const accounts[] = {"own", "shared", NULL};
static const char *const registrations[] = {"open", "closed", NULL};

static const um_setting settings[] = {
    {"listen", &um_type_ports, offsetof(um_razor_settings, listen), NULL,
     .help = "TCP addresses, such as 127.0.0.1:2703 and 127.0.0.2:2703: "
             "clients want to know two"},
    {"announce", &um_type_host_ports, offsetof(um_razor_settings, announce),
     NULL,
     .help = "what discovery names instead of listen, such as "
             "razor.example.org:2703",
     .live = true},
    {"seed", &um_type_seed, offsetof(um_razor_settings, seed), "7542-10",
     .help = "ep4 of engine 4; the same on all servers that share reports"},
    {"order", &um_type_choice, offsetof(um_razor_settings, order), "spam-first",
     .help = "the list that is asked first: of spam, or of what was revoked",
     .choices = orders, .live = true},
    {"registration", &um_type_choice, offsetof(um_razor_settings, registration),
     "open", .help = "whether clients may register accounts",
     .choices = registrations, .live = true},
    {"accounts", &um_type_choice, offsetof(um_razor_settings, accounts), "own",
     .help = "shared: those that were registered at peers which say the same "
             "are known, too",
     .choices = accounts, .live = true},
    {"registrations", &um_type_count,
     offsetof(um_razor_settings, registrations), "10",
     .help = "accounts that a client network registers in an hour; 0: any",
     .low = 0, .high = UM_RAZOR_SIGNUP_SECONDS, .live = true},
    {"weight", &um_type_weight, offsetof(um_razor_settings, weight), "1",
     .help = "of reports of accounts that no section account names", .low = 0,
     .high = 10000, .live = true},
    {"confidence", &um_type_count, offsetof(um_razor_settings, confidence),
     "21", .help = "from which on clients take a signature as spam (ac)",
     .low = 1, .high = 100},
    {"mails", &um_type_flag, offsetof(um_razor_settings, mails), "false",
     .help = "a report counts when its mail was sent as well; mails are not "
             "kept",
     .live = true},
    {"connections", &um_type_count, offsetof(um_razor_settings, connections),
     "1024", .help = "connections at the same time", .low = 1, .high = 1e5},
    {0}};

static const char *const ops[] = {"check",    "report",     "revoke",
                                  "register", "login",      "state",
                                  "other",    "connection", NULL};

/* --- limits and memory ---------------------------------------------------- */

/* Returns the limit on registrations: one token per second, of which a
 * registration takes its share of an hour. */
static um_limit_settings limits_of(const um_config *c, uint64_t seconds)
{
    um_limit_settings s = c->limits;

    s.requests = s.reports = 1;
    s.burst = seconds;
    s.networks = SIGNUP_NETWORKS;
    return s;
}

/* Returns true if the counters of both lists can hold fractions of a report. */
static bool holds_fractions(const um_config *c)
{
    enum { BITS = 7 };

    for (unsigned i = 0; i < UM_RAZOR_LISTS; i++) {
        const um_list_settings *l = &c->list[UM_LIST_RAZOR_SPAM + i];
        if (l->cell_bits && l->cell_bits < BITS)
            return false;
    }
    return true;
}

static umbel_status add_memory(const um_config *c, uint64_t *need,
                               umbel_error *err)
{
    const um_razor_settings *s = um_config_get(c, &um_section_razor);
    um_limit_settings signup = limits_of(c, UM_RAZOR_SIGNUP_SECONDS);

    if (s->accounts && !c->origin)
        return um_fail(err, UMBEL_E_RANGE,
                       "razor: accounts = \"shared\" needs peers: set origin, "
                       "and a section peer for each of them");
    if (s->weight % 100 && !holds_fractions(c))
        return um_fail(err, UMBEL_E_RANGE,
                       "razor: weight below 1, or between whole numbers, needs "
                       "counters that hold it: set cell_bits = 7 in list "
                       "\"razor-spam\" and in list \"razor-revoked\"");
    if (s->listen.n)
        *need += 2 * um_limits_bytes(&signup) +
                 s->connections * (sizeof(um_razor_session) + 2048);
    return UMBEL_OK;
}

static bool is_any_address(const char *text)
{
    return strncmp(text, "0.0.0.0:", 8) == 0 || text[0] == '[';
}

/* Checks that discovery names addresses that clients can use. */
static umbel_status check_announced(const void *given, FILE *out,
                                    umbel_error *err)
{
    const um_razor_settings *s = given;
    const um_texts *named = s->announce.n ? &s->announce : &s->listen;

    for (size_t i = 0; !s->announce.n && i < s->listen.n; i++)
        if (is_any_address(s->listen.item[i]))
            return um_fail(err, UMBEL_E_RANGE,
                           "razor: clients cannot connect to %s; set "
                           "announce = {\"name.example.org:2703\", "
                           "\"192.0.2.1:2703\"}",
                           s->listen.item[i]);
    if (named->n == 1 && out)
        fprintf(out,
                "razor: discovery names one address, %s; clients that know "
                "only one repeat discovery in every run: announce another "
                "name of it as well\n",
                named->item[0]);
    return UMBEL_OK;
}

/* --- accounts ------------------------------------------------------------- */

bool um_razor_knows(const um_environment *env, const char *name)
{
    const um_razor_settings *s = um_config_get(env->config, &um_section_razor);
    umbel_slice password;

    return s->accounts ||
           um_razor_account_find(env->store, (umbel_slice){name, strlen(name)},
                                 &password);
}

/* Doubles the wait, because a full log stays full until its accounts or limits
 * change, and logs the reason at most once a minute. */
static void wait_for_log(um_razor_service *f, uint64_t now, const char *why)
{
    f->share_wait *= 2;
    if (f->share_wait > SHARE_MAX_MS)
        f->share_wait = SHARE_MAX_MS;
    if (now < f->share_tell_at)
        return;
    f->share_tell_at = now + SHARE_MAX_MS;
    um_log_event(f->env->log,
                 "razor: peers do not get all accounts: %s; those that are "
                 "missing can log in here only",
                 why);
}

/* Shares our accounts with peers, some at a time because each is signed. */
static void share_accounts(um_razor_service *f)
{
    uint64_t now = um_clock_ms(f->env->clock);
    umbel_error err;

    if (!f->shared || !um_razor_settings_of(f)->accounts || now < f->share_at)
        return;
    if (um_razor_shared_publish(f->shared, f->env, &err) == UMBEL_OK)
        f->share_wait = SHARE_MS;
    else
        wait_for_log(f, now, err.text);
    f->share_at = now + f->share_wait;
}

/* Logs weights below 1 that are lost because the counters hold only whole
 * reports. */
static void log_lost_weights(const um_razor_service *f)
{
    const um_environment *env = f->env;

    for (size_t i = 0; f->unit == 1 && i < env->config->naccounts; i++) {
        const um_account_settings *a = &env->config->account[i];
        if (a->weight % 100)
            um_log_event(env->log,
                         "account \"%s\": list %s counts whole reports, so its "
                         "weight is rounded down; set cell_bits = 7 for "
                         "fractions",
                         a->name, um_list_name(UM_LIST_RAZOR_SPAM));
    }
}

static umbel_status choose_unit(um_razor_service *f, umbel_error *err)
{
    f->unit = um_list_report(f->env->store, UM_LIST_RAZOR_SPAM);
    log_lost_weights(f);
    if (f->unit == 1)
        return UMBEL_OK;
    return um_duplicates_open(ONCE, &f->once, err);
}

/* --- opening -------------------------------------------------------------- */

static void free_protocol(void *state)
{
    um_razor_service *f = state;

    um_razor_shared_free(f->shared);
    um_limits_close(f->signup);
    um_limits_close(f->tries);
    um_duplicates_close(f->once);
    free(f);
}

static umbel_status open_streams(um_razor_service *f, umbel_error *err)
{
    static const um_stream_limits limits = {.request = UM_RAZOR_REQUEST,
                                            .unread =
                                                (size_t)64 * UM_RAZOR_REPLY,
                                            .idle_ms = IDLE_MS,
                                            .total_ms = TOTAL_MS};
    const um_razor_settings *s = um_razor_settings_of(f);

    UM_TRY(um_protocol_stream_open(&f->streams, (size_t)s->connections, err));
    return um_protocol_stream_listen(&f->streams, &s->listen,
                                     &um_razor_protocol, &limits, err);
}

/* Finds the serial of the state that clients cache. It does not contain the
 * addresses: every discovery requests those. */
static umbel_status open_state(um_razor_service *f, umbel_error *err)
{
    char text[UM_RAZOR_REPLY];
    um_razor_state s = {.seed = f->seed, .confidence = f->confidence};
    size_t len = um_razor_print_state(&s, text);

    return um_razor_serial(f->env->store, (umbel_slice){text, len},
                           f->env->clock->now, &f->serial, err);
}

static umbel_status open_protocol(const um_environment *env, void **state,
                                  umbel_error *err)
{
    um_razor_service *f = calloc(1, sizeof *f);
    const um_razor_settings *s = um_config_get(env->opened, &um_section_razor);
    um_limit_settings signup = limits_of(env->config, UM_RAZOR_SIGNUP_SECONDS);
    um_limit_settings tries = limits_of(env->config, UM_RAZOR_LOGIN_SECONDS);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed by the server */
    f->env = env;
    f->stats = um_statistics_of(env->statistics, &um_protocol_razor.service);
    if (!f->stats)
        return um_no_memory(err, sizeof *f->stats);
    f->section = &um_section_razor;
    f->seed = s->seed;
    f->confidence = s->confidence;
    f->share_wait = SHARE_MS;
    f->streams = (um_protocol_stream){.env = env,
                                      .service = &um_protocol_razor.service,
                                      .op = UM_RAZOR_OP_CONNECTION,
                                      .ends = UM_RAZOR_ENDS,
                                      .owner = f,
                                      .gone = free_protocol};
    if (!s->listen.n)
        return UMBEL_OK;
    UM_TRY(check_announced(s, NULL, err));
    f->accounts = um_razor_account_count(env->store);
    f->shared = um_razor_shared_create();
    if (!f->shared)
        return um_no_memory(err, 1);
    UM_TRY(choose_unit(f, err));
    UM_TRY(um_limits_open(&signup, &f->signup, err));
    UM_TRY(um_limits_open(&tries, &f->tries, err));
    UM_TRY(open_state(f, err));
    return open_streams(f, err);
}

static umbel_status reload(void *state, umbel_error *err)
{
    um_razor_service *f = state;
    um_limit_settings signup =
        limits_of(f->env->config, UM_RAZOR_SIGNUP_SECONDS);
    um_limit_settings tries = limits_of(f->env->config, UM_RAZOR_LOGIN_SECONDS);

    if (!f->streams.n)
        return UMBEL_OK;
    UM_TRY(check_announced(um_razor_settings_of(f), NULL, err));
    um_limits_set(f->signup, &signup);
    um_limits_set(f->tries, &tries);
    log_lost_weights(f);
    return UMBEL_OK;
}

static void committed(void *state)
{
    um_razor_answer_pending(state);
    share_accounts(state);
}

static void stop(void *state)
{
    um_protocol_stream_stop(&((um_razor_service *)state)->streams);
}

static bool busy(const void *state)
{
    const um_razor_service *f = state;

    return f->first;
}

static void drop_pending(um_razor_service *f)
{
    while (f->first) {
        um_razor_pending *p = f->first;
        f->first = p->next;
        if (p->session)
            p->session->pending = NULL;
        free(p);
    }
}

static void close_protocol(void *state)
{
    um_razor_service *f = state;

    drop_pending(f);
    um_protocol_stream_close(&f->streams);
}

void um_razor_get_lookups(const void *state, um_razor_lookups *out)
{
    const um_razor_service *f = state;

    *out = (um_razor_lookups){0};
    if (!f)
        return;
    *out = f->lookups;
    out->accounts = f->accounts;
    if (f->shared && um_razor_settings_of(f)->accounts)
        out->shared = um_razor_shared_count(f->shared, f->env);
}

static void hint(const void *state, FILE *out)
{
    const um_razor_service *f = state;
    const char *address =
        um_addresses_first(f->env->addresses, &um_protocol_razor.service);

    if (!address)
        return;
    fprintf(out,
            "razor-agents, in razor-agent.conf:\n"
            "    razordiscovery = %s\n"
            "then, once: razor-admin -discover; razor-admin -register\n"
            "SpamAssassin, in umbel.pre beside local.cf, unless v310.pre "
            "has it:\n"
            "    loadplugin Mail::SpamAssassin::Plugin::Razor2\n"
            "SpamAssassin, in local.cf:\n"
            "    use_razor2 1\n"
            "    razor_config /etc/razor/razor-agent.conf\n",
            address);
}

/* --- the probe of doctor -------------------------------------------------- */

/* Acts as a Razor2 client without an account: greeting, discovery, state,
 * check. Also finds out whether it could register one, with a name that no
 * account can have. */

/* Sends a line, unless it is NULL, and reads the reply at once, as clients
 * do. */
static umbel_status ask_razor(int fd, const char *line,
                              char out[UM_RAZOR_REPLY + 1], umbel_error *err)
{
    size_t n;

    if (line)
        UM_TRY(um_call_send(fd, line, strlen(line), err));
    UM_TRY(um_call_receive(fd, out, UM_RAZOR_REPLY, &n, err));
    out[n] = '\0';
    if (n > 2 && strcmp(out + n - 2, "\r\n") == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   n ? "what answers there does not speak Razor2"
                     : "the connection is ended at once: too many connections, "
                       "or what listens there does not speak Razor2");
}

/* Checks the seed, which must be the same on all servers that share reports and
 * in the state that clients cache. */
static umbel_status check_seed(const um_razor_settings *s, const char *greeting,
                               um_finding *out, umbel_error *err)
{
    static const char key[] = "ep4=";
    const char *at = strstr(greeting, key);

    if (strncmp(greeting, "sn=", 3) != 0 || !at)
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there does not speak Razor2");
    at += sizeof key - 1;
    size_t len = strcspn(at, "&\r");
    if (len == strlen(s->seed) && memcmp(at, s->seed, len) == 0)
        return UMBEL_OK;
    UM_SAY(out->advice, "restart the server, so that it takes the seed of the "
                        "configuration; reports under the other one are lost");
    return um_fail(err, UMBEL_E_MISMATCH,
                   "wrong seed: the server has %.*s, razor.seed of the "
                   "configuration is %s",
                   (int)(len < 40 ? len : 40), at, s->seed);
}

static umbel_status check_signature(int fd, const um_razor_settings *s,
                                    umbel_error *err)
{
    uint8_t digest[UM_DIGEST_BYTES] = {0};
    char code[UM_RAZOR_TEXT + 1], line[128], reply[UM_RAZOR_REPLY + 1];

    um_razor_encode(digest, code);
    snprintf(line, sizeof line, "a=c&e=4&ep4=%s&s=%s\r\n", s->seed, code);
    UM_TRY(ask_razor(fd, line, reply, err));
    if (strncmp(reply, "p=", 2) == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED, "a check is refused: %.*s",
                   (int)strcspn(reply, "\r"), reply);
}

/* Checks that discovery names two addresses; otherwise clients repeat it in
 * every run. */
static umbel_status check_places(int fd, um_finding *out, umbel_error *err)
{
    char reply[UM_RAZOR_REPLY + 1];
    size_t n = 0;

    UM_TRY(ask_razor(fd, "a=g&pm=csl\r\n", reply, err));
    for (const char *at = reply; (at = strstr(at, "csl=")); at++)
        n++;
    if (!n)
        return um_fail(err, UMBEL_E_FORMAT, "discovery names no server");
    if (n > 1)
        return UMBEL_OK;
    out->health = UM_LIMITED;
    UM_SAY(out->advice, "give razor.announce two names of this server: clients "
                        "that know one discover in every run");
    return UMBEL_OK;
}

static umbel_status check_registration(const um_doctor_context *d, int fd,
                                       um_finding *out, umbel_error *err)
{
    char reply[UM_RAZOR_REPLY + 1];

    UM_TRY(ask_razor(fd, "a=reg&user=%20&pass=%20\r\n", reply, err));
    UM_SAY(out->text, "greeting, discovery and check; clients may register, "
                      "and report then");
    if (strcmp(reply, "err=403\r\n") != 0)
        return UMBEL_OK;
    UM_SAY(out->text,
           "greeting, discovery and check; registration is closed, %" PRIu64 " "
           "accounts may report",
           d->razor_accounts);
    if (!d->server_answers || d->razor_accounts)
        return UMBEL_OK;
    out->health = UM_BROKEN;
    UM_SAY(out->text, "nobody may report: registration is closed, and no "
                      "account was registered");
    UM_SAY(out->advice, "set registration = \"open\" in razor { }, send the "
                        "server SIGHUP, register, and close it again");
    return UMBEL_OK;
}

static umbel_status speak_razor(const um_doctor_context *d, int fd,
                                um_finding *out, umbel_error *err)
{
    const um_razor_settings *s = um_config_get(d->config, &um_section_razor);
    char reply[UM_RAZOR_REPLY + 1];

    UM_TRY(ask_razor(fd, NULL, reply, err));
    UM_TRY(check_seed(s, reply, out, err));
    UM_TRY(um_call_send(fd, "cn=doctor&cv=1\r\n", 16, err));
    UM_TRY(ask_razor(fd, "a=g&pm=state\r\n", reply, err));
    UM_TRY(check_signature(fd, s, err));
    UM_TRY(check_places(fd, out, err));
    UM_TRY(check_registration(d, fd, out, err));
    return um_call_send(fd, "a=q\r\n", 5, err);
}

static umbel_status probe(const um_doctor_context *d, const um_address *at,
                          um_finding *out, umbel_error *err)
{
    int fd;

    UM_TRY(um_call_open(at, UM_DOCTOR_MS, &fd, err));
    umbel_status status = speak_razor(d, fd, out, err);
    close(fd);
    return status;
}

/* --- the row -------------------------------------------------------------- */

static const um_doctor_row doctor[] = {
    {"razor", offsetof(um_razor_settings, listen), SOCK_STREAM, probe, NULL},
    {0}};

const um_protocol_section um_section_razor = {"razor", settings,
                                              sizeof(um_razor_settings)};

const um_protocol um_protocol_razor = {
    .service = {.name = "razor",
                .ops = ops,
                .verdicts = um_razor_verdicts,
                .counts_mail = true},
    .section = &um_section_razor,
    .memory = add_memory,
    .check = check_announced,
    .open = open_protocol,
    .reload = reload,
    .committed = committed,
    .stop = stop,
    .busy = busy,
    .close = close_protocol,
    .hint = hint,
    .doctor = doctor,
};
