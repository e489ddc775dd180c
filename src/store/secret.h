/*
 * secret.h - the secret that keys are hashed with.
 */
#ifndef UM_STORE_SECRET_H
#define UM_STORE_SECRET_H

#include <umbel/filter.h>

/*
 * Reads the secret of a data directory, from path or (NULL) DIR/secret. If
 * there is no such file it makes one of mode 0600, unless the directory has
 * data: those were made with a secret, and a new one would not fit.
 */
umbel_status um_secret_find(const char *dir, const char *path, bool has_data,
                            uint8_t out[UMBEL_SECRET_LEN], umbel_error *err);

/*
 * The same, but makes no file: where one would be made, it checks that this is
 * possible, and *found is false.
 */
umbel_status um_secret_check(const char *dir, const char *path, bool has_data,
                             bool *found, uint8_t out[UMBEL_SECRET_LEN],
                             umbel_error *err);

#endif
