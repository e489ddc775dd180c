/*
 * protocol.c - rspamd's fuzzy storage over UDP, without encryption: settings,
 * batches of datagrams (writes and look-ups), and the probe of `doctor`.
 */
#include "clearinghouse/protocols/fuzzy/internal.h"

#include "base/bytes.h"
#include "base/error.h"
#include "clearinghouse/protocols/doctor_probe.h"
#include "net/server/socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const um_setting settings[] = {
    {"listen", &um_type_ports, offsetof(um_fuzzy_settings, listen), NULL,
     .help = "UDP addresses, such as 127.0.0.1:11335"},
    {"writers", &um_type_networks, offsetof(um_fuzzy_settings, writers),
     "127.0.0.0/8", .help = "client networks that may write and delete",
     .live = true},
    {0}};

static const char *const ops[] = {"check", "write", "delete", "stat",
                                  "ping",  "other", NULL};

static const um_verdict verdicts[UM_FUZZY_OUTCOMES + 1] = {
    [UM_FUZZY_OK] = {200, "OK", NULL},
    [UM_FUZZY_SHORT] = {400, "shorter than what it announces", "short"},
    [UM_FUZZY_LONG] = {413, "longer than 2048 bytes", "too_long"},
    [UM_FUZZY_ENCRYPTED] = {406,
                            "encrypted: leave out encryption_key in rspamd",
                            "encrypted"},
    [UM_FUZZY_VERSION] = {505, "not version 4 of the protocol", "version"},
    [UM_FUZZY_COMMAND] = {501, "an unknown command", "command"},
    [UM_FUZZY_COUNT] = {400, "neither 0 nor 32 shingles", "shingles"},
    [UM_FUZZY_BYTE_ORDER] = {400,
                             "a value that no client means: its machine has "
                             "another byte order",
                             "byte_order"},
    [UM_FUZZY_FORBIDDEN] = {403, "its network is not among writers",
                            "forbidden"},
    [UM_FUZZY_NOT_STORED] = {503, "not stored", "not_stored"},
    [UM_FUZZY_LIST_FULL] = {507, "the list is full", "list_full"},
    [UM_FUZZY_RATE_LIMIT] = {429, "too many requests of its network",
                             "rate_limit"},
};

static const um_fuzzy_settings *settings_of(const um_environment *env)
{
    return um_config_get(env->config, &um_section_fuzzy);
}

/* --- replies -------------------------------------------------------------- */

static void send_bytes(um_fuzzy_service *f, um_datagrams *to,
                       const um_address *client, unsigned op,
                       um_fuzzy_outcome outcome, const um_fuzzy_reply *r)
{
    um_fuzzy_print(r, um_datagrams_reserve(to));
    um_datagrams_append(to, client, UM_FUZZY_REPLY);
    um_service_count(f->stats, op, outcome);
}

/* Returns true if a refusal is answered with 403, as rspamd's own storage does.
 * Malformed requests and floods, whose senders may be forged, get no answer. */
static bool gets_reply(um_fuzzy_outcome outcome)
{
    return outcome == UM_FUZZY_FORBIDDEN || outcome == UM_FUZZY_NOT_STORED ||
           outcome == UM_FUZZY_LIST_FULL;
}

static void refuse(um_fuzzy_service *f, um_datagrams *to,
                   const um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;
    const um_address *client = job->datagram->from;

    if (gets_reply(job->outcome))
        send_bytes(
            f, to, client, q->op, job->outcome,
            &(um_fuzzy_reply){.value = (int32_t)verdicts[job->outcome].code,
                              .flag = q->flag,
                              .tag = q->tag,
                              .digest = q->digest});
    else
        um_service_count(f->stats, q->op, job->outcome);
    um_service_log_refusal(f->stats, job->outcome, client, NULL);
}

/* --- verdicts ------------------------------------------------------------- */

