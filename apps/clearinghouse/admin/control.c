/*
 * control.c - the server's side of the control socket.
 *
 * A request is a line. Some are answered at once with a document. Others carry
 * bytes or change something; those are answered once the change is on disk.
 */
#include "clearinghouse/admin/internal.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "clearinghouse/admin/doctor.h"
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/lists.h"
#include "clearinghouse/lists/mails.h"
#include "clearinghouse/peering/origins.h"
#include "clearinghouse/peering/peers.h"
#include "clearinghouse/runtime/format.h"
#include "clearinghouse/status/status.h"
#include "net/server/control_socket.h"

#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Error text of commands that need peers, and what to do. */
#define NO_PEERS                                                               \
    "the server has no peers: set origin and peer \"NAME\" { } in its "        \
    "configuration, see umbel-clearinghouse.conf(5)"

#define FOR_OPERATOR                                                           \
    UM_REPLY_ERROR                                                             \
    "only the server's user and root may do this; members of control_group "   \
    "may use report, revoke, why, status and doctor\n"

typedef struct requests_queue requests_queue;

/* A request that is being answered. */
typedef struct job {
    requests_queue *owner;
    um_control_request *request;
    char *options; /* of the line; the next four point into it, or are NULL */
    const char *sender, *client, *piece, *config;
    bool json, notice;
    uint8_t *bytes;
    size_t len;
    char *reply; /* sent once the change is on disk */
    size_t reply_len;
    uint64_t ticket; /* of the change in the store */
    uint64_t state;  /* ticket of the replica store; 0 if none */
    struct job *next;
} job;

struct requests_queue {
    const um_environment *env;
    job *first; /* requests that wait for the disk, oldest first */
};

static void free_job(job *j)
{
    free(j->options);
    free(j->bytes);
    free(j->reply);
    free(j);
}

static void finish_job(job *j, umbel_slice reply)
{
    um_control_reply(j->request, reply);
    free_job(j);
}

static void refuse_job(job *j, const char *why)
{
    char text[UM_CONTROL_LINE];
    int len = snprintf(text, sizeof text, UM_REPLY_ERROR "%s\n", why);

    finish_job(j, (umbel_slice){text, (size_t)len});
}

/* Logs what a user did with a mail or a digest. */
static void log_change(const job *j, const char *what, const char *text)
{
    um_log_event(j->owner->env->log, "control: user %ld: %s: %s",
                 (long)(int)um_control_user(j->request), what, text);
}

/* --- forget --------------------------------------------------------------- */

typedef umbel_status change_digest(um_lists *l, const char *text, size_t *lists,
                                   uint64_t *ticket, umbel_error *err);

/* Checks every word before the first change, so that all or none apply. */
static umbel_status check_words(umbel_slice text, umbel_error *err)
{
    char digest[UM_DIGEST_TEXT];
    umbel_slice word;

    while (um_next_word(&text, &word))
        UM_TRY(um_signature_read(word, digest, err));
    return UMBEL_OK;
}

/* Changes each digest; *done counts those that were changed. */
static umbel_status change_digests(job *j, change_digest *change,
                                   const char *what, size_t *done, FILE *out,
                                   umbel_error *err)
{
    const um_environment *env = j->owner->env;
    umbel_slice text = {j->bytes, j->len}, word;
    char digest[UM_DIGEST_TEXT];
    size_t lists;

    UM_TRY(check_words(text, err));
    while (um_next_word(&text, &word)) {
        UM_TRY(um_signature_read(word, digest, err));
        umbel_status status =
            change(env->lists, digest, &lists, &j->ticket, err);
        if (status != UMBEL_OK && status != UMBEL_E_UNKNOWN)
            return status;
        *done += status == UMBEL_OK;
        if (status == UMBEL_OK)
            log_change(j, digest, what);
        if (j->json)
            fprintf(out, "{\"digest\": \"%s\", \"lists\": %zu}\n", digest,
                    status == UMBEL_OK ? lists : 0);
        else if (status == UMBEL_OK)
            fprintf(out, "%s: %s in %zu list%s\n", digest, what, lists,
                    lists == 1 ? "" : "s");
        else
            fprintf(out, "%s\n", err->text);
    }
    return UMBEL_OK;
}

