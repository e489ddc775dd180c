/*
 * import_pieces.c - the server's side of import: adds counts and mails of
 * another server, in pieces.
 *
 * A piece has a name: the checksum of the file that it comes from and its
 * number there. The store records which pieces were counted, in one block with
 * their counts, so that a piece that is sent again, after a crash or by
 * mistake, counts once.
 */
#include "clearinghouse/admin/internal.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/text.h"
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/fuzzy_mails.h"
#include "clearinghouse/runtime/digest_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- counts of pyzord: lines "DIGEST REPORTS WHITELISTINGS" --------------- */

typedef struct count_line {
    char digest[UM_DIGEST_TEXT];
    unsigned long long count[2]; /* for Pyzor's two lists, in their order */
} count_line;

_Static_assert(2 * UM_IMPORT_LINES <= UM_STORE_BATCH, "one append");

static umbel_status parse_counts(umbel_slice text, count_line *out, size_t *n,
                                 umbel_error *err)
{
    char copy[128], typed[41], rest;
    umbel_slice line;

    for (*n = 0; um_next_line(&text, &line); ++*n) {
        count_line *l = &out[*n];
        if (*n == UM_IMPORT_LINES)
            return um_fail(err, UMBEL_E_LIMIT, "a piece has at most %d lines",
                           UM_IMPORT_LINES);
        if (!um_line_is_whole(&text, &line) ||
            !um_slice_text(line, copy, sizeof copy) ||
            sscanf(copy, "%40s %llu %llu%c", typed, &l->count[0], &l->count[1],
                   &rest) != 3)
            return um_fail(err, UMBEL_E_FORMAT,
                           "a line of the piece is malformed");
        UM_TRY(um_signature_read((umbel_slice){typed, strlen(typed)}, l->digest,
                                 err));
    }
    return UMBEL_OK;
}

/* Returns the largest count of a list. */
static uint64_t count_limit(const um_environment *env, unsigned list)
{
    um_list_stats stats;

    um_list_stats_get(um_store_list(env->store, list), &stats);
    return stats.count_limit < UINT32_MAX ? stats.count_limit : UINT32_MAX;
}

static bool is_left_out(const um_environment *env, const count_line *l,
                        unsigned list, const umbel_digest *d)
{
    umbel_slice text = {l->digest, strlen(l->digest)};

    return um_digest_is_empty_text(text) ||
           um_lists_welcomes(env->lists, text) ||
           um_forgotten(env->lists, list, d) ||
           !um_store_accepts(env->store, list, d, env->clock->now);
}

/* Fills entry from the lines that add to a count; returns the number of
 * entries. */
static size_t append_entries(const um_environment *env, const count_line *lines,
                             size_t n, um_entry *entry, um_import_result *out)
{
    size_t made = 0;

    for (size_t i = 0; i < n; i++) {
        umbel_slice key = {lines[i].digest, strlen(lines[i].digest)};
        umbel_digest d;
        bool any = false;
        um_store_digest(env->store, &key, 1, &d);
        for (unsigned j = 0; j < 2; j++) {
            uint64_t amount = lines[i].count[j];
            uint64_t most = count_limit(env, UM_LIST_PYZOR_REPORTS + j);
            if (!amount ||
                is_left_out(env, &lines[i], UM_LIST_PYZOR_REPORTS + j, &d))
                continue;
            out->saturated += amount > most;
            entry[made++] =
                (um_entry){.list = UM_LIST_PYZOR_REPORTS + j,
                           .digest = d,
                           .amount = (uint32_t)(amount < most ? amount : most)};
            any = true;
        }
        out->counted += any;
        out->left_out += !any;
    }
    return made;
}

umbel_status um_import_pyzor(const um_environment *env, const char *name,
                             umbel_slice text, um_import_result *out,
                             umbel_error *err)
{
    count_line lines[UM_IMPORT_LINES];
    um_entry entry[2 * UM_IMPORT_LINES];
    char note[80];
    umbel_slice value;
    size_t n;

    *out = (um_import_result){.again = false};
    UM_TRY(parse_counts(text, lines, &n, err));
    snprintf(note, sizeof note, "imported/%s", name);
    umbel_slice label = {note, strlen(note)};
    if (um_store_get(env->store, label, &value)) {
        out->again = true;
        return UMBEL_OK;
    }
    n = append_entries(env, lines, n, entry, out);
    if (n)
        UM_TRY(um_store_add(env->store, entry, n, env->clock->now, &out->ticket,
                            err));
    return um_store_set(env->store, label, (umbel_slice){"", 0},
                        env->clock->now, &out->ticket, err);
}

/* --- mails of rspamd's fuzzy storage ---------------------------------------
 *
 * A line is "DIGEST FLAG VALUE TIME SHINGLES": 128 digits, three numbers, and
 * 32 times 16 digits, or 16 dashes for a shingle that now belongs to a later
 * mail. Such a shingle gets a key that no mail has.
 */

