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

#endif
