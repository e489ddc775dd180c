/*
 * machine_lists.c - lists as a server with that configuration has them.
 */
#include "base/hash.h"
#include "clearinghouse/house.h"
#include "clearinghouse/peers.h"
#include "exchange/key_file.h"

#include "machine.h"

size_t machine_lists(const char *path, umbel_sync_list *out, umbel_error *err)
{
    static um_config config; /* has the names of the lists */
    uint8_t secret[UMBEL_SECRET_LEN];
    um_hasher hasher; /* the store gives its lists what this derives */
    size_t n = 0;

    if (um_config_read(&config, path, err) != UMBEL_OK ||
        um_secret_load(config.secret, secret, err) != UMBEL_OK)
        return 0;
    um_hasher_init(&hasher, um_hash_find("sip"), 0);
    um_hasher_unlock(&hasher, secret);
    for (; um_front_list(n); n++) {
        um_list_config c = um_house_list_config(&config, n);
        umbel_filter *shape;

        if (um_list_shape(&c, hasher.secret, &shape, err) != UMBEL_OK)
            return 0;
        out[n] = (umbel_sync_list){.name = c.name,
                                   .shape = shape,
                                   .epoch_seconds = c.epoch_seconds,
                                   .epochs = c.epochs,
                                   .page_bytes = UM_PEERS_PAGE};
    }
    um_hasher_fini(&hasher);
    return n;
}
