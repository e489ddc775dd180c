/*
 * file_input.c - reads files and pipes, decompressed, and the range files in a
 * directory or tar archive.
 *
 * The first bytes of a file show whether it is compressed, or something else
 * than a list. A pipe may deliver them one by one; more are awaited only as
 * long as they look like the beginning of such a file.
 */
#include "keylist/file_input.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "keylist/csv.h"
#include "keylist/internal.h"
#include "keylist/ranges.h"
#include "keylist/sniff.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    um_unpacker *unpacker;    /* NULL: not compressed */
    uint8_t raw[UM_READ_LEN]; /* stored bytes that were not passed on yet */
    size_t raw_at, raw_len;
    uint8_t head[UM_TAR_BLOCK]; /* first bytes, decompressed */
    size_t head_at, head_len;

    um_range_count *ranges; /* NULL: the list has no range files */
    um_range_dir dir;
    char range[UM_RANGE_DIGITS + 1]; /* of the file that is open, or "" */
    bool tar, in_member;
    uint64_t member_left, padding; /* bytes of a member and after it */
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
    if (source->format.list == UM_LIST_HIBP) {
        s->ranges = calloc(1, sizeof *s->ranges);
        if (!s->ranges) {
            free(s);
            return um_fail(err, UMBEL_E_NOMEM, "no memory to read keys");
        }
    }
    if (waking && pipe(s->wake) != 0) {
        free(s->ranges);
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
    um_unpack_close(s->unpacker);
    s->unpacker = NULL;
    s->fd = -1;
    s->started = s->at_end = s->tar = s->in_member = false;
    s->raw_at = s->raw_len = s->head_at = s->head_len = 0;
}

void um_input_close(um_input *s)
{
    show_progress(s, 0, true);
    close_file(s);
    um_range_dir_close(&s->dir);
    for (int i = 0; i < 2; i++)
        if (s->wake[i] >= 0)
            close(s->wake[i]);
    free(s->ranges);
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
    return s->tar ? s->in_member : s->fd >= 0;
}

const char *um_input_name(const um_input *s)
{
    return s->name;
}

const char *um_input_range(const um_input *s)
{
    return s->range;
}

bool um_input_report(const um_input *s, char *out, size_t cap)
{
    return s->ranges && um_range_report(s->ranges, out, cap);
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

static umbel_status fail_packed(const um_input *s, const char *what,
                                umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT, "%s%s: the %s data %s",
                   um_path_dots(s->name), um_path_tail(s->name),
                   um_unpack_format(s->unpacker), what);
}

