/*
 * scan.c - rspamd's scanners pyzor and razor, without their daemons.
 *
 * rspamd sends a whole mail over TCP and shuts down its side. The scanner pyzor
 * expects the line of a Pyzor client, razor the word spam or ham. A worker
 * reads the mail, and its signatures are looked up; nothing is counted. A
 * connection that cannot be answered is closed without a reply, so rspamd gets
 * no result rather than a wrong one.
 */
#include "base/error.h"
#include "clearinghouse/lists/lists.h"
#include "clearinghouse/lists/mails.h"
#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/mail_in.h"
#include "clearinghouse/protocols/stream_service.h"
#include "mail/pool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_MS = 10000, TOTAL_MS = 120000 };

typedef struct scan_settings {
    um_texts pyzor, razor; /* addresses */
    uint64_t reports;      /* number that makes a mail spam */
    uint64_t connections;
    uint64_t largest; /* bytes of a mail */
    uint64_t mails;   /* bytes of all mails that are being received */
} scan_settings;

static const um_setting settings[] = {
    {"pyzor", &um_type_addresses, offsetof(scan_settings, pyzor), NULL,
     .help = "TCP addresses for rspamd's scanner pyzor, such as "
             "127.0.0.1:5953"},
    {"razor", &um_type_addresses, offsetof(scan_settings, razor), NULL,
     .help = "TCP addresses for rspamd's scanner razor, such as "
             "127.0.0.1:11342"},
    {"reports", &um_type_count, offsetof(scan_settings, reports), "5",
     .help = "razor: reports in Pyzor's list from which on a mail is spam",
     .low = 1, .high = 1e9, .live = true},
    {"connections", &um_type_count, offsetof(scan_settings, connections), "256",
     .help = "connections at the same time", .low = 1, .high = 1e5},
    {"largest", &um_type_size, offsetof(scan_settings, largest), "16MB",
     .help = "bytes of a mail; a longer one is not answered", .low = 1e4,
     .high = 1e9, .live = true},
    {"mails", &um_type_size, offsetof(scan_settings, mails), "32MB",
     .help = "bytes of all mails that are being received", .low = 1e5,
     .high = 1e12},
    {0}};

static const char *const ops[] = {"pyzor", "razor", "connection", NULL};
typedef enum scan_op { SCAN_PYZOR, SCAN_RAZOR, SCAN_CONNECTION } scan_op;

enum { SERVED, LARGE, RATE_LIMIT, UNREADABLE, BUSY, EMPTY, ENDS };

static const um_verdict verdicts[] = {
    [SERVED] = {200, "OK", NULL},
    [LARGE] = {413, "the mail is longer than the limit", "large_mail"},
    [RATE_LIMIT] = {429, "too many mails of its network", "rate_limit"},
    [UNREADABLE] = {422, "no worker could read the mail", "unreadable"},
    [BUSY] = {503, "too many mails at the same time", "busy"},
    [EMPTY] = {400, "no mail was sent", "empty"},
    UM_END_VERDICTS(ENDS)};
_Static_assert(UM_COUNT(verdicts) <= UM_MAX_VERDICTS, "space for verdicts");

typedef struct scan_protocol {
    const um_environment *env;
    um_service_stats *stats;
    um_protocol_stream streams;
    um_mail_budget budget;
    size_t reading; /* jobs that workers have */
} scan_protocol;

/* A connection. It outlives its stream while a worker reads the mail. */
typedef struct scan_job {
    scan_protocol *service;
    um_stream *stream; /* NULL if the client is gone */
    um_address client;
    scan_op op;
    um_mail_in mail;
    um_mail_in_state state;
    bool reading;
} scan_job;

static const scan_settings *settings_of(const scan_protocol *f)
{
    return um_config_get(f->env->config, &um_section_scan);
}

/* --- answers -------------------------------------------------------------- */

static void free_job(scan_job *job)
{
    um_mail_in_drop(&job->mail);
    free(job);
}

