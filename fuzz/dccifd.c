/*
 * dccifd.c - arbitrary streams from a dccifd client, split at any length.
 *
 * The first byte is the piece length. However the stream is split, the parsed
 * envelope is the same as for the whole stream, its texts end within their
 * buffers, and the answer to it fits its buffer.
 */
#include "fuzz.h"

#include "clearinghouse/protocols/dccifd/internal.h"

#include <stdio.h>
#include <string.h>

/*
 * Parses the stream in pieces, retaining unconsumed bytes as um_stream does.
 * Returns the number of bytes that belong to the envelope.
 */
static size_t parse_pieces(um_dccifd_envelope *e, const uint8_t *data,
                           size_t len, size_t piece)
{
    size_t at = 0, end = 0;

    while (e->state == UM_DCCIFD_MORE && end < len) {
        end = len - end < piece ? len : end + piece;
        at += um_dccifd_parse(e, data + at, end - at);
        UM_WANT(at <= end);
        UM_WANT(e->state != UM_DCCIFD_MORE || end - at < UM_DCCIFD_LINE);
    }
    return at;
}

static void check_envelope(const um_dccifd_envelope *e)
{
    UM_WANT(memchr(e->client, '\0', sizeof e->client));
    UM_WANT(memchr(e->sender, '\0', sizeof e->sender));
    UM_WANT(!strpbrk(e->client, "\r\n") && !strpbrk(e->sender, "\r\n"));
    UM_WANT(e->recipients <= UM_DCCIFD_RECIPIENTS);
}

static void answer(const um_dccifd_envelope *e, bool failed, bool welcome)
{
    char out[UM_DCCIFD_REPLY], host[UM_DCCIFD_HOST];
    um_dccifd_reply r = {.failed = failed,
                         .welcome = welcome,
                         .many = UINT64_MAX,
                         .reported = UINT64_MAX - 1};

    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    for (unsigned i = 0; i < UM_DCCIFD_SUMS; i++)
        r.sum[i] = (um_dccifd_count){.present = true, .count = UINT64_MAX - 1};
    size_t len = um_dccifd_print(&r, e, host, out);
    UM_WANT(len <= sizeof out && out[len - 1] == '\n');
    UM_WANT(out[0] == (failed ? 'T' : 'A'));
    UM_WANT(out[2 + e->recipients] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    um_dccifd_envelope whole = {0}, cut = {0};

    if (len == 0)
        return 0;
    size_t piece = data[0] + 1u;
    data++;
    len--;
    size_t at = parse_pieces(&whole, data, len, len + 1);
    UM_WANT(parse_pieces(&cut, data, len, piece) == at);
    UM_WANT(memcmp(&whole, &cut, sizeof cut) == 0);
    check_envelope(&whole);
    answer(&whole, false, false);
    answer(&whole, false, true);
    answer(&whole, true, false);
    return 0;
}
