/*
 * directory.c - a directory with one filter for each origin.
 */
#include "sync/directory.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "filter/save.h"
#include "sync/internal.h"

#include <umbel/publish.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKER "umbel-sync-dir-1"
#define PARAMETERS_MAGIC "umbel-sync-list-1\n"

enum {
    MEMORY = 1 << 30,
    MAX_STATE = 64 << 20,
    FILE_LEN = PATH_MAX + 160,
    SERVER_MESSAGE = 65536 /* largest message that a clearinghouse accepts */
};

/* --- parameters ----------------------------------------------------------- */

const um_sync_parameters um_sync_parameters_standard = {
    .list = "keys", .epochs = 1, .page_bytes = 65536, .quorum = 1};

size_t um_sync_parameters_print(const um_sync_parameters *t,
                                char out[UM_SYNC_PARAMETERS_TEXT])
{
    char server[UM_DIGEST_HEX] = "-";

    if (t->has_server)
        um_digest_text(t->server, server);
    return (size_t)snprintf(
        out, UM_SYNC_PARAMETERS_TEXT,
        "list %s\nepoch_seconds %" PRIu64 "\nepochs %" PRIu32
        "\npage_bytes %" PRIu32 "\nquorum %" PRIu32 "\norigin_cap %" PRIu64
        "\nserver %s\n%s%s%s",
        t->list, t->epoch_seconds, t->epochs, t->page_bytes, t->quorum,
        t->origin_cap, server, t->agree[0] ? "agree " : "", t->agree,
        t->agree[0] ? "\n" : "");
}

bool um_sync_parameters_read(const char *text, um_sync_parameters *out)
{
    um_sync_parameters t = {.has_server = false};
    char server[UM_DIGEST_HEX], again[UM_SYNC_PARAMETERS_TEXT];

    if (sscanf(text,
               "list %63s epoch_seconds %" SCNu64 " epochs %" SCNu32
               " page_bytes %" SCNu32 " quorum %" SCNu32 " origin_cap %" SCNu64
               " server %64s agree %63s",
               t.list, &t.epoch_seconds, &t.epochs, &t.page_bytes, &t.quorum,
               &t.origin_cap, server, t.agree) < 7)
        return false;
    t.has_server = um_digest_read(server, t.server);
    um_sync_parameters_print(&t, again);
    if (strcmp(again, text) != 0) /* a number too large, extra blanks */
        return false;
    *out = t;
    return true;
}

umbel_status um_sync_parameters_of(const umbel_filter *f,
                                   um_sync_parameters *out, umbel_error *err)
{
    umbel_slice data = umbel_data(f);
    size_t skip = strlen(PARAMETERS_MAGIC);
    char text[UM_SYNC_PARAMETERS_TEXT] = "";

    *out = um_sync_parameters_standard;
    if (!data.len)
        return UMBEL_OK;
    if (data.len > skip && data.len - skip < sizeof text)
        memcpy(text, (const char *)data.data + skip, data.len - skip);
    if (!*text || memcmp(data.data, PARAMETERS_MAGIC, skip) != 0 ||
        !um_sync_parameters_read(text, out))
        return um_fail(err, UMBEL_E_FORMAT,
                       "the filter carries data, but not those of "
                       "'umbel-clearinghouse shape'");
    return UMBEL_OK;
}

umbel_status um_sync_parameters_attach(const um_sync_parameters *t,
                                       umbel_filter *f, umbel_error *err)
{
    char text[sizeof PARAMETERS_MAGIC + UM_SYNC_PARAMETERS_TEXT] =
        PARAMETERS_MAGIC;
    size_t len = um_sync_parameters_print(t, text + strlen(PARAMETERS_MAGIC));

    return umbel_set_data(f, text, strlen(PARAMETERS_MAGIC) + len, err);
}

/* --- creating ------------------------------------------------------------- */

static const char *file_in(const char *dir, const char *name,
                           char out[FILE_LEN])
{
    snprintf(out, FILE_LEN, "%s/%s", dir, name);
    return out;
}

