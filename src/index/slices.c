/*
 * slices.c - a file with the bits of many filters, cut into slices.
 *
 * Filters hash alike, so a key selects the same bit of a block in each of them.
 * A row of the file has that bit of all blocks of all filters; a question reads
 * k rows, and their AND is the answer (BIGSI: Bradley et al. 2019; filters of
 * similar sizes: COBS, Bingmann et al. 2019). But BIGSI needs filters of one
 * size, and COBS builds such filters. Here they have any size: block j of B
 * belongs to the digests from j/B to (j+1)/B of the range of `lo`, and the
 * columns, one for each block, are in the order in which these intervals begin.
 *
 *     lo           0                 x                    2^64
 *     filter 0     |0       |1       .|2       |3        |    sizes differ
 *     filter 1     |0     |1     |2  . |3     |4     |5  |    at most 4 times
 *     columns      0.0 1.0 1.1 0.1 1.2  1.3 0.2 ...
 *                  row of bit 7:  1 0 [0 1 1] 0 1 ...
 *
 * The blocks that a digest x selects begin in (x - 1/B_min, x]: a range of
 * columns, hardly more than one per filter. Its ends are sums over the sizes of
 * all filters. A column's entry in the directory names the filter, and has the
 * block's number modulo 8, which decides whether the block contains x. Filters
 * without blocks (addressing classic) share a file with filters of their size
 * only, and have one column.
 *
 * The file is pages of 4,088 bytes, each followed by a checksum, which every
 * read verifies. Numbers are little endian. A part begins with a page:
 *
 *     head         "umbslice" version u32 filters u32 cells u64 columns u64
 *                  names u64 (bytes)  blocks u32 (1: columns are blocks)
 *                  len u32, and the prototype: an empty filter, as a file
 *     sizes        u32 each: blocks of a filter
 *     entries      error f64, checksum u64, u64 and u32: offset and length of
 *                  its name
 *     names
 *     directory    u16 each: filter, and block % 8 << 13; if columns are blocks
 *     tiles        32,704 columns each: `cells` rows of a page. The last one
 *                  has fewer columns, and no space between its rows
 */
#include "index/internal.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "filter/addressing/hash_groups.h"

#include <umbel/file.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* gcc's analyzer loses the owner of memory in an array of structs. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum {
    VERSION = 1,
    PAGE = UM_SLICES_PAGE,
    BODY = PAGE - 8, /* bytes of a page before its checksum */
    TILE = BODY * 8, /* columns of a tile */
    TILE_WORDS = TILE / 64,
    HEAD_LEN = 48,
    PROTOTYPE_MAX = BODY - HEAD_LEN,
    ENTRY_LEN = 28,
    ORDER_BITS = 13, /* of a filter's number in the directory */
    ORDER_MASK = 7,  /* of a block's number */
    ROW_SPARE = 16   /* bytes behind a row that its last words may touch */
};
#define MAGIC "umbslice"

_Static_assert(UM_SLICES_MAX == 1 << ORDER_BITS, "an entry is 16 bits");

struct um_slices {
    char *path;
    int fd;
    umbel_filter *prototype;
    um_layout layout; /* of one block, or of a filter without blocks */
    uint32_t n, groups;
    bool blocks; /* columns are blocks */
    uint64_t cells, columns, names_len;
    uint32_t *size; /* blocks of each filter */
    uint64_t smallest;
    /* First pages of the parts. */
    uint64_t sizes, entries, names, directory, tiles, end;
    uint8_t row[BODY + 1 + ROW_SPARE]; /* as read_row read it */
};

/* --- pages ---------------------------------------------------------------- */

static uint64_t pages_of(uint64_t bytes)
{
    return bytes / BODY + (bytes % BODY != 0);
}

static uint64_t page_sum(const uint8_t *page, uint64_t number)
{
    return um_checksum(page, BODY) ^ um_remix(number + 1);
}

static umbel_status damaged(const um_slices *s, const char *what,
                            umbel_error *err)
{
    return um_fail(err, UMBEL_E_CHECKSUM,
                   "%s%s: %s; the index is damaged: build it again from the "
                   "filters",
                   um_path_dots(s->path), um_path_tail(s->path), what);
}

/* Reads len bytes of a part that begins at page `first`, and checks the pages
 * that contain them. */
