/*
 * envelope.h - filters as bytes: a head, then its payload.
 */
#ifndef UM_FILTER_ENVELOPE_H
#define UM_FILTER_ENVELOPE_H

#include "filter/head.h"

#include <umbel/file.h>

/*
 * Returns the memory limit for a coded or piped file of this many bytes if its
 * reader sets none: 4 MiB plus 1024 times its bytes, at most 256 MiB. Coded
 * filters with one cell in 16,000 in use are within that.
 */
static inline uint64_t um_open_limit(uint64_t bytes)
{
    const uint64_t base = 4 << 20, most = 256 << 20, ratio = 1024;
    return bytes < (most - base) / ratio ? base + ratio * bytes : most;
}

/* Refuses a file whose length does not match its head. */
umbel_status um_check_len(const um_head *head, uint64_t file_len,
                          umbel_error *err);

/*
 * Refuses a payload above the limit of source. By default, only coded and piped
 * files have a limit: their bytes do not reveal the size.
 */
umbel_status um_check_limit(const um_head *head, const umbel_source *source,
                            bool piped, umbel_error *err);

/*
 * Opens a filter from its head, the stored bytes after it, and the memory that
 * contains them, of which the call takes ownership. Raw bytes are used in
 * place, unless they are the caller's; coded ones are decoded.
 */
umbel_status um_filter_open(const um_head *head, const uint8_t *stored,
                            um_memory memory, const umbel_source *source,
                            umbel_filter **out, umbel_error *err);
/* Opens a filter from a payload that is raw even if the head says coded. */
umbel_status um_filter_from_payload(const um_head *head, uint8_t *payload,
                                    um_memory memory,
                                    const umbel_source *source,
                                    umbel_filter **out, umbel_error *err);
/* Opens a filter from a whole file, head included. */
umbel_status um_filter_from_file(const uint8_t *bytes, size_t len,
                                 um_memory memory, const umbel_source *source,
                                 umbel_filter **out, umbel_error *err);

/* Returns the length of the stored payload; *head receives that of the head. */
size_t um_stored_len(const umbel_filter *f, size_t *head);

/* Replaces NULL by the defaults; refuses a source whose size is not set. */
umbel_status um_check_source(const umbel_source **source, umbel_error *err);

/* A coded payload. */
typedef struct um_coded {
    uint8_t *bytes; /* NULL: raw; from f's allocator */
    size_t cap, len;
    uint64_t section[UM_MAX_SECTIONS]; /* bytes of each code */
} um_coded;

/* A filter as the bytes of its file: the head, then the payload. */
typedef struct um_parts {
    uint8_t head[UM_HEAD_MAX];
    um_coded coded;
    umbel_slice part[2];
} um_parts;

umbel_status um_parts_init(um_parts *p, const umbel_filter *f,
                           umbel_error *err);
void um_parts_fini(um_parts *p, const umbel_filter *f);

/*
 * Returns the minimum size of the cells if each is coded independently: for
 * bits, the entropy of their density. Values from 16 on are classed by their
 * highest three bits.
 */
double um_shannon_bytes(const umbel_filter *f);

/* --- a filter from bytes that arrive in pieces: the definition of
 * umbel_decoder, for readers that can store the bytes in place --- */

struct umbel_decoder {
    umbel_source source; /* its alloc is the one below */
    umbel_alloc alloc;
    uint64_t total; /* bytes of the file, or UMBEL_TO_END */
    bool piped;     /* total is only claimed: the default memory limit
                       applies */
    um_head head;
    uint8_t start[UM_HEAD_MAX];
    size_t have, want; /* bytes of start: received, and length of the head */
    um_memory stored;  /* base NULL: the head is incomplete */
    size_t got;        /* bytes of stored received so far */
    umbel_error failure;
};

/* Initializes d, whose content is undefined. source was checked. */
void um_decoder_init(umbel_decoder *d, const umbel_source *source,
                     uint64_t total, bool piped);
void um_decoder_fini(umbel_decoder *d);

/* Returns the number of bytes expected next, and where to store them; 0: no
 * more. */
size_t um_decoder_space(umbel_decoder *d, uint8_t **at);
/* Processes n bytes that were stored there. */
umbel_status um_decoder_took(umbel_decoder *d, size_t n, umbel_error *err);

#endif
