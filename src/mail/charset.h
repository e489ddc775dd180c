/*
 * charset.h - bytes in some charset to UTF-8.
 *
 * A charset is a row, by the names that Python knows, because the Pyzor client
 * is written in Python. All are opened before the first mail is read: a worker
 * cannot load iconv's modules later.
 */
#ifndef UM_MAIL_CHARSET_H
#define UM_MAIL_CHARSET_H

#include "base/buffer.h"

#include <umbel/base.h>

typedef struct um_charsets um_charsets;

/* E_NOMEM. Charsets that this system's iconv lacks are as if unknown. */
umbel_status um_charsets_open(um_charsets **out, umbel_error *err);
/* NULL is fine. */
void um_charsets_close(um_charsets *c);

/* Returns the number of a charset, or -1. Case and punctuation do not count. */
int um_charset_find(const um_charsets *c, umbel_slice name);

enum { UM_CHARSET_ASCII = 0 };

/* What happens to bytes that are no characters. */
typedef enum um_charset_errors {
    UM_CHARSET_DROP,
    UM_CHARSET_REPLACE
} um_charset_errors;

/* Appends UTF-8. False: no memory. */
bool um_charset_decode(um_charsets *c, int charset, um_charset_errors errors,
                       um_buffer *out, const uint8_t *text, size_t len);

#endif