static umbel_status read_part(const um_slices *s, uint64_t first, uint64_t at,
                              size_t len, void *out, umbel_error *err)
{
    uint8_t page[PAGE], *to = out;

    while (len) {
        uint64_t number = first + at / BODY;
        size_t from = (size_t)(at % BODY),
               n = len < BODY - from ? len : BODY - from;
        ssize_t got;
        do
            got = pread(s->fd, page, PAGE, (off_t)(number * PAGE));
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return um_fail_path(err, s->path);
        if (got != PAGE || um_load64(page + BODY) != page_sum(page, number))
            return damaged(s, "a page has a wrong checksum", err);
        memcpy(to, page + from, n);
        to += n;
        at += n;
        len -= n;
    }
    return UMBEL_OK;
}

/* Writes parts, page after page. */
typedef struct page_writer {
    FILE *out;
    uint8_t page[PAGE];
    size_t used;
    uint64_t number;
} page_writer;

static void end_page(page_writer *w)
{
    memset(w->page + w->used, 0, BODY - w->used);
    um_store64(w->page + BODY, page_sum(w->page, w->number++));
    fwrite(w->page, 1, PAGE, w->out);
    w->used = 0;
}

static void write_part(page_writer *w, const void *data, size_t len)
{
    const uint8_t *at = data;

    while (len) {
        size_t n = len < BODY - w->used ? len : BODY - w->used;
        memcpy(w->page + w->used, at, n);
        w->used += n;
        at += n;
        len -= n;
        if (w->used == BODY)
            end_page(w);
    }
}

static void end_part(page_writer *w)
{
    if (w->used)
        end_page(w);
}

/* --- columns -------------------------------------------------------------- */

/* Returns the first digest of block j of n: j 2^64 / n, rounded up. */
static uint64_t block_start(uint64_t j, uint64_t n)
{
    uint64_t quotient = UINT64_MAX / n, rest = UINT64_MAX % n + 1;

    if (rest == n) {
        quotient++; /* wraps if n is 1, and then j is 0 */
        rest = 0;
    }
    return j * quotient + (j * rest + n - 1) / n;
}

/* Returns how many columns begin at x or before. */
static uint64_t columns_until(const um_slices *s, uint64_t x)
{
    uint64_t sum = s->n;

    for (uint32_t i = 0; i < s->n; i++)
        sum += um_scale(x, s->size[i]);
    return sum;
}

/* Sets the range of columns with the blocks that x selects. */
static void find_columns(const um_slices *s, uint64_t x, uint64_t *from,
                         uint64_t *to)
{
    *from = 0;
    *to = s->columns;
    if (!s->blocks || s->smallest < 2)
        return;
    uint64_t span = block_start(1, s->smallest);
    *to = columns_until(s, x);
    if (x >= span)
        *from = columns_until(s, x - span);
}

static uint64_t tile_columns(const um_slices *s, uint64_t tile)
{
    uint64_t left = s->columns - tile * TILE;
    return left < TILE ? left : TILE;
}

static size_t words_of(uint64_t bits)
{
    return (size_t)((bits + 63) / 64);
}

/* Reads n bits of a row, from a column of the tile on. */
static umbel_status read_row(um_slices *s, uint64_t tile, uint64_t row,
                             uint64_t from, size_t n, uint64_t *out,
                             umbel_error *err)
{
    uint64_t at = row * tile_columns(s, tile) + from;
    unsigned shift = at % 8;
    size_t len = (shift + n + 7) / 8, words = words_of(n);

    memset(s->row + len, 0, ROW_SPARE);
    UM_TRY(read_part(s, s->tiles + tile * s->cells, at / 8, len, s->row, err));
    for (size_t w = 0; w < words; w++) {
        const uint8_t *from_byte = s->row + w * 8;
        out[w] = um_load64(from_byte) >> shift;
        if (shift)
            out[w] |= (uint64_t)from_byte[8] << (64 - shift);
    }
    if (n % 64)
        out[words - 1] &= UINT64_MAX >> (64 - n % 64);
    return UMBEL_OK;
}

/* --- opening -------------------------------------------------------------- */

