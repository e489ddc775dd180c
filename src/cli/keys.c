/*
 * keys.c - from bytes of files to keys.
 *
 * One buffer takes what read() gives; keys are slices of it, and only the piece
 * of a line that a read cut off is ever moved. Empty lines are no keys. Lines
 * lose a carriage return at their end, records of -0 lose nothing.
 */
#include "cli/keys.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 2 * UM_MAX_KEY_LEN, BATCH = 4096 };

const um_option um_keys_options[] = {
    {"null", '0', NULL, "keys end with a NUL byte, not a newline"},
    {"hex", 0, NULL, "keys are written in hexadecimal"},
    {"field", 0, "N", "the key is the N-th field of the line"},
    {"delimiter", 0, "C", "what stands between fields (default: a tab)"},
    {0}};

struct um_keys {
    const char *const *paths;
    size_t npaths, at;
    int fd;    /* -1: none open */
    bool ours; /* fd: not standard input */
    const char *name;
    uint64_t line; /* number of the last one taken from this file */
    char end, delimiter;
    bool hex;
    uint64_t field; /* 0: the whole line */
    um_progress *progress;

    uint8_t *buffer, *decoded;
    size_t start, stop; /* what is not used up yet */
    size_t decoded_len;
    umbel_slice keys[BATCH], lines[BATCH];
};

static umbel_status parse_delimiter(const um_args *args, char *out,
                                    umbel_error *err)
{
    const char *text = um_value(args, "delimiter");

    *out = '\t';
    if (!text || strcmp(text, "\\t") == 0)
        return UMBEL_OK;
    if (strlen(text) != 1)
        return um_fail(err, UMBEL_E_RANGE,
                       "--delimiter wants one character, or \\t, got \"%s\"",
                       text);
    *out = *text;
    return UMBEL_OK;
}

umbel_status um_keys_open(const um_args *args, const char *const *paths,
                          size_t npaths, um_keys **out, umbel_error *err)
{
    static const char *const only_stdin[] = {"-"};
    um_keys *k = calloc(1, sizeof *k);

    if (!k || !(k->buffer = malloc(BUFFER)) || !(k->decoded = malloc(BUFFER))) {
        um_keys_close(k);
        return um_fail(err, UMBEL_E_NOMEM, "no memory to read keys");
    }
    k->paths = npaths ? paths : only_stdin;
    k->npaths = npaths ? npaths : 1;
    k->fd = -1;
    k->end = um_has(args, "null") ? '\0' : '\n';
    k->hex = um_has(args, "hex");
    umbel_status status = parse_delimiter(args, &k->delimiter, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "field", &k->field, err);
    if (status == UMBEL_OK && um_has(args, "field") && k->field == 0)
        status = um_fail(err, UMBEL_E_RANGE, "--field counts from 1");
    if (status != UMBEL_OK) {
        um_keys_close(k);
        return status;
    }
    k->progress = um_progress_open(args, k->paths, k->npaths);
    *out = k;
    return UMBEL_OK;
}

void um_keys_close(um_keys *k)
{
    if (!k)
        return;
    if (k->fd >= 0 && k->ours)
        close(k->fd);
    um_progress_close(k->progress);
    free(k->buffer);
    free(k->decoded);
    free(k);
}

bool um_keys_again(const char *const *paths, size_t npaths)
{
    struct stat st;

    for (size_t i = 0; i < npaths; i++)
        if (strcmp(paths[i], "-") == 0 ||
            (stat(paths[i], &st) == 0 && !S_ISREG(st.st_mode)))
            return false;
    return npaths > 0;
}