static bool may_write(const um_fuzzy_service *f, const um_address *client)
{
    um_network n = um_address_network(client, &(um_prefixes){32, 128});

    for (size_t i = 0; i < f->nwriters; i++)
        if (um_network_equal(um_network_mask(n, f->writer[i].bits),
                             f->writer[i].network))
            return true;
    return false;
}

static bool is_change(const um_fuzzy_request *q)
{
    return q->op == UM_FUZZY_WRITE || q->op == UM_FUZZY_DELETE;
}

static um_fuzzy_outcome judge(um_fuzzy_service *f, um_fuzzy_job *job)
{
    const um_environment *env = f->env;
    const um_datagram *d = job->datagram;

    job->request = (um_fuzzy_request){.op = UM_FUZZY_OTHER};
    if (!um_limits_consume(env->limits, d->from, UM_LIMIT_REQUESTS, 1,
                           um_clock_ms(env->clock)))
        return UM_FUZZY_RATE_LIMIT;
    if (d->cut)
        return UM_FUZZY_LONG;
    um_fuzzy_outcome outcome = um_fuzzy_parse(d->data, d->len, &job->request);
    if (outcome != UM_FUZZY_OK || !is_change(&job->request))
        return outcome;
    if (!may_write(f, d->from))
        return UM_FUZZY_FORBIDDEN;
    return um_limits_consume(env->limits, d->from, UM_LIMIT_REPORTS, 1,
                             um_clock_ms(env->clock))
               ? UM_FUZZY_OK
               : UM_FUZZY_RATE_LIMIT;
}

static void hash_shingles(const um_fuzzy_service *f, um_fuzzy_request *q)
{
    for (size_t i = 0; q->has_shingles && i < UM_NEAR_SHINGLES; i++)
        q->shingle[i] = um_near_shingle(q->shingle[i], f->secret[i]);
}

/* --- changes -------------------------------------------------------------- */

static um_fuzzy_outcome outcome_of(umbel_status status)
{
    return status == UMBEL_OK       ? UM_FUZZY_OK
           : status == UMBEL_E_FULL ? UM_FUZZY_LIST_FULL
                                    : UM_FUZZY_NOT_STORED;
}

static void handle_change(um_fuzzy_service *f, um_datagrams *to,
                          um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;
    um_fuzzy_change c = {.name = q->digest,
                         .gone = q->op == UM_FUZZY_DELETE,
                         .flag = q->flag,
                         .amount = q->value,
                         .shingle = q->has_shingles ? q->shingle : NULL};
    um_fuzzy_reply r = {
        .flag = q->flag, .tag = q->tag, .probability = 1, .digest = q->digest};
    uint8_t note[UM_FUZZY_REPLY];
    uint64_t ticket = 0;

    job->outcome = um_pending_full(&f->net.pending)
                       ? UM_FUZZY_NOT_STORED
                       : outcome_of(um_fuzzy_write(f->env->lists, UM_LIST_FUZZY,
                                                   &f->view, &c, &ticket));
    if (job->outcome != UM_FUZZY_OK) {
        refuse(f, to, job);
        return;
    }
    um_env_count_reports(f->env, &um_protocol_fuzzy.service, NULL,
                         job->datagram->from, 1);
    if (ticket <= um_store_committed(f->env->store)) {
        send_bytes(f, to, job->datagram->from, q->op, UM_FUZZY_OK, &r);
        return;
    }
    um_fuzzy_print(&r, note);
    um_pending_append(&f->net.pending,
                      &(um_answer){.to = to,
                                   .client = *job->datagram->from,
                                   .ticket = ticket,
                                   .op = q->op},
                      (umbel_slice){note, sizeof note});
}

