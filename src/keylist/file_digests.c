/*
 * file_digests.c - hashes the files below directories, several at a time.
 *
 * fts walks; a piece of the pipeline is a few files, or one large file, so that
 * small files do not cost a handover each. Digests are reported and recorded in
 * the order of the walk, whichever thread was first.
 *
 * A record begins with a line that names the hash. An entry is
 *
 *     DIGEST SIZE MTIME CTIME INODE PATH NUL
 *
 * with times in nanoseconds: a file with all of these unchanged has the same
 * content, unless somebody set the clock back for the change. An entry that was
 * cut off by an interrupt has no NUL, and is overwritten.
 */
#define _DEFAULT_SOURCE /* fts */
#define XXH_INLINE_ALL
#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/text.h"
#include "base/threads.h"
#include "keylist/source.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    PIECE_FILES = 32,
    PIECE_BYTES = 4 << 20, /* files of a piece, unless it has one alone */
    PIECES = 32,
    BLOCK = 128 << 10, /* read at once */
    FIRST_SLOTS = 1024
};

static const struct {
    const char *name;
    size_t len;
    const EVP_MD *(*algorithm)(void);
} hashes[] = {[UM_FILE_MD5] = {"md5", 16, EVP_md5},
              [UM_FILE_SHA1] = {"sha1", 20, EVP_sha1},
              [UM_FILE_SHA256] = {"sha256", 32, EVP_sha256}};

size_t um_file_digest_len(um_file_hash hash)
{
    return hashes[hash].len;
}

const char *um_file_hash_name(um_file_hash hash)
{
    return hashes[hash].name;
}

/* --- the record ----------------------------------------------------------- */

/* What must not have changed. */
typedef struct identity {
    uint64_t size, mtime, ctime, inode;
} identity;

typedef struct entry {
    const char *path; /* NULL: a free slot */
    uint64_t hash;    /* of the path */
    identity id;
    uint8_t digest[UM_FILE_DIGEST_LEN];
} entry;

struct um_scan_record {
    entry *slot;
    size_t cap, n;
};

static bool is_free(const void *slot)
{
    return !((const entry *)slot)->path;
}

static bool has_path(const void *ctx, const void *slot, const void *key)
{
    const entry *a = slot, *b = key;

    (void)ctx;
    return a->hash == b->hash && strcmp(a->path, b->path) == 0;
}

static uint64_t hash_of(const void *ctx, const void *slot)
{
    (void)ctx;
    return ((const entry *)slot)->hash;
}

static const um_map_rule rule = {sizeof(entry), is_free, has_path, hash_of};

static uint64_t hash_path(const char *path)
{
    return XXH3_64bits(path, strlen(path));
}

static const entry *find(const um_scan_record *r, const char *path)
{
    entry key = {.path = path, .hash = hash_path(path)};
    const entry *e =
        r ? um_map_find(&rule, NULL, r->slot, r->cap, key.hash, &key) : NULL;

    return e && e->path ? e : NULL;
}

/* Stores an entry; a later one of the same path replaces it. */
static bool put(um_scan_record *r, const entry *e)
{
    if (r->n >= r->cap / 2) {
        entry *larger = calloc(r->cap * 2, sizeof *larger);
        if (!larger)
            return false;
        um_map_move(&rule, NULL, r->slot, r->cap, larger, r->cap * 2);
        free(r->slot);
        r->slot = larger;
        r->cap *= 2;
    }
    entry *slot = um_map_find(&rule, NULL, r->slot, r->cap, e->hash, e);
    r->n += !slot->path;
    *slot = *e;
    return true;
}

