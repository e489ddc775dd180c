/*
 * catalog.c - an index: a directory of sliced files, and what is in use.
 *
 *   index            which files there are, and which of their filters were
 *                    removed; replaced whole, so it is the old one or the new
 *                    one
 *   NUMBER.slices    filters that hash alike, of similar sizes; never changed
 *
 * An update writes new files, and then `index`. A filter that is replaced or
 * removed is only marked, so small updates write little; a file is rewritten
 * without the filters that are marked when it is merged. A file is
 * merged with a new one unless it is more than MERGE_BELOW times as large: then
 * there are few files of one sort, each several times as large as all later
 * ones together, and a filter is copied a few times in its life. Files that
 * `index` does not name are left over from an update that was interrupted; the
 * next update removes them.
 *
 * `index` is little endian: "umbindex" version u32 files u32 label u64 next
 * u64, the number of the next file; for each file number u64 filters u32
 * removed u32, and a bit for each filter, if it was removed, in whole bytes; at
 * the end the XXH3-64 of all that.
 */
/* gcc's analyzer loses the owner of memory in an array of structs. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

#include "index/internal.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "filter/save.h"
#include "kinds/bloom/bloom.h"
#include "query/query.h"

#include <umbel/counting.h>
#include <umbel/file.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    VERSION = 1,
    HEAD_LEN = 32,
    MERGE_BELOW = 4,
    MAX_FILES = 4096,
    MAX_INDEX = 64 << 20, /* bytes of the file `index` */
    TRIES = 16            /* to open an index that is being updated */
};
#define MAGIC "umbindex"
#define SUFFIX ".slices"

/* A file in use. */
typedef struct part {
    uint64_t number;
    um_slices *slices;
    uint32_t n, nremoved;
    uint8_t *removed;
    size_t slot; /* of its first filter; a multiple of 8 */
    bool merged; /* in an update: its filters are in a new file */
} part;

struct umbel_index {
    char *dir;
    uint64_t label, next;
    part *part;
    size_t n, cap, slots;
    um_slices_entry entry;
    um_question question;
    umbel_digest digest[UM_MAX_CANDIDATES];
};

static void path_in(const umbel_index *x, uint64_t number, char out[PATH_MAX])
{
    if (number)
        snprintf(out, PATH_MAX, "%s/%" PRIu64 SUFFIX, x->dir, number);
    else
        snprintf(out, PATH_MAX, "%s/index", x->dir);
}

/* --- reading -------------------------------------------------------------- */

static umbel_status is_damaged(const char *path, umbel_error *err)
{
    return um_fail(err, UMBEL_E_CHECKSUM,
                   "%s%s: damaged: build the index again from the filters",
                   um_path_dots(path), um_path_tail(path));
}

static void close_parts(umbel_index *x)
{
    for (size_t i = 0; i < x->n; i++) {
        um_slices_close(x->part[i].slices);
        free(x->part[i].removed);
    }
    x->n = 0;
}

static umbel_status add_part(umbel_index *x, const part *p, umbel_error *err)
{
    if (!um_array_reserve(&x->part, &x->cap, x->n + 1, sizeof *p)) {
        free(p->removed);
        um_slices_close(p->slices);
        return um_no_memory(err, sizeof *p);
    }
    x->part[x->n++] = *p;
    return UMBEL_OK;
}

static umbel_status read_part(umbel_index *x, um_reader *r, umbel_error *err)
{
    part p = {.slot = x->slots};
    char path[PATH_MAX];

    p.number = um_get_u64(r);
    p.n = um_get_u32(r);
    p.nremoved = um_get_u32(r);
    path_in(x, 0, path);
    if (r->bad || !p.number || p.number >= x->next || p.n < 1 ||
        p.n > UM_SLICES_MAX)
        return is_damaged(path, err);
    p.removed = calloc((p.n + 7) / 8, 1);
    if (!p.removed)
        return um_no_memory(err, p.n);
    um_get_bytes(r, p.removed, (p.n + 7) / 8);
    x->slots += ((size_t)p.n + 7) / 8 * 8;
    UM_TRY(add_part(x, &p, err));
    path_in(x, p.number, path);
    UM_TRY(um_slices_open(path, &x->part[x->n - 1].slices, err));
    if (um_slices_count(x->part[x->n - 1].slices) == p.n &&
        um_popcount(p.removed, 0, p.n) == p.nremoved)
        return UMBEL_OK;
    return is_damaged(path, err);
}