/* Sends a pending reply, or an error if the store has failed. */
static void answer_one(um_fuzzy_service *f, const um_answer *a, bool stored)
{
    uint8_t *room = um_datagrams_reserve(a->to);
    um_writer w = {room, room + UM_FUZZY_REPLY, false};

    memcpy(room, a->note, UM_FUZZY_REPLY);
    if (!stored) {
        um_write_u32(&w, verdicts[UM_FUZZY_NOT_STORED].code);
        memset(room + 12, 0, 4); /* the probability */
    }
    um_datagrams_append(a->to, &a->client, UM_FUZZY_REPLY);
    um_service_count(f->stats, a->op,
                     stored ? UM_FUZZY_OK : UM_FUZZY_NOT_STORED);
}

static void answer_pending(void *state)
{
    um_fuzzy_service *f = state;
    const um_answer *a;
    bool stored;

    while ((a = um_protocol_datagram_ready(&f->net, &stored))) {
        answer_one(f, a, stored);
        um_pending_drop(&f->net.pending);
    }
}

/* --- look-ups ------------------------------------------------------------- */

static bool is_hit(const um_fuzzy_service *f, const um_fuzzy_mail *m,
                   const umbel_digest *d, const uint8_t *name)
{
    return m->there &&
           !um_fuzzy_is_never(f->env->lists, UM_LIST_FUZZY, d, name);
}

static void fill_hit(um_fuzzy_reply *r, const um_fuzzy_mail *m,
                     const uint8_t *name, unsigned shared)
{
    r->value = m->value;
    r->flag = m->flag;
    r->time = m->stamp;
    r->digest = name;
    r->probability = (float)shared / UM_NEAR_SHINGLES;
}

/* Searches all filters for the mail with the most shingles in common; of
 * several, the latest. */
static void search(const um_fuzzy_service *f, const um_fuzzy_request *q,
                   um_fuzzy_reply *r)
{
    unsigned most = 0;

    for (size_t i = 0; i < f->view.n; i++) {
        um_near_record found;
        um_fuzzy_mail m;
        unsigned shared =
            um_near_search(f->view.source[i].filter, q->shingle, &found);
        if (!shared || shared < most)
            continue;
        umbel_digest d = um_fuzzy_digest(f->env->lists, found.name);
        um_fuzzy_ask(&f->view, &d, found.name, &m);
        if (!is_hit(f, &m, &d, found.name) ||
            (shared == most && m.stamp < r->time))
            continue;
        most = shared;
        fill_hit(r, &m, found.name, shared);
    }
}

static void check_mail(um_fuzzy_service *f, um_datagrams *to,
                       const um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;
    um_fuzzy_reply r = {.tag = q->tag, .digest = q->digest};
    um_fuzzy_mail m;

    um_fuzzy_ask(&f->view, &job->digest, q->digest, &m);
    if (is_hit(f, &m, &job->digest, q->digest))
        fill_hit(&r, &m, q->digest, UM_NEAR_SHINGLES);
    else if (q->has_shingles && !um_fuzzy_is_never(f->env->lists, UM_LIST_FUZZY,
                                                   &job->digest, q->digest))
        search(f, q, &r);
    f->stats->hits += r.probability > 0;
    send_bytes(f, to, job->datagram->from, q->op, UM_FUZZY_OK, &r);
}

/* Returns the number of this server's mails, which rspamd's storage reports as
 * well. */
static uint32_t count_mails(const um_fuzzy_service *f)
{
    um_list_stats s;

    um_list_stats_get(um_store_list(f->env->store, UM_LIST_FUZZY), &s);
    return s.digests < UINT32_MAX ? (uint32_t)s.digests : UINT32_MAX;
}

static void answer_plain(um_fuzzy_service *f, um_datagrams *to,
                         const um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;

    send_bytes(f, to, job->datagram->from, q->op, UM_FUZZY_OK,
               &(um_fuzzy_reply){.flag = q->op == UM_FUZZY_STAT ? count_mails(f)
                                                                : q->flag,
                                 .tag = q->tag,
                                 .probability = 1,
                                 .digest = q->digest});
}

/* --- the batch ------------------------------------------------------------ */

