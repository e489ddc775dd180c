/*
 * diff.c - differences between filters of the same shape.
 *
 *     0  magic  version  length of the head inside
 *    16  content name of the old filter
 *    48  content name of the new one
 *    80  flags  0  length of all
 *    96  the new filter's head, as in its raw file
 *    --  per section: a byte, then for 0: the changes,
 *                     for 1: length and code of the new cells
 *                     (both: coding/section.h)
 *    --  checksum of all before
 *
 * docs/FORMAT.md has the details.
 */
#include <umbel/diff.h>

#include "base/alloc.h"
#include "base/error.h"
#include "coding/section.h"
#include "filter/envelope.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <umbel/file.h>

enum {
    VERSION = 2,
    TOTAL_AT = 88,
    HEAD_AT = 96,
    CHECKSUM_LEN = 8,
    FLAG_CODED = 1,
    FLAGS_KNOWN = 1,
    ROOM = 8192, /* extra space needed while a section is coded */
    CHANGES = 0,
    WHOLE = 1
};

static const uint8_t magic[8] = {0x89, 'U', 'M', 'D', '\r', '\n', 0x1A, '\n'};

void umbel_content_name(const umbel_filter *f, uint8_t out[UMBEL_CONTENT_LEN])
{
    uint8_t head[UM_HEAD_MAX];
    size_t len =
        um_head_encode(um_shape_of(f), umbel_payload_checksum(f), NULL, head);
    crypto_generichash_state state;

    crypto_generichash_init(&state, NULL, 0, UMBEL_CONTENT_LEN);
    crypto_generichash_update(&state, head, len);
    crypto_generichash_update(&state, f->payload, f->payload_len);
    crypto_generichash_final(&state, out, UMBEL_CONTENT_LEN);
}

/* A section in both filters; old.at is NULL if there is nothing to compare
 * with. */
typedef struct pair {
    um_packed old, now;
} pair;

/*
 * Pairs the sections of s with those of an old filter of the same shape. The
 * data section is last; it may be new, or have another length.
 */
static size_t pairs_of(const umbel_filter *old, const um_shape *s, uint8_t *now,
                       pair out[UM_MAX_SECTIONS])
{
    um_section was[UM_MAX_SECTIONS], is[UM_MAX_SECTIONS];
    size_t before = um_sections(um_shape_of(old), was), n = um_sections(s, is);
    uint8_t *at = old->payload;

    for (size_t i = 0; i < n; i++) {
        bool alike = i < before && was[i].cells == is[i].cells;
        out[i].old = (um_packed){.n = is[i].cells, .bits = is[i].cell_bits};
        out[i].now = out[i].old;
        out[i].old.at = alike ? at : NULL;
        out[i].now.at = now;
        at += alike ? um_section_space(&was[i]) : 0;
        now += um_section_space(&is[i]);
    }
    return n;
}

/* --- creating a difference ------------------------------------------------ */

/* Checks that both filters have the same shape. Static filters may differ in
 * size, which depends on their keys. */
static umbel_status same_shape(const umbel_filter *old, const umbel_filter *now,
                               umbel_error *err)
{
    umbel_status status = umbel_same_shape(old, now, err);
    const um_shape *a = um_shape_of(old), *b = um_shape_of(now);

    if (status != UMBEL_OK && a->kind == b->kind && a->kind->built &&
        a->hash == b->hash && a->seed == b->seed)
        return um_fail(err, status,
                       "%s filters of different keys have no difference, "
                       "their sizes follow from the keys: hand out the new "
                       "one whole",
                       a->kind->name);
    return status;
}

/* Returns m H(some / m), in bits. */
static double entropy_bits(uint64_t some, uint64_t m)
{
    double p = m ? (double)some / (double)m : 0;

    return p > 0 && p < 1 ? -(double)m * (p * log2(p) + (1 - p) * log2(1 - p))
                          : 0;
}

enum { VALUES = 256 }; /* old values counted apart in the result */

static void count_bits(const pair *p, uint64_t m[], uint64_t changed[])
{
    for (uint64_t w = 0; w < um_packed_words(&p->now); w++) {
        uint64_t old = um_packed_word(&p->old, w);
        uint64_t flips = old ^ um_packed_word(&p->now, w);
        m[1] += um_ones(old);
        changed[0] += um_ones(flips & ~old);
        changed[1] += um_ones(flips & old);
    }
    m[0] = p->now.n - m[1];
}

static void count_cells(const pair *p, uint64_t m[], uint64_t changed[])
{
    for (uint64_t i = 0; i < p->now.n; i++) {
        uint64_t old = um_packed_get(&p->old, i);
        uint64_t v = old < VALUES ? old : VALUES - 1;
        m[v]++;
        changed[v] += old != um_packed_get(&p->now, i);
    }
}

