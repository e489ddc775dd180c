/*
 * query.h - queries keys in a filter by its kind: membership, counts with a
 * threshold, or the values of a map; with exceptions or without.
 */
#ifndef UM_QUERY_QUERY_H
#define UM_QUERY_QUERY_H

#include "base/buffer.h"

#include <umbel/experimental/unless.h>
#include <umbel/filter.h>

#include <stdio.h>

/* The caller fills the first part, then um_query_init the second. */
typedef struct um_query {
    const umbel_filter *filter;
    umbel_filter *const *more; /* counts are sums with these, and a match in
                                  one is a match */
    size_t nmore;
    const umbel_filter *exceptions; /* its keys do not match; or NULL */
    umbel_unless_order order;
    bool values;        /* counts, or values of a map, are wanted */
    uint64_t threshold; /* keys match from this count on; 0: none is asked */
    bool digests;       /* um_query_forms: texts of digest forms are digests */
    bool edits;         /* keys that one edit makes a member match, too; of
                           one filter, without values, threshold, exceptions */

    bool map;      /* values come from a map */
    bool counting; /* values are counts; threshold is at least 1 */
} um_query;

/* The answers to n keys, in memory of the caller. */
typedef struct um_query_result {
    bool *hit;
    uint64_t *values; /* set if query.values or a threshold was asked */
    uint8_t *which;   /* um_query_forms: the key of the question that matched */
    umbel_unless_cost cost;
} um_query_result;

/*
 * Decides what the filter is asked. E_UNSUPPORTED if it has no counts and no
 * values, E_RANGE if no count can reach the threshold.
 */
umbel_status um_query_init(um_query *q, umbel_error *err);

/*
 * Asks for n keys. When a key is refused (E_KEY), *answered is the number of
 * keys before it, which have their answers; else n or 0.
 */
umbel_status um_query_keys(const um_query *q, const umbel_slice *keys, size_t n,
                           um_query_result *out, size_t *answered,
                           umbel_error *err);

/* Returns true if this many false negatives are allowed: any number for kinds
 * that forget, otherwise at most the number recorded in the file. */
bool um_allows_false_negatives(const umbel_filter *f, uint64_t denied);

/* Bytes that um_form_key needs for a key of len bytes. */
#define UM_FORM_SPACE(len) UMBEL_FORM_SPACE(len)
/* Converts a key of that form: umbel_form_key. With digests, a key of a digest
 * form is already a digest, in hexadecimal. E_KEY has the reason alone. */
umbel_status um_form_key(umbel_key_form form, bool digests, umbel_slice key,
                         void *space, umbel_slice *out, umbel_error *err);

/* Fails with the beginning of the key, and the reason. */
umbel_status um_refuse_key(umbel_slice key, const umbel_error *why,
                           umbel_error *err);

/*
 * A question: what a user wrote, as the keys to ask of a filter.
 *
 * The form that the file records decides which keys these are: for most forms
 * one, for a domain the name and each of its parents, for an address each
 * prefix, for a digest form the digest of the text and, if the text is a digest
 * itself, the text. A zeroed question is empty; it is reused, and then
 * allocates only for a longer text than any before.
 */
enum { UM_MAX_CANDIDATES = 132 };

typedef struct um_question {
    /* Set by the caller. */
    bool raw;     /* the text is the stored key: nothing is converted */
    bool digests; /* of digest forms: the text is a digest, never a key */
    umbel_key_form unrecorded; /* form of keys in a file that records none */

    /* Set by um_question_set; read only. */
    umbel_key_form form;
    size_t n; /* keys to ask; 0: the filter has no such networks */
    umbel_slice key[UM_MAX_CANDIDATES]; /* as stored, the most specific first */
    umbel_slice text;                   /* what the user wrote */
    um_buffer space;                    /* for long texts */
    uint8_t few[2304];
    char matched[64];
} um_question;

typedef struct um_question_answer {
    bool hit;
    /* What matched, as people read it: the domain, the prefix, "digest" or
     * "plain key", else the text. Empty if nothing did. It is valid until the
     * question changes. */
    umbel_slice matched;
} um_question_answer;

/*
 * Makes the keys to ask of f; text stays the caller's and must live as long as
 * the question is used. E_KEY, with the reason, if this text cannot be asked in
 * that form, and then the question is empty.
 */
umbel_status um_question_set(um_question *q, const umbel_filter *f,
                             umbel_slice text, umbel_error *err);
/* Does the same for a text that was converted: stored is the key that
 * um_form_key made of it, which must live as long. */
void um_question_expand(um_question *q, const umbel_filter *f,
                        umbel_slice stored, umbel_slice text);
/* Asks f all keys of the question with one call. f has the form that the
 * question was made for. E_KEY if its hash refuses a key. */
umbel_status um_question_ask(um_question *q, const umbel_filter *f,
                             um_question_answer *out, umbel_error *err);
