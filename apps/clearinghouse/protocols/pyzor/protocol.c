/*
 * protocol.c - Pyzor over UDP: settings, opening, reload, and the probe of
 * `doctor`.
 */
#include "clearinghouse/protocols/pyzor/internal.h"

#include "base/decimal.h"
#include "base/error.h"
#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/razor/razor.h"
#include "net/server/socket.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const um_setting settings[] = {
    {"listen", &um_type_ports, offsetof(um_pyzor_settings, listen),
     "127.0.0.1:24441", .help = "UDP addresses"},
    {"passwd", &um_type_text, offsetof(um_pyzor_settings, passwd), NULL,
     .help = "file of accounts, as pyzord reads it", .live = true},
    {"access", &um_type_text, offsetof(um_pyzor_settings, access), NULL,
     .help = "file of what accounts may do, as pyzord reads it", .live = true},
    {"once_per_reporter", &um_type_flag,
     offsetof(um_pyzor_settings, once_per_reporter), "false",
     .help = "count a digest once for each account, or network without account",
     .live = true},
    {"once_capacity", &um_type_count,
     offsetof(um_pyzor_settings, once_capacity), "1000000",
     .help = "latest reports that once_per_reporter remembers", .low = 1000,
     .high = 1e9},
    {0}};

static const char *const ops[] = {"ping",   "pong",      "check", "info",
                                  "report", "whitelist", "other", NULL};

static const um_pyzor_settings *settings_of(const um_environment *env)
{
    return um_config_get(env->config, &um_section_pyzor);
}

/* --- accounts ------------------------------------------------------------- */

static umbel_status check_files(const void *settings_given, FILE *out,
                                umbel_error *err)
{
    const um_pyzor_settings *s = settings_given;
    um_pyzor_accounts a;

    UM_TRY(um_pyzor_accounts_init(&a, s->passwd, s->access, um_print_warning,
                                  out, err));
    um_pyzor_accounts_fini(&a);
    return UMBEL_OK;
}

/* Logs weights of accounts that nobody has: most are misspelt names. */
static void log_strange_weights(const um_environment *env,
                                const um_pyzor_accounts *a)
{
    for (size_t i = 0; i < env->config->naccounts; i++) {
        const char *name = env->config->account[i].name;
        umbel_slice slice = {name, strlen(name)};

        if (!um_pyzor_account_find(a, slice) && !um_razor_knows(env, name))
            um_log_event(env->log,
                         "account \"%s\" of the settings is not in the passwd "
                         "file, and Razor clients have not registered it: its "
                         "weight is not used",
                         name);
    }
}

static umbel_status load_accounts(const um_environment *env,
                                  um_pyzor_accounts *out, umbel_error *err)
{
    const um_pyzor_settings *s = settings_of(env);

    UM_TRY(um_pyzor_accounts_init(out, s->passwd, s->access, um_log_warning,
                                  env->log, err));
    for (size_t i = 0; i < out->n; i++)
        out->account[i].weight =
            um_config_weight(env->config, out->account[i].name);
    log_strange_weights(env, out);
    return UMBEL_OK;
}

static umbel_status reload(void *state, umbel_error *err)
{
    um_pyzor_service *f = state;
    const um_pyzor_settings *s = settings_of(f->env);
    um_pyzor_accounts fresh;

    UM_TRY(load_accounts(f->env, &fresh, err));
    if (s->once_per_reporter && !f->once) {
        umbel_status status =
            um_duplicates_open(s->once_capacity, &f->once, err);
        if (status != UMBEL_OK) {
            um_pyzor_accounts_fini(&fresh);
            return status;
        }
    } else if (!s->once_per_reporter) {
        um_duplicates_close(f->once);
        f->once = NULL;
    }
    um_pyzor_accounts_fini(&f->accounts);
    f->accounts = fresh;
    return UMBEL_OK;
}

/* --- memory --------------------------------------------------------------- */

static umbel_status add_memory(const um_config *c, uint64_t *need,
                               umbel_error *err)
{
    const um_pyzor_settings *s = um_config_get(c, &um_section_pyzor);
    um_duplicates *once;

    if (s->passwd) /* replay guard, twice while resized */
        *need += 2 * (uint64_t)UM_REPLAY_GUARD_MAX_BYTES;
    if (!s->once_per_reporter)
        return UMBEL_OK;
    UM_TRY(um_duplicates_open(s->once_capacity, &once, err));
    *need += um_duplicates_bytes(once);
    um_duplicates_close(once);
    return UMBEL_OK;
}

/* --- sockets -------------------------------------------------------------- */

static umbel_status open_protocol(const um_environment *env, void **state,
                                  umbel_error *err)
{
    um_datagrams_config c = {.ceiling = UM_PYZOR_MAX,
                             .reply = UM_PYZOR_REPLY_MAX,
                             .take = um_pyzor_handle_batch};
    um_pyzor_service *f = calloc(1, sizeof *f);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed by the server */
    f->env = env;
    f->net = (um_protocol_datagram){.env = env,
                                    .service = &um_protocol_pyzor.service,
                                    .answer = um_pyzor_answer_pending};
    f->stats = um_statistics_of(env->statistics, &um_protocol_pyzor.service);
    if (!f->stats)
        return um_no_memory(err, sizeof *f->stats);
    UM_TRY(reload(f, err));
    return um_protocol_datagram_open(&f->net, &settings_of(env)->listen, &c,
                                     err);
}

static void close_protocol(void *state)
{
    um_pyzor_service *f = state;

    um_protocol_datagram_close(&f->net);
    um_duplicates_close(f->once);
    um_pyzor_accounts_fini(&f->accounts);
    free(f);
}

