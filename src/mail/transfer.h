/*
 * transfer.h - transfer encodings, decoded as Python's email package does: what
 * is damaged is read as far as it goes.
 */
#ifndef UM_MAIL_TRANSFER_H
#define UM_MAIL_TRANSFER_H

#include "base/buffer.h"

#include <umbel/base.h>

/* Appends the decoded bytes; the buffer has room for as many as are encoded. */
typedef void um_transfer(um_buffer *out, const uint8_t *text, size_t len);

/* The decoder of a Content-Transfer-Encoding, in lower case; NULL: the body is
 * taken as it is. */
um_transfer *um_transfer_find(umbel_slice name);

um_transfer um_base64_decode, um_quoted_decode, um_uu_decode;

#endif
