/*
 * decoder.c - a filter from bytes that come in pieces.
 *
 * Everything that the head can decide is decided as soon as it is complete,
 * before memory is taken: its form, the length of the file, the memory limit.
 * Raw bytes then go where the filter will have them, so that nothing is copied
 * or held twice; coded ones are decoded at the end. What concerns the payload
 * as a whole, its padding and checksum, is checked at the end, too.
 */
#include "filter/decoder.h"

#include "base/alloc.h"
#include "base/error.h"

void um_decoder_init(umbel_decoder *d, const umbel_source *source,
                     uint64_t total, bool piped)
{
    d->source = *source;
    d->alloc = um_alloc_or_default(source->alloc);
    d->source.alloc = &d->alloc;
    d->total = total;
    d->piped = piped;
    d->have = 0;
    d->want = UM_HEAD_START;
    d->stored = (um_memory){NULL, 0, false};
    d->got = 0;
    d->failure.status = UMBEL_OK;
}

void um_decoder_fini(umbel_decoder *d)
{
    um_memory_free(&d->stored, &d->alloc);
}

size_t um_decoder_room(umbel_decoder *d, uint8_t **at)
{
    bool in_head = !d->stored.base;
    size_t room = in_head ? d->want - d->have : d->stored.len - d->got;
    uint64_t left = d->total - d->have; /* behind the head it is enough */

    *at = in_head ? d->start + d->have : (uint8_t *)d->stored.base + d->got;
    return in_head && left < room ? (size_t)left : room;
}

/* The head is complete: believes it, or refuses before memory is taken. */
static umbel_status consume_head(umbel_decoder *d, umbel_error *err)
{
    UM_TRY(um_head_decode(d->start, d->have, &d->head, err));
    if (d->total != UMBEL_TO_END)
        UM_TRY(um_check_len(&d->head, d->total, err));
    UM_TRY(um_check_limit(&d->head, &d->source, d->piped, err));
    void *memory = um_get(&d->alloc, d->head.stored_len);
    if (!memory)
        return um_no_memory(err, d->head.stored_len);
    d->stored = (um_memory){memory, d->head.stored_len, false};
    return UMBEL_OK;
}

umbel_status um_decoder_took(umbel_decoder *d, size_t n, umbel_error *err)
{
    if (d->stored.base) {
        d->got += n;
        return UMBEL_OK;
    }
    d->have += n;
    if (d->have == UM_HEAD_START)
        UM_TRY(um_head_len(d->start, d->have, &d->want, err));
    return d->have == d->want ? consume_head(d, err) : UMBEL_OK;
}

static umbel_status feed(umbel_decoder *d, const uint8_t *bytes, size_t len,
                         umbel_error *err)
{
    uint8_t *at;

    while (len) {
        size_t room = um_decoder_room(d, &at), some = len < room ? len : room;
        if (!room)
            return um_fail(err, UMBEL_E_FORMAT,
                           "%zu bytes where %zu should be: something was "
                           "appended",
                           d->have + d->got + len, d->have + d->got);
        memcpy(at, bytes, some);
        UM_TRY(um_decoder_took(d, some, err));
        bytes += some;
        len -= some;
    }
    return UMBEL_OK;
}

static umbel_status finish(umbel_decoder *d, umbel_filter **out,
                           umbel_error *err)
{
    if (!d->stored.base) /* says what the head lacks */
        return um_head_decode(d->start, d->have, &d->head, err);
    UM_TRY(um_check_len(&d->head, (uint64_t)d->head.len + d->got, err));
    um_memory stored = d->stored;
    d->stored = (um_memory){NULL, 0, false};
    return um_filter_open(&d->head, stored.base, stored, &d->source, out, err);
}

/* --- for everyone --- */

umbel_status umbel_decoder_open(const umbel_source *source, uint64_t total,
                                umbel_decoder **out, umbel_error *err)
{
    UM_TRY(um_check_source(&source, err));
    umbel_alloc alloc = um_alloc_or_default(source->alloc);
    umbel_decoder *d = um_get(&alloc, sizeof *d);
    if (!d)
        return um_no_memory(err, sizeof *d);
    um_decoder_init(d, source, total, true);
    *out = d;
    return UMBEL_OK;
}

/* A decoder that has refused once goes on refusing, for the same reason. */
static umbel_status retain_refusal(umbel_decoder *d, umbel_status status,
                                   umbel_error *err)
{
    if (status && err)
        *err = d->failure;
    return status;
}

umbel_status umbel_decoder_feed(umbel_decoder *d, const void *bytes, size_t len,
                                umbel_error *err)
{
    umbel_status status = d->failure.status;

    if (!status)
        status = feed(d, bytes, len, &d->failure);
    return retain_refusal(d, status, err);
}

umbel_status umbel_decoder_finish(umbel_decoder *d, umbel_filter **out,
                                  umbel_error *err)
{
    umbel_status status = d->failure.status;

    if (!status)
        status = finish(d, out, &d->failure);
    if (!status)
        um_set_error(&d->failure, UMBEL_E_RANGE,
                     "the decoder has given its filter away: open another");
    return retain_refusal(d, status, err);
}

void umbel_decoder_close(umbel_decoder *d)
{
    if (!d)
        return;
    umbel_alloc alloc = d->alloc;
    um_decoder_fini(d);
    um_put(&alloc, d, sizeof *d);
}
