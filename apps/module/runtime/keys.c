/*
 * keys.c - the keys of a command, and its arguments.
 */
#include "module/runtime/keys.h"

#include "base/text.h"
#include "cli/framework/numbers.h"
#include "module/runtime/type.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <umbel/describe.h>
#include <umbel/filter.h>

int um_reply_text(um_ctx *ctx, const char *format, ...)
{
    char text[300] = "ERR ";
    va_list list;

    va_start(list, format);
    vsnprintf(text + 4, sizeof text - 4, format, list);
    va_end(list);
    um_disarm(text); /* a line break would end the reply */
    return um_api.ReplyWithError(ctx, text);
}

int um_reply_error(um_ctx *ctx, const umbel_error *err)
{
    return um_reply_text(ctx, "%s", err->text);
}

bool um_find_value(um_ctx *ctx, um_str *name, const um_type *type, void **value)
{
    um_key *key = um_api.OpenKey(ctx, name, UM_READ);
    bool right = true;

    *value = NULL;
    if (!key)
        return true;
    right = um_api.ModuleTypeGetType(key) == type;
    if (right)
        *value = um_api.ModuleTypeGetValue(key);
    um_api.CloseKey(key);
    if (!right)
        um_api.ReplyWithError(ctx, UM_WRONG_TYPE);
    return right;
}

bool um_find_body(um_ctx *ctx, um_str *name, um_body **out)
{
    void *value;

    if (!um_find_value(ctx, name, um_filter_type, &value))
        return false;
    *out = value;
    if (!value)
        um_reply_text(ctx, UM_NO_FILTER);
    return value;
}

bool um_items_init(um_ctx *ctx, um_items *items, um_str **argv, int n)
{
    items->n = (size_t)n;
    items->formed = NULL;
    items->raw = false;
    items->key = items->few;
    items->flag = items->few_flags;
    if (n > UM_INLINE_ITEMS) {
        items->key = um_api.TryAlloc(items->n * (sizeof *items->key + 1));
        if (!items->key)
            return um_reply_text(ctx, "no memory for %d keys", n), false;
        items->flag = (bool *)(items->key + items->n);
    }
    for (size_t i = 0; i < items->n; i++)
        items->key[i].data = um_api.StringPtrLen(argv[i], &items->key[i].len);
    return true;
}

void um_items_fini(um_items *items)
{
    if (items->key != items->few)
        um_api.Free(items->key);
    if (items->formed)
        um_api.Free(items->formed);
}

bool um_items_convert(const umbel_filter *f)
{
    umbel_key_form form = umbel_key_form_of(f);

    return form != UMBEL_KEYS_TEXT && form != UMBEL_KEYS_UNRECORDED &&
           form != UMBEL_KEYS_INTEGER;
}

bool um_items_form(um_ctx *ctx, um_items *items, const umbel_filter *f)
{
    umbel_error err;
    size_t len = 1;

    if (!um_items_convert(f) || items->raw || um_from_primary(ctx))
        return true;
    for (size_t i = 0; i < items->n; i++)
        len += UMBEL_FORM_SPACE(items->key[i].len);
    uint8_t *space = items->formed = um_api.TryAlloc(len);
    if (!space)
        return um_reply_text(ctx, "no memory for %zu keys", items->n), false;
    for (size_t i = 0; i < items->n; i++) {
        umbel_slice *key = &items->key[i];
        len = key->len;
        if (umbel_form_key(f, key->data, len, space, key, &err) != UMBEL_OK)
            return um_reply_text(ctx, "item: %s", err.text), false;
        space += UMBEL_FORM_SPACE(len);
    }
    return true;
}

bool um_unlocked_now(um_body *b, umbel_status status)
{
    umbel_digest digest;

    if (status != UMBEL_E_SECRET || b->holders > 1)
        return false;
    um_try_unlock(b->filter);
    return umbel_digest_fixed(b->filter, "", 0, 1, &digest, NULL) == UMBEL_OK;
}

bool um_is_word(const um_str *word, const char *keyword)
{
    size_t len;
    const char *text = um_api.StringPtrLen(word, &len);

    return len == strlen(keyword) && strncasecmp(text, keyword, len) == 0;
}

bool um_is_repeated(um_ctx *ctx, um_str **argv, int first, int at)
{
    const char *word = um_api.StringPtrLen(argv[at], NULL);

    for (int i = first; i < at && !um_from_primary(ctx); i += 2)
        if (um_is_word(argv[i], word)) {
            um_reply_text(ctx, "%s is given twice", word);
            return true;
        }
    return false;
}

bool um_whole_arg(um_ctx *ctx, const char *name, const um_str *word,
                  uint64_t most, uint64_t *out)
{
    size_t len;
    const char *text = um_api.StringPtrLen(word, &len);

    if (strlen(text) == len && um_parse_whole(text, out) && *out <= most)
        return true;
    um_reply_text(ctx, "%s must be a whole number from 0 to %" PRIu64, name,
                  most);
    return false;
}

/* Accepts a number between 0 and 1; NaN fails the comparisons. */
bool um_share_arg(um_ctx *ctx, const char *name, const um_str *word,
                  double *out)
{
    size_t len;
    const char *text = um_api.StringPtrLen(word, &len);

    if (strlen(text) == len && um_parse_real(text, out) && *out > 0 && *out < 1)
        return true;
    um_reply_text(ctx, "%s must be between 0 and 1, such as 0.01", name);
    return false;
}
