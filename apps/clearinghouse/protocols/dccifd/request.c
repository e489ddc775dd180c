/*
 * dccifd_request.c - the envelope, line by line, in bounded memory.
 */
#include "clearinghouse/protocols/dccifd/request.h"

#include <string.h>

enum { WORDS, CLIENT, HELO, SENDER, RECIPIENTS };

static const char *const words[] = {
#define UM_DCCIFD_WORD_NAME(name, word) word,
    UM_DCCIFD_WORD_LIST(UM_DCCIFD_WORD_NAME)
#undef UM_DCCIFD_WORD_NAME
};

static unsigned bit_of(const char *word, size_t len)
{
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
            return 1u << i;
    return 0;
}

static unsigned read_words(umbel_slice line)
{
    const char *text = line.data;
    unsigned bits = 0;

    for (size_t at = 0, end; at < line.len; at = end + 1) {
        for (end = at; end < line.len && text[end] != ' '; end++)
            ;
        bits |= bit_of(text + at, end - at);
    }
    return bits;
}

/* Copies what stands before a CR. A value that is too long is none: half of an
 * address is the address of somebody else. */
static void copy_value(umbel_slice line, char *out, size_t cap)
{
    const char *cr = memchr(line.data, '\r', line.len);
    size_t len = cr ? (size_t)(cr - (const char *)line.data) : line.len;

    if (len >= cap)
        len = 0;
    memcpy(out, line.data, len);
    out[len] = '\0';
}

static void parse_line(um_dccifd_envelope *e, umbel_slice line)
{
    switch (e->line) {
    case WORDS:
        e->words = read_words(line);
        break;
    case CLIENT:
        copy_value(line, e->client, sizeof e->client);
        break;
    case HELO:
        break;
    case SENDER:
        copy_value(line, e->sender, sizeof e->sender);
        break;
    default:
        if (line.len == 0)
            e->state = UM_DCCIFD_DONE;
        else if (e->recipients == UM_DCCIFD_RECIPIENTS)
            e->state = UM_DCCIFD_TOO_LONG;
        else
            e->recipients++;
        return;
    }
    e->line++;
}

size_t um_dccifd_parse(um_dccifd_envelope *e, const uint8_t *bytes, size_t len)
{
    size_t at = 0;

    while (e->state == UM_DCCIFD_MORE && at < len) {
        size_t left = len - at;
        size_t most = left < UM_DCCIFD_LINE ? left : UM_DCCIFD_LINE;
        const uint8_t *end = memchr(bytes + at, '\n', most);
        size_t line = end ? (size_t)(end - bytes) - at : most;

        if (memchr(bytes + at, '\0', line)) {
            e->state = UM_DCCIFD_NO_TEXT;
        } else if (end) {
            parse_line(e, (umbel_slice){bytes + at, line});
            at += line + 1;
        } else if (most == UM_DCCIFD_LINE) {
            e->state = UM_DCCIFD_TOO_LONG;
        } else {
            break;
        }
    }
    return at;
}
