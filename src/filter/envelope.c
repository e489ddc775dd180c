/*
 * envelope.c - filters as bytes: a head, then its sections, each from a
 * multiple of 64 bytes on.
 *
 * The head is believed first, from a private copy; what it says then bounds all
 * that is done with the payload.
 */
#include "filter/envelope.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "filter/coded.h"
#include "filter/sizing.h"

#include <inttypes.h>

umbel_status um_check_len(const um_head *head, uint64_t file_len,
                          umbel_error *err)
{
    uint64_t want = (uint64_t)head->len + head->stored_len;

    if (file_len != want)
        return um_fail(err, UMBEL_E_FORMAT,
                       file_len < want ? "cut short: %" PRIu64 " of %" PRIu64
                                         " bytes"
                                       : "%" PRIu64 " bytes where %" PRIu64
                                         " should be: something was appended",
                       file_len, want);
    return UMBEL_OK;
}

/* Bits between a section's last cell and the next section must be zero. */
static bool padding_is_zero(const um_head *head, const uint8_t *payload)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(&head->shape, section);

    for (size_t i = 0; i < n; i++) {
        uint64_t over = um_section_bits(&section[i]) % 8;
        uint64_t used = um_section_bytes(&section[i]);
        uint64_t room = um_section_room(&section[i]);
        if (over && payload[used - 1] >> over)
            return false;
        if (!um_all_zero(payload + used, room - used))
            return false;
        payload += room;
    }
    return true;
}

umbel_status um_filter_from_payload(const um_head *head,
                                    const umbel_source *source,
                                    uint8_t *payload, void *mapping,
                                    size_t mapping_len, umbel_filter **out,
                                    umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(source->alloc);
    umbel_filter *f;

    if (!padding_is_zero(head, payload))
        return um_fail(err, UMBEL_E_FORMAT,
                       "damaged: something stands between the sections");
    if (source->verify &&
        um_checksum(payload, head->payload_len) != head->payload_checksum)
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "damaged: the payload does not match its checksum");
    umbel_status status = um_filter_make(&head->shape, &alloc, payload, mapping,
                                         mapping_len, &f, err);
    if (status != UMBEL_OK)
        return status;
    if (source->secret)
        status = umbel_unlock(f, source->secret, err);
    if (status != UMBEL_OK) {
        f->payload = NULL; /* stays the caller's, as does the mapping */
        f->mapping = NULL;
        umbel_close(f);
        return status;
    }
    *out = f;
    return UMBEL_OK;
}

umbel_status um_check_source(const umbel_source **source, umbel_error *err)
{
    static const umbel_source standard = UMBEL_SOURCE_INIT;

    if (!*source)
        *source = &standard;
    /* The first version: later ones will read what size says is there. */
    if ((*source)->size < sizeof(umbel_source))
        return um_fail(err, UMBEL_E_RANGE,
                       "source.size is not set: start from UMBEL_SOURCE_INIT");
    return UMBEL_OK;
}

uint64_t umbel_payload_checksum(const umbel_filter *f)
{
    return um_checksum(f->payload, f->payload_len);
}

bool um_file_len(const um_shape *s, size_t *len)
{
    size_t payload;

    if (!um_payload_len(s, &payload))
        return false;
    *len = payload + um_head_room(s);
    return true;
}

size_t umbel_encoded_len(const umbel_filter *f)
{
    size_t len = 0;
    um_file_len(&f->shape, &len); /* cannot fail: the filter exists */
    return f->shape.coded ? len - f->payload_len + um_coded_len(f) : len;
}

umbel_status um_parts_init(um_parts *p, const umbel_filter *f, umbel_error *err)
{
    const uint8_t *payload = f->payload;
    size_t len = f->payload_len;

    p->coded = (um_coded){.bytes = NULL};
    if (f->shape.coded) {
        umbel_status status = um_coded_init(&p->coded, f, err);
        if (status != UMBEL_OK)
            return status;
        payload = p->coded.bytes;
        len = p->coded.len;
    }
    const uint64_t *code = f->shape.coded ? p->coded.section : NULL;
    p->part[0] = (umbel_slice){p->head, um_head_encode(f, code, p->head)};
    p->part[1] = (umbel_slice){payload, len};
    return UMBEL_OK;
}

void um_parts_fini(um_parts *p, const umbel_filter *f)
{
    um_coded_fini(&p->coded, f);
}

umbel_status umbel_encode(const umbel_filter *f, void *out, size_t cap,
                          size_t *len, umbel_error *err)
{
    um_parts parts;
    umbel_status status = um_parts_init(&parts, f, err);

    if (status != UMBEL_OK)
        return status;
    const umbel_slice *head = &parts.part[0], *payload = &parts.part[1];
    size_t want = head->len + payload->len;
    if (cap >= want) {
        memcpy(out, head->data, head->len);
        memcpy((uint8_t *)out + head->len, payload->data, payload->len);
        *len = want;
    } else {
        status = um_fail(err, UMBEL_E_RANGE,
                         "the encoding takes %zu bytes, there is room for %zu",
                         want, cap);
    }
    um_parts_fini(&parts, f);
    return status;
}

static umbel_status decode_raw(const um_head *head, const uint8_t *bytes,
                               const umbel_source *source, umbel_filter **out,
                               umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(source->alloc);

    if (source->memory_limit && head->payload_len > source->memory_limit)
        return um_fail_detail(
            err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
            "the filter takes %zu bytes, the limit is %" PRIu64,
            head->payload_len, source->memory_limit);
    uint8_t *payload = um_get(&alloc, head->payload_len);
    if (!payload)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes",
                       head->payload_len);
    memcpy(payload, bytes, head->payload_len);
    umbel_status status =
        um_filter_from_payload(head, source, payload, NULL, 0, out, err);
    if (status != UMBEL_OK)
        um_put(&alloc, payload, head->payload_len);
    return status;
}

umbel_status umbel_decode(const void *bytes, size_t len,
                          const umbel_source *source, umbel_filter **out,
                          umbel_error *err)
{
    uint8_t copy[UM_HEAD_MAX];
    size_t head_part = len < sizeof copy ? len : sizeof copy;
    um_head head;

    umbel_status status = um_check_source(&source, err);
    if (status != UMBEL_OK)
        return status;
    if (head_part)
        memcpy(copy, bytes, head_part);
    status = um_head_decode(copy, head_part, &head, err);
    if (status == UMBEL_OK)
        status = um_check_len(&head, len, err);
    if (status != UMBEL_OK)
        return status;
    const uint8_t *stored = (const uint8_t *)bytes + head.len;
    if (head.shape.coded)
        return um_filter_from_coded(&head, source, stored, out, err);
    return decode_raw(&head, stored, source, out, err);
}
