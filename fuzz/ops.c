/*
 * ops.c - programs of operations on three filters, compared with exact sets.
 *
 * The keys are the numbers 0..63, so a set is 64 bits and all of it can be
 * queried. Checked: a filter finds every key in its exact set; a filter made
 * only by adding and OR equals, byte for byte, an empty filter of that size to
 * which the keys were added, also after folding; equal programs give equal
 * bytes. In counting kinds a count is at least the number of times the key was
 * added. A shared filter behaves like any other.
 *
 *     kind addressing hash hashes seed      a byte each
 *     cells                                 2 bytes
 *     op slots key                          3 bytes each: the program
 *
 * The seed also chooses the settings of counting kinds: its lowest bit the
 * update, the others the width of cells.
 */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "filter/kind.h"

#include <umbel/counting.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 3, KEYS = 64, MAX_STEPS = 24 };

typedef struct slot {
    umbel_filter *f;
    bool has[KEYS];
    uint64_t times[KEYS]; /* for counting kinds */
    bool exact;           /* only added to and ORed; counting: each key once */
    bool sums;            /* counting: merged by ADD only */
} slot;

typedef struct machine {
    const char *kind;
    umbel_params params;
    umbel_setting setting[2]; /* for counting kinds */
    bool plain;               /* all cells of a key are incremented */
    bool any_order;           /* cells do not depend on the order of adding */
    slot slot[SLOTS];
    uint64_t trace; /* hash of all results */
} machine;

typedef struct step {
    slot *a, *b;
    uint8_t key, amount;
} step;

static char key_text[KEYS][4];
static umbel_slice keys[KEYS];

static void create_keys(void)
{
    for (int i = 0; i < KEYS; i++) {
        int len = snprintf(key_text[i], sizeof key_text[i], "%d", i);
        keys[i] = (umbel_slice){key_text[i], (size_t)len};
    }
}

static void note(machine *m, uint64_t x)
{
    m->trace = um_remix(m->trace ^ x);
}

