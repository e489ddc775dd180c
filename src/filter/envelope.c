/*
 * envelope.c - filters as bytes.
 *
 *     0  magic  version  head length
 *    16  kind  addressing  hash            names of 16 bytes each
 *    64  seed  secret id  cells  hashes  flags
 *    96  capacity  fpr  added  denied
 *   128  settings  sections  payload checksum
 *   144  a number per setting; per section cells, bits, coding, length
 *        zeros up to a multiple of 64, the last 8 bytes the head's checksum
 *    --  sections, each from a multiple of 64 on
 *
 * docs/FORMAT.md says more. There is one encoding per filter, raw, and one that
 * is coded. The decoder takes no other: what it accepts it would have written.
 */
#include "filter/envelope.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "coding/code.h"
#include "filter/coded.h"
#include "filter/sizing.h"

#include <inttypes.h>
#include <math.h>

enum {
    VERSION = 1,
    NAME_LEN = 16,
    LINE = 64,
    FIXED_LEN = 144,
    SECTION_LEN = 24,
    CHECKSUM_LEN = 8,
    CODING_RAW = 0,
    CODING_CODED = 1,
    FLAG_ESTIMATED = 1,
    FLAG_INTERSECTED = 2,
    FLAG_JOINED = 4,
    FLAG_DIFFERENCE = 8,
    FLAG_ATTACHED = 16,
    FLAGS_KNOWN = 31,
    FLAGS_DEMANDING = 0xFFFF /* who does not know one of these must refuse */
};

static const uint8_t magic[8] = {0x89, 'U', 'M', 'B', '\r', '\n', 0x1A, '\n'};

/*
 * Settings that a file carries: up to the last that is not standard. So a kind
 * may get further ones, whose standard is what files without them mean.
 */
static size_t settings_told(const um_shape *s)
{
    size_t n = um_count_settings(s->kind);

    while (n && s->setting[n - 1] == s->kind->settings[n - 1].standard)
        n--;
    return n;
}

static size_t head_len(size_t settings, size_t sections)
{
    size_t len = FIXED_LEN + 8 * settings + SECTION_LEN * sections;
    return (len + CHECKSUM_LEN + LINE - 1) / LINE * LINE;
}

static void put_name(um_writer *w, const char *name)
{
    char field[NAME_LEN] = {0};
    for (size_t i = 0; i < NAME_LEN && name[i]; i++)
        field[i] = name[i];
    um_put_bytes(w, field, sizeof field);
}

size_t um_head_encode(const umbel_filter *f, const uint64_t *code,
                      uint8_t out[UM_HEAD_MAX])
{
    const um_shape *s = &f->shape;
    um_section section[UM_MAX_SECTIONS];
    size_t sections = um_sections(s, section);
    size_t settings = settings_told(s);
    size_t len = head_len(settings, sections);
    um_writer w = {out, out + len, false};

    memset(out, 0, len);
    um_put_bytes(&w, magic, sizeof magic);
    um_put_u32(&w, VERSION);
    um_put_u32(&w, (uint32_t)len);
    put_name(&w, s->kind->name);
    put_name(&w, s->addressing->name);
    put_name(&w, s->hash->name);
    um_put_u64(&w, s->seed);
    um_put_u64(&w, s->secret_id);
    um_put_u64(&w, s->cells);
    um_put_u32(&w, s->hashes);
    um_put_u32(&w, (uint32_t)s->remarks << 16 |
                       (s->estimated ? FLAG_ESTIMATED : 0) |
                       (s->intersected ? FLAG_INTERSECTED : 0) |
                       (s->joined ? FLAG_JOINED : 0) |
                       (s->difference ? FLAG_DIFFERENCE : 0) |
                       (s->attached ? FLAG_ATTACHED : 0));
    um_put_u64(&w, s->capacity);
    um_put_f64(&w, s->fpr);
    um_put_u64(&w, s->added);
    um_put_u64(&w, s->denied);
    um_put_u32(&w, (uint32_t)settings);
    um_put_u32(&w, (uint32_t)sections);
    um_put_u64(&w, umbel_payload_checksum(f));
    for (size_t i = 0; i < settings; i++)
        um_put_u64(&w, s->setting[i]);
    for (size_t i = 0; i < sections; i++) {
        um_put_u64(&w, section[i].cells);
        um_put_u32(&w, section[i].cell_bits);
        um_put_u32(&w, code ? CODING_CODED : CODING_RAW);
        um_put_u64(&w, code ? code[i] : um_section_bytes(&section[i]));
    }
    um_store64(out + len - CHECKSUM_LEN, um_checksum(out, len - CHECKSUM_LEN));
    return len;
}

