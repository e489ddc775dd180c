/*
 * wrapper.c - the original mail in one that SpamAssassin has wrapped.
 *
 * With report_safe 1, its default, or 2, SpamAssassin delivers spam as a mail
 * of its own: a multipart/mixed whose first part is a report, and whose second
 * part is the original. The wrappers of different mails are near copies of each
 * other.
 *
 * SpamAssassin removes X-Spam-... fields from the mails that it scans. So
 * fields that say "spam" are its own, and nobody else's wrapper is taken for
 * one; inside the original they are the sender's, so one wrapper is removed,
 * not two.
 */
#include "mail/internal.h"

#include <string.h>
#include <strings.h>

enum { BOUNDARY = 80 }; /* with the NUL: standards allow 70 characters */

/* Returns the value of a header field; data is NULL if it is absent. */
static umbel_slice find_field(const uint8_t *at, const uint8_t *end,
                              const char *name)
{
    size_t len = strlen(name);

    for (const uint8_t *next; at < end; at = next) {
        next = um_field_end(at, end);
        if ((size_t)(next - at) > len && at[len] == ':' &&
            strncasecmp((const char *)at, name, len) == 0)
            return um_slice_trim(
                (umbel_slice){at + len + 1, (size_t)(next - at) - len - 1});
    }
    return (umbel_slice){NULL, 0};
}

static bool begins_with(umbel_slice s, const char *word)
{
    size_t len = strlen(word);

    return s.len >= len && strncasecmp(s.data, word, len) == 0;
}

/* Returns true for a mail that SpamAssassin has found to be spam. */
static bool is_marked_spam(umbel_slice mail)
{
    const uint8_t *at = mail.data, *end = um_header_end(at, at + mail.len);

    return begins_with(find_field(at, end, "X-Spam-Checker-Version"),
                       "SpamAssassin") &&
           (begins_with(find_field(at, end, "X-Spam-Flag"), "yes") ||
            begins_with(find_field(at, end, "X-Spam-Status"), "yes"));
}

static bool read_boundary(umbel_slice type, char out[BOUNDARY], size_t *len)
{
    um_content_type t;

    if (!type.data)
        return false;
    t = um_content_type_read(type);
    return um_slice_is(t.type, "multipart") &&
           um_slice_is(t.subtype, "mixed") &&
           um_content_param(type, "boundary", out, BOUNDARY, len) && *len &&
           *len < BOUNDARY - 1;
}

/* Returns the next line that begins with -- and the boundary, or end. */
static const uint8_t *find_delimiter(const uint8_t *at, const uint8_t *end,
                                     umbel_slice boundary)
{
    for (; at < end; at = um_line_end(at, end))
        if ((size_t)(end - at) >= boundary.len + 2 && at[0] == '-' &&
            at[1] == '-' && memcmp(at + 2, boundary.data, boundary.len) == 0)
            return at;
    return end;
}

static bool is_original(umbel_slice type)
{
    char word[16];
    size_t len;

    return type.data &&
           um_content_param(type, "x-spam-type", word, sizeof word, &len) &&
           strcasecmp(word, "original") == 0;
}

/* Finds the original, and the name of its transfer encoding. */
static bool find_original(umbel_slice mail, umbel_slice *original,
                          umbel_slice *encoding)
{
    const uint8_t *at = mail.data, *end = at + mail.len;
    const uint8_t *body = um_header_end(at, end);
    char text[BOUNDARY];
    umbel_slice boundary = {text, 0};

    if (!read_boundary(find_field(at, body, "Content-Type"), text,
                       &boundary.len))
        return false;
    const uint8_t *report = find_delimiter(body, end, boundary);
    report = um_line_end(report, end);
    const uint8_t *part = find_delimiter(report, end, boundary);
    part = um_line_end(part, end);
    const uint8_t *content = um_header_end(part, end);
    if (!is_original(find_field(part, content, "Content-Type")))
        return false;
    *encoding = find_field(part, content, "Content-Transfer-Encoding");
    content = um_line_end(content, end);
    *original = (umbel_slice){
        content, (size_t)(find_delimiter(content, end, boundary) - content)};
    return original->len > 0;
}

umbel_slice um_mail_unwrap(umbel_slice mail, um_buffer *decoded, unsigned *note)
{
    umbel_slice original, encoding;

    *note = 0;
    if (!find_original(mail, &original, &encoding))
        return mail;
    *note = is_marked_spam(mail) ? UM_MAIL_WRAPPED : UM_MAIL_UNMARKED;
    if (*note == UM_MAIL_UNMARKED)
        return mail;
    um_transfer *transfer = um_transfer_find(encoding);
    if (!transfer)
        return original;
    if (!um_buffer_reserve(decoded, original.len))
        return (umbel_slice){NULL, 0};
    transfer(decoded, original.data, original.len);
    return (umbel_slice){decoded->data, decoded->len};
}
