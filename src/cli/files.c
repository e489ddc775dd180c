/*
 * files.c - filters and parameters from a command line.
 */
#include "cli/files.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/sniff.h"
#include "exchange/key_file.h"
#include "filter/save.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const um_option um_secret_options[] = {
    {"key-file", 0, "FILE", "secret of a keyed filter (umbel keygen)"}, {0}};

#define MAX_MEMORY                                                             \
    {                                                                          \
        "max-memory", 0, "N", "bytes that a coded filter may take (256MiB)"    \
    }

const um_option um_memory_options[] = {MAX_MEMORY, {0}};

const um_option um_filter_options[] = {
    {"key-file", 0, "FILE", "secret of a keyed filter (umbel keygen)"},
    {"no-checksum", 0, NULL, "do not check the filter's payload first"},
    MAX_MEMORY,
    {0}};

const um_option um_shape_options[] = {
    {"kind", 0, "K", "kind of filter (default bloom)"},
    {"addressing", 0, "A", "which cells a key owns (default blocked512)"},
    {"hash", 0, "H", "hash family (default xxh3)"},
    {"seed", 0, "S", "another seed, other false positives (default 0)"},
    {"fpr", 0, "P", "error asked for: 0.001 or 0.1% (the default)"},
    {"bits", 0, "M", "size in bits instead"},
    {"cells", 0, "M", "the same, for cells that are not bits"},
    {"hashes", 0, "K", "cells a key (default: the best)"},
    {"groups", 0, "D", "digests a key may go by, 1 to 8 (default 1)"},
    {"cell-bits", 0, "W", "bits a cell: counting 2-32 (4), countmin 32 or 64"},
    {"update", 0, "U", "counting: plain (default), or refined"},
    {"reset", 0, "K0", "generalized: functions that clear a cell (default 2)"},
    {"fill", 0, "P0", "... share of ones before the first key (default 0)"},
    {"set", 0, "NAME=N",
     "a setting of the kind's own; a number alone, generalized: functions that "
     "set a cell (default 2)"},
    {0}};

static umbel_status take_setting(um_filter_args *out, const char *text,
                                 umbel_error *err)
{
    size_t i = out->params.nsettings;
    const char *equals = strchr(text, '='), *name = text, *digits = text;
    size_t len = 3;
    char *end;

    if (i == UM_MAX_SET)
        return um_fail(err, UMBEL_E_RANGE, "too many --set");
    if (equals) {
        len = (size_t)(equals - text);
        digits = equals + 1;
    } else {
        name = "set"; /* a number alone is the setting of that name */
    }
    errno = 0;
    uint64_t value = strtoull(digits, &end, 10);
    if (errno || *end || *digits < '0' || *digits > '9' || len == 0 ||
        len >= sizeof out->names[i])
        return um_fail(err, UMBEL_E_RANGE,
                       "--set wants NAME=NUMBER or a number, got %s", text);
    memcpy(out->names[i], name, len);
    out->settings[i] = (umbel_setting){out->names[i], value};
    out->params.nsettings++;
    return UMBEL_OK;
}

static umbel_status take_groups(const um_args *args, um_filter_args *out,
                                umbel_error *err)
{
    uint64_t groups;
    umbel_status status = um_value_count(args, "groups", &groups, err);

    if (status == UMBEL_OK && um_has(args, "groups"))
        out->settings[out->params.nsettings++] =
            (umbel_setting){"groups", groups};
    return status;
}

static umbel_status take_counting(const um_args *args, um_filter_args *out,
                                  umbel_error *err)
{
    static const char *const updates[] = {"plain", "refined"};
    const char *update = um_value(args, "update");
    umbel_setting *next = &out->settings[out->params.nsettings];
    uint64_t bits, i = 0;
    umbel_status status = um_value_count(args, "cell-bits", &bits, err);

    if (status == UMBEL_OK && um_has(args, "cell-bits"))
        *next++ = (umbel_setting){"cell_bits", bits};
    while (update && i < UM_COUNT(updates) && strcmp(update, updates[i]) != 0)
        i++;
    if (status == UMBEL_OK && i == UM_COUNT(updates))
        return um_fail(err, UMBEL_E_RANGE,
                       "--update is plain or refined, got \"%s\"", update);
    if (update)
        *next++ = (umbel_setting){"update", i};
    out->params.nsettings = (size_t)(next - out->settings);
    return status;
}

