/*
 * decoder.h - a filter from bytes that come in pieces: the inside of an
 * umbel_decoder, for readers that can put the bytes where they belong.
 */
#ifndef UM_FILTER_DECODER_H
#define UM_FILTER_DECODER_H

#include "filter/envelope.h"

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
size_t um_decoder_room(umbel_decoder *d, uint8_t **at);
/* The next n of them are there. */
umbel_status um_decoder_took(umbel_decoder *d, size_t n, umbel_error *err);

#endif
