/*
 * keys.h - the keys of a command, and its arguments.
 */
#ifndef UM_MODULE_KEYS_H
#define UM_MODULE_KEYS_H

#include "module/runtime/api.h"
#include "module/runtime/type.h"

/* The server's reply to a key of another type. */
#define UM_NO_FILTER "key: no filter of that name: see UMB.RESERVE"
#define UM_WRONG_TYPE                                                          \
    "WRONGTYPE Operation against a key holding the wrong kind of value"

/* Replies "ERR " and the text. Returns UM_DONE, like commands. */
int um_reply_error(um_ctx *ctx, const umbel_error *err);
int um_reply_text(um_ctx *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Finds the value of a key of that type; *value is NULL if the key does not
 * exist. It is valid until the command ends. Returns false after a WRONGTYPE
 * reply.
 */
bool um_find_value(um_ctx *ctx, um_str *name, const um_type *type,
                   void **value);
/* Finds the filter of a key; false after an error reply, if there is no key or
 * it has another type. */
bool um_find_body(um_ctx *ctx, um_str *name, um_body **out);

/*
 * Returns true if a call failed because the filter is locked, and it could now
 * be unlocked: the secret file may have been set after the filter was loaded.
 */
bool um_unlocked_now(um_body *b, umbel_status status);

/* Compares a word with a lower-case keyword, ignoring case. */
bool um_is_word(const um_str *word, const char *keyword);
/* Returns true, after an error reply, if the option at argv[at] occurs before;
 * options start at argv[first], each with a value. Commands from a primary are
 * accepted: the last value wins, as it did there. */
bool um_is_repeated(um_ctx *ctx, um_str **argv, int first, int at);
/* Parses a number; false after an error reply that names the argument. */
bool um_whole_arg(um_ctx *ctx, const char *name, const um_str *word,
                  uint64_t most, uint64_t *out);
bool um_share_arg(um_ctx *ctx, const char *name, const um_str *word,
                  double *out);

/* Arguments as keys of a filter: in a small array, or allocated. */
enum { UM_INLINE_ITEMS = 128 };
typedef struct um_items {
    umbel_slice few[UM_INLINE_ITEMS], *key;
    bool few_flags[UM_INLINE_ITEMS], *flag; /* one flag per key */
    size_t n;
    uint8_t *formed; /* converted keys; NULL: the keys are the arguments */
    bool raw;        /* RAW was given: items are stored keys */
} um_items;

/* Fills items from argv[0..n). Returns false after an error reply if there is
 * no memory. */
bool um_items_init(um_ctx *ctx, um_items *items, um_str **argv, int n);
void um_items_fini(um_items *items);

/* Returns true if items of f are converted: the form that it records is not
 * text as it is. */
bool um_items_convert(const umbel_filter *f);

/*
 * Converts the items to the keys that f stores (umbel_form_key). Commands from
 * the primary or the AOF have stored keys, which stay as they are. Returns
 * false after an error reply: no memory, or an item of another form.
 */
bool um_items_form(um_ctx *ctx, um_items *items, const umbel_filter *f);

#endif