bool um_is_sync_dir(const char *path)
{
    char file[FILE_LEN];
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           stat(file_in(path, "sync", file), &st) == 0;
}

static umbel_status write_marker(const char *path, const char *name,
                                 uint64_t incarnation,
                                 const um_sync_parameters *t, umbel_error *err)
{
    char text[256 + UM_SYNC_PARAMETERS_TEXT], file[FILE_LEN];
    size_t len = (size_t)snprintf(text, 256,
                                  MARKER "\nname %s\nincarnation %" PRIu64 "\n",
                                  name, incarnation);
    umbel_slice part = {text, len + um_sync_parameters_print(t, text + len)};

    return um_save_parts(&part, 1, file_in(path, "sync", file), err);
}

static umbel_status read_marker(um_sync_dir *d, umbel_error *err)
{
    char file[FILE_LEN], text[256 + UM_SYNC_PARAMETERS_TEXT];
    FILE *in = fopen(file_in(d->path, "sync", file), "r");
    int parameters = 0;

    if (!in)
        return um_fail(err, UMBEL_E_IO,
                       "%s%s is no directory of 'umbel sync', which "
                       "'umbel help sync' shows how to make",
                       um_path_dots(d->path), um_path_tail(d->path));
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    if (sscanf(text, MARKER " name %63s incarnation %" SCNu64 " %n", d->name,
               &d->incarnation, &parameters) != 2 ||
        !d->incarnation || !parameters ||
        !um_sync_parameters_read(text + parameters, &d->parameters))
        return um_fail(err, UMBEL_E_FORMAT, "%s%s/sync is damaged",
                       um_path_dots(d->path), um_path_tail(d->path));
    return UMBEL_OK;
}

static umbel_status create_key(const char *path, umbel_error *err)
{
    uint8_t sign[UMBEL_SIGN_KEY_LEN], trust[UMBEL_TRUST_KEY_LEN];
    char file[FILE_LEN];

    UM_TRY(umbel_sign_keygen(sign, trust, err));
    umbel_status status =
        umbel_sign_key_save(sign, file_in(path, "key", file), err);
    sodium_memzero(sign, sizeof sign);
    UM_TRY(status);
    return umbel_trust_key_save(trust, file_in(path, "key.pub", file), err);
}

umbel_status um_sync_dir_create(const char *path, const char *name,
                                const umbel_filter *shape,
                                const um_sync_parameters *parameters,
                                uint64_t now, umbel_error *err)
{
    char file[FILE_LEN];
    um_pages pages;

    UM_TRY(
        um_pages_init(&pages, um_shape_of(shape), parameters->page_bytes, err));
    if (!*name || strlen(name) >= UMBEL_SYNC_MAX_NAME ||
        strpbrk(name, " \t\n") || um_utf8_len((const uint8_t *)name, 1) == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "a name has 1 to 63 characters, and no blanks");
    if (strlen(path) >= PATH_MAX - 1)
        return um_fail(err, UMBEL_E_RANGE, "the path is too long");
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return um_fail_path(err, path);
    if (um_is_sync_dir(path))
        return um_fail(err, UMBEL_E_IO, "%s%s holds filters already",
                       um_path_dots(path), um_path_tail(path));
    UM_TRY(create_key(path, err));
    UM_TRY(umbel_save(shape, file_in(path, "shape.umb", file), err));
    return write_marker(path, name, now + !now, parameters, err);
}

/* --- opening -------------------------------------------------------------- */

/* Returns true for copy-ORIGIN-INCARNATION-EPOCH.umb, and sets *epoch. */
static bool is_replica_name(const char *name, uint64_t *epoch)
{
    uint64_t incarnation;
    int len = 0;

    return sscanf(name, "copy-%*64[0-9a-f]-%" SCNu64 "-%" SCNu64 ".umb%n",
                  &incarnation, epoch, &len) == 2 &&
           len && !name[len];
}

/* Returns the oldest epoch that still counts. */
static uint64_t oldest_epoch(const um_sync_parameters *t, uint64_t now)
{
    uint64_t epoch = t->epoch_seconds ? now / t->epoch_seconds : 0;

    return epoch >= t->epochs ? epoch - t->epochs + 1 : 0;
}

