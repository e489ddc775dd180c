/*
 * recent_times.c - times of digests first seen within the last hour, to ten
 * seconds.
 *
 * Lists know the epoch in which a digest was added. This table knows more for
 * an hour: for each of two columns (reports and whitelisting), when the digest
 * was entered and when it was last updated. Its size is fixed. When it is full,
 * new digests replace old ones, whose times are then those of their epochs.
 * Time advances with the calls. A table must be used by one thread at a time.
 *
 * A digest takes one word:
 *
 *   63 ............ 36  35 .. 27  26 .. 18  17 .. 9   8 .. 0
 *   fingerprint         entered   updated   entered   updated
 *                       column 0            column 1
 *
 * Times are ticks of 10 s: 1 + tick mod 511, or 0 for a column in which the
 * digest was not seen within the hour. A word without columns is 0, a free
 * slot.
 *
 * A digest has three lines of 8 slots, and is stored in the one with the most
 * free slots, so lines fill evenly: of a million digests in a table for as
 * many, 579 find all three full, and replace the oldest one there. No search
 * goes beyond the three lines, so slots may become free in any order. A false
 * match is one of 24 comparisons of 28 bits, 1 in 11 million.
 *
 * Each tick sweeps old digests from a part of the lines. An age is known modulo
 * 511 ticks and a digest expires after 360, so each line must be swept within
 * 151 ticks; it is within 128.
 */
#include "store/internal.h"

#include "base/alloc.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "filter/addressing/addressing.h"

#include <inttypes.h>

enum {
    VERSION = 1,
    HEAD_LEN = 24,
    SLOTS = 8, /* of a line */
    CHOICES = 3,
    LOAD_NUM = 9,
    LOAD_DEN = 10,
    CYCLE = 511, /* ticks before stamps repeat */
    SPAN = UM_RECENT_SPAN / UM_RECENT_TICK,
    SWEEP_TICKS = 128, /* to sweep all lines */
    STAMP_BITS = 9,
    COLUMN_BITS = 2 * STAMP_BITS,
    PRINT_SHIFT = UM_RECENT_COLUMNS * COLUMN_BITS
};

#define STAMP_MAX UINT64_C(511)
#define COLUMNS_MASK ((UINT64_C(1) << PRINT_SHIFT) - 1)

struct um_recent_times {
    umbel_alloc alloc;
    uint64_t *slot; /* lines of SLOTS words, native order */
    uint64_t lines;
    uint64_t tick;  /* of the last call */
    uint64_t swept; /* lines, since the tick that is a multiple of
                       SWEEP_TICKS */
    uint64_t digests, pushed;
};

static uint64_t lines_for(uint64_t capacity)
{
    return capacity * LOAD_DEN / LOAD_NUM / SLOTS + 1;
}

uint64_t um_recent_times_bytes(uint64_t capacity)
{
    return sizeof(um_recent_times) + lines_for(capacity) * UM_LINE;
}

umbel_status um_recent_times_open(uint64_t capacity, const umbel_alloc *alloc,
                                  um_recent_times **out, umbel_error *err)
{
    umbel_alloc a = um_alloc_or_default(alloc);

    if (capacity < 1 || capacity > (uint64_t)1 << 32)
        return um_fail(err, UMBEL_E_RANGE,
                       "times can be kept for 1 to 2^32 digests, got %" PRIu64,
                       capacity);
    um_recent_times *r = um_get(&a, sizeof *r);
    if (!r)
        return um_no_memory(err, sizeof *r);
    r->alloc = a;
    r->lines = lines_for(capacity);
    r->slot = um_get(&a, r->lines * UM_LINE);
    if (!r->slot) {
        um_put(&a, r, sizeof *r);
        return um_no_memory(err, um_recent_times_bytes(capacity));
    }
    *out = r;
    return UMBEL_OK;
}

void um_recent_times_close(um_recent_times *r)
{
    if (!r)
        return;
    umbel_alloc a = r->alloc;
    um_put(&a, r->slot, r->lines * UM_LINE);
    um_put(&a, r, sizeof *r);
}

