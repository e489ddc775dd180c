/*
 * serve.c - the query server's input: lines in any pieces, paths, bodies.
 *
 * The first byte chooses: lines (the second byte is the length of pieces), a
 * path for GET, or a body for POST as lines or as JSON. Every line has one
 * answer, however the stream is split; every request has a status that is
 * documented, and a text that ends with a newline.
 */
#include "fuzz.h"

#include "serve/internal.h"

#include <umbel/umbel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 64 }; /* bytes of a line here: long ones must come up */

static void add_filter(um_site *s, const char *name, umbel_key_form form)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;
    umbel_error err;

    p.capacity = 100;
    p.key_form = form;
    UM_WANT(umbel_create("bloom", &p, &f, &err) == UMBEL_OK);
    UM_WANT(umbel_add(f, "a", 1, NULL, &err) == UMBEL_OK);
    um_edition_news news = {.name = name, .filter = f};
    UM_WANT(!um_site_apply(s, &news, 0) && !news.filter);
}

typedef struct stream {
    um_site *site;
    FILE *out;
    size_t lines;
} stream;

static void on_line(void *ctx, umbel_slice line, bool too_long)
{
    stream *s = ctx;

    s->lines++;
    um_site_line(s->site, line, too_long, s->out);
}

/* Answers a stream in pieces; the caller frees the text. */
static char *answer(um_site *site, const uint8_t *data, size_t len,
                    size_t piece, size_t batch, size_t *out_len)
{
    char *text;
    stream s = {.site = site, .out = open_memstream(&text, out_len)};
    um_lines lines = {.max = MAX, .end = '\n', .take = on_line, .ctx = &s};
    size_t at = 0, end = 0, used;
    size_t ends = 0;

    UM_WANT(s.out);
    do {
        end = len - end < piece ? len : end + piece;
        do {
            used = um_lines_take(&lines, data + at, end - at, batch, false);
            at += used;
            UM_WANT(at <= end);
        } while (used && at < end);
        UM_WANT(end - at <= MAX + 1);
    } while (end < len);
    at += um_lines_take(&lines, data + at, len - at, SIZE_MAX, true);
    UM_WANT(at == len && fclose(s.out) == 0);
    for (size_t i = 0; i < len; i++)
        ends += data[i] == '\n';
    UM_WANT(s.lines == ends + (len > 0 && data[len - 1] != '\n'));
    return text;
}

static void fuzz_lines(um_site *site, const uint8_t *data, size_t len)
{
    size_t whole_len, split_len;

    if (len < 2)
        return;
    site->single = data[1] & 1;
    char *whole = answer(site, data + 2, len - 2, len, SIZE_MAX, &whole_len);
    char *split = answer(site, data + 2, len - 2, (size_t)data[1] % 64 + 1,
                         (size_t)data[1] % 3 + 1, &split_len);
    UM_WANT(whole_len == split_len && memcmp(whole, split, whole_len) == 0);
    free(whole);
    free(split);
}

static void fuzz_request(um_site *site, const uint8_t *data, size_t len)
{
    static const unsigned known[] = {200, 400, 404, 413, 501, 503};
    char *path = calloc(1, len + 8), *text;
    const char *type = "text/plain";
    size_t text_len;
    FILE *out = open_memstream(&text, &text_len);
    bool post = data[0] % 4 >= 2, documented = false;
    um_http_request r = {.post = post,
                         .query = data[0] & 128,
                         .path = post ? "/check/h" : path,
                         .type = data[0] % 4 == 3 ? "application/json" : NULL,
                         .body = {data + 1, post ? len - 1 : 0}};

    UM_WANT(path && out);
    memcpy(path, data + 1, len - 1);
    unsigned code = um_site_answer(site, &r, &type, out);
    UM_WANT(fclose(out) == 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        documented |= code == known[i];
    UM_WANT(documented && (!text_len || text[text_len - 1] == '\n'));
    UM_WANT(strcmp(type, "application/json") != 0 || *text == '{' ||
            *text == '[');
    free(text);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static um_site site;

    if (!site.n) {
        add_filter(&site, "h", UMBEL_KEYS_HEX);
        add_filter(&site, "a", UMBEL_KEYS_TEXT);
    }
    if (len == 0)
        return 0;
    if (data[0] % 4 == 0)
        fuzz_lines(&site, data, len);
    else
        fuzz_request(&site, data, len);
    return 0;
}
