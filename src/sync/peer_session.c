/*
 * peer_session.c - the engine: its lists, the time, and its sessions with
 * peers.
 *
 * Each side starts a new session with each connection. It discards what it knew
 * about the other side, and ignores messages of old sessions.
 */
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/rng.h"
#include "filter/head.h"
#include "sync/internal.h"

#include <umbel/counting.h>

#include <sodium.h>
#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
/* gcc's analyzer reports memory owned by a peer as leaked. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum {
    TICK_BYTES = 512 << 10, /* of replicas indexed in one tick ... */
    SLICE_BYTES = 32 << 10, /* ... or where no call may take long */
    PAGE_BYTES = 65536      /* by default */
};

/* --- sessions with peers -------------------------------------------------- */

void um_receive_buffer_fini(umbel_sync *s, um_receive_buffer *g)
{
    for (size_t i = 0; i < g->npages; i++)
        free(g->page[i].cells);
    free(g->page);
    umbel_close(g->filter);
    um_buffer_fini(&g->old);
    s->memory -= g->memory;
    *g = (um_receive_buffer){.active = false};
}

static uint64_t next_session(umbel_sync *s)
{
    uint64_t n = s->connections++;

    return n ? um_mix(um_mix(s->set.session) + n) | 1 : s->set.session;
}

umbel_status umbel_sync_connect(umbel_sync *s, int *peer, umbel_error *err)
{
    size_t i = 0;

    while (i < s->npeers && s->peer[i].used)
        i++;
    if (i >= s->limit.peers)
        return um_fail(err, UMBEL_E_LIMIT,
                       "peer limit reached (%u); raise peers", s->limit.peers);
    if (i == s->npeers) {
        um_peer *all = um_grow_array(s->peer, &s->npeers, sizeof *all);
        if (!all)
            return um_no_memory(err, sizeof *all);
        s->peer = all;
    }
    s->peer[i] = (um_peer){.used = true, .hello = true};
    s->peer[i].own_session = next_session(s);
    *peer = (int)i;
    return UMBEL_OK;
}

void um_peer_forget(umbel_sync *s, um_peer *p)
{
    if (s->work.peer == (int)(p - s->peer)) /* stop work for this peer */
        s->work.kind = UM_WORK_NONE;
    um_receive_buffer_fini(s, &p->receive);
    free(p->replica);
    free(p->log);
    free(p->proved);
    free(p->unwanted);
    free(p->declined);
    p->replica = NULL;
    p->log = NULL;
    p->proved = NULL;
    p->unwanted = p->declined = NULL;
    p->nreplicas = p->nlogs = p->nproved = p->nunwanted = p->ndeclined = 0;
    p->known = p->done = p->said_done = false;
}

void um_peers_restart(umbel_sync *s)
{
    for (size_t i = 0; i < s->npeers; i++) {
        um_peer *p = &s->peer[i];
        if (!p->used)
            continue;
        um_peer_forget(s, p);
        p->own_session = next_session(s);
        p->session = 0; /* makes it send HELLO at once */
        p->hello = true;
    }
}

void umbel_sync_disconnect(umbel_sync *s, int peer)
{
    um_peer *p = &s->peer[peer];

    if (!p->used)
        return;
    um_peer_forget(s, p);
    *p = (um_peer){.used = false};
}

static void *extend(void *array, size_t *have, size_t want, size_t size)
{
    if (*have >= want)
        return array;
    if (!um_array_resize(&array, want, size))
        return NULL;
    memset((uint8_t *)array + *have * size, 0, (want - *have) * size);
    *have = want;
    return array;
}

bool um_peer_extend(const umbel_sync *s, um_peer *p)
{
    void *replica =
        extend(p->replica, &p->nreplicas, s->nreplicas, sizeof *p->replica);
    if (replica || !s->nreplicas)
        p->replica = replica;
    void *log = extend(p->log, &p->nlogs, s->nlogs, sizeof *p->log);
    if (log || !s->nlogs)
        p->log = log;
    void *proved =
        extend(p->proved, &p->nproved, s->ncontradictions, sizeof *p->proved);
    if (proved || !s->ncontradictions)
        p->proved = proved;
    return p->nreplicas >= s->nreplicas && p->nlogs >= s->nlogs &&
           p->nproved >= s->ncontradictions;
}

