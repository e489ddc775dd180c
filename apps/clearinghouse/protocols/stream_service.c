/*
 * stream_service.c - the listeners of a protocol.
 */
#include "clearinghouse/protocols/stream_service.h"

#include "base/buffer.h"
#include "base/error.h"

#include <stdlib.h>
#include <sys/socket.h>

enum { NETWORKS = 4 }; /* a network may use a fourth of all connections */

static void count_ended(void *ctx, const um_address *client, um_end why)
{
    um_protocol_stream *s = ctx;
    unsigned v = s->ends + (unsigned)why;

    if (!um_end_is_refusal(why))
        return;
    um_service_count(s->stats, s->op, v);
    um_service_log_refusal(s->stats, v, client, NULL);
}

static void listener_gone(void *ctx)
{
    um_protocol_stream *s = ctx;

    if (--s->open > 0)
        return;
    um_connection_limits_close(s->limits);
    free(s->listener);
    s->gone(s->owner);
}

umbel_status um_protocol_stream_open(um_protocol_stream *s, size_t connections,
                                     umbel_error *err)
{
    const um_environment *env = s->env;
    um_connection_limits_config c = {
        .total = connections,
        .per_network = connections / NETWORKS + 1,
        .prefixes = *um_limits_prefixes(env->limits),
        .limit_loopback = env->config->limits.loopback,
        /* The rest is for clients that are not local. */
        .loopback = connections - connections / NETWORKS};

    s->stats = um_statistics_of(env->statistics, s->service);
    if (!s->stats)
        return um_no_memory(err, sizeof *s->stats);
    return um_connection_limits_open(&c, &s->limits, err);
}

static umbel_status listen_on(um_protocol_stream *s, const char *address,
                              const um_listener_config *c, umbel_error *err)
{
    int fd;

    UM_TRY(um_addresses_listen(s->env->addresses, s->service, address,
                               SOCK_STREAM, s->socket_mode, &fd, err));
    UM_TRY(um_listener_open(s->env->loop, fd, c, &s->listener[s->n], err));
    s->n++;
    s->open++;
    return UMBEL_OK;
}

umbel_status um_protocol_stream_listen(um_protocol_stream *s,
                                       const um_texts *listen,
                                       const um_stream_protocol *protocol,
                                       const um_stream_limits *limits,
                                       umbel_error *err)
{
    um_listener_config c = {.protocol = protocol,
                            .limits = *limits,
                            .connections = s->limits,
                            .ended = count_ended,
                            .gone = listener_gone,
                            .ctx = s};

    if (!um_array_resize(&s->listener, s->n + listen->n + 1,
                         sizeof(um_listener *)))
        return um_no_memory(err, sizeof(um_listener *));
    for (size_t i = 0; i < listen->n; i++)
        UM_TRY(listen_on(s, listen->item[i], &c, err));
    return UMBEL_OK;
}

void um_protocol_stream_stop(um_protocol_stream *s)
{
    for (size_t i = 0; i < s->n; i++)
        um_listener_stop(s->listener[i]);
}

void um_protocol_stream_close(um_protocol_stream *s)
{
    s->open++; /* until all of them are closed */
    for (size_t i = 0; i < s->n; i++)
        um_listener_close(s->listener[i]);
    listener_gone(s);
}