/* Shares of the command line are billionths in the library. */
static umbel_status take_generalized(const um_args *args, um_filter_args *out,
                                     umbel_error *err)
{
    umbel_setting *next = &out->settings[out->params.nsettings];
    uint64_t reset;
    double fill = 0;
    umbel_status status = um_value_count(args, "reset", &reset, err);

    if (status == UMBEL_OK)
        status = um_value_real(args, "fill", 0, 1, &fill, err);
    if (status == UMBEL_OK && um_has(args, "reset"))
        *next++ = (umbel_setting){"reset", reset};
    if (status == UMBEL_OK && um_has(args, "fill"))
        *next++ = (umbel_setting){"start", (uint64_t)(fill * 1e9 + 0.5)};
    out->params.nsettings = (size_t)(next - out->settings);
    return status;
}

static umbel_status take_settings(const um_args *args, um_filter_args *out,
                                  umbel_error *err)
{
    const char *text;

    out->params.settings = out->settings;
    umbel_status status = take_groups(args, out, err);
    if (status == UMBEL_OK)
        status = take_counting(args, out, err);
    if (status == UMBEL_OK)
        status = take_generalized(args, out, err);
    for (size_t i = 0;
         status == UMBEL_OK && (text = um_value_at(args, "set", i)); i++)
        status = take_setting(out, text, err);
    return status;
}

const char *um_size_option(const um_args *args)
{
    return um_has(args, "cells") ? "cells" : "bits";
}

static umbel_status take_numbers(const um_args *args, umbel_params *p,
                                 umbel_error *err)
{
    uint64_t hashes = 0;
    const char *size = um_size_option(args);
    umbel_status status = um_value_count(args, "seed", &p->seed, err);

    if (status == UMBEL_OK)
        status = um_value_share(args, "fpr", &p->fpr, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, size, &p->cells, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "hashes", &hashes, err);
    if (status != UMBEL_OK)
        return status;
    if (um_has(args, size) && p->cells == 0)
        return um_fail(err, UMBEL_E_RANGE, "--%s must be at least 1", size);
    if (um_has(args, "bits") && um_has(args, "cells"))
        return um_fail(err, UMBEL_E_RANGE,
                       "--cells and --bits are the same: give one");
    if (um_has(args, "hashes") && (hashes == 0 || hashes > 64))
        return um_fail(err, UMBEL_E_RANGE, "--hashes must be 1..64, got %s",
                       um_value(args, "hashes"));
    p->hashes = (uint32_t)hashes;
    return UMBEL_OK;
}

umbel_status um_ask(const um_args *args, um_filter_args *out, umbel_error *err)
{
    bool secret;

    *out = (um_filter_args){.kind = um_value(args, "kind")};
    out->params = (umbel_params)UMBEL_PARAMS_INIT;
    out->params.addressing = um_value(args, "addressing");
    out->params.hash = um_value(args, "hash");
    umbel_status status = take_numbers(args, &out->params, err);
    if (status == UMBEL_OK)
        status = take_settings(args, out, err);
    if (status == UMBEL_OK)
        status = um_read_secret(args, out->secret, &secret, err);
    if (status == UMBEL_OK && secret)
        out->params.secret = out->secret;
    return status;
}

umbel_status um_read_secret(const um_args *args, uint8_t *secret, bool *given,
                            umbel_error *err)
{
    return um_read_secret_of(args, "key-file", secret, given, err);
}

umbel_status um_read_secret_of(const um_args *args, const char *option,
                               uint8_t *secret, bool *given, umbel_error *err)
{
    const char *path = um_value(args, option);

    *given = path != NULL;
    return path ? um_secret_load(path, secret, err) : UMBEL_OK;
}

