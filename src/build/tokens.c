/*
 * tokens.c - the words of files, for searches by words.
 *
 * A filter of the words of a file decides whether 'grep -w' can find something
 * in it. A word is a run of ASCII letters, digits and '_', or one character
 * that is not ASCII. Neighbouring words, or words with one of . : - @ / between
 * them, form a run (an address, a time, a path, a name in any script), and each
 * part of it with up to RUN words is a key, too: so 10.0.0.1 is one key, and
 * not three that every log contains.
 *
 * What 'grep -w' looks for begins and ends where words of the file begin and
 * end. Its words, and the parts of its runs, are keys of every file that
 * contains it, so none of these files is missed.
 */
#include "build/build.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "keylist/file_input.h"
#include "query/digest_set.h"

#include <umbel/filter.h>

#include <string.h>

enum {
    RUN = 4,
    MAX_WORD = 255, /* longer words are cut, and end their run */
    FIRST_DIGESTS = 4096
};

/* The last words of a run, and where each begins. */
typedef struct word_run {
    uint8_t text[RUN * (MAX_WORD + 1)];
    size_t len, begin[RUN], n;
    bool in_word; /* the last word may go on */
    bool wide;    /* it is a character that is not ASCII */
} word_run;

static bool is_ascii_word(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || c == '_';
}

/* Passes on the last word and the parts of the run that end with it. */
static umbel_status end_word(word_run *r, um_token_fn *take, void *ctx,
                             umbel_error *err)
{
    for (size_t i = r->in_word ? r->n : 0; i-- > 0;) {
        umbel_slice part = {r->text + r->begin[i], r->len - r->begin[i]};
        UM_TRY(take(ctx, part, err));
    }
    r->in_word = false;
    return UMBEL_OK;
}

static void end_run(word_run *r)
{
    r->len = r->n = 0;
    r->in_word = false;
}

static void begin_word(word_run *r, bool wide)
{
    if (r->n == RUN) {
        size_t gone = r->begin[1];
        memmove(r->text, r->text + gone, r->len - gone);
        r->len -= gone;
        for (size_t i = 1; i < RUN; i++)
            r->begin[i - 1] = r->begin[i] - gone;
        r->n--;
    }
    r->begin[r->n++] = r->len;
    r->in_word = true;
    r->wide = wide;
}

static umbel_status scan(word_run *r, const uint8_t *text, size_t len,
                         um_token_fn *take, void *ctx, umbel_error *err)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t c = text[i];
        bool wide = c >= 0x80, goes_on = r->in_word && r->wide == wide &&
                                         (!wide || (c & 0xC0) == 0x80);
        if (!wide && !is_ascii_word(c)) {
            bool joins = r->in_word && strchr(".:-@/", c) && c;
            UM_TRY(end_word(r, take, ctx, err));
            if (joins)
                r->text[r->len++] = c;
            else
                end_run(r);
            continue;
        }
        if (!goes_on) {
            UM_TRY(end_word(r, take, ctx, err));
            begin_word(r, wide);
        } else if (r->len - r->begin[r->n - 1] == MAX_WORD) {
            /* The rest of the word is not part of a run, nor a key. */
            UM_TRY(end_word(r, take, ctx, err));
            while (i < len && (is_ascii_word(text[i]) || text[i] >= 0x80))
                i++;
            end_run(r);
            i--;
            continue;
        }
        r->text[r->len++] = c;
    }
    return UMBEL_OK;
}

umbel_status um_tokens_each(umbel_slice text, um_token_fn *take, void *ctx,
                            umbel_error *err)
{
    word_run r = {.n = 0};

    UM_TRY(scan(&r, text.data, text.len, take, ctx, err));
    return end_word(&r, take, ctx, err);
}

/* The digests of the words of a file. */
typedef struct word_digests {
    const umbel_filter *hasher;
    umbel_digest *digest;
    size_t n, cap;
} word_digests;

static umbel_status drop_equal(word_digests *w, umbel_error *err)
{
    um_digest_set set;
    size_t n = 0;
    umbel_alloc alloc = um_alloc_or_default(NULL);

    if (!w->n)
        return UMBEL_OK;
    UM_TRY(um_digest_set_init(&set, &alloc, w->digest, w->n, err));
    bool *first = calloc(w->n + 1, sizeof *first);
    for (size_t i = 0; first && i < w->n; i++)
        first[i] = um_digest_set_is_first(&set, i);
    um_digest_set_fini(&set);
    if (!first)
        return um_no_memory(err, w->n);
    for (size_t i = 0; i < w->n; i++)
        if (first[i])
            w->digest[n++] = w->digest[i];
    w->n = n;
    free(first);
    return UMBEL_OK;
}

static umbel_status add_word(void *ctx, umbel_slice word, umbel_error *err)
{
    word_digests *w = ctx;

    if (w->n == w->cap) {
        UM_TRY(drop_equal(w, err));
        size_t cap = w->cap ? 2 * w->cap : FIRST_DIGESTS;
        if (w->n > w->cap / 2 || !w->cap) {
            if (!um_array_resize(&w->digest, cap, sizeof *w->digest))
                return um_no_memory(err, cap * sizeof *w->digest);
            w->cap = cap;
        }
    }
    return umbel_digest_many(w->hasher, &word, 1, &w->digest[w->n++], err);
}

static umbel_status read_words(um_input *in, bool fold_case, word_digests *w,
                               umbel_error *err)
{
    uint8_t *text = malloc(UM_READ_LEN);
    word_run r = {.n = 0};
    umbel_status status = UMBEL_OK;
    size_t got = 1;

    if (!text)
        return um_no_memory(err, UM_READ_LEN);
    while (!status && got) {
        status = um_input_read(in, text, UM_READ_LEN, &got, err);
        if (fold_case)
            um_fold_case(text, got, text);
        if (!status)
            status = scan(&r, text, got, add_word, w, err);
    }
    free(text);
    return status ? status : end_word(&r, add_word, w, err);
}

/* Builds the filter of all words in w. */
static umbel_status build(word_digests *w, const umbel_params *params,
                          umbel_filter **out, umbel_error *err)
{
    umbel_params p = *params;
    umbel_filter *f;

    UM_TRY(drop_equal(w, err));
    p.capacity = w->n ? w->n : 1;
    UM_TRY(umbel_create(NULL, &p, &f, err));
    umbel_status status = umbel_add_digests(f, w->digest, w->n, NULL, err);
    if (status)
        umbel_close(f);
    else
        *out = f;
    return status;
}

umbel_status um_tokens_build(const char *path, const umbel_params *params,
                             bool fold_case, umbel_filter **out,
                             umbel_error *err)
{
    um_key_source source = {
        .paths = &path, .npaths = 1, .expected = "a text file"};
    umbel_params small = *params;
    umbel_filter *hasher = NULL;
    word_digests w = {.n = 0};
    um_input *in = NULL;
    bool more;

    small.capacity = 1;
    umbel_status status = umbel_create(NULL, &small, &hasher, err);
    w.hasher = hasher;
    if (!status)
        status = um_input_open(&source, false, &in, err);
    if (!status)
        status = um_input_next_file(in, &more, err);
    if (!status)
        status = read_words(in, fold_case, &w, err);
    if (!status)
        status = build(&w, params, out, err);
    if (in)
        um_input_close(in);
    umbel_close(hasher);
    free(w.digest);
    return status;
}