/* Lists the files of replicas whose epoch is at least oldest. */
static umbel_status list_files(const char *path, uint64_t oldest, char ***files,
                               size_t *n, umbel_error *err)
{
    char file[FILE_LEN];
    DIR *dir = opendir(path);
    char **all = NULL;
    uint64_t epoch;

    if (!dir)
        return um_fail_path(err, path);
    *files = NULL;
    *n = 0;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (!is_replica_name(e->d_name, &epoch) || epoch < oldest)
            continue;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
        all = um_grow_array(*files, n, sizeof *all);
        if (!all)
            break;
        *files = all;
        all[*n - 1] = strdup(file_in(path, e->d_name, file));
        if (!all[*n - 1])
            break;
    }
    closedir(dir);
    return UMBEL_OK;
}

umbel_status um_sync_dir_files(const char *path, uint64_t now, char ***files,
                               size_t *n, umbel_error *err)
{
    um_sync_dir d = {.lock = -1};

    if (strlen(path) >= sizeof d.path)
        return um_fail(err, UMBEL_E_RANGE, "the path is too long");
    memcpy(d.path, path, strlen(path) + 1);
    UM_TRY(read_marker(&d, err));
    return list_files(path, oldest_epoch(&d.parameters, now), files, n, err);
}

static void free_files(char **files, size_t n)
{
    for (size_t i = 0; files && i < n; i++)
        free(files[i]);
    free(files);
}

static umbel_status record_saved(um_sync_dir *d, umbel_error *err)
{
    umbel_sync_replica c;

    d->nsaved = 0;
    for (size_t at = 0; umbel_sync_next_replica(d->machine, &at, &c);) {
        struct um_saved_replica *all =
            um_grow_array(d->saved, &d->nsaved, sizeof *all);
        if (!all)
            return um_no_memory(err, sizeof *all);
        d->saved = all;
        memcpy(all[d->nsaved - 1].origin, c.origin, UMBEL_ORIGIN_LEN);
        all[d->nsaved - 1].incarnation = c.incarnation;
        all[d->nsaved - 1].epoch = c.epoch;
        all[d->nsaved - 1].version = c.version;
    }
    return UMBEL_OK;
}

/* Returns true for a replica of a dropped origin, left behind by a sync that
 * was interrupted before it removed the file. */
static bool is_unwanted(const um_sync_dir *d, const char *file)
{
    const char *name = strrchr(file, '/') + 1;
    char hex[2 * UMBEL_ORIGIN_LEN + 1] = "";
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t incarnation = 0;

    return sscanf(name, "copy-%64[0-9a-f]-%" SCNu64, hex, &incarnation) == 2 &&
           um_digest_read(hex, origin) &&
           (um_origin_status_of(d->machine, origin) == UM_DROPPED ||
            um_is_contradicted(d->machine, origin, incarnation));
}

static umbel_status load_replicas(um_sync_dir *d, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    char **files;
    size_t n;
    umbel_status status = UMBEL_OK;

    source.memory_limit = MEMORY;
    UM_TRY(list_files(d->path, d->machine->list[0].oldest, &files, &n, err));
    for (size_t i = 0; files && i < n && files[i] && !status; i++) {
        umbel_filter *f;
        if (is_unwanted(d, files[i]))
            continue;
        status = umbel_load(files[i], &source, &f, err);
        if (status)
            break;
        status = umbel_sync_import(d->machine, f, err);
        umbel_close(f);
        if (status)
            um_name_file(status, files[i], err);
    }
    free_files(files, n);
    return status;
}

static umbel_status load_state(um_sync_dir *d, umbel_error *err)
{
    char file[FILE_LEN];
    FILE *in = fopen(file_in(d->path, "state", file), "r");
    um_buffer b = {.len = 0};
    size_t got = 1;

    if (!in)
        return errno == ENOENT ? UMBEL_OK : um_fail_path(err, file);
    while (got && b.len < MAX_STATE) {
        uint8_t *at = um_buffer_reserve(&b, 65536);
        got = at ? fread(at, 1, 65536, in) : 0;
        b.len += got;
    }
    fclose(in);
    umbel_status status = um_no_memory(err, b.len);
    if (!b.failed)
        status = umbel_sync_import_state(d->machine, b.data, b.len, err);
    um_buffer_fini(&b);
    return um_name_file(status, file, err);
}