static const um_replica_store *replicas_of(const job *j)
{
    return um_peers_replicas(j->owner->env->peers);
}

static bool is_safe(const job *j)
{
    return j->ticket <= um_store_committed(j->owner->env->store) &&
           (!j->state || j->state <= um_replica_store_saved(replicas_of(j)));
}

/* Returns why the change cannot be committed now, or NULL. */
static const char *failure_of(const job *j)
{
    const um_store *s = j->owner->env->store;

    if (j->ticket > um_store_committed(s) && um_store_failure(s))
        return um_store_failure(s);
    if (j->state && j->state <= um_replica_store_tried(replicas_of(j)))
        return "the change is in effect, but could not be saved, and a restart "
               "would lose it: make space on the disk, or repair it; the "
               "server tries again by itself";
    return NULL;
}

/* Answers a request whose change is committed or has failed. Returns false if
 * it must wait. */
static bool answer_change(job *j)
{
    const char *failed = failure_of(j);

    if (is_safe(j))
        finish_job(j, (umbel_slice){j->reply, j->reply_len});
    else if (failed)
        refuse_job(j, failed);
    else
        return false;
    return true;
}

/* Sends the reply once the change is committed; until then queues the job. */
static void reply_when_safe(job *j)
{
    job **last = &j->owner->first;

    if (is_safe(j)) {
        finish_job(j, (umbel_slice){j->reply, j->reply_len});
        return;
    }
    while (*last)
        last = &(*last)->next;
    *last = j;
}

static void answer_committed(requests_queue *q)
{
    for (job **at = &q->first, *j; (j = *at) != NULL;) {
        job *next = j->next;
        if (answer_change(j))
            *at = next;
        else
            at = &j->next;
    }
}

static void run_change(job *j, change_digest *change, const char *what)
{
    size_t done = 0;
    umbel_error err = {.text = "no digest is given"};
    FILE *out = open_memstream(&j->reply, &j->reply_len);

    if (!out) {
        refuse_job(j, "no memory");
        return;
    }
    umbel_status status = change_digests(j, change, what, &done, out, &err);
    fclose(out);
    if (status != UMBEL_OK || !done)
        refuse_job(j, err.text);
    else
        reply_when_safe(j);
}

static void run_forget(job *j)
{
    run_change(j, um_forget, "forgotten");
}

static void run_forget_revoked(job *j)
{
    run_change(j, um_forget_revoked, "no longer revoked");
}

static void run_undo(job *j)
{
    run_change(j, um_forget_undo, "no longer forgotten");
}

/* Returns the name of the server that made an exception. */
static const char *by_whom(const um_environment *env, const um_exception *e,
                           char out[UM_ORIGIN_NAME])
{
    if (!e->origin)
        return "this server";
    um_peers_origin_name(env->peers, e->origin, out);
    return out;
}

static void print_forgotten(const um_environment *env, FILE *out)
{
    um_forget_walk at = {0, 0};
    char name[UM_ORIGIN_NAME];
    um_exception e;
    size_t n = 0;

    for (; um_forget_next(env->lists, &at, &e); n++) {
        fprintf(out, "%.*s %s since %s", (int)e.text.len,
                (const char *)e.text.data, um_list_name(e.list),
                um_format_time(e.made).text);
        if (env->peers)
            fprintf(out, " by %s%s", by_whom(env, &e, name),
                    um_forgotten(env->lists, e.list, &e.digest)
                        ? ""
                        : ", too few servers: it counts");
        putc('\n', out);
    }
    if (!n)
        fputs("nothing is forgotten\n", out);
}

