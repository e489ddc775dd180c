/*
 * head.c - a shape as bytes, and back.
 *
 *     0  magic  version  head length
 *    14  payload checksum
 *    22  kind  addressing  hash            numbers of names, or the names
 *        cells  hashes  capacity  added  settings, all varints
 *        fields: number, length, value; those at their default are left out
 *        zeros up to a multiple of 64, if the sections are raw
 *        the head's checksum, the last 8 bytes
 *    --  sections: raw ones from a multiple of 64 on, coded ones at once
 *
 * See docs/FORMAT.md. A filter has exactly one raw encoding and one coded one.
 * The decoder accepts no other: it encodes again what it read, and compares.
 */
#include "filter/head.h"

#include "base/bytes.h"
#include "base/error.h"
#include "coding/section.h"
#include "filter/sizing.h"

#include <umbel/file.h>

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

enum {
    FLAG_ESTIMATED = 1,
    FLAG_INTERSECTED = 2,
    FLAG_JOINED = 4,
    FLAG_DIFFERENCE = 8,
    FLAGS_KNOWN = 15
};

enum {
    MANTISSA = 4096
}; /* limit for a rate that is a short decimal: see
      below */

static const uint8_t magic[8] = {0x89, 'U', 'M', 'B', '\r', '\n', 0x1A, '\n'};

/*
 * Names that are stored as numbers; on the wire. The list is closed, so that
 * every reader knows what it cannot read. Other names are spelled out, after a
 * 0.
 */
static const char *const names[] = {
    "",           "bloom",       "aging",      "counting",  "tally",
    "countmin",   "generalized", "ribbon",     "classic",   "partitioned",
    "blocked128", "blocked256",  "blocked512", "universal", "chunks-md5",
    "dcso",       "band64",      "xxh3-64",    "xxh3-128",  "sip",
    "integer",    "md5",         "fnv1",       "xxh3",      "xxh128"};

/* A shape, and the encoded form of some of its fields. */
typedef struct wire {
    um_shape s;
    uint64_t flags;
    uint64_t fpr;
} wire;

/* Fields whose value is a number; left out when it is zero. */
static const struct field {
    um_head_tag tag;
    size_t at;
} fields[] = {
    {UM_TAG_SEED, offsetof(wire, s.seed)},
    {UM_TAG_SECRET_ID, offsetof(wire, s.secret_id)},
    {UM_TAG_FLAGS, offsetof(wire, flags)},
    {UM_TAG_FPR, offsetof(wire, fpr)},
    {UM_TAG_FALSE_NEGATIVES, offsetof(wire, s.false_negatives)},
    {UM_TAG_DATA, offsetof(wire, s.attached)},
    {UM_TAG_KEY_FORM, offsetof(wire, s.key_form)},
    {UM_TAG_FROM, offsetof(wire, s.delta.from)},
    {UM_TAG_TO, offsetof(wire, s.delta.to)},
    {UM_TAG_PREFIXES, offsetof(wire, s.prefixes.word[0])},
    {UM_TAG_PREFIXES + 2, offsetof(wire, s.prefixes.word[1])},
    {UM_TAG_PREFIXES + 4, offsetof(wire, s.prefixes.word[2])},
    {UM_TAG_EXPANSION, offsetof(wire, s.expansion)},
};

/* --- fpr -------------------------------------------------------------------
 *
 * Short decimals are stored as 16 a + b for a / 10^b, if a is below 4096. Other
 * rates are stored as the double with its sign bit set, which no rate has. The
 * default is 0.
 */

static double decimal(uint64_t code)
{
    static const double power[16] = {1e0,  1e1,  1e2,  1e3, 1e4,  1e5,
                                     1e6,  1e7,  1e8,  1e9, 1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15};

    uint64_t digits = code / 16;

    return (double)digits / power[code % 16];
}

static uint64_t fpr_to_code(double fpr)
{
    uint64_t bits;

    if (fpr == UM_DEFAULT_FPR)
        return 0;
    for (uint64_t b = 0; b < 16; b++) {
        double a = fpr / decimal(16 + b) + 0.5;
        uint64_t code = a < MANTISSA ? (uint64_t)a * 16 + b : 0;
        if (code && decimal(code) == fpr)
            return code;
    }
    memcpy(&bits, &fpr, sizeof bits);
    return bits | UINT64_C(1) << 63;
}

