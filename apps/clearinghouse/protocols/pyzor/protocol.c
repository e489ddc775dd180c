/*
 * front_pyzor.c - Pyzor over UDP.
 */
#include "clearinghouse/protocols/razor/protocol.h"
#include "base/error.h"
#include "clearinghouse/admin/doctor_rows.h"
#include "clearinghouse/protocols/pyzor/row.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

static const um_pyzor_settings *settings_of(const um_server *h)
{
    return um_config_protocol(&h->config, &um_protocol_pyzor);
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

/* A weight that weighs nobody's reports is most often a name misspelt. */
static void log_strange_weights(um_server *h, const um_pyzor_accounts *a)
{
    for (size_t i = 0; i < h->config.naccounts; i++) {
        const char *name = h->config.account[i].name;
        umbel_slice slice = {name, strlen(name)};

        if (!um_pyzor_account_find(a, slice) && !um_razor_knows(h, name))
            um_log_event(&h->log,
                         "account \"%s\" of the settings is not in the passwd "
                         "file, and Razor clients have not registered it: its "
                         "weight is not used",
                         name);
    }
}

static umbel_status load_accounts(um_server *h, um_pyzor_accounts *out,
                                  umbel_error *err)
{
    const um_pyzor_settings *s = settings_of(h);

    UM_TRY(um_pyzor_accounts_init(out, s->passwd, s->access, um_log_warning,
                                  &h->log, err));
    for (size_t i = 0; i < out->n; i++)
        out->account[i].weight =
            um_config_weight(&h->config, out->account[i].name);
    log_strange_weights(h, out);
    return UMBEL_OK;
}

static umbel_status reload(void *state, umbel_error *err)
{
    um_pyzor_service *f = state;
    const um_pyzor_settings *s = settings_of(f->house);
    um_pyzor_accounts fresh;

    UM_TRY(load_accounts(f->house, &fresh, err));
    if (s->once_per_reporter && !f->once) {
        umbel_status status =
            um_pyzor_once_open(s->once_capacity, &f->once, err);
        if (status != UMBEL_OK) {
            um_pyzor_accounts_fini(&fresh);
            return status;
        }
    } else if (!s->once_per_reporter) {
        um_pyzor_once_close(f->once);
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
    const um_pyzor_settings *s = um_config_protocol(c, &um_protocol_pyzor);
    um_pyzor_once *once;

    if (s->passwd) /* marks of signed reports; and again while they move */
        *need += 2 * (uint64_t)UM_REPLAY_GUARD_MAX_BYTES;
    if (!s->once_per_reporter)
        return UMBEL_OK;
    UM_TRY(um_pyzor_once_open(s->once_capacity, &once, err));
    *need += um_pyzor_once_bytes(once);
    um_pyzor_once_close(once);
    return UMBEL_OK;
}

/* --- sockets -------------------------------------------------------------- */

static umbel_status open_protocol(um_server *h, void **state, umbel_error *err)
{
    um_datagrams_config c = {.ceiling = UM_PYZOR_MAX,
                             .reply = UM_PYZOR_REPLY_MAX,
                             .take = um_pyzor_take};
    um_pyzor_service *f = calloc(1, sizeof *f);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed with the house */
    f->house = h;
    f->net = (um_protocol_datagram){.house = h,
                                    .front = &um_protocol_pyzor,
                                    .answer = um_pyzor_answer_pending};
    f->stats = um_server_stats(h, &um_protocol_pyzor);
    f->list = um_server_first_list(&um_protocol_pyzor);
    UM_TRY(reload(f, err));
    return um_protocol_datagram_open(&f->net, &settings_of(h)->listen, &c, err);
}

static void close_protocol(void *state)
{
    um_pyzor_service *f = state;

    um_protocol_datagram_close(&f->net);
    um_pyzor_once_close(f->once);
    um_pyzor_accounts_fini(&f->accounts);
    free(f);
}

static void hint(const void *state, FILE *out)
{
    const um_pyzor_service *f = state;
    const char *address = um_server_address_of(f->house, &um_protocol_pyzor);

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

static const um_doctor_row doctor[] = {{"pyzor",
                                        offsetof(um_pyzor_settings, listen),
                                        SOCK_DGRAM, um_doctor_pyzor, NULL},
                                       {0}};

const um_protocol um_protocol_pyzor = {
    .name = "pyzor",
    .summary = "Pyzor clients, over UDP",
    .settings = settings,
    .settings_len = sizeof(um_pyzor_settings),
    .lists = {"pyzor-reports", "pyzor-whitelist"},
    .revokes = 1,
    .times = true,
    .ops = ops,
    .verdicts = um_pyzor_verdicts,
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