static void print_forgotten_json(const um_environment *env, FILE *out)
{
    um_forget_walk at = {0, 0};
    char name[UM_ORIGIN_NAME];
    um_exception e;
    size_t n = 0;

    putc('[', out);
    for (; um_forget_next(env->lists, &at, &e); n++)
        fprintf(out,
                "%s{\"digest\": \"%.*s\", \"list\": \"%s\", \"since\": "
                "%" PRIu64 ", \"by\": \"%s\", \"holds\": %s}",
                n ? ",\n " : "", (int)e.text.len, (const char *)e.text.data,
                um_list_name(e.list), e.made, by_whom(env, &e, name),
                um_forgotten(env->lists, e.list, &e.digest) ? "true" : "false");
    fputs("]\n", out);
}

/* --- origins -------------------------------------------------------------- */

typedef umbel_status change_origin(umbel_sync *s, const uint8_t *origin,
                                   umbel_error *err);

static umbel_status drop_origin(umbel_sync *s, const uint8_t *origin,
                                umbel_error *err)
{
    return umbel_sync_drop(s, origin, false, err);
}

/* Changes the status of the named origin, in memory. */
static umbel_status change_origin_status(job *j, change_origin *change,
                                         char hex[UM_ORIGIN_HEX],
                                         umbel_error *err)
{
    const um_environment *env = j->owner->env;
    uint8_t key[UMBEL_ORIGIN_LEN];
    char text[128];

    if (!env->origins)
        return um_fail(err, UMBEL_E_RANGE, "%s", NO_PEERS);
    snprintf(text, sizeof text, "%.*s", (int)j->len,
             j->bytes ? (const char *)j->bytes : "");
    um_disarm(text);
    UM_TRY(um_origins_find(env->origins, text, key, err));
    UM_TRY(change(um_peers_machine(env->peers), key, err));
    um_digest_text(key, hex);
    if (!j->notice)
        return UMBEL_OK;
    return um_peers_append(env->peers, UMBEL_SYNC_LOG_DROP,
                           (umbel_slice){key, sizeof key}, &j->ticket, err);
}

static void run_origin(job *j, change_origin *change, const char *state,
                       const char *meaning)
{
    const um_environment *env = j->owner->env;
    char hex[UM_ORIGIN_HEX];
    umbel_error err;
    FILE *out;

    if (change_origin_status(j, change, hex, &err) != UMBEL_OK) {
        refuse_job(j, err.text);
        return;
    }
    um_log_event(env->log, "peers: origin %s is %s%s", hex, state,
                 j->notice ? ", and the other servers get a notice" : "");
    um_replica_store *copies = um_peers_replicas(env->peers);
    um_replica_store_save_begin(copies);
    j->state = um_replica_store_save_state(copies);
    out = open_memstream(&j->reply, &j->reply_len);
    if (out) {
        fprintf(out,
                j->json ? "{\"origin\": \"%s\", \"state\": \"%s\"}\n"
                        : "%s is %s: %s%s\n",
                hex, state, meaning,
                j->notice ? ". The other servers get a notice; each follows if "
                            "its drop_quorum is reached, or else shows it"
                          : "");
        fclose(out);
    }
    reply_when_safe(j);
}

static void run_drop(job *j)
{
    run_origin(j, drop_origin, "dropped",
               "all its reports are removed, and it is refused from now on");
}

static void run_mute(job *j)
{
    run_origin(j, umbel_sync_mute, "muted",
               "its reports are kept, but do not count");
}

static void run_allow(job *j)
{
    run_origin(j, umbel_sync_allow, "allowed", "its reports count");
}

/* --- why ------------------------------------------------------------------ */

static void answer_why(job *j, const um_why_question *q)
{
    um_why w;
    umbel_error err;
    FILE *out;

    if (um_why_init(&w, j->owner->env, q, &err) != UMBEL_OK) {
        refuse_job(j, err.text);
        return;
    }
    out = open_memstream(&j->reply, &j->reply_len);
    if (out) {
        (j->json ? um_why_print_json : um_why_print_text)(out, &w);
        fclose(out);
    }
    um_why_fini(&w);
    finish_job(j, (umbel_slice){j->reply, j->reply_len});
}

