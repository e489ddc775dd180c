/*
 * list_bytes.c - a list as bytes, for snapshots.
 *
 * A list as bytes:
 *
 *   u32 version | u32 epochs | for each, newest first:
 *     u64 begin | u64 end | u32 threshold | threshold x u64: digests that came
 *     1, 2, ... times, threshold times or more | u64 len | len bytes: the
 *     filter's file (FORMAT.md)
 */
#include "store/list_private.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "filter/envelope.h"

#include <inttypes.h>

enum {
    VERSION = 2,
    HEAD_LEN = 8,
    EPOCH_LEN = 20,
    TIMES_LEN = 8 * UM_LIST_MAX_THRESHOLD
};

static umbel_status write_epoch(const um_epoch *e, const um_sink *to,
                                umbel_error *err)
{
    um_parts parts;
    uint8_t head[EPOCH_LEN + TIMES_LEN + 8];
    um_writer w = {head, head + sizeof head, false};

    UM_TRY(um_parts_init(&parts, e->filter, err));
    um_write_u64(&w, e->begin);
    um_write_u64(&w, e->end);
    um_write_u32(&w, e->threshold);
    for (unsigned j = 1; j <= e->threshold; j++)
        um_write_u64(&w, e->times[j]);
    um_write_u64(&w, parts.part[0].len + parts.part[1].len);
    umbel_status status = um_sink_append(to, head, (size_t)(w.at - head), err);
    for (int i = 0; i < 2 && status == UMBEL_OK; i++)
        status = um_sink_append(to, parts.part[i].data, parts.part[i].len, err);
    um_parts_fini(&parts, e->filter);
    return status;
}

umbel_status um_list_encode(const um_list *l, const um_sink *to,
                            umbel_error *err)
{
    uint8_t head[HEAD_LEN];
    um_writer w = {head, head + sizeof head, false};

    um_write_u32(&w, VERSION);
    um_write_u32(&w, l->n);
    UM_TRY(um_sink_append(to, head, sizeof head, err));
    for (unsigned i = 0; i < l->n; i++)
        UM_TRY(write_epoch(&l->epoch[i], to, err));
    return UMBEL_OK;
}

/* Bytes whose checksum was right are neither cut short nor longer than they
 * were: another version of the kind has another layout. */
static umbel_status check_layout(const um_list *l, const um_feed *from,
                                 uint64_t len, const um_head *head,
                                 umbel_error *err)
{
    uint64_t want = (uint64_t)head->len + head->stored_len;

    if (!from->checked || len == want)
        return um_check_len(head, len, err);
    return um_fail(err, UMBEL_E_VERSION,
                   "list %s was written by another version of this program "
                   "(%" PRIu64 " bytes of kind %s where this one has %" PRIu64
                   "): use that version, or set data to an empty directory",
                   l->name, len, head->shape.kind->name, want);
}

static umbel_status get_head(const um_list *l, um_feed *from, uint64_t len,
                             um_head *head, umbel_error *err)
{
    uint8_t bytes[UM_HEAD_MAX];
    size_t want;

    UM_TRY(um_feed_get(from, bytes, UM_HEAD_START, err));
    UM_TRY(um_head_len(bytes, UM_HEAD_START, &want, err));
    UM_TRY(um_feed_get(from, bytes + UM_HEAD_START, want - UM_HEAD_START, err));
    UM_TRY(um_head_decode(bytes, want, head, err));
    return check_layout(l, from, len, head, err);
}

/* Only what um_list_encode writes: raw, counts, made for a capacity. */
static umbel_status check_epoch(const um_list *l, const um_shape *s,
                                umbel_error *err)
{
    if (s->coded || !s->kind->counting || s->capacity <= UM_LIST_BATCH)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: a filter of kind %s is no epoch of a list",
                       l->name, s->kind->name);
    if (strcmp(s->hash->name, "sip") != 0 || s->seed)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: an epoch with hash %s and seed %" PRIu64,
                       l->name, s->hash->name, s->seed);
    return UMBEL_OK;
}

