/*
 * lists.c - arbitrary lists in common formats, split at any size.
 *
 * The input is a format and a text:
 *
 *     1 byte   format modulo 8: 0 CSV with a column, 1 CSV with the column "k",
 *              2 JSON lines with the field "k", 3 hashes, 4 hosts, 5 adblock,
 *              6 domains, 7 hashes with counts; + 8 lower case, + 16 skip bad
 *              lines, + 32 two threads
 *     1 byte   bytes per write to a pipe, minus 1
 *
 * However the text is split, the result is the same. The keys of CSV are those
 * of the parser below.
 */
#include "fuzz.h"

#include "keylist/internal.h"
#include "keylist/ranges.h"
#include "keylist/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 2, MAX_TEXT = 4096, MAX_RESULT = 1 << 20, COLUMN = 2 };

/* All that a list gives, as a text. */
typedef struct outcome {
    char *text;
    size_t len;
    FILE *out;
    um_list_format list;
} outcome;

static void begin(outcome *o, const um_key_format *f)
{
    *o = (outcome){.list = f->list};
    o->out = open_memstream(&o->text, &o->len);
    UM_WANT(o->out);
}

static void append_key(FILE *out, const void *key, size_t len, uint64_t amount)
{
    fprintf(out, "%zu %" PRIu64 " ", len, amount);
    fwrite(key, 1, len, out);
}

/* --- the simplest possible parser of CSV -----------------------------------
 */

/* Parses the record at *at, up to its newline. Returns false if it is bad.
 * *key is its COLUMN-th field. */
static bool parse_record(const uint8_t *text, size_t len, size_t *at,
                         uint8_t *key, size_t *key_len)
{
    size_t end = *at, column = 1;
    bool inside = false;

    while (end < len && (inside || text[end] != '\n'))
        inside ^= text[end++] == '"';
    size_t i = *at, stop = end;
    *at = end + 1;
    if (stop > i && text[stop - 1] == '\r')
        stop--;
    *key_len = 0;
    for (;; column++, i++) {
        bool quoted = i < stop && text[i] == '"';
        i += quoted;
        for (; i < stop; i++) {
            if (quoted && text[i] == '"' && i + 1 < stop && text[i + 1] == '"')
                i++;
            else if (text[i] == '"' || (!quoted && text[i] == ','))
                break;
            if (column == COLUMN)
                key[(*key_len)++] = text[i];
        }
        if (quoted && (i == stop || text[i] != '"'))
            return false;
        i += quoted;
        if (i >= stop)
            return column >= COLUMN;
        if (text[i] != ',')
            return false;
    }
}

/* Writes the keys of a CSV file. Returns false at a bad record. */
static bool parse_csv(const uint8_t *text, size_t len, bool skip_bad, FILE *out)
{
    static uint8_t key[MAX_TEXT];
    size_t at = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    size_t key_len;

    while (at < len) {
        size_t from = at;
        bool fine = parse_record(text, len, &at, key, &key_len);
        bool empty =
            text[from] == '\n' ||
            (text[from] == '\r' && (from + 1 == len || text[from + 1] == '\n'));
        if (empty)
            continue;
        if (!fine && !skip_bad)
            return false;
        if (fine && key_len)
            append_key(out, key, key_len, 1);
    }
    return true;
}

/* --- the real one ----------------------------------------------------------
 */

static bool is_name(const uint8_t *key, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (key[i] <= ' ' || strchr("/|^#\"", key[i]))
            return false;
    return len > 0;
}

static umbel_status use_batch(void *ctx, const um_key_batch *batch,
                              umbel_error *err)
{
    outcome *o = ctx;

    (void)err;
    for (size_t i = 0; i < batch->n; i++) {
        const umbel_slice *key = &batch->keys[i];
        UM_WANT(key->len > 0 && batch->lines[i].len > 0);
        UM_WANT(o->list <= UM_LIST_HIBP || is_name(key->data, key->len));
        UM_WANT(o->list != UM_LIST_HIBP || key->len == 40 || key->len == 32);
        append_key(o->out, key->data, key->len, batch->amounts[i]);
    }
    return UMBEL_OK;
}

