/*
 * handle.h - the inside of an umbel_filter.
 *
 * The payload is one stretch of memory laid out as in the file: sections one
 * after the other, each from a multiple of 64 bytes on. It belongs to the
 * filter, or to a mapping.
 */
#ifndef UM_FILTER_HANDLE_H
#define UM_FILTER_HANDLE_H

#include "filter/fast.h"

struct umbel_filter {
    um_shape shape;
    um_layout layout;
    um_hasher hasher;
    umbel_alloc alloc;
    uint8_t *payload;
    size_t payload_len;
    void *mapping; /* the whole file, or NULL: payload is ours */
    size_t mapping_len;
    const um_fast *fast; /* NULL: the kind's own functions */
    um_query_key *query_key;
    bool shared; /* umbel_share: the kind's shared functions */
    void *self;  /* the kind's part, behind this struct */
};

/*
 * A filter of that shape around payload, which it takes over when the call
 * succeeds: with mapping NULL, memory from alloc; else a part of the mapping.
 * payload NULL asks for zeroed memory. The shape must be settled.
 */
umbel_status um_filter_make(const um_shape *shape, const umbel_alloc *alloc,
                            uint8_t *payload, void *mapping, size_t mapping_len,
                            umbel_filter **out, umbel_error *err);

/* Give the kind its memory: after payload or its content was replaced. */
void um_filter_attach(umbel_filter *f);
/* The same around memory of alloc, which is released when the call fails. */
umbel_status um_filter_own(const um_shape *shape, const umbel_alloc *alloc,
                           uint8_t *payload, umbel_filter **out,
                           umbel_error *err);

/* Take this fast path from now on; NULL: the kind's own functions. */
void um_filter_use(umbel_filter *f, const um_fast *row);

/* Bytes of the payload; false when they do not fit into an address space. */
bool um_payload_len(const um_shape *s, size_t *len);
/* The same for the whole file. */
bool um_file_len(const um_shape *s, size_t *len);

/* Bytes at the payload's end that umbel_data takes, with the zeros behind. */
size_t um_data_room(const um_shape *s);
/* Give to the data of from, if any. */
umbel_status um_pass_data(umbel_filter *to, const umbel_filter *from,
                          umbel_error *err);

/*
 * Zero what lies between sections. A mapped file may have put something there
 * after it was checked; it must not get into filters made from it.
 */
void um_clear_padding(umbel_filter *f);

/* Keys that explain used cells in use; INFINITY when all are. */
double um_keys_behind(const umbel_filter *f, uint64_t used);
/* Whether they follow from the model, which also knows how far they spread. */
bool um_used_by_chance(const umbel_filter *f);

/* As umbel_same_shape. */
umbel_status um_same_shape(const um_shape *x, const um_shape *y,
                           umbel_error *err);

/* Count keys that were new. */
void um_count_added(umbel_filter *f, size_t fresh);

/* E_READONLY for mapped filters, E_SECRET for locked ones. */
umbel_status um_check_writable(const umbel_filter *f, umbel_error *err);
umbel_status um_check_ready(const umbel_filter *f, umbel_error *err);

/* E_UNSUPPORTED: this kind has an empty slot where verb should be. */
umbel_status um_cannot(const umbel_filter *f, const char *verb,
                       umbel_error *err);
/* The same of counts: it names the kinds that have them. */
umbel_status um_cannot_count(const um_kind *kind, umbel_error *err);
/* The same of merge and fold, which have a reason of their own. */
umbel_status um_cannot_join(const umbel_filter *f, const char *verb,
                            umbel_error *err);

#endif
