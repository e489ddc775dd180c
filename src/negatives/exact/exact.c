/*
 * exact.c - sets without a false positive among listed keys: two levels of a
 * ribbon.
 *
 * The first level has r columns and contains only members: a listed key passes
 * it with probability 2^-r. The second has one column, which is 1 for members
 * and 0 for the listed keys that pass. So n members and b listed keys take
 * about
 *
 *     n r + n + b 2^-r   bits,
 *
 * which is smallest where one more column costs as much as it saves. If the
 * list is the rest of a universe, this is some 6 % above log2 of the number of
 * its subsets of n keys; cascades of filters are far above.
 */
#include "negatives/exact/exact.h"
#include "base/alloc.h"
#include "base/batch.h"
#include "base/threads.h"
#include "filter/handle.h"
#include "filter/head.h"
#include "filter/sizing.h"
#include "kinds/ribbon/ribbon.h"
#include "query/digest_set.h"
#include "query/query.h"

#include <umbel/experimental/exact.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST = 1024,
    MAX_FORMS = 8,    /* forms that are tried */
    WIDE_FROM = 50000 /* keys; fewer take no less space in wide layers */
};

static const um_ribbon_form one_column = {1, 0};
static const um_ribbon_sizes no_sizes = {.tail = 0};
static const um_ribbon_form part_column = {0, 1};

typedef struct passed {
    umbel_digest digest;
    double weight;
} passed;

struct umbel_exact {
    umbel_alloc alloc;
    um_shape shape; /* as requested; cells: the limit, or 0 */
    uint64_t bytes; /* the limit of the whole file, or 0 */
    double fpr;     /* as requested, or 0 */
    um_hasher hasher;
    um_secret secret;
    unsigned threads;

    umbel_digest *members; /* sorted, without duplicates */
    uint8_t *met;          /* a bit per member: it is also a listed key */
    size_t n, members_cap; /* members; number passed, + 1 */

    um_ribbon_form form;
    um_ribbon_sizes sizes;
    um_ribbon_level level; /* the first level; without columns all keys pass */
    uint8_t *memory;
    size_t len;
    bool halves; /* a second level is wanted even if no listed key passes */
    bool alone;  /* no second level, whatever passes */
    bool all;    /* the second level has space for all keys that pass */
    um_exact_parts parts;

    um_distinct listed; /* all keys that must not match */
    passed *passed;
    size_t npassed, cap;
    umbel_exact_result bill;
};

static size_t met_len(const umbel_exact *x)
{
    return x->members_cap / 8 + 1;
}

void umbel_exact_close(umbel_exact *x)
{
    if (!x)
        return;
    umbel_alloc alloc = x->alloc;
    um_hasher_fini(&x->hasher);
    um_distinct_fini(&x->listed);
    um_put(&alloc, x->members, x->members_cap * sizeof *x->members);
    um_put(&alloc, x->met, met_len(x));
    um_put(&alloc, x->memory, x->len);
    um_exact_parts_fini(&x->parts, &alloc);
    um_put(&alloc, x->passed, x->cap * sizeof *x->passed);
    um_put(&alloc, x, sizeof *x);
}

/* --- the first level ------------------------------------------------------ */

static bool has_columns(const um_ribbon_form *form)
{
    return form->columns || form->finer;
}

static bool is_limited(const umbel_exact *x)
{
    return x->shape.cells || x->bytes;
}

/* Sets the numbers of keys and the error as in the finished filter, for the
 * length of its head. */
static void count_keys(const umbel_exact *x, um_shape *shape)
{
    shape->added = x->n;
    if (!shape->capacity)
        shape->capacity = x->n;
    if (!x->n)
        return;
    double error = shape->kind->error(shape, NULL, 1);
    shape->fpr = error <= x->fpr ? x->fpr : um_round_fpr(error);
}

static bool keeps_limit(const umbel_exact *x, const um_shape *made)
{
    um_shape shape = *made;
    size_t len = 0;

    if (x->shape.cells && made->cells > x->shape.cells)
        return false;
    count_keys(x, &shape);
    return !x->bytes || (um_file_len(&shape, &len) && len <= x->bytes);
}

