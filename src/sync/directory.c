/*
 * directory.c - a directory with one filter for each origin.
 */
#define _GNU_SOURCE /* statx */
#include "sync/directory.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "filter/save.h"
#include "sync/internal.h"

#include <umbel/counting.h>
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
#define LOCAL_MAGIC "umbel-sync-local-1"

enum {
    MEMORY = 1 << 30,
    ORIGIN_FILTERS = 2,      /* of one origin and epoch, on average */
    MANY_FILTERS = 8,        /* of one origin and epoch */
    SPARE_MEMORY = 64 << 20, /* for what is being received */
    MAX_STATE = 64 << 20,
    LOCAL_LEN = 256 + UM_SYNC_MAX_REFUSALS * (UM_DIGEST_HEX + 10),
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

/* --- the file local --------------------------------------------------------
 */

/* Which file this is: a copy has another inode, or was born later. */
typedef struct file_identity {
    uint64_t inode, born; /* nanoseconds; 0: the file system does not say */
} file_identity;

static file_identity identify(const char *file)
{
    struct statx st;

    if (statx(AT_FDCWD, file, 0, STATX_INO | STATX_BTIME, &st) != 0 ||
        !(st.stx_mask & STATX_BTIME))
        return (file_identity){.born = 0};
    return (file_identity){st.stx_ino, (uint64_t)st.stx_btime.tv_sec *
                                               UINT64_C(1000000000) +
                                           st.stx_btime.tv_nsec};
}

/* The file has its identity at its end, which it gets when it is in place.
 * Without one, after a kill, it passes for the original. */
static umbel_status write_local(const um_sync_dir *d, umbel_error *err)
{
    char text[LOCAL_LEN], file[FILE_LEN], origin[UM_DIGEST_HEX];
    bool renewed = (d->renewed || d->was_renewed) && !d->exchanged;
    int head = snprintf(text, sizeof text,
                        LOCAL_MAGIC "\nmax_origins %" PRIu32
                                    "\nstrict %d\nrenewed %d\n",
                        d->max_origins, d->strict, renewed);

    for (size_t i = 0; i < d->nconflicts; i++) {
        um_digest_text(d->conflict[i], origin);
        head += snprintf(text + head, sizeof text - (size_t)head,
                         "conflict %s\n", origin);
    }
    head += snprintf(text + head, sizeof text - (size_t)head, "file ");
    umbel_slice part = {text, (size_t)head};
    file_in(d->path, "local", file);
    UM_TRY(um_save_parts(&part, 1, file, err));
    file_identity here = identify(file);
    int len = snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n",
                       here.inode, here.born);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return um_fail_path(err, file);
    umbel_status status = UMBEL_OK;
    if (pwrite(fd, text, (size_t)len, head) != len && ftruncate(fd, head) != 0)
        status = um_fail_path(err, file); /* half of it would be wrong */
    close(fd);
    return status;
}

static void add_conflict(um_sync_dir *d, const uint8_t *origin)
{
    for (size_t i = 0; i < d->nconflicts; i++)
        if (memcmp(d->conflict[i], origin, UMBEL_ORIGIN_LEN) == 0)
            return;
    if (d->nconflicts < UM_SYNC_MAX_REFUSALS)
        memcpy(d->conflict[d->nconflicts++], origin, UMBEL_ORIGIN_LEN);
}

/* Returns true if there was one. */
static bool remove_conflict(um_sync_dir *d, const uint8_t *origin)
{
    for (size_t i = 0; i < d->nconflicts; i++)
        if (memcmp(d->conflict[i], origin, UMBEL_ORIGIN_LEN) == 0) {
            memmove(d->conflict[i], d->conflict[--d->nconflicts],
                    UMBEL_ORIGIN_LEN);
            return true;
        }
    return false;
}

