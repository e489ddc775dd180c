/*
 * files.c - reads filters from files, and writes files atomically.
 */
#include "cli/commands/files.h"

#include "base/error.h"
#include "base/text.h"
#include "filter/save.h"
#include "keylist/sniff.h"
#include "sync/directory.h"
#include "trust/key_file.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static umbel_status check_dir_options(const um_open_args *open,
                                      const char *path, umbel_error *err)
{
    if (!open->no_checksum)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "%s%s has signed filters, which are always checked: leave "
                   "out --no-checksum",
                   um_path_dots(path), um_path_tail(path));
}

umbel_status um_open_dir(const um_open_args *open, const char *path,
                         um_sync_dir *out, umbel_error *err)
{
    UM_TRY(check_dir_options(open, path, err));
    return um_sync_dir_open_within(out, path, (uint64_t)time(NULL),
                                   open->max_memory.n, err);
}

/* A directory of 'umbel sync' is the filters of all its origins, merged. */
static umbel_status read_directory(const um_open_args *open, const char *path,
                                   const uint8_t *secret, umbel_filter **out,
                                   umbel_error *err)
{
    umbel_filter *f;

    UM_TRY(check_dir_options(open, path, err));
    UM_TRY(um_sync_dir_merge(path, (uint64_t)time(NULL), open->max_memory.n, &f,
                             err));
    umbel_status status = secret ? umbel_unlock(f, secret, err) : UMBEL_OK;
    if (status)
        umbel_close(f);
    else
        *out = f;
    return status;
}

static umbel_status read_filter(const um_open_args *open, const char *path,
                                bool map, const uint8_t *secret,
                                umbel_filter **out, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    struct stat st;

    source.verify = !open->no_checksum;
    source.secret = secret;
    source.memory_limit = open->max_memory.n;
    if (strcmp(path, "-") == 0)
        return umbel_read(STDIN_FILENO, UMBEL_TO_END, &source, out, err);
    if (um_is_sync_dir(path))
        return read_directory(open, path, secret, out, err);
    if (map && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        return umbel_map(path, &source, out, err);
    return umbel_load(path, &source, out, err);
}

static umbel_status unlock_and_read(const um_open_args *open, const char *path,
                                    bool map, umbel_filter **out,
                                    umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];

    if (open->key_file)
        UM_TRY(um_secret_load(open->key_file, secret, err));
    umbel_status status =
        read_filter(open, path, map, open->key_file ? secret : NULL, out, err);
    sodium_memzero(secret, sizeof secret);
    if (status == UMBEL_E_FORMAT)
        um_explain_not_filter(path, err);
    return status;
}

umbel_status um_open_filter(const um_open_args *open, const char *path,
                            umbel_filter **out, umbel_error *err)
{
    return unlock_and_read(open, path, true, out, err);
}

umbel_status um_load_filter(const um_open_args *open, const char *path,
                            umbel_filter **out, umbel_error *err)
{
    return unlock_and_read(open, path, false, out, err);
}

umbel_status um_unlock_filter(const um_open_args *open, umbel_filter *f,
                              umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];

    if (!open->key_file)
        return UMBEL_OK;
    UM_TRY(um_secret_load(open->key_file, secret, err));
    umbel_status status = umbel_unlock(f, secret, err);
    sodium_memzero(secret, sizeof secret);
    return status;
}

static bool is_locked(const umbel_filter *f)
{
    return umbel_digest_many(f, NULL, 0, NULL, NULL) == UMBEL_E_SECRET;
}

/* Sets the secret of a second filter: its own or else that of the first
 * filter. */
static umbel_status unlock_second(const char *own, const char *first,
                                  const char *option, umbel_filter *f,
                                  umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    const char *path = own ? own : first;
    umbel_error refusal;
    umbel_status status = UMBEL_OK;

    if (path && (own || is_locked(f))) {
        UM_TRY(um_secret_load(path, secret, err));
        status = umbel_unlock(f, secret, &refusal);
        sodium_memzero(secret, sizeof secret);
    }
    if (status != UMBEL_OK)
        return um_fail(err, status, "--%s: %s", option, refusal.text);
    return UMBEL_OK;
}

umbel_status um_open_second(const um_open_args *first, const char *path,
                            const char *key_file, const char *option,
                            umbel_filter **out, umbel_error *err)
{
    umbel_filter *f;

    umbel_status status = read_filter(first, path, true, NULL, &f, err);
    if (status == UMBEL_E_FORMAT)
        um_explain_not_filter(path, err);
    UM_TRY(status);
    status = unlock_second(key_file, first->key_file, option, f, err);
    if (status == UMBEL_OK && is_locked(f))
        status = um_fail(err, UMBEL_E_SECRET,
                         "%s%s is keyed: give its secret with --%s FILE",
                         um_path_dots(path), um_path_tail(path), option);
    if (status == UMBEL_OK)
        *out = f;
    else
        umbel_close(f);
    return status;
}

void um_warn_renewed(const um_args *args, const um_sync_dir *d, bool exchange)
{
    const char *dots = um_path_dots(d->path), *tail = um_path_tail(d->path);

    for (size_t i = 0; i < d->nrefusals; i++) /* that warning says more */
        if (d->refusal[i].banned &&
            memcmp(d->refusal[i].origin, umbel_sync_origin(d->machine),
                   UMBEL_ORIGIN_LEN) == 0)
            return;
    if (!d->renewed)
        return;
    if (exchange)
        um_warn(args,
                "%s%s was copied or restored from a backup: it continues with "
                "a new filter beside the old one; no key is lost. To receive "
                "what it lacks: umbel sync %s%s TARGET",
                dots, tail, dots, tail);
    else
        um_warn(args,
                "%s%s was copied or restored from a backup: it continues with "
                "a new filter beside the old one; no key is lost, and there is "
                "nothing to do",
                dots, tail);
}

umbel_status um_check_pipe(umbel_error *err)
{
    if (isatty(STDOUT_FILENO))
        return um_fail(err, UMBEL_E_IO,
                       "a filter is not text for a terminal: use -o FILE");
    fflush(stdout);
    return UMBEL_OK;
}

umbel_status um_save_filter(const umbel_filter *f, const char *path,
                            umbel_error *err)
{
    if (strcmp(path, "-") != 0)
        return umbel_save(f, path, err);
    UM_TRY(um_check_pipe(err));
    return umbel_write(f, STDOUT_FILENO, err);
}

umbel_status um_save_bytes(const void *bytes, size_t len, const char *path,
                           umbel_error *err)
{
    umbel_slice part = {bytes, len};

    if (strcmp(path, "-") != 0)
        return um_save_parts(&part, 1, path, err);
    UM_TRY(um_check_pipe(err));
    return um_write_parts(STDOUT_FILENO, &part, 1, err);
}

FILE *um_draft_open(um_draft *t, umbel_error *err)
{
    *t = (um_draft){0};
    t->out = open_memstream(&t->bytes, &t->len);
    if (!t->out)
        um_set_errno(err, "no memory for a text");
    return t->out;
}

umbel_status um_draft_save(um_draft *t, const char *path, umbel_error *err)
{
    bool failed = ferror(t->out);
    umbel_status status = UMBEL_OK;

    if (fclose(t->out) != 0 || failed)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for a text");
    umbel_slice text = {t->bytes, t->len};
    if (status == UMBEL_OK)
        status = strcmp(path, "-") == 0
                     ? um_write_parts(STDOUT_FILENO, &text, 1, err)
                     : um_save_parts(&text, 1, path, err);
    free(t->bytes);
    return status;
}