double um_round_fpr(double fpr)
{
    for (uint64_t b = 16; b-- > 0;) {
        double a = floor(fpr / decimal(16 + b));
        if (a < MANTISSA / 10.0 - 1) /* too few digits remain */
            return fpr;
        for (double up = a; up <= a + 1 && up < MANTISSA; up++) {
            double rate = decimal((uint64_t)up * 16 + b);
            if (rate >= fpr)
                return rate < 1 ? rate : fpr; /* 1 is for maps */
        }
    }
    return fpr;
}

static double fpr_of_code(uint64_t code)
{
    uint64_t bits = code & ~(UINT64_C(1) << 63);
    double fpr;

    memcpy(&fpr, &bits, sizeof fpr);
    return !code ? UM_DEFAULT_FPR : bits == code ? decimal(code) : fpr;
}

/* --- encoding ------------------------------------------------------------- */

/* Returns the number of settings in the file: up to the last one that is not at
 * its default. So a kind may get more settings later, whose default is the
 * behaviour of older files. */
static size_t settings_written(const um_shape *s)
{
    size_t n = um_count_settings(s->kind);

    while (n && s->setting[n - 1] == s->kind->settings[n - 1].standard)
        n--;
    return n;
}

static uint64_t flags_of(const um_shape *s)
{
    return (s->estimated ? FLAG_ESTIMATED : 0u) |
           (s->intersected ? FLAG_INTERSECTED : 0u) |
           (s->joined ? FLAG_JOINED : 0u) |
           (s->difference ? FLAG_DIFFERENCE : 0u);
}

static void write_name(um_writer *w, const char *name)
{
    for (size_t i = 1; i < UM_COUNT(names); i++)
        if (strcmp(names[i], name) == 0) {
            um_write_varint(w, i);
            return;
        }
    um_write_varint(w, 0);
    um_write_varint(w, strlen(name));
    um_write_bytes(w, name, strlen(name));
}

static void write_numbers(um_writer *w, const um_shape *s)
{
    size_t settings = settings_written(s);

    um_write_varint(w, s->cells);
    um_write_varint(w, s->hashes);
    um_write_varint(w, s->capacity);
    um_write_varint(w, s->added);
    um_write_varint(w, settings);
    for (size_t i = 0; i < settings; i++)
        um_write_varint(w, s->setting[i]);
}

static void write_field(um_writer *w, um_head_tag tag, const void *value,
                        size_t len)
{
    um_write_varint(w, tag);
    um_write_varint(w, len);
    um_write_bytes(w, value, len);
}

/* Writes the fields with even numbers, or those with odd ones. */
static void write_fields(um_writer *w, const um_shape *s, bool even)
{
    wire all = {*s, flags_of(s), fpr_to_code(s->fpr)};

    for (const struct field *f = fields; f < fields + UM_COUNT(fields); f++) {
        uint8_t number[8];
        size_t len = sizeof number;
        uint64_t x;
        memcpy(&x, (const uint8_t *)&all + f->at, sizeof x);
        um_store64(number, x);
        while (len && !number[len - 1])
            len--;
        if (len && even == (f->tag % 2 == 0))
            write_field(w, f->tag, number, len);
    }
}

static void write_coding(um_writer *w, const um_shape *s, const uint64_t *code)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(s, section);
    uint8_t value[10 * (UM_MAX_SECTIONS + 1)];
    um_writer v = {value, value + sizeof value, false};

    um_write_varint(&v, UM_CODE_NOW);
    for (size_t i = 0; i < n; i++)
        um_write_varint(&v, code[i]);
    write_field(w, UM_TAG_CODING, value, (size_t)(v.at - value));
}

