/*
 * envelope.c - filters as bytes: a head, then its sections, each aligned to 64
 * bytes.
 *
 * The head is checked first, in a private copy; its numbers then bound all work
 * on the payload.
 */
#include "filter/envelope.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "coding/section.h"
#include "filter/sizing.h"

#include <inttypes.h>
#include <math.h>

/* --- coded payloads --------------------------------------------------------
 *
 * Coded sections are never used in place: they are decoded into memory as if
 * the file had been raw. All other code sees only raw sections.
 */

/* Describes the sections of a shape as packed cells in a payload. */
static size_t cells_of(const um_shape *s, uint8_t *payload,
                       um_packed out[UM_MAX_SECTIONS])
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(s, section);

    for (size_t i = 0; i < n; i++) {
        out[i] = (um_packed){
            .at = payload, .n = section[i].cells, .bits = section[i].cell_bits};
        payload += um_section_space(&section[i]);
    }
    return n;
}

static umbel_status coded_init(um_coded *c, const umbel_filter *f,
                               umbel_error *err)
{
    um_packed cells[UM_MAX_SECTIONS];
    size_t n = cells_of(um_shape_of(f), f->payload, cells);

    *c = (um_coded){.cap = UM_CODE_SPACE};
    for (size_t i = 0; i < n; i++)
        c->cap += (size_t)um_code_max(&cells[i]);
    c->bytes = um_get(&f->alloc, c->cap);
    if (!c->bytes)
        return um_no_memory(err, c->cap);
    for (size_t i = 0; i < n; i++) {
        c->section[i] =
            um_code_encode(&cells[i], UM_CODE_NOW, c->bytes + c->len);
        c->len += (size_t)c->section[i];
    }
    return UMBEL_OK;
}

static void coded_fini(um_coded *c, const umbel_filter *f)
{
    um_put(&f->alloc, c->bytes, c->cap);
}

static size_t coded_len(const umbel_filter *f,
                        uint64_t section[UM_MAX_SECTIONS])
{
    um_packed cells[UM_MAX_SECTIONS];
    size_t n = cells_of(um_shape_of(f), f->payload, cells), len = 0;

    for (size_t i = 0; i < n; i++) {
        section[i] = um_code_len(&cells[i], UM_CODE_NOW);
        len += (size_t)section[i];
    }
    return len;
}

static umbel_status decode_cells(const um_head *head, const uint8_t *stored,
                                 uint8_t *payload, umbel_error *err)
{
    um_packed cells[UM_MAX_SECTIONS];
    size_t n = cells_of(&head->shape, payload, cells);

    for (size_t i = 0; i < n; i++) {
        size_t len = (size_t)head->stored[i];
        size_t room = (len + head->align - 1) / head->align * head->align;
        if (!um_code_decode(stored, len, head->coding, &cells[i]))
            return um_fail(err, UMBEL_E_FORMAT,
                           "damaged: the code of section %zu is none", i);
        if (!um_all_zero(stored + len, room - len))
            return um_fail(err, UMBEL_E_FORMAT,
                           "damaged: something stands between the sections");
        stored += room;
    }
    return UMBEL_OK;
}

/* Returns the information, in bits, of `some` items among n. */
static double share_bits(uint64_t some, uint64_t n)
{
    return some ? (double)some * log2((double)n / (double)some) : 0;
}

static double shannon_bits(const um_packed *c)
{
    um_values_count count;

    um_code_count(c, &count);
    double bits = (double)count.bits;
    for (size_t i = 0; i < 256; i++)
        bits += share_bits(count.token[i], c->n);
    return bits;
}

double um_shannon_bytes(const umbel_filter *f)
{
    um_packed cells[UM_MAX_SECTIONS];
    size_t n = cells_of(um_shape_of(f), f->payload, cells);
    double bits = 0;

    for (size_t i = 0; i < n; i++)
        bits += shannon_bits(&cells[i]);
    return bits / 8;
}

void umbel_set_coded(umbel_filter *f, bool coded)
{
    f->coded = coded;
}

bool umbel_coded(const umbel_filter *f)
{
    return f->coded;
}

/* --- whole files ---------------------------------------------------------- */

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
        uint64_t room = um_section_space(&section[i]);
        if (over && payload[used - 1] >> over)
            return false;
        if (!um_all_zero(payload + used, room - used))
            return false;
        payload += room;
    }
    return true;
}

umbel_status um_check_limit(const um_head *head, const umbel_source *source,
                            bool piped, umbel_error *err)
{
    uint64_t limit = source->memory_limit;

    if (!limit && (piped || head->shape.coded))
        limit = um_open_limit((uint64_t)head->len + head->stored_len);
    if (limit && head->payload_len > limit)
        return um_fail_detail(
            err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
            "%sthe filter takes %zu bytes, the limit is %" PRIu64,
            head->shape.coded ? "decoded, " : "", head->payload_len, limit);
    return UMBEL_OK;
}

