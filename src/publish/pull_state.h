/*
 * pull_state.h - what a reader remembers between two pulls.
 */
#ifndef UM_EXCHANGE_PULL_STATE_H
#define UM_EXCHANGE_PULL_STATE_H

#include "publish/manifest.h"

enum { UM_PULL_STATE_MAX = 1024 };

/*
 * Write and read the newest manifest that the reader accepted, without steps
 * and the filter's length, and the server's tag for it ("": none). Reading
 * returns E_FORMAT for any other text.
 */
size_t um_pull_state_write(const um_manifest *newest, const char *tag,
                           char out[UM_PULL_STATE_MAX]);
umbel_status um_pull_state_read(const char *text, size_t len,
                                um_manifest *newest, char tag[UMBEL_MAX_TAG],
                                umbel_error *err);

#endif
