/*
 * keys.c - arbitrary key lists, split at any size.
 *
 * The input is a format and a text:
 *
 *     1 byte   flags: 1 NUL, 2 hexadecimal, 4 weights, 8 two threads,
 *              16 lower case unless hexadecimal, 32 skip bad lines,
 *              64 the text seven times
 *     1 byte   field of the key, modulo 5; 0: none
 *     1 byte   field of the amount, modulo 5; 0: none, 4: the last
 *     1 byte   delimiter, 0: tab
 *     1 byte   bytes per write to a pipe, minus 1
 *
 * The library must find the same keys in the text as the naive splitter below.
 */
#include "fuzz.h"

#include "keylist/internal.h"
#include "keylist/ranges.h"
#include "keylist/sniff.h"
#include "keylist/source.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 5, MAX_TEXT = 4096 };

/* --- the simplest possible splitter ----------------------------------------
 */

typedef struct entry {
    uint8_t key[MAX_TEXT];
    size_t len;
    double weight;
    uint64_t amount;
} entry;

typedef struct splitter {
    um_key_format format;
    const uint8_t *text;
    size_t len, at;
    uint64_t line, skipped;
    bool bad;
} splitter;

typedef struct part {
    const uint8_t *at;
    size_t len;
} part;

/* Returns the number of fields, and the n-th of them in *out. */
static uint64_t split_fields(const splitter *s, part line, uint64_t n,
                             part *out)
{
    uint8_t delimiter =
        s->format.delimiter ? (uint8_t)s->format.delimiter : (uint8_t)'\t';
    uint64_t field = 1;

    *out = (part){line.at, 0};
    for (size_t i = 0; i < line.len; i++) {
        if (line.at[i] == delimiter && ++field == n)
            *out = (part){line.at + i + 1, 0};
        else if (line.at[i] != delimiter && field == n)
            out->len++;
    }
    return field;
}

static bool is_digit(part p, size_t i)
{
    return i < p.len && p.at[i] >= '0' && p.at[i] <= '9';
}

/*
 * Returns true for [+-] digits [. digits] [e [+-] digits], with a digit before
 * the e.
 */
static bool is_decimal(part p)
{
    size_t i = 0, digits = 0;

    i += p.len > 0 && (p.at[0] == '+' || p.at[0] == '-');
    for (; is_digit(p, i); i++)
        digits++;
    if (i < p.len && p.at[i] == '.')
        for (i++; is_digit(p, i); i++)
            digits++;
    if (digits && i < p.len && (p.at[i] == 'e' || p.at[i] == 'E')) {
        i++;
        i += i < p.len && (p.at[i] == '+' || p.at[i] == '-');
        if (!is_digit(p, i))
            return false;
        while (is_digit(p, i))
            i++;
    }
    return digits && i == p.len && p.len < 64;
}

static bool read_weight(const splitter *s, part *line, double *out)
{
    char number[64] = "";
    part last;
    uint64_t n = split_fields(s, *line, 0, &last);

    split_fields(s, *line, n, &last);
    if (n < 2 || !is_decimal(last))
        return false;
    memcpy(number, last.at, last.len);
    *out = strtod(number, NULL);
    line->len -= last.len + 1;
    return *out == 0 || (*out >= 1e-100 && *out <= 1e100);
}

static bool read_amount(const splitter *s, part line, uint64_t *out)
{
    static const char most[] = "18446744073709551615";
    uint64_t field = s->format.amount_field;
    part p;
    uint64_t n = split_fields(s, line, 0, &p);

    split_fields(s, line, field == UM_LAST_FIELD ? n : field, &p);
    if ((field != UM_LAST_FIELD && field > n) || p.len == 0)
        return false;
    for (size_t i = 0; i < p.len; i++)
        if (!is_digit(p, i))
            return false;
    while (p.len > 1 && *p.at == '0') {
        p.at++;
        p.len--;
    }
    if (p.len > 20 || (p.len == 20 && memcmp(p.at, most, 20) > 0))
        return false;
    for (*out = 0; p.len; p.at++, p.len--)
        *out = *out * 10 + (uint64_t)(*p.at - '0');
    return true;
}

static bool read_hex(part p, entry *e)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";

    e->len = p.len / 2;
    for (size_t i = 0; i < p.len; i++) {
        const char *digit = p.at[i] ? strchr(digits, p.at[i]) : NULL;
        if (!digit)
            return false;
        uint8_t value = (uint8_t)((digit - digits) % 16);
        e->key[i / 2] = (uint8_t)(i % 2 ? e->key[i / 2] | value : value << 4);
    }
    return p.len % 2 == 0;
}

/* Parses a line. Returns false if it is bad; a key of length 0 is no key. */
static bool read_entry(const splitter *s, part line, entry *e)
{
    uint64_t field = s->format.field;
    part key = line;

    *e = (entry){.weight = 1, .amount = s->format.times ? s->format.times : 1};
    if (s->format.amount_field && !read_amount(s, line, &e->amount))
        return false;
    if (s->format.weights && !read_weight(s, &key, &e->weight))
        return false;
    if (!field && s->format.amount_field)
        field = 1;
    if (field && split_fields(s, key, field, &key) < field)
        return false;
    if (s->format.hex)
        return read_hex(key, e);
    memcpy(e->key, key.at, e->len = key.len);
    for (size_t i = 0; s->format.fold_case && i < e->len; i++)
        if (e->key[i] >= 'A' && e->key[i] <= 'Z')
            e->key[i] = (uint8_t)(e->key[i] - 'A' + 'a');
    return true;
}

