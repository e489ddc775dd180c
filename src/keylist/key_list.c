/*
 * key_list.c - all keys of a source in memory.
 */
#include "keylist/key_list.h"

#include "base/alloc.h"
#include "base/batch.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"

enum { FIRST_KEYS = 16 * UM_BATCH, FIRST_TEXT = 1 << 16 };

typedef struct list_reading {
    um_key_list list;
    const um_key_format *format;
    const um_key_list_params *params;
} list_reading;

void um_key_list_fini(um_key_list *k)
{
    free(k->digests);
    free(k->weights);
    free(k->amounts);
    free(k->text);
    free(k->line_end);
    *k = (um_key_list){0};
}

/* Resizes the arrays in use to cap keys. */
static bool resize_list(list_reading *r, size_t cap)
{
    um_key_list *k = &r->list;

    if ((r->params->filter &&
         !um_array_resize(&k->digests, cap, sizeof *k->digests)) ||
        (r->format->weights &&
         !um_array_resize(&k->weights, cap, sizeof *k->weights)) ||
        (um_format_has_amounts(r->format) &&
         !um_array_resize(&k->amounts, cap, sizeof *k->amounts)) ||
        (r->params->keep_lines &&
         !um_array_resize(&k->line_end, cap, sizeof *k->line_end)))
        return false;
    k->cap = cap;
    return true;
}

static umbel_status reserve(list_reading *r, size_t more, umbel_error *err)
{
    const um_key_list *k = &r->list;
    size_t most = r->params->max_keys ? r->params->max_keys : SIZE_MAX;
    size_t cap = k->cap ? k->cap : FIRST_KEYS;

    if (more > most - k->n)
        return um_fail_detail(err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
                              "more than %zu keys", most);
    if (k->cap - k->n >= more)
        return UMBEL_OK;
    while (cap - k->n < more)
        cap *= 2;
    if (!resize_list(r, cap < most ? cap : most))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for more than %zu keys",
                       k->n);
    return UMBEL_OK;
}

static bool append_line(um_key_list *k, size_t i, const umbel_slice *line)
{
    if (k->text_cap - k->text_len < line->len) {
        size_t cap = 2 * k->text_cap + line->len + FIRST_TEXT;
        if (!um_array_resize(&k->text, cap, 1))
            return false;
        k->text_cap = cap;
    }
    memcpy(k->text + k->text_len, line->data, line->len);
    k->text_len += line->len;
    k->line_end[i] = k->text_len;
    return true;
}

static umbel_status append_keys(void *ctx, const um_key_batch *batch,
                                const umbel_digest *digests, umbel_error *err)
{
    list_reading *r = ctx;
    um_key_list *k = &r->list;

    UM_TRY(reserve(r, batch->n, err));
    if (k->digests && digests)
        memcpy(k->digests + k->n, digests, batch->n * sizeof *digests);
    if (k->weights)
        memcpy(k->weights + k->n, batch->weights,
               batch->n * sizeof *k->weights);
    if (k->amounts)
        memcpy(k->amounts + k->n, batch->amounts,
               batch->n * sizeof *k->amounts);
    for (size_t i = 0; k->line_end && i < batch->n; i++)
        if (!append_line(k, k->n + i, &batch->lines[i]))
            return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu lines", k->n);
    k->n += batch->n;
    return UMBEL_OK;
}

static umbel_status append_batch(void *ctx, const um_key_batch *batch,
                                 umbel_error *err)
{
    return append_keys(ctx, batch, NULL, err);
}

umbel_status um_key_list_read(um_key_list *out, const um_key_source *s,
                              const um_key_list_params *params,
                              umbel_error *err)
{
    list_reading r = {.format = &s->format, .params = params};
    umbel_status status = UMBEL_OK;

    if (s->npaths && params->filter)
        status = um_keys_each_digest(s, params->filter, append_keys, &r, err);
    else if (s->npaths)
        status = um_keys_each_batch(s, append_batch, &r, err);
    if (status != UMBEL_OK)
        um_key_list_fini(&r.list);
    else if (r.list.n)
        resize_list(&r, r.list.n); /* shrinks: a failure does no harm */
    *out = r.list;
    return status;
}

umbel_key_list um_key_list_view(const um_key_list *k)
{
    umbel_key_list view = UMBEL_KEY_LIST(k->digests, k->n);

    view.weights = k->weights;
    return view;
}

umbel_slice um_key_list_line(const um_key_list *k, size_t i)
{
    size_t from = i ? k->line_end[i - 1] : 0;

    return (umbel_slice){k->text + from, k->line_end[i] - from};
}

/*
 * The digests of a key source.
 */

/* --- digests read again each time ----------------------------------------- */

typedef struct taking {
    um_digests_fn *take;
    void *ctx;
} taking;

static umbel_status deliver_batch(void *ctx, const um_key_batch *batch,
                                  const umbel_digest *digests, umbel_error *err)
{
    const taking *t = ctx;

    return t->take(t->ctx, digests, batch->n, err);
}

