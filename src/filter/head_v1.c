/*
 * head_v1.c - heads of version 1, which are read and no longer written.
 *
 *     0  magic  version  head length
 *    16  kind  addressing  hash            names of 16 bytes each
 *    64  seed  secret id  cells  hashes  flags
 *    96  capacity  fpr  added  denied
 *   128  settings  sections  payload checksum
 *   144  a number per setting; per section cells, bits, coding, length
 *        zeros up to a multiple of 64, the last 8 bytes the head's checksum
 */
#include "filter/head.h"

#include "base/bytes.h"
#include "base/error.h"
#include "coding/code.h"
#include "filter/sizing.h"

enum {
    NAME_LEN = 16,
    FIXED_LEN = 144,
    SECTION_LEN = 24,
    CHECKSUM_LEN = 8,
    CODING_CODED = 1,
    FLAG_ATTACHED = 16,
    FLAGS_KNOWN = UM_FLAGS_KNOWN | FLAG_ATTACHED,
    FLAGS_DEMANDING = 0xFFFF /* the others may be ignored */
};

static size_t head_len(size_t settings, size_t sections)
{
    size_t len = FIXED_LEN + 8 * settings + SECTION_LEN * sections;
    return (len + CHECKSUM_LEN + UM_SECTION_ALIGN - 1) / UM_SECTION_ALIGN *
           UM_SECTION_ALIGN;
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

static umbel_status get_rows(um_reader *r, um_shape *s, umbel_error *err)
{
    char kind[NAME_LEN], addressing[NAME_LEN], hash[NAME_LEN];
    bool fine = get_name(r, kind);

    fine &= get_name(r, addressing);
    fine &= get_name(r, hash);
    if (!fine)
        return um_fail(err, UMBEL_E_FORMAT, "damaged: a name is not a name");
    return um_head_rows(kind, addressing, hash, s, err);
}

/* What is attached is as long as its section says: the last of n. */
static void get_attached(um_reader r, size_t n, um_shape *s)
{
    uint8_t before[SECTION_LEN];

    for (size_t i = 1; i < n; i++)
        um_get_bytes(&r, before, sizeof before);
    s->attached = um_get_u64(&r);
}

static umbel_status get_sections(um_reader *r, size_t n, um_head *head,
                                 umbel_error *err)
{
    um_shape *s = &head->shape;
    um_section want[UM_MAX_SECTIONS];
    bool fine = n == um_sections(s, want);

    for (size_t i = 0; fine && i < n; i++) {
        fine &= um_get_u64(r) == want[i].cells;
        fine &= um_get_u32(r) == want[i].cell_bits;
        uint32_t coding = um_get_u32(r);
        head->stored[i] = um_get_u64(r);
        fine &= coding <= CODING_CODED && (i == 0 || s->coded == coding);
        s->coded = coding == CODING_CODED;
        fine &= um_stored_fits(&want[i], s->coded, head->stored[i]);
        want[i].cells = head->stored[i], want[i].cell_bits = 8;
        head->stored_len += (size_t)um_section_room(&want[i]);
    }
    if (!fine || r->bad)
        return um_fail(err, UMBEL_E_FORMAT,
                       "damaged: the sections are not those of a %s filter",
                       s->kind->name);
    head->align = UM_SECTION_ALIGN;
    head->coding = UM_CODE_V1;
    return UMBEL_OK;
}

static umbel_status get_shape(um_reader *r, um_head *head, umbel_error *err)
{
    um_shape *s = &head->shape;

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
    s->key_form = UMBEL_KEYS_UNRECORDED;
    um_consume_flags(flags, s);
    if (flags & FLAGS_DEMANDING & ~(uint32_t)FLAGS_KNOWN ||
        settings > um_count_settings(s->kind) || sections > UM_MAX_SECTIONS ||
        head->len != head_len(settings, sections))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: a field is out of range");
    um_head_settings(r, settings, um_get_u64, s);
    UM_TRY(um_head_check(s, err));
    if (settings != um_settings_told(s))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: a field is out of range");
    if (flags & FLAG_ATTACHED) {
        get_attached(*r, sections, s);
        if (!s->attached || s->attached > UM_MAX_CELLS)
            return um_fail(err, UMBEL_E_FORMAT, "damaged: it carries no data");
    }
    return get_sections(r, sections, head, err);
}

umbel_status um_head_decode_v1(um_reader r, um_head *head, umbel_error *err)
{
    UM_TRY(get_rows(&r, &head->shape, err));
    UM_TRY(get_shape(&r, head, err));
    if (r.bad || !um_all_zero(r.at, (size_t)(r.end - r.at)))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: the head's end");
    return UMBEL_OK;
}
