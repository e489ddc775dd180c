/*
 * key_file.h - files of secrets for keyed filters; umbel/publish.h declares
 * those of publishers.
 */
#ifndef UM_EXCHANGE_KEY_FILE_H
#define UM_EXCHANGE_KEY_FILE_H

#include <umbel/publish.h>

/* Reads a file of `umbel keygen`; refused when group or others may read it. */
umbel_status um_secret_load(const char *path, uint8_t out[UMBEL_SECRET_LEN],
                            umbel_error *err);
/* Writes a new file, mode 0600. */
umbel_status um_secret_save(const uint8_t secret[UMBEL_SECRET_LEN],
                            const char *path, umbel_error *err);

#endif
