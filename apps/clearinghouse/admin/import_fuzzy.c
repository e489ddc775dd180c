/*
 * import_fuzzy.c - mails of rspamd's own fuzzy storage.
 *
 * A line is "DIGEST FLAG VALUE TIME SHINGLES": 128 digits, three numbers, and
 * 32 times 16 digits, or 16 dashes where the mail has none, because a later one
 * took it. Such a place gets a key that no mail has.
 */
#include "clearinghouse/admin/import.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/lines.h"
#include "clearinghouse/lists/fuzzy_mails.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEX = 2 * UM_NEAR_NAME, WORD = 16, LINE = 1024 };

typedef struct mail_line {
    uint8_t name[UM_NEAR_NAME];
    uint8_t flag;
    int32_t value;
    uint32_t time;
    bool has_shingles;
    uint64_t shingle[UM_NEAR_SHINGLES];
} mail_line;

static bool read_shingles(const char *text, mail_line *out)
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

static bool read_line(const char *line, mail_line *out)
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
    return um_hex_decode(name, HEX, out->name) && read_shingles(shingles, out);
}

/* *n: lines; E_FORMAT if one is none. */
static umbel_status read_lines(umbel_slice text, mail_line *out, size_t *n,
                               umbel_error *err)
{
    char copy[LINE];

    *n = 0;
    for (umbel_slice line; um_next_line(&text, &line); ++*n) {
        if (!um_line_is_whole(&text, &line) || *n == UM_IMPORT_MAILS ||
            !um_slice_text(line, copy, sizeof copy))
            return um_fail(err, UMBEL_E_FORMAT, "the piece is malformed");
        if (!read_line(copy, &out[*n]))
            return um_fail(err, UMBEL_E_FORMAT,
                           "a line of the piece is malformed");
    }
    return UMBEL_OK;
}

static umbel_status write_lines(const um_environment *env, mail_line *lines,
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
    umbel_status status = read_lines(text, lines, &n, err);
    if (status == UMBEL_OK)
        out->again = um_store_get(env->store, label, &value);
    if (status == UMBEL_OK && !out->again) {
        /* A new block, in which all of it has room: a crash keeps all or
         * nothing. */
        status = um_store_flush(env->store, err);
        if (status == UMBEL_OK)
            status = write_lines(env, lines, n, out, err);
        if (status == UMBEL_OK)
            status = um_store_set(env->store, label, (umbel_slice){"", 0},
                                  env->clock->now, &out->ticket, err);
    }
    free(lines);
    return status;
}