/* --- words ---------------------------------------------------------------- */

static uint64_t stamp_of(uint64_t tick)
{
    return 1 + tick % CYCLE;
}

static unsigned entered_shift(unsigned column)
{
    return PRINT_SHIFT - COLUMN_BITS * column - STAMP_BITS;
}

/* Returns the ticks since a stamp, below CYCLE. */
static uint64_t age_of(uint64_t tick, uint64_t stamp)
{
    return (tick % CYCLE + CYCLE - (stamp - 1)) % CYCLE;
}

static uint64_t stamp_at(uint64_t word, unsigned shift)
{
    return word >> shift & STAMP_MAX;
}

/* Returns true if the word has a column that was entered within the span. */
static bool is_fresh(uint64_t word, unsigned column, uint64_t tick)
{
    uint64_t entered = stamp_at(word, entered_shift(column));
    return entered && age_of(tick, entered) < SPAN;
}

static uint64_t with_column(uint64_t word, unsigned column, uint64_t entered,
                            uint64_t updated)
{
    unsigned shift = entered_shift(column) - STAMP_BITS;
    uint64_t mask = ((UINT64_C(1) << COLUMN_BITS) - 1) << shift;

    return (word & ~mask) | (entered << STAMP_BITS | updated) << shift;
}

/* Returns the word without expired columns; 0 if none is left. */
static uint64_t without_old(uint64_t word, uint64_t tick)
{
    for (unsigned c = 0; c < UM_RECENT_COLUMNS; c++)
        if (!is_fresh(word, c, tick))
            word = with_column(word, c, 0, 0);
    return word & COLUMNS_MASK ? word : 0;
}

/* Returns the ticks since the digest was first entered in any column. */
static uint64_t age_of_word(uint64_t word, uint64_t tick)
{
    uint64_t oldest = 0;

    for (unsigned c = 0; c < UM_RECENT_COLUMNS; c++) {
        uint64_t entered = stamp_at(word, entered_shift(c));
        uint64_t age = entered ? age_of(tick, entered) : 0;
        oldest = age > oldest ? age : oldest;
    }
    return oldest;
}

/* --- time ----------------------------------------------------------------- */

static void sweep_to(um_recent_times *r, uint64_t line)
{
    for (; r->swept < line; r->swept++)
        for (int i = 0; i < SLOTS; i++) {
            uint64_t *word = &r->slot[r->swept * SLOTS + (uint64_t)i];
            uint64_t left = *word ? without_old(*word, r->tick) : 0;
            r->digests -= *word && !left;
            *word = left;
        }
}

static void forget_all(um_recent_times *r)
{
    memset(r->slot, 0, r->lines * UM_LINE);
    r->digests = 0;
}

/* Moves time forward and sweeps. If the clock was set back, time stands still
 * until it catches up. */
static void advance(um_recent_times *r, uint64_t now)
{
    uint64_t tick = now / UM_RECENT_TICK;

    if (tick > r->tick && tick - r->tick >= SPAN) {
        forget_all(r);
        r->tick = tick;
    }
    while (r->tick < tick) {
        uint64_t part = ++r->tick % SWEEP_TICKS;
        if (part == 0)
            r->swept = 0;
        sweep_to(r, r->lines * (part + 1) / SWEEP_TICKS);
    }
}

/* --- digests -------------------------------------------------------------- */

/* Fingerprint and candidate lines of a digest; two lines may be the same. */
typedef struct place {
    uint64_t print;
    uint64_t *line[CHOICES];
} place;

static place place_of(const um_recent_times *r, const umbel_digest *d)
{
    place p = {.print = d->hi << PRINT_SHIFT};
    uint64_t x = d->lo;

    for (int i = 0; i < CHOICES; i++, x = um_classic_step(x, d->hi))
        p.line[i] = r->slot + um_scale(x, r->lines) * SLOTS;
    return p;
}

static uint64_t *find_word(const place *p)
{
    for (int i = 0; i < CHOICES; i++)
        for (int j = 0; j < SLOTS; j++) {
            uint64_t word = p->line[i][j];
            if (word && (word & ~COLUMNS_MASK) == p->print)
                return &p->line[i][j];
        }
    return NULL;
}