/* Sends text, unless it is NULL, and ends the connection. */
static void finish(scan_job *job, unsigned verdict, const char *text)
{
    scan_protocol *f = job->service;

    um_service_count(f->stats, job->op, verdict);
    if (verdict != SERVED)
        um_service_log_refusal(f->stats, verdict, &job->client, NULL);
    if (!job->stream) {
        free_job(job);
        return;
    }
    um_mail_in_drop(&job->mail);
    if (text)
        um_stream_write(job->stream, (umbel_slice){text, strlen(text)});
    um_stream_end(job->stream, UM_END_DONE);
}

/* Looks up the counts in Pyzor's lists: reports, whitelistings. */
static void ask_pyzor(const um_environment *env, const um_mail_counts *c,
                      uint64_t count[2])
{
    count[0] = count[1] = 0;
    for (size_t i = 0; i < c->keys.n; i++)
        if (c->keys.kind[i] == UM_KEY_PYZOR) {
            um_lists_count(env->lists, UM_LIST_PYZOR_REPORTS, &c->digest[i], 1,
                           &count[0]);
            um_lists_count(env->lists, UM_LIST_PYZOR_WHITELIST, &c->digest[i],
                           1, &count[1]);
        }
}

static void answer_pyzor(scan_job *job, const um_mail_counts *c)
{
    const scan_protocol *f = job->service;
    char text[UM_ADDRESS_TEXT + 64];
    uint64_t count[2];

    ask_pyzor(f->env, c, count);
    snprintf(text, sizeof text, "%s\t(200, 'OK')\t%" PRIu64 "\t%" PRIu64 "\n",
             um_addresses_first(f->env->addresses, &um_protocol_scan.service),
             count[0], count[1]);
    f->stats->hits += count[0] && !count[1];
    finish(job, SERVED, text);
}

/* Returns true if the mail was reported often enough to Pyzor's list, and not
 * whitelisted. */
static bool is_reported(const um_environment *env, const um_mail_counts *c,
                        uint64_t reports)
{
    bool reported = false, whitelisted = false;

    for (size_t i = 0; i < c->keys.n; i++)
        if (c->keys.kind[i] == UM_KEY_PYZOR) {
            um_lists_reaches(env->lists, UM_LIST_PYZOR_REPORTS, &c->digest[i],
                             1, reports, &reported);
            um_lists_reaches(env->lists, UM_LIST_PYZOR_WHITELIST, &c->digest[i],
                             1, 1, &whitelisted);
        }
    return reported && !whitelisted;
}

/* Returns true if the mail was reported often enough to Pyzor's list, or is
 * bulk in one of dccifd's. */
static bool is_spam(const scan_protocol *f, um_mail_counts *c)
{
    const um_environment *env = f->env;
    unsigned many = um_list_threshold(env->opened, UM_LIST_BODY);

    if (is_reported(env, c, settings_of(f)->reports))
        return true;
    um_mail_counts_ask_many(c, env->lists, many);
    for (int kind = 0; kind < UM_MAIL_KEY_KINDS; kind++)
        if (um_mail_counts_of(c, (um_mail_key)kind) >= many)
            return true;
    return false;
}

static void answer_razor(scan_job *job, um_mail_counts *c)
{
    bool spam = is_spam(job->service, c);

    job->service->stats->hits += spam;
    finish(job, SERVED, spam ? "spam" : "ham");
}

static void on_facts(void *arg, const um_mail_facts *facts, um_mail_fail why)
{
    scan_job *job = arg;
    const um_environment *env = job->service->env;
    um_mail_counts c;

    job->reading = false;
    job->service->reading--;
    if (!facts) {
        finish(job,
               why == UM_MAIL_FAIL_CLOSING || why == UM_MAIL_FAIL_BUSY
                   ? BUSY
                   : UNREADABLE,
               NULL);
        return;
    }
    um_mail_counts_init(&c, env->lists, facts);
    if (um_mail_is_welcome(env->lists, facts, &c.keys, "", "", NULL))
        c.keys.n = 0; /* as if it were unknown */
    if (job->op == SCAN_PYZOR)
        answer_pyzor(job, &c);
    else
        answer_razor(job, &c);
}

