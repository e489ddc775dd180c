/*
 * piece.c - cuts what is read into pieces of whole lines.
 *
 * A piece takes what one read gives, so that slow input from a pipe is answered
 * at once. The beginning of a line at the end of a read is kept for the next
 * piece. A piece is larger than two reads only if a line is.
 */
#include "keylist/piece.h"

#include "base/buffer.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a line: a byte order mark, a key and a carriage return. */
enum { MAX_LINE = 3 + UM_MAX_KEY_LEN + 1 };

void um_piece_fini(um_piece *p)
{
    free(p->text);
    free(p->keys);
    free(p->lines);
    free(p->weights);
    free(p->amounts);
    free(p->decoded);
    free(p->skipped);
}

/* Makes room for one more read. */
static umbel_status grow_text(um_piece *p, umbel_error *err)
{
    size_t cap = p->cap ? 2 * p->cap : (size_t)2 * UM_READ_LEN;

    if (p->cap - p->len >= UM_READ_LEN)
        return UMBEL_OK;
    if (!um_array_resize(&p->text, cap, 1))
        return um_fail(err, UMBEL_E_NOMEM, "no memory to read keys");
    p->cap = cap;
    return UMBEL_OK;
}

/* Returns the length of text up to and including the last end of a line. */
static size_t whole_lines(const uint8_t *text, size_t len, char end)
{
    while (len && text[len - 1] != (uint8_t)end)
        len--;
    return len;
}

/* Keeps the whole lines of a read, and moves the rest to the next piece.
 * Returns false if no line ends in it. */
static bool cut_lines(um_piece_reader *r, um_piece *p, size_t got)
{
    size_t whole = whole_lines(p->text + p->len, got, r->end);

    if (whole) {
        r->rest_len = got - whole;
        memcpy(r->rest, p->text + p->len + whole, r->rest_len);
    }
    p->len += whole ? whole : got;
    return whole > 0;
}

/*
 * Reads up to the end of a line or of the file. A line that is too long ends
 * the input; splitting the piece reports it.
 */
static umbel_status read_lines(um_piece_reader *r, um_piece *p,
                               umbel_error *err)
{
    size_t got;

    UM_TRY(grow_text(p, err));
    memcpy(p->text, r->rest, r->rest_len);
    p->len = r->rest_len;
    r->rest_len = 0;
    do {
        UM_TRY(grow_text(p, err));
        UM_TRY(
            um_input_read(r->stream, p->text + p->len, UM_READ_LEN, &got, err));
        if (cut_lines(r, p, got))
            return UMBEL_OK;
    } while (got && p->len <= MAX_LINE);
    r->ended |= got > 0;
    return UMBEL_OK;
}

static umbel_status read_piece(um_piece_reader *r, um_piece *p,
                               umbel_error *err)
{
    bool more = true;

    p->len = 0;
    while (!r->ended && p->len == 0) {
        if (!um_input_has_file(r->stream)) {
            UM_TRY(um_input_next_file(r->stream, &more, err));
            if (!more)
                return UMBEL_OK;
            r->first = true;
        }
        UM_TRY(read_lines(r, p, err));
    }
    return UMBEL_OK;
}

bool um_piece_read(um_piece_reader *r, um_piece *p)
{
    p->status = read_piece(r, p, &p->err);
    if (p->status != UMBEL_OK) {
        p->len = 0;
        r->ended = true;
    }
    p->file = um_input_name(r->stream);
    p->first = r->first;
    r->first = false;
    return p->len > 0 || p->status != UMBEL_OK;
}
