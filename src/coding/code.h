/*
 * code.h - a section of a filter in few bytes.
 *
 * One of six ways, chosen by rule from the cells, so that cells have one code:
 *
 *   0 plain    the cells as they are
 *   1 bits     cells of one bit, any density: bytes under a model of a single
 *              number, the chance of a one
 *   2 gaps     few cells that are not zero: where they are (changes.h)
 *   3 values   wider cells: how often each value occurs (values.h)
 *   4 holes    few bits that are zero: where they are
 *   5 adaptive any small section: decisions learnt on the way (adaptive.h)
 */
#ifndef UM_CODING_CODE_H
#define UM_CODING_CODE_H

#include "coding/cells.h"
#include "coding/values.h"

#include <stddef.h>

/* Bytes beside those of the cells that um_code_encode may need meanwhile. */
enum { UM_CODE_ROOM = 4096 };

/* No code is longer. */
static inline uint64_t um_code_max(const um_packed *cells)
{
    return 1 + um_packed_bytes(cells);
}

/* The rule; on the wire. That of files of version 1 knows no adaptive code. */
typedef enum um_code_version {
    UM_CODE_V1 = 1,
    UM_CODE_NOW = 2
} um_code_version;

/* How often each value occurs. */
void um_code_count(const um_packed *cells, um_values_count *out);

/* How long the code is: as much work as coding. */
uint64_t um_code_len(const um_packed *cells, um_code_version version);

/* Codes into out, of um_code_max + UM_CODE_ROOM bytes; returns the length. */
size_t um_code_encode(const um_packed *cells, um_code_version version,
                      uint8_t *out);

/*
 * Decode all of bytes into cells, which are zero. False when they are not what
 * um_code_encode writes; nothing but the cells was touched.
 */
bool um_code_decode(const uint8_t *bytes, size_t len, um_code_version version,
                    const um_packed *cells);

#endif