/* Returns the sizes that take the most space in the head, for a level of at
 * most that many keys. */
static um_ribbon_sizes longest_sizes(double keys)
{
    double many = keys > UM_RIBBON_MAX_TAIL ? keys / UM_RIBBON_BUCKET + 1 : 0;

    return (um_ribbon_sizes){.buckets = {(uint64_t)many},
                             .tail = (uint64_t)fmin(keys, UM_RIBBON_MAX_TAIL),
                             .salt = UM_RIBBON_SALTS - 1};
}

/* Returns the length of the head. A partial column makes it longer. */
static size_t head_of(const umbel_exact *x, const um_ribbon_form *form,
                      bool two)
{
    um_ribbon_sizes first =
        has_columns(form) ? longest_sizes((double)x->n) : no_sizes;
    um_ribbon_sizes second =
        two ? longest_sizes(8 * (double)x->bytes) : no_sizes;
    um_shape shape = x->shape;

    um_ribbon_shape(&shape, form, 0, &first, &second);
    count_keys(x, &shape);
    return um_head_size(&shape, NULL);
}

/* Returns the bits available to the levels, if the first one has that form. */
static double bits_for(const void *ctx, const um_ribbon_form *form, bool two)
{
    const umbel_exact *x = ctx;
    double bits = x->shape.cells ? (double)x->shape.cells : INFINITY;

    if (x->bytes) {
        size_t head = head_of(x, form, two);
        uint64_t left = x->bytes > head ? x->bytes - head : 0;
        left = left / UM_SECTION_ALIGN * UM_SECTION_ALIGN;
        bits = fmin(bits, 8 * (double)left);
    }
    return bits;
}

/* The parameters besides the members. */
typedef struct others {
    double fpr;
    const umbel_exact_class *classes;
    size_t nclasses;
    uint64_t bytes;
    const umbel_exact_part *parts; /* NULL: without partitions */
    size_t nparts;
} others;

static uint64_t count_listed(const others *o)
{
    uint64_t n = 0;

    for (size_t i = 0; i < o->nclasses; i++)
        n += o->classes[i].keys;
    return n;
}

static umbel_status refuse_size(const umbel_exact *x, double least,
                                umbel_error *err)
{
    return um_ribbon_too_few(
        &x->shape, (uint64_t)bits_for(x, &one_column, false), least, x->n, err);
}

/* Chooses the form of the levels within the limit, with two levels leaving
 * `spare` bits unused. */
static umbel_status choose_within(umbel_exact *x, const others *o, double spare,
                                  umbel_error *err)
{
    um_exact_limit limit = {bits_for, x, spare};
    um_exact_form chosen = {.two = false};

    if (x->n && !um_exact_within((double)x->n, o->classes, o->nclasses, &limit,
                                 &chosen))
        return refuse_size(x, um_exact_least((double)x->n), err);
    x->form = chosen.form;
    /* With the maximum number of columns, halving the error again is of no
     * use. */
    x->halves = chosen.two && chosen.form.columns < UM_RIBBON_MAX_PRINT;
    x->alone = !chosen.two;
    x->all = chosen.all;
    return UMBEL_OK;
}

static umbel_status choose(umbel_exact *x, const others *o, umbel_error *err)
{
    uint64_t listed = count_listed(o);

    if (o->fpr > 0) { /* the second level halves it */
        x->halves = listed > 0;
        if (um_ribbon_form_for(listed ? 2 * o->fpr : o->fpr, (double)x->n,
                               &x->form))
            return UMBEL_OK;
        return um_fail(err, UMBEL_E_RANGE,
                       "kind ribbon has errors down to 2^-%d, got %g",
                       UM_RIBBON_MAX_PRINT, o->fpr);
    }
    if (is_limited(x))
        return choose_within(x, o, 0, err);
    x->form =
        (um_ribbon_form){um_exact_smallest((double)x->n, (double)listed), 0};
    return UMBEL_OK;
}