static umbel_status parse_index(umbel_index *x, const char *path,
                                umbel_slice bytes, umbel_error *err)
{
    um_reader r = {bytes.data, (const uint8_t *)bytes.data + bytes.len, false};
    char magic[8];

    um_get_bytes(&r, magic, sizeof magic);
    uint32_t version = um_get_u32(&r), n = um_get_u32(&r);
    if (memcmp(magic, MAGIC, sizeof magic) != 0)
        return um_fail(err, UMBEL_E_FORMAT, "%s%s: not an index of filters",
                       um_path_dots(path), um_path_tail(path));
    if (version != VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "%s%s: an index of version %u, this program reads %d: "
                       "build the index again",
                       um_path_dots(path), um_path_tail(path), version,
                       VERSION);
    if (bytes.len < HEAD_LEN + 8 || n > MAX_FILES ||
        um_load64(r.end - 8) != um_checksum(bytes.data, bytes.len - 8))
        return is_damaged(path, err);
    r.end -= 8;
    x->label = um_get_u64(&r);
    x->next = um_get_u64(&r);
    x->slots = 0;
    for (uint32_t i = 0; i < n; i++)
        UM_TRY(read_part(x, &r, err));
    return r.at == r.end ? UMBEL_OK : is_damaged(path, err);
}

/* Reads `index` and opens its files. E_UNKNOWN if one of them does not
 * exist. */
static umbel_status read_index(umbel_index *x, umbel_error *err)
{
    char path[PATH_MAX];
    struct stat st;

    path_in(x, 0, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "%s%s is not an index: create it with 'umbel where "
                       "--index DIR --add FILTER'",
                       um_path_dots(x->dir), um_path_tail(x->dir));
    if (fd < 0)
        return um_fail_path(err, path);
    if (fstat(fd, &st) != 0)
        st.st_size = 0;
    size_t len = st.st_size < MAX_INDEX ? (size_t)st.st_size : MAX_INDEX;
    uint8_t *bytes = malloc(len + 1);
    umbel_status status = UMBEL_OK;
    if (!bytes)
        status = um_no_memory(err, len);
    else if (read(fd, bytes, len) != (ssize_t)len)
        status = is_damaged(path, err);
    else
        status = parse_index(x, path, (umbel_slice){bytes, len}, err);
    free(bytes);
    close(fd);
    return status;
}

static umbel_status new_index(const char *dir, umbel_index **out,
                              umbel_error *err)
{
    umbel_index *x = calloc(1, sizeof *x);

    if (!x || !(x->dir = strdup(dir))) {
        free(x);
        return um_no_memory(err, sizeof *x);
    }
    x->next = 1;
    *out = x;
    return UMBEL_OK;
}

void umbel_index_close(umbel_index *x)
{
    if (!x)
        return;
    close_parts(x);
    um_question_fini(&x->question);
    free(x->part);
    free(x->dir);
    free(x);
}

umbel_status umbel_index_open(const char *dir, const uint8_t *secret,
                              umbel_index **out, umbel_error *err)
{
    umbel_index *x;
    char path[PATH_MAX];
    bool changed = true;

    UM_TRY(new_index(dir, &x, err));
    umbel_status status = UMBEL_OK;
    for (int i = 0; changed && i < TRIES; i++) {
        close_parts(x);
        status = read_index(x, err);
        path_in(x, 0, path);
        /* An update may have removed a file since `index` was read. */
        changed = status == UMBEL_E_UNKNOWN && access(path, F_OK) == 0;
    }
    for (size_t i = 0; !status && i < x->n; i++) {
        umbel_filter *f = um_slices_prototype(x->part[i].slices);
        if (secret && um_secret_of(f))
            status = umbel_unlock(f, secret, err);
    }
    if (status)
        umbel_index_close(x);
    else
        *out = x;
    return status;
}

