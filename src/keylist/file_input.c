/*
 * file_input.c - reads files and pipes, and decompresses gzip.
 *
 * The first bytes of a file show whether it is compressed. A pipe may deliver
 * them one by one; more are awaited only as long as they look like gzip.
 */
#include "keylist/file_input.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "keylist/internal.h"
#include "keylist/sniff.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const uint8_t gzip_magic[] = {0x1F, 0x8B, 0x08};

struct um_input {
    const um_key_source *source;
    const char *const *paths;
    size_t npaths, next;
    uint64_t done, total; /* bytes, for progress */
    int wake[2];          /* a pipe, or -1: readable when reading should end */
    bool stopped;
    atomic_bool waits; /* a read is waiting for input */

    const char *name;
    int fd;    /* -1: none open */
    bool ours; /* fd is not standard input: close it */
    bool started, at_end;
    bool gzip, member_ended, damaged; /* member_ended: between members */
    z_stream inflater;
    uint8_t raw[UM_READ_LEN]; /* stored bytes that were not passed on yet */
    size_t raw_at, raw_len;
};

/* Returns the length of all files, or 0 if one of them is unknown. */
static uint64_t total_len(const char *const *paths, size_t npaths)
{
    uint64_t sum = 0;
    struct stat st;

    for (size_t i = 0; i < npaths; i++) {
        if (stat(paths[i], &st) != 0 || !S_ISREG(st.st_mode))
            return 0;
        sum += (uint64_t)st.st_size;
    }
    return sum;
}

/* Reports progress, unless the input is typed at a terminal. */
static void show_progress(um_input *s, size_t more, bool ended)
{
    const char *pass = s->source->pass ? s->source->pass : "reading keys";

    s->done += more;
    if (s->source->progress && !(more && isatty(s->fd)))
        s->source->progress(s->source->progress_ctx, ended ? NULL : pass,
                            s->done, s->total);
}

umbel_status um_input_open(const um_key_source *source, bool waking,
                           um_input **out, umbel_error *err)
{
    static const char *const only_stdin[] = {"-"};
    um_input *s = calloc(1, sizeof *s);

    if (!s)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to read keys");
    s->source = source;
    s->paths = source->npaths ? source->paths : only_stdin;
    s->npaths = source->npaths ? source->npaths : 1;
    s->fd = s->wake[0] = s->wake[1] = -1;
    if (waking && pipe(s->wake) != 0) {
        free(s);
        return um_fail_errno(err, "no pipe between threads");
    }
    s->total = source->progress ? total_len(s->paths, s->npaths) : 0;
    show_progress(s, 0, false);
    *out = s;
    return UMBEL_OK;
}

static void close_file(um_input *s)
{
    if (s->fd >= 0 && s->ours)
        close(s->fd);
    if (s->gzip)
        inflateEnd(&s->inflater);
    s->fd = -1;
    s->started = s->at_end = false;
    s->gzip = s->member_ended = s->damaged = false;
    s->raw_at = s->raw_len = 0;
}

void um_input_close(um_input *s)
{
    show_progress(s, 0, true);
    close_file(s);
    for (int i = 0; i < 2; i++)
        if (s->wake[i] >= 0)
            close(s->wake[i]);
    free(s);
}

void um_input_stop(um_input *s)
{
    ssize_t sent = 0;

    do
        sent = s->wake[1] < 0 ? 0 : write(s->wake[1], "", 1);
    while (sent < 0 && errno == EINTR);
}

bool um_input_has_file(const um_input *s)
{
    return s->fd >= 0;
}

const char *um_input_name(const um_input *s)
{
    return s->name;
}

/* Reports a file that cannot be opened. If it does not exist, the message names
 * what was expected, because passing a key instead of a file of keys is a
 * common mistake. */
static umbel_status fail_open(const char *path, const char *expected,
                              umbel_error *err)
{
    bool missing = errno == ENOENT;
    umbel_error said;
    umbel_status status = um_fail_path(&said, path);

    return um_fail(err, status, "%.200s%s%s", said.text,
                   missing ? "; expected " : "", missing ? expected : "");
}