static void hint(const void *state, FILE *out)
{
    const um_pyzor_service *f = state;
    const char *address =
        um_addresses_first(f->env->addresses, &um_protocol_pyzor.service);

    if (!address)
        return;
    fprintf(out,
            "pyzor, in ~/.pyzor/servers:\n"
            "    %s\n"
            "SpamAssassin, in local.cf (count_min: reports that make a hit):\n"
            "    use_pyzor 1\n"
            "    pyzor_options --homedir /etc/spamassassin/pyzor\n"
            "    pyzor_count_min 5\n"
            "with the same line in /etc/spamassassin/pyzor/servers\n",
            address);
}

/* --- the probe of doctor -------------------------------------------------- */

/* Acts as a Pyzor client without an account: ping, check, and a report of the
 * empty text, which is never counted. */

enum { THREAD = 24441, ANSWERED = 200, FORBIDDEN = 403 };

/* Returns the code of an answer to our thread; 0 if it is something else. */
static unsigned code_of(umbel_slice text)
{
    um_pyzor_request r;
    uint64_t code;

    um_pyzor_parse(text.data, text.len, &r);
    return r.thread.data && um_decimal_read(r.code.data, r.code.len, 999, &code)
               ? (unsigned)code
               : 0;
}

static umbel_status ask_pyzor(int fd, const char *op, const char *digest,
                              unsigned *code, umbel_error *err)
{
    char text[256], answer[UM_PYZOR_MAX];
    int len =
        snprintf(text, sizeof text, "Op: %s\n%s%s%sThread: %d\nPV: 2.1\n\n", op,
                 digest ? "Op-Digest: " : "", digest ? digest : "",
                 digest ? "\n" : "", THREAD);
    size_t n;

    UM_TRY(um_call_send(fd, text, (size_t)len, err));
    if (um_call_receive(fd, answer, sizeof answer, &n, err) != UMBEL_OK)
        return um_fail(err, UMBEL_E_IO,
                       "%s is not answered: a firewall drops it, or the "
                       "limits of the configuration do",
                       op);
    *code = code_of((umbel_slice){answer, n});
    if (*code)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   "what answers there does not speak Pyzor");
}

static void ignore_line(void *ctx, const char *file, size_t line,
                        const char *what)
{
    (void)ctx;
    (void)file;
    (void)line;
    (void)what;
}

/* Returns the number of accounts in the passwd file that may report. */
static size_t count_reporters(const um_pyzor_settings *s)
{
    um_pyzor_accounts a = {0};
    size_t n = 0;

    if (um_pyzor_accounts_init(&a, s->passwd, s->access, ignore_line, NULL,
                               NULL) != UMBEL_OK)
        return 0;
    for (size_t i = 0; i < a.n; i++)
        n += a.account[i].listed &&
             (a.account[i].granted >> UM_PYZOR_REPORT & 1);
    um_pyzor_accounts_fini(&a);
    return n;
}

static void judge_rights(const um_doctor_context *d, unsigned check,
                         unsigned report, um_finding *out)
{
    const um_pyzor_settings *s = um_config_get(d->config, &um_section_pyzor);
    size_t reporters = report == FORBIDDEN ? count_reporters(s) : 0;

    UM_SAY(out->text, "ping %s%s", check == ANSWERED ? "and check" : "only",
           report == ANSWERED ? ", and report" : "");
    if (check == ANSWERED && report == ANSWERED)
        return;
    out->health = reporters || report == ANSWERED ? UM_LIMITED : UM_BROKEN;
    if (report == FORBIDDEN)
        UM_SAY(out->text,
               "clients without an account may %s, but not report (403), %s",
               check == ANSWERED ? "check" : "ping, not check",
               reporters ? "accounts may" : "and no account may");
    else
        UM_SAY(out->text, "check is answered with code %u, report with %u",
               check, report);
    UM_SAY(out->advice,
           "add \"check report : anonymous : allow\" to %s, and "
           "send the server SIGHUP, if they should",
           s->access ? s->access : "the access file");
}

static umbel_status probe(const um_doctor_context *d, const um_address *at,
                          um_finding *out, umbel_error *err)
{
    static const char empty_text[] = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    unsigned ping, check, report;
    int fd;

    UM_TRY(um_call_open_datagram(at, UM_DOCTOR_MS, &fd, err));
    umbel_status status = ask_pyzor(fd, "ping", NULL, &ping, err);
    if (status == UMBEL_OK)
        status = ask_pyzor(fd, "check", um_doctor_digest, &check, err);
    if (status == UMBEL_OK)
        status = ask_pyzor(fd, "report", empty_text, &report, err);
    close(fd);
    if (status == UMBEL_OK)
        judge_rights(d, check, report, out);
    return status;
}

/* --- the row -------------------------------------------------------------- */

static const um_doctor_row doctor[] = {
    {"pyzor", offsetof(um_pyzor_settings, listen), SOCK_DGRAM, probe, NULL},
    {0}};

const um_protocol_section um_section_pyzor = {"pyzor", settings,
                                              sizeof(um_pyzor_settings)};

const um_protocol um_protocol_pyzor = {
    .service = {.name = "pyzor",
                .ops = ops,
                .verdicts = um_pyzor_verdicts,
                .counts_mail = true},
    .section = &um_section_pyzor,
    .memory = add_memory,
    .check = check_files,
    .open = open_protocol,
    .reload = reload,
    .committed = um_protocol_datagram_committed,
    .stop = um_protocol_datagram_stop,
    .busy = um_protocol_datagram_busy,
    .close = close_protocol,
    .hint = hint,
    .doctor = doctor,
};
