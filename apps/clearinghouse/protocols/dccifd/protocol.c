/*
 * front_dccifd.c - mails of dccifd clients, over TCP and unix sockets.
 */
#include "base/error.h"
#include "clearinghouse/admin/doctor_rows.h"
#include "clearinghouse/protocols/dccifd/row.h"
#include "clearinghouse/runtime/words.h"

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

/*
 * The paper's structure: counters of five bits that stick at 31, of which only
 * the least grow. A count other than 0 may be wrong often; what matters is a
 * wrong count of many, which is far more rarely (status shows both). A mail has
 * eight keys in fuz2.
 */
static const um_list_initial list_initials[] = {{NULL, "kind", "counting"},
                                                {NULL, "cell_bits", "5"},
                                                {NULL, "update", "refined"},
                                                {NULL, "addressing", "classic"},
                                                {NULL, "error", "0.08"},
                                                {NULL, "epoch", "7d"},
                                                {NULL, "capacity", "250000"},
                                                {"fuz2", "capacity", "2000000"},
                                                {NULL, NULL, NULL}};

static const char *const ops[] = {"lookup", "query", "report", "connection",
                                  NULL};

const um_verdict um_dccifd_verdicts[] = {
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
    [UM_DCCIFD_LIST_FULL] = {503, "not counted: a list is full", "list_full"},
    UM_END_VERDICTS(UM_DCCIFD_ENDS)};
_Static_assert(UM_COUNT(um_dccifd_verdicts) <= UM_MAX_VERDICTS,
               "room for verdicts");

const um_dccifd_settings *um_dccifd_settings_of(const um_dccifd_service *f)
{
    return um_config_protocol(&f->house->config, &um_protocol_dccifd);
}

static unsigned threshold(const void *section)
{
    return (unsigned)((const um_dccifd_settings *)section)->many;
}

static umbel_status add_memory(const um_config *c, uint64_t *need,
                               umbel_error *err)
{
    const um_dccifd_settings *s = um_config_protocol(c, &um_protocol_dccifd);

    if (!s->listen.n)
        return UMBEL_OK;
    if (s->mails <= c->mail.bytes)
        return um_fail(err, UMBEL_E_RANGE,
                       "dccifd: mails = %" PRIu64
                       " is too small for one mail (mail.bytes = %" PRIu64 ")",
                       s->mails, c->mail.bytes);
    *need += s->mails +
             s->connections * (sizeof(um_dccifd_job) + UM_DCCIFD_LINE + 512);
    return UMBEL_OK;
}

/* --- opening ---------------------------------------------------------------
 */

/* A client is silent while its mail waits for a worker, and is read. */
static uint64_t idle_ms(const um_dccifd_service *f)
{
    uint64_t reading = 2 * f->house->opened.mail.time + 1000;

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

static umbel_status open_protocol(um_server *h, void **state, umbel_error *err)
{
    um_dccifd_service *f = calloc(1, sizeof *f);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed with the house */
    f->house = h;
    f->stats = um_server_stats(h, &um_protocol_dccifd);
    f->list = um_server_first_list(&um_protocol_dccifd);
    f->many = um_dccifd_settings_of(f)->many;
    f->room.most = um_dccifd_settings_of(f)->mails;
    f->answers = (um_log_topic){.source = "dccifd", .name = "answered"};
    if (gethostname(f->host, sizeof f->host) != 0 || !f->host[0])
        strcpy(f->host, "localhost");
    f->host[sizeof f->host - 1] = '\0';
    f->streams = (um_protocol_stream){.house = h,
                                      .front = &um_protocol_dccifd,
                                      .op = UM_DCCIFD_OP_CONNECTION,
                                      .ends = UM_DCCIFD_ENDS,
                                      .owner = f,
                                      .gone = free};
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

/* The pool is closed before, so no job is with a worker. */
static void close_protocol(void *state)
{
    um_protocol_stream_close(&((um_dccifd_service *)state)->streams);
}

static void hint(const void *state, FILE *out)
{
    const um_dccifd_service *f = state;
    const char *address = um_server_address_of(f->house, &um_protocol_dccifd);

    if (!address)
        return;
    fprintf(out,
            "SpamAssassin, in local.cf (with loadplugin "
            "Mail::SpamAssassin::Plugin::DCC):\n"
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
                um_words_bytes(s->largest).text, um_words_bytes(s->mails).text);
    return UMBEL_OK;
}

static const um_doctor_row doctor[] = {{"dccifd",
                                        offsetof(um_dccifd_settings, listen),
                                        SOCK_STREAM, um_doctor_dccifd, NULL},
                                       {0}};

const um_protocol um_protocol_dccifd = {
    .name = "dccifd",
    .summary = "clients of dccifd (SpamAssassin, rspamd), over TCP and unix "
               "sockets",
    .settings = settings,
    .settings_len = sizeof(um_dccifd_settings),
    .lists = {"body", "fuz1", "fuz2"},
    .list_initials = list_initials,
    .threshold = threshold,
    .socket_mode = 0666, /* as a port on loopback: mail filters have users of
                            their own */
    .ops = ops,
    .verdicts = um_dccifd_verdicts,
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