static umbel_status parse_head(um_slices *s, const uint8_t *page,
                               umbel_error *err)
{
    um_reader r = {page, page + BODY, false};
    umbel_source source = UMBEL_SOURCE_INIT;
    char magic[8];

    um_get_bytes(&r, magic, sizeof magic);
    if (memcmp(magic, MAGIC, sizeof magic) != 0)
        return um_fail(err, UMBEL_E_FORMAT, "%s%s: not a file of an index",
                       um_path_dots(s->path), um_path_tail(s->path));
    uint32_t version = um_get_u32(&r);
    if (version != VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "%s%s: an index of version %u, this program reads %d: "
                       "build the index again",
                       um_path_dots(s->path), um_path_tail(s->path), version,
                       VERSION);
    if (um_load64(page + BODY) != page_sum(page, 0))
        return damaged(s, "its head has a wrong checksum", err);
    s->n = um_get_u32(&r);
    s->cells = um_get_u64(&r);
    s->columns = um_get_u64(&r);
    s->names_len = um_get_u64(&r);
    s->blocks = um_get_u32(&r) == 1;
    uint32_t len = um_get_u32(&r);
    if (len > PROTOTYPE_MAX)
        return damaged(s, "its head is invalid", err);
    source.verify = true;
    return umbel_decode(r.at, len, &source, &s->prototype, err);
}

/* Finds the parts. Returns false if a number is impossible. */
static bool find_parts(um_slices *s)
{
    const um_layout *l = &s->prototype->layout;
    uint64_t granule = um_granule(l->row, l->hashes);

    if (s->prototype->kind != um_kind_find(NULL) || s->n < 1 ||
        s->n > UM_SLICES_MAX || s->columns < s->n ||
        s->columns > (uint64_t)s->n << 32 ||
        s->names_len > (uint64_t)s->n * UM_SLICES_NAME_MAX)
        return false;
    if (s->cells < 1 || s->cells > um_limit(l->row, l->hashes) || !granule ||
        s->cells % granule)
        return false;
    if (s->blocks ? s->cells != l->row->block : s->columns != s->n)
        return false;
    um_layout_init(&s->layout, l->row, s->cells, l->hashes, l->seed);
    s->layout.hi_follows = l->hi_follows;
    s->groups = s->prototype->kind->bits->groups(s->prototype->self);
    if (s->layout.blocks != 1)
        return false;

    uint64_t last = (s->columns - 1) / TILE;
    s->sizes = 1;
    s->entries = s->sizes + pages_of((uint64_t)s->n * 4);
    s->names = s->entries + pages_of((uint64_t)s->n * ENTRY_LEN);
    s->directory = s->names + pages_of(s->names_len);
    s->tiles = s->directory + pages_of(s->blocks ? s->columns * 2 : 0);
    s->end = s->tiles + last * s->cells +
             pages_of((tile_columns(s, last) * s->cells + 7) / 8);
    return true;
}

/* Reads the sizes. Returns false if one is impossible. */
static bool parse_sizes(um_slices *s, const uint8_t *bytes)
{
    um_reader r = {bytes, bytes + (size_t)s->n * 4, false};
    uint64_t sum = 0, largest = 0;

    s->smallest = UINT32_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        s->size[i] = um_get_u32(&r);
        sum += s->size[i];
        largest = s->size[i] > largest ? s->size[i] : largest;
        s->smallest = s->size[i] < s->smallest ? s->size[i] : s->smallest;
    }
    return sum == s->columns && s->smallest > 0 &&
           largest <= s->smallest * UM_SLICES_SPREAD &&
           (s->blocks || largest == 1);
}

static umbel_status read_head(um_slices *s, umbel_error *err)
{
    uint8_t page[PAGE] = {0};
    struct stat st;

    if (fstat(s->fd, &st) != 0 || pread(s->fd, page, PAGE, 0) < 0)
        return um_fail_path(err, s->path);
    UM_TRY(parse_head(s, page, err));
    if (!find_parts(s))
        return damaged(s, "its head is invalid", err);
    if ((uint64_t)st.st_size / PAGE != s->end || st.st_size % PAGE)
        return damaged(s, "it has another length than its head says", err);

    s->size = malloc((size_t)s->n * 4);
    uint8_t *bytes = malloc((size_t)s->n * 4);
    umbel_status status = UMBEL_OK;
    if (!s->size || !bytes)
        status = um_no_memory(err, (size_t)s->n * 4);
    else
        status = read_part(s, s->sizes, 0, (size_t)s->n * 4, bytes, err);
    if (!status && !parse_sizes(s, bytes))
        status = damaged(s, "its sizes are invalid", err);
    free(bytes);
    return status;
}

