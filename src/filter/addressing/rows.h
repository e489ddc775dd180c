/*
 * rows.h - the addressings. A new one is a line here.
 */
#ifndef UM_ADDRESSING_ROWS_H
#define UM_ADDRESSING_ROWS_H

#include "filter/addressing.h"

/* In the order of --help. X(name) stands for the row um_addressing_name. */
#define UM_ADDRESSINGS(X)                                                      \
    X(blocked512)                                                              \
    X(blocked256)                                                              \
    X(classic)                                                                 \
    X(partitioned)                                                             \
    X(universal)                                                               \
    X(chunks_md5)                                                              \
    X(blocked128)                                                              \
    X(dcso)                                                                    \
    X(redisbloom)

#define UM_ADDRESSING_DECLARE(name)                                            \
    extern const um_addressing um_addressing_##name;
UM_ADDRESSINGS(UM_ADDRESSING_DECLARE)

/* The numbers of a function of universal, ((c x + d) mod p) mod m. */
typedef struct um_universal {
    uint32_t c, d;
} um_universal;

/* Draws those of all functions from the seed. */
void um_draw_universal(const um_layout *l, um_universal h[UM_MAX_HASHES]);

#endif