enum { HEX = 2 * UM_NEAR_NAME, WORD = 16, LINE = 1024 };

typedef struct mail_line {
    uint8_t name[UM_NEAR_NAME];
    uint8_t flag;
    int32_t value;
    uint32_t time;
    bool has_shingles;
    uint64_t shingle[UM_NEAR_SHINGLES];
} mail_line;

static bool parse_shingles(const char *text, mail_line *out)
{
    for (size_t i = 0; i < UM_NEAR_SHINGLES; i++, text += WORD) {
        uint8_t bytes[8];
        if (strncmp(text, "----------------", WORD) == 0) {
            out->shingle[i] = um_remix(um_load64(out->name) + i);
            continue;
        }
        if (!um_hex_decode(text, WORD, bytes))
            return false;
        out->shingle[i] = um_load64(bytes);
        out->has_shingles = true;
    }
    return true;
}

static bool parse_mail(const char *line, mail_line *out)
{
    char name[HEX + 1], shingles[UM_NEAR_SHINGLES * WORD + 1], rest;
    unsigned flag, time;
    int value;

    *out = (mail_line){.flag = 0};
    if (sscanf(line, "%128s %3u %11d %10u %512s%c", name, &flag, &value, &time,
               shingles, &rest) != 5 ||
        strlen(name) != HEX || strlen(shingles) != sizeof shingles - 1 ||
        flag > UINT8_MAX || !time)
        return false;
    out->flag = (uint8_t)flag;
    out->value = value;
    out->time = time;
    return um_hex_decode(name, HEX, out->name) && parse_shingles(shingles, out);
}

/* Parses the lines of a piece; *n is their number. Returns E_FORMAT if one is
 * malformed. */
static umbel_status parse_mails(umbel_slice text, mail_line *out, size_t *n,
                                umbel_error *err)
{
    char copy[LINE];

    *n = 0;
    for (umbel_slice line; um_next_line(&text, &line); ++*n) {
        if (!um_line_is_whole(&text, &line) || *n == UM_IMPORT_MAILS ||
            !um_slice_text(line, copy, sizeof copy))
            return um_fail(err, UMBEL_E_FORMAT, "the piece is malformed");
        if (!parse_mail(copy, &out[*n]))
            return um_fail(err, UMBEL_E_FORMAT,
                           "a line of the piece is malformed");
    }
    return UMBEL_OK;
}

static umbel_status write_mails(const um_environment *env, mail_line *lines,
                                size_t n, um_import_result *out,
                                umbel_error *err)
{
    uint64_t secret[UM_NEAR_SHINGLES], ticket;
    um_fuzzy_view view;

    um_fuzzy_secrets(env->lists, secret);
    for (size_t i = 0; i < n; i++) {
        mail_line *l = &lines[i];
        for (size_t k = 0; k < UM_NEAR_SHINGLES; k++)
            l->shingle[k] = um_near_shingle(l->shingle[k], secret[k]);
        um_fuzzy_change c = {.name = l->name,
                             .flag = l->flag,
                             .amount = l->value,
                             .stamp = l->time,
                             .shingle = l->has_shingles ? l->shingle : NULL};
        umbel_status status =
            um_fuzzy_write(env->lists, UM_LIST_FUZZY, &view, &c, &ticket);
        if (status != UMBEL_OK && status != UMBEL_E_FULL)
            return um_fail(err, UMBEL_E_IO, "the store has failed");
        bool counted = status == UMBEL_OK && ticket;
        out->counted += counted;
        out->left_out += !counted;
        if (ticket)
            out->ticket = ticket;
    }
    return UMBEL_OK;
}

umbel_status um_import_fuzzy(const um_environment *env, const char *name,
                             umbel_slice text, um_import_result *out,
                             umbel_error *err)
{
    mail_line *lines = calloc(UM_IMPORT_MAILS, sizeof *lines);
    umbel_slice label, value;
    char note[80];
    size_t n;

    if (!lines)
        return um_no_memory(err, UM_IMPORT_MAILS * sizeof *lines);
    *out = (um_import_result){.again = false};
    int len = snprintf(note, sizeof note, "imported/%s", name);
    label = (umbel_slice){note, (size_t)len};
    umbel_status status = parse_mails(text, lines, &n, err);
    if (status == UMBEL_OK)
        out->again = um_store_get(env->store, label, &value);
    if (status == UMBEL_OK && !out->again) {
        /* Begins a new block, which has space for the whole piece: after a
         * crash all of it or nothing is there. */
        status = um_store_flush(env->store, err);
        if (status == UMBEL_OK)
            status = write_mails(env, lines, n, out, err);
        if (status == UMBEL_OK)
            status = um_store_set(env->store, label, (umbel_slice){"", 0},
                                  env->clock->now, &out->ticket, err);
    }
    free(lines);
    return status;
}