static void ask_worker(scan_job *job)
{
    scan_protocol *f = job->service;
    size_t len;
    uint8_t *mail = um_mail_in_release(&job->mail, &len);

    job->reading = true;
    f->reading++;
    if (um_mail_pool_submit(f->env->pool, mail, len, on_facts, job) == UMBEL_OK)
        return;
    job->reading = false;
    f->reading--;
    finish(job, BUSY, NULL);
}

/* --- the stream ----------------------------------------------------------- */

static void opened(um_stream *s, scan_op op)
{
    scan_job *job = calloc(1, sizeof *job);

    if (!job) {
        um_stream_close(s, UM_END_MEMORY);
        return;
    }
    job->service = um_protocol_stream_owner(s);
    job->stream = s;
    job->client = *um_stream_peer(s);
    job->op = op;
    job->mail.budget = &job->service->budget;
    um_stream_set_data(s, job);
}

static void opened_pyzor(um_stream *s)
{
    opened(s, SCAN_PYZOR);
}

static void opened_razor(um_stream *s)
{
    opened(s, SCAN_RAZOR);
}

static size_t consume(um_stream *s, const uint8_t *bytes, size_t len)
{
    scan_job *job = um_stream_data(s);
    const scan_protocol *f = job->service;

    if (job->state == UM_MAIL_IN_FINE)
        job->state = um_mail_in_append(&job->mail, bytes, len,
                                       (size_t)f->env->opened->mail.bytes + 1,
                                       settings_of(f)->largest);
    if (job->state != UM_MAIL_IN_FINE)
        um_mail_in_drop(&job->mail);
    return len;
}

static void last(um_stream *s, const uint8_t *bytes, size_t len)
{
    scan_job *job = um_stream_data(s);
    const um_environment *env = job->service->env;

    (void)bytes;
    (void)len;
    if (!um_limits_consume(env->limits, &job->client, UM_LIMIT_REQUESTS, 1,
                           um_clock_ms(env->clock)))
        finish(job, RATE_LIMIT, NULL);
    else if (job->state != UM_MAIL_IN_FINE)
        finish(job, job->state == UM_MAIL_IN_LARGE ? LARGE : BUSY, NULL);
    else if (!job->mail.len)
        finish(job, EMPTY, NULL);
    else
        ask_worker(job);
}

static void closed(um_stream *s)
{
    scan_job *job = um_stream_data(s);

    if (!job)
        return;
    job->stream = NULL;
    if (!job->reading)
        free_job(job);
}

static const um_stream_protocol pyzor_protocol = {opened_pyzor, consume, last,
                                                  closed},
                                razor_protocol = {opened_razor, consume, last,
                                                  closed};

/* --- the protocol --------------------------------------------------------- */

static umbel_status add_memory(const um_config *c, uint64_t *need,
                               umbel_error *err)
{
    const scan_settings *s = um_config_get(c, &um_section_scan);

    if (!s->pyzor.n && !s->razor.n)
        return UMBEL_OK;
    if (s->mails <= c->mail.bytes)
        return um_fail(err, UMBEL_E_RANGE,
                       "scan: mails = %" PRIu64
                       " is too small for one mail (mail.bytes = %" PRIu64 ")",
                       s->mails, c->mail.bytes);
    *need += s->mails + s->connections * (sizeof(scan_job) + 4096);
    return UMBEL_OK;
}

static umbel_status open_streams(scan_protocol *f, umbel_error *err)
{
    const scan_settings *s = settings_of(f);
    uint64_t reading = 2 * f->env->opened->mail.time + 1000;
    um_stream_limits limits = {.request = 4096,
                               .idle_ms = reading > IDLE_MS ? reading : IDLE_MS,
                               .total_ms = TOTAL_MS};

    UM_TRY(um_protocol_stream_open(&f->streams, (size_t)s->connections, err));
    UM_TRY(um_protocol_stream_listen(&f->streams, &s->pyzor, &pyzor_protocol,
                                     &limits, err));
    return um_protocol_stream_listen(&f->streams, &s->razor, &razor_protocol,
                                     &limits, err);
}

