/*
 * handle.c - the state of a filter: its shape, packed into its handle, its
 * memory, the number of its keys, and common refusals.
 *
 * Optional parts follow the kind's part, in this order:
 *
 *     um_delta    kinds that support differences
 *     um_memory   mapped files
 *     keyed       keyed hashes
 *     um_prefix_lengths filters of networks
 *     settings    as many as the kind has
 *     spare       fields of a later version
 */
#include "filter/handle.h"

#include "base/alloc.h"
#include "base/error.h"

#include <umbel/file.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- shape ---------------------------------------------------------------- */

typedef struct keyed {
    uint64_t id;
    um_secret secret;
} keyed;

/* Offsets of these parts in bytes from the handle, and of the end. */
typedef struct parts {
    size_t self, delta, memory, keyed, prefixes, settings, spare, end;
} parts;

static size_t in_words(size_t len)
{
    return (len + 7) / 8 * 8;
}

static bool has_delta(const um_kind *kind)
{
    return um_merges_by(kind, UMBEL_MINUS);
}

static parts parts_of(const um_kind *kind, const um_hash *hash, um_owner owner,
                      bool prefixed, size_t spare_len)
{
    parts p = {.self = UM_SELF_AT};

    p.delta = p.self + in_words(kind->self_len);
    p.memory = p.delta + (has_delta(kind) ? sizeof(um_delta) : 0);
    p.keyed = p.memory + (owner == UM_MAPPED ? sizeof(um_memory) : 0);
    p.prefixes = p.keyed + (hash->keyed ? sizeof(keyed) : 0);
    p.settings = p.prefixes + (prefixed ? sizeof(um_prefix_lengths) : 0);
    p.spare = p.settings + um_count_settings(kind) * sizeof(uint64_t);
    p.end = p.spare + spare_len;
    return p;
}

static parts parts_in(const umbel_filter *f)
{
    return parts_of(f->kind, f->hasher.row, (um_owner)f->owner, f->prefixed,
                    f->spare_len);
}

/* Computes the address from self, which is in the handle: so parts of a const
 * handle can be written. */
static void *part_at(const umbel_filter *f, size_t offset)
{
    return (uint8_t *)f->self + (offset - UM_SELF_AT);
}

size_t um_handle_len(const um_shape *s, um_owner owner)
{
    return parts_of(s->kind, s->hash, owner, s->key_form == UMBEL_KEYS_NETWORK,
                    s->spare_len)
        .end;
}

size_t um_handle_len_of(const umbel_filter *f)
{
    return parts_in(f).end;
}

void um_find_parts(umbel_filter *f)
{
    parts p = parts_in(f);

    f->self = (uint8_t *)f + p.self;
    if (f->hasher.row->keyed)
        f->hasher.secret = &((keyed *)part_at(f, p.keyed))->secret;
}

um_memory *um_mapping_of(const umbel_filter *f)
{
    return part_at(f, parts_in(f).memory);
}

uint64_t *um_settings_of(const umbel_filter *f)
{
    return part_at(f, parts_in(f).settings);
}

const um_delta *um_delta_of(const umbel_filter *f)
{
    static const um_delta none = {0, 0};

    return has_delta(f->kind) ? part_at(f, parts_in(f).delta) : &none;
}

void um_set_delta(umbel_filter *f, um_delta delta)
{
    if (has_delta(f->kind)) /* other kinds have none: the head refuses it */
        *(um_delta *)part_at(f, parts_in(f).delta) = delta;
}

um_prefix_lengths *um_prefixes_of(const umbel_filter *f)
{
    return f->prefixed && f->key_form == UMBEL_KEYS_NETWORK
               ? part_at(f, parts_in(f).prefixes)
               : NULL;
}

umbel_status um_prefixes_add(um_prefix_lengths *p, const umbel_slice *key,
                             umbel_error *err)
{
    const uint8_t *bytes = key->data;
    unsigned len = key->len ? bytes[0] : 0;

    if (key->len == UM_NETWORK_V4 && len <= 32)
        p->word[0] |= (uint64_t)1 << len;
    else if (key->len == UM_NETWORK_V6 && len < 128)
        p->word[1 + len / 64] |= (uint64_t)1 << len % 64;
    else if (key->len == UM_NETWORK_V6 && len == 128)
        p->word[0] |= UM_PREFIXES_V6_HOST;
    else
        return um_fail(err, UMBEL_E_KEY,
                       "%zu bytes are not a network as stored: convert it with "
                       "umbel_form_key",
                       key->len);
    return UMBEL_OK;
}

void um_prefixes_share(um_prefix_lengths *p, const um_prefix_lengths *more)
{
    if (!(__atomic_load_n(&p->word[0], __ATOMIC_RELAXED) &
          UM_PREFIXES_RECORDED))
        return;
    for (size_t i = 0; i < UM_COUNT(p->word); i++)
        if (more->word[i] & ~__atomic_load_n(&p->word[i], __ATOMIC_RELAXED))
            __atomic_fetch_or(&p->word[i], more->word[i], __ATOMIC_RELAXED);
}

