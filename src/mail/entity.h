/*
 * entity.h - character references of HTML: &amp; &#8364; &eacute
 */
#ifndef UM_MAIL_ENTITY_H
#define UM_MAIL_ENTITY_H

#include "base/buffer.h"

/* Appends the text with its references replaced, by the rules of HTML 5 as
 * Python applies them. The buffer has room for um_entity_room(len) more. */
void um_entity_decode(um_buffer *out, const uint8_t *text, size_t len);

/* No reference is shorter than half of what it stands for. */
static inline size_t um_entity_room(size_t len)
{
    return 2 * len;
}

#endif