static umbel_status open_protocol(const um_environment *env, void **state,
                                  umbel_error *err)
{
    scan_protocol *f = calloc(1, sizeof *f);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed by the server */
    f->env = env;
    f->stats = um_statistics_of(env->statistics, &um_protocol_scan.service);
    if (!f->stats)
        return um_no_memory(err, sizeof *f->stats);
    f->budget.max = settings_of(f)->mails;
    f->streams = (um_protocol_stream){.env = env,
                                      .service = &um_protocol_scan.service,
                                      .op = SCAN_CONNECTION,
                                      .ends = ENDS,
                                      .owner = f,
                                      .gone = free};
    return open_streams(f, err);
}

static void stop(void *state)
{
    um_protocol_stream_stop(&((scan_protocol *)state)->streams);
}

static bool busy(const void *state)
{
    return ((const scan_protocol *)state)->reading;
}

/* Closes the connections. The pool is closed already, so no worker has a
 * job. */
static void close_protocol(void *state)
{
    um_protocol_stream_close(&((scan_protocol *)state)->streams);
}

static void hint(const void *state, FILE *out)
{
    const scan_protocol *f = state;
    const scan_settings *s = settings_of(f);

    if (s->pyzor.n)
        fprintf(out,
                "rspamd, in local.d/external_services.conf:\n"
                "    pyzor { servers = \"%s\"; }\n",
                s->pyzor.item[0]);
    if (s->razor.n)
        fprintf(out,
                "rspamd, in local.d/external_services.conf:\n"
                "    razor { servers = \"%s\"; }\n",
                s->razor.item[0]);
}

/* --- the probes of doctor ------------------------------------------------- */

static umbel_status probe(const um_address *at, const char *want,
                          const char *other, const char *name, um_finding *out,
                          umbel_error *err)
{
    char answer[256];

    UM_TRY(
        um_doctor_exchange(at, um_doctor_mail(), answer, sizeof answer, err));
    if (!answer[0])
        return um_fail(err, UMBEL_E_REFUSED,
                       "the mail is not answered: no worker could read it, or "
                       "the limits of the configuration refuse it");
    if (!strstr(answer, want) && strcmp(answer, other) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there does not speak to rspamd's scanner "
                       "%s",
                       name);
    UM_SAY(out->text, "the mail was read and looked up");
    return UMBEL_OK;
}

static umbel_status probe_pyzor(const um_doctor_context *d,
                                const um_address *at, um_finding *out,
                                umbel_error *err)
{
    (void)d;
    return probe(at, "\t(200, 'OK')\t", "", "pyzor", out, err);
}

static umbel_status probe_razor(const um_doctor_context *d,
                                const um_address *at, um_finding *out,
                                umbel_error *err)
{
    (void)d;
    return probe(at, "ham", "spam", "razor", out, err);
}

static const um_doctor_row doctor[] = {
    {"scan pyzor", offsetof(scan_settings, pyzor), SOCK_STREAM, probe_pyzor,
     NULL},
    {"scan razor", offsetof(scan_settings, razor), SOCK_STREAM, probe_razor,
     NULL},
    {0}};

const um_protocol_section um_section_scan = {"scan", settings,
                                             sizeof(scan_settings)};

const um_protocol um_protocol_scan = {
    .service = {.name = "scan",
                .ops = ops,
                .verdicts = verdicts,
                .counts_mail = true},
    .section = &um_section_scan,
    .memory = add_memory,
    .open = open_protocol,
    .stop = stop,
    .busy = busy,
    .close = close_protocol,
    .hint = hint,
    .doctor = doctor,
};