/* Reads decompressed bytes. Those before the damage are passed on first. */
static umbel_status read_packed(um_input *s, void *to, size_t cap, size_t *got,
                                umbel_error *err)
{
    um_unpacker *u = s->unpacker;

    for (*got = 0; *got == 0;) {
        const char *wrong = um_unpack_wrong(u);
        if (wrong)
            return fail_packed(s, wrong, err);
        if (s->raw_at == s->raw_len && !um_unpack_has_more(u)) {
            s->raw_at = s->raw_len = 0;
            UM_TRY(read_stored(s, s->raw, sizeof s->raw, &s->raw_len, err));
            wrong = s->stopped ? NULL : um_unpack_cut(u);
            if (s->raw_len == 0)
                return wrong ? fail_packed(s, wrong, err) : UMBEL_OK;
        }
        um_span in = {s->raw + s->raw_at, s->raw_len - s->raw_at};
        *got = um_unpack_some(u, &in, to, cap);
        s->raw_at = s->raw_len - in.len;
    }
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

/* Reads bytes of the file, decompressed. */
static umbel_status read_content(um_input *s, void *to, size_t cap, size_t *got,
                                 umbel_error *err)
{
    size_t left = s->head_len - s->head_at;

    if (!left)
        return (s->unpacker ? read_packed : read_plain)(s, to, cap, got, err);
    *got = left < cap ? left : cap;
    memcpy(to, s->head + s->head_at, *got);
    s->head_at += *got;
    return UMBEL_OK;
}

/* Reads the first bytes of the content, until they show what it is. A list of
 * hashes has a newline before the end of a tar header. */
static umbel_status read_head(um_input *s, umbel_error *err)
{
    size_t got = 0, len = 0;

    do {
        UM_TRY((s->unpacker ? read_packed : read_plain)(
            s, s->head + len, sizeof s->head - len, &got, err));
        len += got;
    } while (got && len < sizeof s->head &&
             (um_may_begin_type(s->head, len) ||
              (s->ranges && !memchr(s->head, '\n', len))));
    s->head_len = len;
    return UMBEL_OK;
}

/* Refuses what is not a list. */
static umbel_status check_type(const um_input *s, const uint8_t *bytes,
                               size_t len, umbel_error *err)
{
    const char *why = um_why_not_keys(bytes, len);

    if (!why && um_is_tar(bytes, len) && !s->ranges)
        why = "this is a tar archive: unpack it with tar -xO -f, and pipe the "
              "keys to umbel; --list-format hibp reads range files in it";
    return why ? fail_type(s, why, err) : UMBEL_OK;
}

/* Reads the beginning of a file, and prepares to decompress it. */
static umbel_status start_file(um_input *s, umbel_error *err)
{
    um_unpacker *again = NULL;
    size_t got;

    s->started = true;
    do {
        UM_TRY(read_stored(s, s->raw + s->raw_len, sizeof s->raw - s->raw_len,
                           &got, err));
        s->raw_len += got;
    } while (got && um_may_begin_type(s->raw, s->raw_len));
    UM_TRY(check_type(s, s->raw, s->raw_len, err));
    UM_TRY(um_unpack_open(s->raw, s->raw_len, &s->unpacker, err));
    if (!s->unpacker && !s->ranges)
        return UMBEL_OK;
    UM_TRY(read_head(s, err));
    UM_TRY(check_type(s, s->head, s->head_len, err));
    UM_TRY(um_unpack_open(s->head, s->head_len, &again, err));
    bool twice = again && s->unpacker;
    um_unpack_close(again);
    if (twice)
        return fail_type(s, "this is compressed twice: decompress it once",
                         err);
    s->tar = s->ranges && um_is_tar(s->head, s->head_len);
    return UMBEL_OK;
}

/* --- members of a tar archive --------------------------------------------- */

static umbel_status fail_tar(const um_input *s, umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT,
                   "%s%s: the tar archive is damaged or cut short",
                   um_path_dots(s->name), um_path_tail(s->name));
}

/* Reads exactly len bytes, unless reading was stopped; to may be NULL. */
static umbel_status read_exactly(um_input *s, uint8_t *to, uint64_t len,
                                 umbel_error *err)
{
    uint8_t ignored[UM_TAR_BLOCK] = {0};
    size_t got = 0;

    for (; len && !s->stopped; len -= got) {
        size_t some = to || len < sizeof ignored ? (size_t)len : sizeof ignored;
        UM_TRY(read_content(s, to ? to : ignored, some, &got, err));
        if (got == 0 && !s->stopped)
            return fail_tar(s, err);
        to = to ? to + got : NULL;
    }
    return UMBEL_OK;
}

/* Advances to the next range file in the archive. Closes the archive at its
 * end. */
static umbel_status next_member(um_input *s, umbel_error *err)
{
    uint8_t block[UM_TAR_BLOCK];
    um_tar_member member;
    bool end;

    for (;;) {
        UM_TRY(read_exactly(s, NULL, s->member_left + s->padding, err));
        s->member_left = s->padding = 0;
        UM_TRY(read_exactly(s, block, sizeof block, err));
        if (!s->stopped && !um_tar_parse(block, &member, &end))
            return fail_tar(s, err);
        if (s->stopped || end) {
            close_file(s);
            return UMBEL_OK;
        }
        s->member_left = member.len;
        s->padding = (UM_TAR_BLOCK - member.len % UM_TAR_BLOCK) % UM_TAR_BLOCK;
        s->in_member = member.file && um_range_of(member.name, false, s->range);
        if (s->in_member)
            break;
        if (member.file)
            um_range_count_other(s->ranges, member.name);
    }
    um_range_count_add(s->ranges, s->range);
    return UMBEL_OK;
}

