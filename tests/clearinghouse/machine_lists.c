/* machine_lists.c - the lists of a server with a given configuration. */
#include "clearinghouse/lists/lists.h"
#include "clearinghouse/peering/peers.h"
#include "trust/key_file.h"

#include "machine.h"

size_t machine_lists(const char *path, umbel_sync_list *out, umbel_error *err)
{
    static um_config config; /* static: out points to its names */
    uint8_t secret[UMBEL_SECRET_LEN];
    size_t n = 0;

    if (um_config_read(&config, path, err) != UMBEL_OK ||
        um_secret_load(config.secret, secret, err) != UMBEL_OK)
        return 0;
    for (; um_list_name(n); n++) {
        um_list_config c = um_list_config_of(&config, n);
        umbel_filter *shape;

        if (um_list_config_filter(&c, secret, &shape, err) != UMBEL_OK)
            return 0;
        out[n] = (umbel_sync_list){.name = c.name,
                                   .shape = shape,
                                   .epoch_seconds = c.epoch_seconds,
                                   .epochs = c.epochs,
                                   .page_bytes = UM_PEERS_PAGE};
    }
    return n;
}