/* Returns the time at which the version after this one came, or the earliest
 * known time after that. */
static uint64_t replaced_at(const um_replica *c, uint64_t version)
{
    uint64_t since = c->seen;

    for (size_t i = c->nsteps; i && c->step[i - 1].from.version >= version; i--)
        if (c->step[i - 1].ended)
            since = c->step[i - 1].ended;
    return since;
}

void umbel_sync_peer_stats_get(const umbel_sync *s, int peer,
                               umbel_sync_peer_stats *out)
{
    const um_peer *p = &s->peer[peer];

    *out = p->stats;
    out->known = p->known;
    out->ahead = false;
    out->behind = out->lacks_since = 0;
    for (size_t i = 0; i < s->nreplicas; i++) {
        const um_replica *c = s->replica[i];
        uint64_t acked = i < p->nreplicas ? p->replica[i].acked : 0;
        out->ahead |= c && c->own && acked > c->now.version;
        if (!c || c->now.version <= acked ||
            (p->session && !um_peer_has_list(p, c)))
            continue;
        uint64_t since = replaced_at(c, acked);
        out->behind++;
        if (!out->lacks_since || since < out->lacks_since)
            out->lacks_since = since;
    }
}

bool um_peer_wants(const um_peer *p, const uint8_t *origin)
{
    for (size_t i = 0; i < p->nunwanted; i++)
        if (memcmp(p->unwanted[i], origin, UMBEL_ORIGIN_LEN) == 0)
            return false;
    return true;
}

void um_peer_prove(um_peer_replica *pc, uint64_t version)
{
    pc->prove = true;
    pc->proof = version;
}

/* --- opening -------------------------------------------------------------- */

static umbel_status check_name(const char *name, umbel_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = name ? strlen(name) : 0;

    if (!len || len >= UMBEL_SYNC_MAX_NAME || strspn(name, letters) != len)
        return um_fail(err, UMBEL_E_RANGE,
                       "the name of a list has 1 to 63 letters, digits and "
                       ". _ -");
    return UMBEL_OK;
}

/* Returns true if the text is printable and contains no blanks. */
bool um_is_agree(const char *text)
{
    size_t len = 0;

    for (; text[len]; len++)
        if (text[len] <= ' ' || text[len] > '~' ||
            len + 1 == UMBEL_SYNC_MAX_AGREE)
            return false;
    return len > 0;
}

static umbel_status copy_agree(um_sync_list *l, const char *text,
                               umbel_error *err)
{
    if (!text)
        return UMBEL_OK;
    if (!um_is_agree(text))
        return um_fail(err, UMBEL_E_RANGE,
                       "agree has 1 to 63 printable characters");
    memcpy(l->agree, text, strlen(text) + 1);
    return UMBEL_OK;
}

static void digest_list(um_sync_list *l)
{
    um_shape shape = *um_shape_of(l->shape);
    uint8_t head[UM_HEAD_MAX], numbers[16];
    crypto_generichash_state h;

    shape.added = 0;
    shape.coded = false;
    size_t len = um_head_encode(&shape, 0, NULL, head);
    um_store64(numbers, l->set.epoch_seconds);
    um_store64(numbers + 8, l->set.page_bytes);
    crypto_generichash_init(&h, (const uint8_t *)"umbel-sync-list1", 16,
                            UM_HASH_LEN);
    crypto_generichash_update(&h, (const uint8_t *)l->name,
                              strlen(l->name) + 1);
    crypto_generichash_update(&h, numbers, sizeof numbers);
    crypto_generichash_update(&h, head, len);
    crypto_generichash_update(&h, (const uint8_t *)l->agree, strlen(l->agree));
    crypto_generichash_final(&h, l->digest, UM_HASH_LEN);
}