umbel_status um_slices_open(const char *path, um_slices **out, umbel_error *err)
{
    um_slices *s = calloc(1, sizeof *s);

    if (!s)
        return um_no_memory(err, sizeof *s);
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    s->path = strdup(path);
    umbel_status status = UMBEL_OK;
    if (!s->path) {
        status = um_no_memory(err, strlen(path));
    } else if (s->fd < 0) {
        status = um_fail_path(err, path);
        if (errno == ENOENT && err)
            status = err->status = UMBEL_E_UNKNOWN;
    } else {
        posix_fadvise(s->fd, 0, 0, POSIX_FADV_RANDOM);
        status = read_head(s, err);
    }
    if (status)
        um_slices_close(s);
    else
        *out = s;
    return status;
}

void um_slices_close(um_slices *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    umbel_close(s->prototype);
    free(s->size);
    free(s->path);
    free(s);
}

umbel_filter *um_slices_prototype(const um_slices *s)
{
    return s->prototype;
}

uint32_t um_slices_count(const um_slices *s)
{
    return s->n;
}

uint64_t um_slices_blocks(const um_slices *s, uint32_t i)
{
    return s->size[i];
}

uint64_t um_slices_cells(const um_slices *s)
{
    return s->cells;
}

umbel_status um_slices_entry_of(um_slices *s, uint32_t i, um_slices_entry *out,
                                umbel_error *err)
{
    uint8_t bytes[ENTRY_LEN];
    um_reader r = {bytes, bytes + sizeof bytes, false};

    UM_TRY(read_part(s, s->entries, (uint64_t)i * ENTRY_LEN, sizeof bytes,
                     bytes, err));
    out->error = um_get_f64(&r);
    out->checksum = um_get_u64(&r);
    uint64_t at = um_get_u64(&r);
    uint32_t len = um_get_u32(&r);
    if (len < 1 || len > UM_SLICES_NAME_MAX || at > s->names_len ||
        len > s->names_len - at || !(out->error >= 0 && out->error <= 1))
        return damaged(s, "an entry is invalid", err);
    UM_TRY(read_part(s, s->names, at, len, out->name, err));
    out->name[len] = '\0';
    return strlen(out->name) == len ? UMBEL_OK
                                    : damaged(s, "a name is invalid", err);
}

/* --- questions ------------------------------------------------------------ */

/* Sets the bit of the filter that has a column, if its block contains x. */
static umbel_status report(um_slices *s, uint64_t column, uint64_t x,
                           uint8_t *hits, umbel_error *err)
{
    uint8_t bytes[2];

    if (!s->blocks) {
        um_set_bit(hits, column);
        return UMBEL_OK;
    }
    UM_TRY(read_part(s, s->directory, column * 2, 2, bytes, err));
    unsigned entry = bytes[0] | (unsigned)bytes[1] << 8;
    uint32_t i = entry & (UM_SLICES_MAX - 1);
    if (i >= s->n)
        return damaged(s, "its directory is invalid", err);
    if (entry >> ORDER_BITS == (um_scale(x, s->size[i]) & ORDER_MASK))
        um_set_bit(hits, i);
    return UMBEL_OK;
}

/* Asks n columns of a tile. */
static umbel_status ask_tile(um_slices *s, uint64_t tile, uint64_t from,
                             size_t n, const uint64_t *pos, uint64_t x,
                             uint8_t *hits, umbel_error *err)
{
    uint64_t found[TILE_WORDS], row[TILE_WORDS], any = 1;
    size_t words = words_of(n);

    memset(found, 0xFF, words * 8);
    for (uint32_t j = 0; j < s->layout.hashes && any; j++) {
        UM_TRY(read_row(s, tile, pos[j], from, n, row, err));
        any = 0;
        for (size_t w = 0; w < words; w++)
            any |= found[w] &= row[w];
    }
    for (size_t w = 0; w < words && any; w++)
        for (uint64_t left = found[w]; left; left &= left - 1)
            UM_TRY(report(s,
                          tile * TILE + from + w * 64 +
                              (unsigned)__builtin_ctzll(left),
                          x, hits, err));
    return UMBEL_OK;
}