static void record_event(void *ctx, const umbel_sync_event *e)
{
    um_sync_dir *d = ctx;

    if (e->kind == UMBEL_SYNC_REFUSED && e->reason == UMBEL_SYNC_SHAPE)
        snprintf(d->differs, sizeof d->differs, "%s", e->text);
}

umbel_status um_sync_dir_origin(const char *path, uint8_t out[UMBEL_ORIGIN_LEN],
                                umbel_error *err)
{
    char file[FILE_LEN];
    um_sync_dir d = {.lock = -1};

    if (strlen(path) >= sizeof d.path)
        return um_fail(err, UMBEL_E_RANGE, "the path is too long");
    memcpy(d.path, path, strlen(path) + 1);
    UM_TRY(read_marker(&d, err));
    return umbel_trust_key_load(file_in(path, "key.pub", file), out, err);
}

umbel_status um_sync_dir_key(const um_sync_dir *d,
                             uint8_t out[UMBEL_ORIGIN_SECRET_LEN],
                             umbel_error *err)
{
    char file[FILE_LEN];

    return umbel_sign_key_load(file_in(d->path, "key", file), out, err);
}

static umbel_status open_machine(um_sync_dir *d, umbel_error *err)
{
    uint8_t sign[UMBEL_SIGN_KEY_LEN];
    umbel_sync_list list = {
        .name = d->parameters.list,
        .shape = d->shape,
        .epoch_seconds = d->parameters.epoch_seconds,
        .epochs = d->parameters.epochs,
        .page_bytes = d->parameters.page_bytes,
        .quorum = d->parameters.quorum,
        .origin_cap = d->parameters.origin_cap,
        .agree = d->parameters.agree[0] ? d->parameters.agree : NULL};
    umbel_sync_params p = UMBEL_SYNC_INIT;

    UM_TRY(um_sync_dir_key(d, sign, err));
    p.lists = &list;
    p.nlists = 1;
    p.sign_key = sign;
    p.incarnation = d->incarnation;
    randombytes_buf(&p.session, sizeof p.session);
    p.session |= 1;
    p.announce = true;
    p.event = record_event;
    p.ctx = d;
    p.limits.memory = UINT64_MAX / 2;
    p.limits.incarnations = 64;
    if (d->parameters.has_server)
        p.limits.message_bytes = SERVER_MESSAGE;
    umbel_status status = umbel_sync_open(&p, &d->machine, err);
    sodium_memzero(sign, sizeof sign);
    return status;
}

umbel_status um_sync_dir_open(um_sync_dir *d, const char *path, uint64_t now,
                              umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    char file[FILE_LEN];
    umbel_status status;

    *d = (um_sync_dir){.lock = -1};
    if (strlen(path) >= sizeof d->path)
        return um_fail(err, UMBEL_E_RANGE, "the path is too long");
    memcpy(d->path, path, strlen(path) + 1);
    if (sodium_init() < 0)
        return um_fail(err, UMBEL_E_IO, "the system gives no random numbers");
    status = um_lock(path, O_RDONLY | O_DIRECTORY, &d->lock, err);
    if (!status)
        status = read_marker(d, err);
    if (!status)
        status = umbel_load(file_in(path, "shape.umb", file), &source,
                            &d->shape, err);
    if (!status)
        status = open_machine(d, err);
    if (!status)
        umbel_sync_tick(d->machine, now);
    if (!status)
        status = load_state(d, err);
    if (!status)
        status = load_replicas(d, err);
    if (!status)
        status = record_saved(d, err);
    if (status)
        um_sync_dir_close(d);
    return status;
}

void um_sync_dir_close(um_sync_dir *d)
{
    umbel_sync_close(d->machine);
    umbel_close(d->shape);
    free(d->saved);
    if (d->lock >= 0)
        close(d->lock);
    *d = (um_sync_dir){.lock = -1};
}