static umbel_status get_filter(um_list *l, um_feed *from, uint64_t len,
                               umbel_filter **out, umbel_error *err)
{
    umbel_source source = {.size = sizeof source,
                           .verify = !from->checked,
                           .secret = l->secret,
                           .alloc = &l->alloc};
    um_head head;

    UM_TRY(get_head(l, from, len, &head, err));
    UM_TRY(check_epoch(l, &head.shape, err));
    if (head.stored_len > from->left)
        return um_fail(err, UMBEL_E_FORMAT, "list %s is cut short", l->name);
    um_memory memory = {um_get(&l->alloc, head.stored_len), head.stored_len,
                        false};
    if (!memory.base)
        return um_no_memory(err, memory.len);
    umbel_status status = um_feed_get(from, memory.base, memory.len, err);
    if (status != UMBEL_OK) {
        um_memory_free(&memory, &l->alloc);
        return status;
    }
    return um_filter_from_payload(&head, memory.base, memory, &source, out,
                                  err);
}

/* Reads how often digests came, and the length of what follows. */
static umbel_status get_times(um_feed *from, um_epoch *e, uint64_t *len,
                              umbel_error *err)
{
    uint8_t bytes[TIMES_LEN + 8];
    size_t want = 8 * ((size_t)e->threshold + 1);
    um_reader r = {bytes, bytes + want, false};

    UM_TRY(um_feed_get(from, bytes, want, err));
    for (unsigned j = 1; j <= e->threshold; j++)
        e->times[j] = um_get_u64(&r);
    *len = um_get_u64(&r);
    return UMBEL_OK;
}

static umbel_status get_epoch(um_list *l, um_feed *from, umbel_error *err)
{
    uint8_t head[EPOCH_LEN];
    um_reader r = {head, head + sizeof head, false};
    um_epoch e = {0};
    uint64_t len;

    UM_TRY(um_feed_get(from, head, sizeof head, err));
    e.begin = um_get_u64(&r);
    e.end = um_get_u64(&r);
    e.threshold = um_get_u32(&r);
    if (e.threshold > UM_LIST_MAX_THRESHOLD)
        return um_fail(err, UMBEL_E_FORMAT, "list %s: a threshold of %u",
                       l->name, e.threshold);
    if (l->n ? e.end < e.begin : e.end != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: an epoch from %" PRIu64 " to %" PRIu64,
                       l->name, e.begin, e.end);
    UM_TRY(get_times(from, &e, &len, err));
    UM_TRY(get_filter(l, from, len, &e.filter, err));
    l->epoch[l->n++] = e;
    return UMBEL_OK;
}

static umbel_status get_epochs(um_list *l, um_feed *from, umbel_error *err)
{
    uint8_t head[HEAD_LEN];
    um_reader r = {head, head + sizeof head, false};

    UM_TRY(um_feed_get(from, head, sizeof head, err));
    uint32_t version = um_get_u32(&r), n = um_get_u32(&r);
    if (version != VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "list %s was written in version %" PRIu32
                       "; this program reads version %d",
                       l->name, version, VERSION);
    if (n < 1 || n > UM_LIST_MAX_EPOCHS)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s cannot have %" PRIu32 " epochs", l->name, n);
    while (n--)
        UM_TRY(get_epoch(l, from, err));
    um_list_drop(l, l->config.epochs);
    return UMBEL_OK;
}

umbel_status um_list_decode(const um_list_config *c, const uint8_t *secret,
                            um_feed *from, um_list **out, umbel_error *err)
{
    um_list *l;

    UM_TRY(um_list_create(c, secret, &l, err));
    umbel_status status = get_epochs(l, from, err);
    if (status == UMBEL_OK)
        *out = l;
    else
        um_list_close(l);
    return status;
}
