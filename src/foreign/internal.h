/*
 * internal.h - the formats of other programs, one row each.
 */
#ifndef UM_OPS_FOREIGN_H
#define UM_OPS_FOREIGN_H

#include "filter/handle.h"

#include <umbel/foreign.h>

enum { UM_FOREIGN_PARTS = 4, UM_FOREIGN_HEAD = 56 << 10 };

typedef struct um_foreign {
    const char *name; /* in commands */
    const char *summary;
    /* Bytes of a whole file that begins so, without data of the user's. */
    umbel_status (*least)(const uint8_t *bytes, size_t len, uint64_t *out,
                          umbel_error *err);
    umbel_status (*import)(const uint8_t *bytes, size_t len,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err);
    /* The file as parts one after the other; head is room for what is made. */
    umbel_status (*part)(const umbel_filter *f, uint8_t head[UM_FOREIGN_HEAD],
                         umbel_slice parts[UM_FOREIGN_PARTS], size_t *n,
                         umbel_error *err);
} um_foreign;

/* X(name) stands for the row um_foreign_name. */
#define UM_FOREIGNS(X) X(dcso) X(redisbloom)

#define UM_FOREIGN_DECLARE(name) extern const um_foreign um_foreign_##name;
UM_FOREIGNS(UM_FOREIGN_DECLARE)

#endif