void um_prefixes_join(um_prefix_lengths *p, const um_prefix_lengths *other)
{
    if (other->word[0] & UM_PREFIXES_RECORDED)
        um_prefixes_share(p, other);
    else
        *p = (um_prefix_lengths){{0}};
}

void um_prefixes_forget(umbel_filter *f)
{
    um_prefix_lengths *p = um_prefixes_of(f);

    for (size_t i = 0; p && i < UM_COUNT(p->word); i++)
        __atomic_store_n(&p->word[i], 0, __ATOMIC_RELAXED);
}

uint64_t um_secret_of(const umbel_filter *f)
{
    if (!f->hasher.row->keyed)
        return 0;
    return ((const keyed *)part_at(f, parts_in(f).keyed))->id;
}

const um_shape *um_get_shape(const umbel_filter *f, um_shape *s)
{
    const um_prefix_lengths *prefixes = um_prefixes_of(f);

    *s = (um_shape){
        .kind = f->kind,
        .addressing = f->layout.row,
        .hash = f->hasher.row,
        .seed = f->layout.seed,
        .secret_id = um_secret_of(f),
        .cells = f->layout.cells,
        .hashes = f->layout.hashes,
        .capacity = f->capacity,
        .fpr = f->fpr,
        .exact_size = f->exact_size,
        .added = umbel_added(f),
        .estimated = f->estimated,
        .intersected = f->intersected,
        .joined = f->joined,
        .difference = f->difference,
        .coded = f->coded,
        .attached = f->attached,
        .false_negatives = f->false_negatives,
        .key_form = f->key_form,
        .expansion = f->expansion,
        .delta = *um_delta_of(f),
        .spare_len = f->spare_len,
    };
    if (prefixes)
        s->prefixes = *prefixes;
    memcpy(s->setting, um_settings_of(f),
           um_count_settings(f->kind) * sizeof *s->setting);
    memcpy(s->spare, part_at(f, parts_in(f).spare), s->spare_len);
    return s;
}

/* Sets the shape, beginning with what determines the positions of parts. */
void um_set_shape(umbel_filter *f, const um_shape *s)
{
    f->kind = s->kind;
    f->spare_len = s->spare_len;
    f->prefixed = s->key_form == UMBEL_KEYS_NETWORK;
    um_layout_init(&f->layout, s->addressing, s->cells, s->hashes, s->seed);
    f->layout.hi_follows = s->hash->fused;
    um_hasher_init(&f->hasher, s->hash, s->seed, NULL);
    um_find_parts(f);
    f->capacity = s->capacity;
    f->fpr = s->fpr;
    f->exact_size = s->exact_size;
    f->added = s->added;
    f->estimated = s->estimated;
    f->intersected = s->intersected;
    f->joined = s->joined;
    f->difference = s->difference;
    f->coded = s->coded;
    f->attached = s->attached;
    f->false_negatives = s->false_negatives;
    f->key_form = s->key_form & 15;
    f->expansion = s->expansion & UM_MAX_EXPANSION;
    um_set_delta(f, s->delta);
    um_prefix_lengths *prefixes = um_prefixes_of(f);
    if (prefixes)
        *prefixes = s->prefixes;
    if (s->hash->keyed)
        ((keyed *)part_at(f, parts_in(f).keyed))->id = s->secret_id;
    memcpy(um_settings_of(f), s->setting,
           um_count_settings(f->kind) * sizeof *s->setting);
    memcpy(part_at(f, parts_in(f).spare), s->spare, s->spare_len);
}

/* --- payload -------------------------------------------------------------- */

/* Returns true if prefetching pays: it has a cost, and is useless in a
 * cache. */
static bool is_far(size_t bytes)
{
    long cache = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
    cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > (size_t)(cache > 0 ? cache : 256 << 10);
}

void um_filter_attach(umbel_filter *f)
{
    um_section section[UM_MAX_SECTIONS];
    void *memory[UM_MAX_SECTIONS] = {NULL};
    const um_shape *s = um_shape_of(f);
    size_t n = um_sections(s, section);
    uint8_t *at = f->payload;

    for (size_t i = 0; i < n; i++) {
        memory[i] = at;
        at += um_section_space(&section[i]);
    }
    f->layout.far = is_far(f->payload_len);
    memset(f->self, 0, f->kind->self_len);
    f->kind->attach(f->self, s, &f->layout, memory);
    if (f->kind->use_added)
        f->kind->use_added(f->self, &f->added);
    if (f->gate && f->kind->shared->use_locks)
        f->kind->shared->use_locks(f->self, f->gate->lock);
}

