/*
 * truth.c - all shingles of all stored mails in one sorted list, and a count
 * for each mail.
 */
#include "bench/fuzzy_load/truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
    uint64_t shingle;
    uint32_t mail;
    uint8_t position;
} place;

typedef struct truth {
    place *place;
    uint64_t first, n; /* first and number of mails */
    uint8_t *agree, *own;
} truth;

static int compare(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->shingle != y->shingle)
        return x->shingle < y->shingle ? -1 : 1;
    return (x->mail > y->mail) - (x->mail < y->mail);
}

static void fill(truth *t, const um_mail_texts *texts)
{
    place *at = t->place;

    for (uint64_t i = 0; i < t->n; i++) {
        um_fuzzy_letter letter;

        um_create_letter(texts, UM_MAIL_STORED, t->first + i, &letter);
        for (unsigned k = 0; k < UM_MAIL_SHINGLES; k++)
            *at++ = (place){letter.shingle[k], (uint32_t)i, (uint8_t)k};
    }
    qsort(t->place, t->n * UM_MAIL_SHINGLES, sizeof *t->place, compare);
}

/* Returns the first place that does not sort before one. */
static uint64_t find(const truth *t, const place *one)
{
    uint64_t low = 0, high = t->n * UM_MAIL_SHINGLES;

    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (compare(&t->place[middle], one) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Counts the mails that have the shingle at its position; the last of them owns
 * it. */
static void count(const truth *t, const place *one)
{
    uint64_t end = t->n * UM_MAIL_SHINGLES, i = find(t, one);
    const place *last = NULL;

    for (; i < end && t->place[i].position == one->position &&
           t->place[i].shingle == one->shingle;
         i++) {
        last = &t->place[i];
        t->agree[last->mail]++;
    }
    if (last)
        t->own[last->mail]++;
}

static unsigned max_of(const uint8_t *count_of, uint64_t n)
{
    unsigned most = 0;

    for (uint64_t i = 0; i < n; i++)
        most = count_of[i] > most ? count_of[i] : most;
    return most;
}

static void print_mail(const truth *t, const um_fuzzy_letter *letter)
{
    memset(t->agree, 0, t->n);
    memset(t->own, 0, t->n);
    for (unsigned k = 0; k < UM_MAIL_SHINGLES; k++)
        count(t, &(place){letter->shingle[k], 0, (uint8_t)k});
    printf("%u %u\n", max_of(t->agree, t->n), max_of(t->own, t->n));
}

bool um_print_truth(const um_mail_texts *texts, um_mail_set set, uint64_t first,
                    uint64_t n)
{
    truth t = {.place = malloc(n * UM_MAIL_SHINGLES * sizeof *t.place),
               .first = first,
               .n = n,
               .agree = malloc(n),
               .own = malloc(n)};
    bool ready = t.place && t.agree && t.own;

    if (ready)
        fill(&t, texts);
    for (uint64_t i = 0; ready && i < n; i++) {
        um_fuzzy_letter letter;

        um_create_letter(texts, set, first + i, &letter);
        print_mail(&t, &letter);
    }
    free(t.place);
    free(t.agree);
    free(t.own);
    return ready;
}
