/*
 * head.c - a shape as bytes, and back.
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
#include "filter/head.h"

#include "base/bytes.h"
#include "base/error.h"
#include "coding/code.h"
#include "filter/sizing.h"

#include <umbel/file.h>

#include <inttypes.h>
#include <math.h>

enum {
    VERSION = 1,
    NAME_LEN = 16,
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
    FLAGS_DEMANDING = 0xFFFF /* a reader that does not know one must refuse */
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
    return (len + CHECKSUM_LEN + UM_SECTION_ALIGN - 1) / UM_SECTION_ALIGN *
           UM_SECTION_ALIGN;
}

size_t um_head_room(const um_shape *s)
{
    um_section section[UM_MAX_SECTIONS];

    return head_len(settings_told(s), um_sections(s, section));
}

static uint32_t flags_of(const um_shape *s)
{
    return (uint32_t)s->remarks << 16 | (s->estimated ? FLAG_ESTIMATED : 0) |
           (s->intersected ? FLAG_INTERSECTED : 0) |
           (s->joined ? FLAG_JOINED : 0) |
           (s->difference ? FLAG_DIFFERENCE : 0) |
           (s->attached ? FLAG_ATTACHED : 0);
}

/* All but the number of attached bytes, which their section states. */
static void take_flags(uint32_t flags, um_shape *s)
{
    s->estimated = flags & FLAG_ESTIMATED;
    s->intersected = flags & FLAG_INTERSECTED;
    s->joined = flags & FLAG_JOINED;
    s->difference = flags & FLAG_DIFFERENCE;
    s->remarks = (uint16_t)(flags >> 16);
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
    um_put_u32(&w, flags_of(s));
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

/* A difference (ops/diff.c) has another fourth byte. */
bool um_is_umbel_file(const void *bytes, size_t len)
{
    const uint8_t *b = bytes;

    return len >= sizeof magic && memcmp(b, magic, 3) == 0 &&
           (b[3] == 'B' || b[3] == 'D') &&
           memcmp(b + 4, magic + 4, sizeof magic - 4) == 0;
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
    if (head < head_len(0, 1) || head > UM_HEAD_MAX || head % UM_SECTION_ALIGN)
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
    const um_packed cells = {.n = s->cells, .bits = s->cell_bits};

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

/* Settings that the file leaves out have their default. */
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
    take_flags(flags, s);
    if (flags & FLAGS_DEMANDING & ~(uint32_t)FLAGS_KNOWN)
        return newer("it has flags of a later version", err);
    if (head->len != head_len(settings, sections) ||
        !(s->fpr > 0 && (s->fpr < 1 || um_is_map(s))) ||
        s->cells > UM_MAX_CELLS || s->capacity > UM_MAX_CELLS ||
        ((s->joined || s->difference) && !um_merges_by(s->kind, UMBEL_MINUS)))
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

umbel_status um_head_decode(const uint8_t *bytes, size_t len, um_head *out,
                            umbel_error *err)
{
    um_head head = {.len = 0};

    UM_TRY(um_head_len(bytes, len, &head.len, err));
    if (len < head.len)
        return um_fail(err, UMBEL_E_FORMAT, "cut short inside the head");
    const uint8_t *sum = bytes + head.len - CHECKSUM_LEN;
    if (um_load64(sum) != um_checksum(bytes, head.len - CHECKSUM_LEN))
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "damaged: the head does not match its checksum");
    um_reader r = {bytes + UM_HEAD_START, sum, false};
    UM_TRY(get_rows(&r, &head.shape, err));
    UM_TRY(get_shape(&r, &head, err));
    if (r.bad || !um_all_zero(r.at, (size_t)(sum - r.at)))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: the head's end");
    if (!um_payload_len(&head.shape, &head.payload_len))
        return um_fail(err, UMBEL_E_LIMIT, "%" PRIu64 " cells do not fit here",
                       head.shape.cells);
    *out = head;
    return UMBEL_OK;
}