static void run_why_digest(job *j)
{
    umbel_slice text = {j->bytes, j->len}, word[UM_WHY_SIGNATURES + 1];
    size_t n = 0;

    while (n < UM_COUNT(word) && um_next_word(&text, &word[n]))
        n++;
    answer_why(j,
               &(um_why_question){.digest = word, .n = n, .config = j->config});
}

static void answer_mail_why(void *arg, const um_mail_facts *facts,
                            um_mail_fail why)
{
    job *j = arg;

    if (facts)
        answer_why(j, &(um_why_question){.facts = facts,
                                         .sender = j->sender,
                                         .client = j->client,
                                         .config = j->config});
    else
        refuse_job(j, um_mail_fail_text(why));
}

/* Passes the mail to a worker. */
static void read_mail(job *j, um_mail_done *done)
{
    uint8_t *mail = j->bytes;

    j->bytes = NULL;
    if (um_mail_pool_submit_stored(j->owner->env->pool, mail, j->len, done,
                                   j) != UMBEL_OK)
        refuse_job(j, um_mail_fail_text(UM_MAIL_FAIL_BUSY));
}

static void run_why(job *j)
{
    read_mail(j, answer_mail_why);
}

/* --- report, revoke ------------------------------------------------------- */

typedef umbel_status change_mail(um_lists *l, const um_mail_facts *facts,
                                 um_mail_change *out, umbel_error *err);

/* Logs a change, and the digest by which `why` and `forget` find the mail. */
static void log_mail(const job *j, const um_mail_facts *facts,
                     const um_mail_change *r, const char *done)
{
    um_mail_keys keys;
    char *text = NULL, what[UM_DIGEST_TEXT + 32];
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    um_mail_change_print(out, r, done, false);
    fclose(out);
    text[strcspn(text, "\n")] = '\0';
    um_mail_keys_read(&keys, facts);
    snprintf(what, sizeof what, "mail %s %s", um_mail_key_name(keys.kind[0]),
             keys.text[0]);
    log_change(j, what, text);
    free(text);
}

/* Reports or revokes a mail; done is the verb of the reply. */
static void change_lists(job *j, const um_mail_facts *facts, um_mail_fail why,
                         change_mail *change, const char *done)
{
    um_mail_change r;
    umbel_error err;

    if (!facts)
        um_set_error(&err, UMBEL_E_REFUSED, "%s", um_mail_fail_text(why));
    if (!facts || change(j->owner->env->lists, facts, &r, &err) != UMBEL_OK) {
        refuse_job(j, err.text);
        return;
    }
    FILE *out = open_memstream(&j->reply, &j->reply_len);
    if (out) {
        um_mail_change_print(out, &r, done, j->json);
        fclose(out);
    }
    log_mail(j, facts, &r, done);
    j->ticket = r.ticket;
    reply_when_safe(j);
}

static void report_mail(void *arg, const um_mail_facts *facts, um_mail_fail why)
{
    change_lists(arg, facts, why, um_mail_report, "reported");
}

static void revoke_mail(void *arg, const um_mail_facts *facts, um_mail_fail why)
{
    change_lists(arg, facts, why, um_mail_revoke, "revoked");
}

static void run_report(job *j)
{
    read_mail(j, report_mail);
}

static void run_revoke(job *j)
{
    read_mail(j, revoke_mail);
}

/* --- import --------------------------------------------------------------- */

typedef umbel_status import_piece(const um_environment *env, const char *name,
                                  umbel_slice lines, um_import_result *out,
                                  umbel_error *err);

