/*
 * type.c - filters as values of the server: the data type umbel-flt.
 */
#include "module/runtime/type.h"

#include "base/error.h"
#include "base/text.h"
#include "filter/handle.h"
#include "module/runtime/memory.h"
#include "module/runtime/settings.h"

#include <umbel/admit.h>
#include <umbel/describe.h>
#include <umbel/file.h>

#include <stdio.h>
#include <string.h>

/* --- the data type umbel-flt --------------------------------------------- */

/*
 * RDB: the length of the file in bytes, then the file in strings of UM_PIECE
 * bytes, the last one shorter. A payload may come from anyone (RESTORE), so it
 * is decoded like an untrusted file, within the server's limits.
 */

um_type *um_filter_type;
_Atomic uint64_t um_refused_loads;

/* --- RDB ------------------------------------------------------------------ */

static bool save_piece(void *ctx, uint64_t offset, uint64_t total,
                       const void *bytes, size_t len)
{
    if (offset == 0)
        um_api.SaveUnsigned(ctx, total);
    um_api.SaveStringBuffer(ctx, bytes, len);
    return true;
}

/* Saves a filter. One that cannot be written gets the length 0, which no filter
 * has, so that it is not mistaken for one. */
static void rdb_save(um_io *io, void *value)
{
    const um_body *b = value;

    if (um_pieces_write(b->filter, save_piece, io))
        return;
    um_api.LogIOError(io, "warning", "umbel: no memory to save a filter");
    um_api.SaveUnsigned(io, 0);
}

static umbel_status load_pieces(um_io *io, umbel_decoder *d, uint64_t total,
                                umbel_error *err)
{
    for (uint64_t fed = 0; fed < total;) {
        size_t len = 0;
        char *bytes = um_api.LoadStringBuffer(io, &len);
        umbel_status status;

        if (!bytes || um_api.IsIOError(io) || len == 0)
            status = um_fail(err, UMBEL_E_FORMAT, "cut short");
        else
            status = umbel_decoder_feed(d, bytes, len, err);
        if (bytes)
            um_api.Free(bytes);
        UM_TRY(status);
        fed += len;
    }
    return UMBEL_OK;
}

static umbel_status check_admission(const umbel_filter *f, umbel_error *err)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_ruling ruling;

    UM_TRY(umbel_admit(f, &wants, &ruling, err));
    if (!ruling.admitted)
        return um_fail(err, UMBEL_E_REFUSED,
                       "umbel.admission is yes, and it is not admitted: %s",
                       ruling.reason[0].text);
    return UMBEL_OK;
}

static umbel_status load(um_io *io, um_body **out, umbel_error *err)
{
    uint64_t total = um_api.LoadUnsigned(io);
    uint64_t limit = (uint64_t)um_settings.max_filter_bytes;
    uint64_t most = um_load_limit(io);
    umbel_filter *f = NULL;
    umbel_decoder *d = NULL;
    umbel_status status;

    if (um_api.IsIOError(io))
        return um_fail(err, UMBEL_E_FORMAT, "cut short");
    /* In the server's own file a filter is raw: no larger than its bytes. */
    if (total > limit && total <= most)
        limit = total;
    UM_TRY(um_pieces_open(total, limit, &d, err));
    status = load_pieces(io, d, total, err);
    if (!status)
        status = umbel_decoder_finish(d, &f, err);
    umbel_decoder_close(d);
    if (!status && um_settings.admission)
        status = check_admission(f, err);
    if (status) {
        umbel_close(f);
        return status;
    }
    um_try_unlock(f);
    return um_body_open(f, out, err);
}

void *um_load_refused(um_io *io, const umbel_error *err)
{
    const um_str *key = um_api.GetKeyNameFromIO(io);
    char name[100];

    snprintf(name, sizeof name, "%s",
             key ? um_api.StringPtrLen(key, NULL) : "");
    um_disarm(name);
    um_refused_loads++;
    um_api.LogIOError(
        io, "warning", "umbel: key \"%s\" was not loaded: %s%s", name,
        err->text,
        err->status == UMBEL_E_LIMIT ? ": raise umbel.max-filter-bytes" : "");
    return NULL;
}

enum { ENCODING = 0 };

static void *rdb_load(um_io *io, int encver)
{
    um_body *b = NULL;
    umbel_error err;

    if (encver > ENCODING)
        um_set_error(&err, UMBEL_E_VERSION,
                     "a newer umbel wrote it, with encoding %d", encver);
    else if (load(io, &b, &err) == UMBEL_OK)
        return b;
    return um_load_refused(io, &err);
}

/* --- AOF ------------------------------------------------------------------ */

typedef struct aof_target {
    um_io *io;
    um_str *key;
} aof_target;

static bool emit_piece(void *ctx, uint64_t offset, uint64_t total,
                       const void *bytes, size_t len)
{
    const aof_target *t = ctx;

    um_api.EmitAOF(t->io, "UMB.IMPORT", "sllb", t->key, (long long)offset,
                   (long long)total, bytes, len);
    return true;
}

