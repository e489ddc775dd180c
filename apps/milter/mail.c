/*
 * mail.c - the callbacks of libmilter: collect a mail, query the server at its
 * end, add a header or reject the mail.
 *
 * libmilter has a thread for each connection, and makes the calls of one
 * connection one after the other.
 */
#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "milter/milter.h"

#include <inttypes.h>
#include <libmilter/mfapi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RECIPIENTS = 1000, QUIET_SECONDS = 60 };

/* A connection and its current mail. */
typedef struct session {
    char client[64]; /* address; "" if unknown */
    char helo[256];
    bool own; /* from a network whose mail passes */
    char sender[328];
    bool authenticated;
    unsigned recipients;
    unsigned forged; /* headers with our name */
    char *mail;
    size_t len, cap;
    bool failed; /* no memory: the mail passes */
    bool open;   /* a mail has begun, and has no verdict yet */
} session;

static atomic_uint open_mails;

unsigned um_milter_open_mails(void)
{
    return open_mails;
}

static void set_open(session *s, bool open)
{
    if (open && !s->open)
        open_mails++;
    if (!open && s->open)
        open_mails--;
    s->open = open;
}

/* --- log ------------------------------------------------------------------ */

/* Logs at most one line a minute: a clearinghouse that is away must not fill
 * the disk. */
static void log_failure(const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static time_t last;
    static unsigned long silent;
    time_t now = time(NULL);

    pthread_mutex_lock(&lock);
    if (last && now - last < QUIET_SECONDS) {
        silent++;
    } else {
        fprintf(stderr, "umbel-milter: %s; mail passes without a header", text);
        if (silent)
            fprintf(stderr, " (%lu more since the last line)", silent);
        fputc('\n', stderr);
        last = now;
        silent = 0;
    }
    pthread_mutex_unlock(&lock);
}

/* --- the mail ------------------------------------------------------------- */

static void reset_mail(session *s)
{
    s->len = 0;
    s->sender[0] = '\0';
    s->recipients = s->forged = 0;
    s->authenticated = s->failed = false;
}

/* Appends to the mail up to UM_MILTER_KEPT bytes: the server reads no more. */
static void append_mail(session *s, const void *bytes, size_t len)
{
    size_t left = UM_MILTER_KEPT - s->len;

    len = len < left ? len : left;
    if (!um_array_reserve(&s->mail, &s->cap, s->len + len, 1)) {
        s->failed = true;
        return;
    }
    memcpy(s->mail + s->len, bytes, len);
    s->len += len;
}

