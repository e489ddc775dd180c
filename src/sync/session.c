/*
 * sync.c - the machine: lists and time.
 */
#include "base/error.h"
#include "filter/head.h"
#include "sync/internal.h"

#include <umbel/counting.h>

#include <sodium.h>
#include <stdlib.h>

enum {
    TICK_BYTES = 512 << 10, /* of copies that are indexed at once ... */
    SLICE_BYTES = 32 << 10  /* ... where no call may take long */
};

/* --- rules ---------------------------------------------------------------- */

static bool signed_by(const uint8_t *origin, const void *text, size_t len,
                      const uint8_t *signature)
{
    return crypto_sign_verify_detached(signature, text, len, origin) == 0;
}

static void sign(const uint8_t *key, const void *text, size_t len,
                 uint8_t *signature)
{
    crypto_sign_detached(signature, NULL, text, len, key);
}

static bool is_newer(uint64_t have, uint64_t version)
{
    return version > have;
}

static bool fits_base(uint64_t have, uint64_t base)
{
    return base == 0 || base == have;
}

static bool is_expired(uint64_t epoch, uint64_t oldest)
{
    return epoch < oldest;
}

static bool same_session(uint64_t expected, uint64_t session)
{
    return expected == session;
}

const um_sync_rules um_sync_rules_standard = {.signed_by = signed_by,
                                              .sign = sign,
                                              .is_newer = is_newer,
                                              .fits_base = fits_base,
                                              .has_grown = um_growth_check,
                                              .is_expired = is_expired,
                                              .same_session = same_session};

void um_sync_set_rules(umbel_sync *s, const um_sync_rules *rules)
{
    s->rules = rules;
}

static const char *const reason_names[] = {
#define UM_REASON_NAME(name, text) [UMBEL_SYNC_##name] = text,
    UMBEL_SYNC_REASON_LIST(UM_REASON_NAME)
#undef UM_REASON_NAME
};

const char *umbel_sync_reason_name(umbel_sync_reason reason)
{
    return reason < UMBEL_SYNC_REASONS ? reason_names[reason] : "unknown";
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

/* Returns true for a text that is one: printable, without blanks. */
bool um_is_agree(const char *text)
{
    size_t len = 0;

    for (; text[len]; len++)
        if (text[len] <= ' ' || text[len] > '~' ||
            len + 1 == UMBEL_SYNC_MAX_AGREE)
            return false;
    return len > 0;
}

static umbel_status copy_agree(um_sync_of_list *l, const char *text,
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

static void digest_list(um_sync_of_list *l)
{
    um_shape shape = *um_shape_of(l->shape);
    uint8_t head[UM_HEAD_MAX], numbers[16];
    crypto_generichash_state h;

    shape.added = 0;
    shape.coded = false;
    size_t len = um_head_append(&shape, 0, NULL, head);
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

static umbel_status open_list(um_sync_of_list *l, const umbel_sync_list *from,
                              umbel_error *err)
{
    l->set = *from;
    l->set.epochs = from->epochs ? from->epochs : 1;
    l->set.quorum = from->quorum ? from->quorum : 1;
    l->set.page_bytes = from->page_bytes ? from->page_bytes : 65536;
    UM_TRY(check_name(from->name, err));
    memcpy(l->name, from->name, strlen(from->name) + 1);
    UM_TRY(copy_agree(l, from->agree, err));
    l->set.agree = NULL; /* the caller's */
    if (l->set.page_bytes < UM_PAGE_LEAST || l->set.page_bytes > UM_PAGE_MOST)
        return um_fail(err, UMBEL_E_RANGE, "page_bytes is 512 to 1048576");
    UM_TRY(um_pages_init(&l->pages, um_shape_of(from->shape), l->set.page_bytes,
                         err));
    UM_TRY(um_filter_like(from->shape, &l->shape, err));
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
    s->rules = &um_sync_rules_standard;
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

static void close_list(umbel_sync *s, um_sync_of_list *l)
{
    um_columns_fini(s, l);
    um_sums_fini(s, l);
    umbel_close(l->shape);
    um_tree_fini(&l->tree);
}

void umbel_sync_close(umbel_sync *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->npeers; i++)
        umbel_sync_disconnect(s, (int)i);
    for (size_t i = 0; i < s->ncopies; i++)
        um_copy_free(s, i);
    for (size_t i = 0; i < s->nlogs; i++)
        um_forget_origin(s, s->log[i].origin, NULL);
    for (size_t i = 0; s->list && i < s->nlists; i++)
        close_list(s, &s->list[i]);
    free(s->list);
    free(s->copy);
    free(s->order);
    free(s->held);
    free(s->log);
    free(s->contradiction);
    free(s->rule);
    free(s->peer);
    free(s->growth);
    free(s->scratch);
    um_bytes_fini(&s->out);
    um_bytes_fini(&s->work.message);
    um_bytes_fini(&s->work.in.cells);
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

void um_sync_tell(umbel_sync *s, const umbel_sync_event *e)
{
    if (s->set.event)
        s->set.event(s->set.ctx, e);
}

/* --- time ----------------------------------------------------------------- */

static void expire(umbel_sync *s, size_t list, uint64_t oldest)
{
    bool any = false;

    s->list[list].oldest = oldest;
    for (size_t i = 0; i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        if (!c || c->id.list != list ||
            !s->rules->is_expired(c->id.epoch, oldest))
            continue;
        any = true;
        um_copy_free(s, i);
    }
    if (any)
        um_sync_tell(s, &(umbel_sync_event){.kind = UMBEL_SYNC_EXPIRED,
                                            .peer = -1,
                                            .list = (int)list,
                                            .epoch = oldest - 1});
}

void umbel_sync_tick(umbel_sync *s, uint64_t now)
{
    if (now > s->now)
        s->now = now;
    for (size_t i = 0; i < s->nlists; i++) {
        um_sync_of_list *l = &s->list[i];
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

    return um_sums_work(s, um_columns_work(s, bytes)) < bytes;
}

uint64_t umbel_sync_epoch(const umbel_sync *s, size_t list)
{
    return s->list[list].epoch;
}