static int count_free(const uint64_t *line)
{
    int n = 0;

    for (int j = 0; j < SLOTS; j++)
        n += line[j] == 0;
    return n;
}

/* Returns a free slot in the emptiest line; NULL if all lines are full. */
static uint64_t *find_free(const place *p)
{
    uint64_t *best = NULL;
    int max = 0;

    for (int i = 0; i < CHOICES; i++)
        if (count_free(p->line[i]) > max) {
            max = count_free(p->line[i]);
            best = p->line[i];
        }
    while (best && *best)
        best++;
    return best;
}

static uint64_t *find_oldest(const place *p, uint64_t tick)
{
    uint64_t *oldest = p->line[0];

    for (int i = 0; i < CHOICES; i++)
        for (int j = 0; j < SLOTS; j++)
            if (age_of_word(p->line[i][j], tick) > age_of_word(*oldest, tick))
                oldest = &p->line[i][j];
    return oldest;
}

static uint64_t *reserve(um_recent_times *r, const place *p)
{
    uint64_t *word = find_free(p);

    if (word) {
        r->digests++;
        return word;
    }
    r->pushed++;
    return find_oldest(p, r->tick);
}

static void set_one(um_recent_times *r, unsigned column, const umbel_digest *d,
                    bool known)
{
    place p = place_of(r, d);
    uint64_t *word = find_word(&p), stamp = stamp_of(r->tick);
    bool fresh = word && is_fresh(*word, column, r->tick);

    if (!fresh && known)
        return;
    if (!word) {
        word = reserve(r, &p);
        *word = p.print;
    }
    uint64_t entered = fresh ? stamp_at(*word, entered_shift(column)) : stamp;
    *word = with_column(*word, column, entered, stamp);
}

static void fetch(const um_recent_times *r, const umbel_digest *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        place p = place_of(r, &d[i]);
        for (int j = 0; j < CHOICES; j++)
            __builtin_prefetch(p.line[j], 1);
    }
}

void um_recent_times_add(um_recent_times *r, unsigned column,
                         const umbel_digest *d, const uint64_t *count, size_t n,
                         uint64_t now)
{
    advance(r, now);
    fetch(r, d, n);
    for (size_t i = 0; i < n; i++)
        set_one(r, column, &d[i], count[i] != 0);
}

static uint64_t time_of(const um_recent_times *r, uint64_t stamp)
{
    return (r->tick - age_of(r->tick, stamp)) * UM_RECENT_TICK;
}

bool um_recent_times_find(const um_recent_times *r, unsigned column,
                          const umbel_digest *d, uint64_t now,
                          uint64_t *entered, uint64_t *updated)
{
    unsigned shift = entered_shift(column);
    uint64_t tick = now / UM_RECENT_TICK;
    uint64_t since = tick > r->tick ? tick - r->tick : 0;
    place p = place_of(r, d);
    const uint64_t *word = find_word(&p);

    /* Ages are relative to r->tick. */
    if (!word || !is_fresh(*word, column, r->tick) ||
        since >= SPAN - age_of(r->tick, stamp_at(*word, shift)))
        return false;
    *entered = time_of(r, stamp_at(*word, shift));
    *updated = time_of(r, stamp_at(*word, shift - STAMP_BITS));
    return true;
}

void um_recent_times_stats_get(const um_recent_times *r,
                               um_recent_times_stats *out)
{
    *out = (um_recent_times_stats){.digests = r->digests,
                                   .slots = r->lines * SLOTS,
                                   .pushed = r->pushed,
                                   .bytes = sizeof *r + r->lines * UM_LINE};
}

/* --- bytes ---------------------------------------------------------------
 *
 *   u32 version | u32 0 | u64 lines | u64 tick | for each group of 64 lines
 * (the last one may have fewer): a byte n for each line, 0 to 8; their words
 *
 * Groups save a call for each line.
 */

enum { GROUP = 64, GROUP_MAX = GROUP * (1 + UM_LINE) };

