/*
 * choose_groups.c - build --never: members chosen against a list of other keys.
 *
 * All digests are held in memory: a choice for one member depends on all.
 */
#include "cli/choose_groups.h"

#include "base/alloc.h"
#include "base/error.h"
#include "cli/report.h"
#include "ops/digest_index.h"

#include <stdlib.h>
#include <string.h>

enum { LISTED = 4, LISTED_LEN = 24, FIRST = 4096 };

const um_option um_choosing_options[] = {
    {"never", 0, "FILE", "keys that must not match; may be given again"},
    {"weights", 0, NULL, "lines end in a weight (as in files *.tsv)"},
    {"allow-members", 0, NULL, "let keys of --never that are members match"},
    {0}};

typedef struct members {
    const umbel_filter *filter;
    umbel_digest *digests;
    size_t n, cap;
} members;

static umbel_status take_members(void *ctx, const um_batch *batch,
                                 umbel_error *err)
{
    members *m = ctx;

    while (m->cap - m->n < batch->n) {
        size_t cap = m->cap ? 2 * m->cap : FIRST;
        umbel_digest *more = realloc(m->digests, cap * sizeof *more);
        if (!more)
            return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", cap);
        m->digests = more;
        m->cap = cap;
    }
    umbel_status status = umbel_digest_many(m->filter, batch->keys, batch->n,
                                            m->digests + m->n, err);
    m->n += status == UMBEL_OK ? batch->n : 0;
    return status;
}

/* The first few keys of both lists, as many as a refusal has room for. */
static void list_clashes(const um_keylist *never, const bool *both, char *out,
                         size_t cap)
{
    size_t len = 0, listed = 0;

    for (size_t i = 0; i < never->n && listed < LISTED && len < cap; i++) {
        if (!both[i])
            continue;
        umbel_slice key = um_keylist_line(never, i);
        int shown = key.len < LISTED_LEN ? (int)key.len : LISTED_LEN;
        int added = snprintf(out + len, cap - len, "%s%.*s%s",
                             listed ? ", " : "", shown, (const char *)key.data,
                             key.len > LISTED_LEN ? "..." : "");
        len += added > 0 ? (size_t)added : 0;
        listed++;
    }
}

umbel_status um_find_clashes(const umbel_filter *f, const umbel_keyset *set,
                             const um_keylist *never, bool *both, size_t *n,
                             umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    umbel_keyset unwanted = um_keylist_set(never);
    um_digest_index roll = {0};
    umbel_status status = umbel_in_both(f, set, &unwanted, both, n, err);

    if (status == UMBEL_OK)
        status = um_digest_index_init(&roll, &alloc, unwanted.digests,
                                      unwanted.n, err);
    for (size_t i = 0; status == UMBEL_OK && i < unwanted.n; i++)
        if (both[i] &&
            um_digest_index_find(&roll, &unwanted.digests[i]) != i + 1) {
            both[i] = false;
            --*n;
        }
    um_digest_index_fini(&roll);
    return status;
}

umbel_status um_fail_members(size_t n, const char *names, bool more,
                             const char *what_to_do, umbel_error *err)
{
    return um_fail(err, UMBEL_E_KEY, "%s of --never %s: %s%s; %s",
                   um_counted(n, "key", "keys").text,
                   n == 1 ? "is a member, which always matches"
                          : "are members, which always match",
                   names, more ? ", ..." : "", what_to_do);
}

umbel_status um_refuse_members(const umbel_filter *f, const umbel_keyset *set,
                               const um_keylist *never, const char *what_to_do,
                               umbel_error *err)
{
    char list[LISTED * (LISTED_LEN + 6)] = "";
    bool *both = malloc(never->n + 1);
    size_t n = 0;

    if (!both)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", never->n);
    umbel_status status = um_find_clashes(f, set, never, both, &n, err);
    if (status == UMBEL_OK && n)
        list_clashes(never, both, list, sizeof list);
    free(both);
    if (status != UMBEL_OK || n == 0)
        return status;
    return um_fail_members(n, list, n > LISTED, what_to_do, err);
}

umbel_status um_choose_all(const um_args *args, umbel_filter *f, uint64_t *n,
                           umbel_choose_bill *bill, umbel_error *err)
{
    umbel_choose_params params = UMBEL_CHOOSE_INIT;
    members m = {.filter = f};
    um_keylist never = {0};

    params.allow_members = um_has(args, "allow-members");
    umbel_status status = um_each_batch(args, args->operands, args->noperands,
                                        take_members, &m, err);
    if (status == UMBEL_OK)
        status = um_keylist_read(&never, args, "never", f, true, err);
    umbel_keyset set = {m.digests, NULL, m.n};
    if (status == UMBEL_OK && !params.allow_members)
        status = um_refuse_members(
            f, &set, &never, "take members out, or say --allow-members", err);
    if (status == UMBEL_OK)
        status = umbel_choose(f, m.digests, m.n, never.digests, never.weights,
                              never.n, &params, bill, err);
    *n = m.n;
    um_keylist_fini(&never);
    free(m.digests);
    return status;
}

static double share_before(const umbel_choose_bill *bill)
{
    return bill->weight > 0 ? bill->weight_before / bill->weight : 0;
}

void um_print_bill(FILE *out, const umbel_choose_bill *bill)
{
    fprintf(out, "never            %s: %s match, %s would with one group\n",
            um_counted(bill->never, "key", "keys").text,
            um_grouped(bill->matched).text,
            um_grouped(bill->matched_before).text);
    if (bill->never_members)
        fprintf(out, "                 %s more are members, and match\n",
                um_grouped(bill->never_members).text);
    fprintf(out, "their weight     %s matches, ",
            um_percent(bill->share_left).text);
    fprintf(out, "%s would with one group\n",
            um_percent(share_before(bill)).text);
    fprintf(out, "members lost     %s\n", um_grouped(bill->lost).text);
    fprintf(out, "other keys       error %s, ", um_percent(bill->error).text);
    fprintf(out, "%s with one group\n", um_percent(bill->error_before).text);
}

void um_bill_to_info(const umbel_choose_bill *bill, umbel_info *out)
{
    um_info_count(out, "never", bill->never);
    um_info_count(out, "never_members", bill->never_members);
    um_info_count(out, "matched_before", bill->matched_before);
    um_info_count(out, "matched", bill->matched);
    um_info_real(out, "share_before", share_before(bill));
    um_info_real(out, "share_left", bill->share_left);
    um_info_count(out, "lost", bill->lost);
    um_info_real(out, "error_before", bill->error_before);
}