static umbel_status open_list(um_sync_list *l, const umbel_sync_list *from,
                              umbel_error *err)
{
    l->set = *from;
    l->set.epochs = from->epochs ? from->epochs : 1;
    l->set.quorum = from->quorum ? from->quorum : 1;
    l->set.page_bytes = from->page_bytes ? from->page_bytes : PAGE_BYTES;
    UM_TRY(check_name(from->name, err));
    memcpy(l->name, from->name, strlen(from->name) + 1);
    UM_TRY(copy_agree(l, from->agree, err));
    l->set.agree = NULL; /* it belongs to the caller */
    if (l->set.page_bytes < UM_MIN_PAGE || l->set.page_bytes > UM_MAX_PAGE)
        return um_fail(err, UMBEL_E_RANGE, "page_bytes is 512 to 1048576");
    UM_TRY(um_pages_init(&l->pages, um_shape_of(from->shape), l->set.page_bytes,
                         err));
    UM_TRY(um_filter_like(from->shape, &l->shape, err));
    l->lazy_page = um_lazy_page(&l->shape->alloc, l->shape->payload_len);
    umbel_set_coded(l->shape, false);
    UM_TRY(umbel_set_data(l->shape, NULL, 0, err));
    digest_list(l);
    if (!um_tree_init_empty(&l->tree, &l->pages, l->shape->payload))
        return um_no_memory(err, l->pages.n * UM_HASH_LEN);
    memcpy(l->empty, um_tree_root(&l->tree), UM_HASH_LEN);
    return UMBEL_OK;
}

static void set_limits(umbel_sync_limits *l)
{
    static const umbel_sync_limits standard = {.memory = 1 << 30,
                                               .origins = 256,
                                               .incarnations = 4,
                                               .peers = 256,
                                               .message_bytes = 2 << 20,
                                               .log_entries = 65536,
                                               .log_entry_bytes = 4096,
                                               .log_bytes = 16 << 20,
                                               .clock_skew = 3600,
                                               .retry_seconds = 30};
#define UM_SET(field) l->field = l->field ? l->field : standard.field
    UM_SET(memory);
    UM_SET(origins);
    UM_SET(incarnations);
    UM_SET(peers);
    UM_SET(message_bytes);
    UM_SET(log_entries);
    UM_SET(log_entry_bytes);
    UM_SET(log_bytes);
    UM_SET(clock_skew);
    UM_SET(retry_seconds);
#undef UM_SET
}

umbel_status umbel_sync_full_memory(const umbel_sync_list *list, size_t n,
                                    uint64_t origins, umbel_sync_memory *out,
                                    umbel_error *err)
{
    /* Parts of updates, one from each origin; the index leaves space for some
     * replicas, too. */
    uint64_t spare = origins > UM_SPARE_REPLICAS ? origins : UM_SPARE_REPLICAS;
    umbel_sync_memory need = {0};
    uint64_t largest = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t page = list[i].page_bytes ? list[i].page_bytes : PAGE_BYTES;
        uint64_t epochs = list[i].epochs ? list[i].epochs : 1;
        um_pages pages;
        UM_TRY(um_pages_init(&pages, um_shape_of(list[i].shape), page, err));
        uint64_t one = um_replica_full_bytes(&pages);
        need.replicas += (origins + 1) * epochs * one;
        need.index += um_index_bytes(&list[i], origins * epochs);
        largest = one > largest ? one : largest;
    }
    need.replicas += spare * largest;
    *out = need;
    return UMBEL_OK;
}

static umbel_status open_lists(umbel_sync *s, umbel_error *err)
{
    size_t largest = 0;

    for (size_t i = 0; i < s->nlists; i++) {
        UM_TRY(open_list(&s->list[i], &s->set.lists[i], err));
        if (s->list[i].pages.max_page > largest)
            largest = s->list[i].pages.max_page;
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->list[i].name, s->list[j].name) == 0)
                return um_fail(err, UMBEL_E_RANGE, "two lists are named %s",
                               s->list[i].name);
    }
    if (s->limit.message_bytes / 4 < largest)
        return um_fail(err, UMBEL_E_RANGE,
                       "message_bytes is less than four pages");
    s->scratch = malloc(2 * largest + 8);
    s->growth = malloc(um_growth_size());
    return s->scratch && s->growth ? UMBEL_OK : um_no_memory(err, 2 * largest);
}

