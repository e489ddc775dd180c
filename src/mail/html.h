/*
 * html.h - HTML to text, as the Pyzor client does it.
 */
#ifndef UM_MAIL_HTML_H
#define UM_MAIL_HTML_H

#include "base/buffer.h"

/*
 * Appends the text of the UTF-8 page: pieces between tags, outside script and
 * style, trimmed, without empty ones, joined by blanks, references decoded.
 * What follows a tag or comment without end is left out. False: no memory.
 */
bool um_html_to_text(um_buffer *out, const uint8_t *page, size_t len);

#endif