/* Returns key i of the question as people read it: um_question_answer.matched.
 */
umbel_slice um_question_matched(um_question *q, size_t i);
void um_question_fini(um_question *q);

/* Returns true if a question of that form may ask several keys. */
bool um_form_asks_several(umbel_key_form form);

/*
 * Does what um_query_keys does for n questions: stored are the keys that
 * um_form_key made of texts. A question matches if one of its keys does, and no
 * key of it matches the exceptions; its count is the largest.
 */
umbel_status um_query_forms(const um_query *q, const umbel_slice *stored,
                            const umbel_slice *texts, size_t n,
                            um_query_result *out, size_t *answered,
                            umbel_error *err);

/* Returns how many keys a usual question of that form asks: of a domain with
 * four labels; the prefix lengths of the family that has more. */
unsigned um_form_lookups(const umbel_filter *f);
/* Returns it for a filter that does not exist yet; of networks 33, every prefix
 * length of IPv4. */
unsigned um_form_lookups_of(umbel_key_form form);
/* Returns the error rate of a question from that of a key. */
double um_question_error(double key_error, unsigned lookups);

/* Returns the name of a form in options and reports: "hex", "sha1"; "text" for
 * files that do not record it. */
const char *um_form_option(umbel_key_form form);

/*
 * Answers for programs: a line, or a JSON object, for every question
 * (answer.c).
 *
 * This is the protocol of 'umbel check --answer' and of the socket of
 * 'umbel serve': every line that comes in is answered by one line.
 */
typedef enum um_answered {
    UM_ANSWERED_NO,
    UM_ANSWERED_YES,
    UM_ANSWERED_REFUSED
} um_answered;

/*
 * Asks f about a text and prints the answer: "1", "0", or "-" if the text is
 * refused; a tab, the text, a tab; what matched, or the reason of the refusal;
 * and end.
 */
um_answered um_answer_line(um_question *q, const umbel_filter *f,
                           umbel_slice text, char end, FILE *out);
/* Prints such a line for a text that no filter is asked about. */
void um_answer_refusal(umbel_slice text, const char *why, char end, FILE *out);

/* Does the same as um_answer_line with a JSON object, without a newline: key,
 * match, matched and form; key and error for a refused text. */
um_answered um_answer_json(um_question *q, const umbel_filter *f,
                           umbel_slice text, FILE *out);

enum { UM_ANSWER_MAX = 1 << 20 }; /* bytes of a key */
#define UM_ANSWER_TOO_LONG "longer than 1 MiB, the limit for a key"

typedef struct um_lines {
    /* Set by the caller. */
    size_t max; /* bytes of a line */
    char end;   /* ends a line: '\n', before which a '\r' is removed, or '\0' */
    /* Called for every line; too_long: it has more than max bytes, and text is
     * empty. */
    void (*take)(void *ctx, umbel_slice text, bool too_long);
    void *ctx;

    /* Set by um_lines_take; zeroed at first. */
    size_t scanned; /* bytes without an end, at the start of the next input */
    bool skipping;  /* in a line that is too long */
} um_lines;

/*
 * Passes on up to n lines and returns how many bytes they were; the caller
 * passes the rest again, with the bytes that follow. last: nothing follows, and
 * what is left is a line, too. At most max + 1 bytes are left without a line.
 */
size_t um_lines_take(um_lines *l, const uint8_t *bytes, size_t len, size_t n,
                     bool last);

/*
 * Keys that are one edit away from a member.
 *
 * Every key that one deleted, replaced or inserted character makes is queried:
 * Manber and Wu's question about passwords (survey 3.1), asked of a filter of
 * any kind. Characters are the printable ones of ASCII; a character of several
 * bytes can be deleted byte by byte only. A key of n bytes takes n + 94 n + 95
 * (n + 1) look-ups at most, and each of them may be a false positive.
 */
enum { UM_EDITS_LONGEST = 256 }; /* bytes of a key */

/* Returns how many keys are asked for one of that many bytes. */
uint64_t um_edits_lookups(size_t len);

/*
 * Sets *hit to true if f matches a key that one edit makes of key; the key
 * itself is not asked. E_KEY if it is too long, or f refuses the keys.
 */
umbel_status um_query_edits(const umbel_filter *f, const umbel_slice *key,
                            bool *hit, umbel_error *err);

/*
 * One question for many digests, one answer at a time.
 */
typedef void um_hit_fn(void *ctx, size_t i, bool hit);

/*
 * Queries f for n digests, a batch at a time, and hands each answer to take.
 * Digests that match exceptions (NULL for none) do not match.
 */
umbel_status um_query_each(const umbel_filter *f,
                           const umbel_filter *exceptions,
                           const umbel_digest *digests, size_t n,
                           um_hit_fn *take, void *ctx, umbel_error *err);

#endif