umbel_status um_slices_ask(um_slices *s, const umbel_digest *d, uint8_t *hits,
                           umbel_error *err)
{
    uint64_t pos[UM_MAX_HASHES], from, to;

    for (uint32_t g = 0; g < s->groups; g++) {
        umbel_digest digest = um_group_digest(*d, g);
        s->layout.row->positions(&s->layout, &digest, 1, pos);
        find_columns(s, digest.lo, &from, &to);
        while (from < to) {
            uint64_t tile = from / TILE, base = tile * TILE,
                     end = to - base < TILE ? to - base : TILE;
            UM_TRY(ask_tile(s, tile, from - base, (size_t)(base + end - from),
                            pos, digest.lo, hits, err));
            from = base + end;
        }
    }
    return UMBEL_OK;
}

/* --- writing --------------------------------------------------------------
 *
 * Columns are merged in the order in which their blocks begin. The filters of
 * an older file are in that order there, so it is read once, a tile at a time.
 */

/* Transposes a matrix of 64 x 64 bits (Hacker's Delight, 7-3). */
static void transpose(uint64_t a[64])
{
    uint64_t mask = 0x00000000FFFFFFFF;

    for (unsigned j = 32; j; j >>= 1, mask ^= mask << j)
        for (unsigned k = 0; k < 64; k = ((k | j) + 1) & ~j) {
            uint64_t t = ((a[k] >> j) ^ a[k | j]) & mask;
            a[k] ^= t << j;
            a[k | j] ^= t;
        }
}

/* The columns of an older file, in order. */
typedef struct column_cursor {
    um_slices *s;
    uint64_t at;     /* the next column */
    uint8_t *column; /* those of the tile: words_of(cells) words each */
    uint8_t *directory;
} column_cursor;

/* Reads the tile that begins with the next column. */
static umbel_status load_tile(column_cursor *c, umbel_error *err)
{
    um_slices *s = c->s;
    uint64_t tile = c->at / TILE, n = tile_columns(s, tile), word[64];
    size_t words = words_of(s->cells), space = words_of(n);

    free(c->column);
    free(c->directory);
    c->column = calloc((size_t)n, words * 8);
    c->directory = malloc((size_t)n * 2);
    uint64_t *rows = calloc(64 * space, sizeof *rows);
    umbel_status status = c->column && c->directory && rows
                              ? UMBEL_OK
                              : um_no_memory(err, n * words * 8);
    if (!status && s->blocks)
        status = read_part(s, s->directory, tile * TILE * 2, (size_t)n * 2,
                           c->directory, err);
    for (size_t w = 0; !status && w < words; w++) {
        uint64_t left = s->cells - w * 64;
        for (size_t r = 0; !status && r < (left < 64 ? left : 64); r++)
            status = read_row(s, tile, w * 64 + r, 0, (size_t)n,
                              rows + r * space, err);
        for (size_t b = 0; !status && b < space; b++) {
            for (size_t r = 0; r < 64; r++)
                word[r] = r < left ? rows[r * space + b] : 0;
            transpose(word);
            for (size_t i = 0; i < 64 && b * 64 + i < n; i++)
                um_store64(c->column + ((b * 64 + i) * words + w) * 8, word[i]);
        }
    }
    free(rows);
    return status;
}

/* Returns the next column of filter `number`, and skips those of filters that
 * are left out. */
static umbel_status next_column(column_cursor *c, uint32_t number,
                                const uint8_t **out, umbel_error *err)
{
    for (; c->at < c->s->columns; c->at++) {
        size_t i = (size_t)(c->at % TILE);
        if (i == 0)
            UM_TRY(load_tile(c, err));
        const uint8_t *entry = c->directory + 2 * i;
        uint32_t found = c->s->blocks ? (entry[0] | (uint32_t)entry[1] << 8) &
                                            (UM_SLICES_MAX - 1)
                                      : (uint32_t)c->at;
        if (found == number) {
            *out = c->column + i * words_of(c->s->cells) * 8;
            c->at++;
            return UMBEL_OK;
        }
    }
    return damaged(c->s, "its directory is invalid", err);
}

/* The next block of a member. */
typedef struct next_block {
    uint64_t start, j;
    uint32_t i;
} next_block;

typedef struct slices_writer {
    const um_slices_member *m;
    uint32_t n;
    uint64_t cells, columns;
    page_writer pages;
    next_block *heap;
    size_t nheap;
    column_cursor *cursor; /* one for each member; that of the first member of
                              a file is used */
    uint32_t *cursor_of;
    uint8_t *bits;  /* of the columns of a tile, words_of(cells) words each */
    uint64_t *rows; /* 64 rows of a tile */
    uint64_t rest;  /* bits that are no word yet: nrest */
    unsigned nrest;
} slices_writer;