size_t um_head_encode(const um_shape *s, uint64_t payload_checksum,
                      const uint64_t *code, uint8_t out[UM_HEAD_MAX])
{
    um_writer w = {out, out + UM_HEAD_MAX - 2 * (size_t)UM_SECTION_ALIGN,
                   false};

    um_write_bytes(&w, magic, sizeof magic);
    um_write_u32(&w, UM_HEAD_VERSION);
    um_write_bytes(&w, "\0", 2);
    um_write_u64(&w, payload_checksum);
    write_name(&w, s->kind->name);
    write_name(&w, s->addressing->name);
    write_name(&w, s->hash->name);
    write_numbers(&w, s);
    write_fields(&w, s, false);
    if (code)
        write_coding(&w, s, code);
    um_write_bytes(&w, s->spare, s->spare_len);
    write_fields(&w, s, true);

    size_t used = (size_t)(w.at - out), len = used + UM_HEAD_CHECKSUM_LEN;
    if (!code)
        len =
            (len + UM_SECTION_ALIGN - 1) / UM_SECTION_ALIGN * UM_SECTION_ALIGN;
    memset(w.at, 0, len - used);
    out[UM_HEAD_LEN_AT] = (uint8_t)len;
    out[UM_HEAD_LEN_AT + 1] = (uint8_t)(len >> 8);
    um_store64(out + len - UM_HEAD_CHECKSUM_LEN,
               um_checksum(out, len - UM_HEAD_CHECKSUM_LEN));
    return len;
}

size_t um_head_size(const um_shape *s, const uint64_t *code)
{
    uint8_t head[UM_HEAD_MAX];

    return um_head_encode(s, 0, code, head);
}

/* --- decoding ------------------------------------------------------------- */

/* Tests the magic; a difference (analysis/diff.c) has a different fourth
 * byte. */
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
    if (version < 1 || version > UM_HEAD_VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "the file has version %" PRIu32
                       ", this umbel reads versions 1 to %d: use the umbel "
                       "that wrote it",
                       version, UM_HEAD_VERSION);
    if (version > 1)
        head &= 0xFFFF;
    if (head < UM_HEAD_NAMES_AT + UM_HEAD_CHECKSUM_LEN || head > UM_HEAD_MAX)
        return um_fail(err, UMBEL_E_FORMAT,
                       "damaged: a head of %" PRIu32 " bytes cannot be", head);
    *out = head;
    return UMBEL_OK;
}

/* Fails because the file is valid, but this version is too old to read it. */
static umbel_status newer(const char *what, umbel_error *err)
{
    return um_fail(err, UMBEL_E_VERSION,
                   "%s, which this umbel cannot read: use a newer umbel", what);
}

static umbel_status damaged(const char *what, umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT, "damaged: %s", what);
}