uint64_t umbel_index_label(const umbel_index *x)
{
    return x->label;
}

size_t umbel_index_slots(const umbel_index *x)
{
    return x->slots;
}

umbel_status umbel_index_slot_at(umbel_index *x, size_t slot,
                                 umbel_index_slot *out, umbel_error *err)
{
    const part *p = x->part;
    umbel_index_slot found = {.name = NULL};

    if (slot >= x->slots)
        return um_fail(err, UMBEL_E_RANGE, "slot %zu, the index has %zu", slot,
                       x->slots);
    while (slot - p->slot >= ((size_t)p->n + 7) / 8 * 8)
        p++;
    uint32_t i = (uint32_t)(slot - p->slot);
    if (i < p->n && !um_bit(p->removed, i)) {
        UM_TRY(um_slices_entry_of(p->slices, i, &x->entry, err));
        found = (umbel_index_slot){x->entry.name, x->entry.checksum,
                                   x->entry.error};
    }
    *out = found;
    return UMBEL_OK;
}

/* --- questions ------------------------------------------------------------ */

/* Returns true if both filters make the same digests of a question. */
static bool digests_agree(const umbel_filter *a, const umbel_filter *b)
{
    const um_prefix_lengths *p = um_prefixes_of(a), *q = um_prefixes_of(b);

    return umbel_key_form_of(a) == umbel_key_form_of(b) &&
           a->hasher.row == b->hasher.row && a->layout.seed == b->layout.seed &&
           um_secret_of(a) == um_secret_of(b) && !p == !q &&
           (!p || memcmp(p, q, sizeof *p) == 0);
}

umbel_status umbel_index_ask(umbel_index *x, const void *text, size_t len,
                             uint8_t *hits, unsigned *lookups, umbel_error *err)
{
    const umbel_filter *asked = NULL;
    umbel_error refusal = {.status = UMBEL_OK};
    um_question *q = &x->question;
    umbel_status status = UMBEL_OK;
    size_t n = 0, largest = 0;
    bool accepted = false;

    memset(hits, 0, UMBEL_INDEX_HITS(x->slots));
    for (size_t i = 0; i < x->n; i++) {
        const part *p = &x->part[i];
        const umbel_filter *f = um_slices_prototype(p->slices);
        if (!asked || !digests_agree(asked, f)) {
            asked = f;
            status = um_question_set(q, f, (umbel_slice){text, len}, &refusal);
            n = status ? 0 : q->n;
            if (!status)
                status = umbel_digest_many(f, q->key, n, x->digest, &refusal);
            if (status && status != UMBEL_E_KEY) {
                if (err)
                    *err = refusal;
                return status;
            }
            n = status ? 0 : n;
            accepted |= !status;
            largest = n > largest ? n : largest;
        }
        uint8_t *at = hits + p->slot / 8;
        for (size_t k = 0; k < n; k++)
            UM_TRY(um_slices_ask(p->slices, &x->digest[k], at, err));
        for (size_t b = 0; b < (p->n + 7) / 8; b++)
            at[b] &= (uint8_t)~p->removed[b];
    }
    if (x->n && !accepted) {
        if (err)
            *err = refusal;
        return UMBEL_E_KEY;
    }
    if (lookups)
        *lookups = (unsigned)largest;
    return UMBEL_OK;
}

/* --- updates --------------------------------------------------------------
 *
 * Members of a new file hash alike and have similar sizes: one sort. New
 * filters are sorted by that first.
 */

typedef struct addition {
    const umbel_index_entry *given;
    umbel_filter *bloom;     /* converted; NULL: given->filter is one */
    umbel_filter *prototype; /* NULL: the filter is in the index already */
    uint64_t cells, blocks, checksum;
    double error;
    bool written;
} addition;

/* Where a name is. */
typedef struct place {
    char *name;
    size_t part;
    uint32_t i;
} place;

