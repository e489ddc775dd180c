/*
 * envelope.h - filters as bytes: a head, then its payload.
 */
#ifndef UM_FILTER_ENVELOPE_H
#define UM_FILTER_ENVELOPE_H

#include "filter/head.h"

#include <umbel/file.h>

/*
 * Returns the memory that a coded or piped file of that many bytes may take
 * where its reader sets no limit: 4 MiB and 1024 times its bytes, at most 256
 * MiB. Coded filters of which one cell in 16,000 is in use are within that.
 */
static inline uint64_t um_open_limit(uint64_t bytes)
{
    const uint64_t base = 4 << 20, most = 256 << 20, ratio = 1024;
    return bytes < (most - base) / ratio ? base + ratio * bytes : most;
}

/* Refuses a file whose length is not that of its head. */
umbel_status um_check_len(const um_head *head, uint64_t file_len,
                          umbel_error *err);

/*
 * Refuses a payload above the limit of source. By default, only what is coded,
 * or comes from a pipe, has a limit: its size is not known from its bytes.
 */
umbel_status um_check_limit(const um_head *head, const umbel_source *source,
                            bool piped, umbel_error *err);

/*
 * The one way to open a filter: its head, the stored bytes behind it, and the
 * memory that they lie in, which the call takes over. Raw bytes are used in
 * place, unless they are the caller's; coded ones are decoded.
 */
umbel_status um_filter_open(const um_head *head, const uint8_t *stored,
                            um_memory memory, const umbel_source *source,
                            umbel_filter **out, umbel_error *err);
/* The same of a payload that is raw, whatever the head says. */
umbel_status um_filter_from_payload(const um_head *head, uint8_t *payload,
                                    um_memory memory,
                                    const umbel_source *source,
                                    umbel_filter **out, umbel_error *err);
/* The same of a whole file, head included. */
umbel_status um_filter_from_file(const uint8_t *bytes, size_t len,
                                 um_memory memory, const umbel_source *source,
                                 umbel_filter **out, umbel_error *err);

/* Returns the bytes of the payload in its file, and those of the head. */
size_t um_stored_len(const umbel_filter *f, size_t *head);

/* Replaces NULL by the defaults; refuses a source whose size is not set. */
umbel_status um_check_source(const umbel_source **source, umbel_error *err);

#endif
