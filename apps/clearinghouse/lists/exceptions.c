/*
 * exceptions.c - digests that servers took back, sorted by digest and list.
 */
#include "clearinghouse/lists/exceptions.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "clearinghouse/peering/peers.h"
#include "clearinghouse/runtime/digest_text.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIXED_LEN = 33,
    MAX_LEN = FIXED_LEN + UM_LIST_MAX_NAME + UM_DIGEST_TEXT
};

struct um_exceptions {
    const umbel_sync *machine; /* that they were read from */
    uint64_t changes;
    um_exception *item;
    size_t n;
};

/* --- entries -------------------------------------------------------------- */

static umbel_slice write_body(const um_exception *e, uint8_t out[MAX_LEN])
{
    const char *list = um_protocol_list(e->list);
    um_writer w = {out, out + MAX_LEN, false};
    uint8_t len = (uint8_t)strlen(list);

    um_write_u64(&w, e->made);
    um_write_u64(&w, e->begin);
    um_write_u64(&w, e->digest.lo);
    um_write_u64(&w, e->digest.hi);
    um_write_bytes(&w, &len, 1);
    um_write_bytes(&w, list, len);
    um_write_bytes(&w, e->text.data, e->text.len);
    return (umbel_slice){out, (size_t)(w.at - out)};
}

/* A server may have written anything. */
static bool read_entry(const umbel_sync_entry *from, um_exception *out)
{
    um_reader r = {from->body.data,
                   (const uint8_t *)from->body.data + from->body.len, false};
    char list[UM_LIST_MAX_NAME + 1] = "", text[UM_DIGEST_TEXT];
    uint8_t len = 0;

    if (from->type != UM_LOG_FORGET)
        return false;
    *out = (um_exception){.origin = from->origin,
                          .incarnation = from->incarnation,
                          .seq = from->seq};
    out->made = um_get_u64(&r);
    out->begin = um_get_u64(&r);
    out->digest.lo = um_get_u64(&r);
    out->digest.hi = um_get_u64(&r);
    um_get_bytes(&r, &len, 1);
    if (r.bad || len >= sizeof list)
        return false;
    um_get_bytes(&r, list, len);
    out->list = (unsigned)um_protocol_list_find(list);
    out->text = (umbel_slice){r.at, (size_t)(r.end - r.at)};
    return !r.bad && um_protocol_list(out->list) &&
           um_signature_read(out->text, text, NULL) == UMBEL_OK;
}

umbel_status um_exceptions_append(um_server *h, const um_exception *e,
                                  uint64_t *ticket, umbel_error *err)
{
    uint8_t body[MAX_LEN];

    return um_peers_append(h->peers, UM_LOG_FORGET, write_body(e, body), ticket,
                           err);
}

umbel_status um_exceptions_undo(um_server *h, unsigned list,
                                const umbel_digest *d, size_t *n,
                                uint64_t *ticket, umbel_error *err)
{
    const uint8_t *ours = umbel_sync_origin(h->machine);
    um_exception e;
    uint8_t body[16];

    *n = 0;
    for (size_t at = 0; um_exceptions_next(h, list, d, &at, &e);) {
        if (memcmp(e.origin, ours, UMBEL_ORIGIN_LEN) != 0)
            continue;
        um_store64(body, e.incarnation);
        um_store64(body + 8, e.seq);
        UM_TRY(um_peers_append(h->peers, UMBEL_SYNC_LOG_RETRACT,
                               (umbel_slice){body, sizeof body}, ticket, err));
        ++*n;
        at = 0; /* the set is another */
    }
    return UMBEL_OK;
}

/* --- the set -------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const um_exception *a, const um_exception *b)
{
    int lo = compare_numbers(a->digest.lo, b->digest.lo);
    int hi = compare_numbers(a->digest.hi, b->digest.hi);

    return lo ? lo : hi ? hi : compare_numbers(a->list, b->list);
}

/* Those of one origin follow each other. */
static int compare_exceptions(const void *a, const void *b)
{
    const um_exception *one = a, *other = b;
    int keys = compare_keys(one, other);

    return keys ? keys : memcmp(one->origin, other->origin, UMBEL_ORIGIN_LEN);
}

static void read_all(struct um_exceptions *x)
{
    umbel_sync_entry entry;
    um_exception e;
    size_t cap = 0;

    x->n = 0;
    free(x->item);
    x->item = NULL;
    for (size_t at = 0; umbel_sync_next_entry(x->machine, &at, &entry);) {
        if (!read_entry(&entry, &e))
            continue;
        if (!um_array_reserve(&x->item, &cap, x->n + 1, sizeof *x->item))
            break;
        x->item[x->n++] = e;
    }
    if (x->n)
        qsort(x->item, x->n, sizeof *x->item, compare_exceptions);
}

/* The set as it is now; NULL: there are no peers, or is no memory. */
static const struct um_exceptions *present_set(const um_server *h)
{
    struct um_exceptions *x = h->others_exceptions;

    if (!h->machine || !x)
        return NULL;
    if (x->machine != h->machine ||
        x->changes != umbel_sync_log_changes(h->machine)) {
        x->machine = h->machine;
        x->changes = umbel_sync_log_changes(h->machine);
        read_all(x);
    }
    return x;
}

static size_t first_of(const struct um_exceptions *x, const um_exception *key)
{
    size_t low = 0, high = x->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare_keys(&x->item[mid], key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool um_exceptions_next(const um_server *h, unsigned list,
                        const umbel_digest *d, size_t *at, um_exception *out)
{
    const struct um_exceptions *x = present_set(h);
    um_exception key = {.list = list};

    if (!x)
        return false;
    if (d)
        key.digest = *d;
    if (d && *at == 0)
        *at = first_of(x, &key);
    if (*at >= x->n || (d && compare_keys(&x->item[*at], &key) != 0))
        return false;
    *out = x->item[(*at)++];
    return true;
}

bool um_exceptions_none(const um_server *h)
{
    const struct um_exceptions *x = present_set(h);

    return !x || !x->n;
}

void um_exceptions_free(struct um_exceptions *x)
{
    if (x)
        free(x->item);
    free(x);
}

struct um_exceptions *um_exceptions_create(void)
{
    return calloc(1, sizeof(struct um_exceptions));
}