static umbel_status open_next(um_keys *k, umbel_error *err)
{
    k->name = k->paths[k->at++];
    k->line = 0;
    k->fd = STDIN_FILENO;
    k->ours = false;
    if (strcmp(k->name, "-") == 0) {
        k->name = "standard input";
        return UMBEL_OK;
    }
    k->fd = open(k->name, O_RDONLY | O_CLOEXEC);
    if (k->fd < 0)
        return um_fail_path(err, k->name);
    k->ours = true;
    posix_fadvise(k->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return UMBEL_OK;
}

static umbel_status bad_line(const um_keys *k, const char *what,
                             umbel_error *err)
{
    return um_fail(err, UMBEL_E_KEY, "%s%s, line %" PRIu64 ": %s",
                   um_path_dots(k->name), um_path_tail(k->name), k->line, what);
}

static umbel_status take_field(const um_keys *k, umbel_slice *key,
                               umbel_error *err)
{
    const char *at = key->data, *end = at + key->len;

    for (uint64_t i = 1;; i++) {
        const char *stop = memchr(at, k->delimiter, (size_t)(end - at));
        if (i == k->field) {
            *key = (umbel_slice){at, (size_t)((stop ? stop : end) - at)};
            return UMBEL_OK;
        }
        if (!stop)
            return bad_line(k,
                            "it has fewer fields than --field asks for (what "
                            "stands between them: --delimiter, default a tab)",
                            err);
        at = stop + 1;
    }
}

static int nibble(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool um_decode_hex(const void *text, size_t len, uint8_t *out)
{
    const uint8_t *digits = text;

    for (size_t i = 0; i < len / 2; i++) {
        int high = nibble(digits[2 * i]), low = nibble(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return len % 2 == 0;
}

static umbel_status take_hex(um_keys *k, umbel_slice *key, umbel_error *err)
{
    uint8_t *out = k->decoded + k->decoded_len;
    size_t len = key->len / 2;

    if (key->len % 2)
        return bad_line(k, "an odd number of hexadecimal digits", err);
    if (!um_decode_hex(key->data, key->len, out))
        return bad_line(k, "not hexadecimal", err);
    k->decoded_len += len;
    *key = (umbel_slice){out, len};
    return UMBEL_OK;
}

/* One line into slot n, unless it is empty. */
static umbel_status take_line(um_keys *k, const uint8_t *at, size_t len,
                              size_t *n, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    k->line++;
    if (k->end == '\n' && len && at[len - 1] == '\r')
        len--;
    if (len > UM_MAX_KEY_LEN)
        return bad_line(k, "longer than 1 MiB, which no key may be", err);
    if (len == 0)
        return UMBEL_OK;
    umbel_slice key = {at, len};
    k->lines[*n] = key;
    if (k->field)
        status = take_field(k, &key, err);
    if (status == UMBEL_OK && k->hex)
        status = take_hex(k, &key, err);
    if (status == UMBEL_OK && key.len)
        k->keys[(*n)++] = key;
    return status;
}

/* All complete lines of the buffer, until the batch is full. */
static umbel_status split(um_keys *k, size_t *n, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    while (*n < BATCH && status == UMBEL_OK) {
        const uint8_t *at = k->buffer + k->start;
        const uint8_t *end = memchr(at, k->end, k->stop - k->start);
        if (!end)
            break;
        status = take_line(k, at, (size_t)(end - at), n, err);
        k->start += (size_t)(end - at) + 1;
    }
    return status;
}

/* More bytes behind those left; *more is false at the end of the file. */
static umbel_status refill(um_keys *k, bool *more, umbel_error *err)
{
    memmove(k->buffer, k->buffer + k->start, k->stop - k->start);
    k->stop -= k->start;
    k->start = 0;
    if (k->stop == BUFFER) {
        k->line++;
        return bad_line(k, "longer than 1 MiB, which no key may be", err);
    }
    ssize_t got;
    do
        got = read(k->fd, k->buffer + k->stop, BUFFER - k->stop);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return um_fail_path(err, k->name);
    *more = got > 0;
    k->stop += (size_t)got;
    um_progress_tell(k->progress, (uint64_t)got);
    return UMBEL_OK;
}

/* The last line may lack its end. */
static umbel_status finish_file(um_keys *k, size_t *n, umbel_error *err)
{
    size_t len = k->stop - k->start;
    const uint8_t *at = k->buffer + k->start;

    k->start = k->stop;
    if (k->ours)
        close(k->fd);
    k->fd = -1;
    return len ? take_line(k, at, len, n, err) : UMBEL_OK;
}

umbel_status um_keys_next(um_keys *k, um_batch *out, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    size_t n = 0;
    bool more;

    k->decoded_len = 0;
    while (status == UMBEL_OK && n == 0) {
        if (k->fd < 0 && k->at == k->npaths)
            break;
        if (k->fd < 0)
            status = open_next(k, err);
        if (status == UMBEL_OK)
            status = split(k, &n, err);
        if (status != UMBEL_OK || n)
            break;
        status = refill(k, &more, err);
        if (status == UMBEL_OK && !more)
            status = finish_file(k, &n, err);
    }
    *out = (um_batch){n, k->keys, k->lines};
    return status;
}

umbel_status um_each_batch(const um_args *args, const char *const *paths,
                           size_t npaths, um_take_batch *take, void *ctx,
                           const bool *stop, umbel_error *err)
{
    um_keys *keys;
    um_batch batch;
    umbel_status status = um_keys_open(args, paths, npaths, &keys, err);

    if (status != UMBEL_OK)
        return status;
    do {
        status = um_keys_next(keys, &batch, err);
        if (status == UMBEL_OK && batch.n)
            status = take(ctx, &batch, err);
    } while (status == UMBEL_OK && batch.n && !(stop && *stop));
    um_keys_close(keys);
    return status;
}

static umbel_status count_batch(void *ctx, const um_batch *batch,
                                umbel_error *err)
{
    (void)err;
    *(uint64_t *)ctx += batch->n;
    return UMBEL_OK;
}

/*
 * Ends of lines that hold something, where two bytes stand before p. No branch,
 * so that compilers make vectors of it.
 */
static uint64_t count_ends(const uint8_t *p, size_t len)
{
    uint64_t n = 0;

    for (size_t i = 0; i < len; i++) {
        bool empty =
            (p[i - 1] == '\n') | ((p[i - 1] == '\r') & (p[i - 2] == '\n'));
        n += (p[i] == '\n') & !empty;
    }
    return n;
}

static umbel_status count_file(um_keys *k, uint64_t *n, umbel_error *err)
{
    uint8_t *start = k->buffer + 2;
    ssize_t got;

    start[-1] = start[-2] = '\n';
    while ((got = read(k->fd, start, BUFFER - 2)) != 0) {
        if (got < 0 && errno != EINTR)
            return um_fail_path(err, k->name);
        if (got < 0)
            continue;
        *n += count_ends(start, (size_t)got);
        uint8_t last[2] = {start[got - 2], start[got - 1]};
        memcpy(k->buffer, last, 2);
        um_progress_tell(k->progress, (uint64_t)got);
    }
    start[0] = '\n'; /* the last line may lack its end */
    *n += count_ends(start, 1);
    return UMBEL_OK;
}

static umbel_status count_lines(um_keys *k, uint64_t *n, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    while (status == UMBEL_OK && k->at < k->npaths) {
        status = open_next(k, err);
        if (status == UMBEL_OK)
            status = count_file(k, n, err);
        if (status == UMBEL_OK && k->ours)
            close(k->fd);
        if (status == UMBEL_OK)
            k->fd = -1;
    }
    return status;
}

umbel_status um_count_all(const um_args *args, const char *const *paths,
                          size_t npaths, uint64_t *n, umbel_error *err)
{
    bool plain =
        !um_has(args, "null") && !um_has(args, "hex") && !um_has(args, "field");
    um_keys *k;

    if (!plain)
        return um_each_batch(args, paths, npaths, count_batch, n, NULL, err);
    umbel_status status = um_keys_open(args, paths, npaths, &k, err);
    if (status != UMBEL_OK)
        return status;
    status = count_lines(k, n, err);
    um_keys_close(k);
    return status;
}

typedef struct adding {
    umbel_filter *filter;
    uint64_t n;
} adding;

static umbel_status add_batch(void *ctx, const um_batch *batch,
                              umbel_error *err)
{
    adding *a = ctx;

    a->n += batch->n;
    return umbel_add_many(a->filter, batch->keys, batch->n, NULL, err);
}

umbel_status um_add_all(const um_args *args, const char *const *paths,
                        size_t npaths, umbel_filter *f, uint64_t *n,
                        umbel_error *err)
{
    adding a = {.filter = f};
    umbel_status status =
        um_each_batch(args, paths, npaths, add_batch, &a, NULL, err);

    *n = a.n;
    return status;
}