static umbel_status check_payload(const um_head *head, const uint8_t *payload,
                                  bool verify, umbel_error *err)
{
    if (!padding_is_zero(head, payload))
        return um_fail(err, UMBEL_E_FORMAT,
                       "damaged: something stands between the sections");
    if (verify &&
        um_checksum(payload, head->payload_len) != head->payload_checksum)
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "damaged: the payload does not match its checksum");
    return UMBEL_OK;
}

umbel_status um_filter_from_payload(const um_head *head, uint8_t *payload,
                                    um_memory memory,
                                    const umbel_source *source,
                                    umbel_filter **out, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(source->alloc);
    umbel_filter *f;
    umbel_status status = check_payload(head, payload, source->verify, err);

    if (status != UMBEL_OK) {
        um_memory_free(&memory, &alloc);
        return status;
    }
    UM_TRY(um_filter_around(&head->shape, &alloc, payload, memory, &f, err));
    if (source->secret)
        status = umbel_unlock(f, source->secret, err);
    if (status == UMBEL_OK)
        *out = f;
    else
        umbel_close(f);
    return status;
}

/* Copies or decodes the stored bytes into memory of their own. */
static umbel_status copy_payload(const um_head *head, const uint8_t *stored,
                                 const umbel_source *source, um_memory *to,
                                 umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(source->alloc);

    UM_TRY(um_check_limit(head, source, false, err));
    to->len = head->payload_len;
    to->base = um_get(&alloc, to->len);
    if (!to->base)
        return um_no_memory(err, to->len);
    if (head->shape.coded)
        return decode_cells(head, stored, to->base, err);
    memcpy(to->base, stored, to->len);
    return UMBEL_OK;
}

umbel_status um_filter_open(const um_head *head, const uint8_t *stored,
                            um_memory memory, const umbel_source *source,
                            umbel_filter **out, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(source->alloc);
    um_memory copy = {NULL, 0, false};

    if (memory.base && !head->shape.coded) {
        size_t offset = (size_t)(stored - (const uint8_t *)memory.base);
        return um_filter_from_payload(head, (uint8_t *)memory.base + offset,
                                      memory, source, out, err);
    }
    umbel_status status = copy_payload(head, stored, source, &copy, err);
    um_memory_free(&memory, &alloc);
    if (status == UMBEL_OK)
        return um_filter_from_payload(head, copy.base, copy, source, out, err);
    um_memory_free(&copy, &alloc);
    return status;
}

/* Decodes a copy of the head, since a mapped file may change. */
static umbel_status read_head(const uint8_t *bytes, size_t len, um_head *head,
                              umbel_error *err)
{
    uint8_t copy[UM_HEAD_MAX];
    size_t part = len < sizeof copy ? len : sizeof copy;

    if (part)
        memcpy(copy, bytes, part);
    UM_TRY(um_head_decode(copy, part, head, err));
    return um_check_len(head, len, err);
}

umbel_status um_filter_from_file(const uint8_t *bytes, size_t len,
                                 um_memory memory, const umbel_source *source,
                                 umbel_filter **out, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(source->alloc);
    um_head head;
    umbel_status status = read_head(bytes, len, &head, err);

    if (status == UMBEL_OK)
        return um_filter_open(&head, bytes + head.len, memory, source, out,
                              err);
    um_memory_free(&memory, &alloc);
    return status;
}

umbel_status umbel_decode(const void *bytes, size_t len,
                          const umbel_source *source, umbel_filter **out,
                          umbel_error *err)
{
    um_memory lent = {NULL, 0, false};

    UM_TRY(um_check_source(&source, err));
    return um_filter_from_file(bytes, len, lent, source, out, err);
}

umbel_status um_check_source(const umbel_source **source, umbel_error *err)
{
    static const umbel_source standard = UMBEL_SOURCE_INIT;

    if (!*source)
        *source = &standard;
    /* This is the first version of the struct; later ones will be larger. */
    if ((*source)->size < sizeof(umbel_source))
        return um_fail(err, UMBEL_E_RANGE,
                       "source.size is not set: start from UMBEL_SOURCE_INIT");
    return UMBEL_OK;
}

uint64_t umbel_payload_checksum(const umbel_filter *f)
{
    if (um_is_spooled(f))
        return um_checksum_pieces(f->payload, f->payload_len, UM_SPOOL_PIECE,
                                  um_spool_drop);
    return um_checksum(f->payload, f->payload_len);
}

bool um_file_len(const um_shape *s, size_t *len)
{
    um_shape full = *s;
    size_t payload;

    if (full.added < full.capacity)
        full.added = full.capacity;
    if (!um_payload_len(s, &payload))
        return false;
    *len = payload + um_head_size(&full, NULL);
    return true;
}