static uint64_t group_len(uint64_t lines, uint64_t first)
{
    return lines - first < GROUP ? lines - first : GROUP;
}

static void write_group(const uint64_t *line, uint64_t n, um_writer *w)
{
    for (uint64_t i = 0; i < n; i++) {
        uint8_t used = (uint8_t)(SLOTS - count_free(line + i * SLOTS));
        um_write_bytes(w, &used, 1);
    }
    for (uint64_t i = 0; i < n * SLOTS; i++)
        if (line[i])
            um_write_u64(w, line[i]);
}

umbel_status um_recent_times_encode(const um_recent_times *r, const um_sink *to,
                                    umbel_error *err)
{
    uint8_t buffer[GROUP_MAX];
    um_writer w = {buffer, buffer + sizeof buffer, false};

    um_write_u32(&w, VERSION);
    um_write_u32(&w, 0);
    um_write_u64(&w, r->lines);
    um_write_u64(&w, r->tick);
    UM_TRY(um_sink_write(to, buffer, (size_t)(w.at - buffer), err));
    for (uint64_t i = 0; i < r->lines; i += GROUP) {
        w.at = buffer;
        write_group(r->slot + i * SLOTS, group_len(r->lines, i), &w);
        UM_TRY(um_sink_write(to, buffer, (size_t)(w.at - buffer), err));
    }
    return UMBEL_OK;
}

/* Reads n lines; stores them unless to is NULL. */
static umbel_status get_group(um_feed *from, uint64_t *to, uint64_t n,
                              uint64_t *digests, umbel_error *err)
{
    uint8_t used[GROUP], bytes[GROUP * UM_LINE], *at = bytes;
    size_t sum = 0;

    UM_TRY(um_feed_get(from, used, (size_t)n, err));
    for (uint64_t i = 0; i < n; i++) {
        if (used[i] > SLOTS)
            return um_fail(err, UMBEL_E_FORMAT,
                           "recent times: a line of %d digests", used[i]);
        sum += used[i];
    }
    UM_TRY(um_feed_get(from, bytes, 8 * sum, err));
    for (uint64_t i = 0; i < n; i++)
        for (unsigned j = 0; j < used[i]; j++, at += 8) {
            uint64_t word = um_load64(at);
            if (!(word & COLUMNS_MASK))
                return um_fail(err, UMBEL_E_FORMAT,
                               "recent times: a digest without times");
            if (to)
                to[i * SLOTS + j] = word;
        }
    *digests += sum;
    return UMBEL_OK;
}

static umbel_status get_lines(um_recent_times *r, um_feed *from,
                              umbel_error *err)
{
    uint8_t head[HEAD_LEN];
    um_reader in = {head, head + sizeof head, false};
    uint64_t digests = 0;

    UM_TRY(um_feed_get(from, head, sizeof head, err));
    uint32_t version = um_get_u32(&in), zero = um_get_u32(&in);
    uint64_t lines = um_get_u64(&in), tick = um_get_u64(&in);
    if (version != VERSION || zero)
        return um_fail(err, UMBEL_E_VERSION,
                       "recent times were written in version %" PRIu32
                       "; this program reads version %d",
                       version, VERSION);
    if (lines > from->left || tick > UINT64_MAX / UM_RECENT_TICK)
        return um_fail(err, UMBEL_E_FORMAT,
                       "recent times are cut short or damaged");
    bool keep = lines == r->lines;
    for (uint64_t i = 0; i < lines; i += GROUP)
        UM_TRY(get_group(from, keep ? r->slot + i * SLOTS : NULL,
                         group_len(lines, i), &digests, err));
    r->tick = tick;
    r->digests = keep ? digests : 0;
    return UMBEL_OK;
}

umbel_status um_recent_times_decode(um_recent_times *r, um_feed *from,
                                    umbel_error *err)
{
    forget_all(r);
    r->tick = 0;
    umbel_status status = get_lines(r, from, err);
    /* The position of the sweep is not stored: the next tick starts it over. */
    r->swept = 0;
    if (status != UMBEL_OK)
        forget_all(r);
    return status;
}