/* Returns true if a level should be wide: as small as possible, unless there is
 * a size to fill. */
static bool is_wide(const umbel_exact *x, size_t keys)
{
    return um_ribbon_is_wide(&x->shape) ||
           (keys >= WIDE_FROM && !is_limited(x));
}

static umbel_status create_form(umbel_exact *x, um_ribbon_item *items,
                                umbel_error *err)
{
    um_put(&x->alloc, x->memory, x->len);
    x->memory = NULL;
    x->len = 0;
    x->sizes =
        (um_ribbon_sizes){.wide = has_columns(&x->form) && is_wide(x, x->n)};
    if (has_columns(&x->form))
        UM_TRY(um_ribbon_create(items, x->n, &x->form, x->threads, &x->alloc,
                                &x->sizes, &x->memory, &x->len, err));
    um_ribbon_lay(&x->level, &x->form, &x->sizes, x->memory);
    return UMBEL_OK;
}

static bool first_fits(const umbel_exact *x)
{
    um_shape shape = x->shape;

    um_ribbon_shape(&shape, &x->form, 0, &x->sizes, &no_sizes);
    return keeps_limit(x, &shape);
}

static void fill_items(const umbel_exact *x, um_ribbon_item *items)
{
    for (size_t i = 0; i < x->n; i++)
        items[i] = (um_ribbon_item){x->members[i].lo, x->members[i].hi,
                                    um_ribbon_print(&x->members[i])};
}

/* Rebuilds a single level until it fits, since sizes are estimates. */
static umbel_status fit_alone(umbel_exact *x, um_ribbon_item *items,
                              umbel_error *err)
{
    for (double share = 0.998; x->n && !first_fits(x); share -= 0.002) {
        um_ribbon_form_within(share * bits_for(x, &part_column, false),
                              (double)x->n, &x->form);
        if (share <= 0.9 || !has_columns(&x->form))
            return refuse_size(x, um_exact_least((double)x->n), err);
        fill_items(x, items);
        UM_TRY(create_form(x, items, err));
    }
    return UMBEL_OK;
}

/* Returns the number of bits that are missing for a second level after the
 * first one was built; with all keys that pass, if they are to fit. */
static double missing_bits(const umbel_exact *x, uint64_t listed)
{
    double keys = x->all ? (double)listed : 0;

    return 8 * (double)x->level.bytes +
           um_exact_second((double)x->n, keys, &x->form) -
           bits_for(x, &x->form, true);
}

static umbel_status create_first(umbel_exact *x, um_ribbon_item *items,
                                 const others *o, umbel_error *err)
{
    bool may_shrink = is_limited(x) && !(o->fpr > 0);
    uint64_t listed = count_listed(o);
    double spare = 0;

    UM_TRY(create_form(x, items, err));
    for (int i = 0; i < MAX_FORMS && may_shrink && x->halves &&
                    missing_bits(x, listed) > 0;
         i++) {
        spare += missing_bits(x, listed);
        UM_TRY(choose_within(x, o, spare, err));
        fill_items(x, items);
        UM_TRY(create_form(x, items, err));
    }
    return x->alone ? fit_alone(x, items, err) : UMBEL_OK;
}

static umbel_status create_first_parts(umbel_exact *x, um_ribbon_item *items,
                                       umbel_error *err)
{
    const um_ribbon_item *clash;
    size_t n = um_exact_parts_items(&x->parts, x->members, x->n, items);

    um_ribbon_sort(items, &n, x->threads, &clash);
    x->sizes.wide = n && is_wide(x, n);
    if (n)
        UM_TRY(um_ribbon_create_steps(items, n, &x->form, x->threads, &x->alloc,
                                      &x->sizes, &x->memory, &x->len, err));
    um_ribbon_lay(&x->level, &x->form, &x->sizes, x->memory);
    return UMBEL_OK;
}

/* Stores the sorted members, since the first level contains only their
 * hashes. */
