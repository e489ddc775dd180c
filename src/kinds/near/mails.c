/*
 * near_mails.c - mails are written, found, and found again by a copy.
 */
#include "base/error.h"
#include "filter/handle.h"
#include "kinds/near/records.h"
#include "kinds/rows.h"

#include <inttypes.h>

enum {
    OWNERS = 4, /* mails that a shingle leads to, the latest ones */
    EVERY = 3,  /* position has an entry */
    CANDIDATES = UM_NEAR_INDEXED * UM_NEAR_VOICES
};
_Static_assert((UM_NEAR_INDEXED - 1) * EVERY < UM_NEAR_SHINGLES,
               "there are as many positions");

static const um_near *near_of(const umbel_filter *f)
{
    return f->self;
}

bool um_is_near(const umbel_filter *f)
{
    return f->kind == &um_kind_near;
}

uint64_t um_near_shingle(uint64_t shingle, uint64_t secret)
{
    return um_remix(um_remix(um_remix(shingle ^ secret) + secret));
}

static um_probe probe_of(const uint64_t *shingle, unsigned entry)
{
    uint64_t key = shingle[(size_t)entry * EVERY];

    return um_probe_of(key, um_remix(key));
}

static void hear_shingles(const um_near *t, const uint64_t *shingle,
                          um_voices v[UM_NEAR_INDEXED])
{
    um_probe p[UM_NEAR_INDEXED];

    for (unsigned i = 0; i < UM_NEAR_INDEXED; i++)
        p[i] = probe_of(shingle, i);
    um_near_hear(&t->lines, p, UM_NEAR_INDEXED, v);
}

/* --- writing -------------------------------------------------------------- */

/* The entry that a shingle's new owner takes over: that of an older record of
 * the same mail, or of the oldest if there are enough; NULL: it gets another.
 * What may be the entry of a name stays, or that mail would be hidden. */
static const um_voice *find_entry(const um_near *t, const um_near_write *w,
                                  const um_near_marks *m, unsigned position,
                                  const um_voices *v)
{
    const um_voice *oldest = NULL;
    unsigned owners = 0;

    for (unsigned i = 0; i < v->n; i++) {
        const um_voice *one = &v->at[i];
        if (!um_near_agrees_at(t, one->number, m, position) ||
            um_near_may_be_name(t, one->number, one->line[one->slot]))
            continue;
        if (um_near_is_of(t, one->number, &w->digest, w->name))
            return one;
        if (!oldest || one->number < oldest->number)
            oldest = one;
        owners++;
    }
    return owners >= OWNERS ? oldest : NULL;
}

static void index_shingles(const um_near *t, const um_near_write *w,
                           uint64_t number)
{
    um_near_marks m = um_near_marks_of(w->shingle);
    um_voices v[UM_NEAR_INDEXED];

    hear_shingles(t, w->shingle, v);
    for (unsigned i = 0; i < UM_NEAR_INDEXED; i++) {
        const um_voice *entry = find_entry(t, w, &m, i * EVERY, &v[i]);
        if (entry)
            um_near_move_entry(&t->lines, entry, number);
        else
            um_near_add_entry(&t->lines, probe_of(w->shingle, i), number);
    }
}

static void index_name(const um_near *t, const um_near_write *w,
                       const um_voice *old, uint64_t number)
{
    if (old)
        um_near_move_entry(&t->lines, old, number);
    else
        um_near_add_entry(&t->lines, um_probe_of(w->digest.lo, w->digest.hi),
                          number);
}

static int32_t clamped(int64_t value)
{
    return value > INT32_MAX    ? INT32_MAX
           : value <= INT32_MIN ? INT32_MIN + 1
                                : (int32_t)value;
}

/* What a write finds. */
typedef struct finding {
    bool found, adds; /* adds: the record takes the amount */
    um_voice voice;
    int32_t value; /* that the mail has then */
} finding;

static finding find_for(const um_near *t, const um_near_write *w)
{
    finding f = {.found = false};
    um_near_record r = {.gone = true};

    f.found = um_near_find_name(t, &w->digest, w->name, &f.voice);
    if (f.found)
        um_near_read(t, f.voice.number, &r);
    bool counts = !r.gone && !w->renewed && r.flag == w->flag;
    f.value = clamped((counts ? (int64_t)r.value : 0) + w->amount);
    f.adds = counts && !w->gone && f.value >= r.value;
    return f;
}

bool um_near_needs_room(const umbel_filter *f, const um_near_write *w)
{
    return !find_for(near_of(f), w).adds;
}