static bool is_before(const next_block *a, const next_block *b)
{
    return a->start != b->start ? a->start < b->start : a->i < b->i;
}

/* Restores the order of the heap after its first element changed. */
static void sift_down(slices_writer *w)
{
    next_block x = w->heap[0];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < w->nheap) {
        if (child + 1 < w->nheap &&
            is_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!is_before(&w->heap[child], &x))
            break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = x;
}

/* Begins with the first block of each member, which all start at 0: in order of
 * the members this is a heap. */
static void begin_columns(slices_writer *w)
{
    w->nheap = w->n;
    for (uint32_t i = 0; i < w->n; i++)
        w->heap[i] = (next_block){.i = i};
}

static next_block advance_block(slices_writer *w)
{
    next_block first = w->heap[0], *next = &w->heap[0];
    uint64_t blocks = w->m[first.i].blocks;

    if (++next->j < blocks)
        next->start = block_start(next->j, blocks);
    else
        w->heap[0] = w->heap[--w->nheap];
    sift_down(w);
    return first;
}

static void write_directory(slices_writer *w)
{
    begin_columns(w);
    for (uint64_t c = 0; c < w->columns; c++) {
        next_block b = advance_block(w);
        unsigned entry = b.i | (unsigned)(b.j & ORDER_MASK) << ORDER_BITS;
        write_part(&w->pages,
                   (uint8_t[]){(uint8_t)entry, (uint8_t)(entry >> 8)}, 2);
    }
    end_part(&w->pages);
}

/* Copies the bits of the next n columns. */
static umbel_status collect_columns(slices_writer *w, size_t n,
                                    umbel_error *err)
{
    size_t len = (size_t)(w->cells + 7) / 8, words = words_of(w->cells);

    for (size_t c = 0; c < n; c++) {
        next_block b = advance_block(w);
        const um_slices_member *m = &w->m[b.i];
        const uint8_t *from = m->bits ? m->bits + b.j * len : NULL;
        if (!from)
            UM_TRY(next_column(&w->cursor[w->cursor_of[b.i]], m->number, &from,
                               err));
        memcpy(w->bits + c * words * 8, from, len);
    }
    return UMBEL_OK;
}

/* Appends n bits behind those of the rows before. */
static void write_bits(slices_writer *w, const uint64_t *bits, size_t n)
{
    for (size_t at = 0; at < n; at += 64) {
        unsigned len = n - at < 64 ? (unsigned)(n - at) : 64;
        uint64_t x = bits[at / 64];
        w->rest |= x << w->nrest;
        if (w->nrest + len >= 64) {
            w->rest = um_le64(w->rest);
            write_part(&w->pages, (const uint8_t *)&w->rest, 8);
            w->rest = w->nrest ? x >> (64 - w->nrest) : 0;
            len -= 64;
        }
        w->nrest += len;
    }
}

static void write_rows(slices_writer *w, size_t n)
{
    size_t words = words_of(w->cells), space = words_of(n);
    uint64_t word[64];

    for (size_t at = 0; at < words; at++) {
        for (size_t b = 0; b < space; b++) {
            for (size_t i = 0; i < 64; i++)
                word[i] =
                    b * 64 + i < n
                        ? um_load64(w->bits + ((b * 64 + i) * words + at) * 8)
                        : 0;
            transpose(word);
            for (size_t r = 0; r < 64; r++)
                w->rows[r * space + b] = word[r];
        }
        for (size_t r = 0; r < 64 && at * 64 + r < w->cells; r++)
            write_bits(w, w->rows + r * space, n);
    }
    if (w->nrest) {
        w->rest = um_le64(w->rest);
        write_part(&w->pages, (const uint8_t *)&w->rest, (w->nrest + 7) / 8);
    }
    w->rest = w->nrest = 0;
    end_part(&w->pages);
}

static umbel_status write_tiles(slices_writer *w, umbel_error *err)
{
    size_t n = (size_t)(w->columns < TILE ? w->columns : TILE);
    size_t len = words_of(w->cells) * 8;

    w->bits = calloc(n, len);
    w->rows = malloc(64 * words_of(n) * sizeof *w->rows);
    if (!w->bits || !w->rows)
        return um_no_memory(err, n * len);
    begin_columns(w);
    for (uint64_t left = w->columns; left; left -= n) {
        n = (size_t)(left < TILE ? left : TILE);
        UM_TRY(collect_columns(w, n, err));
        write_rows(w, n);
    }
    return UMBEL_OK;
}