static void bill_section(const pair *p, umbel_diff_result *bill)
{
    uint64_t m[VALUES] = {0}, changed[VALUES] = {0};

    (p->now.bits == 1 ? count_bits : count_cells)(p, m, changed);
    for (size_t v = 0; v < VALUES; v++) {
        bill->changed += changed[v];
        bill->shannon_bytes += entropy_bits(changed[v], m[v]) / 8;
    }
}

/* Writes the fixed part, except for the total length, and the head of now. */
static void write_start(um_writer *w, const umbel_filter *old,
                        const umbel_filter *now)
{
    uint8_t name[UMBEL_CONTENT_LEN], head[UM_HEAD_MAX];
    size_t head_len = um_head_encode(um_shape_of(now),
                                     umbel_payload_checksum(now), NULL, head);

    um_write_bytes(w, magic, sizeof magic);
    um_write_u32(w, VERSION);
    um_write_u32(w, (uint32_t)head_len);
    umbel_content_name(old, name);
    um_write_bytes(w, name, sizeof name);
    umbel_content_name(now, name);
    um_write_bytes(w, name, sizeof name);
    um_write_u32(w, now->coded ? FLAG_CODED : 0);
    um_write_u32(w, 0);
    um_write_u64(w, 0);
    um_write_bytes(w, head, head_len);
}

/* Writes a section: its changes if they take fewer bytes than coding it all. */
static void write_section(um_writer *w, const pair *p)
{
    const uint8_t changes = CHANGES, all = WHOLE;
    uint64_t whole = um_code_len(&p->now, UM_CODE_NOW), len = 0;
    um_writer before = *w;

    um_write_bytes(w, &changes, 1);
    if (p->old.at && um_changes_encode(w, &p->old, &p->now, &len) &&
        len < whole)
        return;
    *w = before;
    um_write_bytes(w, &all, 1);
    um_write_varint(w, whole);
    if ((size_t)(w->end - w->at) < um_code_max(&p->now) + UM_CODE_SPACE) {
        w->bad = true;
        return;
    }
    len = um_code_encode(&p->now, UM_CODE_NOW, w->at);
    w->at += len;
    w->bad |= len != whole;
}

size_t umbel_diff_bound(const umbel_filter *now)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(um_shape_of(now), section);
    size_t room = HEAD_AT + UM_HEAD_MAX + CHECKSUM_LEN;

    for (size_t i = 0; i < n; i++)
        room += (size_t)um_section_bytes(&section[i]) + ROOM;
    return room;
}

umbel_status umbel_diff(const umbel_filter *old, const umbel_filter *now,
                        void *out, size_t cap, umbel_diff_result *bill,
                        umbel_error *err)
{
    pair pairs[UM_MAX_SECTIONS];
    uint8_t *bytes = out;
    um_writer w = {bytes, bytes + cap, false};

    UM_TRY(same_shape(old, now, err));
    if (cap < umbel_diff_bound(now))
        return um_fail(err, UMBEL_E_RANGE,
                       "a difference may take %zu bytes, there is room for %zu",
                       umbel_diff_bound(now), cap);
    size_t n = pairs_of(old, um_shape_of(now), now->payload, pairs);
    write_start(&w, old, now);
    for (size_t i = 0; i < n; i++)
        write_section(&w, &pairs[i]);
    size_t len = (size_t)(w.at - bytes) + CHECKSUM_LEN;
    um_store64(bytes + TOTAL_AT, len);
    um_write_u64(&w, um_checksum(bytes, len - CHECKSUM_LEN));
    if (w.bad)
        return um_fail(err, UMBEL_E_IO, "a filter changed meanwhile");
    *bill = (umbel_diff_result){.bytes = len};
    n -= now->attached > 0; /* attached data are not cells */
    for (size_t i = 0; i < n; i++)
        bill_section(&pairs[i], bill);
    return UMBEL_OK;
}

/* --- applying a difference ------------------------------------------------ */

/* The fields before the sections of a difference. */
typedef struct start {
    uint8_t old[UMBEL_CONTENT_LEN], now[UMBEL_CONTENT_LEN];
    um_head head;
} start;

/* Checks magic, version, length and checksum. */
static umbel_status check_frame(const uint8_t *bytes, size_t len,
                                umbel_error *err)
{
    um_reader r = {bytes, bytes + len, false};
    uint8_t found[sizeof magic];

    um_get_bytes(&r, found, sizeof found);
    uint32_t version = um_get_u32(&r);
    if (r.bad || memcmp(found, magic, sizeof magic) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a difference of umbel: it does not begin like one");
    if (version != VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "the difference has version %" PRIu32
                       ", this umbel reads version %d: use the umbel that "
                       "wrote it",
                       version, VERSION);
    if (len < HEAD_AT + CHECKSUM_LEN)
        return um_fail(err, UMBEL_E_FORMAT, "the difference is cut short");
    uint64_t total = um_load64(bytes + TOTAL_AT);
    if (total != len)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the difference is %s: %zu of %" PRIu64 " bytes",
                       len < total ? "cut short" : "longer than it says", len,
                       total);
    if (um_checksum(bytes, len - CHECKSUM_LEN) !=
        um_load64(bytes + len - CHECKSUM_LEN))
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "the difference does not match its checksum");
    return UMBEL_OK;
}