/* Copies an argument, replacing bytes that no envelope may contain. */
static void copy_word(char *out, size_t cap, const char *from)
{
    snprintf(out, cap, "%s", from ? from : "");
    for (char *at = out; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?';
}

static bool is_own(const char *client)
{
    um_network n;
    unsigned bits;

    if (um_network_parse(client, &n, &bits, NULL) != UMBEL_OK)
        return false;
    for (size_t i = 0; i < um_milter.nown; i++)
        if (um_network_equal(um_network_mask(n, um_milter.own[i].bits),
                             um_milter.own[i].network))
            return true;
    return false;
}

/* --- callbacks ------------------------------------------------------------ */

static sfsistat on_connect(SMFICTX *ctx, char *name, _SOCK_ADDR *address)
{
    session *s = calloc(1, sizeof *s);
    um_address a = {.path = NULL};
    char text[UM_ADDRESS_TEXT];

    (void)name;
    if (!s)
        return SMFIS_ACCEPT;
    if (address &&
        (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
        memcpy(&a.ip, address,
               address->sa_family == AF_INET ? sizeof a.ip.v4 : sizeof a.ip.v6);
        um_prefixes whole = {32, 128};
        um_network_print(um_address_network(&a, &whole), &whole, text);
        snprintf(s->client, sizeof s->client, "%.*s", (int)strcspn(text, "/"),
                 text);
        s->own = is_own(s->client);
    }
    if (smfi_setpriv(ctx, s) != MI_SUCCESS) {
        free(s);
        return SMFIS_ACCEPT;
    }
    return SMFIS_CONTINUE;
}

static sfsistat on_helo(SMFICTX *ctx, char *helo)
{
    session *s = smfi_getpriv(ctx);

    if (s)
        copy_word(s->helo, sizeof s->helo, helo);
    return SMFIS_CONTINUE;
}

static sfsistat on_sender(SMFICTX *ctx, char **argv)
{
    static char auth[] = "{auth_authen}";
    session *s = smfi_getpriv(ctx);
    const char *user = smfi_getsymval(ctx, auth);

    if (!s)
        return SMFIS_ACCEPT;
    reset_mail(s);
    set_open(s, true);
    copy_word(s->sender, sizeof s->sender, argv[0]);
    s->authenticated = user && *user;
    return SMFIS_CONTINUE;
}

static sfsistat on_recipient(SMFICTX *ctx, char **argv)
{
    session *s = smfi_getpriv(ctx);

    (void)argv;
    if (s && s->recipients < RECIPIENTS)
        s->recipients++;
    return SMFIS_CONTINUE;
}

static sfsistat on_header(SMFICTX *ctx, char *name, char *value)
{
    session *s = smfi_getpriv(ctx);

    if (!s)
        return SMFIS_ACCEPT;
    if (strcasecmp(name, UM_MILTER_HEADER) == 0) {
        s->forged++;
        return SMFIS_CONTINUE;
    }
    append_mail(s, name, strlen(name));
    append_mail(s, ": ", 2);
    append_mail(s, value, strlen(value));
    append_mail(s, "\r\n", 2);
    return SMFIS_CONTINUE;
}

static sfsistat on_header_end(SMFICTX *ctx)
{
    session *s = smfi_getpriv(ctx);

    if (s)
        append_mail(s, "\r\n", 2);
    return SMFIS_CONTINUE;
}

static sfsistat on_body(SMFICTX *ctx, unsigned char *bytes, size_t len)
{
    session *s = smfi_getpriv(ctx);

    if (s)
        append_mail(s, bytes, len);
    return SMFIS_CONTINUE;
}

/* --- the verdict -----------------------------------------------------------
 *
 * From the reply of dccifd to a header, or a rejection.
 *
 *     X-DCC-umbel-Metrics: host 1; bulk Body=many Fuz1=3 Fuz2=3
 *                              reported: 1               checksum  server
 *      Body: 39ea73d8 8935a22f 014a8793 d15e139d many
 */

/* What the server's reply means for a mail. */
typedef struct verdict {
    char header[128]; /* value of X-Umbel */
    bool reject;
    char why[256]; /* explains a rejection to the sender */
} verdict;

static const char *const sums[] = {"Body", "Fuz1", "Fuz2"};

/* Reads the count of "Body=3 "; "many" is the largest. Returns false if the
 * line does not contain it. */
static bool read_count(const char *line, const char *sum, char text[24],
                       uint64_t *count)
{
    char name[16];
    int len = snprintf(name, sizeof name, " %s=", sum);
    const char *at = strstr(line, name);

    if (!at)
        return false;
    at += len;
    snprintf(text, 24, "%.*s", (int)strcspn(at, " \n"), at);
    um_decimal_scan(text, strlen(text), count);
    if (strcmp(text, "many") == 0)
        *count = UINT64_MAX;
    return true;
}

/* Copies the checksum of that name, without blanks. */
static void read_checksum(const char *lines, const char *sum, char out[64])
{
    char name[16];
    size_t n = 0;

    snprintf(name, sizeof name, " %s: ", sum);
    const char *at = strstr(lines, name);
    for (at = at ? at + strlen(name) : ""; *at && *at != '\n' && n < 35; at++)
        out[n++] = *at;
    out[n] = '\0';
    for (char *from = out, *to = out; (*to = *from); from++)
        to += *to != ' ';
    out[out[0] ? strspn(out, "0123456789abcdef") : 0] = '\0';
}

static void write_rejection(verdict *out, const char *text, const char *sum,
                            const char *lines)
{
    char checksum[64];

    read_checksum(lines, sum, checksum);
    snprintf(out->why, sizeof out->why,
             "this mail was seen %s times (%s %s); if it is not bulk mail, ask "
             "%s",
             text, sum, checksum, um_milter.contact);
    out->reject = true;
}

/* Parses a reply with header and checksums; E_FORMAT if it is not one. */
static umbel_status parse_verdict(const um_dccifd_response *reply, verdict *out,
                                  umbel_error *err)
{
    static const char begin[] = "X-DCC-";
    char line[512], text[24];
    uint64_t count;

    snprintf(line, sizeof line, "%.*s", (int)strcspn(reply->text, "\n"),
             reply->text);
    const char *words = strstr(line, ";");
    if (strncmp(line, begin, sizeof begin - 1) != 0 || !words)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the server's reply has no X-DCC line");
    bool welcome = strstr(words, " whitelist") != NULL;
    *out = (verdict){.reject = false};
    int len = snprintf(out->header, sizeof out->header, "%s;",
                       strstr(words, " bulk") ? "bulk" : "ok");
    for (size_t i = 0; i < UM_COUNT(sums); i++) {
        if (!read_count(words, sums[i], text, &count))
            continue;
        len += snprintf(out->header + len, sizeof out->header - (size_t)len,
                        " %s=%s", sums[i], text);
        if (um_milter.reject_at && count >= um_milter.reject_at && !welcome &&
            !out->reject)
            write_rejection(out, text, sums[i], reply->text);
    }
    return UMBEL_OK;
}

/* --- the end of a mail ---------------------------------------------------- */

static umbel_status query_server(const session *s, um_dccifd_response *reply,
                                 umbel_error *err)
{
    const char *recipient[RECIPIENTS + 1] = {NULL};
    um_dccifd_query q = {.server = um_milter.server,
                         .timeout_ms = um_milter.timeout_ms,
                         .words = "header cksums grey-off milter",
                         .client = s->client,
                         .helo = s->helo,
                         .sender = s->sender,
                         .recipient = recipient};

    for (unsigned i = 0; i < s->recipients; i++)
        recipient[i] = "recipient";
    return um_dccifd_call(&q, (umbel_slice){s->mail, s->len}, reply, err);
}

/* Removes our header wherever the sender set it, also from mail that passes:
 * only this program may add it. */
static void remove_forged(SMFICTX *ctx, const session *s)
{
    static char name[] = UM_MILTER_HEADER;

    for (unsigned i = s->forged; i > 0; i--)
        if (smfi_chgheader(ctx, name, (int)i, NULL) != MI_SUCCESS)
            log_failure("a header cannot be removed");
}

static sfsistat reject(SMFICTX *ctx, verdict *v)
{
    static char code[] = "550", extended[] = "5.7.1";

    return smfi_setreply(ctx, code, extended, v->why) == MI_SUCCESS
               ? SMFIS_REJECT
               : SMFIS_ACCEPT;
}

static sfsistat end_mail(SMFICTX *ctx, session *s)
{
    static char name[] = UM_MILTER_HEADER;
    um_dccifd_response reply;
    verdict v;
    umbel_error err;

    remove_forged(ctx, s);
    if (s->own || s->authenticated)
        return SMFIS_ACCEPT;
    if (s->failed) {
        log_failure("no memory for a mail");
        return SMFIS_ACCEPT;
    }
    umbel_status status = query_server(s, &reply, &err);
    if (!status)
        status = parse_verdict(&reply, &v, &err);
    if (status) {
        log_failure(err.text);
        return SMFIS_ACCEPT;
    }
    if (v.reject)
        return reject(ctx, &v);
    if (smfi_addheader(ctx, name, v.header) != MI_SUCCESS)
        log_failure("a header cannot be added");
    return SMFIS_ACCEPT;
}

static sfsistat on_end(SMFICTX *ctx)
{
    session *s = smfi_getpriv(ctx);

    if (!s)
        return SMFIS_ACCEPT;
    sfsistat answer = end_mail(ctx, s);
    set_open(s, false);
    return answer;
}

static sfsistat on_abort(SMFICTX *ctx)
{
    session *s = smfi_getpriv(ctx);

    if (s) {
        set_open(s, false);
        reset_mail(s);
    }
    return SMFIS_CONTINUE;
}

static sfsistat on_close(SMFICTX *ctx)
{
    session *s = smfi_getpriv(ctx);

    if (s) {
        set_open(s, false);
        free(s->mail);
    }
    free(s);
    smfi_setpriv(ctx, NULL);
    return SMFIS_CONTINUE;
}

bool um_milter_register(void)
{
    static char name[] = "umbel";
    struct smfiDesc row = {.xxfi_name = name,
                           .xxfi_version = SMFI_VERSION,
                           .xxfi_flags = SMFIF_ADDHDRS | SMFIF_CHGHDRS,
                           .xxfi_connect = on_connect,
                           .xxfi_helo = on_helo,
                           .xxfi_envfrom = on_sender,
                           .xxfi_envrcpt = on_recipient,
                           .xxfi_header = on_header,
                           .xxfi_eoh = on_header_end,
                           .xxfi_body = on_body,
                           .xxfi_eom = on_end,
                           .xxfi_abort = on_abort,
                           .xxfi_close = on_close};

    return smfi_register(row) == MI_SUCCESS;
}
