/*
 * count.c - the number of keys, without splitting lines where they are keys.
 */
#include "keylist/source.h"

#include "base/error.h"
#include "keylist/split.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_LEN = 1 << 18 }; /* bytes at a time */

static umbel_status count_batch(void *ctx, const um_key_batch *batch,
                                umbel_error *err)
{
    (void)err;
    *(uint64_t *)ctx += batch->n;
    return UMBEL_OK;
}

/* Returns 1 if p is the end of a line that is not empty. Reads the two bytes
 * before it. */
static inline uint8_t is_end(const uint8_t *p)
{
    bool empty = (p[-1] == '\n') | ((p[-1] == '\r') & (p[-2] == '\n'));

    return (uint8_t)((*p == '\n') & !empty);
}

/*
 * Counts the ends of lines that are not empty. Reads the two bytes before p. No
 * branch, and sums of one byte in each lane of a vector, as compilers see it.
 */
static uint64_t count_ends(const uint8_t *p, size_t len)
{
    enum { LANES = 32, MOST = 255 }; /* steps until a sum is full */
    uint64_t n = 0;

    while (len >= LANES) {
        uint8_t sums[LANES] = {0};
        size_t steps = len / LANES < MOST ? len / LANES : MOST;
        for (size_t i = 0; i < steps; i++, p += LANES)
            for (size_t j = 0; j < LANES; j++)
                sums[j] = (uint8_t)(sums[j] + is_end(p + j));
        for (size_t j = 0; j < LANES; j++)
            n += sums[j];
        len -= steps * LANES;
    }
    for (size_t i = 0; i < len; i++)
        n += is_end(p + i);
    return n;
}

/* Counts the lines of a file. Before each read the buffer holds the two bytes
 * before it. */
static umbel_status count_file(um_input *s, uint8_t *buffer, uint64_t *n,
                               umbel_error *err)
{
    uint8_t *start = buffer + 2;
    size_t got, mark;
    bool first = true;

    memset(buffer, '\n', 2);
    for (;; first = false) {
        UM_TRY(um_input_read(s, start, COUNT_LEN, &got, err));
        if (!got)
            break;
        mark = first ? um_mark_len(start, got) : 0;
        memset(start, '\n', mark);
        *n += count_ends(start + mark, got - mark);
        memmove(buffer, start + got - 2, 2);
    }
    *start = '\n'; /* the last line may lack its end */
    *n += count_ends(start, 1);
    return UMBEL_OK;
}

static umbel_status count_lines(um_input *s, uint64_t *n, umbel_error *err)
{
    uint8_t *buffer = malloc(COUNT_LEN + 2);
    umbel_status status = UMBEL_OK;
    bool more = true;

    if (!buffer)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to count keys");
    while (status == UMBEL_OK && more) {
        status = um_input_next_file(s, &more, err);
        if (status == UMBEL_OK && more)
            status = count_file(s, buffer, n, err);
    }
    free(buffer);
    return status;
}

umbel_status um_keys_count(const um_key_source *s, uint64_t *n,
                           umbel_error *err)
{
    um_key_source source = *s;
    um_input *stream;

    *n = 0;
    source.pass = "counting keys";
    source.format.fold_case = false; /* as many keys, whatever their case */
    if (!um_lines_are_keys(&source.format))
        return um_keys_each_batch(&source, count_batch, n, err);
    UM_TRY(um_input_open(&source, false, &stream, err));
    umbel_status status = count_lines(stream, n, err);
    um_input_close(stream);
    return status;
}
