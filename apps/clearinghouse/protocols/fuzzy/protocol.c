/*
 * front_fuzzy.c - rspamd's fuzzy storage over UDP, without encryption.
 */
#include "clearinghouse/admin/doctor_rows.h"
#include "clearinghouse/protocols/fuzzy/row.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static const um_setting settings[] = {
    {"listen", &um_type_ports, offsetof(um_fuzzy_settings, listen), NULL,
     .help = "UDP addresses, such as 127.0.0.1:11335"},
    {"writers", &um_type_networks, offsetof(um_fuzzy_settings, writers),
     "127.0.0.0/8", .help = "client networks that may write and delete",
     .live = true},
    {0}};

static const char *const ops[] = {"check", "write", "delete", "stat",
                                  "ping",  "other", NULL};

const um_verdict um_fuzzy_verdicts[UM_FUZZY_OUTCOMES + 1] = {
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

static const um_list_initial list_initials[] = {{NULL, "capacity", "20000"},
                                                {0}};

static const um_fuzzy_settings *settings_of(const um_server *h)
{
    return um_config_protocol(&h->config, &um_protocol_fuzzy);
}

void um_fuzzy_secrets(const um_server *h, uint64_t out[UM_NEAR_SHINGLES])
{
    for (unsigned i = 0; i < UM_NEAR_SHINGLES; i++) {
        char text[32];
        int len = snprintf(text, sizeof text, "fuzzy position %u", i);
        umbel_slice key = {text, (size_t)len};
        umbel_digest d;

        um_store_digest(h->store, &key, 1, &d);
        out[i] = d.lo;
    }
}

/* --- writers -------------------------------------------------------------- */

static umbel_status reload(void *state, umbel_error *err)
{
    um_fuzzy_service *f = state;
    const um_texts *writers = &settings_of(f->house)->writers;
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

static umbel_status open_protocol(um_server *h, void **state, umbel_error *err)
{
    um_datagrams_config c = {.ceiling = UM_FUZZY_MAX,
                             .reply = UM_FUZZY_REPLY,
                             .take = um_fuzzy_take};
    um_fuzzy_service *f = calloc(1, sizeof *f);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed with the house */
    f->house = h;
    f->net = (um_protocol_datagram){.house = h,
                                    .front = &um_protocol_fuzzy,
                                    .answer = um_fuzzy_answer_pending};
    f->stats = um_server_stats(h, &um_protocol_fuzzy);
    f->list = um_server_first_list(&um_protocol_fuzzy);
    um_fuzzy_secrets(h, f->secret);
    UM_TRY(reload(f, err));
    return um_protocol_datagram_open(&f->net, &settings_of(h)->listen, &c, err);
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
    const char *address = um_server_address_of(f->house, &um_protocol_fuzzy);

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

static const um_doctor_row doctor[] = {{"fuzzy",
                                        offsetof(um_fuzzy_settings, listen),
                                        SOCK_DGRAM, um_doctor_fuzzy, NULL},
                                       {0}};

const um_protocol um_protocol_fuzzy = {
    .name = "fuzzy",
    .summary = "rspamd's fuzzy storage, over UDP",
    .settings = settings,
    .settings_len = sizeof(um_fuzzy_settings),
    .lists = {"fuzzy"},
    .list_kind = UM_NEAR_KIND,
    .list_initials = list_initials,
    .ops = ops,
    .verdicts = um_fuzzy_verdicts,
    .open = open_protocol,
    .reload = reload,
    .committed = um_protocol_datagram_committed,
    .stop = um_protocol_datagram_stop,
    .busy = um_protocol_datagram_busy,
    .close = close_protocol,
    .hint = hint,
    .doctor = doctor,
};
