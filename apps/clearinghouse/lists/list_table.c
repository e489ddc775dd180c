/*
 * list_table.c - the table of lists, and the configuration that each is opened
 * with.
 */
#include "clearinghouse/lists/lists.h"

#include "base/error.h"
#include "kinds/near/near.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * dccifd uses the structure of the paper: five-bit counters that stick at 31,
 * of which only the smallest are incremented. Counts other than 0 are often
 * wrong, but what matters is a false "many", which is far rarer (status shows
 * both rates). A mail has eight keys in fuz2.
 */
#define DCCIFD                                                                 \
    {"kind", "counting"}, {"cell_bits", "5"}, {"update", "refined"},           \
        {"addressing", "classic"}, {"error", "0.08"},                          \
    {                                                                          \
        "epoch", "7d"                                                          \
    }

static const um_list_default dccifd[] = {
    DCCIFD, {"capacity", "250000"}, {NULL, NULL}};
static const um_list_default fuz2[] = {
    DCCIFD, {"capacity", "2000000"}, {NULL, NULL}};

/*
 * Razor uses the two Bloom filters of the paper: counters of one bit. Counters
 * of seven bits or more hold a count of 100, so accounts may have weights below
 * 1.
 */
static const um_list_default razor[] = {{"kind", "counting"},
                                        {"cell_bits", "1"},
                                        {"addressing", "classic"},
                                        {NULL, NULL}};
static const um_list_default fuzzy[] = {{"capacity", "20000"}, {NULL, NULL}};

/* Columns of the times in store/recent_times.c. */
enum { REPORTED = 1, WHITELISTED };
_Static_assert((int)WHITELISTED <= (int)UM_RECENT_COLUMNS, "a column of times");

#define PYZOR_ACCOUNTS "give them accounts (passwd in pyzor { })"
#define RAZOR_ACCOUNTS "name their accounts in sections account \"NAME\" { }"

const um_list_row um_list_rows[UM_LISTS] = {
    [UM_LIST_PYZOR_REPORTS] = {"pyzor-reports", "pyzor", .clients = "Pyzor",
                               .accounts = PYZOR_ACCOUNTS,
                               .revoked_by = UM_LIST_PYZOR_WHITELIST,
                               .times = REPORTED},
    [UM_LIST_PYZOR_WHITELIST] = {"pyzor-whitelist", "pyzor", .clients = "Pyzor",
                                 .accounts = PYZOR_ACCOUNTS, .revokes = true,
                                 .times = WHITELISTED},
    [UM_LIST_BODY] = {"body", "dccifd", .defaults = dccifd,
                      .threshold = "many"},
    [UM_LIST_FUZ1] = {"fuz1", "dccifd", .defaults = dccifd,
                      .threshold = "many"},
    [UM_LIST_FUZ2] = {"fuz2", "dccifd", .defaults = fuz2, .threshold = "many"},
    [UM_LIST_RAZOR_SPAM] = {"razor-spam", "razor", .clients = "Razor2",
                            .accounts = RAZOR_ACCOUNTS, .defaults = razor,
                            .revoked_by = UM_LIST_RAZOR_REVOKED,
                            .hundredths = true, .agree = "seed"},
    [UM_LIST_RAZOR_REVOKED] = {"razor-revoked", "razor", .clients = "Razor2",
                               .accounts = RAZOR_ACCOUNTS, .defaults = razor,
                               .revokes = true, .hundredths = true,
                               .agree = "seed"},
    [UM_LIST_FUZZY] = {"fuzzy", "fuzzy", .kind = UM_NEAR_KIND,
                       .defaults = fuzzy},
};

unsigned um_list_threshold(const um_config *c, size_t list)
{
    const um_list_row *row = &um_list_rows[list];

    if (!row->threshold)
        return 0;
    return (unsigned)*(const uint64_t *)um_config_find(c, row->section,
                                                       row->threshold);
}

void um_list_agree(const um_config *c, size_t list,
                   char out[UMBEL_SYNC_MAX_AGREE])
{
    const um_list_row *row = &um_list_rows[list];

    out[0] = '\0';
    if (row->agree)
        snprintf(out, UMBEL_SYNC_MAX_AGREE, "%s=%s", row->agree,
                 *(char *const *)um_config_find(c, row->section, row->agree));
}

um_list_config um_list_config_of(const um_config *c, size_t list)
{
    const um_list_settings *s = &c->list[list];
    const um_list_row *row = &um_list_rows[list];

    return (um_list_config){.name = row->name,
                            .kind = row->kind ? row->kind : s->kind,
                            .capacity = s->capacity,
                            .error = s->error,
                            .epoch_seconds = s->epoch / 1000,
                            .epochs = (unsigned)s->epochs,
                            .cell_bits = (unsigned)s->cell_bits,
                            .hashes = (unsigned)s->hashes,
                            .addressing = s->addressing,
                            .refined = s->update,
                            .threshold = um_list_threshold(c, list),
                            .recent_column = row->times,
                            .hold = c->origin};
}

umbel_status um_list_check_threshold(const um_list *list, umbel_error *err)
{
    um_list_stats s;

    um_list_stats_get(list, &s);
    if (s.threshold <= s.count_limit)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "many = %u, but list %s counts up to %" PRIu64
                   "; raise its cell_bits, and remove the data of epochs with "
                   "fewer",
                   s.threshold, s.name, s.count_limit);
}

uint64_t um_list_report(const um_store *store, size_t list)
{
    enum { WHOLE = 100 };

    for (unsigned i = 0; i < UM_LISTS; i++) {
        um_list_stats s;

        if (!um_list_rows[list].hundredths || !um_list_rows[i].hundredths)
            continue;
        um_list_stats_get(um_store_list(store, i), &s);
        if (s.count_limit < WHOLE)
            return 1;
    }
    return um_list_rows[list].hundredths ? WHOLE : 1;
}
