/*
 * datagram_service.c - the sockets of a datagram protocol, and its pending
 * answers.
 */
#include "clearinghouse/protocols/datagram_service.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* --- pending answers ------------------------------------------------------ */

umbel_status um_pending_init(um_pending *p, umbel_error *err)
{
    *p = (um_pending){0};
    p->ring = calloc(UM_PENDING, sizeof *p->ring);
    return p->ring ? UMBEL_OK : um_no_memory(err, UM_PENDING * sizeof *p->ring);
}

void um_pending_fini(um_pending *p)
{
    free(p->ring);
    *p = (um_pending){0};
}

bool um_pending_full(const um_pending *p)
{
    return p->last - p->first == UM_PENDING;
}

void um_pending_append(um_pending *p, const um_answer *a, umbel_slice note)
{
    um_answer *to = &p->ring[p->last++ % UM_PENDING];

    *to = *a;
    if (note.len && note.len <= sizeof to->note) {
        to->note_len = (unsigned)note.len;
        memcpy(to->note, note.data, note.len);
    }
}

const um_answer *um_pending_first(const um_pending *p)
{
    return p->first == p->last ? NULL : &p->ring[p->first % UM_PENDING];
}

void um_pending_drop(um_pending *p)
{
    /* Restarts an empty queue at index 0, so that it touches little memory. */
    if (++p->first == p->last)
        p->first = p->last = 0;
}

/* --- sockets -------------------------------------------------------------- */

static umbel_status listen_on(um_protocol_datagram *d, const char *address,
                              const um_datagrams_config *c, umbel_error *err)
{
    um_protocol_socket *s = &d->socket[d->n];
    um_datagrams_config config = *c;
    int fd;

    s->owner = d;
    config.ctx = s;
    UM_TRY(um_addresses_listen(d->env->addresses, d->service, address,
                               SOCK_DGRAM, 0, &fd, err));
    UM_TRY(um_datagrams_open(d->env->loop, fd, &config, &s->datagrams, err));
    d->n++;
    return UMBEL_OK;
}

umbel_status um_protocol_datagram_open(um_protocol_datagram *d,
                                       const um_texts *listen,
                                       const um_datagrams_config *c,
                                       umbel_error *err)
{
    UM_TRY(um_pending_init(&d->pending, err));
    d->socket = calloc(listen->n + 1, sizeof *d->socket);
    if (!d->socket)
        return um_no_memory(err, sizeof *d->socket);
    for (size_t i = 0; i < listen->n; i++)
        UM_TRY(listen_on(d, listen->item[i], c, err));
    return UMBEL_OK;
}

const um_answer *um_protocol_datagram_ready(const um_protocol_datagram *d,
                                            bool *stored)
{
    const um_store *store = d->env->store;
    const um_answer *a = um_pending_first(&d->pending);

    *stored = a && a->ticket <= um_store_committed(store);
    return *stored || um_store_failure(store) ? a : NULL;
}

void um_protocol_datagram_committed(void *state)
{
    um_protocol_datagram *d = state;

    d->answer(state);
    for (size_t i = 0; i < d->n; i++)
        um_datagrams_flush(d->socket[i].datagrams);
}

void um_protocol_datagram_stop(void *state)
{
    um_protocol_datagram *d = state;

    for (size_t i = 0; i < d->n; i++)
        um_datagrams_drain(d->socket[i].datagrams);
}

bool um_protocol_datagram_busy(const void *state)
{
    const um_protocol_datagram *d = state;

    return um_pending_first(&d->pending);
}

void um_protocol_datagram_close(um_protocol_datagram *d)
{
    for (size_t i = 0; i < d->n; i++)
        um_datagrams_close(d->socket[i].datagrams);
    free(d->socket);
    um_pending_fini(&d->pending);
}