/* Parses one line of the file. Files of earlier versions have fewer. */
static bool parse_local(um_sync_dir *d, const char *line, file_identity *wrote)
{
    uint8_t origin[UMBEL_ORIGIN_LEN];
    char hex[UM_DIGEST_HEX];
    unsigned flag;

    if (sscanf(line, "max_origins %" SCNu32, &d->max_origins) == 1)
        return d->max_origins > 0;
    if (sscanf(line, "strict %u", &flag) == 1) {
        d->strict = flag == 1;
        return flag <= 1;
    }
    if (sscanf(line, "renewed %u", &flag) == 1) {
        d->was_renewed = flag == 1;
        return flag <= 1;
    }
    if (sscanf(line, "conflict %64s", hex) == 1) {
        if (!um_digest_read(hex, origin))
            return false;
        add_conflict(d, origin);
        return true;
    }
    if (sscanf(line, "file %" SCNu64 " %" SCNu64, &wrote->inode,
               &wrote->born) != 2) /* it was killed before it wrote this */
        wrote->born = 0;
    return strncmp(line, "file ", 5) == 0;
}

/* Reads what is there; *copied: it is not the file that we wrote. */
static umbel_status read_local(um_sync_dir *d, bool *found, bool *copied,
                               umbel_error *err)
{
    char file[FILE_LEN], text[LOCAL_LEN], *rest, *line;
    file_identity wrote = {.born = 0}, is;
    FILE *in = fopen(file_in(d->path, "local", file), "r");

    *found = in != NULL;
    *copied = false;
    d->max_origins = UM_SYNC_ORIGINS;
    if (!in)
        return errno == ENOENT ? UMBEL_OK : um_fail_path(err, file);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    line = strtok_r(text, "\n", &rest);
    bool sound = line && strcmp(line, LOCAL_MAGIC) == 0;
    while (sound && (line = strtok_r(NULL, "\n", &rest)))
        sound = parse_local(d, line, &wrote);
    if (!sound)
        return um_fail(err, UMBEL_E_FORMAT, "%s%s/local is damaged",
                       um_path_dots(d->path), um_path_tail(d->path));
    is = identify(file);
    *copied = wrote.born && is.born &&
              (is.inode != wrote.inode || is.born != wrote.born);
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
    um_sync_dir d = {.max_origins = UM_SYNC_ORIGINS};
    memcpy(d.path, path, strlen(path) + 1);
    UM_TRY(write_local(&d, err));
    return write_marker(path, name, now + !now, parameters, err);
}

/* --- opening -------------------------------------------------------------- */

/* The parts of a name copy-ORIGIN-INCARNATION-EPOCH.umb or kept-... A second
 * file that is kept under one name has a number behind it. */
typedef struct replica_name {
    bool kept;
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t incarnation, epoch;
} replica_name;

static bool parse_name(const char *file, replica_name *out)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    char hex[UM_DIGEST_HEX] = "";
    int len = 0;

    out->kept = strncmp(name, "kept-", 5) == 0;
    return (out->kept || strncmp(name, "copy-", 5) == 0) &&
           sscanf(name + 5, "%64[0-9a-f]-%" SCNu64 "-%" SCNu64 ".umb%n", hex,
                  &out->incarnation, &out->epoch, &len) == 3 &&
           len && (out->kept || !name[5 + len]) &&
           um_digest_read(hex, out->origin);
}

/* Returns the oldest epoch that still counts. */
static uint64_t oldest_epoch(const um_sync_parameters *t, uint64_t now)
{
    uint64_t epoch = t->epoch_seconds ? now / t->epoch_seconds : 0;

    return epoch >= t->epochs ? epoch - t->epochs + 1 : 0;
}

/* Lists the files of replicas whose epoch is at least oldest: those in use, or
 * those kept. */
static umbel_status list_files(const char *path, bool kept, uint64_t oldest,
                               um_texts *files, umbel_error *err)
{
    char file[FILE_LEN];
    DIR *dir = opendir(path);
    bool failed = false;
    replica_name name;

    *files = (um_texts){.n = 0};
    if (!dir)
        return um_fail_path(err, path);
    for (const struct dirent *e; !failed && (e = readdir(dir));)
        if (parse_name(e->d_name, &name) && name.kept == kept &&
            name.epoch >= oldest)
            failed = !um_texts_add(files, file_in(path, e->d_name, file));
    closedir(dir);
    if (!failed)
        return UMBEL_OK;
    size_t n = files->n;
    um_texts_fini(files);
    return um_no_memory(err, n);
}