/* Parses the text of an entry, without its NUL. */
static bool parse_entry(const char *text, um_file_hash hash, entry *out)
{
    uint64_t *const number[] = {&out->id.size, &out->id.mtime, &out->id.ctime,
                                &out->id.inode};
    size_t digits = 2 * hashes[hash].len;

    if (!um_hex_read(text, out->digest, hashes[hash].len))
        return false;
    text += digits;
    for (size_t i = 0; i < UM_COUNT(number); i++) {
        if (*text++ != ' ')
            return false;
        size_t n = um_decimal_scan(text, strlen(text), number[i]);
        if (n == 0)
            return false;
        text += n;
    }
    if (*text++ != ' ' || !*text)
        return false;
    out->path = text;
    out->hash = hash_path(text);
    return true;
}

static size_t write_heading(um_file_hash hash, char out[32])
{
    return (size_t)snprintf(out, 32, "umbel scan 1 %s\n", hashes[hash].name);
}

umbel_status um_scan_record_parse(const char *bytes, size_t len,
                                  um_file_hash hash, um_scan_record **out,
                                  size_t *whole)
{
    char heading[32];
    size_t at = write_heading(hash, heading);

    if (len < at || memcmp(bytes, heading, at) != 0)
        return UMBEL_E_FORMAT;
    um_scan_record *r = calloc(1, sizeof *r);
    entry *slots = calloc(FIRST_SLOTS, sizeof *slots);
    if (!r || !slots) {
        free(r);
        free(slots);
        return UMBEL_E_NOMEM;
    }
    *r = (um_scan_record){.slot = slots, .cap = FIRST_SLOTS};
    for (const char *end; at < len; at = (size_t)(end - bytes) + 1) {
        entry e = {.path = NULL};
        end = memchr(bytes + at, '\0', len - at);
        if (!end)
            break;
        if (parse_entry(bytes + at, hash, &e) && !put(r, &e)) {
            um_scan_record_free(r);
            return UMBEL_E_NOMEM;
        }
    }
    *whole = at;
    *out = r;
    return UMBEL_OK;
}

size_t um_scan_record_count(const um_scan_record *r)
{
    return r->n;
}

void um_scan_record_free(um_scan_record *r)
{
    if (r)
        free(r->slot);
    free(r);
}

/* --- files ---------------------------------------------------------------- */

typedef struct item {
    size_t path; /* offset in the piece's paths */
    bool hashed; /* now, not taken from the record */
    bool named;  /* by the caller: a link is followed */
    identity id;
    char why[96]; /* "": it was read */
    uint8_t digest[UM_FILE_DIGEST_LEN];
} item;

typedef struct piece {
    um_buffer paths;
    item item[PIECE_FILES];
    size_t n;
    EVP_MD_CTX *md;
    uint8_t *block;
} piece;

typedef struct scan {
    um_file_scan *job;
    FTS *walk;
    FTSENT *next; /* found, but not yet in a piece */
    char *bytes;  /* of the record */
    um_scan_record *known;
    FILE *record;
    umbel_status status;
    umbel_error *err;
} scan;