/* Prefetches what the look-ups of the batch will read. */
static void fetch(um_fuzzy_service *f, um_fuzzy_job *job)
{
    const um_fuzzy_request *q = &job->request;

    job->digest = um_fuzzy_digest(f->env->lists, q->digest);
    for (size_t i = 0; i < f->view.n; i++)
        um_near_fetch(f->view.source[i].filter, &job->digest,
                      q->has_shingles ? q->shingle : NULL);
}

static void handle_job(um_fuzzy_service *f, um_datagrams *to, um_fuzzy_job *job)
{
    if (job->outcome != UM_FUZZY_OK)
        refuse(f, to, job);
    else if (job->request.op == UM_FUZZY_CHECK)
        check_mail(f, to, job);
    else if (is_change(&job->request))
        handle_change(f, to, job);
    else
        answer_plain(f, to, job);
}

static void handle_batch(void *ctx, const um_datagram *d, size_t n)
{
    const um_protocol_socket *s = ctx;
    um_fuzzy_service *f = s->owner;

    um_fuzzy_look(&f->view, f->env->lists, UM_LIST_FUZZY);
    for (size_t i = 0; i < n; i++) {
        um_fuzzy_job *job = &f->job[i];
        job->datagram = &d[i];
        job->outcome = judge(f, job);
        hash_shingles(f, &job->request);
        if (job->outcome == UM_FUZZY_OK && job->request.op == UM_FUZZY_CHECK)
            fetch(f, job);
    }
    for (size_t i = 0; i < n; i++)
        handle_job(f, s->datagrams, &f->job[i]);
}

/* --- writers -------------------------------------------------------------- */

static umbel_status reload(void *state, umbel_error *err)
{
    um_fuzzy_service *f = state;
    const um_texts *writers = &settings_of(f->env)->writers;
    um_fuzzy_writer *fresh = calloc(writers->n + 1, sizeof *fresh);

    if (!fresh)
        return um_no_memory(err, sizeof *fresh);
    for (size_t i = 0; i < writers->n; i++) /* the setting was checked */
        um_network_parse(writers->item[i], &fresh[i].network, &fresh[i].bits,
                         NULL);
    free(f->writer);
    f->writer = fresh;
    f->nwriters = writers->n;
    return UMBEL_OK;
}

/* --- sockets -------------------------------------------------------------- */

static umbel_status open_protocol(const um_environment *env, void **state,
                                  umbel_error *err)
{
    um_datagrams_config c = {
        .ceiling = UM_FUZZY_MAX, .reply = UM_FUZZY_REPLY, .take = handle_batch};
    um_fuzzy_service *f = calloc(1, sizeof *f);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed by the server */
    f->env = env;
    f->net = (um_protocol_datagram){.env = env,
                                    .service = &um_protocol_fuzzy.service,
                                    .answer = answer_pending};
    f->stats = um_statistics_of(env->statistics, &um_protocol_fuzzy.service);
    if (!f->stats)
        return um_no_memory(err, sizeof *f->stats);
    um_fuzzy_secrets(env->lists, f->secret);
    UM_TRY(reload(f, err));
    return um_protocol_datagram_open(&f->net, &settings_of(env)->listen, &c,
                                     err);
}

static void close_protocol(void *state)
{
    um_fuzzy_service *f = state;

    um_protocol_datagram_close(&f->net);
    free(f->writer);
    free(f);
}

static void hint(const void *state, FILE *out)
{
    const um_fuzzy_service *f = state;
    const char *address =
        um_addresses_first(f->env->addresses, &um_protocol_fuzzy.service);

    if (address)
        fprintf(out,
                "rspamd, in local.d/fuzzy_check.conf:\n"
                "    rule \"local\" {\n"
                "        servers = \"%s\";\n"
                "        algorithm = \"mumhash\";\n"
                "        symbol = \"LOCAL_FUZZY_UNKNOWN\";\n"
                "        mime_types = [\"*\"];\n"
                "        read_only = no;\n"
                "        skip_unknown = yes;\n"
                "        fuzzy_map = { LOCAL_FUZZY_DENIED { max_score = 20.0; "
                "flag = 11; } }\n"
                "    }\n",
                address);
}

