/*
 * input.c - from read() to pieces of whole lines.
 *
 * A piece takes what one read gives, so that what comes slowly through a pipe
 * is answered at once. The line that a read cuts off is kept for the next
 * piece. A piece is larger than two reads only where a line is.
 */
#include "cli/input.h"

#include "base/error.h"
#include "cli/progress.h"
#include "cli/sniff.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STEP = 1 << 16,              /* bytes of a read */
    LONGEST = UM_MAX_KEY_LEN + 1 /* of a line: a key and a carriage return */
};

struct um_input {
    const char *const *paths;
    size_t npaths, at;
    char end;
    um_progress *progress;

    int fd;    /* -1: none open */
    bool ours; /* fd: not standard input */
    bool first, ended;
    const char *name;
    int wake[2]; /* a pipe, or -1: readable when reading should end */
    uint8_t rest[STEP];
    size_t rest_len;
};

void um_piece_fini(um_piece *p)
{
    free(p->text);
    free(p->keys);
    free(p->lines);
    free(p->weights);
    free(p->amounts);
    free(p->decoded);
}

umbel_status um_input_open(const um_args *args, const char *const *paths,
                           size_t npaths, char end, bool waking, um_input **out,
                           umbel_error *err)
{
    um_input *in = calloc(1, sizeof *in);

    if (!in)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to read keys");
    in->paths = paths;
    in->npaths = npaths;
    in->end = end;
    in->fd = in->wake[0] = in->wake[1] = -1;
    if (waking && pipe(in->wake) != 0) {
        um_input_close(in);
        return um_fail_errno(err, "no pipe between threads");
    }
    in->progress = um_progress_open(args, paths, npaths);
    *out = in;
    return UMBEL_OK;
}

static void close_file(um_input *in)
{
    if (in->fd >= 0 && in->ours)
        close(in->fd);
    in->fd = -1;
}

void um_input_close(um_input *in)
{
    close_file(in);
    for (int i = 0; i < 2; i++)
        if (in->wake[i] >= 0)
            close(in->wake[i]);
    um_progress_close(in->progress);
    free(in);
}

void um_input_stop(um_input *in)
{
    ssize_t sent;

    if (in->wake[1] < 0)
        return;
    do
        sent = write(in->wake[1], "", 1);
    while (sent < 0 && errno == EINTR);
}

/* Who is new here gives a key where a file of keys is wanted. */
static umbel_status no_list(const char *path, umbel_error *err)
{
    bool missing = errno == ENOENT;
    umbel_status status = um_fail_path(err, path);
    umbel_error said;

    if (missing && err) {
        said = *err;
        um_set_error(err, status,
                     "%.200s; a file of keys is wanted, one a line", said.text);
    }
    return status;
}

umbel_status um_input_next_file(um_input *in, bool *more, umbel_error *err)
{
    *more = in->at < in->npaths;
    if (!*more)
        return UMBEL_OK;
    in->name = in->paths[in->at++];
    in->first = true;
    in->fd = STDIN_FILENO;
    in->ours = false;
    if (strcmp(in->name, "-") == 0) {
        in->name = "standard input";
        return UMBEL_OK;
    }
    in->fd = open(in->name, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        return no_list(in->name, err);
    in->ours = true;
    posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return um_check_is_keys(in->fd, in->name, err);
}

/* Until there is something to read; true when there need not be. */
static bool woken(const um_input *in)
{
    struct pollfd fds[] = {{.fd = in->fd, .events = POLLIN},
                           {.fd = in->wake[0], .events = POLLIN}};

    if (in->wake[0] < 0)
        return false;
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    return fds[1].revents != 0;
}

umbel_status um_input_read(um_input *in, void *to, size_t cap, size_t *got,
                           umbel_error *err)
{
    ssize_t n = 0;

    in->ended |= woken(in);
    do
        n = in->ended ? 0 : read(in->fd, to, cap);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return um_fail_path(err, in->name);
    if (n == 0)
        close_file(in);
    *got = (size_t)n;
    um_progress_tell(in->progress, *got);
    return UMBEL_OK;
}

static umbel_status want_room(um_piece *p, umbel_error *err)
{
    size_t cap = p->cap ? 2 * p->cap : (size_t)2 * STEP;

    if (p->cap - p->len >= STEP)
        return UMBEL_OK;
    if (cap > LONGEST + (size_t)2 * STEP)
        cap = LONGEST + (size_t)2 * STEP;
    uint8_t *text = realloc(p->text, cap);
    if (!text)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to read keys");
    p->text = text;
    p->cap = cap;
    return UMBEL_OK;
}

/* Bytes up to behind the last end of a line; 0: there is none. */
static size_t whole_lines(const uint8_t *text, size_t len, char end)
{
    while (len && text[len - 1] != (uint8_t)end)
        len--;
    return len;
}

/* What a read has brought: whole lines stay, the rest is for the next piece. */
static bool cut(um_input *in, um_piece *p, size_t got)
{
    size_t whole = whole_lines(p->text + p->len, got, in->end);

    if (whole) {
        in->rest_len = got - whole;
        memcpy(in->rest, p->text + p->len + whole, in->rest_len);
    }
    p->len += whole ? whole : got;
    return whole > 0;
}

/*
 * Up to the end of a line or of the file. A line that is too long ends the
 * input, and who splits the piece says why.
 */
static umbel_status read_lines(um_input *in, um_piece *p, umbel_error *err)
{
    umbel_status status = want_room(p, err);
    size_t got = 0;

    if (status != UMBEL_OK)
        return status;
    memcpy(p->text, in->rest, in->rest_len);
    p->len = in->rest_len;
    in->rest_len = 0;
    do {
        status = want_room(p, err);
        if (status == UMBEL_OK)
            status = um_input_read(in, p->text + p->len, STEP, &got, err);
        if (status != UMBEL_OK)
            return status;
        if (cut(in, p, got))
            return UMBEL_OK;
    } while (got && p->len <= LONGEST);
    in->ended |= got > 0;
    return UMBEL_OK;
}

static umbel_status next_lines(um_input *in, um_piece *p, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    bool more = true;

    while (status == UMBEL_OK && more && !in->ended && p->len == 0) {
        if (in->fd < 0)
            status = um_input_next_file(in, &more, err);
        if (status == UMBEL_OK && more)
            status = read_lines(in, p, err);
    }
    return status;
}

bool um_input_next(um_input *in, um_piece *p)
{
    p->len = 0;
    p->status = next_lines(in, p, &p->err);
    if (p->status != UMBEL_OK) {
        p->len = 0;
        in->ended = true;
    }
    p->file = in->name;
    p->first = in->first;
    in->first = false;
    return p->len > 0 || p->status != UMBEL_OK;
}