static void replace(slot *s, umbel_filter *f)
{
    umbel_close(s->f);
    s->f = f;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * Records that a key was added. A counting filter stays exact only while no key
 * is added twice.
 */
static void count_one(slot *s, size_t key)
{
    if (umbel_count_limit(s->f))
        s->exact &= !s->has[key];
    s->has[key] = true;
    s->times[key] = sum(s->times[key], 1);
}

static void op_add(machine *m, const step *s)
{
    bool was, fresh;

    UM_WANT(umbel_query_many(s->a->f, &keys[s->key], 1, &was, NULL) ==
            UMBEL_OK);
    umbel_status status =
        umbel_add_many(s->a->f, &keys[s->key], 1, &fresh, NULL);
    note(m, status);
    UM_WANT(status == UMBEL_OK || (status == UMBEL_E_FULL && !was && !fresh));
    if (status != UMBEL_OK)
        return;
    UM_WANT(fresh == !was);
    UM_WANT(!(fresh && s->a->has[s->key]) ||
            umbel_has_false_negatives(s->a->f));
    count_one(s->a, s->key);
    note(m, fresh);
}

/*
 * Adds a run of keys in one call. Keys that a full filter rejects do not match.
 */
static void op_add_many(machine *m, const step *s)
{
    size_t n = KEYS - s->key;
    bool hit[KEYS];
    umbel_status status = umbel_add_many(s->a->f, &keys[s->key], n, NULL, NULL);

    UM_WANT(status == UMBEL_OK || status == UMBEL_E_FULL);
    UM_WANT(umbel_query_many(s->a->f, &keys[s->key], n, hit, NULL) == UMBEL_OK);
    for (size_t i = 0; i < n; i++)
        if (status == UMBEL_OK || hit[i])
            count_one(s->a, s->key + i);
    note(m, umbel_added(s->a->f));
}

/* Adds a key with a small amount, or with one near UINT64_MAX. */
static void op_add_amount(machine *m, const step *s)
{
    uint64_t amount = s->amount < 28 ? s->amount : UINT64_MAX - s->key;
    bool was, fresh = false;

    UM_WANT(umbel_query_many(s->a->f, &keys[s->key], 1, &was, NULL) ==
            UMBEL_OK);
    umbel_status status =
        umbel_add_amounts(s->a->f, &keys[s->key], &amount, 1, &fresh, NULL);
    UM_WANT(umbel_count_limit(s->a->f)
                ? status == UMBEL_OK || (status == UMBEL_E_FULL && !was)
                : status == UMBEL_E_UNSUPPORTED);
    note(m, status);
    if (status != UMBEL_OK || amount == 0) {
        UM_WANT(!fresh);
        return;
    }
    UM_WANT(fresh == !was);
    s->a->exact = false;
    s->a->has[s->key] = true;
    s->a->times[s->key] = sum(s->a->times[s->key], amount);
}

/* Shares the filter: from now on it uses the operations for threads. */
static void op_share(machine *m, const step *s)
{
    umbel_status status = umbel_share(s->a->f, NULL);

    UM_WANT(status == UMBEL_OK || status == UMBEL_E_UNSUPPORTED);
    note(m, status);
}

/* Checks that counts are at least the true ones, up to the limit. */
static void check_counts(machine *m, const slot *s)
{
    uint64_t count[KEYS], limit = umbel_count_limit(s->f);

    if (!limit)
        return;
    UM_WANT(umbel_count_many(s->f, keys, KEYS, count, NULL) == UMBEL_OK);
    for (int i = 0; i < KEYS; i++)
        UM_WANT(count[i] >= (s->times[i] < limit ? s->times[i] : limit) ||
                umbel_has_false_negatives(s->f));
    note(m, um_checksum(count, sizeof count));
}

static void op_query(machine *m, const step *s)
{
    bool hit[KEYS];

    UM_WANT(umbel_query_many(s->a->f, keys, KEYS, hit, NULL) == UMBEL_OK);
    for (int i = 0; i < KEYS; i++)
        UM_WANT(hit[i] || !s->a->has[i] || umbel_has_false_negatives(s->a->f));
    note(m, um_checksum(hit, sizeof hit));
    check_counts(m, s->a);
}

/*
 * Returns true if a OP b succeeded; filters of one program differ only in size.
 */
static bool merged(const step *s, umbel_merge_op op)
{
    umbel_error err = {0};
    bool alike = umbel_cells(s->a->f) == umbel_cells(s->b->f);
    umbel_status status = umbel_merge(s->a->f, s->b->f, op, &err);

    if (status == UMBEL_E_UNSUPPORTED || err.detail == UMBEL_D_DIFFERENCE)
        return false;
    UM_WANT(status == (alike ? UMBEL_OK : UMBEL_E_MISMATCH));
    if (!alike)
        um_fuzz_check_error(status, &err);
    return alike;
}

static void join(const step *s, umbel_merge_op op)
{
    if (!merged(s, op))
        return;
    for (int i = 0; i < KEYS; i++) {
        s->a->has[i] |= s->b->has[i];
        if (s->b->times[i] > s->a->times[i])
            s->a->times[i] = s->b->times[i];
    }
    s->a->exact &= s->b->exact && !umbel_count_limit(s->a->f);
    s->a->sums = false;
}

static void op_or(machine *m, const step *s)
{
    (void)m;
    join(s, UMBEL_OR);
}

static void op_max(machine *m, const step *s)
{
    (void)m;
    join(s, UMBEL_MAX);
}

static void op_and(machine *m, const step *s)
{
    (void)m;
    if (!merged(s, UMBEL_AND))
        return;
    for (int i = 0; i < KEYS; i++) {
        s->a->has[i] &= s->b->has[i];
        if (s->b->times[i] < s->a->times[i])
            s->a->times[i] = s->b->times[i];
    }
    s->a->exact &= s->a == s->b;
    s->a->sums = false;
}

static void op_sum(machine *m, const step *s)
{
    (void)m;
    if (!merged(s, UMBEL_ADD))
        return;
    for (int i = 0; i < KEYS; i++) {
        s->a->has[i] |= s->b->has[i];
        s->a->times[i] = sum(s->a->times[i], s->b->times[i]);
    }
    s->a->exact = false;
    s->a->sums &= s->b->sums;
}

/*
 * Subtracts b from a. The result is not tracked: it is only defined if b was a
 * part of a. Only filters merged by ADD can be subtracted, and keys added later
 * can be removed again.
 */
static void op_minus(machine *m, const step *s)
{
    umbel_status status = umbel_merge(s->a->f, s->b->f, UMBEL_MINUS, NULL);

    note(m, status);
    if (status != UMBEL_OK)
        return;
    UM_WANT(s->a->sums && s->b->sums);
    umbel_filter *f = s->a->f;
    *s->a = (slot){.f = f, .sums = true};
}

/* Removes a key that was added, so that no other key is lost. */
static void op_remove(machine *m, const step *s)
{
    slot *a = s->a;

    if (!a->times[s->key])
        return;
    umbel_status status = umbel_remove_many(a->f, &keys[s->key], 1, NULL);
    note(m, status);
    UM_WANT(status == UMBEL_E_UNSUPPORTED || status == UMBEL_OK);
    if (status != UMBEL_OK)
        return;
    UM_WANT(a->sums);
    a->has[s->key] = --a->times[s->key];
    a->exact = false;
}

static void op_fold(machine *m, const step *s)
{
    uint64_t parts = umbel_fold_parts(s->a->f), by = s->key % 16;
    umbel_filter *small = NULL;

    umbel_status status = umbel_fold(s->a->f, by, &small, NULL);
    UM_WANT((status == UMBEL_OK) == (small != NULL));
    if (by == 0 || parts % by)
        UM_WANT(status != UMBEL_OK);
    if (small)
        replace(s->a, small);
    if (small && by > 1 && umbel_count_limit(small))
        s->a->exact = false; /* cells of a key may fold into one */
    note(m, status);
}

static void op_copy(machine *m, const step *s)
{
    umbel_filter *copy = NULL;

    (void)m;
    if (s->a == s->b)
        return;
    UM_WANT(umbel_copy(s->b->f, &copy, NULL) == UMBEL_OK);
    umbel_close(s->a->f);
    *s->a = *s->b;
    s->a->f = copy;
}

static void op_clear(machine *m, const step *s)
{
    umbel_filter *f = s->a->f;

    UM_WANT(umbel_clear(f, NULL) == UMBEL_OK);
    UM_WANT(umbel_added(f) == 0);
    *s->a = (slot){.f = f, .exact = m->any_order, .sums = true};
}

static void op_wire(machine *m, const step *s)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f = NULL;
    size_t len;
    uint8_t *bytes = um_fuzz_encode(s->a->f, &len);

    source.verify = true;
    source.secret = m->params.secret;
    UM_WANT(umbel_decode(bytes, len, &source, &f, NULL) == UMBEL_OK);
    UM_WANT(umbel_same_shape(f, s->a->f, NULL) == UMBEL_OK);
    UM_WANT(umbel_added(f) == umbel_added(s->a->f));
    note(m, um_checksum(bytes, len));
    free(bytes);
    replace(s->a, f);
}