static umbel_status read_filter(const um_args *args, const char *path, bool map,
                                const uint8_t *secret, umbel_filter **out,
                                umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    struct stat st;

    source.verify = !um_has(args, "no-checksum");
    source.secret = secret;
    umbel_status status =
        um_value_count(args, "max-memory", &source.memory_limit, err);
    if (status != UMBEL_OK)
        return status;
    if (strcmp(path, "-") == 0)
        return umbel_read(STDIN_FILENO, &source, out, err);
    if (map && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        return umbel_map(path, &source, out, err);
    return umbel_load(path, &source, out, err);
}

/* The library knows neither commands nor options. */
const char *um_memory_advice(const char *said)
{
    return strstr(said, "the limit is")
               ? ": allow more by --max-memory, if you trust it"
               : "";
}

static void advise(const char *path, umbel_status status, umbel_error *err)
{
    umbel_error said = *err;

    if (status == UMBEL_E_FORMAT)
        um_sniff_filter(path, err);
    if (status == UMBEL_E_LIMIT)
        um_set_error(err, status, "%.180s%s", said.text,
                     um_memory_advice(said.text));
}

static umbel_status unlock_and_read(const um_args *args, const char *path,
                                    bool map, umbel_filter **out,
                                    umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    bool given;

    umbel_status status = um_read_secret(args, secret, &given, err);
    if (status == UMBEL_OK)
        status = read_filter(args, path, map, given ? secret : NULL, out, err);
    sodium_memzero(secret, sizeof secret);
    if (status != UMBEL_OK)
        advise(path, status, err);
    return status;
}

umbel_status um_open_filter(const um_args *args, const char *path,
                            umbel_filter **out, umbel_error *err)
{
    return unlock_and_read(args, path, true, out, err);
}

umbel_status um_load_filter(const um_args *args, const char *path,
                            umbel_filter **out, umbel_error *err)
{
    return unlock_and_read(args, path, false, out, err);
}

static bool is_locked(const umbel_filter *f)
{
    return umbel_digest_many(f, NULL, 0, NULL, NULL) == UMBEL_E_SECRET;
}

/* With its own secret, or else with that of the first filter. */
static umbel_status unlock_second(const um_args *args, const char *option,
                                  umbel_filter *f, umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    const char *from = um_has(args, option) ? option : "key-file";
    umbel_error refusal = {.status = UMBEL_OK};
    bool given, own = from == option;

    umbel_status status = um_read_secret_of(args, from, secret, &given, err);
    if (status == UMBEL_OK && given && (own || is_locked(f)))
        status = umbel_unlock(f, secret, &refusal);
    if (status != UMBEL_OK && refusal.text[0])
        um_set_error(err, status, "--%s: %s", option, refusal.text);
    sodium_memzero(secret, sizeof secret);
    return status;
}

umbel_status um_open_second(const um_args *args, const char *path,
                            const char *secret_option, umbel_filter **out,
                            umbel_error *err)
{
    umbel_filter *f;
    umbel_status status = read_filter(args, path, true, NULL, &f, err);

    if (status != UMBEL_OK)
        return status;
    status = unlock_second(args, secret_option, f, err);
    if (status == UMBEL_OK && is_locked(f))
        status = um_fail(err, UMBEL_E_SECRET,
                         "%s%s is keyed: give its secret with --%s FILE",
                         um_path_dots(path), um_path_tail(path), secret_option);
    if (status == UMBEL_OK)
        *out = f;
    else
        umbel_close(f);
    return status;
}

umbel_status um_check_pipe(umbel_error *err)
{
    if (isatty(STDOUT_FILENO))
        return um_fail(err, UMBEL_E_IO,
                       "this is no text for a terminal: use -o FILE");
    fflush(stdout);
    return UMBEL_OK;
}

umbel_status um_save_filter(const umbel_filter *f, const char *path,
                            umbel_error *err)
{
    if (strcmp(path, "-") != 0)
        return umbel_save(f, path, err);
    umbel_status status = um_check_pipe(err);
    return status == UMBEL_OK ? umbel_write(f, STDOUT_FILENO, err) : status;
}

umbel_status um_save_bytes(const void *bytes, size_t len, const char *path,
                           umbel_error *err)
{
    umbel_slice part = {bytes, len};

    if (strcmp(path, "-") != 0)
        return um_save_parts(&part, 1, path, err);
    umbel_status status = um_check_pipe(err);
    return status == UMBEL_OK ? um_write_parts(STDOUT_FILENO, &part, 1, err)
                              : status;
}

void um_forget(um_filter_args *asked)
{
    sodium_memzero(asked->secret, sizeof asked->secret);
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
        status = um_save_parts(&text, 1, path, err);
    free(t->bytes);
    return status;
}

size_t um_stdin_among(const char *const *paths, size_t n)
{
    size_t uses = 0;

    for (size_t i = 0; i < n; i++)
        uses += paths[i] && strcmp(paths[i], "-") == 0;
    return uses;
}

size_t um_stdin_uses(const um_args *args, const char *option)
{
    size_t uses = 0;
    const char *path;

    for (size_t i = 0; (path = um_value_at(args, option, i)); i++)
        uses += um_stdin_among(&path, 1);
    return uses;
}

umbel_status um_refuse_overwrite(const char *path, const char *input,
                                 umbel_error *err)
{
    struct stat a, b;

    if (strcmp(path, "-") == 0 || stat(path, &a) != 0 || stat(input, &b) != 0 ||
        !S_ISREG(a.st_mode) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO, "%s%s is also read: write somewhere else",
                   um_path_dots(path), um_path_tail(path));
}

FILE *um_report_to(const um_args *args)
{
    const char *path = um_value(args, "output");
    return path && strcmp(path, "-") == 0 ? stderr : stdout;
}
