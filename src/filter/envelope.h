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

/* A payload's code. */
typedef struct um_coded {
    uint8_t *bytes; /* NULL: none; from f's allocator */
    size_t cap, len;
    uint64_t section[UM_MAX_SECTIONS]; /* bytes of each code */
} um_coded;

/* A filter as the bytes of its file: the head, and the payload behind it. */
typedef struct um_parts {
    uint8_t head[UM_HEAD_MAX];
    um_coded coded;
    umbel_slice part[2];
} um_parts;

umbel_status um_parts_init(um_parts *p, const umbel_filter *f,
                           umbel_error *err);
void um_parts_fini(um_parts *p, const umbel_filter *f);

/*
 * Bytes that the cells take at least when each is coded for itself: of bits the
 * entropy of their density. Values of 16 and more go by their highest three
 * bits.
 */
double um_shannon_bytes(const umbel_filter *f);

/* --- a filter from bytes that come in pieces: the inside of an umbel_decoder,
 * for readers that can put the bytes where they belong ---
 */

struct umbel_decoder {
    umbel_source source; /* its alloc is the one below */
    umbel_alloc alloc;
    uint64_t total; /* bytes of the file, or UMBEL_TO_END */
    bool piped;     /* total is a claim: the default memory limit holds */
    um_head head;
    uint8_t start[UM_HEAD_MAX];
    size_t have, want; /* bytes of start: that came, that are the head's */
    um_memory stored;  /* base NULL: the head is not complete */
    size_t got;        /* bytes of stored that came */
    umbel_error failure;
};

/* d has any content. source has been checked. */
void um_decoder_init(umbel_decoder *d, const umbel_source *source,
                     uint64_t total, bool piped);
void um_decoder_fini(umbel_decoder *d);

/* Returns how many bytes are expected next, and where; 0: no more are. */
size_t um_decoder_space(umbel_decoder *d, uint8_t **at);
/* The next n of them are there. */
umbel_status um_decoder_took(umbel_decoder *d, size_t n, umbel_error *err);

#endif