typedef struct update {
    umbel_index *x;
    addition *add;
    size_t nadd;
    place *place;
    size_t nnames;
    uint64_t first; /* number of the first new file */
    umbel_index_changes done;
} update;

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const place *)a)->name, ((const place *)b)->name);
}

static int compare_additions(const void *a, const void *b)
{
    return strcmp(((const addition *)a)->given->name,
                  ((const addition *)b)->given->name);
}

static umbel_status list_places(update *u, umbel_error *err)
{
    umbel_index *x = u->x;

    u->place = calloc(x->slots + 1, sizeof *u->place);
    if (!u->place)
        return um_no_memory(err, x->slots * sizeof *u->place);
    for (size_t p = 0; p < x->n; p++)
        for (uint32_t i = 0; i < x->part[p].n; i++) {
            if (um_bit(x->part[p].removed, i))
                continue;
            UM_TRY(um_slices_entry_of(x->part[p].slices, i, &x->entry, err));
            place *at = &u->place[u->nnames];
            *at = (place){strdup(x->entry.name), p, i};
            if (!at->name)
                return um_no_memory(err, strlen(x->entry.name));
            u->nnames++;
        }
    qsort(u->place, u->nnames, sizeof *u->place, compare_places);
    return UMBEL_OK;
}

static int compare_name(const void *name, const void *at)
{
    return strcmp(name, ((const place *)at)->name);
}

static place *find_place(const update *u, const char *name)
{
    return bsearch(name, u->place, u->nnames, sizeof *u->place, compare_name);
}

static bool remove_at(update *u, const place *at)
{
    part *p = &u->x->part[at->part];
    /* NOLINTNEXTLINE(clang-analyzer-*): a place is in a part */
    bool first = um_set_bit(p->removed, at->i);

    p->nremoved += first;
    return first;
}

/* Returns log4 of the number of blocks: filters of one file have the same. */
static unsigned size_class(uint64_t blocks)
{
    return (63 - (unsigned)__builtin_clzll(blocks)) / 2;
}

static bool same_sort(const umbel_filter *a, uint64_t a_cells,
                      uint64_t a_blocks, const umbel_filter *b,
                      uint64_t b_cells, uint64_t b_blocks)
{
    return a_cells == b_cells && size_class(a_blocks) == size_class(b_blocks) &&
           umbel_key_form_of(a) == umbel_key_form_of(b) &&
           umbel_same_shape(a, b, NULL) == UMBEL_OK;
}

static bool is_of_sort(const part *p, const addition *a)
{
    return same_sort(um_slices_prototype(p->slices), um_slices_cells(p->slices),
                     um_slices_blocks(p->slices, 0), a->prototype, a->cells,
                     a->blocks);
}

/* Makes an empty filter that hashes like f, as small as possible. */
static umbel_status create_prototype(const umbel_filter *f, umbel_filter **out,
                                     umbel_error *err)
{
    um_shape from = *um_shape_of(f), s = {.kind = from.kind,
                                          .addressing = from.addressing,
                                          .hash = from.hash,
                                          .seed = from.seed,
                                          .secret_id = from.secret_id,
                                          .hashes = from.hashes,
                                          .fpr = from.fpr,
                                          .key_form = from.key_form,
                                          .prefixes = from.prefixes};

    s.setting[UM_BLOOM_GROUPS] = from.setting[UM_BLOOM_GROUPS];
    uint64_t granule = um_granule(from.addressing, from.hashes);
    s.cells = ((uint64_t)2 * from.hashes + granule - 1) / granule * granule;
    umbel_alloc alloc = um_alloc_or_default(NULL);
    return um_filter_create(&s, &alloc, out, err);
}