umbel_status um_head_len(const uint8_t *bytes, size_t len, size_t *out,
                         umbel_error *err)
{
    um_reader r = {bytes, bytes + len, false};
    uint8_t found[sizeof magic];

    um_get_bytes(&r, found, sizeof found);
    uint32_t version = um_get_u32(&r), head = um_get_u32(&r);
    if (len == 0)
        return um_fail(err, UMBEL_E_FORMAT, "not an umbel file: it is empty");
    if (memcmp(bytes, magic, len < sizeof magic ? len : sizeof magic) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not an umbel file: it does not begin like one");
    if (r.bad)
        return um_fail(err, UMBEL_E_FORMAT, "cut short inside the head");
    if (version != VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "the file has version %" PRIu32
                       ", this umbel reads version %d: use the umbel that "
                       "wrote it",
                       version, VERSION);
    if (head < head_len(0, 1) || head > UM_HEAD_MAX || head % LINE)
        return um_fail(err, UMBEL_E_FORMAT,
                       "damaged: a head of %" PRIu32 " bytes cannot be", head);
    *out = head;
    return UMBEL_OK;
}

/* A name padded with zeros to NAME_LEN, or false. */
static bool get_name(um_reader *r, char out[NAME_LEN])
{
    um_get_bytes(r, out, NAME_LEN);
    size_t len = strnlen(out, NAME_LEN);
    for (size_t i = len; i < NAME_LEN; i++)
        if (out[i])
            return false;
    return len > 0 && len < NAME_LEN;
}

/* The bytes are sound, but we are too old for them. */
static umbel_status newer(const char *what, umbel_error *err)
{
    return um_fail(err, UMBEL_E_VERSION,
                   "%s, which this umbel cannot read: use a newer umbel", what);
}

static umbel_status get_rows(um_reader *r, um_shape *s, umbel_error *err)
{
    char kind[NAME_LEN], addressing[NAME_LEN], hash[NAME_LEN];
    bool fine = get_name(r, kind);

    fine &= get_name(r, addressing);
    fine &= get_name(r, hash);
    if (!fine)
        return um_fail(err, UMBEL_E_FORMAT, "damaged: a name is not a name");
    s->kind = um_kind_find(kind);
    s->addressing = s->kind ? um_kind_addressing(s->kind, addressing) : NULL;
    s->hash = um_hash_find(hash);
    if (!s->kind || !s->addressing || !s->hash)
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "the file is a %s filter, addressing %s, hash %s, which "
                       "this umbel does not know: use a newer umbel",
                       kind, addressing, hash);
    return UMBEL_OK;
}

/* What is attached is as long as its section says: the last of n. */
static void get_attached(um_reader r, size_t n, um_shape *s)
{
    uint8_t before[SECTION_LEN];

    for (size_t i = 1; i < n; i++)
        um_get_bytes(&r, before, sizeof before);
    s->attached = um_get_u64(&r);
}

/* Bytes that a section may have in the file. */
static bool len_fits(const um_section *s, bool coded, uint64_t len)
{
    const um_packed cells = {NULL, s->cells, s->cell_bits};

    return coded ? len > 0 && len <= um_code_most(&cells)
                 : len == um_section_bytes(s);
}

static umbel_status get_sections(um_reader *r, size_t n, um_head *head,
                                 umbel_error *err)
{
    um_shape *s = &head->shape;
    um_section want[UM_MAX_SECTIONS];
    bool fine = n == um_sections(s, want), known = true;

    for (size_t i = 0; fine && i < n; i++) {
        fine &= um_get_u64(r) == want[i].cells;
        fine &= um_get_u32(r) == want[i].cell_bits;
        uint32_t coding = um_get_u32(r);
        head->stored[i] = um_get_u64(r);
        known &= coding == CODING_RAW || coding == CODING_CODED;
        fine &= i == 0 || !known || s->coded == (coding == CODING_CODED);
        s->coded = coding == CODING_CODED;
        fine &= !known || len_fits(&want[i], s->coded, head->stored[i]);
        want[i].cells = head->stored[i], want[i].cell_bits = 8;
        head->stored_len += (size_t)um_section_room(&want[i]);
    }
    if (!fine || r->bad)
        return um_fail(err, UMBEL_E_FORMAT,
                       "damaged: the sections are not those of a %s filter",
                       s->kind->name);
    return known ? UMBEL_OK : newer("its cells are coded", err);
}

/* Settings that the file does not tell are standard. */
static void get_settings(um_reader *r, size_t told, um_shape *s)
{
    size_t n = um_count_settings(s->kind);

    for (size_t i = 0; i < n; i++)
        s->setting[i] =
            i < told ? um_get_u64(r) : s->kind->settings[i].standard;
}

