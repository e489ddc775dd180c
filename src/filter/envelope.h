/*
 * envelope.h - a filter around a payload that a head describes.
 */
#ifndef UM_FILTER_ENVELOPE_H
#define UM_FILTER_ENVELOPE_H

#include "filter/head.h"

#include <umbel/file.h>

/* Whether the bytes given, or found, end where the head says. */
umbel_status um_check_len(const um_head *head, uint64_t file_len,
                          umbel_error *err);

/*
 * The filter of head around payload, as um_filter_make, checked and unlocked as
 * source asks. When the call fails the payload stays the caller's.
 */
umbel_status um_filter_from_payload(const um_head *head,
                                    const umbel_source *source,
                                    uint8_t *payload, void *mapping,
                                    size_t mapping_len, umbel_filter **out,
                                    umbel_error *err);

/* *source, or the defaults when it is NULL; its size must be set. */
umbel_status um_check_source(const umbel_source **source, umbel_error *err);

#endif