/* Imports a piece, whose name is in the options. */
static void import_with(job *j, import_piece *import)
{
    um_import_result r;
    umbel_error err;

    if (!j->piece) {
        refuse_job(j, "the piece has no name");
        return;
    }
    if (import(j->owner->env, j->piece, (umbel_slice){j->bytes, j->len}, &r,
               &err) != UMBEL_OK) {
        refuse_job(j, err.text);
        return;
    }
    FILE *out = open_memstream(&j->reply, &j->reply_len);
    if (out) {
        fprintf(out, "%d %zu %zu %zu\n", r.again, r.counted, r.left_out,
                r.saturated);
        fclose(out);
    }
    j->ticket = r.ticket;
    reply_when_safe(j);
}

static void run_import(job *j)
{
    import_with(j, um_import_pyzor);
}

static void run_import_fuzzy(job *j)
{
    import_with(j, um_import_fuzzy);
}

/* --- requests ------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t limit; /* of the bytes that follow the line */
    void (*run)(job *j);
    bool group; /* members of control_group may send it */
} requests[] = {
    {"forget", UM_REQUEST_DIGESTS, run_forget, false},
    {"forget-revoked", UM_REQUEST_DIGESTS, run_forget_revoked, false},
    {"forget-undo", UM_REQUEST_DIGESTS, run_undo, false},
    {"import-pyzor", UM_REQUEST_DIGESTS, run_import, false},
    {"import-fuzzy", UM_REQUEST_DIGESTS, run_import_fuzzy, false},
    {"report", UM_REQUEST_MAIL, run_report, true},
    {"revoke", UM_REQUEST_MAIL, run_revoke, true},
    {"why", UM_REQUEST_MAIL, run_why, true},
    {"why-digest", UM_REQUEST_DIGESTS, run_why_digest, true},
    {"drop", UM_REQUEST_ORIGIN, run_drop, false},
    {"mute", UM_REQUEST_ORIGIN, run_mute, false},
    {"allow", UM_REQUEST_ORIGIN, run_allow, false},
};

/* Returns the index of the row for a line "NAME [--json] ...", or the number of
 * rows. */
static size_t find_row(const char *line)
{
    size_t len = strcspn(line, " "), i = 0;

    while (i < UM_COUNT(requests) && (strlen(requests[i].name) != len ||
                                      memcmp(requests[i].name, line, len) != 0))
        i++;
    return i;
}

static size_t request_limit(const char *line)
{
    size_t row = find_row(line);

    return row < UM_COUNT(requests) ? requests[row].limit : 0;
}

/* Removes an option from the line and sets *value, if it is there. */
static void parse_option(char **rest, const char *name, const char **value)
{
    size_t len = strlen(name);

    if (strncmp(*rest, name, len) != 0)
        return;
    *value = *rest + len;
    *rest += strcspn(*rest, " ");
    if (**rest)
        *(*rest)++ = '\0';
}

/* Parses the options of a line, in this order; returns false if there are
 * others, or no memory. The configuration comes last: its name may contain
 * blanks. */
static bool read_options(job *j, const char *line)
{
    static const char config[] = "--config=";
    const char *json = NULL, *notice = NULL;

    j->options = strdup(line + strcspn(line, " "));
    if (!j->options)
        return false;
    char *rest = j->options + (*j->options == ' ');
    parse_option(&rest, "--json", &json);
    parse_option(&rest, "--notice", &notice);
    parse_option(&rest, "--sender=", &j->sender);
    parse_option(&rest, "--client=", &j->client);
    parse_option(&rest, "--piece=", &j->piece);
    j->json = json;
    j->notice = notice;
    if (strncmp(rest, config, sizeof config - 1) == 0)
        j->config = rest + sizeof config - 1;
    return j->config || !*rest;
}

static void start_request(requests_queue *q, um_control_request *r,
                          const char *line, uint8_t *bytes, size_t len)
{
    static const char sorry[] = UM_REPLY_ERROR "no memory\n";
    job *j = calloc(1, sizeof *j);

    if (!j) {
        free(bytes);
        um_control_reply(r, (umbel_slice){sorry, sizeof sorry - 1});
        return;
    }
    *j = (job){.owner = q, .request = r, .bytes = bytes, .len = len};
    if (read_options(j, line))
        requests[find_row(line)].run(j);
    else
        refuse_job(j, "the request has unknown options");
}

