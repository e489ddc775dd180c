/* key_input.c - reads keys from files and pipes into printable text. */
#include "support/key_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void test_input_fini(test_input *in)
{
    free(in->keys);
    free(in->lines);
    free(in->numbers);
}

typedef struct writers {
    FILE *keys, *lines, *numbers;
    test_input *out;
} writers;

static void show(FILE *out, const umbel_slice *text)
{
    const uint8_t *bytes = text->data;

    for (size_t i = 0; i < text->len; i++)
        if (bytes[i] >= ' ' && bytes[i] < 0x7F)
            putc(bytes[i], out);
        else
            fprintf(out, "\\x%02x", bytes[i]);
    putc('|', out);
}

static umbel_status show_batch(void *ctx, const um_key_batch *batch,
                               umbel_error *err)
{
    writers *w = ctx;

    (void)err;
    assert_true(batch->n > 0);
    for (size_t i = 0; i < batch->n; i++) {
        show(w->keys, &batch->keys[i]);
        show(w->lines, &batch->lines[i]);
        fprintf(w->numbers, "%g*%" PRIu64 " ", batch->weights[i],
                batch->amounts[i]);
    }
    w->out->n += batch->n;
    w->out->nbatches++;
    return UMBEL_OK;
}

static FILE *open_text(char **text, size_t *len)
{
    FILE *file = open_memstream(text, len);

    assert_non_null(file);
    return file;
}

void test_input_read(const um_key_source *s, test_input *out)
{
    size_t len[3];
    umbel_error err = {.text = ""};
    const char *reason = err.text;

    *out = (test_input){.n = 0};
    writers w = {open_text(&out->keys, &len[0]),
                 open_text(&out->lines, &len[1]),
                 open_text(&out->numbers, &len[2]), out};
    out->status = um_keys_each_batch(s, show_batch, &w, &err);
    fclose(w.keys);
    fclose(w.lines);
    fclose(w.numbers);
    if (out->status != UMBEL_OK) {
        assert_int_equal(err.status, out->status);
        const char *line = strstr(err.text, ", line "),
                   *colon = strstr(err.text, ": ");
        reason = line ? line + 2 : colon ? colon + 2 : err.text;
    }
    snprintf(out->reason, sizeof out->reason, "%s", reason);
}

/* --- pipes -----------------------------------------------------------------
 */

static void close_end(int *fd)
{
    if (*fd >= 0)
        assert_int_equal(close(*fd), 0);
    *fd = -1;
}

static void send_next(void *ctx, const char *pass, uint64_t done,
                      uint64_t total)
{
    test_drip *d = ctx;
    bool ended = !pass;
    size_t left = d->len - d->at;
    size_t step = d->at == 0 && d->first ? d->first : d->step;
    size_t some = left < step ? left : step;

    assert_int_equal(total, 0);
    assert_true(done >= d->done && !d->ended);
    d->done = done;
    d->ended = ended;
    if (some && !ended)
        assert_int_equal(write(d->fds[1], d->bytes + d->at, some), some);
    d->at += some;
    if (!some || ended)
        close_end(&d->fds[1]);
}

void test_drip_open(test_drip *d, const void *bytes, size_t len, size_t step)
{
    *d = (test_drip){.bytes = bytes, .len = len, .step = step};
    assert_int_equal(pipe(d->fds), 0);
    snprintf(d->path, sizeof d->path, "/dev/fd/%d", d->fds[0]);
    d->paths[0] = d->path;
}

um_key_source test_drip_source(test_drip *d, const um_key_format *f)
{
    return (um_key_source){.paths = d->paths,
                           .npaths = 1,
                           .format = *f,
                           .threads = 1,
                           .progress = send_next,
                           .progress_ctx = d};
}

void test_drip_close(test_drip *d)
{
    close_end(&d->fds[0]);
    close_end(&d->fds[1]);
}

/* --- both ------------------------------------------------------------------
 */

static void assert_same_input(const test_input *a, const test_input *b)
{
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->reason, b->reason);
    assert_int_equal(a->n, b->n);
    assert_string_equal(a->keys, b->keys);
    assert_string_equal(a->lines, b->lines);
    assert_string_equal(a->numbers, b->numbers);
}

static void read_drip(const um_key_format *f, const void *bytes, size_t len,
                      size_t step, unsigned threads, const test_input *want)
{
    test_drip d;
    test_input got;

    test_drip_open(&d, bytes, len, step);
    um_key_source s = test_drip_source(&d, f);
    s.threads = threads;
    test_input_read(&s, &got);
    assert_true(d.ended);
    test_drip_close(&d);
    assert_same_input(&got, want);
    test_input_fini(&got);
}

void test_input_bytes(const um_key_format *f, const void *bytes, size_t len,
                      test_input *out)
{
    static const size_t steps[] = {1, 2, 3, 7, 100, 60000};
    char *dir = test_dir_make(), *path = test_path(dir, "keys");
    um_key_source s = {.paths = (const char *const[]){path},
                       .npaths = 1,
                       .format = *f,
                       .threads = 1};

    test_write_file(path, bytes, len);
    test_input_read(&s, out);
    for (size_t i = 0; i < TEST_COUNT(steps); i++)
        if (len / steps[i] < 10000)
            read_drip(f, bytes, len, steps[i], (unsigned)(i % 4) + 1, out);
    free(path);
    test_dir_remove(dir);
}