static void aof_rewrite(um_io *io, um_str *key, void *value)
{
    aof_target target = {io, key};

    if (!um_pieces_write(((const um_body *)value)->filter, emit_piece, &target))
        um_api.LogIOError(io, "warning",
                          "umbel: no memory to rewrite a filter");
}

/* --- other methods -------------------------------------------------------- */

static size_t mem_usage(const void *value)
{
    return sizeof(um_body) + (size_t)um_body_bytes(value);
}

/* Hashes the header of the file, which contains the checksum of the rest. */
static void digest(um_md *md, void *value)
{
    const um_body *b = value;
    uint64_t total = umbel_raw_len(b->filter);
    char head[4096];
    size_t len = total < sizeof head ? (size_t)total : sizeof head;

    if (umbel_encode_part(b->filter, 0, head, len, NULL) == UMBEL_OK)
        um_api.DigestAddStringBuffer(md, head, len);
    um_api.DigestEndSequence(md);
}

static void free_value(void *value)
{
    um_body_release(value);
}

/* Returns the effort of freeing a filter; above 64 the server frees it in the
 * background. */
static size_t free_effort(um_str *key, const void *value)
{
    (void)key;
    return 1 + (size_t)um_body_bytes(value) / 4096;
}

static void *copy(um_str *from, um_str *to, void *value)
{
    (void)from;
    (void)to;
    return um_body_hold(value);
}

static void *move_block(void *ctx, void *block)
{
    return um_api.DefragAlloc(ctx, block);
}

/* Moves the memory blocks of a filter; the server does not move large ones. A
 * body with more than one holder is skipped, because a thread may be reading
 * it. */
static int defrag(um_defrag *ctx, um_str *key, void **value)
{
    um_body *b = *value, *moved;

    (void)key;
    if (b->holders > 1)
        return 0;
    b->filter = um_filter_move(b->filter, move_block, ctx);
    moved = um_api.DefragAlloc(ctx, b);
    if (moved)
        *value = moved;
    return 0;
}

const um_module_type um_module_filter_type = {
    .name = "umbel-flt",
    .encoding = ENCODING,
    .methods = {.version = UM_METHODS_VERSION,
                .rdb_load = rdb_load,
                .rdb_save = rdb_save,
                .aof_rewrite = aof_rewrite,
                .mem_usage = mem_usage,
                .digest = digest,
                .free = free_value,
                .free_effort = free_effort,
                .copy = copy,
                .defrag = defrag},
    .type = &um_filter_type};

/* --- filters shared by keys and threads ----------------------------------- */

static _Atomic uint64_t bodies;

umbel_status um_body_open(umbel_filter *f, um_body **out, umbel_error *err)
{
    um_body *b = um_api.TryAlloc(sizeof *b);

    if (!b) {
        umbel_close(f);
        return um_no_memory(err, sizeof *b);
    }
    b->filter = f;
    atomic_init(&b->holders, 1);
    bodies++;
    *out = b;
    return UMBEL_OK;
}

umbel_status um_body_copy(const um_body *from, um_body **out, umbel_error *err)
{
    umbel_filter *f;

    UM_TRY(umbel_copy(from->filter, &f, err));
    return um_body_open(f, out, err);
}

um_body *um_body_hold(um_body *b)
{
    b->holders++;
    return b;
}

void um_body_release(um_body *b)
{
    if (!b || --b->holders > 0)
        return;
    umbel_close(b->filter);
    um_api.Free(b);
    bodies--;
}

uint64_t um_body_count(void)
{
    return bodies;
}

uint64_t um_body_bytes(const um_body *b)
{
    umbel_info info;

    umbel_describe_shape(b->filter, &info);
    for (size_t i = 0; i < info.n; i++)
        if (strcmp(info.field[i].name, "payload_bytes") == 0)
            return info.field[i].value.count;
    return 0;
}

/* --- a filter's file in pieces ------------------------------------------- */

bool um_pieces_write(const umbel_filter *f, um_piece_emit *emit, void *ctx)
{
    uint64_t total = umbel_raw_len(f);
    uint8_t *piece = um_api.TryAlloc(UM_PIECE);
    bool good = piece;

    for (uint64_t at = 0; good && at < total; at += UM_PIECE) {
        size_t len = total - at < UM_PIECE ? (size_t)(total - at) : UM_PIECE;
        good = umbel_encode_part(f, at, piece, len, NULL) == UMBEL_OK &&
               emit(ctx, at, total, piece, len);
    }
    if (piece)
        um_api.Free(piece);
    return good;
}

umbel_status um_pieces_open(uint64_t total, uint64_t limit, umbel_decoder **out,
                            umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;

    source.verify = true;
    source.alloc = &um_module_alloc;
    source.memory_limit = limit;
    return umbel_decoder_open(&source, total, out, err);
}

void um_try_unlock(umbel_filter *f)
{
    if (um_settings.has_secret)
        umbel_unlock(f, um_settings.secret, NULL); /* or it stays locked */
}