static umbel_status write_head(slices_writer *w, const umbel_filter *prototype,
                               bool blocks, uint64_t names_len,
                               umbel_error *err)
{
    uint8_t head[BODY];
    um_writer out = {head, head + HEAD_LEN, false};
    size_t len;

    UM_TRY(umbel_encode(prototype, head + HEAD_LEN, PROTOTYPE_MAX, &len, err));
    um_write_bytes(&out, MAGIC, 8);
    um_write_u32(&out, VERSION);
    um_write_u32(&out, w->n);
    um_write_u64(&out, w->cells);
    um_write_u64(&out, w->columns);
    um_write_u64(&out, names_len);
    um_write_u32(&out, blocks);
    um_write_u32(&out, (uint32_t)len);
    write_part(&w->pages, head, HEAD_LEN + len);
    end_part(&w->pages);
    return UMBEL_OK;
}

static void write_entries(slices_writer *w)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        uint8_t size[4];
        um_write_u32(&(um_writer){size, size + 4, false},
                     (uint32_t)w->m[i].blocks);
        write_part(&w->pages, size, sizeof size);
    }
    end_part(&w->pages);
    for (uint32_t i = 0; i < w->n; i++) {
        uint8_t entry[ENTRY_LEN];
        um_writer out = {entry, entry + sizeof entry, false};
        size_t len = strlen(w->m[i].name);
        um_write_f64(&out, w->m[i].error);
        um_write_u64(&out, w->m[i].checksum);
        um_write_u64(&out, at);
        um_write_u32(&out, (uint32_t)len);
        write_part(&w->pages, entry, sizeof entry);
        at += len;
    }
    end_part(&w->pages);
    for (uint32_t i = 0; i < w->n; i++)
        write_part(&w->pages, w->m[i].name, strlen(w->m[i].name));
    end_part(&w->pages);
}

/* Gives all members of one file the same cursor. */
static bool open_cursors(slices_writer *w)
{
    /* NOLINTNEXTLINE(clang-analyzer-*): a file has a filter */
    w->heap = calloc(w->n, sizeof *w->heap);
    w->cursor = calloc(w->n, sizeof *w->cursor);
    w->cursor_of = calloc(w->n, sizeof *w->cursor_of);
    if (!w->heap || !w->cursor || !w->cursor_of)
        return false;
    for (uint32_t i = 0; i < w->n; i++) {
        bool same = i && w->m[i].from && w->m[i].from == w->m[i - 1].from;
        w->cursor_of[i] = same ? w->cursor_of[i - 1] : i;
        w->cursor[i].s = w->m[i].from;
    }
    return true;
}

static umbel_status write_all(slices_writer *w, const umbel_filter *prototype,
                              umbel_error *err)
{
    uint64_t names_len = 0;
    uint32_t block = prototype->layout.row->block;
    bool blocks = block > 1 && w->cells == block;

    for (uint32_t i = 0; i < w->n; i++) {
        w->columns += w->m[i].blocks;
        names_len += strlen(w->m[i].name);
    }
    if (!open_cursors(w))
        return um_no_memory(err, w->n * sizeof *w->heap);
    UM_TRY(write_head(w, prototype, blocks, names_len, err));
    write_entries(w);
    if (blocks)
        write_directory(w);
    return write_tiles(w, err);
}

umbel_status um_slices_write(const char *path, const umbel_filter *prototype,
                             uint64_t cells, const um_slices_member *m,
                             uint32_t n, umbel_error *err)
{
    slices_writer w = {.m = m, .n = n, .cells = cells};

    w.pages.out = fopen(path, "wxe");
    if (!w.pages.out)
        return um_fail_path(err, path);
    umbel_status status = write_all(&w, prototype, err);
    if (!status && (fflush(w.pages.out) != 0 || ferror(w.pages.out) ||
                    fsync(fileno(w.pages.out)) != 0))
        status = um_fail_path(err, path);
    if (fclose(w.pages.out) != 0 && !status)
        status = um_fail_path(err, path);
    for (uint32_t i = 0; w.cursor && i < n; i++) {
        free(w.cursor[i].column);
        free(w.cursor[i].directory);
    }
    free(w.heap);
    free(w.cursor);
    free(w.cursor_of);
    free(w.bits);
    free(w.rows);
    return status;
}
