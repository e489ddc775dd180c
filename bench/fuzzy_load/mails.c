/*
 * mails.c - texts of mails, as sequences of word numbers.
 */
#include "bench/fuzzy_load/mails.h"

#include "base/rng.h"

#include <stddef.h>
#include <string.h>

enum {
    MAX_WORDS = 512,
    VOCABULARY = 20000,
    GREETINGS = 20,
    GREETING = 8, /* words */
    FOOTERS = 20,
    FOOTER = 25
};

static const um_mail_texts texts[] = {
    {"short", 20, 40, 1},
    {"sixty", 60, 150, 1},
    {"long", 100, 150, 10},
};

const um_mail_texts *um_mail_texts_find(const char *name)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0)
            return &texts[i];
    return NULL;
}

bool um_mail_set_find(const char *name, um_mail_set *out)
{
    static const char *const names[] = {"stored", "near", "footer", "other"};

    for (size_t i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (um_mail_set)i;
            return true;
        }
    return false;
}

typedef struct text {
    uint32_t word[MAX_WORDS];
    size_t n;
} text;

/* Draws a word; some are far more frequent than others. */
static uint32_t draw_word(um_rng *r)
{
    uint64_t x = um_random_below(r, VOCABULARY);
    uint64_t y = um_random_below(r, x + 1);

    return (uint32_t)um_random_below(r, y + 1);
}

static void add_words(text *t, uint64_t seed, size_t n)
{
    um_rng r = {um_mix(seed + 1)};

    for (size_t i = 0; i < n && t->n < MAX_WORDS; i++)
        t->word[t->n++] = draw_word(&r);
}

static void create_text(const um_mail_texts *how, um_mail_set set, uint64_t i,
                        text *t)
{
    um_rng r = {um_mix(1000 + i)};
    bool is_near = false;
    size_t body = how->least + um_random_below(&r, how->more);
    uint64_t greeting = um_random_below(&r, GREETINGS);
    uint64_t footer = um_random_below(&r, FOOTERS);
    if (set == UM_MAIL_NEAR)
        is_near = true, set = UM_MAIL_STORED;
    uint64_t own = (uint64_t)set << 38;
    bool alone =
        set == UM_MAIL_OTHER || (set != UM_MAIL_FOOTER && i % how->every);
    uint64_t common = alone ? (i + 1 + set * UINT64_C(100000)) << 42
                            : (i >> UM_MAIL_SEED) << 34;

    t->n = 0;
    add_words(t, (UINT64_C(1) << 30 | greeting) + common, GREETING);
    add_words(t, (UINT64_C(2) << 30) + own + i, body);
    add_words(t, (UINT64_C(3) << 32 | footer) + common, FOOTER);
    if (!is_near)
        return;
    for (uint64_t k = 1 + um_random_below(&r, 3); k; k--)
        t->word[um_random_below(&r, t->n)] = VOCABULARY + (uint32_t)i % 1000;
}

static void hash_text(const text *t, um_fuzzy_letter *out)
{
    uint64_t h[8] = {1, 2, 3, 4, 5, 6, 7, 8};

    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < 8; k++)
            h[k] = um_mix(h[k] * 31 + t->word[i] + 1);
    for (size_t k = 0; k < 8; k++)
        um_store64(out->digest + 8 * k, h[k]);
}

void um_create_letter(const um_mail_texts *how, um_mail_set set, uint64_t i,
                      um_fuzzy_letter *out)
{
    text t;

    create_text(how, set, i, &t);
    hash_text(&t, out);
    for (size_t k = 0; k < UM_MAIL_SHINGLES; k++) {
        out->shingle[k] = UINT64_MAX;
        for (size_t w = 0; w + 3 <= t.n; w++) {
            uint64_t run = (uint64_t)t.word[w] << 42 |
                           (uint64_t)t.word[w + 1] << 21 | t.word[w + 2];
            uint64_t h = um_mix(run ^ um_mix(k + 77));
            if (h < out->shingle[k])
                out->shingle[k] = h;
        }
    }
}
