/*
 * request.c - parses a dccifd client's envelope, line by line in bounded
 * memory, and prints answers.
 */
#include "clearinghouse/protocols/dccifd/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- the envelope --------------------------------------------------------- */

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

/* Copies the text before a CR. A value that is too long becomes empty: half an
 * address would be a different one. */
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

/* --- answers -------------------------------------------------------------- */

static const char *const names[UM_DCCIFD_SUMS] = {"Body", "Fuz1", "Fuz2"};

typedef struct number {
    char text[24];
} number;

static number print_count(const um_dccifd_reply *r, uint64_t count)
{
    number n;

    if (count >= r->many)
        snprintf(n.text, sizeof n.text, "many");
    else
        snprintf(n.text, sizeof n.text, "%" PRIu64, count);
    return n;
}

bool um_dccifd_is_bulk(const um_dccifd_reply *r)
{
    for (unsigned i = 0; i < UM_DCCIFD_SUMS; i++)
        if (r->sum[i].present && r->sum[i].count >= r->many)
            return true;
    return false;
}

static char *write_results(const um_dccifd_reply *r, unsigned recipients,
                           char *at)
{
    char letter = r->failed ? 'T' : 'A';

    *at++ = letter;
    *at++ = '\n';
    memset(at, letter, recipients);
    at += recipients;
    *at++ = '\n';
    return at;
}

/* Writes the X-DCC line. rspamd requires something after ";", so a blank is
 * written if nothing else follows. */
static char *write_header(const um_dccifd_reply *r, const char *host, char *at)
{
    at += sprintf(at, "X-DCC-umbel-Metrics: %.*s 1;%s", UM_DCCIFD_HOST, host,
                  r->welcome             ? " whitelist"
                  : um_dccifd_is_bulk(r) ? " bulk"
                                         : "");
    for (unsigned i = 0; i < UM_DCCIFD_SUMS; i++)
        if (r->sum[i].present)
            at += sprintf(at, " %s=%s", names[i],
                          print_count(r, r->sum[i].count).text);
    if (at[-1] == ';')
        *at++ = ' ';
    *at++ = '\n';
    return at;
}

static char *write_checksum(const um_dccifd_reply *r, unsigned i, char *at)
{
    const um_dccifd_count *c = &r->sum[i];

    at += sprintf(at, "%7s:", names[i]);
    for (unsigned j = 0; j < UM_DCCIFD_CHECKSUM; j++)
        at += sprintf(at, "%s%02x", j % 4 ? "" : " ", c->checksum[j]);
    return at + sprintf(at, " %s\n", print_count(r, c->count).text);
}

static char *write_checksums(const um_dccifd_reply *r, char *at)
{
    at += sprintf(at, "%41s %-15s checksum  server\n",
                  "reported:", print_count(r, r->reported).text);
    for (unsigned i = 0; i < UM_DCCIFD_SUMS; i++)
        if (r->sum[i].present)
            at = write_checksum(r, i, at);
    return at;
}

size_t um_dccifd_print(const um_dccifd_reply *r, const um_dccifd_envelope *e,
                       const char *host, char out[UM_DCCIFD_REPLY])
{
    char *at = write_results(r, e->recipients, out);

    if (!r->failed &&
        e->words & (UM_DCCIFD_HEADER | UM_DCCIFD_CKSUMS | UM_DCCIFD_BODY))
        at = write_header(r, host, at);
    if (!r->failed && e->words & UM_DCCIFD_CKSUMS)
        at = write_checksums(r, at);
    return (size_t)(at - out);
}