umbel_status um_input_next_file(um_input *s, bool *more, umbel_error *err)
{
    *more = s->next < s->npaths;
    if (!*more)
        return UMBEL_OK;
    s->name = s->paths[s->next++];
    s->ours = strcmp(s->name, "-") != 0;
    if (!s->ours) {
        s->name = "standard input";
        s->fd = STDIN_FILENO;
        return UMBEL_OK;
    }
    s->fd = open(s->name, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        return fail_open(s->name,
                         s->source->expected ? s->source->expected
                                             : "a file of keys, one per line",
                         err);
    posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return UMBEL_OK;
}

bool um_input_waits(const um_input *s)
{
    return s->waits;
}

/*
 * Waits until there is something to read, or reading should end. waits is set
 * before the flush, so a thread that uses a batch after the flush knows that it
 * must flush itself.
 */
static void wait_for_input(um_input *s)
{
    struct pollfd fds[] = {{.fd = s->fd, .events = POLLIN},
                           {.fd = s->wake[0], .events = POLLIN}};

    if (poll(fds, 2, 0) == 0) {
        s->waits = true;
        if (s->source->flush)
            s->source->flush(s->source->flush_ctx);
        while (poll(fds, 2, -1) < 0 && errno == EINTR)
            ;
        s->waits = false;
    }
    s->stopped |= fds[1].revents != 0;
}

/* Reads stored bytes. A terminal is not read again after its end of file. */
static umbel_status read_stored(um_input *s, void *to, size_t cap, size_t *got,
                                umbel_error *err)
{
    ssize_t n = 0;

    *got = 0;
    if (s->at_end)
        return UMBEL_OK;
    wait_for_input(s);
    do
        n = s->stopped ? 0 : read(s->fd, to, cap);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return um_fail_path(err, s->name);
    *got = (size_t)n;
    s->at_end = n == 0;
    show_progress(s, *got, false);
    return UMBEL_OK;
}

/* Reports a file of the wrong type. The advice in `why` is about keys; if
 * something else is expected, the message names that instead. */
static umbel_status fail_type(const um_input *s, const char *why,
                              umbel_error *err)
{
    const char *expected = s->source->expected;

    if (!expected)
        return um_fail(err, UMBEL_E_FORMAT, "%.100s: %s", s->name, why);
    return um_fail(err, UMBEL_E_FORMAT, "%.100s: %.*s; expected %s", s->name,
                   (int)strcspn(why, ",:"), why, expected);
}

/* Reads the beginning of a file, and prepares to decompress it. */
static umbel_status start_file(um_input *s, umbel_error *err)
{
    size_t got;

    s->started = true;
    do {
        UM_TRY(read_stored(s, s->raw + s->raw_len, sizeof s->raw - s->raw_len,
                           &got, err));
        s->raw_len += got;
    } while (got && um_may_begin_type(s->raw, s->raw_len));
    const char *why = um_why_not_keys(s->raw, s->raw_len);
    if (why)
        return fail_type(s, why, err);
    if (s->raw_len < sizeof gzip_magic ||
        memcmp(s->raw, gzip_magic, sizeof gzip_magic) != 0)
        return UMBEL_OK;
    s->inflater = (z_stream){0};
    if (inflateInit2(&s->inflater, 16 + MAX_WBITS) != Z_OK)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to decompress keys");
    s->gzip = true;
    return UMBEL_OK;
}

static umbel_status fail_gzip(const um_input *s, const char *what,
                              umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT, "%s%s: the gzip data %s",
                   um_path_dots(s->name), um_path_tail(s->name), what);
}

/* Decompresses stored bytes until they are used up or the output is full. */
static void inflate_stored(um_input *s)
{
    z_stream *z = &s->inflater;

    z->next_in = s->raw + s->raw_at;
    z->avail_in = (uInt)(s->raw_len - s->raw_at);
    if (s->member_ended)
        inflateReset(z);
    int result = inflate(z, Z_NO_FLUSH);
    s->member_ended = result == Z_STREAM_END;
    s->damaged = !s->member_ended && result != Z_OK;
    s->raw_at = s->raw_len - z->avail_in;
}

/* Reads decompressed bytes. Those before the damage are passed on first. */
static umbel_status read_gzip(um_input *s, void *to, size_t cap, size_t *got,
                              umbel_error *err)
{
    z_stream *z = &s->inflater;

    *got = 0;
    z->next_out = to;
    z->avail_out = (uInt)cap;
    while (z->avail_out == cap) {
        if (s->damaged)
            return fail_gzip(s, "is damaged, or something else follows it",
                             err);
        if (s->raw_at == s->raw_len) {
            s->raw_at = 0;
            UM_TRY(read_stored(s, s->raw, sizeof s->raw, &s->raw_len, err));
        }
        if (s->raw_len == 0)
            return s->member_ended || s->stopped
                       ? UMBEL_OK
                       : fail_gzip(s, "is cut short", err);
        inflate_stored(s);
    }
    *got = cap - z->avail_out;
    return UMBEL_OK;
}