size_t um_stored_len(const umbel_filter *f, size_t *head)
{
    uint64_t section[UM_MAX_SECTIONS];
    bool coded = f->coded;
    size_t len = coded ? coded_len(f, section) : f->payload_len;

    *head = um_head_size(um_shape_of(f), coded ? section : NULL);
    return len;
}

size_t umbel_encoded_len(const umbel_filter *f)
{
    size_t head, stored = um_stored_len(f, &head);

    return head + stored;
}

uint64_t umbel_raw_len(const umbel_filter *f)
{
    return um_head_size(um_shape_of(f), NULL) + f->payload_len;
}

umbel_status umbel_encode_part(const umbel_filter *f, uint64_t offset,
                               void *out, size_t len, umbel_error *err)
{
    size_t head_len = um_head_size(um_shape_of(f), NULL), in_head = 0;
    uint64_t size = head_len + f->payload_len;

    if (offset > size || len > size - offset)
        return um_fail(err, UMBEL_E_RANGE,
                       "%zu bytes from %" PRIu64 " on are not within the "
                       "file's %" PRIu64,
                       len, offset, size);
    if (offset < head_len && len) {
        uint8_t head[UM_HEAD_MAX];
        um_head_encode(um_shape_of(f), umbel_payload_checksum(f), NULL, head);
        in_head = head_len - (size_t)offset;
        in_head = in_head < len ? in_head : len;
        memcpy(out, head + offset, in_head);
    }
    if (len > in_head)
        memcpy((uint8_t *)out + in_head,
               f->payload + (offset + in_head - head_len), len - in_head);
    return UMBEL_OK;
}

umbel_status um_parts_init(um_parts *p, const umbel_filter *f, umbel_error *err)
{
    const uint8_t *payload = f->payload;
    size_t len = f->payload_len;

    p->coded = (um_coded){.bytes = NULL};
    if (f->coded) {
        UM_TRY(coded_init(&p->coded, f, err));
        payload = p->coded.bytes;
        len = p->coded.len;
    }
    const uint64_t *code = f->coded ? p->coded.section : NULL;
    p->part[0] = (umbel_slice){
        p->head, um_head_encode(um_shape_of(f), umbel_payload_checksum(f), code,
                                p->head)};
    p->part[1] = (umbel_slice){payload, len};
    return UMBEL_OK;
}

void um_parts_fini(um_parts *p, const umbel_filter *f)
{
    coded_fini(&p->coded, f);
}

umbel_status umbel_encode(const umbel_filter *f, void *out, size_t cap,
                          size_t *len, umbel_error *err)
{
    um_parts parts;
    umbel_status status = UMBEL_OK;

    UM_TRY(um_parts_init(&parts, f, err));
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

/* --- a filter from bytes that arrive in pieces -----------------------------
 *
 * Everything that depends only on the head is checked as soon as it is
 * complete, before memory is allocated: its form, the length of the file, the
 * memory limit. Raw bytes are then stored where the filter will use them, so
 * that nothing is copied or held twice; coded ones are decoded at the end.
 * Padding and checksum of the payload are also checked at the end.
 */

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

size_t um_decoder_space(umbel_decoder *d, uint8_t **at)
{
    bool in_head = !d->stored.base;
    size_t room = in_head ? d->want - d->have : d->stored.len - d->got;
    uint64_t left = d->total - d->have; /* after the head this is sufficient */

    *at = in_head ? d->start + d->have : (uint8_t *)d->stored.base + d->got;
    return in_head && left < room ? (size_t)left : room;
}

/* Checks the head, which is complete, before memory is allocated. */
static umbel_status decode_head(umbel_decoder *d, umbel_error *err)
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
    return d->have == d->want ? decode_head(d, err) : UMBEL_OK;
}

static umbel_status feed(umbel_decoder *d, const uint8_t *bytes, size_t len,
                         umbel_error *err)
{
    uint8_t *at;

    while (len) {
        size_t room = um_decoder_space(d, &at), some = len < room ? len : room;
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
    if (!d->stored.base) /* fails with the right message */
        return um_head_decode(d->start, d->have, &d->head, err);
    UM_TRY(um_check_len(&d->head, (uint64_t)d->head.len + d->got, err));
    um_memory stored = d->stored;
    d->stored = (um_memory){NULL, 0, false};
    return um_filter_open(&d->head, stored.base, stored, &d->source, out, err);
}

/* --- public functions ----------------------------------------------------- */

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

/* Repeats the failure of a decoder that has failed before. */
static umbel_status copy_failure(umbel_decoder *d, umbel_status status,
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
    return copy_failure(d, status, err);
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
    return copy_failure(d, status, err);
}

void umbel_decoder_close(umbel_decoder *d)
{
    if (!d)
        return;
    umbel_alloc alloc = d->alloc;
    um_decoder_fini(d);
    um_put(&alloc, d, sizeof *d);
}