static umbel_status open_requests(const um_environment *env,
                                  requests_queue **out, umbel_error *err)
{
    requests_queue *q = calloc(1, sizeof *q);

    if (!q)
        return um_no_memory(err, sizeof *q);
    q->env = env;
    *out = q;
    return UMBEL_OK;
}

static void close_requests(requests_queue *q)
{
    while (q && q->first) {
        job *j = q->first;
        q->first = j->next;
        refuse_job(j, "the server stops");
    }
    free(q);
}

/* --- documents ------------------------------------------------------------ */

static void begin_probes(const um_environment *env, FILE *out)
{
    (void)out;
    um_statistics_begin_probes(env->statistics);
}

static void end_probes(const um_environment *env, FILE *out)
{
    um_statistics_end_probes(env->statistics);
    fputs("done\n", out);
}

/* Prints what to configure in mail software. */
static void print_settings(const um_environment *env, FILE *out)
{
    um_running_print_hints(env->status->running, out);
}

static void begin_snapshot(const um_environment *env, FILE *out)
{
    (void)out;
    um_store_request_snapshot(env->store);
}

static void reload_welcome(const um_environment *env, FILE *out)
{
    umbel_error err;

    if (!env->config->welcome)
        fputs(UM_REPLY_ERROR "the running server does not use this file yet: "
                             "send it SIGHUP, so that it reads the "
                             "configuration again\n",
              out);
    else if (um_lists_reload_welcome(env->lists, &err) == UMBEL_OK)
        fprintf(out, "rules of the server now: %zu\n",
                um_welcome_rules(um_lists_welcome(env->lists)));
    else
        fprintf(out,
                UM_REPLY_ERROR "%s; the server keeps the rules it has, %zu\n",
                err.text, um_welcome_rules(um_lists_welcome(env->lists)));
}

static const char no_peers[] = UM_REPLY_ERROR NO_PEERS "\n";

static void print_peers(const um_environment *env, FILE *out)
{
    const um_origins_view *v = um_origins_look(env->origins);

    if (v)
        um_origins_print_text(out, v, env->clock->now);
    else
        fputs(no_peers, out);
}

static void print_peers_json(const um_environment *env, FILE *out)
{
    const um_origins_view *v = um_origins_look(env->origins);

    if (v)
        um_origins_print_json(out, v, env->clock->now);
    fputs(v ? "\n" : no_peers, out);
}

/* Lines answered with a document: an optional action, then what prints it. */
static const struct {
    const char *line;
    void (*act)(const um_environment *env, FILE *out); /* or NULL */
    void (*print)(FILE *out, const um_status *s);
    bool group; /* members of control_group may send it */
} documents[] = {
    {"status", NULL, um_status_print_text, true},
    {"status --json", NULL, um_status_print_json, true},
    {"metrics", NULL, um_status_print_metrics, true},
    {"doctor", begin_probes, um_doctor_describe, true},
    {"doctor end", end_probes, NULL, true},
    {"settings", print_settings, NULL, true},
    {"snapshot", begin_snapshot, um_status_print_text, false},
    {"welcome reload", reload_welcome, NULL, false},
    {"forgotten", print_forgotten, NULL, false},
    {"forgotten --json", print_forgotten_json, NULL, false},
    {"peers", print_peers, NULL, false},
    {"peers --json", print_peers_json, NULL, false},
};

/* --- metrics -------------------------------------------------------------- */

/* Codes are those of HTTP; refused connections use the reasons of um_end. */
#define END_ROW(name, word, text) {408, text, word},
static const um_verdict verdicts[] = {{200, "OK", NULL},
                                      {404, "no such request", "not_found"},
                                      UM_END_LIST(END_ROW){0}};
enum { ANSWERED, NOT_KNOWN, ENDS };

static const char *const ops[] = {"request", "connection", "report", "revoke",
                                  NULL};
enum { REQUEST, CONNECTION, REPORT };