static umbel_status prepare(addition *a, umbel_error *err)
{
    size_t len = strlen(a->given->name);
    const umbel_filter *f = a->given->filter;

    if (len < 1 || len > UM_SLICES_NAME_MAX)
        return um_fail(err, UMBEL_E_RANGE,
                       "the name of a filter has 1 to %d bytes, this one %zu",
                       UM_SLICES_NAME_MAX, len);
    if (!um_has_bits(f->kind)) {
        UM_TRY(umbel_to_bloom(f, &a->bloom, err));
        f = a->bloom;
    }
    uint64_t block = f->layout.row->block, cells = f->layout.cells;
    bool blocks = block > 1 && f->layout.blocks == cells / block;
    a->cells = blocks ? block : cells;
    a->blocks = blocks ? cells / block : 1;
    if (a->blocks > UINT32_MAX)
        return um_fail(err, UMBEL_E_LIMIT, "%s: too large for an index",
                       a->given->name);
    a->checksum = umbel_payload_checksum(f);
    a->error = umbel_predict(f);
    return create_prototype(f, &a->prototype, err);
}

/* Marks the old filter of that name, or drops the addition if nothing
 * changed. */
static umbel_status replace(update *u, addition *a, umbel_error *err)
{
    umbel_index *x = u->x;
    const place *at = find_place(u, a->given->name);

    if (!at) {
        u->done.added++;
        return UMBEL_OK;
    }
    const part *p = &x->part[at->part];
    /* NOLINTNEXTLINE(clang-analyzer-*): a place is in a part */
    UM_TRY(um_slices_entry_of(p->slices, at->i, &x->entry, err));
    if (is_of_sort(p, a) && x->entry.checksum == a->checksum &&
        um_slices_blocks(p->slices, at->i) == a->blocks) {
        umbel_close(a->prototype);
        a->prototype = NULL;
        u->done.unchanged++;
        return UMBEL_OK;
    }
    remove_at(u, at);
    u->done.replaced++;
    return UMBEL_OK;
}

static umbel_status prepare_all(update *u, const char *const *remove, size_t n,
                                umbel_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const place *at = find_place(u, remove[i]);
        if (!at)
            return um_fail(err, UMBEL_E_UNKNOWN,
                           "%s%s: no filter of that name is in the index",
                           um_path_dots(remove[i]), um_path_tail(remove[i]));
        u->done.removed += remove_at(u, at);
    }
    qsort(u->add, u->nadd, sizeof *u->add, compare_additions);
    for (size_t i = 0; i < u->nadd; i++) {
        if (i && compare_additions(&u->add[i - 1], &u->add[i]) == 0)
            return um_fail(err, UMBEL_E_RANGE, "%s%s: the name is given twice",
                           um_path_dots(u->add[i].given->name),
                           um_path_tail(u->add[i].given->name));
        UM_TRY(prepare(&u->add[i], err));
        UM_TRY(replace(u, &u->add[i], err));
    }
    return UMBEL_OK;
}

/* A file that is being put together. */
typedef struct gathering {
    um_slices_member *m;
    uint32_t n;
    umbel_filter *prototype; /* borrowed from a member */
    uint64_t cells;
    um_texts names; /* of members from older files */
} gathering;

static void add_member(gathering *g, const um_slices_member *m,
                       umbel_filter *prototype, uint64_t cells)
{
    const um_prefix_lengths *more = um_prefixes_of(prototype);

    if (g->n && more)
        um_prefixes_join(um_prefixes_of(g->prototype), more);
    if (!g->n) {
        g->prototype = prototype;
        g->cells = cells;
    }
    g->m[g->n++] = *m;
}

static umbel_status add_old(gathering *g, umbel_index *x, part *p,
                            umbel_error *err)
{
    p->merged = true;
    for (uint32_t i = 0; i < p->n; i++) {
        if (um_bit(p->removed, i))
            continue;
        UM_TRY(um_slices_entry_of(p->slices, i, &x->entry, err));
        if (!um_texts_add(&g->names, x->entry.name))
            return um_no_memory(err, strlen(x->entry.name));
        um_slices_member m = {.name = g->names.item[g->names.n - 1],
                              .checksum = x->entry.checksum,
                              .blocks = um_slices_blocks(p->slices, i),
                              .error = x->entry.error,
                              .from = p->slices,
                              .number = i};
        add_member(g, &m, um_slices_prototype(p->slices),
                   um_slices_cells(p->slices));
    }
    return UMBEL_OK;
}

/* Adds the smallest file of the same sort that is worth merging. Returns false
 * if there is none. */