umbel_status um_sync_dir_files(const char *path, uint64_t now, um_texts *files,
                               umbel_error *err)
{
    um_sync_dir d = {.lock = -1};

    if (strlen(path) >= sizeof d.path)
        return um_fail(err, UMBEL_E_RANGE, "the path is too long");
    memcpy(d.path, path, strlen(path) + 1);
    UM_TRY(read_marker(&d, err));
    return list_files(path, false, oldest_epoch(&d.parameters, now), files,
                      err);
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

/* Returns true for a replica of an origin that was dropped or banned. */
static bool is_unwanted(const um_sync_dir *d, const char *file)
{
    replica_name name;

    return parse_name(file, &name) &&
           (um_origin_status_of(d->machine, name.origin) == UM_DROPPED ||
            um_is_contradicted(d->machine, name.origin, name.incarnation));
}

static umbel_status load_replicas(um_sync_dir *d, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    um_texts files;
    umbel_status status = UMBEL_OK;

    source.memory_limit = d->max_memory;
    UM_TRY(list_files(d->path, false, d->machine->list[0].oldest, &files, err));
    for (size_t i = 0; i < files.n && !status; i++) {
        umbel_filter *f;
        if (is_unwanted(d, files.item[i]))
            continue;
        status = umbel_load(files.item[i], &source, &f, err);
        if (status)
            break;
        status = umbel_sync_import(d->machine, f, err);
        umbel_close(f);
        if (status)
            um_name_file(status, files.item[i], err);
    }
    um_texts_fini(&files);
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

static void record_refusal(um_sync_dir *d, const umbel_sync_event *e)
{
    bool banned = e->kind == UMBEL_SYNC_CONTRADICTED;
    um_sync_refusal *all;

    for (size_t i = 0; i < d->nrefusals; i++)
        if (d->refusal[i].banned == banned &&
            memcmp(d->refusal[i].origin, e->origin, UMBEL_ORIGIN_LEN) == 0)
            return;
    all = d->nrefusals < UM_SYNC_MAX_REFUSALS
              ? um_grow_array(d->refusal, &d->nrefusals, sizeof *all)
              : NULL;
    if (!all) {
        d->unrecorded++;
        return;
    }
    d->refusal = all;
    all += d->nrefusals - 1;
    *all = (um_sync_refusal){.banned = banned, .reason = e->reason};
    memcpy(all->origin, e->origin, UMBEL_ORIGIN_LEN);
    snprintf(all->text, sizeof all->text, "%s", e->text ? e->text : "");
    if (!banned && e->reason == UMBEL_SYNC_SHRANK)
        add_conflict(d, e->origin);
}

/* The operator knows of origins that were dropped by a rule or banned before.
 * An epoch that is over for one of two clocks is no fault. */
static bool is_refusal(const um_sync_dir *d, const umbel_sync_event *e)
{
    if (!d->is_open || !e->origin)
        return false;
    if (e->kind != UMBEL_SYNC_REFUSED || e->reason == UMBEL_SYNC_EPOCH ||
        e->reason == UMBEL_SYNC_INCARNATION)
        return e->kind == UMBEL_SYNC_CONTRADICTED;
    for (size_t i = 0; i < d->machine->nrules; i++)
        if (d->machine->rule[i].status == UM_DROPPED &&
            memcmp(d->machine->rule[i].origin, e->origin, UMBEL_ORIGIN_LEN) ==
                0)
            return false;
    return true;
}

static void record_event(void *ctx, const umbel_sync_event *e)
{
    um_sync_dir *d = ctx;

    if (e->kind == UMBEL_SYNC_REFUSED && e->reason == UMBEL_SYNC_SHAPE)
        snprintf(d->differs, sizeof d->differs, "%s", e->text);
    else if (is_refusal(d, e))
        record_refusal(d, e);
    d->renewed |= e->kind == UMBEL_SYNC_RENEWED;
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

/* Without sign_own, only to look at it. */
static umbel_status open_machine(um_sync_dir *d, bool sign_own,
                                 umbel_error *err)
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

    if (sign_own)
        UM_TRY(um_sync_dir_key(d, sign, err));
    p.lists = &list;
    p.nlists = 1;
    p.sign_key = sign_own ? sign : NULL;
    p.incarnation = d->incarnation;
    randombytes_buf(&p.session, sizeof p.session);
    p.session |= 1;
    p.announce = true;
    p.strict = d->strict;
    p.event = record_event;
    p.ctx = d;
    p.limits.memory = UINT64_MAX / 2; /* see um_sync_dir_limit */
    p.limits.origins = UINT32_MAX;
    p.limits.incarnations = UM_SYNC_MAX_FILTERS;
    if (d->parameters.has_server)
        p.limits.message_bytes = SERVER_MESSAGE;
    umbel_status status = umbel_sync_open(&p, &d->machine, err);
    sodium_memzero(sign, sizeof sign);
    return status;
}

/* Lists the origins of files, as hexadecimal texts: of all files in use, or of
 * those that are kept because they were banned. */
static void list_origins(const um_sync_dir *d, bool banned, um_texts *out)
{
    char origin[UM_DIGEST_HEX];
    um_texts files;
    replica_name name;

    *out = (um_texts){.n = 0};
    if (list_files(d->path, banned, 0, &files, NULL))
        return;
    for (size_t i = 0; i < files.n; i++) {
        if (!parse_name(files.item[i], &name) ||
            (banned &&
             !um_is_contradicted(d->machine, name.origin, name.incarnation)))
            continue;
        um_digest_text(name.origin, origin);
        if (!um_texts_has(out, origin))
            um_texts_add(out, origin);
    }
    um_texts_fini(&files);
}

/* Origins with a banned filter that is kept use up the limit: otherwise new
 * ones could fill the disk with such files. */
static uint32_t count_banned(const um_sync_dir *d)
{
    char own[UM_DIGEST_HEX];
    um_texts origins;

    um_digest_text(umbel_sync_origin(d->machine), own);
    list_origins(d, true, &origins);
    uint32_t n = (uint32_t)(origins.n - um_texts_has(&origins, own));
    um_texts_fini(&origins);
    return n;
}

/* What is there already stays, whatever the limits are. */
void um_sync_dir_limit(um_sync_dir *d, uint32_t max_origins)
{
    umbel_sync *s = d->machine;
    uint32_t banned = count_banned(d);

    d->max_origins = max_origins;
    s->limit.origins = max_origins > banned ? max_origins - banned : 1;
    s->limit.memory = SPARE_MEMORY + (uint64_t)max_origins * ORIGIN_FILTERS *
                                         s->list[0].set.epochs *
                                         s->list[0].pages.bytes;
}

size_t um_sync_dir_count_origins(const um_sync_dir *d)
{
    return d->machine->norigins;
}

bool um_sync_dir_has_origin(const um_sync_dir *d,
                            const uint8_t origin[UMBEL_ORIGIN_LEN])
{
    umbel_sync_replica c;

    for (size_t at = 0; umbel_sync_next_replica(d->machine, &at, &c);)
        if (memcmp(c.origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return true;
    return false;
}

/* Directories of earlier versions had no limit. */
static uint32_t limit_of_old(const um_sync_dir *d)
{
    size_t n = d->machine->norder > d->machine->norigins * 2
                   ? d->machine->norder
                   : d->machine->norigins * 2;

    return n <= UM_SYNC_ORIGINS       ? UM_SYNC_ORIGINS
           : n <= UM_SYNC_MAX_ORIGINS ? (uint32_t)n
                                      : UM_SYNC_MAX_ORIGINS;
}

umbel_status um_sync_dir_open(um_sync_dir *d, const char *path, uint64_t now,
                              umbel_error *err)
{
    return um_sync_dir_open_within(d, path, now, 0, err);
}

umbel_status um_sync_dir_open_within(um_sync_dir *d, const char *path,
                                     uint64_t now, uint64_t max_memory,
                                     umbel_error *err)
{
    bool found = false, copied = false;
    umbel_source source = UMBEL_SOURCE_INIT;
    char file[FILE_LEN];
    umbel_status status;

    *d = (um_sync_dir){.lock = -1,
                       .many = MANY_FILTERS,
                       .max_memory = max_memory ? max_memory : MEMORY};
    if (strlen(path) >= sizeof d->path)
        return um_fail(err, UMBEL_E_RANGE, "the path is too long");
    memcpy(d->path, path, strlen(path) + 1);
    if (sodium_init() < 0)
        return um_fail(err, UMBEL_E_IO, "the system gives no random numbers");
    status = um_lock(path, O_RDONLY | O_DIRECTORY, &d->lock, err);
    if (!status)
        status = read_marker(d, err);
    if (!status)
        status = read_local(d, &found, &copied, err);
    if (!status)
        status = umbel_load(file_in(path, "shape.umb", file), &source,
                            &d->shape, err);
    if (!status)
        status = open_machine(d, true, err);
    if (!status)
        umbel_sync_tick(d->machine, now);
    if (!status)
        status = load_state(d, err);
    if (!status)
        status = load_replicas(d, err);
    if (!status)
        status = record_saved(d, err);
    if (status) {
        um_sync_dir_close(d);
        return status;
    }
    um_sync_dir_limit(d, found ? d->max_origins : limit_of_old(d));
    if (copied)
        um_sync_renew(d->machine, -1);
    d->is_open = true;
    return UMBEL_OK;
}

void um_sync_dir_close(um_sync_dir *d)
{
    umbel_sync_close(d->machine);
    umbel_close(d->shape);
    free(d->saved);
    free(d->refusal);
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
        /* A filter with little content takes little space: an origin may have
         * many of them. A full one is mapped, and would hardly get smaller. */
        umbel_set_coded(f, true);
        if (umbel_encoded_len(f) > umbel_raw_len(f) / 2)
            umbel_set_coded(f, false);
        umbel_status status = umbel_save(f, replica_file(d, &c, file), err);
        umbel_close(f);
        UM_TRY(status);
    }
    return UMBEL_OK;
}

/* Renames copy-... to kept-..., with a number if there is one already. */
static umbel_status retain_file(const um_sync_dir *d, const char *file,
                                umbel_error *err)
{
    const char *name = strrchr(file, '/') + 1;
    char kept[FILE_LEN];
    struct stat st;
    int len = snprintf(kept, sizeof kept, "%s/kept-%s", d->path, name + 5);

    for (unsigned i = 2; stat(kept, &st) == 0; i++)
        snprintf(kept + len, sizeof kept - (size_t)len, ".%u", i);
    return rename(file, kept) == 0 ? UMBEL_OK : um_fail_path(err, file);
}

static bool has_replica(const um_sync_dir *d, const replica_name *name)
{
    um_sync_id id = {.incarnation = name->incarnation, .epoch = name->epoch};

    memcpy(id.origin, name->origin, sizeof id.origin);
    return um_replica_find(d->machine, &id, NULL) != NULL;
}

/* Removes the files of replicas that no longer exist: those of an expired
 * epoch, and those of ours that were moved to another incarnation, which has
 * been saved. Files of dropped and banned origins are kept under another
 * name. */
static umbel_status remove_gone(um_sync_dir *d, umbel_error *err)
{
    uint64_t oldest = d->machine->list[0].oldest;
    umbel_status status = UMBEL_OK;
    replica_name name;
    um_texts files;

    UM_TRY(list_files(d->path, false, 0, &files, err));
    for (size_t i = 0; i < files.n && !status; i++) {
        if (!parse_name(files.item[i], &name) || has_replica(d, &name))
            continue;
        if (name.epoch >= oldest && is_unwanted(d, files.item[i]))
            status = retain_file(d, files.item[i], err);
        else
            unlink(files.item[i]);
    }
    um_texts_fini(&files);
    UM_TRY(status);
    UM_TRY(list_files(d->path, true, 0, &files, err));
    for (size_t i = 0; i < files.n; i++)
        if (parse_name(files.item[i], &name) && name.epoch < oldest)
            unlink(files.item[i]);
    um_texts_fini(&files);
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

/*
 * In this order, so that a kill or a full disk at any point loses nothing and
 * leaves nothing that contradicts what others have: the filter of an
 * incarnation that ended is removed when its keys are in another file, and
 * before the new incarnation is the current one.
 */
umbel_status um_sync_dir_save(um_sync_dir *d, umbel_error *err)
{
    uint64_t incarnation = umbel_sync_incarnation(d->machine);

    UM_TRY(save_replicas(d, err));
    UM_TRY(save_state(d, err));
    UM_TRY(remove_gone(d, err));
    if (incarnation != d->incarnation)
        UM_TRY(
            write_marker(d->path, d->name, incarnation, &d->parameters, err));
    d->incarnation = incarnation;
    d->resigned = d->machine->resigned;
    UM_TRY(write_local(d, err));
    return record_saved(d, err);
}

umbel_status um_sync_dir_receive(um_sync_dir *d, int peer, umbel_slice message,
                                 uint64_t now, umbel_error *err)
{
    umbel_status status = umbel_sync_receive(d->machine, peer, message.data,
                                             message.len, now, err);

    if (d->machine->resigned != d->resigned)
        UM_TRY(um_sync_dir_save(d, err));
    return status;
}

/* Records claims about our filters for which the peer sent no proof. */
static void record_disputes(um_sync_dir *d, int peer)
{
    const umbel_sync *s = d->machine;
    const um_peer *p = &s->peer[peer];
    umbel_sync_event e = {.kind = UMBEL_SYNC_REFUSED,
                          .origin = s->origin,
                          .reason = UMBEL_SYNC_DISPUTED};

    for (size_t i = 0; i < s->nreplicas && i < p->nreplicas; i++)
        if (s->replica[i] && p->replica[i].disputed)
            record_refusal(d, &e);
}

static bool same_origin_and_epoch(const um_sync_id *a, const um_sync_id *b)
{
    return a->list == b->list && a->epoch == b->epoch &&
           memcmp(a->origin, b->origin, UMBEL_ORIGIN_LEN) == 0;
}

/* Returns true if an origin has many filters, and a later one than c contains
 * all of c. */
static bool is_joined(const um_sync_dir *d, const um_replica *c)
{
    const umbel_sync *s = d->machine;
    bool joined = false;
    size_t n = 0;

    for (size_t i = 0; i < s->norder; i++)
        n += same_origin_and_epoch(&s->replica[s->order[i]]->id, &c->id);
    for (size_t i = 0; i < s->norder && n > d->many && !joined; i++) {
        const um_replica *o = s->replica[s->order[i]];
        joined = o->id.incarnation > c->id.incarnation &&
                 same_origin_and_epoch(&o->id, &c->id) &&
                 um_replica_contains(s, o, c);
    }
    return joined;
}

/* Counts of different filters are added up, so filters with counts stay. */
static void free_joined(um_sync_dir *d)
{
    umbel_sync *s = d->machine;
    size_t *gone = malloc((s->nreplicas + 1) * sizeof *gone), n = 0;

    for (size_t i = 0; gone && i < s->nreplicas; i++) {
        const um_replica *c = s->replica[i];
        if (c && !c->own && !umbel_count_limit(d->shape) && is_joined(d, c))
            gone[n++] = i;
    }
    while (n)
        um_replica_free(s, gone[--n]);
    free(gone);
}

umbel_status um_sync_dir_end_exchange(um_sync_dir *d, int peer,
                                      umbel_error *err)
{
    record_disputes(d, peer);
    free_joined(d);
    d->exchanged = true;
    if (!d->nrefusals)
        d->nconflicts = 0;
    return um_sync_dir_save(d, err);
}

/* Merges our filters of the current epoch if there are many, and leaves space
 * for as many keys. */
static umbel_status join_own(const um_sync_dir *d, umbel_filter **out,
                             umbel_error *err)
{
    umbel_sync_replica c;
    umbel_filter *f;
    size_t n = 0;

    UM_TRY(umbel_copy(d->shape, &f, err));
    umbel_status status = UMBEL_OK;
    for (size_t at = 0;
         !status && umbel_sync_next_replica(d->machine, &at, &c);)
        if (um_is_our_origin(d->machine, c.origin) &&
            c.epoch == umbel_sync_epoch(d->machine, 0)) {
            status = umbel_merge(f, c.filter, UMBEL_OR, err);
            n++;
        }
    if (!status &&
        (n < d->many || umbel_added(f) > um_shape_of(d->shape)->capacity / 2))
        status = umbel_clear(f, err);
    if (status)
        umbel_close(f);
    else
        *out = f;
    return status;
}

umbel_status um_sync_dir_own(const um_sync_dir *d, umbel_filter **out,
                             umbel_error *err)
{
    umbel_sync_replica c;

    for (size_t at = 0; umbel_sync_next_replica(d->machine, &at, &c);)
        if (c.own && c.epoch == umbel_sync_epoch(d->machine, 0))
            return umbel_copy(c.filter, out, err);
    return umbel_count_limit(d->shape) ? umbel_copy(d->shape, out, err)
                                       : join_own(d, out, err);
}

umbel_status um_sync_dir_publish(um_sync_dir *d, const umbel_filter *f,
                                 umbel_error *err)
{
    return umbel_sync_publish(d->machine, 0, umbel_sync_epoch(d->machine, 0), f,
                              err);
}

umbel_status um_sync_dir_merge(const char *path, uint64_t now,
                               uint64_t max_memory, umbel_filter **out,
                               umbel_error *err)
{
    umbel_sync_replica c;
    umbel_filter *all = NULL;
    um_sync_dir d;

    UM_TRY(um_sync_dir_open_within(&d, path, now, max_memory, err));
    umbel_merge_op op = umbel_count_limit(d.shape) ? UMBEL_ADD : UMBEL_OR;
    umbel_status status = umbel_copy(d.shape, &all, err);
    for (size_t at = 0; !status && umbel_sync_next_replica(d.machine, &at, &c);)
        status = umbel_merge(all, c.filter, op, err);
    um_sync_dir_close(&d);
    if (status)
        umbel_close(all);
    else
        *out = all;
    return um_name_file(status, path, err);
}

/* --- origins that are refused ----------------------------------------------
 */

/* Frees replicas of origins that are dropped now. */
static void forget_unwanted(um_sync_dir *d)
{
    umbel_sync *s = d->machine;

    for (size_t i = 0; i < s->nreplicas; i++)
        if (s->replica[i] &&
            um_origin_status_of(s, s->replica[i]->id.origin) == UM_DROPPED)
            um_replica_free(s, i);
}

/* Uses one file that was kept. */
static umbel_status restore_file(um_sync_dir *d, const char *file,
                                 const replica_name *name, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f;
    umbel_status status;

    source.memory_limit = MEMORY;
    UM_TRY(umbel_load(file, &source, &f, err));
    if (um_is_contradicted(d->machine, name->origin, name->incarnation)) {
        status = umbel_set_data(f, NULL, 0, err);
        if (!status)
            status = um_sync_adopt(d->machine, 0, name->epoch, f, err);
    } else {
        status = umbel_sync_import(d->machine, f, err);
    }
    umbel_close(f);
    return um_name_file(status, file, err);
}

/* Uses the files of an origin that were kept; with banned also those of
 * incarnations that were banned. They are removed when all is saved. */
static umbel_status restore_files(um_sync_dir *d, const uint8_t *origin,
                                  bool banned, size_t *restored,
                                  umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    um_texts files, used = {.n = 0};
    replica_name name;

    *restored = 0;
    UM_TRY(list_files(d->path, true, d->machine->list[0].oldest, &files, err));
    for (size_t i = 0; i < files.n && !status; i++) {
        if (!parse_name(files.item[i], &name) ||
            memcmp(name.origin, origin, UMBEL_ORIGIN_LEN) != 0 ||
            has_replica(d, &name) ||
            (!banned &&
             um_is_contradicted(d->machine, origin, name.incarnation)))
            continue;
        status = restore_file(d, files.item[i], &name, err);
        if (!status && !um_texts_add(&used, files.item[i]))
            status = um_no_memory(err, files.n);
    }
    if (!status)
        status = um_sync_dir_save(d, err);
    for (size_t i = 0; i < used.n && !status; i++)
        unlink(used.item[i]);
    if (!status)
        *restored = used.n;
    um_texts_fini(&used);
    um_texts_fini(&files);
    return status;
}

umbel_status um_sync_dir_allow(um_sync_dir *d,
                               const uint8_t origin[UMBEL_ORIGIN_LEN],
                               umbel_error *err)
{
    size_t n;

    UM_TRY(umbel_sync_allow(d->machine, origin, err));
    d->strict = d->machine->set.strict = true;
    forget_unwanted(d);
    return restore_files(d, origin, false, &n, err);
}

umbel_status um_sync_dir_restore(um_sync_dir *d,
                                 const uint8_t origin[UMBEL_ORIGIN_LEN],
                                 size_t *n, umbel_error *err)
{
    if (um_origin_status_of(d->machine, origin) == UM_DROPPED)
        UM_TRY(umbel_sync_allow(d->machine, origin, err));
    UM_TRY(restore_files(d, origin, true, n, err));
    if (*n || !remove_conflict(d, origin))
        return UMBEL_OK;
    UM_TRY(um_sync_adopt_origin(d->machine, origin, n, err));
    return um_sync_dir_save(d, err);
}

/* Number i of the rules, then of the contradictions; NULL: no drop. */
static const uint8_t *dropped_at(const umbel_sync *s, size_t i)
{
    if (i < s->nrules)
        return s->rule[i].status == UM_DROPPED ? s->rule[i].origin : NULL;
    return s->contradiction[i - s->nrules].id.origin;
}

bool um_sync_dir_next_dropped(const um_sync_dir *d, size_t *at,
                              uint8_t out[UMBEL_ORIGIN_LEN])
{
    const umbel_sync *s = d->machine;

    while (*at < s->nrules + s->ncontradictions) {
        const uint8_t *origin = dropped_at(s, *at), *other;
        bool is_new = origin != NULL;
        for (size_t i = 0; i < *at && is_new; i++) {
            other = dropped_at(s, i);
            is_new = !other || memcmp(other, origin, UMBEL_ORIGIN_LEN) != 0;
        }
        ++*at;
        if (!is_new)
            continue;
        memcpy(out, origin, UMBEL_ORIGIN_LEN);
        return true;
    }
    return false;
}

size_t um_sync_dir_count_refused(const um_sync_dir *d, int peer)
{
    const umbel_sync *s = d->machine;
    const um_peer *p = &s->peer[peer];
    size_t n = 0;

    for (size_t i = 0; i < s->nreplicas && i < p->nreplicas; i++) {
        const um_replica *c = s->replica[i];
        if (c && um_peer_has_list(p, c) &&
            p->replica[i].acked < c->now.version &&
            (p->replica[i].refused >= c->now.version ||
             (c->own && !um_peer_wants(p, c->id.origin))))
            n++;
    }
    return n;
}

size_t um_sync_dir_count_kept(const um_sync_dir *d)
{
    um_texts files;

    if (list_files(d->path, true, 0, &files, NULL))
        return 0;
    size_t n = files.n;
    um_texts_fini(&files);
    return n;
}

umbel_status um_sync_dir_count_missing(const char *path, size_t *n,
                                       umbel_error *err)
{
    um_sync_dir d = {.lock = -1};
    umbel_source source = UMBEL_SOURCE_INIT;
    char file[FILE_LEN];

    *n = 0;
    if (strlen(path) >= sizeof d.path)
        return um_fail(err, UMBEL_E_RANGE, "the path is too long");
    memcpy(d.path, path, strlen(path) + 1);
    if (!um_sync_dir_count_kept(&d)) /* as a rule */
        return UMBEL_OK;
    umbel_status status = read_marker(&d, err);
    if (!status)
        status = umbel_load(file_in(path, "shape.umb", file), &source, &d.shape,
                            err);
    if (!status)
        status = open_machine(&d, false, err);
    if (!status)
        status = load_state(&d, err);
    if (!status) {
        um_texts banned, used;
        list_origins(&d, true, &banned);
        list_origins(&d, false, &used);
        for (size_t i = 0; i < banned.n; i++)
            *n += !um_texts_has(&used, banned.item[i]);
        um_texts_fini(&banned);
        um_texts_fini(&used);
    }
    um_sync_dir_close(&d);
    return status;
}