static umbel_status get_start(um_reader *r, start *s, umbel_error *err)
{
    uint8_t head[UM_HEAD_MAX];

    r->at += sizeof magic + 4;
    uint32_t head_len = um_get_u32(r);
    um_get_bytes(r, s->old, sizeof s->old);
    um_get_bytes(r, s->now, sizeof s->now);
    uint32_t flags = um_get_u32(r), nothing = um_get_u32(r);
    um_get_u64(r);
    if (flags & ~(uint32_t)FLAGS_KNOWN)
        return um_fail(err, UMBEL_E_VERSION,
                       "the difference has flags of a later version: use a "
                       "newer umbel");
    if (nothing || head_len > sizeof head)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the difference is damaged: a field is out of range");
    um_get_bytes(r, head, head_len);
    UM_TRY(um_head_decode(head, head_len, &s->head, err));
    if (r->bad || s->head.len != head_len || s->head.shape.coded)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the difference is damaged: its head");
    s->head.shape.coded = flags & FLAG_CODED;
    return UMBEL_OK;
}

static umbel_status check_base(const umbel_filter *old, const start *s,
                               umbel_error *err)
{
    uint8_t name[UMBEL_CONTENT_LEN];

    umbel_content_name(old, name);
    if (memcmp(name, s->old, sizeof name) != 0)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "the difference is for another filter: %016" PRIx64
                       "..., this one is %016" PRIx64
                       "...; patch that one, or take the new one whole",
                       __builtin_bswap64(um_load64(s->old)),
                       __builtin_bswap64(um_load64(name)));
    return um_same_shape(um_shape_of(old), &s->head.shape, err);
}

/* Limits the new length. Only attached data can make the filter larger, and a
 * few bytes could claim a large length. */
static umbel_status check_cap(const umbel_filter *old, const start *s,
                              size_t len, umbel_error *err)
{
    if (s->head.payload_len > old->payload_len &&
        s->head.payload_len - old->payload_len > um_open_limit(len))
        return um_fail(err, UMBEL_E_LIMIT,
                       "the difference brings %" PRIu64 " bytes of data: take "
                       "the whole new filter instead",
                       s->head.shape.attached);
    return UMBEL_OK;
}

static bool get_section(um_reader *r, const pair *p)
{
    uint8_t how;

    um_get_bytes(r, &how, 1);
    if (r->bad || how > WHOLE || (how == CHANGES && !p->old.at))
        return false;
    if (how == CHANGES) {
        memcpy(p->now.at, p->old.at, (size_t)um_packed_bytes(&p->old));
        return um_changes_decode(r, &p->old, &p->now);
    }
    uint64_t len = um_get_varint(r);
    if (r->bad || len > (uint64_t)(r->end - r->at))
        return false;
    r->at += len;
    return um_code_decode(r->at - len, (size_t)len, UM_CODE_NOW, &p->now);
}

/* Decodes the sections into the new payload, which is zeroed. */
static umbel_status fill(const umbel_filter *old, um_reader *r, const start *s,
                         uint8_t *payload, umbel_error *err)
{
    pair pairs[UM_MAX_SECTIONS];
    size_t n = pairs_of(old, &s->head.shape, payload, pairs);
    bool fine = true;

    for (size_t i = 0; fine && i < n; i++)
        fine = get_section(r, &pairs[i]);
    if (!fine || r->at != r->end)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the difference is damaged: its changes");
    return UMBEL_OK;
}

umbel_status umbel_patch(const umbel_filter *old, const void *bytes, size_t len,
                         umbel_filter **out, umbel_error *err)
{
    const uint8_t *from = bytes;
    um_reader r = {from, from, false};
    uint8_t name[UMBEL_CONTENT_LEN];
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f;
    start s;

    UM_TRY(check_frame(bytes, len, err));
    r.end += len - CHECKSUM_LEN;
    UM_TRY(get_start(&r, &s, err));
    UM_TRY(check_base(old, &s, err));
    UM_TRY(check_cap(old, &s, len, err));
    size_t room = s.head.payload_len;
    um_memory memory = {um_get(&old->alloc, room), room, false};
    if (!memory.base)
        return um_no_memory(err, room);
    umbel_status status = fill(old, &r, &s, memory.base, err);
    if (status != UMBEL_OK) {
        um_memory_free(&memory, &old->alloc);
        return status;
    }
    source.alloc = &old->alloc;
    source.verify = true;
    UM_TRY(
        um_filter_from_payload(&s.head, memory.base, memory, &source, &f, err));
    umbel_content_name(f, name);
    if (memcmp(name, s.now, sizeof name) != 0) {
        umbel_close(f);
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "the difference does not give the filter it names");
    }
    *out = f;
    return UMBEL_OK;
}
