/*
 * peers_settings.h - the keys that a configuration names.
 */
#ifndef UM_CLEARINGHOUSE_PEERS_SETTINGS_H
#define UM_CLEARINGHOUSE_PEERS_SETTINGS_H

#include "clearinghouse/config/config.h"

#include <umbel/exchange.h>
#include <umbel/sync.h>

typedef struct um_peers_keys {
    uint8_t sign_key[UMBEL_SIGN_KEY_LEN];
    uint8_t origin[UMBEL_TRUST_KEY_LEN];
    uint8_t (
        *peer)[UMBEL_TRUST_KEY_LEN]; /* as the configuration numbers them */
} um_peers_keys;

/* Reads and checks all of them. Release with um_peers_keys_fini. */
umbel_status um_peers_keys_read(const um_config *c, um_peers_keys *out,
                                umbel_error *err);
/* Accepts zeroed ones. */
void um_peers_keys_fini(um_peers_keys *k);

/* What the machine may use. */
umbel_sync_limits um_peers_limits(const um_config *c);

#endif
