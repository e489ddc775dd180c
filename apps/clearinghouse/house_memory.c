/*
 * house_memory.c - the memory that the server uses, and may use.
 */
#include "clearinghouse/house_memory.h"

#include "base/error.h"
#include "clearinghouse/status_words.h"

#include <stdio.h>
#include <unistd.h>

/* Sockets' buffers, connections, the code itself. */
#define UM_HOUSE_BASE UINT64_C(8000000)

uint64_t um_house_memory(void)
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

/* Bytes of a list once it has all its epochs. */
static uint64_t full_bytes(const um_list_stats *l, uint64_t epochs)
{
    return l->n ? l->bytes / l->n * (l->n > epochs ? l->n : epochs) : 0;
}

umbel_status um_house_check_memory(const um_house *h, umbel_error *err)
{
    uint64_t need = UM_HOUSE_BASE + um_limits_bytes(h->limits);

    for (unsigned i = 0; um_front_list(i); i++) {
        um_list_stats l;
        um_list_stats_get(um_store_list(h->store, i), &l);
        need += full_bytes(&l, h->config.list[i].epochs);
    }
    if (need > h->config.memory)
        return um_fail(err, UMBEL_E_LIMIT,
                       "memory = %s: the lists need %s when they are full; "
                       "raise it, or lower capacity or epochs of a list",
                       um_words_bytes(h->config.memory).text,
                       um_words_bytes(need).text);
    return UMBEL_OK;
}