static umbel_status copy_members(umbel_exact *x, const um_ribbon_item *items,
                                 size_t given, umbel_error *err)
{
    x->members_cap = given + 1;
    x->members = um_get(&x->alloc, x->members_cap * sizeof *x->members);
    x->met = um_get(&x->alloc, met_len(x));
    if (!x->members || !x->met)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", given);
    for (size_t i = 0; i < x->n; i++)
        x->members[i] = (umbel_digest){items[i].lo, items[i].hi};
    return UMBEL_OK;
}

static umbel_status create_level(umbel_exact *x, um_ribbon_item *items,
                                 const others *o, umbel_error *err)
{
    if (!o->parts) {
        x->bytes = o->bytes;
        UM_TRY(choose(x, o, err));
        return create_first(x, items, o, err);
    }
    UM_TRY(um_exact_parts_choose(&x->parts, x->members, x->n, o->parts,
                                 o->nparts, &x->alloc, &x->form, &x->sizes,
                                 err));
    return create_first_parts(x, items, err);
}

static umbel_status consume_members(umbel_exact *x, const um_members *in,
                                    const others *o, umbel_error *err)
{
    const um_ribbon_item *clash;
    um_ribbon_item *items;

    UM_TRY(um_ribbon_items(in, 0, &items, err));
    x->n = in->n;
    um_ribbon_sort(items, &x->n, x->threads, &clash);
    umbel_status status = copy_members(x, items, in->n, err);
    if (!status)
        status = create_level(x, items, o, err);
    um_put(&x->alloc, items, (in->n + 1) * sizeof *items);
    return status;
}

static umbel_status check_members(const umbel_key_list *m, umbel_error *err)
{
    UM_TRY(um_check_key_list(m, err));
    if (m->values)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a list of keys that must not match is for sets, not "
                       "for maps");
    return UMBEL_OK;
}

/* Checks that the hash matches the partitions, which determine the size. */
static umbel_status check_parts(const um_shape *s, double fpr, const others *o,
                                umbel_error *err)
{
    if (!o->parts != !s->hash->part)
        return um_fail(err, UMBEL_E_RANGE,
                       "a hash of partitions, such as xxh3-field1, and the "
                       "numbers of keys in each go together, got hash %s",
                       s->hash->name);
    if (o->parts && (s->cells || fpr > 0))
        return um_fail(err, UMBEL_E_RANGE,
                       "size and error of a set in partitions follow from its "
                       "keys: leave them out");
    for (size_t i = 1; i < o->nparts; i++)
        if (o->parts[i - 1].part >= o->parts[i].part)
            return um_fail(err, UMBEL_E_RANGE,
                           "partitions must ascend, each once");
    return UMBEL_OK;
}

static umbel_status open_any(const umbel_params *params,
                             const umbel_key_list *members,
                             const umbel_build_params *how, const others *list,
                             umbel_exact **out, umbel_error *err)
{
    others o = *list;
    umbel_build_params build;
    umbel_params p;
    um_shape shape;

    UM_TRY(um_params_normalize(params, &p, err));
    UM_TRY(um_shape_from_params("ribbon", &p, &shape, err));
    UM_TRY(um_ribbon_want_free(&shape, err));
    o.fpr = p.fpr;
    UM_TRY(check_parts(&shape, p.fpr, &o, err));
    UM_TRY(check_members(members, err));
    UM_TRY(um_build_params_normalize(how, &build, err));
    umbel_alloc alloc = um_alloc_or_default(p.alloc);
    umbel_exact *x = um_get(&alloc, sizeof *x);
    if (!x)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to build");
    x->alloc = alloc;
    x->listed.alloc = &x->alloc;
    x->shape = shape;
    x->fpr = o.fpr;
    x->threads = build.threads;
    um_hasher_init(&x->hasher, shape.hash, shape.seed, &x->secret);
    if (p.secret)
        um_hasher_unlock(&x->hasher, p.secret);
    um_members in = {.digests = members->digests,
                     .n = members->n,
                     .threads = x->threads,
                     .alloc = &x->alloc};
    umbel_status status = consume_members(x, &in, &o, err);
    if (status == UMBEL_OK)
        *out = x;
    else
        umbel_exact_close(x);
    return status;
}