/* Checks that a filter made step by step equals one built from its keys. */
static void op_rebuild(machine *m, const step *s)
{
    umbel_params p = m->params;
    umbel_filter *f = NULL;

    if (!s->a->exact)
        return;
    p.cells = umbel_cells(s->a->f);
    p.hashes = umbel_hashes(s->a->f);
    UM_WANT(umbel_create(m->kind, &p, &f, NULL) == UMBEL_OK);
    UM_WANT(umbel_same_shape(f, s->a->f, NULL) == UMBEL_OK);
    for (int i = 0; i < KEYS; i++)
        if (s->a->has[i])
            UM_WANT(umbel_add_many(f, &keys[i], 1, NULL, NULL) == UMBEL_OK);
    UM_WANT(umbel_payload_checksum(f) == umbel_payload_checksum(s->a->f));
    umbel_close(f);
}

typedef void operation(machine *m, const step *s);

static operation *const operations[] = {
    op_add,    op_add_many,   op_query, op_or,      op_and, op_fold,
    op_copy,   op_clear,      op_wire,  op_rebuild, op_sum, op_minus,
    op_remove, op_add_amount, op_max,   op_share,
};

static uint8_t get_u8(um_reader *r)
{
    uint8_t x;
    um_get_bytes(r, &x, 1);
    return x;
}