static umbel_status find_rows(const char *kind, const char *addressing,
                              const char *hash, um_shape *s, umbel_error *err)
{
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

static void get_name(um_reader *r, char out[UM_HEAD_NAME_MAX + 1])
{
    uint64_t number = um_get_varint(r);
    uint64_t len = number ? 0 : um_get_varint(r);

    r->bad |= number >= UM_COUNT(names) || len > UM_HEAD_NAME_MAX;
    memset(out, 0, UM_HEAD_NAME_MAX + 1);
    if (r->bad)
        return;
    if (number)
        memcpy(out, names[number], strlen(names[number]));
    else
        um_get_bytes(r, out, (size_t)len);
    r->bad |= !*out || strlen(out) < len;
}

static umbel_status get_rows(um_reader *r, um_shape *s, umbel_error *err)
{
    char kind[UM_HEAD_NAME_MAX + 1], addressing[UM_HEAD_NAME_MAX + 1];
    char hash[UM_HEAD_NAME_MAX + 1];

    get_name(r, kind);
    get_name(r, addressing);
    get_name(r, hash);
    if (r->bad)
        return damaged("a name is not a name", err);
    return find_rows(kind, addressing, hash, s, err);
}

static void read_settings(um_reader *r, size_t n, uint64_t (*get)(um_reader *),
                          um_shape *s)
{
    for (size_t i = 0; i < um_count_settings(s->kind); i++)
        s->setting[i] = i < n ? get(r) : s->kind->settings[i].standard;
}

static umbel_status get_numbers(um_reader *r, um_shape *s, umbel_error *err)
{
    s->cells = um_get_varint(r);
    uint64_t hashes = um_get_varint(r);
    s->hashes = hashes > UINT32_MAX ? 0 : (uint32_t)hashes;
    s->capacity = um_get_varint(r);
    s->added = um_get_varint(r);
    uint64_t settings = um_get_varint(r);
    if (settings > um_count_settings(s->kind))
        return newer("it has settings of a later version", err);
    read_settings(r, (size_t)settings, um_get_varint, s);
    return UMBEL_OK;
}

/* Keeps an unknown field that may be ignored. */
static bool retain_field(um_shape *s, const uint8_t *from, size_t len)
{
    if (len > sizeof s->spare - s->spare_len)
        return false;
    memcpy(s->spare + s->spare_len, from, len);
    s->spare_len = (uint8_t)(s->spare_len + len);
    return true;
}

/* Sets the field with this number; returns false if the number is unknown. */
static bool parse_field(wire *all, uint64_t tag, um_reader value)
{
    const struct field *f = fields;
    size_t len = (size_t)(value.end - value.at);
    uint8_t bytes[8] = {0};

    while (f < fields + UM_COUNT(fields) && f->tag != tag)
        f++;
    if (f == fields + UM_COUNT(fields))
        return false;
    if (len <= sizeof bytes)
        memcpy(bytes, value.at, len);
    uint64_t x = um_load64(bytes);
    memcpy((uint8_t *)all + f->at, &x, sizeof x);
    return true;
}

/*
 * Reads fields up to the end, or the zeros before it. check_only, which encodes
 * the head again, refuses fields out of order or not in their shortest form.
 */
static umbel_status get_fields(um_reader *r, wire *all, um_reader *coding,
                               umbel_error *err)
{
    uint64_t last = 0;

    while (r->at < r->end && *r->at) {
        const uint8_t *start = r->at;
        uint64_t tag = um_get_varint(r), len = um_get_varint(r);
        if (r->bad || len > (uint64_t)(r->end - r->at) ||
            (tag % 2 == 0 && tag <= last))
            return damaged("a field of the head", err);
        um_reader value = {r->at, r->at + len, false};
        r->at = value.end;
        if (tag == UM_TAG_CODING)
            *coding = value;
        else if (!parse_field(all, tag, value) &&
                 (tag % 2 ||
                  !retain_field(&all->s, start, (size_t)(r->at - start))))
            return newer("it has a field of a later version", err);
        last = tag % 2 ? last : tag;
    }
    return UMBEL_OK;
}

static void apply_flags(uint64_t flags, um_shape *s)
{
    s->estimated = flags & FLAG_ESTIMATED;
    s->intersected = flags & FLAG_INTERSECTED;
    s->joined = flags & FLAG_JOINED;
    s->difference = flags & FLAG_DIFFERENCE;
}

/* Returns false for lengths without the mark that they are recorded, of other
 * forms, or beyond those that exist. */
static bool prefixes_fit(const um_shape *s)
{
    const uint64_t *word = s->prefixes.word;

    return !(word[0] | word[1] | word[2]) ||
           (s->key_form == UMBEL_KEYS_NETWORK &&
            word[0] & UM_PREFIXES_RECORDED &&
            word[0] < 2 * UM_PREFIXES_RECORDED);
}

static umbel_status check_head(const um_shape *s, umbel_error *err)
{
    umbel_error inner;

    if (!(s->fpr > 0 && (s->fpr < 1 || um_is_map(s))) ||
        s->cells > UM_MAX_CELLS || s->capacity > UM_MAX_CELLS ||
        s->attached > UM_MAX_CELLS || s->expansion > UM_MAX_EXPANSION ||
        ((s->joined || s->difference || um_is_delta(&s->delta)) &&
         !um_merges_by(s->kind, UMBEL_MINUS)) ||
        !s->delta.from != !s->delta.to || !prefixes_fit(s) ||
        (s->hash->identity && s->key_form != UMBEL_KEYS_INTEGER &&
         s->key_form != UMBEL_KEYS_UNRECORDED))
        return damaged("a field is out of range", err);
    if (um_check_shape(s, &inner) != UMBEL_OK)
        return damaged(inner.text, err);
    return UMBEL_OK;
}

static bool stored_fits(const um_section *s, bool coded, uint64_t len)
{
    const um_packed cells = {.n = s->cells, .bits = s->cell_bits};

    return coded ? len > 0 && len <= um_code_max(&cells)
                 : len == um_section_bytes(s);
}

/* Reads the lengths of the sections in the file, from the shape or from their
 * codes. */
static umbel_status get_sections(um_reader coding, um_head *head,
                                 umbel_error *err)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(&head->shape, section);
    bool coded = coding.at != NULL, fine = true;

    if (coded && um_get_varint(&coding) != UM_CODE_NOW)
        return newer("its cells are coded", err);
    head->shape.coded = coded;
    head->align = coded ? 1 : UM_SECTION_ALIGN;
    head->coding = UM_CODE_NOW;
    for (size_t i = 0; i < n; i++) {
        uint64_t len =
            coded ? um_get_varint(&coding) : um_section_bytes(&section[i]);
        fine &= stored_fits(&section[i], coded, len);
        head->stored[i] = len;
        head->stored_len +=
            (size_t)(coded ? len : um_section_space(&section[i]));
    }
    if (!fine || coding.bad)
        return um_fail(err, UMBEL_E_FORMAT,
                       "damaged: the sections are not those of a %s filter",
                       head->shape.kind->name);
    return UMBEL_OK;
}

