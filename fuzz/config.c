/*
 * config.c - arbitrary configuration files: rejected with one line of plain
 * text, or parsed into a configuration that compares equal when parsed again.
 */
#include "fuzz.h"

#include "clearinghouse/config/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    umbel_slice text = {data, len};
    um_config c, again;
    umbel_error err;
    char changes[256];

    /*
     * libconfuse replaces ${NAME} by the environment, which is not tested here.
     */
    umbel_status status = um_config_parse(&c, text, "fuzz.conf", &err);
    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
        return 0;
    }
    UM_WANT(um_config_parse(&again, text, "fuzz.conf", NULL) == UMBEL_OK);
    UM_WANT(um_config_fixed_changes(&c, &again, changes, sizeof changes) == 0);
    UM_WANT(c.naccounts == again.naccounts);
    um_config_fini(&c);
    um_config_fini(&again);
    return 0;
}