umbel_status umbel_exact_open(const umbel_params *params,
                              const umbel_key_list *members,
                              const umbel_build_params *how, uint64_t listed,
                              umbel_exact **out, umbel_error *err)
{
    umbel_exact_class one = {1, listed};
    others o = {.classes = &one, .nclasses = listed != 0};

    return open_any(params, members, how, &o, out, err);
}

umbel_status umbel_exact_open_classes(const umbel_params *params,
                                      const umbel_key_list *members,
                                      const umbel_build_params *how,
                                      const umbel_exact_class *classes,
                                      size_t n, uint64_t bytes,
                                      umbel_exact **out, umbel_error *err)
{
    others o = {.classes = classes, .nclasses = n, .bytes = bytes};

    for (size_t i = 0; i < n; i++)
        if (!(classes[i].weight >= 0) || isinf(classes[i].weight) ||
            (i && classes[i].weight > classes[i - 1].weight))
            return um_fail(err, UMBEL_E_RANGE,
                           "classes have weights of 0 or more, the heaviest "
                           "first");
    return open_any(params, members, how, &o, out, err);
}

umbel_status umbel_exact_open_parts(const umbel_params *params,
                                    const umbel_key_list *members,
                                    const umbel_build_params *how,
                                    const umbel_exact_part *parts, size_t n,
                                    umbel_exact **out, umbel_error *err)
{
    static const umbel_exact_part none = {0, 0};
    others o = {.parts = parts ? parts : &none, .nparts = n};

    return open_any(params, members, how, &o, out, err);
}

/* --- the list ------------------------------------------------------------- */

static bool before(const umbel_digest *a, const umbel_digest *b)
{
    return a->lo != b->lo ? a->lo < b->lo : a->hi < b->hi;
}

/* Returns the index of a member, or n if it is none. */
static size_t find(const umbel_exact *x, const umbel_digest *d)
{
    size_t low = 0, high = x->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (before(&x->members[mid], d))
            low = mid + 1;
        else
            high = mid;
    }
    return low < x->n && !before(d, &x->members[low]) ? low : x->n;
}

static bool retain(umbel_exact *x, const umbel_digest *d, double weight)
{
    if (x->npassed == x->cap) {
        size_t cap = x->cap ? 2 * x->cap : FIRST;
        passed *more = um_get(&x->alloc, cap * sizeof *more);
        if (!more)
            return false;
        if (x->npassed)
            memcpy(more, x->passed, x->npassed * sizeof *more);
        um_put(&x->alloc, x->passed, x->cap * sizeof *more);
        x->passed = more;
        x->cap = cap;
    }
    x->passed[x->npassed++] = (passed){*d, weight};
    return true;
}

static void query_first(const umbel_exact *x, const umbel_digest *d, size_t n,
                        bool *pass)
{
    if (x->parts.on)
        for (size_t i = 0; i < n; i++)
            pass[i] = um_ribbon_pass_part(&x->parts.ready, &x->level, &d[i]);
    else if (has_columns(&x->form) && x->n)
        um_ribbon_pass(&x->level, d, n, pass);
    else
        memset(pass, x->n != 0, n);
}

/* Stores the keys of a batch that pass the first level. */
static bool add_batch(umbel_exact *x, const umbel_key_list *never, size_t from,
                      size_t n, bool *member)
{
    const umbel_digest *d = never->digests + from;
    bool pass[UM_BATCH], fine = true;

    query_first(x, d, n, pass);
    for (size_t i = 0; fine && i < n; i++) {
        size_t at = pass[i] ? find(x, &d[i]) : x->n;
        double weight = um_list_weight(never, from + i);
        if (member)
            member[i] = at < x->n;
        if (at < x->n) {
            um_set_bit(x->met, at);
            continue;
        }
        x->bill.weight += weight;
        fine = um_distinct_add(&x->listed, &d[i], 1) &&
               (!pass[i] || retain(x, &d[i], weight));
    }
    return fine;
}