/* Passes on the bytes that start_file has read, then reads on. */
static umbel_status read_plain(um_input *s, void *to, size_t cap, size_t *got,
                               umbel_error *err)
{
    size_t left = s->raw_len - s->raw_at;

    if (!left)
        return read_stored(s, to, cap, got, err);
    *got = left < cap ? left : cap;
    memcpy(to, s->raw + s->raw_at, *got);
    s->raw_at += *got;
    return UMBEL_OK;
}

umbel_status um_input_read(um_input *s, void *to, size_t cap, size_t *got,
                           umbel_error *err)
{
    if (!s->started)
        UM_TRY(start_file(s, err));
    UM_TRY((s->gzip ? read_gzip : read_plain)(s, to, cap, got, err));
    if (*got == 0)
        close_file(s);
    return UMBEL_OK;
}

/*
 * Cuts the input into pieces of whole lines.
 *
 * A piece is the result of one read, so that slow input from a pipe is answered
 * at once. An incomplete line at the end of a read is kept for the next piece.
 * A piece is larger than two reads only if a line is.
 */

/* Largest line: a byte order mark, a key and a carriage return. */
enum { MAX_LINE = 3 + UM_MAX_KEY_LEN + 1 };

void um_piece_fini(um_piece *p)
{
    free(p->text);
    free(p->keys);
    free(p->lines);
    free(p->weights);
    free(p->amounts);
    free(p->decoded);
    free(p->skipped);
}

/* Reserves space for one more read. */
static umbel_status grow_text(um_piece *p, umbel_error *err)
{
    size_t cap = p->cap ? 2 * p->cap : (size_t)2 * UM_READ_LEN;

    if (p->cap - p->len >= UM_READ_LEN)
        return UMBEL_OK;
    if (!um_array_resize(&p->text, cap, 1))
        return um_fail(err, UMBEL_E_NOMEM, "no memory to read keys");
    p->cap = cap;
    return UMBEL_OK;
}

/* Returns the length of text up to and including the last line end. */
static size_t whole_lines(const uint8_t *text, size_t len, char end)
{
    while (len && text[len - 1] != (uint8_t)end)
        len--;
    return len;
}

/* Keeps the whole lines of a read, and moves the rest to the next piece.
 * Returns false if no line ends in it. */
static bool cut_lines(um_piece_reader *r, um_piece *p, size_t got)
{
    size_t whole = whole_lines(p->text + p->len, got, r->end);

    if (whole) {
        r->rest_len = got - whole;
        memcpy(r->rest, p->text + p->len + whole, r->rest_len);
    }
    p->len += whole ? whole : got;
    return whole > 0;
}

/*
 * Reads up to the end of a line or of the file. A line that is too long ends
 * the input; splitting the piece reports it.
 */
static umbel_status read_lines(um_piece_reader *r, um_piece *p,
                               umbel_error *err)
{
    size_t got;

    UM_TRY(grow_text(p, err));
    memcpy(p->text, r->rest, r->rest_len);
    p->len = r->rest_len;
    r->rest_len = 0;
    do {
        UM_TRY(grow_text(p, err));
        UM_TRY(
            um_input_read(r->stream, p->text + p->len, UM_READ_LEN, &got, err));
        if (cut_lines(r, p, got))
            return UMBEL_OK;
    } while (got && p->len <= MAX_LINE);
    r->ended |= got > 0;
    return UMBEL_OK;
}

static umbel_status read_piece(um_piece_reader *r, um_piece *p,
                               umbel_error *err)
{
    bool more = true;

    p->len = 0;
    while (!r->ended && p->len == 0) {
        if (!um_input_has_file(r->stream)) {
            UM_TRY(um_input_next_file(r->stream, &more, err));
            if (!more)
                return UMBEL_OK;
            r->first = true;
        }
        UM_TRY(read_lines(r, p, err));
    }
    return UMBEL_OK;
}

bool um_piece_read(um_piece_reader *r, um_piece *p)
{
    p->status = read_piece(r, p, &p->err);
    if (p->status != UMBEL_OK) {
        p->len = 0;
        r->ended = true;
    }
    p->file = um_input_name(r->stream);
    p->first = r->first;
    r->first = false;
    return p->len > 0 || p->status != UMBEL_OK;
}