static umbel_status get_shape(um_reader *r, um_head *head, umbel_error *err)
{
    um_shape *s = &head->shape;
    umbel_error inner;

    s->seed = um_get_u64(r);
    s->secret_id = um_get_u64(r);
    s->cells = um_get_u64(r);
    s->hashes = um_get_u32(r);
    uint32_t flags = um_get_u32(r);
    s->capacity = um_get_u64(r);
    s->fpr = um_get_f64(r);
    s->added = um_get_u64(r);
    s->denied = um_get_u64(r);
    uint32_t settings = um_get_u32(r), sections = um_get_u32(r);
    head->payload_checksum = um_get_u64(r);
    s->estimated = flags & FLAG_ESTIMATED;
    s->intersected = flags & FLAG_INTERSECTED;
    s->joined = flags & FLAG_JOINED;
    s->difference = flags & FLAG_DIFFERENCE;
    s->remarks = (uint16_t)(flags >> 16);

    if (flags & FLAGS_DEMANDING & ~(uint32_t)FLAGS_KNOWN)
        return newer("it has flags of a later version", err);
    if (head->len != head_len(settings, sections) ||
        !(s->fpr > 0 && (s->fpr < 1 || um_is_map(s))) ||
        s->cells > UM_MAX_CELLS || s->capacity > UM_MAX_CELLS ||
        ((s->joined || s->difference) &&
         !(s->kind->merge_ops >> UMBEL_MINUS & 1)))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: a field is out of range");
    if (settings > um_count_settings(s->kind) || sections > UM_MAX_SECTIONS)
        return newer("it has settings of a later version", err);
    get_settings(r, settings, s);
    if (um_check_shape(s, &inner) != UMBEL_OK)
        return um_fail(err, UMBEL_E_FORMAT, "damaged: %s", inner.text);
    if (settings != settings_told(s))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: a field is out of range");
    if (flags & FLAG_ATTACHED) {
        get_attached(*r, sections, s);
        if (!s->attached || s->attached > UM_MAX_CELLS)
            return um_fail(err, UMBEL_E_FORMAT, "damaged: it carries no data");
    }
    return get_sections(r, sections, head, err);
}

static bool all_zero(const uint8_t *at, const uint8_t *end)
{
    while (at < end)
        if (*at++)
            return false;
    return true;
}

umbel_status um_head_decode(const uint8_t *bytes, size_t len, um_head *out,
                            umbel_error *err)
{
    um_head head = {.len = 0};
    umbel_status status = um_head_len(bytes, len, &head.len, err);

    if (status != UMBEL_OK)
        return status;
    if (len < head.len)
        return um_fail(err, UMBEL_E_FORMAT, "cut short inside the head");
    const uint8_t *sum = bytes + head.len - CHECKSUM_LEN;
    if (um_load64(sum) != um_checksum(bytes, head.len - CHECKSUM_LEN))
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "damaged: the head does not match its checksum");
    um_reader r = {bytes + UM_HEAD_START, sum, false};
    status = get_rows(&r, &head.shape, err);
    if (status == UMBEL_OK)
        status = get_shape(&r, &head, err);
    if (status != UMBEL_OK)
        return status;
    if (r.bad || !all_zero(r.at, sum))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: the head's end");
    if (!um_payload_len(&head.shape, &head.payload_len))
        return um_fail(err, UMBEL_E_LIMIT, "%" PRIu64 " cells do not fit here",
                       head.shape.cells);
    *out = head;
    return UMBEL_OK;
}

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
        if (!all_zero(payload + used, payload + room))
            return false;
        payload += room;
    }
    return true;
}

umbel_status um_enclose(const um_head *head, const umbel_source *source,
                        uint8_t *payload, void *mapping, size_t mapping_len,
                        umbel_filter **out, umbel_error *err)
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
    um_section section[UM_MAX_SECTIONS];
    size_t payload;

    if (!um_payload_len(s, &payload))
        return false;
    *len = payload + head_len(settings_told(s), um_sections(s, section));
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
        return um_fail(err, UMBEL_E_LIMIT,
                       "the filter takes %zu bytes, the limit is %" PRIu64,
                       head->payload_len, source->memory_limit);
    uint8_t *payload = um_get(&alloc, head->payload_len);
    if (!payload)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes",
                       head->payload_len);
    memcpy(payload, bytes, head->payload_len);
    umbel_status status = um_enclose(head, source, payload, NULL, 0, out, err);
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
        return um_enclose_coded(&head, source, stored, out, err);
    return decode_raw(&head, stored, source, out, err);
}
