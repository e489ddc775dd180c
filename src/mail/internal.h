/*
 * internal.h - shared by the modules of src/mail.
 */
#ifndef UM_MAIL_INTERNAL_H
#define UM_MAIL_INTERNAL_H

#include "base/buffer.h"
#include "base/text.h"
#include "mail/mail.h"

/* --- characters ----------------------------------------------------------- */

/* Characters of UTF-8 text, with Python's definition of white space and lines,
 * because the Pyzor client is written in Python. */
typedef struct um_char {
    uint32_t code;
    unsigned len; /* bytes */
} um_char;

/* Returns the character at s, of left > 0 bytes. A byte that is not UTF-8 is
 * U+FFFD. */
static inline um_char um_char_at(const uint8_t *s, size_t left)
{
    static const uint8_t mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};

    if (*s < 0x80)
        return (um_char){*s, 1};
    size_t len = um_utf8_len(s, left);
    if (!len)
        return (um_char){0xfffd, 1};
    uint32_t code = *s & mask[len];
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (s[i] & 0x3f);
    return (um_char){code, (unsigned)len};
}

/* Returns true for white space: as str.isspace, and \s of re. */
static inline bool um_char_is_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Returns true if the character ends a line: as str.splitlines, except that CR
 * LF ends two lines, the second one empty. */
static inline bool um_char_ends_line(uint32_t c)
{
    return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 ||
           c == 0x2028 || c == 0x2029;
}

/* Appends a character as UTF-8; at most four bytes, which
 * must be reserved. */
