/*
 * protocol.c - dccifd over TCP and unix sockets: settings, opening, and the
 * probe of `doctor`.
 */
#include "base/error.h"
#include "clearinghouse/protocols/dccifd/internal.h"
#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/runtime/format.h"
#include "net/dccifd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IDLE_MS = 10000, TOTAL_MS = 120000 };

static const char *const countings[] = {"mails", "recipients", NULL};

static const um_setting settings[] = {
    {"listen", &um_type_addresses, offsetof(um_dccifd_settings, listen),
     "127.0.0.1:10045", .help = "TCP addresses and paths of unix sockets"},
    {"many", &um_type_count, offsetof(um_dccifd_settings, many), "20",
     .help = "count from which on a mail is bulk", .low = 1,
     .high = UM_LIST_MAX_THRESHOLD},
    {"count", &um_type_choice, offsetof(um_dccifd_settings, count), "mails",
     .help = "a look-up counts once (mails), or once for each recipient",
     .choices = countings, .live = true},
    {"connections", &um_type_count, offsetof(um_dccifd_settings, connections),
     "256", .help = "connections at the same time", .low = 1, .high = 1e5},
    {"largest", &um_type_size, offsetof(um_dccifd_settings, largest), "16MB",
     .help = "bytes of a mail; a longer one is accepted and not counted",
     .low = 1e4, .high = 1e9, .live = true},
    {"mails", &um_type_size, offsetof(um_dccifd_settings, mails), "32MB",
     .help = "bytes of all mails that are being received", .low = 1e5,
     .high = 1e12},
    {0}};

static const char *const ops[] = {"lookup", "query", "report", "connection",
                                  NULL};

static const um_verdict verdicts[] = {
    [UM_DCCIFD_OK] = {200, "OK", NULL},
    [UM_DCCIFD_MALFORMED] = {400, "no whole envelope", "malformed"},
    [UM_DCCIFD_ENVELOPE] = {431, "a line or too many recipients",
                            "long_envelope"},
    [UM_DCCIFD_LARGE] = {413, "the mail is longer than the limit",
                         "large_mail"},
    [UM_DCCIFD_RATE_LIMIT] = {429, "too many mails of its network",
                              "rate_limit"},
    [UM_DCCIFD_UNREADABLE] = {422, "no worker could read the mail",
                              "unreadable"},
    [UM_DCCIFD_BUSY] = {503, "too many mails at the same time", "busy"},
    [UM_DCCIFD_NOT_STORED] = {503, "not counted: the disk cannot be written",
                              "not_stored"},
    [UM_DCCIFD_NEW_LIMIT] = {429, "not counted: " UM_TEXT_NEW_LIMIT,
                             "new_digests"},
    [UM_DCCIFD_SHARE_FULL] = {503, "not counted: " UM_TEXT_SHARE_FULL,
                              "anonymous_full"},
    [UM_DCCIFD_LIST_FULL] = {503, "not counted: a list is full", "list_full"},
    UM_END_VERDICTS(UM_DCCIFD_ENDS)};
_Static_assert(UM_COUNT(verdicts) <= UM_MAX_VERDICTS, "space for verdicts");

static umbel_status add_memory(const um_config *c, uint64_t *need,
                               umbel_error *err)
{
    const um_dccifd_settings *s = um_config_get(c, &um_section_dccifd);

    if (!s->listen.n)
        return UMBEL_OK;
    if (s->mails <= c->mail.bytes)
        return um_fail(err, UMBEL_E_RANGE,
                       "dccifd: mails = %" PRIu64
                       " is too small for one mail (mail.bytes = %" PRIu64 ")",
                       s->mails, c->mail.bytes);
    *need += s->mails + um_same_mail_bytes() +
             s->connections * (sizeof(um_dccifd_job) + UM_DCCIFD_LINE + 512);
    return UMBEL_OK;
}

/* --- opening -------------------------------------------------------------- */

/* Returns the idle timeout. A client is silent while its mail waits for a
 * worker and is read. */
static uint64_t idle_ms(const um_dccifd_service *f)
{
    uint64_t reading = 2 * f->env->opened->mail.time + 1000;

    return reading > IDLE_MS ? reading : IDLE_MS;
}

static umbel_status open_streams(um_dccifd_service *f, umbel_error *err)
{
    const um_dccifd_settings *s = um_dccifd_settings_of(f);
    um_stream_limits limits = {.request = (size_t)2 * UM_DCCIFD_LINE,
                               .unread = (size_t)s->mails + UM_DCCIFD_REPLY,
                               .idle_ms = idle_ms(f),
                               .total_ms = TOTAL_MS};

    UM_TRY(um_protocol_stream_open(&f->streams, (size_t)s->connections, err));
    return um_protocol_stream_listen(&f->streams, &s->listen,
                                     &um_dccifd_protocol, &limits, err);
}

static void free_protocol(void *state)
{
    um_dccifd_service *f = state;

    um_same_mail_close(f->same);
    free(f);
}