umbel_status umbel_exact_never(umbel_exact *x, const umbel_key_list *never,
                               bool *member, umbel_error *err)
{
    UM_TRY(um_check_key_list(never, err));
    UM_TRY(um_check_weights(never->weights, never->n, err));
    for (size_t i = 0, some; i < never->n; i += some) {
        some = um_next_batch(never->n - i);
        if (!add_batch(x, never, i, some, member ? member + i : NULL))
            return um_fail(err, UMBEL_E_NOMEM,
                           "no memory for more than %zu keys", x->npassed);
    }
    return UMBEL_OK;
}

size_t umbel_exact_unlisted(const umbel_exact *x, umbel_digest *unlisted,
                            size_t cap)
{
    size_t n = 0;

    for (size_t i = 0; i < x->n; i++)
        if (!um_bit(x->met, i)) {
            if (n < cap)
                unlisted[n] = x->members[i];
            n++;
        }
    return n;
}

/* --- the second level ----------------------------------------------------- */

static int by_digest(const void *a, const void *b)
{
    const umbel_digest *x = &((const passed *)a)->digest;
    const umbel_digest *y = &((const passed *)b)->digest;
    return before(y, x) - before(x, y);
}

/* Orders by descending weight, then by digest. */
static int by_weight(const void *a, const void *b)
{
    double x = ((const passed *)a)->weight, y = ((const passed *)b)->weight;
    return x != y ? (x < y) - (x > y) : by_digest(a, b);
}

/* Merges equal keys and adds their weights. */
static void unite(umbel_exact *x)
{
    size_t n = 0;

    if (x->npassed)
        qsort(x->passed, x->npassed, sizeof *x->passed, by_digest);
    for (size_t i = 0; i < x->npassed; i++)
        if (n && by_digest(&x->passed[n - 1], &x->passed[i]) == 0)
            x->passed[n - 1].weight += x->passed[i].weight;
        else
            x->passed[n++] = x->passed[i];
    x->npassed = n;
}

/*
 * Returns the number of listed keys that fit into the second level.
 */