static inline void um_append_char(um_buffer *b, uint32_t c)
{
    uint8_t *at = b->data + b->len;

    if (c < 0x80) {
        at[0] = (uint8_t)c;
        b->len += 1;
    } else if (c < 0x800) {
        at[0] = (uint8_t)(0xc0 | c >> 6);
        at[1] = (uint8_t)(0x80 | (c & 0x3f));
        b->len += 2;
    } else if (c < 0x10000) {
        at[0] = (uint8_t)(0xe0 | c >> 12);
        at[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        at[2] = (uint8_t)(0x80 | (c & 0x3f));
        b->len += 3;
    } else {
        at[0] = (uint8_t)(0xf0 | c >> 18);
        at[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        at[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        at[3] = (uint8_t)(0x80 | (c & 0x3f));
        b->len += 4;
    }
}

/* --- charsets (charset.c) ------------------------------------------------- */

/*
 * Charsets have the names that Python knows. All are opened before the first
 * mail is read: a worker cannot load iconv's modules later.
 */
typedef struct um_charsets um_charsets;

/* Opens all charsets; those that iconv lacks are unknown. E_NOMEM. */
umbel_status um_charsets_open(um_charsets **out, umbel_error *err);
/* Frees the charsets; NULL is accepted. */
void um_charsets_close(um_charsets *c);

/* Returns the number of a charset, or -1. Ignores case and punctuation. */
int um_charset_find(const um_charsets *c, umbel_slice name);

enum { UM_CHARSET_ASCII = 0 };

/* Treatment of invalid bytes. */
typedef enum um_charset_errors {
    UM_CHARSET_DROP,
    UM_CHARSET_REPLACE
} um_charset_errors;

/* Appends the text as UTF-8; returns false if memory runs out. */
bool um_charset_decode(um_charsets *c, int charset, um_charset_errors errors,
                       um_buffer *out, const uint8_t *text, size_t len);

/* --- transfer encodings (transfer.c) -------------------------------------- */

/* Decoding follows Python's email package: damaged text is read as far as
 * possible. */
/* Appends the decoded bytes; the buffer has space for as many bytes as text
 * has. */
typedef void um_transfer(um_buffer *out, const uint8_t *text, size_t len);

/* Returns the decoder of a Content-Transfer-Encoding; NULL if the body is not
 * encoded. */
um_transfer *um_transfer_find(umbel_slice name);

um_transfer um_base64_decode, um_quoted_decode, um_uu_decode;

/* --- header fields (header.c) --------------------------------------------- */

/* Returns the beginning of the next line. */
const uint8_t *um_line_end(const uint8_t *at, const uint8_t *end);
/* Returns the line that ends a header: an empty one, or one that is not a
 * field. */
const uint8_t *um_header_end(const uint8_t *at, const uint8_t *end);
/* Returns the end of the field that begins at `at`. */
const uint8_t *um_field_end(const uint8_t *at, const uint8_t *end);

/* The main type and subtype of a Content-Type, "text/plain" if it is invalid;
 * not in lower case. The slices point into the value. */
typedef struct um_content_type {
    umbel_slice type, subtype;
} um_content_type;

um_content_type um_content_type_read(umbel_slice value);

/* Compares two texts, ignoring case. */
bool um_slice_is(umbel_slice s, const char *word);

/*
 * Copies the parameter of that name, unquoted, into out, cut at cap - 1 bytes.
 * Returns false if it is absent. value is the whole field.
 */
bool um_content_param(umbel_slice value, const char *name, char *out,
                      size_t cap, size_t *len);

/* Removes blanks and line ends from both ends. */
umbel_slice um_slice_trim(umbel_slice s);

/* Copies the domain of an address in lower case; "" if it is not a name. */
void um_address_domain(const char *address, char *out, size_t cap);
/* Copies the text between < and > of a List-Id in the same way. */
void um_list_id(umbel_slice value, char *out, size_t cap);
/* Copies the client address in brackets of a Received line in the same way. */
void um_received_client(umbel_slice value, char *out, size_t cap);

/* --- mails that SpamAssassin has wrapped (wrapper.c) -----------------------
 */

/*
 * Returns the original mail if this one is SpamAssassin's wrapper (report_safe
 * 1 or 2), otherwise the mail itself. The original is in the mail, or in
 * *decoded, which is empty before, if a relay has encoded it; data is NULL if
 * memory runs out. *note is UM_MAIL_WRAPPED, UM_MAIL_UNMARKED or 0.
 */
umbel_slice um_mail_unwrap(umbel_slice mail, um_buffer *decoded,
                           unsigned *note);

/* --- HTML (html_text.c) --------------------------------------------------- */

/*
 * Appends the text of a UTF-8 page as the Pyzor client does: the pieces between
 * tags, outside script and style, trimmed and joined by blanks, without empty
 * ones, with references decoded. What follows an unterminated tag or comment is
 * ignored. Returns false if memory runs out.
 */
bool um_html_to_text(um_buffer *out, const uint8_t *page, size_t len);

/* --- signatures (signature.c) --------------------------------------------- */

/* Digests the parts of a mail, in order; returns the number of characters that
 * are not white space. */
size_t um_exact_digest(const umbel_slice *parts, size_t n,
                       uint8_t out[UM_SIGNATURE_LEN]);

/*
 * Computes the digest of the Pyzor client (1.0.0) over the leaf parts of a
 * mail, in order: UTF-8 text, HTML reduced to its text, anything else as it is
 * in the mail. Returns the number of digested characters; 0: the digest is the
 * SHA-1 of nothing, which all mails without text share.
 */
size_t um_pyzor_digest(const umbel_slice *parts, size_t n,
                       uint8_t out[UM_SIGNATURE_LEN]);

/*
 * Computes the super-shingles of a text, in parts; returns the number of its
 * words. Two texts share a super-shingle with probability s^4, where s is the
 * share of their three-word windows that both have. With fewer than three words
 * out is all zeroes.
 */
size_t um_shingle(const umbel_slice *parts, size_t n,
                  uint64_t out[UM_SHINGLES]);

/* --- requests and answers of workers (worker_messages.c) ------------------ */

/*
 * Over a stream socket. A request is a head and the mail; an answer has a fixed
 * length. The server trusts no answer: whatever a worker sends, decoded facts
 * are in range, texts are terminated and contain no control characters.
 */
enum {
    UM_MAIL_REQUEST = 12, /* bytes of the head */
    UM_MAIL_ANSWER = 12 + 2 * (1 + UM_SIGNATURE_LEN) + 4 + 8 * UM_SHINGLES +
                     2 * UM_MAIL_NAME + UM_MAIL_CLIENT + UM_MAIL_SAMPLE + 4 +
                     8 + 4
};

typedef struct um_mail_request {
    uint32_t id, len; /* of the mail that follows */
    bool cut;         /* the mail was longer */
    bool unwrap;      /* read the original in SpamAssassin's wrapper */
} um_mail_request;

typedef enum um_mail_answer_kind {
    UM_MAIL_READY, /* the first one: the worker is confined and waits */
    UM_MAIL_READ,
    UM_MAIL_NO_MEMORY,
    UM_MAIL_ANSWER_KINDS
} um_mail_answer_kind;

typedef struct um_mail_answer {
    uint32_t id;
    um_mail_answer_kind kind;
    um_mail_facts facts; /* of UM_MAIL_READ */
} um_mail_answer;

void um_mail_request_encode(const um_mail_request *r,
                            uint8_t out[UM_MAIL_REQUEST]);
/* Decodes the head of a request; returns false if it is not one. */
bool um_mail_request_decode(const uint8_t in[UM_MAIL_REQUEST],
                            um_mail_request *r);

void um_mail_answer_encode(const um_mail_answer *a,
                           uint8_t out[UM_MAIL_ANSWER]);
/* Decodes an answer; returns false for bytes that an honest worker would not
 * send. */
bool um_mail_answer_decode(const uint8_t in[UM_MAIL_ANSWER], um_mail_answer *a);

/* --- the sandbox (worker_process.c) --------------------------------------- */

/*
 * Confines the process irrevocably: it can read and write descriptor fd,
 * allocate memory up to the limit (0: no limit), and read the time. Opening a
 * file fails; anything else ends the process (SIGSYS).
 */
umbel_status um_sandbox_enter(int fd, uint64_t memory, umbel_error *err);

#endif
