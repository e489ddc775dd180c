/*
 * import.c - counts of another server.
 */
#include "clearinghouse/admin/import.h"

#include "base/error.h"
#include "base/lines.h"
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/runtime/digest_text.h"

#include <stdio.h>
#include <string.h>

typedef struct import_line {
    char digest[UM_DIGEST_TEXT];
    unsigned long long count[2]; /* as the lists of Pyzor */
} import_line;

_Static_assert(2 * UM_IMPORT_LINES <= UM_STORE_BATCH, "one append");

static umbel_status read_lines(umbel_slice text, import_line *out, size_t *n,
                               umbel_error *err)
{
    char copy[128], typed[41], rest;
    umbel_slice line;

    for (*n = 0; um_next_line(&text, &line); ++*n) {
        import_line *l = &out[*n];
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

/* The most that a list counts. */
static uint64_t count_limit(const um_environment *env, unsigned list)
{
    um_list_stats stats;

    um_list_stats_get(um_store_list(env->store, list), &stats);
    return stats.count_limit < UINT32_MAX ? stats.count_limit : UINT32_MAX;
}

static bool is_left_out(const um_environment *env, const import_line *l,
                        unsigned list, const umbel_digest *d)
{
    umbel_slice text = {l->digest, strlen(l->digest)};

    return um_digest_is_empty_text(text) ||
           um_lists_welcomes(env->lists, text) ||
           um_forgotten(env->lists, list, d) ||
           !um_store_accepts(env->store, list, d, env->clock->now);
}

/* Makes entries of what counts; returns how many. */
static size_t create_entries(const um_environment *env,
                             const import_line *lines, size_t n,
                             um_entry *entry, um_import_result *out)
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
    import_line lines[UM_IMPORT_LINES];
    um_entry entry[2 * UM_IMPORT_LINES];
    char note[80];
    umbel_slice value;
    size_t n;

    *out = (um_import_result){.again = false};
    UM_TRY(read_lines(text, lines, &n, err));
    snprintf(note, sizeof note, "imported/%s", name);
    umbel_slice label = {note, strlen(note)};
    if (um_store_get(env->store, label, &value)) {
        out->again = true;
        return UMBEL_OK;
    }
    n = create_entries(env, lines, n, entry, out);
    if (n)
        UM_TRY(um_store_add(env->store, entry, n, env->clock->now, &out->ticket,
                            err));
    return um_store_set(env->store, label, (umbel_slice){"", 0},
                        env->clock->now, &out->ticket, err);
}