/* Reads bytes of the member. Its end is the end of a file. */
static umbel_status read_member(um_input *s, void *to, size_t cap, size_t *got,
                                umbel_error *err)
{
    *got = 0;
    s->in_member = s->member_left > 0;
    if (!s->in_member)
        return UMBEL_OK;
    UM_TRY(read_content(
        s, to, s->member_left < cap ? (size_t)s->member_left : cap, got, err));
    s->member_left -= *got;
    return *got || s->stopped ? UMBEL_OK : fail_tar(s, err);
}

/* --- files, one after the other --------------------------------------------
 */

/* Opens the next range file of the directory. */
static umbel_status open_in_dir(um_input *s, umbel_error *err)
{
    const char *name = s->dir.names[s->dir.next++];
    char path[4096];

    if (snprintf(path, sizeof path, "%s/%s", s->name, name) >=
        (int)sizeof path) {
        errno = ENAMETOOLONG;
        return um_fail_path(err, s->name);
    }
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        return um_fail_path(err, path);
    um_range_of(name, true, s->range);
    um_range_count_add(s->ranges, s->range);
    return UMBEL_OK;
}

/* Lists the directory that was just opened. */
static umbel_status enter_dir(um_input *s, umbel_error *err)
{
    close_file(s);
    if (!s->ranges)
        return um_fail(err, UMBEL_E_IO,
                       "%s%s: Is a directory; --list-format hibp reads a "
                       "directory of range files",
                       um_path_dots(s->name), um_path_tail(s->name));
    UM_TRY(um_range_dir_open(&s->dir, s->name, s->ranges, err));
    return open_in_dir(s, err);
}

static umbel_status open_path(um_input *s, umbel_error *err)
{
    struct stat st;

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
    if (fstat(s->fd, &st) == 0 && S_ISDIR(st.st_mode))
        return enter_dir(s, err);
    posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (s->ranges && um_range_of(s->name, true, s->range))
        um_range_count_add(s->ranges, s->range);
    return UMBEL_OK;
}

umbel_status um_input_next_file(um_input *s, bool *more, umbel_error *err)
{
    *more = true;
    if (s->tar)
        UM_TRY(next_member(s, err));
    if (um_input_has_file(s))
        return UMBEL_OK;
    if (s->dir.next < s->dir.n && !s->stopped)
        return open_in_dir(s, err);
    um_range_dir_close(&s->dir);
    s->range[0] = '\0';
    *more = s->next < s->npaths && !s->stopped;
    if (!*more)
        return UMBEL_OK;
    s->name = s->paths[s->next++];
    return open_path(s, err);
}

umbel_status um_input_read(um_input *s, void *to, size_t cap, size_t *got,
                           umbel_error *err)
{
    *got = 0;
    if (!s->started)
        UM_TRY(start_file(s, err));
    if (s->tar)
        return s->in_member ? read_member(s, to, cap, got, err) : UMBEL_OK;
    UM_TRY(read_content(s, to, cap, got, err));
    if (*got == 0)
        close_file(s);
    return UMBEL_OK;
}

/*
 * Cuts the input into pieces of whole lines, or records of CSV.
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
    free(p->texts);
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

/* Returns the length of text up to and including the last line end, or the last
 * end of a CSV record. */
static size_t whole_lines(um_piece_reader *r, const uint8_t *text, size_t len)
{
    char end = um_format_end(r->format);

    if (r->format->csv)
        return um_csv_whole(text, len, &r->quoted);
    while (len && text[len - 1] != (uint8_t)end)
        len--;
    return len;
}

/* Keeps the whole lines of a read, and moves the rest to the next piece.
 * Returns false if no line ends in it. */
static bool cut_lines(um_piece_reader *r, um_piece *p, size_t got)
{
    size_t whole = whole_lines(r, p->text + p->len, got);

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
            r->quoted = false;
        }
        UM_TRY(read_lines(r, p, err));
    }
    p->header = r->first && r->format->column;
    if (p->header && p->len)
        UM_TRY(um_csv_column(r->format, p->text, p->len,
                             um_input_name(r->stream), &r->field, err));
    p->field = r->field;
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
    memcpy(p->range, um_input_range(r->stream), sizeof p->range);
    p->first = r->first;
    r->first = false;
    return p->len > 0 || p->status != UMBEL_OK;
}