umbel_status umbel_sync_open(const umbel_sync_params *p, umbel_sync **out,
                             umbel_error *err)
{
    umbel_sync *s;

    if (p->size < sizeof *p)
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not set: start from UMBEL_SYNC_INIT");
    if (!p->incarnation || !p->session || p->nlists > UMBEL_SYNC_MAX_LISTS)
        return um_fail(err, UMBEL_E_RANGE,
                       "incarnation and session are not 0, and there are at "
                       "most 64 lists");
    if (sodium_init() < 0)
        return um_fail(err, UMBEL_E_IO, "the system gives no random numbers");
    s = calloc(1, sizeof *s);
    if (!s)
        return um_no_memory(err, sizeof *s);
    s->set = *p;
    s->limit = p->limits;
    set_limits(&s->limit);
    s->incarnation = p->incarnation;
    if (p->sign_key) {
        memcpy(s->sign_key, p->sign_key, sizeof s->sign_key);
        crypto_sign_ed25519_sk_to_pk(s->origin, s->sign_key);
        s->set.sign_key = s->sign_key;
    }
    s->nlists = p->nlists;
    s->list = calloc(p->nlists + 1, sizeof *s->list);
    umbel_status status = um_no_memory(err, sizeof *s->list);
    if (s->list)
        status = open_lists(s, err);
    if (status)
        umbel_sync_close(s);
    else
        *out = s;
    return status;
}

static void close_list(umbel_sync *s, um_sync_list *l)
{
    um_index_fini(s, l);
    um_totals_fini(s, l);
    umbel_close(l->shape);
    um_tree_fini(&l->tree);
}

void umbel_sync_close(umbel_sync *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->npeers; i++)
        umbel_sync_disconnect(s, (int)i);
    for (size_t i = 0; i < s->nreplicas; i++)
        um_replica_free(s, i);
    for (size_t i = 0; i < s->nlogs; i++)
        um_log_forget(s, &s->log[i]);
    for (size_t i = 0; s->list && i < s->nlists; i++)
        close_list(s, &s->list[i]);
    free(s->list);
    free(s->replica);
    free(s->order);
    free(s->held);
    free(s->log);
    free(s->contradiction);
    free(s->rule);
    free(s->peer);
    free(s->growth);
    free(s->scratch);
    um_buffer_fini(&s->out);
    um_buffer_fini(&s->work.message);
    um_buffer_fini(&s->work.in.cells);
    sodium_memzero(s->sign_key, sizeof s->sign_key);
    free(s);
}

const uint8_t *umbel_sync_origin(const umbel_sync *s)
{
    return s->set.sign_key ? s->origin : NULL;
}

uint64_t umbel_sync_incarnation(const umbel_sync *s)
{
    return s->incarnation;
}

/* Accepts origins again that were declined, because there is more memory. */
static void forget_declined(umbel_sync *s)
{
    for (size_t i = 0; i < s->npeers; i++) {
        um_peer *p = &s->peer[i];
        p->report_rules |= p->used && p->ndeclined;
        p->ndeclined = 0;
    }
}

/* --- time ----------------------------------------------------------------- */

static void expire(umbel_sync *s, size_t list, uint64_t oldest)
{
    bool any = false;

    s->list[list].oldest = oldest;
    for (size_t i = 0; i < s->nreplicas; i++) {
        const um_replica *c = s->replica[i];
        if (!c || c->id.list != list ||
            !um_sync_is_expired(c->id.epoch, oldest))
            continue;
        any = true;
        um_replica_free(s, i);
    }
    if (any)
        forget_declined(s);
    if (any)
        um_sync_emit(s, &(umbel_sync_event){.kind = UMBEL_SYNC_EXPIRED,
                                            .peer = -1,
                                            .list = (int)list,
                                            .epoch = oldest - 1});
}

void umbel_sync_tick(umbel_sync *s, uint64_t now)
{
    if (now > s->now)
        s->now = now;
    for (size_t i = 0; i < s->nlists; i++) {
        um_sync_list *l = &s->list[i];
        uint64_t epoch =
            l->set.epoch_seconds ? s->now / l->set.epoch_seconds : 0;
        if (epoch <= l->epoch)
            continue;
        l->epoch = epoch;
        if (epoch >= l->set.epochs && epoch - l->set.epochs + 1 > l->oldest)
            expire(s, i, epoch - l->set.epochs + 1);
    }
    umbel_sync_index(s);
}

bool umbel_sync_index(umbel_sync *s)
{
    size_t bytes = s->limit.slice_pages ? SLICE_BYTES : TICK_BYTES;

    return um_totals_work(s, um_index_work(s, bytes)) < bytes;
}

uint64_t umbel_sync_epoch(const umbel_sync *s, size_t list)
{
    return s->list[list].epoch;
}
