/*
 * running.c - the open protocols of a server.
 */
#include "clearinghouse/protocols/protocol.h"

#include "base/error.h"

#include <stdlib.h>

struct um_running {
    void *state[UM_MAX_PROTOCOLS]; /* as um_protocols; NULL if not open */
};

umbel_status um_running_open(const um_environment *env, um_running **out,
                             umbel_error *err)
{
    um_running *r = calloc(1, sizeof *r);

    if (!r)
        return um_no_memory(err, sizeof *r);
    *out = r;
    for (size_t i = 0; um_protocols[i]; i++)
        UM_TRY(um_protocols[i]->open(env, &r->state[i], err));
    return UMBEL_OK;
}

umbel_status um_running_reload(um_running *r, umbel_error *err)
{
    for (size_t i = 0; um_protocols[i]; i++)
        if (r->state[i] && um_protocols[i]->reload)
            UM_TRY(um_protocols[i]->reload(r->state[i], err));
    return UMBEL_OK;
}

void um_running_committed(um_running *r)
{
    for (size_t i = 0; um_protocols[i]; i++)
        if (r->state[i] && um_protocols[i]->committed)
            um_protocols[i]->committed(r->state[i]);
}

void um_running_stop(um_running *r, bool asks)
{
    for (size_t i = 0; um_protocols[i]; i++)
        if (r->state[i] && um_protocols[i]->asks == asks &&
            um_protocols[i]->stop)
            um_protocols[i]->stop(r->state[i]);
}

bool um_running_busy(const um_running *r, bool asks)
{
    for (size_t i = 0; um_protocols[i]; i++)
        if (r->state[i] && um_protocols[i]->asks == asks &&
            um_protocols[i]->busy && um_protocols[i]->busy(r->state[i]))
            return true;
    return false;
}

void um_running_print_hints(const um_running *r, FILE *out)
{
    for (size_t i = 0; um_protocols[i]; i++)
        if (r->state[i] && um_protocols[i]->hint)
            um_protocols[i]->hint(r->state[i], out);
}

const void *um_running_state(const um_running *r, const um_protocol *p)
{
    for (size_t i = 0; um_protocols[i]; i++)
        if (um_protocols[i] == p)
            return r->state[i];
    return NULL;
}

void um_running_close(um_running *r)
{
    for (size_t i = 0; r && um_protocols[i]; i++)
        if (r->state[i])
            um_protocols[i]->close(r->state[i]);
    free(r);
}

uint16_t um_env_reporter(const um_environment *env, const um_address *client)
{
    um_network n = um_limits_network(env->limits, client);

    if (!env->config->limits.loopback && um_address_is_local(client))
        return 0;
    return um_store_network_tag(env->store, &n, sizeof n);
}

void um_env_count_reports(const um_environment *env, const um_service *service,
                          const char *account, const um_address *client,
                          uint64_t reports)
{
    um_top_reporters_add(env->reporters, service, account,
                         um_limits_network(env->limits, client),
                         um_limits_prefixes(env->limits), reports,
                         um_clock_ms(env->clock));
}
