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

/* Replies "ERR " and the text. Returns UM_DONE, as commands do. */
int um_reply_error(um_ctx *ctx, const umbel_error *err);
int um_reply_text(um_ctx *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Gives the value of a key of that type, NULL when the key does not exist. It
 * is valid until the command ends. False after a WRONGTYPE reply.
 */
bool um_find_value(um_ctx *ctx, um_str *name, const um_type *type,
                   void **value);
/* Gives the filter of a key; false after a reply: another type, or no key. */
bool um_find_body(um_ctx *ctx, um_str *name, um_body **out);

/*
 * Returns true if a call failed for want of the secret, and the filter could be
 * unlocked: the secret file may have been set after the filter was loaded.
 */
bool um_unlocked_now(um_body *b, umbel_status status);

/* Compares a word with a keyword in lower case, in any case. */
bool um_is_word(const um_str *word, const char *keyword);
/* Returns true, after a reply, if the option at argv[at] stands before among
 * those from first on, each with a value. What a primary sends is taken: the
 * last one wins, as it did there. */
bool um_is_repeated(um_ctx *ctx, um_str **argv, int first, int at);
/* Read a number; false after a reply that names the argument. */
bool um_whole_arg(um_ctx *ctx, const char *name, const um_str *word,
                  uint64_t most, uint64_t *out);
bool um_share_arg(um_ctx *ctx, const char *name, const um_str *word,
                  double *out);

/* Arguments as keys of a filter: in a small array, or in memory. */
enum { UM_INLINE_ITEMS = 128 };
typedef struct um_items {
    umbel_slice few[UM_INLINE_ITEMS], *key;
    bool few_flags[UM_INLINE_ITEMS], *flag; /* one for each */
    size_t n;
} um_items;

/* Takes argv[0..n). False after a reply: no memory. */
bool um_items_init(um_ctx *ctx, um_items *items, um_str **argv, int n);
void um_items_fini(um_items *items);

#endif