static uint64_t nanoseconds(struct timespec t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static identity identity_of(const struct stat *st)
{
    return (identity){(uint64_t)st->st_size, nanoseconds(st->st_mtim),
                      nanoseconds(st->st_ctim), st->st_ino};
}

static bool same_identity(const identity *a, const identity *b)
{
    return a->size == b->size && a->mtime == b->mtime && a->ctime == b->ctime &&
           a->inode == b->inode;
}

static void set_why(item *f, const char *what, int number)
{
    snprintf(f->why, sizeof f->why, "%s%s%s", what, *what ? ": " : "",
             strerror(number));
}

/* Returns the next file, or a directory that cannot be read. */
static FTSENT *next_file(scan *s)
{
    FTSENT *e = s->next;

    s->next = NULL;
    while (!e && (e = fts_read(s->walk))) {
        switch (e->fts_info) {
        case FTS_F:
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
            return e;
        case FTS_SL:
        case FTS_SLNONE:
            s->job->links++;
            break;
        case FTS_DEFAULT:
            s->job->special++;
            break;
        default: /* a directory, before and after its entries */
            break;
        }
        e = NULL;
    }
    return e;
}

static bool fill(void *ctx, void *memory)
{
    scan *s = ctx;
    piece *p = memory;
    uint64_t bytes = 0;
    FTSENT *e;

    p->n = p->paths.len = 0;
    while (p->n < PIECE_FILES && (e = next_file(s))) {
        uint64_t size =
            e->fts_info == FTS_F ? (uint64_t)e->fts_statp->st_size : 0;
        if (p->n && bytes + size > PIECE_BYTES) {
            s->next = e;
            break;
        }
        bytes += size;
        item *f = &p->item[p->n];
        *f = (item){.path = p->paths.len,
                    .named = e->fts_level == FTS_ROOTLEVEL};
        um_buffer_append(&p->paths, e->fts_path, strlen(e->fts_path) + 1);
        if (p->paths.failed)
            return true; /* which drain reports */
        if (e->fts_info == FTS_F)
            f->id = identity_of(e->fts_statp);
        else
            set_why(f, "", e->fts_errno);
        p->n++;
    }
    return p->n > 0;
}

/* Hashes an open file. */
static void hash_file(piece *p, item *f, um_file_hash hash, int fd)
{
    struct stat before, after;
    ssize_t n;

    if (fstat(fd, &before) != 0) {
        set_why(f, "", errno);
        return;
    }
    if (!S_ISREG(before.st_mode)) {
        snprintf(f->why, sizeof f->why, "it is no regular file any more");
        return;
    }
    if (!EVP_DigestInit_ex(p->md, hashes[hash].algorithm(), NULL)) {
        snprintf(f->why, sizeof f->why, "%s is not available here",
                 hashes[hash].name);
        return;
    }
    while ((n = read(fd, p->block, BLOCK)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            set_why(f, "", errno);
            return;
        }
        EVP_DigestUpdate(p->md, p->block, (size_t)n);
    }
    EVP_DigestFinal_ex(p->md, f->digest, NULL);
    f->id = identity_of(&before);
    if (fstat(fd, &after) != 0)
        after = before;
    identity now = identity_of(&after);
    if (!same_identity(&f->id, &now))
        snprintf(f->why, sizeof f->why, "it changed while it was read");
    f->hashed = true;
}

static void work(void *ctx, void *memory)
{
    const scan *s = ctx;
    piece *p = memory;

    for (size_t i = 0; i < p->n; i++) {
        item *f = &p->item[i];
        const char *path = (const char *)p->paths.data + f->path;
        if (*f->why)
            continue;
        const entry *e = find(s->known, path);
        if (e && same_identity(&e->id, &f->id)) {
            memcpy(f->digest, e->digest, sizeof f->digest);
            continue;
        }
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                                (f->named ? 0 : O_NOFOLLOW));
        if (fd < 0) {
            set_why(f, "", errno);
            continue;
        }
        hash_file(p, f, s->job->hash, fd);
        close(fd);
    }
}

static void write_entry(const scan *s, const item *f, const char *path)
{
    char digest[2 * UM_FILE_DIGEST_LEN + 1];

    um_hex_write(f->digest, hashes[s->job->hash].len, digest);
    fprintf(s->record,
            "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s%c", digest,
            f->id.size, f->id.mtime, f->id.ctime, f->id.inode, path, '\0');
}

static bool drain(void *ctx, void *memory)
{
    scan *s = ctx;
    piece *p = memory;

    if (p->paths.failed)
        s->status = um_no_memory(s->err, p->paths.len);
    for (size_t i = 0; i < p->n && !s->status; i++) {
        const item *f = &p->item[i];
        um_file_digest found = {.path = (const char *)p->paths.data + f->path,
                                .why = *f->why ? f->why : NULL};
        memcpy(found.digest, f->digest, sizeof found.digest);
        if (s->record && f->hashed && !found.why)
            write_entry(s, f, found.path);
        s->job->recorded += !f->hashed && !found.why;
        s->job->each(s->job->ctx, &found);
    }
    if (s->record && fflush(s->record) != 0 && !s->status)
        s->status = um_fail_path(s->err, s->job->record);
    return !s->status;
}

