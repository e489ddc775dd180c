/*
 * house_use.c - what fronts and documents ask of the server.
 */
#include "base/error.h"
#include "base/text.h"
#include "clearinghouse/admin/control.h"
#include "clearinghouse/server/memory.h"
#include "clearinghouse/server/server.h"
#include "net/server/socket.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

um_protocol_stats *um_server_stats(um_server *h, const um_protocol *f)
{
    size_t i = 0;

    if (f == &um_protocol_control)
        return &h->control;
    while (um_protocol_row(i) != f)
        i++;
    return &h->stats[i];
}

unsigned um_server_first_list(const um_protocol *f)
{
    return (unsigned)um_protocol_list_find(f->lists[0]);
}

um_mail_pool_config um_server_pool_config(const um_config *c)
{
    return (um_mail_pool_config){.workers = (unsigned)c->mail.workers,
                                 .seconds = (unsigned)(c->mail.time / 1000),
                                 .limits = {.bytes = c->mail.bytes}};
}

um_list_config um_server_list_config(const um_config *c, size_t list)
{
    const um_list_settings *s = &c->list[list];
    const um_protocol *f = um_protocol_of_list(list);

    return (um_list_config){
        .name = um_protocol_list(list),
        .kind = f->list_kind ? f->list_kind : s->kind,
        .capacity = s->capacity,
        .error = s->error,
        .epoch_seconds = s->epoch / 1000,
        .epochs = (unsigned)s->epochs,
        .cell_bits = (unsigned)s->cell_bits,
        .hashes = (unsigned)s->hashes,
        .addressing = s->addressing,
        .refined = s->update,
        .threshold = f->threshold ? f->threshold(um_config_protocol(c, f)) : 0,
        .recent_column = um_protocol_list_times(list),
        .hold = c->origin};
}

umbel_status um_server_check_threshold(const um_list *list, umbel_error *err)
{
    um_list_stats s;

    um_list_stats_get(list, &s);
    if (s.threshold <= s.count_limit)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "many = %u, but list %s counts up to %" PRIu64
                   "; raise its cell_bits, and remove the data of epochs with "
                   "fewer",
                   s.threshold, s.name, s.count_limit);
}

/* Keeps the address of a socket, with its real port. */
static umbel_status note_address(um_server *h, const um_protocol *f, int fd,
                                 bool made, umbel_error *err)
{
    char path[UM_ADDRESS_TEXT];
    um_address a;

    if (h->naddresses == UM_MAX_ADDRESSES)
        return um_fail(err, UMBEL_E_LIMIT,
                       "more than %d addresses to listen on", UM_MAX_ADDRESSES);
    UM_TRY(um_socket_address(fd, path, &a, err));
    um_server_address *to = &h->address[h->naddresses++];
    to->front = f;
    to->made = made;
    um_address_print(&a, to->text);
    return UMBEL_OK;
}

umbel_status um_server_listen(um_server *h, const um_protocol *f,
                              const char *text, int type, int *fd,
                              umbel_error *err)
{
    um_address a;

    UM_TRY(um_address_parse(text, &a, err));
    *fd = um_passed_acquire(&h->passed, &a, type);
    bool made = *fd < 0;
    if (made)
        UM_TRY(um_socket_listen(&a, type, 0, fd, err));
    if (made && a.path && f->socket_mode)
        chmod(a.path, (mode_t)f->socket_mode);
    umbel_status status = note_address(h, f, *fd, made, err);
    if (status != UMBEL_OK)
        close(*fd);
    return status;
}

const char *um_server_address_of(const um_server *h, const um_protocol *f)
{
    for (size_t i = 0; i < h->naddresses; i++)
        if (h->address[i].front == f)
            return h->address[i].text;
    return NULL;
}

/* Appends ", NAME TEXT"; strangers choose the text. */
static void add_claim(char *out, size_t cap, const char *name, umbel_slice text)
{
    enum { LONGEST = 32 };
    size_t len = strlen(out);
    int shown = text.len < LONGEST ? (int)text.len : LONGEST;

    if (text.len)
        snprintf(out + len, cap - len, ", %s %.*s", name, shown,
                 (const char *)text.data);
    um_disarm(out);
}

void um_server_log_refusal(um_server *h, const um_protocol *f, unsigned verdict,
                           const um_address *client,
                           const um_server_claim *claim)
{
    um_protocol_stats *s = um_server_stats(h, f);
    const um_verdict *v = &f->verdicts[verdict];
    char text[UM_ADDRESS_TEXT], claimed[128] = "";

    if (!um_log_wants(&h->log, &s->topic[verdict]))
        return;
    if (claim) {
        add_claim(claimed, sizeof claimed, "operation", claim->op);
        add_claim(claimed, sizeof claimed, "user", claim->user);
    }
    um_log_limited(&h->log, &s->topic[verdict], "%s: refused %s: %s (%s)%s",
                   f->name, um_address_print(client, text), v->diag, v->reason,
                   claimed);
}

void um_server_count_reports(um_server *h, const um_protocol *f,
                             const char *account, const um_address *client,
                             uint64_t reports)
{
    um_busiest_count(&h->busiest, f, account,
                     um_limits_network(h->limits, client),
                     um_limits_prefixes(h->limits), reports, um_server_ms(h));
}

void um_server_status(const um_server *h, um_status *out)
{
    *out = (um_status){.now = h->now,
                       .uptime = um_server_uptime(h),
                       .data = h->opened.data,
                       .not_reloaded = h->not_reloaded.text,
                       .address = h->address,
                       .naddresses = h->naddresses,
                       .memory = um_server_memory(),
                       .memory_limit = h->opened.memory};
    for (size_t i = 0; um_protocol_row(i); i++)
        if (h->front[i]) {
            out->front[out->nfronts++] = &h->stats[i];
            if (um_protocol_row(i)->describe)
                um_protocol_row(i)->describe(h->front[i], out);
        }
    if (h->control.front)
        out->front[out->nfronts++] = &h->control;
    for (unsigned i = 0; um_protocol_list(i); i++)
        um_list_stats_get(um_store_list(h->store, i),
                          &out->list[out->nlists++]);
    um_store_stats_get(h->store, &out->store);
    um_mail_pool_stats_get(h->pool, &out->pool);
    out->welcome_rules = um_welcome_rules(h->welcome);
    out->forgotten = h->exceptions;
    out->peers = um_origins_look(h->origins);
    out->memory += out->pool.resident;
    out->nbusiest = um_busiest_read(&h->busiest, out->busiest);
    for (size_t i = 0; i < out->nbusiest; i++) /* as a time ago */
        out->busiest[i].last = (um_server_ms(h) - out->busiest[i].last) / 1000;
}