static umbel_status decode_fields(um_reader r, um_head *head, umbel_error *err)
{
    wire all = {.flags = 0};
    um_reader coding = {NULL, NULL, false};

    UM_TRY(get_rows(&r, &all.s, err));
    UM_TRY(get_numbers(&r, &all.s, err));
    UM_TRY(get_fields(&r, &all, &coding, err));
    if (all.flags & ~(uint64_t)FLAGS_KNOWN)
        return newer("it has flags of a later version", err);
    if (all.s.key_form > UMBEL_KEYS_NETWORK)
        return newer("it has keys of a form of a later version", err);
    apply_flags(all.flags, &all.s);
    all.s.fpr = fpr_of_code(all.fpr);
    if (r.bad)
        return damaged("the head's end", err);
    UM_TRY(check_head(&all.s, err));
    head->shape = all.s;
    return get_sections(coding, head, err);
}

/* Checks that the bytes are the only valid encoding of this head. */
static umbel_status check_only(const um_head *head, const uint8_t *bytes,
                               umbel_error *err)
{
    uint8_t again[UM_HEAD_MAX];
    size_t len = um_head_encode(&head->shape, head->payload_checksum,
                                head->shape.coded ? head->stored : NULL, again);

    if (len != head->len || memcmp(again, bytes, len) != 0)
        return damaged("the head is not written as umbel writes it", err);
    return UMBEL_OK;
}

/* --- version 1, which is only read -----------------------------------------
 *
 *     0  magic  version  head length
 *    16  kind  addressing  hash            names of 16 bytes each
 *    64  seed  secret id  cells  hashes  flags
 *    96  capacity  fpr  added  known false negatives
 *   128  settings  sections  payload checksum
 *   144  a number per setting; per section cells, bits, coding, length
 *        zeros up to a multiple of 64, the last 8 bytes the head's checksum
 */

enum {
    NAME_LEN = 16,
    FIXED_LEN = 144,
    SECTION_LEN = 24,
    CHECKSUM_LEN = 8,
    CODING_CODED = 1,
    V1_FLAG_ATTACHED = 16,
    V1_FLAGS_KNOWN = FLAGS_KNOWN | V1_FLAG_ATTACHED,
    V1_FLAGS_DEMANDING = 0xFFFF /* unknown flags above may be ignored */
};

static size_t head_len_v1(size_t settings, size_t sections)
{
    size_t len = FIXED_LEN + 8 * settings + SECTION_LEN * sections;
    return (len + CHECKSUM_LEN + UM_SECTION_ALIGN - 1) / UM_SECTION_ALIGN *
           UM_SECTION_ALIGN;
}

/* Reads a name padded with zeros to NAME_LEN; false if it is invalid. */
static bool get_name_v1(um_reader *r, char out[NAME_LEN])
{
    um_get_bytes(r, out, NAME_LEN);
    size_t len = strnlen(out, NAME_LEN);
    for (size_t i = len; i < NAME_LEN; i++)
        if (out[i])
            return false;
    return len > 0 && len < NAME_LEN;
}