static part *next_to_merge(umbel_index *x, size_t nparts, const gathering *g,
                           const addition *a)
{
    part *best = NULL;

    for (size_t i = 0; i < nparts; i++) {
        part *p = &x->part[i];
        uint32_t left = p->n - p->nremoved;
        if (!p->merged && left <= g->n * MERGE_BELOW &&
            left + g->n <= UM_SLICES_MAX && is_of_sort(p, a) &&
            (!best || left < best->n - best->nremoved))
            best = p;
    }
    return best;
}

static umbel_status write_file(update *u, gathering *g, umbel_error *err)
{
    umbel_index *x = u->x;
    part p = {.number = x->next++, .n = g->n};
    char path[PATH_MAX];

    path_in(x, p.number, path);
    UM_TRY(um_slices_write(path, g->prototype, g->cells, g->m, g->n, err));
    p.removed = calloc(p.n / 8 + 1, 1);
    if (!p.removed)
        return um_no_memory(err, p.n);
    return add_part(x, &p, err);
}

/* Writes files of all additions of the sort of the first one, and of older
 * files that are merged with them. */
static umbel_status write_sort(update *u, size_t first, size_t nparts,
                               gathering *g, umbel_error *err)
{
    const addition *like = &u->add[first];
    part *p;

    g->n = 0;
    for (size_t i = first; i < u->nadd && g->n < UM_SLICES_MAX; i++) {
        addition *a = &u->add[i];
        if (!a->prototype || a->written ||
            !same_sort(like->prototype, like->cells, like->blocks, a->prototype,
                       a->cells, a->blocks))
            continue;
        const umbel_filter *f = a->bloom ? a->bloom : a->given->filter;
        um_slices_member m = {.name = a->given->name,
                              .checksum = a->checksum,
                              .blocks = a->blocks,
                              .error = a->error,
                              .bits = f->kind->bits->cells(f->self)};
        add_member(g, &m, a->prototype, a->cells);
        a->written = true;
    }
    while ((p = next_to_merge(u->x, nparts, g, like)))
        UM_TRY(add_old(g, u->x, p, err));
    return write_file(u, g, err);
}

static umbel_status write_files(update *u, umbel_error *err)
{
    size_t nparts = u->x->n;
    gathering g = {.m = malloc(UM_SLICES_MAX * sizeof *g.m)};
    umbel_status status =
        g.m ? UMBEL_OK : um_no_memory(err, UM_SLICES_MAX * sizeof *g.m);

    for (size_t i = 0; !status && i < u->nadd; i++)
        if (u->add[i].prototype && !u->add[i].written)
            status = write_sort(u, i, nparts, &g, err);
    /* Files of which more than half was removed are rewritten. */
    for (size_t i = 0; !status && i < nparts; i++) {
        part *p = &u->x->part[i];
        if (p->merged || p->nremoved <= p->n / 2)
            continue;
        g.n = 0;
        status = add_old(&g, u->x, p, err);
        if (!status && g.n)
            status = write_file(u, &g, err);
    }
    um_texts_fini(&g.names);
    free(g.m);
    return status;
}

static umbel_status save_index(update *u, umbel_error *err)
{
    umbel_index *x = u->x;
    char path[PATH_MAX];
    size_t len = HEAD_LEN + 8;
    uint32_t files = 0;

    for (size_t i = 0; i < x->n; i++)
        if (!x->part[i].merged) {
            len += 16 + (x->part[i].n + 7) / 8;
            files++;
        }
    if (files > MAX_FILES || len > MAX_INDEX)
        return um_fail(err, UMBEL_E_LIMIT,
                       "an index has at most %d files of filters that hash "
                       "alike: use the same addressing, seed and number of "
                       "hash functions",
                       MAX_FILES);
    uint8_t *bytes = malloc(len);
    if (!bytes)
        return um_no_memory(err, len);
    um_writer w = {bytes, bytes + len, false};
    um_write_bytes(&w, MAGIC, 8);
    um_write_u32(&w, VERSION);
    um_write_u32(&w, files);
    um_write_u64(&w, x->label);
    um_write_u64(&w, x->next);
    for (size_t i = 0; i < x->n; i++) {
        const part *p = &x->part[i];
        if (p->merged)
            continue;
        um_write_u64(&w, p->number);
        um_write_u32(&w, p->n);
        um_write_u32(&w, p->nremoved);
        um_write_bytes(&w, p->removed, (p->n + 7) / 8);
        u->done.filters += p->n - p->nremoved;
    }
    um_write_u64(&w, um_checksum(bytes, len - 8));
    path_in(x, 0, path);
    umbel_slice whole = {bytes, len};
    umbel_status status = UMBEL_OK;
    if (!um_sync_directory(x->dir))
        status = um_fail_path(err, x->dir);
    if (!status)
        status = um_save_parts(&whole, 1, path, err);
    u->done.bytes = len;
    free(bytes);
    return status;
}