static part next_line(splitter *s)
{
    uint8_t end = s->format.null_ended ? '\0' : '\n';
    part line = {s->text + s->at, 0};

    while (s->at < s->len && s->text[s->at] != end) {
        s->at++;
        line.len++;
    }
    s->at++;
    if (!s->format.null_ended && s->line == 0 && line.len >= 3 &&
        memcmp(line.at, "\xEF\xBB\xBF", 3) == 0) {
        line.at += 3;
        line.len -= 3;
    }
    if (!s->format.null_ended && line.len && line.at[line.len - 1] == '\r')
        line.len--;
    s->line++;
    return line;
}

/* Finds the next key. Returns false at the end and at a bad line. */
static bool next_entry(splitter *s, entry *e)
{
    while (!s->bad && s->at < s->len) {
        part line = next_line(s);
        if (line.len == 0)
            continue;
        bool fine = read_entry(s, line, e);
        s->skipped += !fine && s->format.skip_bad;
        s->bad = !fine && !s->format.skip_bad;
        if (fine && e->len)
            return true;
    }
    return false;
}

/* --- the real one ----------------------------------------------------------
 */

static umbel_status compare(void *ctx, const um_key_batch *batch,
                            umbel_error *err)
{
    static entry e;

    (void)err;
    for (size_t i = 0; i < batch->n; i++) {
        UM_WANT(next_entry(ctx, &e));
        UM_WANT(batch->keys[i].len == e.len);
        UM_WANT(memcmp(batch->keys[i].data, e.key, e.len) == 0);
        UM_WANT(batch->weights[i] == e.weight);
        UM_WANT(batch->amounts[i] == e.amount);
    }
    return UMBEL_OK;
}

static void count_bad(void *ctx, const char *where, umbel_slice line,
                      const char *what)
{
    UM_WANT(*where && line.len && *what);
    ++*(uint64_t *)ctx;
}

static umbel_status ignore(void *ctx, const um_key_batch *batch,
                           umbel_error *err)
{
    (void)ctx;
    (void)err;
    UM_WANT(batch->n > 0);
    return UMBEL_OK;
}

/* Reads the text through a pipe. */
static umbel_status read_pipe(const um_key_format *format, unsigned threads,
                              um_fuzz_pipe f, splitter *s, uint64_t *bad,
                              umbel_error *err)
{
    char path[32];
    int fds[2];

    UM_WANT(pipe(fds) == 0);
    f.fd = fds[1];
    snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
    um_key_source source = {.paths = (const char *const[]){path},
                            .npaths = 1,
                            .format = *format,
                            .threads = threads,
                            .bad_line = count_bad,
                            .bad_ctx = bad,
                            .progress = um_fuzz_send_next,
                            .progress_ctx = &f};
    umbel_status status =
        um_keys_each_batch(&source, s ? compare : ignore, s, err);
    close(fds[0]);
    if (f.fd >= 0)
        close(f.fd);
    return status;
}

static um_key_format read_format(const uint8_t head[HEAD])
{
    uint64_t amount = head[2] % 5;

    return (um_key_format){.null_ended = head[0] & 1,
                           .hex = head[0] & 2,
                           .fold_case = (head[0] & 18) == 16,
                           .skip_bad = head[0] & 32,
                           .times = head[0] & 64 ? 7 : 0,
                           .weights =
                               head[0] & 4 ? UM_WEIGHTS_ALL : UM_WEIGHTS_NONE,
                           .field = head[1] % 5,
                           .amount_field = amount == 4 ? UM_LAST_FIELD : amount,
                           .delimiter = (char)head[3]};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < HEAD || len - HEAD > MAX_TEXT)
        return 0;
    um_key_format format = read_format(data);
    unsigned threads = data[0] & 8 && um_fuzz_one_in(16, data, len) ? 2 : 1;
    um_fuzz_pipe f = {
        .text = data + HEAD, .len = len - HEAD, .step = (size_t)data[4] + 1};
    splitter s = {.format = format, .text = f.text, .len = f.len};
    um_unpacker *unpacker = NULL;
    static entry more;
    uint64_t bad = 0;
    char line[32];
    umbel_error err;

    UM_WANT(um_unpack_open(f.text, f.len, &unpacker, &err) == UMBEL_OK);
    bool packed = unpacker != NULL;
    um_unpack_close(unpacker);
    umbel_status status =
        read_pipe(&format, threads, f, packed ? NULL : &s, &bad, &err);
    if (status != UMBEL_OK)
        um_fuzz_check_error(status, &err);
    if (packed || um_is_tar(f.text, f.len) || status == UMBEL_E_RANGE)
        return 0;
    bool refused = um_why_not_keys(f.text, f.len) != NULL;
    UM_WANT((status == UMBEL_E_FORMAT) == refused);
    if (refused)
        return 0;
    UM_WANT(!next_entry(&s, &more));
    UM_WANT(bad == s.skipped);
    UM_WANT(status == (s.bad ? UMBEL_E_KEY : UMBEL_OK));
    snprintf(line, sizeof line, ", line %" PRIu64 ": ", s.line);
    UM_WANT(!s.bad || strstr(err.text, line));
    return 0;
}
