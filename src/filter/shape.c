/*
 * shape.c - the shape of a filter, packed into its handle.
 *
 * What only some filters have lies behind the kind's part, in this order:
 *
 *     um_delta    kinds that differences are made of
 *     um_memory   mapped files
 *     keyed       hashes that take a secret
 *     settings    as many as the kind has
 *     spare       fields of a later version
 */
#include "base/error.h"
#include "filter/handle.h"

#include <string.h>

typedef struct keyed {
    uint64_t id;
    um_secret secret;
} keyed;

/* Where these begin, as bytes behind the handle, and where all ends. */
typedef struct parts {
    size_t self, delta, memory, keyed, settings, spare, end;
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
                      size_t spare_len)
{
    parts p = {.self = UM_SELF_AT};

    p.delta = p.self + in_words(kind->self_len);
    p.memory = p.delta + (has_delta(kind) ? sizeof(um_delta) : 0);
    p.keyed = p.memory + (owner == UM_MAPPED ? sizeof(um_memory) : 0);
    p.settings = p.keyed + (hash->keyed ? sizeof(keyed) : 0);
    p.spare = p.settings + um_count_settings(kind) * sizeof(uint64_t);
    p.end = p.spare + spare_len;
    return p;
}

static parts parts_in(const umbel_filter *f)
{
    return parts_of(f->kind, f->hasher.row, (um_owner)f->owner, f->spare_len);
}

/* From self, which lies in the handle: parts of a const one may be written. */
static void *part_at(const umbel_filter *f, size_t offset)
{
    return (uint8_t *)f->self + (offset - UM_SELF_AT);
}

size_t um_handle_len(const um_shape *s, um_owner owner)
{
    return parts_of(s->kind, s->hash, owner, s->spare_len).end;
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
    if (has_delta(f->kind)) /* others have none: the head refuses it */
        *(um_delta *)part_at(f, parts_in(f).delta) = delta;
}

uint64_t um_secret_of(const umbel_filter *f)
{
    if (!f->hasher.row->keyed)
        return 0;
    return ((const keyed *)part_at(f, parts_in(f).keyed))->id;
}

const um_shape *um_get_shape(const umbel_filter *f, um_shape *s)
{
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
        .denied = f->denied,
        .key_form = f->key_form,
        .expansion = f->expansion,
        .delta = *um_delta_of(f),
        .spare_len = f->spare_len,
    };
    memcpy(s->setting, um_settings_of(f),
           um_count_settings(f->kind) * sizeof *s->setting);
    memcpy(s->spare, part_at(f, parts_in(f).spare), s->spare_len);
    return s;
}

/* What decides where parts lie comes first. */
void um_set_shape(umbel_filter *f, const um_shape *s)
{
    f->kind = s->kind;
    f->spare_len = s->spare_len;
    um_layout_init(&f->layout, s->addressing, s->cells, s->hashes, s->seed);
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
    f->denied = s->denied;
    f->key_form = s->key_form & 7;
    f->expansion = s->expansion & UM_EXPANSION_MOST;
    um_set_delta(f, s->delta);
    if (s->hash->keyed)
        ((keyed *)part_at(f, parts_in(f).keyed))->id = s->secret_id;
    memcpy(um_settings_of(f), s->setting,
           um_count_settings(f->kind) * sizeof *s->setting);
    memcpy(part_at(f, parts_in(f).spare), s->spare, s->spare_len);
}