void um_clear_padding(umbel_filter *f)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(um_shape_of(f), section);
    uint8_t *at = f->payload;

    for (size_t i = 0; i < n; i++) {
        uint64_t over = um_section_bits(&section[i]) % 8;
        uint64_t used = um_section_bytes(&section[i]);
        uint64_t room = um_section_space(&section[i]);
        if (over)
            at[used - 1] &= (uint8_t)((1u << over) - 1);
        memset(at + used, 0, (size_t)(room - used));
        at += room;
    }
}

void um_memory_free(um_memory *m, const umbel_alloc *alloc)
{
    if (m->mapped)
        munmap(m->base, m->len);
    else
        um_put(alloc, m->base, m->len);
    *m = (um_memory){NULL, 0, false};
}

void um_payload_free(umbel_filter *f)
{
    um_memory memory = {f->payload, f->payload_len, false};

    if (f->owner == UM_MAPPED)
        memory = *um_mapping_of(f);
    if (f->owner == UM_MAPPED || f->owner == UM_OWNED)
        um_memory_free(&memory, &f->alloc);
    if (f->owner == UM_SPOOLED)
        um_spool_release(f->payload, f->payload_len);
}

size_t um_data_space(const umbel_filter *f)
{
    um_section data = {.cells = f->attached, .cell_bits = 8};
    return (size_t)um_section_space(&data);
}

umbel_slice umbel_data(const umbel_filter *f)
{
    size_t room = um_data_space(f);

    return (umbel_slice){f->payload + f->payload_len - room,
                         (size_t)f->attached};
}

/* --- the number of keys --------------------------------------------------- */

uint64_t umbel_added(const umbel_filter *f)
{
    uint64_t sum = __atomic_load_n(&f->added, __ATOMIC_RELAXED);

    if (!f->gate)
        return sum;
    for (size_t i = 0; i < UM_GATE_SLOTS; i++) {
        const um_gate_slot *slot = &f->gate->slot[i];
        sum = um_more_added(
            sum, __atomic_load_n(&slot->own_added, __ATOMIC_RELAXED));
        sum = um_more_added(
            sum, __atomic_load_n(&slot->others_added, __ATOMIC_RELAXED));
    }
    return sum;
}

void um_set_added(umbel_filter *f, uint64_t n)
{
    for (size_t i = 0; f->gate && i < UM_GATE_SLOTS; i++)
        f->gate->slot[i].own_added = f->gate->slot[i].others_added = 0;
    f->added = n;
}

/* --- refusals ------------------------------------------------------------- */

umbel_status um_check_writable(const umbel_filter *f, umbel_error *err)
{
    if (f->owner == UM_MAPPED)
        return um_fail(err, UMBEL_E_READONLY,
                       "a mapped filter is read-only: load or copy it");
    return UMBEL_OK;
}

umbel_status um_check_ready(const umbel_filter *f, umbel_error *err)
{
    if (!um_hasher_ready(&f->hasher))
        return um_fail_detail(err, UMBEL_E_SECRET, UMBEL_D_SECRET_MISSING,
                              "this filter hashes with secret key %016" PRIx64
                              ": give that key first",
                              um_secret_of(f));
    return UMBEL_OK;
}

static umbel_status refuse(const um_kind *kind, const char *verb,
                           const char *why, umbel_error *err)
{
    return um_fail(err, UMBEL_E_UNSUPPORTED, "kind %s cannot %s%s%s",
                   kind->name, verb, why ? ": " : "", why ? why : "");
}

umbel_status um_cannot(const umbel_filter *f, const char *verb,
                       umbel_error *err)
{
    return refuse(f->kind, verb, f->kind->unsupported_reason.any, err);
}

/* Fails, and lists the kinds that support the operation. */
static umbel_status refuse_for_others(const um_kind *kind, const char *verb,
                                      bool (*can)(const um_kind *k),
                                      umbel_error *err)
{
    char others[128] = "";
    size_t len = 0;
    const um_kind *k;

    for (size_t i = 0; (k = um_kind_row(i)) && len < sizeof others; i++)
        if (can(k))
            len += (size_t)snprintf(others + len, sizeof others - len, "%s%s",
                                    len ? ", " : "", k->name);
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "kind %s cannot %s; those that can are %s", kind->name, verb,
                   others);
}

static bool can_count(const um_kind *k)
{
    return k->counting;
}

umbel_status um_cannot_count(const um_kind *kind, umbel_error *err)
{
    return refuse_for_others(kind, "count", can_count, err);
}

static bool can_remove(const um_kind *k)
{
    return k->counting && k->counting->remove;
}

umbel_status um_cannot_remove(const um_kind *kind, umbel_error *err)
{
    return refuse_for_others(kind, "take keys back", can_remove, err);
}

umbel_status um_cannot_join(const umbel_filter *f, const char *verb,
                            umbel_error *err)
{
    const um_unsupported_reason *why = &f->kind->unsupported_reason;
    return refuse(f->kind, verb, why->join ? why->join : why->any, err);
}