/* --- saving --------------------------------------------------------------- */

static const char *replica_file(const um_sync_dir *d,
                                const umbel_sync_replica *c, char out[FILE_LEN])
{
    char origin[2 * UMBEL_ORIGIN_LEN + 1], name[128];

    um_digest_text(c->origin, origin);
    snprintf(name, sizeof name, "copy-%s-%" PRIu64 "-%" PRIu64 ".umb", origin,
             c->incarnation, c->epoch);
    return file_in(d->path, name, out);
}

static bool is_saved(const um_sync_dir *d, const umbel_sync_replica *c)
{
    for (size_t i = 0; i < d->nsaved; i++)
        if (d->saved[i].incarnation == c->incarnation &&
            d->saved[i].epoch == c->epoch &&
            memcmp(d->saved[i].origin, c->origin, UMBEL_ORIGIN_LEN) == 0)
            return d->saved[i].version == c->version;
    return false;
}

static umbel_status save_replicas(um_sync_dir *d, umbel_error *err)
{
    umbel_sync_replica c;

    for (size_t at = 0; umbel_sync_next_replica(d->machine, &at, &c);) {
        char file[FILE_LEN];
        umbel_filter *f;
        if (!c.version || is_saved(d, &c))
            continue;
        UM_TRY(umbel_sync_export(d->machine, at, &f, err));
        umbel_status status = umbel_save(f, replica_file(d, &c, file), err);
        umbel_close(f);
        UM_TRY(status);
    }
    return UMBEL_OK;
}

/* Removes the files of replicas that no longer exist. */
static umbel_status remove_gone(um_sync_dir *d, umbel_error *err)
{
    char **files;
    size_t n;

    UM_TRY(list_files(d->path, 0, &files, &n, err));
    for (size_t i = 0; files && i < n && files[i]; i++) {
        umbel_sync_replica c;
        char file[FILE_LEN];
        bool here = false;
        for (size_t at = 0; umbel_sync_next_replica(d->machine, &at, &c);)
            here |= strcmp(files[i], replica_file(d, &c, file)) == 0;
        if (!here)
            unlink(files[i]);
    }
    free_files(files, n);
    return UMBEL_OK;
}

static umbel_status save_state(um_sync_dir *d, umbel_error *err)
{
    char file[FILE_LEN];
    size_t len;

    umbel_sync_export_state(d->machine, NULL, 0, &len, NULL);
    uint8_t *bytes = malloc(len + 1);
    if (!bytes)
        return um_no_memory(err, len);
    umbel_status status =
        umbel_sync_export_state(d->machine, bytes, len, &len, err);
    umbel_slice part = {bytes, len};
    if (!status)
        status = um_save_parts(&part, 1, file_in(d->path, "state", file), err);
    free(bytes);
    return status;
}

umbel_status um_sync_dir_save(um_sync_dir *d, umbel_error *err)
{
    if (umbel_sync_incarnation(d->machine) != d->incarnation) {
        d->incarnation = umbel_sync_incarnation(d->machine);
        UM_TRY(write_marker(d->path, d->name, d->incarnation, &d->parameters,
                            err));
    }
    UM_TRY(save_state(d, err));
    UM_TRY(save_replicas(d, err));
    UM_TRY(remove_gone(d, err));
    return record_saved(d, err);
}

umbel_status um_sync_dir_own(const um_sync_dir *d, umbel_filter **out,
                             umbel_error *err)
{
    umbel_sync_replica c;

    for (size_t at = 0; umbel_sync_next_replica(d->machine, &at, &c);)
        if (c.own && c.epoch == umbel_sync_epoch(d->machine, 0))
            return umbel_copy(c.filter, out, err);
    return umbel_copy(d->shape, out, err);
}

umbel_status um_sync_dir_publish(um_sync_dir *d, const umbel_filter *f,
                                 umbel_error *err)
{
    return umbel_sync_publish(d->machine, 0, umbel_sync_epoch(d->machine, 0), f,
                              err);
}