static umbel_status open_protocol(const um_environment *env, void **state,
                                  umbel_error *err)
{
    um_dccifd_service *f = calloc(1, sizeof *f);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed by the server */
    f->env = env;
    f->section = &um_section_dccifd;
    f->stats = um_statistics_of(env->statistics, &um_protocol_dccifd.service);
    if (!f->stats)
        return um_no_memory(err, sizeof *f->stats);
    f->many = um_dccifd_settings_of(f)->many;
    f->budget.max = um_dccifd_settings_of(f)->mails;
    f->answers = (um_log_topic){.source = "dccifd", .name = "answered"};
    if (gethostname(f->host, sizeof f->host) != 0 || !f->host[0])
        strcpy(f->host, "localhost");
    f->host[sizeof f->host - 1] = '\0';
    f->streams = (um_protocol_stream){.env = env,
                                      .service = &um_protocol_dccifd.service,
                                      .op = UM_DCCIFD_OP_CONNECTION,
                                      .ends = UM_DCCIFD_ENDS,
                                      .owner = f,
                                      .gone = free_protocol,
                                      /* Open to all users, like a port on
                                       * loopback: mail filters run as their own
                                       * users. */
                                      .socket_mode = 0666};
    f->milter = &um_protocol_milter.service;
    UM_TRY(um_same_mail_open(&f->same, err));
    return open_streams(f, err);
}

static void committed(void *state)
{
    um_dccifd_answer_pending(state);
}

static void stop(void *state)
{
    um_protocol_stream_stop(&((um_dccifd_service *)state)->streams);
}

static bool busy(const void *state)
{
    const um_dccifd_service *f = state;

    return f->reading || f->first;
}

/* Closes the connections. The pool is closed already, so no worker has a
 * job. */
static void close_protocol(void *state)
{
    um_protocol_stream_close(&((um_dccifd_service *)state)->streams);
}

static void hint(const void *state, FILE *out)
{
    const um_dccifd_service *f = state;
    const char *address =
        um_addresses_first(f->env->addresses, &um_protocol_dccifd.service);

    if (!address)
        return;
    fprintf(out,
            "SpamAssassin, in umbel.pre beside local.cf, which loads no "
            "plugins:\n"
            "    loadplugin Mail::SpamAssassin::Plugin::DCC\n"
            "SpamAssassin, in local.cf:\n"
            "    use_dcc 1\n"
            "    dcc_dccifd_path %s\n"
            "rspamd, in local.d/dcc.conf:\n"
            "    enabled = true; servers = \"%s\";\n",
            address, address);
}

static umbel_status check_sizes(const void *settings_given, FILE *out,
                                umbel_error *err)
{
    const um_dccifd_settings *s = settings_given;

    (void)err;
    if (s->largest > s->mails)
        fprintf(out,
                "dccifd: largest = %s, but there is memory for mails = %s: a "
                "longer mail is answered \"temporary failure\"\n",
                um_format_bytes(s->largest).text,
                um_format_bytes(s->mails).text);
    return UMBEL_OK;
}

/* --- the probe of doctor -------------------------------------------------- */

static umbel_status probe(const um_doctor_context *d, const um_address *at,
                          um_finding *out, umbel_error *err)
{
    static const char *const recipient[] = {"doctor", NULL};
    const um_dccifd_query q = {.server = *at,
                               .timeout_ms = UM_DOCTOR_MS,
                               .words = "header query",
                               .client = "192.0.2.1",
                               .helo = "doctor",
                               .sender = "doctor@umbel.invalid",
                               .recipient = recipient};
    um_dccifd_response a;

    (void)d;
    UM_TRY(um_dccifd_call(&q, um_doctor_mail(), &a, err));
    if (!strstr(a.text, "X-DCC-"))
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there does not speak dccifd");
    if (strstr(a.text, " whitelist"))
        UM_SAY(out->text, "the mail is welcome by a rule");
    else if (strstr(a.text, "Body="))
        UM_SAY(out->text, "the mail was read and looked up");
    else
        return um_fail(err, UMBEL_E_REFUSED,
                       "the mail was not read: no worker answers");
    return UMBEL_OK;
}

static const um_doctor_row doctor[] = {
    {"dccifd", offsetof(um_dccifd_settings, listen), SOCK_STREAM, probe, NULL},
    {0}};

const um_protocol_section um_section_dccifd = {"dccifd", settings,
                                               sizeof(um_dccifd_settings)};

const um_protocol um_protocol_dccifd = {
    .service = {.name = "dccifd",
                .ops = ops,
                .verdicts = verdicts,
                .counts_mail = true},
    .section = &um_section_dccifd,
    .check = check_sizes,
    .memory = add_memory,
    .open = open_protocol,
    .committed = committed,
    .stop = stop,
    .busy = busy,
    .close = close_protocol,
    .hint = hint,
    .doctor = doctor,
};