static void use_bad(void *ctx, const char *where, umbel_slice line,
                    const char *what)
{
    UM_WANT(strstr(where, "line ") && line.len && *what);
    (void)ctx;
}

/* Reads the text through a pipe. */
static umbel_status read_pipe(const um_key_format *format, unsigned threads,
                              um_fuzz_pipe f, outcome *o)
{
    umbel_error err;
    char path[32];
    int fds[2];

    UM_WANT(pipe(fds) == 0);
    f.fd = fds[1];
    snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
    um_key_source source = {.paths = (const char *const[]){path},
                            .npaths = 1,
                            .format = *format,
                            .threads = threads,
                            .bad_line = use_bad,
                            .progress = um_fuzz_send_next,
                            .progress_ctx = &f};
    umbel_status status = um_keys_each_batch(&source, use_batch, o, &err);
    close(fds[0]);
    if (f.fd >= 0)
        close(f.fd);
    if (status != UMBEL_OK)
        um_fuzz_check_error(status, &err);
    const char *line = status == UMBEL_E_KEY ? strstr(err.text, "line ") : "";
    fprintf(o->out, "= %d %s", status, line ? line : "");
    return status;
}

static um_key_format read_format(const uint8_t head[HEAD])
{
    static const um_key_format formats[] = {
        {.csv = true, .field = COLUMN},
        {.csv = true, .column = "k"},
        {.json_field = "k"},
        {.list = UM_LIST_HIBP},
        {.list = UM_LIST_HOSTS},
        {.list = UM_LIST_ADBLOCK},
        {.list = UM_LIST_DOMAINS},
        {.list = UM_LIST_HIBP, .amount_field = 2}};
    um_key_format f = formats[head[0] % 8];

    f.fold_case = head[0] & 8;
    f.skip_bad = head[0] & 16;
    return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < HEAD || len - HEAD > MAX_TEXT)
        return 0;
    um_key_format format = read_format(data);
    unsigned threads = data[0] & 32 && um_fuzz_one_in(16, data, len) ? 2 : 1;
    um_fuzz_pipe f = {.text = data + HEAD, .len = len - HEAD, .step = MAX_TEXT};
    outcome whole, pieces, plain;
    um_unpacker *unpacker = NULL;

    begin(&whole, &format);
    umbel_status status = read_pipe(&format, 1, f, &whole);
    fclose(whole.out);
    UM_WANT(um_unpack_open(f.text, f.len, &unpacker, NULL) == UMBEL_OK);
    f.step = (size_t)data[1] + 1;
    /* A tar archive is refused as a list only if its header arrives at once.
     * How many keys come before damage to compressed data depends on the
     * pieces. */
    if ((!um_is_tar(f.text, f.len) || format.list == UM_LIST_HIBP) &&
        (!unpacker || status == UMBEL_OK)) {
        begin(&pieces, &format);
        read_pipe(&format, threads, f, &pieces);
        fclose(pieces.out);
        UM_WANT(whole.len == pieces.len &&
                memcmp(whole.text, pieces.text, whole.len) == 0);
        free(pieces.text);
    }
    if (format.field == COLUMN && !format.fold_case && !unpacker &&
        status != UMBEL_E_FORMAT) {
        begin(&plain, &format);
        bool fine = parse_csv(f.text, f.len, format.skip_bad, plain.out);
        fclose(plain.out);
        UM_WANT(fine == (status == UMBEL_OK));
        UM_WANT(plain.len <= whole.len &&
                memcmp(plain.text, whole.text, plain.len) == 0);
        UM_WANT(whole.text[plain.len] == '=');
        free(plain.text);
    }
    um_unpack_close(unpacker);
    free(whole.text);
    return 0;
}