static umbel_status each_of_keys(const void *ctx, size_t from, size_t to,
                                 um_digests_fn *take, void *take_ctx,
                                 umbel_error *err)
{
    const um_key_digests *d = ctx;
    taking t = {take, take_ctx};

    (void)from;
    (void)to;
    return um_keys_each_digest(&d->keys, d->filter, deliver_batch, &t, err);
}

/* --- digests in memory ---------------------------------------------------- */

static umbel_status each_kept(const void *ctx, size_t from, size_t to,
                              um_digests_fn *take, void *take_ctx,
                              umbel_error *err)
{
    const um_key_digests *d = ctx;
    umbel_digest made[UM_BATCH];

    for (size_t some; from < to; from += some) {
        some = um_next_batch(to - from);
        for (size_t i = 0; !d->all && i < some; i++)
            made[i] =
                (umbel_digest){d->lo[from + i], um_remix(d->lo[from + i])};
        UM_TRY(take(take_ctx, d->all ? d->all + from : made, some, err));
    }
    return UMBEL_OK;
}

/* Resizes the array in use. Huge pages reduce page faults while it fills. The
 * advice extends to the end of the last page, because a mapping whose parts
 * have different advice cannot grow in place, and would be copied. */
static bool resize(um_key_digests *d, size_t cap)
{
    enum { PAGE = 4096, HUGE_FROM = 4 << 20 };

    if (d->all ? !um_array_resize(&d->all, cap, sizeof *d->all)
               : !um_array_resize(&d->lo, cap, sizeof *d->lo))
        return false;
    uint8_t *at = d->all ? (uint8_t *)d->all : (uint8_t *)d->lo;
    size_t len = cap * (d->all ? sizeof *d->all : sizeof *d->lo);
    size_t before = (uintptr_t)at % PAGE;
    if (len >= HUGE_FROM)
        um_use_huge_pages(at - before, before + len, true);
    d->cap = cap;
    return true;
}

static bool reserve_digests(um_key_digests *d, size_t more)
{
    size_t cap = d->cap ? d->cap : (size_t)16 * UM_BATCH;

    while (cap - d->n < more)
        cap *= 2;
    return cap == d->cap || resize(d, cap);
}

/* Switches from lo alone to whole digests. */
static bool widen(um_key_digests *d)
{
    umbel_digest *all = malloc((d->cap ? d->cap : 1) * sizeof *all);

    if (!all)
        return false;
    for (size_t i = 0; i < d->n; i++)
        all[i] = (umbel_digest){d->lo[i], um_remix(d->lo[i])};
    free(d->lo);
    d->lo = NULL;
    d->all = all;
    return true;
}

static bool follow(const umbel_digest *digests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (digests[i].hi != um_remix(digests[i].lo))
            return false;
    return true;
}

static umbel_status retain_batch(void *ctx, const um_key_batch *batch,
                                 const umbel_digest *digests, umbel_error *err)
{
    um_key_digests *d = ctx;

    if (batch->n > d->most - d->n)
        return um_fail_detail(err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
                              "more than %zu keys", d->most);
    if ((!d->all && !follow(digests, batch->n) && !widen(d)) ||
        !reserve_digests(d, batch->n))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for more than %zu keys",
                       d->n);
    if (d->all)
        memcpy(d->all + d->n, digests, batch->n * sizeof *digests);
    for (size_t i = 0; d->lo && i < batch->n; i++)
        d->lo[d->n + i] = digests[i].lo;
    d->n += batch->n;
    return UMBEL_OK;
}

/* Stores the digests, unless files have more than d->most keys: then *kept is
 * false, which is not an error. */
static umbel_status retain_digests(um_key_digests *d, bool *kept,
                                   umbel_error *err)
{
    umbel_error reason = {0};
    umbel_status status =
        um_keys_each_digest(&d->keys, d->filter, retain_batch, d, &reason);

    *kept = status == UMBEL_OK;
    if (reason.detail == UMBEL_D_MEMORY_LIMIT) {
        um_key_digests_fini(d);
        return UMBEL_OK;
    }
    if (status && err)
        *err = reason;
    return status;
}

umbel_status um_key_digests_init(um_key_digests *d, const um_key_source *keys,
                                 const umbel_filter *filter, size_t kept,
                                 um_digest_source *out, umbel_error *err)
{
    uint64_t n = 0;
    bool all = false;

    *d = (um_key_digests){.keys = *keys, .filter = filter, .most = SIZE_MAX};
    if (um_keys_rereadable(keys))
        d->most = kept;
    if (d->most > 0)
        UM_TRY(retain_digests(d, &all, err));
    if (all) {
        *out = (um_digest_source){d, d->n, true, each_kept};
        return UMBEL_OK;
    }
    d->keys.pass = "choosing cells of members";
    UM_TRY(um_keys_count(keys, &n, err));
    *out = (um_digest_source){d, (size_t)n, false, each_of_keys};
    return UMBEL_OK;
}

void um_key_digests_fini(um_key_digests *d)
{
    free(d->lo);
    free(d->all);
    d->lo = NULL;
    d->all = NULL;
    d->n = d->cap = 0;
}