/* --- a scan --------------------------------------------------------------- */

static umbel_status read_record(scan *s, umbel_error *err)
{
    um_buffer bytes = {0};
    size_t n, whole = 0;
    char heading[32];

    if (!s->job->record)
        return UMBEL_OK;
    int fd =
        open(s->job->record, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
    s->record = fd < 0 ? NULL : fdopen(fd, "a+");
    if (!s->record) {
        umbel_status status = um_fail_path(err, s->job->record);
        if (fd >= 0)
            close(fd);
        return status;
    }
    do {
        uint8_t *space = um_buffer_reserve(&bytes, BLOCK);
        n = space ? fread(space, 1, BLOCK, s->record) : 0;
        bytes.len += n;
    } while (n);
    s->bytes = (char *)bytes.data;
    if (bytes.failed)
        return um_no_memory(err, bytes.len);
    if (ferror(s->record))
        return um_fail_path(err, s->job->record);
    if (!s->bytes || bytes.len == 0) {
        fwrite(heading, 1, write_heading(s->job->hash, heading), s->record);
        return UMBEL_OK;
    }
    umbel_status status = um_scan_record_parse(s->bytes, bytes.len,
                                               s->job->hash, &s->known, &whole);
    if (status == UMBEL_E_FORMAT)
        return um_fail(err, status,
                       "%s is not a record of a scan with %s: name another "
                       "file for --resume",
                       s->job->record, hashes[s->job->hash].name);
    if (status)
        return um_no_memory(err, bytes.len);
    if (ftruncate(fd, (off_t)whole) != 0)
        return um_fail_path(err, s->job->record);
    return UMBEL_OK;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static umbel_status start_walk(scan *s, umbel_error *err)
{
    size_t n = s->job->npaths;
    char **paths = calloc(n + 1, sizeof *paths);

    if (!paths)
        return um_no_memory(err, (n + 1) * sizeof *paths);
    memcpy(paths, s->job->paths, n * sizeof *paths); /* which fts copies */
    s->walk =
        fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    free(paths);
    if (!s->walk)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the walk");
    return UMBEL_OK;
}

static void piece_close(piece *p)
{
    if (!p)
        return;
    EVP_MD_CTX_free(p->md);
    free(p->block);
    um_buffer_fini(&p->paths);
    free(p);
}

static piece *piece_open(void)
{
    piece *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->md = EVP_MD_CTX_new();
    p->block = malloc(BLOCK);
    if (p->md && p->block)
        return p;
    piece_close(p);
    return NULL;
}

static umbel_status run(scan *s, umbel_error *err)
{
    unsigned threads = s->job->threads ? s->job->threads : um_cores();
    size_t n = 2 * (size_t)threads < PIECES ? 2 * (size_t)threads : PIECES;
    void *pieces[PIECES];
    size_t made = 0;

    while (made < n && (pieces[made] = piece_open()))
        made++;
    s->err = err;
    if (made == n)
        um_pipeline_run(&(um_pipeline){.threads = threads,
                                       .pieces = pieces,
                                       .npieces = n,
                                       .ctx = s,
                                       .fill = fill,
                                       .work = work,
                                       .drain = drain});
    else
        s->status = um_no_memory(err, n * (sizeof(piece) + BLOCK));
    while (made > 0)
        piece_close(pieces[--made]);
    return s->status;
}

umbel_status um_scan_files(um_file_scan *job, umbel_error *err)
{
    scan s = {.job = job};
    umbel_status status = read_record(&s, err);

    job->links = job->special = job->recorded = 0;
    if (!status)
        status = start_walk(&s, err);
    if (!status)
        status = run(&s, err);
    if (s.walk)
        fts_close(s.walk);
    if (s.record && fclose(s.record) != 0 && !status)
        status = um_fail_path(err, job->record);
    um_scan_record_free(s.known);
    free(s.bytes);
    return status;
}
