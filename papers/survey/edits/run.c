/*
 * run.c - survey-edits: passwords that are one edit away from a bad one
 * (section 3.1, after Manber and Wu): umbel check --edits 1.
 */
#include "papers/survey/filters.h"
#include "query/query.h"

#include <math.h>
#include <string.h>

enum {
    WORDS = 2000,
    LENGTH = 8,
    EDITED = 200,
    STRANGERS = 100,
    BITS = 48000, /* error about 1e-5, enough to count */
    HASHES = 16
};
enum { FOUND, ACCEPTED, EXPECTED, WIDTH };

static void draw_word(um_rng *rng, char word[LENGTH])
{
    for (size_t i = 0; i < LENGTH; i++)
        word[i] = (char)('a' + um_random_below(rng, 26));
}

/* Deletes, replaces or inserts one character. */
static size_t edit(um_rng *rng, const char word[LENGTH], char out[LENGTH + 1])
{
    size_t way = um_random_below(rng, 3);
    size_t at = um_random_below(rng, way == 2 ? LENGTH + 1 : LENGTH);
    size_t gone = way<2, more = way> 0;

    memcpy(out, word, at);
    if (more)
        out[at] = (char)('0' + um_random_below(rng, 10));
    memcpy(out + at + more, word + at + gone, LENGTH - at - gone);
    return LENGTH + more - gone;
}

static umbel_status is_near(const umbel_filter *f, const char *text, size_t len,
                            double *hits, umbel_error *err)
{
    umbel_slice key = {text, len};
    bool hit = false;
    umbel_status status = um_query_edits(f, &key, &hit, err);

    *hits += hit;
    return status;
}

static umbel_status ask(um_round *r, const umbel_filter *f, char word[][LENGTH],
                        double *out, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    char text[LENGTH + 1];

    for (size_t i = 0; status == UMBEL_OK && i < EDITED; i++) {
        size_t len = edit(&r->rng, word[i], text);
        status = is_near(f, text, len, &out[FOUND], err);
    }
    for (size_t i = 0; status == UMBEL_OK && i < STRANGERS; i++) {
        draw_word(&r->rng, text);
        status = is_near(f, text, LENGTH, &out[ACCEPTED], err);
    }
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    static const double all = 1;
    char word[WORDS][LENGTH];
    umbel_filter *f;
    umbel_status status = um_survey_open("bloom", BITS, HASHES, NULL,
                                         um_random(&r->rng), &f, err);

    if (status != UMBEL_OK)
        return status;
    for (size_t i = 0; i < WORDS; i++)
        draw_word(&r->rng, word[i]);
    status = umbel_add_fixed(f, word, LENGTH, WORDS, NULL, err);
    out[FOUND] = out[ACCEPTED] = 0;
    if (status == UMBEL_OK)
        status = ask(r, f, word, out, err);
    out[FOUND] /= EDITED;
    out[EXPECTED] =
        all - pow(all - umbel_predict(f), (double)um_edits_lookups(LENGTH));
    out[ACCEPTED] /= STRANGERS;
    umbel_close(f);
    return status;
}

static void conclude(um_study *s)
{
    um_mean expected = um_column(s, EXPECTED),
            accepted = um_column(s, ACCEPTED);
    double n = STRANGERS * (double)s->rounds;

    um_check_value(s, "share of edited members that is found",
                   um_column(s, FOUND).value, NAN);
    um_check_value(s, "look-ups for a key of 8 letters",
                   (double)um_edits_lookups(LENGTH), NAN);
    um_check_value(s, "others accepted over what f and the look-ups give",
                   accepted.value / expected.value,
                   sqrt(expected.value / n) / expected.value);
    um_record_note(
        &s->record,
        "umbel check --edits 1 asks for every key that one edit "
        "makes. Nobody within one edit is missed; each of the "
        "look-ups may be a false positive, so the filter wants a "
        "rate a thousand times lower (the command prints that). Here "
        "the rate is high, so that errors can be counted.");
}

const um_paper um_paper_survey_edits = {
    .name = "survey-edits",
    .source = SURVEY_SOURCE "section 3.1",
    .claim = "passwords within edit distance 1 of a bad one are found, too",
    .rounds = 200,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};