/* Removes files that `index` does not name, and adds up the others. */
static void remove_others(update *u)
{
    umbel_index *x = u->x;
    DIR *dir = opendir(x->dir);
    char path[PATH_MAX];
    struct stat st;

    for (const struct dirent *e; dir && (e = readdir(dir));) {
        char *end;
        uint64_t number = strtoull(e->d_name, &end, 10);
        size_t i = 0;
        if (!number || strcmp(end, SUFFIX) != 0)
            continue;
        while (i < x->n && (x->part[i].merged || x->part[i].number != number))
            i++;
        path_in(x, number, path);
        if (i == x->n)
            unlink(path);
        else if (stat(path, &st) == 0)
            u->done.bytes += (uint64_t)st.st_size;
    }
    if (dir)
        closedir(dir);
}

/* Opens the index, or begins a new one. */
static umbel_status open_for_update(update *u, uint64_t label, umbel_error *err)
{
    umbel_status status = read_index(u->x, err);

    if (status == UMBEL_E_UNKNOWN && !u->x->n) {
        u->x->label = label;
        return UMBEL_OK;
    }
    if (!status && u->x->label != label)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "%s%s: the index has label %" PRIu64 ", not %" PRIu64,
                       um_path_dots(u->x->dir), um_path_tail(u->x->dir),
                       u->x->label, label);
    return status;
}

static umbel_status run_update(update *u, uint64_t label,
                               const char *const *remove, size_t nremove,
                               umbel_error *err)
{
    UM_TRY(open_for_update(u, label, err));
    UM_TRY(list_places(u, err));
    UM_TRY(prepare_all(u, remove, nremove, err));
    remove_others(u); /* left over from an update that was interrupted */
    UM_TRY(write_files(u, err));
    UM_TRY(save_index(u, err));
    remove_others(u);
    return UMBEL_OK;
}

static void update_fini(update *u)
{
    for (size_t i = 0; i < u->nadd; i++) {
        umbel_close(u->add[i].bloom);
        umbel_close(u->add[i].prototype);
    }
    for (size_t i = 0; i < u->nnames; i++)
        free(u->place[i].name);
    free(u->place);
    free(u->add);
    umbel_index_close(u->x);
}

umbel_status umbel_index_update(const char *dir, uint64_t label,
                                const umbel_index_entry *add, size_t nadd,
                                const char *const *remove, size_t nremove,
                                umbel_index_changes *out, umbel_error *err)
{
    update u = {.add = calloc(nadd + 1, sizeof *u.add), .nadd = nadd};
    int lock = -1;

    if (!u.add)
        return um_no_memory(err, nadd * sizeof *u.add);
    umbel_status status = new_index(dir, &u.x, err);
    for (size_t i = 0; i < nadd; i++)
        u.add[i].given = &add[i];
    if (!status && mkdir(dir, 0777) != 0 && errno != EEXIST)
        status = um_fail_path(err, dir);
    if (!status)
        status = um_lock(dir, O_RDONLY | O_DIRECTORY, &lock, err);
    if (!status)
        status = run_update(&u, label, remove, nremove, err);
    if (!status && out)
        *out = u.done;
    update_fini(&u);
    if (lock >= 0)
        close(lock);
    return status;
}