/*
 * Chooses a cell width: the standard, the minimum, the maximum or any. Some
 * kinds reject some widths.
 */
static uint64_t choose_bits(const umbel_setting_info *info, uint8_t dice)
{
    uint64_t span = info->max - info->min + 1;
    uint64_t bits[] = {info->standard, info->min, info->max,
                       info->min + (dice >> 2) % span};

    return bits[dice & 3];
}

static void choose_settings(machine *m)
{
    umbel_params *p = &m->params;
    uint8_t seed = (uint8_t)p->seed;
    umbel_setting_info info;

    p->settings = m->setting;
    for (size_t i = 0; umbel_kind_setting(m->kind, i, &info); i++) {
        if (strcmp(info.name, "update") == 0) {
            m->setting[p->nsettings++] = (umbel_setting){info.name, seed & 1};
            m->plain = !(seed & 1);
        }
        if (strcmp(info.name, "cell_bits") == 0)
            m->setting[p->nsettings++] = (umbel_setting){
                info.name, choose_bits(&info, (uint8_t)(seed >> 1))};
    }
}

static bool begin(machine *m, um_reader *r)
{
    umbel_params *p = &m->params;
    bool keyed = false;

    *m = (machine){.params = UMBEL_PARAMS_INIT};
    if (!umbel_kind_at(get_u8(r), &m->kind, NULL) ||
        !umbel_addressing_at(get_u8(r), &p->addressing, NULL))
        return false;
    if (um_kind_find(m->kind)->fixed_addressing)
        p->addressing = NULL;
    umbel_hash_at(get_u8(r) - 1u, &p->hash, NULL, &keyed); /* 0: as implied */
    p->secret = keyed ? um_fuzz_secret : NULL;
    p->hashes = 1 + get_u8(r) % 64; /* 0 would search for the best, slowly */
    p->seed = get_u8(r);
    p->cells = get_u8(r);
    p->cells |= (uint64_t)(get_u8(r) % 8) << 8;
    choose_settings(m);
    for (size_t i = 0; i < SLOTS; i++) {
        if (umbel_create(m->kind, p, &m->slot[i].f, NULL) != UMBEL_OK)
            return false;
        m->any_order = !umbel_has_false_negatives(m->slot[i].f) &&
                       (m->plain || !umbel_count_limit(m->slot[i].f));
        m->slot[i].exact = m->any_order;
        m->slot[i].sums = true;
    }
    return true;
}

static void run(machine *m, um_reader *r)
{
    for (int i = 0; i < MAX_STEPS && r->at < r->end; i++) {
        uint8_t op = get_u8(r), slots = get_u8(r);
        step s = {.a = &m->slot[slots % SLOTS],
                  .b = &m->slot[slots / SLOTS % SLOTS],
                  .key = get_u8(r) % KEYS,
                  .amount = slots / (SLOTS * SLOTS)};
        operations[op % UM_COUNT(operations)](m, &s);
    }
}

/* Checks all slots at the end, whatever the program did. */
static void finish(machine *m)
{
    for (size_t i = 0; i < SLOTS; i++) {
        step s = {.a = &m->slot[i], .b = &m->slot[i]};
        op_query(m, &s);
        op_rebuild(m, &s);
        op_wire(m, &s);
    }
}

/* Runs the program. Returns its trace: a hash of the bytes and answers. */
static uint64_t execute(const uint8_t *data, size_t len)
{
    um_reader r = {data, data + len, false};
    machine m;

    if (begin(&m, &r)) {
        run(&m, &r);
        finish(&m);
    }
    for (size_t i = 0; i < SLOTS; i++)
        umbel_close(m.slot[i].f);
    return m.trace;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (!keys[0].len)
        create_keys();
    uint64_t trace = execute(data, len);
    if (um_fuzz_one_in(16, data, len))
        UM_WANT(execute(data, len) == trace);
    return 0;
}
