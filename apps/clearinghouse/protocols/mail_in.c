/*
 * mail_in.c - a mail that a client is sending.
 */
#include "clearinghouse/protocols/mail_in.h"

#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 16384 };

uint8_t *um_mail_in_release(um_mail_in *m, size_t *len)
{
    uint8_t *bytes = m->bytes;

    *len = m->len;
    m->budget->used -= m->cap;
    m->bytes = NULL;
    m->len = m->cap = 0;
    return bytes;
}

void um_mail_in_drop(um_mail_in *m)
{
    size_t len;

    free(um_mail_in_release(m, &len));
}

/* Reserves space for len more bytes, but never for more than keep in total. */
static um_mail_in_state reserve(um_mail_in *m, size_t len, size_t keep)
{
    size_t cap = m->cap ? m->cap : FIRST_CAP;

    while (cap < m->len + len)
        cap *= 2;
    cap = cap < keep ? cap : keep;
    if (cap == m->cap)
        return UM_MAIL_IN_FINE;
    if (m->budget->used + (cap - m->cap) > m->budget->max)
        return UM_MAIL_IN_BUSY;
    if (!um_array_resize(&m->bytes, cap, 1))
        return UM_MAIL_IN_BUSY;
    m->budget->used += cap - m->cap;
    m->cap = cap;
    return UM_MAIL_IN_FINE;
}

um_mail_in_state um_mail_in_append(um_mail_in *m, const uint8_t *bytes,
                                   size_t len, size_t keep, uint64_t largest)
{
    size_t left = keep > m->len ? keep - m->len : 0;

    m->received += len;
    if (m->received > largest)
        return UM_MAIL_IN_LARGE;
    len = len < left ? len : left;
    if (len == 0)
        return UM_MAIL_IN_FINE;
    um_mail_in_state state = reserve(m, len, keep);
    if (state == UM_MAIL_IN_FINE) {
        memcpy(m->bytes + m->len, bytes, len);
        m->len += len;
    }
    return state;
}