static umbel_status get_rows_v1(um_reader *r, um_shape *s, umbel_error *err)
{
    char kind[NAME_LEN], addressing[NAME_LEN], hash[NAME_LEN];
    bool fine = get_name_v1(r, kind);

    fine &= get_name_v1(r, addressing);
    fine &= get_name_v1(r, hash);
    if (!fine)
        return um_fail(err, UMBEL_E_FORMAT, "damaged: a name is not a name");
    return find_rows(kind, addressing, hash, s, err);
}

/* Reads the length of the attached data from its section, the last of n. */
static void get_attached(um_reader r, size_t n, um_shape *s)
{
    uint8_t before[SECTION_LEN];

    for (size_t i = 1; i < n; i++)
        um_get_bytes(&r, before, sizeof before);
    s->attached = um_get_u64(&r);
}

static umbel_status get_sections_v1(um_reader *r, size_t n, um_head *head,
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
        fine &= stored_fits(&want[i], s->coded, head->stored[i]);
        want[i].cells = head->stored[i], want[i].cell_bits = 8;
        head->stored_len += (size_t)um_section_space(&want[i]);
    }
    if (!fine || r->bad)
        return um_fail(err, UMBEL_E_FORMAT,
                       "damaged: the sections are not those of a %s filter",
                       s->kind->name);
    head->align = UM_SECTION_ALIGN;
    head->coding = UM_CODE_V1;
    return UMBEL_OK;
}

static umbel_status get_shape_v1(um_reader *r, um_head *head, umbel_error *err)
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
    s->false_negatives = um_get_u64(r);
    uint32_t settings = um_get_u32(r), sections = um_get_u32(r);
    head->payload_checksum = um_get_u64(r);
    s->key_form = UMBEL_KEYS_UNRECORDED;
    apply_flags(flags, s);
    if (flags & V1_FLAGS_DEMANDING & ~(uint32_t)V1_FLAGS_KNOWN ||
        settings > um_count_settings(s->kind) || sections > UM_MAX_SECTIONS ||
        head->len != head_len_v1(settings, sections))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: a field is out of range");
    read_settings(r, settings, um_get_u64, s);
    UM_TRY(check_head(s, err));
    if (settings != settings_written(s))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: a field is out of range");
    if (flags & V1_FLAG_ATTACHED) {
        get_attached(*r, sections, s);
        if (!s->attached || s->attached > UM_MAX_CELLS)
            return um_fail(err, UMBEL_E_FORMAT, "damaged: it carries no data");
    }
    return get_sections_v1(r, sections, head, err);
}

static umbel_status decode_v1(um_reader r, um_head *head, umbel_error *err)
{
    UM_TRY(get_rows_v1(&r, &head->shape, err));
    UM_TRY(get_shape_v1(&r, head, err));
    if (r.bad || !um_all_zero(r.at, (size_t)(r.end - r.at)))
        return um_fail(err, UMBEL_E_FORMAT, "damaged: the head's end");
    return UMBEL_OK;
}

/* --- both versions -------------------------------------------------------- */

umbel_status um_head_decode(const uint8_t *bytes, size_t len, um_head *out,
                            umbel_error *err)
{
    um_head head = {.len = 0};

    UM_TRY(um_head_len(bytes, len, &head.len, err));
    if (len < head.len)
        return um_fail(err, UMBEL_E_FORMAT, "cut short inside the head");
    const uint8_t *sum = bytes + head.len - UM_HEAD_CHECKSUM_LEN;
    if (um_load64(sum) != um_checksum(bytes, (size_t)(sum - bytes)))
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "damaged: the head does not match its checksum");
    if (bytes[UM_HEAD_VERSION_AT] == 1) {
        UM_TRY(decode_v1((um_reader){bytes + UM_HEAD_START, sum, false}, &head,
                         err));
    } else {
        head.payload_checksum = um_load64(bytes + UM_HEAD_SUM_AT);
        UM_TRY(decode_fields((um_reader){bytes + UM_HEAD_NAMES_AT, sum, false},
                             &head, err));
        UM_TRY(check_only(&head, bytes, err));
    }
    if (!um_payload_len(&head.shape, &head.payload_len))
        return um_fail(err, UMBEL_E_LIMIT, "%" PRIu64 " cells do not fit here",
                       head.shape.cells);
    *out = head;
    return UMBEL_OK;
}