umbel_status um_near_append(umbel_filter *f, const um_near_write *w,
                            umbel_error *err)
{
    const um_near *t = near_of(f);
    finding found = find_for(t, w);
    uint64_t number = f->added;

    if (found.adds) {
        um_near_raise(t, found.voice.number, w->stamp, found.value);
        return UMBEL_OK;
    }
    if (number >= t->mails)
        return um_fail(err, UMBEL_E_FULL, "there is room for %" PRIu64 " mails",
                       t->mails);
    um_near_write_record(t, w, found.value, number);
    index_name(t, w, found.found ? &found.voice : NULL, number);
    if (w->has_shingles)
        index_shingles(t, w, number);
    f->added++;
    return UMBEL_OK;
}

/* --- finding -------------------------------------------------------------- */

bool um_near_find(const umbel_filter *f, const umbel_digest *d,
                  const uint8_t *name, um_near_record *out)
{
    um_voice v;

    return um_near_find_name(near_of(f), d, name, &v) &&
           um_near_read(near_of(f), v.number, out);
}

/* Lists the records that voices lead to, each once, and begins to fetch their
 * marks. */
static unsigned list_records(const um_near *t,
                             const um_voices v[UM_NEAR_INDEXED],
                             uint64_t out[CANDIDATES])
{
    unsigned n = 0;

    for (unsigned i = 0; i < UM_NEAR_INDEXED; i++)
        for (unsigned k = 0; k < v[i].n; k++) {
            uint64_t number = v[i].at[k].number;
            unsigned at = 0;
            while (at < n && out[at] != number)
                at++;
            if (at < n)
                continue;
            __builtin_prefetch(t->marks + number * UM_NEAR_MARK_ROOM);
            out[n++] = number;
        }
    return n;
}

/* Of those that have enough positions the one with most, the latest of several;
 * false: none has. *common are the positions of those that have not enough. */
static bool find_best(const uint32_t *agree, const uint64_t *record, unsigned n,
                      unsigned *out, uint32_t *common)
{
    bool found = false;

    *common = 0;
    for (unsigned i = 0; i < n; i++) {
        int shared = __builtin_popcount(agree[i]);
        int most = found ? __builtin_popcount(agree[*out]) : 0;
        if (shared < UM_NEAR_HIT) {
            *common |= agree[i];
        } else if (shared > most ||
                   (shared == most && record[i] > record[*out])) {
            *out = i;
            found = true;
        }
    }
    return found;
}

/*
 * Of many mails with the same footer one may agree at 17 positions by luck. A
 * copy has something in common with its mail that it has not with all the
 * others, too. Of 20,000 mails of 53 to 92 words that share 33 with 1,000
 * stored ones, 1.9 have four positions of their own by luck, 0.6 five and 0.05
 * six; of 20,000 copies 8, 19 and 49 have fewer (means of 20 runs, mails of
 * bench/fuzzy).
 */
unsigned um_near_search(const umbel_filter *f,
                        const uint64_t shingle[UM_NEAR_SHINGLES],
                        um_near_record *out)
{
    const um_near *t = near_of(f);
    um_near_marks m = um_near_marks_of(shingle);
    um_voices v[UM_NEAR_INDEXED];
    uint64_t record[CANDIDATES];
    uint32_t agree[CANDIDATES], common;
    unsigned best = 0;

    hear_shingles(t, shingle, v);
    unsigned n = list_records(t, v, record);
    for (unsigned i = 0; i < n; i++)
        agree[i] = um_near_agree(t, record[i], &m);
    if (!find_best(agree, record, n, &best, &common) ||
        __builtin_popcount(agree[best] & ~common) < UM_NEAR_OWN ||
        !um_near_read(t, record[best], out))
        return 0;
    return (unsigned)__builtin_popcount(agree[best]);
}

void um_near_fetch(const umbel_filter *f, const umbel_digest *d,
                   const uint64_t *shingle)
{
    const um_near *t = near_of(f);
    um_probe p = um_probe_of(d->lo, d->hi);

    __builtin_prefetch(um_near_line(&t->lines, &p));
    for (unsigned i = 0; shingle && i < UM_NEAR_INDEXED; i++) {
        p = probe_of(shingle, i);
        __builtin_prefetch(um_near_line(&t->lines, &p));
    }
}

bool um_near_next(const umbel_filter *f, uint64_t *at, um_near_record *out)
{
    const um_near *t = near_of(f);

    while (*at < t->mails)
        if (um_near_read(t, (*at)++, out))
            return true;
    return false;
}
