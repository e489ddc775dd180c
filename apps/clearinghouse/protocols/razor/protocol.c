/*
 * front_razor.c - Razor2 over TCP.
 */
#include "base/error.h"
#include "clearinghouse/admin/doctor_rows.h"
#include "clearinghouse/protocols/razor/row.h"
#include "clearinghouse/protocols/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    IDLE_MS = 60000,
    TOTAL_MS = 3600000,
    SIGNUP_NETWORKS = 4096, /* whose registrations are remembered */
    SHARE_MS = 100,         /* between slices of accounts, ... */
    SHARE_MAX_MS = 60000,   /* ... and while the log takes none */
    ONCE = 100000           /* latest reports, with weights below 1 */
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
    {"announce", &um_type_places, offsetof(um_razor_settings, announce), NULL,
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

/*
 * The paper's two Bloom filters: counters of one bit. With counters of seven
 * bits and more, which hold a count of 100, accounts may have weights below 1.
 */
static const um_list_initial list_initials[] = {{NULL, "kind", "counting"},
                                                {NULL, "cell_bits", "1"},
                                                {NULL, "addressing", "classic"},
                                                {NULL, NULL, NULL}};

static const char *const ops[] = {"check",    "report",     "revoke",
                                  "register", "login",      "state",
                                  "other",    "connection", NULL};

const um_verdict um_razor_verdicts[] = {
    [UM_RAZOR_OK] = {200, "OK", NULL},
    [UM_RAZOR_WANTS_MAIL] = {230, "send the mail", NULL},
    [UM_RAZOR_NAME_TAKEN] = {210, "the name is taken", "name_taken"},
    [UM_RAZOR_UNKNOWN_USER] = {213, "no such account", "unknown_user"},
    [UM_RAZOR_MALFORMED] = {400, "not a query", "malformed"},
    [UM_RAZOR_NOT_AUTHENTICATED] = {401, "not authenticated",
                                    "not_authenticated"},
    [UM_RAZOR_WRONG_PASSWORD] = {401, "wrong password", "wrong_password"},
    [UM_RAZOR_CLOSED] = {403, "registration is closed", "closed"},
    [UM_RAZOR_NO_ENGINE] = {404, "an engine other than 4", "engine"},
    [UM_RAZOR_NO_SIGNATURE] = {409, "a mail without a report of its signature",
                               "no_signature"},
    [UM_RAZOR_WRONG_SEED] = {409, "another seed than ours", "wrong_seed"},
    [UM_RAZOR_TOO_MANY] = {413, "a batch of too many queries", "long_batch"},
    [UM_RAZOR_RATE_LIMIT] = {429, "too many requests of its network",
                             "rate_limit"},
    [UM_RAZOR_SIGNUP_LIMIT] = {429, "too many registrations of its network",
                               "registration_limit"},
    [UM_RAZOR_NO_ACTION] = {501, "no such action", "unknown_action"},
    [UM_RAZOR_NOT_STORED] = {503, "not counted: the disk cannot be written",
                             "not_stored"},
    [UM_RAZOR_ACCOUNTS_FULL] = {507, "too many accounts", "accounts_full"},
    [UM_RAZOR_LIST_FULL] = {503, "not counted: the list is full", "list_full"},
    UM_END_VERDICTS(UM_RAZOR_ENDS)};
_Static_assert(UM_COUNT(um_razor_verdicts) <= UM_MAX_VERDICTS,
               "room for verdicts");

const um_razor_settings *um_razor_settings_of(const um_razor_service *f)
{
    return um_config_protocol(&f->house->config, &um_protocol_razor);
}

/* --- limits and memory ---------------------------------------------------- */

/* One token a second: a registration takes its share of an hour. */
static um_limit_settings signup_limits(const um_config *c)
{
    um_limit_settings s = c->limits;

    s.requests = 1;
    s.burst = UM_RAZOR_SIGNUP_SECONDS;
    s.networks = SIGNUP_NETWORKS;
    return s;
}

/* Returns true if the counters of both lists hold a part of a report. */
static bool holds_fractions(const um_config *c)
{
    enum { BITS = 7 };

    for (unsigned i = 0; i < UM_RAZOR_LISTS; i++) {
        const um_list_settings *l =
            &c->list[um_server_first_list(&um_protocol_razor) + i];
        if (l->cell_bits && l->cell_bits < BITS)
            return false;
    }
    return true;
}

static umbel_status add_memory(const um_config *c, uint64_t *need,
                               umbel_error *err)
{
    const um_razor_settings *s = um_config_protocol(c, &um_protocol_razor);
    um_limit_settings signup = signup_limits(c);

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
        *need += um_limits_bytes(&signup) +
                 s->connections * (sizeof(um_razor_session) + 2048);
    return UMBEL_OK;
}

/* Signatures of another seed are others. */
static void agree_on_seed(const void *given, char out[UMBEL_SYNC_MAX_AGREE])
{
    snprintf(out, UMBEL_SYNC_MAX_AGREE, "seed=%s",
             ((const um_razor_settings *)given)->seed);
}

static bool is_any_address(const char *text)
{
    return strncmp(text, "0.0.0.0:", 8) == 0 || text[0] == '[';
}

/* Discovery has to name addresses that clients can use. */
static umbel_status check_announced(const void *given, FILE *out,
                                    umbel_error *err)
{
    const um_razor_settings *s = given;
    const um_texts *named = s->announce.n ? &s->announce : &s->listen;

    for (size_t i = 0; !s->announce.n && i < s->listen.n; i++)
        if (is_any_address(s->listen.item[i]))
            return um_fail(err, UMBEL_E_RANGE,
                           "razor: clients cannot be told to use %s; set "
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

bool um_razor_find_account(const um_razor_service *f, umbel_slice name,
                           umbel_slice *password)
{
    return um_razor_account_find(f->house->store, name, password) ||
           (um_razor_settings_of(f)->accounts && um_razor_is_name(name) &&
            um_razor_shared_find(f->shared, f->house, name, password));
}

bool um_razor_knows(const um_server *h, const char *name)
{
    const um_razor_settings *s =
        um_config_protocol(&h->config, &um_protocol_razor);
    umbel_slice password;

    return s->accounts ||
           um_razor_account_find(h->store, (umbel_slice){name, strlen(name)},
                                 &password);
}

/* A log that is full stays so until its accounts or limits change: it is asked
 * ever less often, and told once a minute. */
static void wait_for_log(um_razor_service *f, uint64_t now, const char *why)
{
    f->share_wait *= 2;
    if (f->share_wait > SHARE_MAX_MS)
        f->share_wait = SHARE_MAX_MS;
    if (now < f->share_tell_at)
        return;
    f->share_tell_at = now + SHARE_MAX_MS;
    um_log_event(&f->house->log,
                 "razor: peers do not get all accounts: %s; those that are "
                 "missing can log in here only",
                 why);
}

/* Gives our accounts to peers, some at a time: each is signed. */
static void share_accounts(um_razor_service *f)
{
    uint64_t now = um_server_ms(f->house);
    umbel_error err;

    if (!f->shared || !um_razor_settings_of(f)->accounts || now < f->share_at)
        return;
    if (um_razor_shared_publish(f->shared, f->house, &err) == UMBEL_OK)
        f->share_wait = SHARE_MS;
    else
        wait_for_log(f, now, err.text);
    f->share_at = now + f->share_wait;
}

/* A weight below 1 needs counts that hold a part of a report. */
static void log_lost_weights(const um_razor_service *f)
{
    um_server *h = f->house;

    for (size_t i = 0; f->unit == 1 && i < h->config.naccounts; i++) {
        const um_account_settings *a = &h->config.account[i];
        if (a->weight % 100)
            um_log_event(&h->log,
                         "account \"%s\": list %s counts whole reports, so its "
                         "weight is rounded down; set cell_bits = 7 for "
                         "fractions",
                         a->name, um_protocol_list(f->list));
    }
}

/* Counters that hold 100 count in hundredths of a report. */
static uint64_t count_of_report(const um_server *h)
{
    enum { WHOLE = 100 };
    unsigned list = um_server_first_list(&um_protocol_razor);
    um_list_stats s;

    for (unsigned i = 0; i < UM_RAZOR_LISTS; i++) {
        um_list_stats_get(um_store_list(h->store, list + i), &s);
        if (s.count_limit < WHOLE)
            return 1;
    }
    return WHOLE;
}

static umbel_status choose_unit(um_razor_service *f, umbel_error *err)
{
    f->unit = count_of_report(f->house);
    log_lost_weights(f);
    if (f->unit == 1)
        return UMBEL_OK;
    return um_pyzor_once_open(ONCE, &f->once, err);
}

/* --- opening -------------------------------------------------------------- */

static void free_protocol(void *state)
{
    um_razor_service *f = state;

    um_razor_shared_free(f->shared);
    um_limits_close(f->signup);
    um_pyzor_once_close(f->once);
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

/* Clients cache the state; where we are is asked in every discovery. */
static umbel_status open_state(um_razor_service *f, umbel_error *err)
{
    char text[UM_RAZOR_REPLY];
    um_razor_state s = {.seed = f->seed, .confidence = f->confidence};
    size_t len = um_razor_print_state(&s, text);

    return um_razor_serial(f->house->store, (umbel_slice){text, len},
                           f->house->now, &f->serial, err);
}

static umbel_status open_protocol(um_server *h, void **state, umbel_error *err)
{
    um_razor_service *f = calloc(1, sizeof *f);
    const um_razor_settings *s =
        um_config_protocol(&h->opened, &um_protocol_razor);
    um_limit_settings signup = signup_limits(&h->config);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed with the house */
    f->house = h;
    f->stats = um_server_stats(h, &um_protocol_razor);
    f->list = um_server_first_list(&um_protocol_razor);
    f->seed = s->seed;
    f->confidence = s->confidence;
    f->share_wait = SHARE_MS;
    f->streams = (um_protocol_stream){.house = h,
                                      .front = &um_protocol_razor,
                                      .op = UM_RAZOR_OP_CONNECTION,
                                      .ends = UM_RAZOR_ENDS,
                                      .owner = f,
                                      .gone = free_protocol};
    if (!s->listen.n)
        return UMBEL_OK;
    UM_TRY(check_announced(s, NULL, err));
    f->accounts = um_razor_account_count(h->store);
    f->shared = um_razor_shared_create();
    if (!f->shared)
        return um_no_memory(err, 1);
    UM_TRY(choose_unit(f, err));
    UM_TRY(um_limits_open(&signup, &f->signup, err));
    UM_TRY(open_state(f, err));
    return open_streams(f, err);
}

static umbel_status reload(void *state, umbel_error *err)
{
    um_razor_service *f = state;
    um_limit_settings signup = signup_limits(&f->house->config);

    if (!f->streams.n)
        return UMBEL_OK;
    UM_TRY(check_announced(um_razor_settings_of(f), NULL, err));
    um_limits_set(f->signup, &signup);
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

static void describe(const void *state, struct um_status *out)
{
    const um_razor_service *f = state;

    out->razor = f->lookups;
    out->razor.accounts = f->accounts;
    if (f->shared && um_razor_settings_of(f)->accounts)
        out->razor.shared = um_razor_shared_count(f->shared, f->house);
}

static void hint(const void *state, FILE *out)
{
    const um_razor_service *f = state;
    const char *address = um_server_address_of(f->house, &um_protocol_razor);

    if (!address)
        return;
    fprintf(out,
            "razor-agents, in razor-agent.conf:\n"
            "    razordiscovery = %s\n"
            "then, once: razor-admin -discover; razor-admin -register\n"
            "SpamAssassin, in local.cf (with loadplugin "
            "Mail::SpamAssassin::Plugin::Razor2):\n"
            "    use_razor2 1\n"
            "    razor_config /etc/razor/razor-agent.conf\n",
            address);
}

static const um_doctor_row doctor[] = {{"razor",
                                        offsetof(um_razor_settings, listen),
                                        SOCK_STREAM, um_doctor_razor, NULL},
                                       {0}};

const um_protocol um_protocol_razor = {
    .name = "razor",
    .summary = "Razor2 clients (razor-agents, SpamAssassin), over TCP",
    .settings = settings,
    .settings_len = sizeof(um_razor_settings),
    .lists = {"razor-spam", "razor-revoked"},
    .revokes = UM_RAZOR_REVOKED,
    .list_initials = list_initials,
    .revoked_at = count_of_report,
    .agree = agree_on_seed,
    .ops = ops,
    .verdicts = um_razor_verdicts,
    .memory = add_memory,
    .check = check_announced,
    .open = open_protocol,
    .reload = reload,
    .committed = committed,
    .stop = stop,
    .busy = busy,
    .close = close_protocol,
    .describe = describe,
    .hint = hint,
    .doctor = doctor,
};
