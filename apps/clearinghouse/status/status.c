/*
 * status.c - the state of the server at one moment.
 */
#include "clearinghouse/status/status.h"

#include "clearinghouse/lists/exceptions.h"

#include <stdio.h>
#include <unistd.h>

/* Returns the resident memory of the process, in bytes; 0 if the system does
 * not say. */
static uint64_t resident_memory(void)
{
    FILE *in = fopen("/proc/self/statm", "re");
    unsigned long long size, resident = 0;

    if (!in)
        return 0;
    if (fscanf(in, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    fclose(in);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

void um_status_get(const um_status_source *s, um_status *out)
{
    const um_environment *env = s->env;
    const um_service_stats *service;

    *out = (um_status){.now = env->clock->now,
                       .uptime = um_clock_uptime(env->clock),
                       .data = env->opened->data,
                       .not_reloaded = s->not_reloaded->text,
                       .memory = resident_memory(),
                       .memory_limit = env->opened->memory};
    out->address = um_addresses_all(env->addresses, &out->naddresses);
    while ((service = um_statistics_at(env->statistics, out->nservices)))
        out->service[out->nservices++] = service;
    um_razor_get_lookups(um_running_state(s->running, &um_protocol_razor),
                         &out->razor);
    for (unsigned i = 0; i < UM_LISTS; i++)
        um_list_stats_get(um_store_list(env->store, i),
                          &out->list[out->nlists++]);
    um_store_stats_get(env->store, &out->store);
    um_mail_pool_stats_get(env->pool, &out->pool);
    out->welcome_rules = um_welcome_rules(um_lists_welcome(env->lists));
    out->forgotten = um_forget_count(env->lists);
    out->peers = um_origins_look(env->origins);
    out->memory += out->pool.resident;
    out->ntop = um_top_reporters_read(env->reporters, out->top);
    for (size_t i = 0; i < out->ntop; i++) /* as a time ago */
        out->top[i].last = (um_clock_ms(env->clock) - out->top[i].last) / 1000;
}