static const um_service service = {
    .name = "control", .ops = ops, .verdicts = verdicts};

static const um_address nobody = {.path = ""};

/* --- answers -------------------------------------------------------------- */

struct um_operator {
    const um_environment *env;
    um_service_stats *stats;
    requests_queue *requests;
    um_control *control;
    char *path;
};

static void count_refusal(um_operator *o, unsigned op, unsigned verdict)
{
    um_service_count(o->stats, op, verdict);
    um_service_log_refusal(o->stats, verdict, &nobody, NULL);
}

static void count_ended(void *ctx, const um_address *client, um_end why)
{
    (void)client;
    if (um_end_is_refusal(why))
        count_refusal(ctx, CONNECTION, ENDS + (unsigned)why);
}

bool um_operator_answer(const um_environment *env, const char *line, FILE *out)
{
    um_status s;

    for (size_t i = 0; i < UM_COUNT(documents); i++)
        if (strcmp(documents[i].line, line) == 0) {
            if (documents[i].act)
                documents[i].act(env, out);
            if (documents[i].print) {
                um_status_get(env->status, &s);
                documents[i].print(out, &s);
            }
            return true;
        }
    fputs("unknown request; known ones are:", out);
    for (size_t i = 0; i < UM_COUNT(documents); i++)
        fprintf(out, "%s %s", i ? "," : "", documents[i].line);
    putc('\n', out);
    return false;
}

static void answer(void *ctx, const char *line, FILE *out)
{
    um_operator *o = ctx;

    if (um_operator_answer(o->env, line, out))
        um_service_count(o->stats, REQUEST, ANSWERED);
    else
        count_refusal(o, REQUEST, NOT_KNOWN);
}

/* Refuses a member of control_group what only the operator may do. */
static const char *refuse(void *ctx, const char *line)
{
    size_t row = find_row(line);

    (void)ctx;
    if (row < UM_COUNT(requests))
        return requests[row].group ? NULL : FOR_OPERATOR;
    for (size_t i = 0; i < UM_COUNT(documents); i++)
        if (strcmp(documents[i].line, line) == 0)
            return documents[i].group ? NULL : FOR_OPERATOR;
    return NULL; /* unknown, which is answered */
}

static size_t follow(void *ctx, const char *line)
{
    (void)ctx;
    return request_limit(line);
}

/* Returns the operation: reports and revocations are counted separately. */
static unsigned op_of(const char *line)
{
    size_t len = strcspn(line, " ");

    for (unsigned op = REPORT; ops[op]; op++)
        if (strlen(ops[op]) == len && memcmp(ops[op], line, len) == 0)
            return op;
    return REQUEST;
}

static void consume(void *ctx, um_control_request *r, const char *line,
                    uint8_t *bytes, size_t len)
{
    um_operator *o = ctx;

    um_service_count(o->stats, op_of(line), ANSWERED);
    start_request(o->requests, r, line, bytes, len);
}

umbel_status um_operator_open(const um_environment *env, um_operator **out,
                              umbel_error *err)
{
    um_operator *o = calloc(1, sizeof *o);

    if (!o)
        return um_no_memory(err, sizeof *o);
    *out = o;
    o->env = env;
    o->stats = um_statistics_of(env->statistics, &service);
    o->path = um_admin_path(env->config);
    if (!o->stats || !o->path)
        return um_no_memory(err, 1);
    UM_TRY(open_requests(env, &o->requests, err));
    return um_control_open(
        env->loop,
        &(um_control_config){.path = o->path,
                             .fd = -1,
                             .group = env->config->control_group,
                             .refuse = refuse,
                             .answer = answer,
                             .follow = follow,
                             .take = consume,
                             .ended = count_ended,
                             .ctx = o},
        &o->control, err);
}

void um_operator_committed(um_operator *o)
{
    answer_committed(o->requests);
}

void um_operator_close(um_operator *o)
{
    if (!o)
        return;
    close_requests(o->requests);
    um_control_close(o->control);
    free(o->path);
    free(o);
}
