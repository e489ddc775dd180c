/*
 * list_epochs.c - the epochs of a list: when they end, and which ones stay.
 *
 * The error of a sum is at most the sum of the errors, so an epoch is made for
 * error / epochs. It is made for UM_LIST_BATCH digests more than its capacity,
 * because um_list_due is asked between batches, and not between digests.
 *
 * Epochs are numbered by time, so that all servers that exchange lists mean the
 * same by a number. Time within a list never goes back: see um_list_turn.
 */
#include "store/list_private.h"

#include "base/error.h"
#include "filter/envelope.h"

#include <umbel/counting.h>

#include <string.h>

/* --- filters ------------------------------------------------------------- */

uint64_t um_epoch_capacity(const umbel_filter *f)
{
    return f->capacity - UM_LIST_BATCH;
}

const uint8_t *um_list_secret(const um_list *l)
{
    return l->secret;
}

umbel_status um_list_shape(const um_list_config *c, const uint8_t *secret,
                           umbel_filter **out, umbel_error *err)
{
    umbel_setting settings[2];
    umbel_params p = {.size = sizeof p,
                      .addressing = c->addressing,
                      .hash = "sip",
                      .secret = secret,
                      .capacity = c->capacity + UM_LIST_BATCH,
                      .fpr = c->error / c->epochs,
                      .hashes = c->hashes,
                      .settings = settings,
                      .exact_size = true,
                      .alloc = c->alloc};

    UM_TRY(um_list_check(c, err));
    if (c->cell_bits)
        settings[p.nsettings++] = (umbel_setting){"cell_bits", c->cell_bits};
    if (c->refined)
        settings[p.nsettings++] = (umbel_setting){"update", 1};
    return umbel_create(c->kind, &p, out, err);
}

umbel_status um_list_create_filter(const um_list *l, umbel_filter **out,
                                   umbel_error *err)
{
    return um_list_shape(&l->config, l->secret, out, err);
}

/* The number of the epoch at a time; without a length there is only one. */
static uint64_t number_at(const um_list *l, uint64_t time)
{
    uint64_t length = l->config.epoch_seconds;
    return length ? time / length : 0;
}

unsigned um_list_epochs(const um_list *l)
{
    return l->n;
}

uint64_t um_list_epoch(const um_list *l, unsigned i)
{
    return number_at(l, l->epoch[i].begin);
}

const umbel_filter *um_list_filter(const um_list *l, unsigned i)
{
    return l->epoch[i].filter;
}

/* --- turns --------------------------------------------------------------- */

static bool is_full(const um_epoch *e)
{
    return umbel_added(e->filter) >= um_epoch_capacity(e->filter);
}

bool um_list_due(const um_list *l, uint64_t now)
{
    return number_at(l, now) > um_list_epoch(l, 0) ||
           (is_full(&l->epoch[0]) && !l->config.hold);
}

bool um_list_is_held(const um_list *l)
{
    return l->config.hold && is_full(&l->epoch[0]);
}

bool um_list_newest_has(const um_list *l, const umbel_digest *d)
{
    uint64_t count;

    umbel_count_digests(l->epoch[0].filter, d, 1, &count, NULL);
    return count != 0;
}

bool um_list_takes(const um_list *l, const umbel_digest *d)
{
    return !um_list_is_held(l) || um_list_newest_has(l, d);
}

size_t um_list_room(const um_list *l)
{
    const umbel_filter *f = l->epoch[0].filter;
    uint64_t added = umbel_added(f);

    return added < f->capacity ? (size_t)(f->capacity - added) : 0;
}

uint64_t um_list_over_at(const um_list *l)
{
    uint64_t length = l->config.epoch_seconds, number = um_list_epoch(l, 0);

    return length && number < UINT64_MAX / length ? (number + 1) * length
                                                  : UINT64_MAX;
}

/*
 * Returns the number of epochs that stay beside a new one. One that ended goes
 * after the time of the others, even if nobody turned the list meanwhile.
 */
static unsigned count_kept(const um_list *l, uint64_t now)
{
    unsigned most = l->config.epochs - 1, kept = 0;
    uint64_t number = number_at(l, now);

    while (kept < l->n && kept < most &&
           number - um_list_epoch(l, kept) < l->config.epochs)
        kept++;
    return kept;
}

/* An epoch's end, seen at its turn: when it was over, or now if it is full. */
static uint64_t end_of(const um_list *l, uint64_t now)
{
    uint64_t over = um_list_over_at(l);

    return now < over ? now : over;
}

static void begin_epoch(um_list *l, umbel_filter *fresh, uint64_t now)
{
    memmove(l->epoch + 1, l->epoch, l->n * sizeof *l->epoch);
    l->epoch[0] = (um_epoch){
        .filter = fresh, .begin = now, .threshold = l->config.threshold};
    l->n++;
    um_list_sums_restart(l);
}

umbel_status um_list_turn(um_list *l, uint64_t now, umbel_error *err)
{
    umbel_filter *fresh;

    UM_TRY(um_list_create_filter(l, &fresh, err));
    if (l->n) {
        now = now > l->epoch[0].begin ? now : l->epoch[0].begin;
        l->epoch[0].end = end_of(l, now);
    }
    um_list_drop(l, count_kept(l, now));
    begin_epoch(l, fresh, now);
    return UMBEL_OK;
}

void um_list_empty(um_list *l, umbel_filter *fresh, uint64_t now)
{
    um_list_drop(l, 0);
    begin_epoch(l, fresh, now);
}
