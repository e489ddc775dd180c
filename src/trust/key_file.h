/*
 * key_file.h - files with the secrets of keyed filters; umbel/publish.h
 * declares those for publishing keys.
 */
#ifndef UM_EXCHANGE_KEY_FILE_H
#define UM_EXCHANGE_KEY_FILE_H

#include <umbel/publish.h>

/* Reads a file written by `umbel keygen`; refuses it if group or others can
 * read it. */
umbel_status um_secret_load(const char *path, uint8_t out[UMBEL_SECRET_LEN],
                            umbel_error *err);
/* Writes a new file with mode 0600. */
umbel_status um_secret_save(const uint8_t secret[UMBEL_SECRET_LEN],
                            const char *path, umbel_error *err);

#endif
