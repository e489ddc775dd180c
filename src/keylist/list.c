/*
 * list.c - all keys of a source in memory.
 */
#include "keylist/list.h"

#include "base/batch.h"
#include "base/buffer.h"
#include "base/error.h"

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

/* Resizes the arrays that are kept to cap keys. */
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
        resize_list(&r, r.list.n); /* smaller: what fails changes nothing */
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