static size_t room_for(const umbel_exact *x, double share)
{
    double bits =
        share * (bits_for(x, &x->form, true) - 8 * (double)x->level.bytes);
    size_t low = 0, high = x->npassed;

    while (low < high) {
        size_t mid = low + (high - low + 1) / 2;
        if (um_ribbon_guess((double)(x->n + mid), &one_column) <= bits)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

/* Returns true for a key of a partition that contains only members. */
static bool is_all(const umbel_exact *x, const umbel_digest *d)
{
    return x->parts.on &&
           um_ribbon_part_of(&x->parts.ready, d) == UM_RIBBON_ALL;
}

static umbel_status create_second(const umbel_exact *x, size_t kept,
                                  um_ribbon_sizes *sizes, uint8_t **memory,
                                  size_t *len, umbel_error *err)
{
    size_t n = x->n + kept, distinct = 0;
    const um_ribbon_item *clash;
    um_ribbon_item *items = um_get(&x->alloc, n * sizeof *items);

    if (!items)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", n);
    for (size_t i = 0; i < n; i++) {
        const umbel_digest *d =
            i < x->n ? &x->members[i] : &x->passed[i - x->n].digest;
        items[distinct] =
            (um_ribbon_item){um_ribbon_second(d), d->hi, i < x->n};
        distinct += !is_all(x, d);
    }
    um_ribbon_sort(items, &distinct, x->threads, &clash);
    sizes->wide = is_wide(x, distinct);
    umbel_status status =
        um_ribbon_create(items, distinct, &one_column, x->threads, &x->alloc,
                         sizes, memory, len, err);
    um_put(&x->alloc, items, n * sizeof *items);
    return status;
}

static bool wants_second(const umbel_exact *x, size_t kept)
{
    if (x->parts.on)
        return kept || x->parts.seconds;
    if (x->alone)
        return false;
    return kept || (x->n && (x->halves || !has_columns(&x->form)));
}

/* Returns both levels and the index together, in memory of their own, since
 * there may be further attempts. */
static uint8_t *whole(const umbel_exact *x, const uint8_t *second, size_t len)
{
    size_t bytes = x->len + len + x->parts.len;
    uint8_t *payload =
        um_get(&x->alloc, um_ribbon_space(8 * (uint64_t)(bytes ? bytes : 8)));

    if (payload && x->len)
        memcpy(payload, x->memory, x->len);
    if (payload && len)
        memcpy(payload + x->len, second, len);
    if (payload && x->parts.len)
        memcpy(payload + x->len + len, x->parts.memory, x->parts.len);
    return payload;
}

static umbel_status join(const umbel_exact *x, size_t kept, um_shape *shape,
                         uint8_t **payload, umbel_error *err)
{
    um_ribbon_sizes sizes = no_sizes;
    uint8_t *second = NULL;
    size_t len = 0;

    if (wants_second(x, kept))
        UM_TRY(create_second(x, kept, &sizes, &second, &len, err));
    *payload = whole(x, second, len);
    um_put(&x->alloc, second, len);
    if (!*payload)
        return um_no_memory(err, x->len + len);
    if (x->parts.on)
        um_ribbon_shape_parts(shape, &x->form, &x->sizes, &sizes, x->parts.bits,
                              &x->parts.sizes);
    else
        um_ribbon_shape(shape, &x->form, 0, &x->sizes, &sizes);
    return UMBEL_OK;
}

/* Builds the second level; if there is a limit, repeatedly, since sizes are
 * estimates. */
static umbel_status try_sizes(umbel_exact *x, um_shape *shape,
                              uint8_t **payload, umbel_error *err)
{
    size_t kept = x->alone ? 0 : is_limited(x) ? room_for(x, 1) : x->npassed;

    for (double share = 0.999;; share -= 0.001) {
        UM_TRY(join(x, kept, shape, payload, err));
        if (keeps_limit(x, shape))
            return UMBEL_OK;
        um_put(&x->alloc, *payload, um_ribbon_space(shape->cells));
        if (!kept)
            return refuse_size(x, (double)shape->cells - 1, err);
        size_t most = room_for(x, share);
        kept = most < kept ? most : kept - 1;
    }
}

static void count_lost(void *ctx, size_t i, bool hit)
{
    umbel_exact_result *bill = ctx;

    (void)i;
    bill->lost += !hit;
}

/* Fills the result with measurements of the finished filter, not with the
 * intended values. */
static umbel_status fill_bill(const umbel_exact *x, const umbel_filter *f,
                              umbel_exact_result *out, umbel_error *err)
{
    umbel_exact_result bill = x->bill;
    bool hit;

    bill.members = x->n;
    bill.listed = um_distinct_count(&x->listed);
    bill.passed = x->npassed;
    bill.partitions = x->parts.n;
    UM_TRY(um_query_each(f, NULL, x->members, x->n, count_lost, &bill, err));
    for (size_t i = 0; i < x->npassed; i++) {
        UM_TRY(umbel_query_digests(f, &x->passed[i].digest, 1, &hit, err));
        bill.matched += hit;
        bill.weight_left += hit ? x->passed[i].weight : 0;
    }
    bill.error = umbel_predict(f);
    *out = bill;
    return UMBEL_OK;
}

umbel_status umbel_exact_finish(umbel_exact *x, umbel_filter **out,
                                umbel_exact_result *bill, umbel_error *err)
{
    um_shape shape = x->shape;
    uint8_t *payload = NULL;
    umbel_filter *f;

    unite(x);
    if (x->npassed)
        qsort(x->passed, x->npassed, sizeof *x->passed, by_weight);
    UM_TRY(try_sizes(x, &shape, &payload, err));
    count_keys(x, &shape);
    UM_TRY(um_filter_own(&shape, &x->alloc, payload, &f, err));
    um_hasher_copy_secret(&f->hasher, &x->hasher);
    umbel_status status = fill_bill(x, f, bill, err);
    if (status == UMBEL_OK)
        *out = f;
    else
        umbel_close(f);
    return status;
}