/* --- the probe of doctor -------------------------------------------------- */

/* Acts as rspamd's module fuzzy_check: ping, check, and the permission to
 * write. The last is tried by deleting a mail that nobody has, which changes
 * nothing. */

enum { TAG = 11335, FORBIDDEN = 403 };

static umbel_status ask_fuzzy(int fd, um_fuzzy_op op, const char *name,
                              int32_t *value, umbel_error *err)
{
    uint8_t text[UM_FUZZY_PLAIN] = {4, (uint8_t)op}, answer[UM_FUZZY_REPLY + 1];
    um_writer w = {text + 8, text + sizeof text, false};
    um_reader r = {answer, answer + UM_FUZZY_REPLY, false};
    size_t n;

    um_write_u32(&w, TAG);
    um_write_bytes(&w, "umbel clearinghouse doctor", 26);
    UM_TRY(um_call_send(fd, (const char *)text, sizeof text, err));
    if (um_call_receive(fd, (char *)answer, sizeof answer, &n, err) != UMBEL_OK)
        return um_fail(err, UMBEL_E_IO,
                       "%s is not answered: a firewall drops it, or the "
                       "limits of the configuration do",
                       name);
    *value = (int32_t)um_get_u32(&r);
    um_get_u32(&r);
    if (n == UM_FUZZY_REPLY && um_get_u32(&r) == TAG)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   "what answers there is not a fuzzy storage");
}

static umbel_status probe(const um_doctor_context *d, const um_address *at,
                          um_finding *out, umbel_error *err)
{
    int32_t ping, check, delete;
    int fd;

    (void)d;
    UM_TRY(um_call_open_datagram(at, UM_DOCTOR_MS, &fd, err));
    umbel_status status = ask_fuzzy(fd, UM_FUZZY_PING, "ping", &ping, err);
    if (status == UMBEL_OK)
        status = ask_fuzzy(fd, UM_FUZZY_CHECK, "check", &check, err);
    if (status == UMBEL_OK)
        status = ask_fuzzy(fd, UM_FUZZY_DELETE, "delete", &delete, err);
    close(fd);
    if (status != UMBEL_OK)
        return status;
    UM_SAY(out->text, "ping, check, and delete");
    if (delete == 0)
        return UMBEL_OK;
    out->health = delete == FORBIDDEN ? UM_LIMITED : UM_BROKEN;
    UM_SAY(out->text, "clients of this machine may check, but not write (%d)",
           delete);
    UM_SAY(out->advice, "%s",
           delete == FORBIDDEN
               ? "add its network to writers in fuzzy { }, and send the server "
                 "SIGHUP, if rspamc should write from here"
               : "see the problems of umbel clearinghouse status");
    return UMBEL_OK;
}

/* --- the row -------------------------------------------------------------- */

static const um_doctor_row doctor[] = {
    {"fuzzy", offsetof(um_fuzzy_settings, listen), SOCK_DGRAM, probe, NULL},
    {0}};

const um_protocol_section um_section_fuzzy = {"fuzzy", settings,
                                              sizeof(um_fuzzy_settings)};

const um_protocol um_protocol_fuzzy = {
    .service = {.name = "fuzzy",
                .ops = ops,
                .verdicts = verdicts,
                .counts_mail = true},
    .section = &um_section_fuzzy,
    .open = open_protocol,
    .reload = reload,
    .committed = um_protocol_datagram_committed,
    .stop = um_protocol_datagram_stop,
    .busy = um_protocol_datagram_busy,
    .close = close_protocol,
    .hint = hint,
    .doctor = doctor,
};
