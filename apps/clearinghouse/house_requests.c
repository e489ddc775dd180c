/*
 * house_requests.c - why, forget, and their like.
 */
#include "clearinghouse/house_requests.h"

#include "base/error.h"
#include "clearinghouse/forget.h"
#include "clearinghouse/mail_change.h"
#include "clearinghouse/status_words.h"
#include "clearinghouse/why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A request that is being answered. */
typedef struct job {
    um_requests *owner;
    um_control_request *request;
    char *options; /* of the line; the next three point into it, or are NULL */
    const char *sender, *client, *config;
    bool json;
    uint8_t *bytes;
    size_t len;
    char *reply; /* that waits for the store */
    size_t reply_len;
    uint64_t ticket;
    struct job *next;
} job;

struct um_requests {
    um_house *house;
    job *first; /* that wait for the store, oldest first */
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

/* --- forget --------------------------------------------------------------- */

typedef umbel_status change_digest(um_house *h, const char *text, size_t *lists,
                                   uint64_t *ticket, umbel_error *err);

/* Words are checked before the first change: all or nothing. */
static umbel_status check_words(umbel_slice text, umbel_error *err)
{
    char digest[UM_DIGEST_TEXT];
    umbel_slice word;

    while (um_next_word(&text, &word))
        UM_TRY(um_signature_read(word, digest, err));
    return UMBEL_OK;
}

/* Changes each digest; *done counts those that something was done for. */
static umbel_status change_digests(job *j, change_digest *change,
                                   const char *what, size_t *done, FILE *out,
                                   umbel_error *err)
{
    um_house *h = j->owner->house;
    umbel_slice text = {j->bytes, j->len}, word;
    char digest[UM_DIGEST_TEXT];
    size_t lists;

    UM_TRY(check_words(text, err));
    while (um_next_word(&text, &word)) {
        UM_TRY(um_signature_read(word, digest, err));
        umbel_status status = change(h, digest, &lists, &j->ticket, err);
        if (status != UMBEL_OK && status != UMBEL_E_UNKNOWN)
            return status;
        *done += status == UMBEL_OK;
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

/* The reply goes out when the change is safe. */
static void wait_for_store(job *j)
{
    job **last = &j->owner->first;

    if (j->ticket <= um_store_committed(j->owner->house->store)) {
        finish_job(j, (umbel_slice){j->reply, j->reply_len});
        return;
    }
    while (*last)
        last = &(*last)->next;
    *last = j;
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
        wait_for_store(j);
}

static void run_forget(job *j)
{
    run_change(j, um_forget, "forgotten");
}

static void run_undo(job *j)
{
    run_change(j, um_forget_undo, "no longer forgotten");
}

void um_requests_list_forgotten(um_house *h, FILE *out)
{
    um_exception e;
    size_t n = 0;

    for (size_t at = 0; um_forget_next(h, &at, &e); n++)
        fprintf(out, "%.*s %s since %s\n", (int)e.text.len,
                (const char *)e.text.data, um_front_list(e.list),
                um_words_time(e.made).text);
    if (!n)
        fputs("nothing is forgotten\n", out);
}

void um_requests_list_forgotten_json(um_house *h, FILE *out)
{
    um_exception e;
    size_t n = 0;

    putc('[', out);
    for (size_t at = 0; um_forget_next(h, &at, &e); n++)
        fprintf(out,
                "%s{\"digest\": \"%.*s\", \"list\": \"%s\", \"since\": "
                "%" PRIu64 "}",
                n ? ",\n " : "", (int)e.text.len, (const char *)e.text.data,
                um_front_list(e.list), e.made);
    fputs("]\n", out);
}

void um_requests_committed(um_requests *q)
{
    const um_store *s = q->house->store;
    uint64_t committed = um_store_committed(s);
    const char *failed = um_store_failed(s);

    while (q->first && (failed || q->first->ticket <= committed)) {
        job *j = q->first;
        q->first = j->next;
        if (j->ticket <= committed)
            finish_job(j, (umbel_slice){j->reply, j->reply_len});
        else
            refuse_job(j, failed);
    }
}

/* --- why ------------------------------------------------------------------ */

static void answer_why(job *j, const um_why_question *q)
{
    um_why w;
    umbel_error err;
    FILE *out;

    if (um_why_init(&w, j->owner->house, q, &err) != UMBEL_OK) {
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

static void take_why(void *arg, const um_mail_facts *facts, um_mail_fail why)
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

/* A worker reads the mail, as it reads those of clients. */
static void read_mail(job *j, um_mail_done *done)
{
    uint8_t *mail = j->bytes;

    j->bytes = NULL;
    if (um_mail_pool_ask(j->owner->house->pool, mail, j->len, done, j) !=
        UMBEL_OK)
        refuse_job(j, um_mail_fail_text(UM_MAIL_FAIL_BUSY));
}

static void run_why(job *j)
{
    read_mail(j, take_why);
}

/* --- report, revoke ------------------------------------------------------- */

typedef umbel_status change_mail(um_house *h, const um_mail_facts *facts,
                                 um_mail_change *out, umbel_error *err);

/* done: what the reply calls it. */
static void change_lists(job *j, const um_mail_facts *facts, um_mail_fail why,
                         change_mail *change, const char *done)
{
    um_mail_change r;
    umbel_error err;

    if (!facts)
        um_set_error(&err, UMBEL_E_REFUSED, "%s", um_mail_fail_text(why));
    if (!facts || change(j->owner->house, facts, &r, &err) != UMBEL_OK) {
        refuse_job(j, err.text);
        return;
    }
    FILE *out = open_memstream(&j->reply, &j->reply_len);
    if (out) {
        um_mail_change_print(out, &r, done, j->json);
        fclose(out);
    }
    j->ticket = r.ticket;
    wait_for_store(j);
}

static void take_report(void *arg, const um_mail_facts *facts, um_mail_fail why)
{
    change_lists(arg, facts, why, um_mail_report, "reported");
}

static void take_revoke(void *arg, const um_mail_facts *facts, um_mail_fail why)
{
    change_lists(arg, facts, why, um_mail_revoke, "revoked");
}

static void run_report(job *j)
{
    read_mail(j, take_report);
}

static void run_revoke(job *j)
{
    read_mail(j, take_revoke);
}

/* --- requests ------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t limit; /* bytes that follow */
    void (*run)(job *j);
} rows[] = {
    {"forget", UM_REQUEST_DIGESTS, run_forget},
    {"forget-undo", UM_REQUEST_DIGESTS, run_undo},
    {"report", UM_REQUEST_MAIL, run_report},
    {"revoke", UM_REQUEST_MAIL, run_revoke},
    {"why", UM_REQUEST_MAIL, run_why},
    {"why-digest", UM_REQUEST_DIGESTS, run_why_digest},
};

/* The row of a line "NAME [--json] ...". */
static size_t find_row(const char *line)
{
    size_t len = strcspn(line, " "), i = 0;

    while (i < UM_COUNT(rows) && (strlen(rows[i].name) != len ||
                                  memcmp(rows[i].name, line, len) != 0))
        i++;
    return i;
}

size_t um_requests_follow(const char *line)
{
    size_t row = find_row(line);

    return row < UM_COUNT(rows) ? rows[row].limit : 0;
}

/* Takes the value of an option off the line; without it *value stays. */
static void take_option(char **rest, const char *name, const char **value)
{
    size_t len = strlen(name);

    if (strncmp(*rest, name, len) != 0)
        return;
    *value = *rest + len;
    *rest += strcspn(*rest, " ");
    if (**rest)
        *(*rest)++ = '\0';
}

/* Reads the options of a line, in this order; false: there are others, or no
 * memory. The configuration comes last: its name may have blanks. */
static bool read_options(job *j, const char *line)
{
    static const char config[] = "--config=";
    const char *json = NULL;

    j->options = strdup(line + strcspn(line, " "));
    if (!j->options)
        return false;
    char *rest = j->options + (*j->options == ' ');
    take_option(&rest, "--json", &json);
    take_option(&rest, "--sender=", &j->sender);
    take_option(&rest, "--client=", &j->client);
    j->json = json;
    if (strncmp(rest, config, sizeof config - 1) == 0)
        j->config = rest + sizeof config - 1;
    return j->config || !*rest;
}

void um_requests_take(um_requests *q, um_control_request *r, const char *line,
                      uint8_t *bytes, size_t len)
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
        rows[find_row(line)].run(j);
    else
        refuse_job(j, "the request has options that are not known");
}

umbel_status um_requests_open(um_house *h, um_requests **out, umbel_error *err)
{
    um_requests *q = calloc(1, sizeof *q);

    if (!q)
        return um_no_memory(err, sizeof *q);
    q->house = h;
    *out = q;
    return UMBEL_OK;
}

void um_requests_close(um_requests *q)
{
    while (q && q->first) {
        job *j = q->first;
        q->first = j->next;
        refuse_job(j, "the server stops");
    }
    free(q);
}
