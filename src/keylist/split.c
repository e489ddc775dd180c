/*
 * split.c - splits lines into keys, weights and amounts, and decodes
 * hexadecimal digits.
 *
 * Keys are slices of the text, which is not moved. Empty lines and empty keys
 * are skipped. A line loses a carriage return at its end, and a file a byte
 * order mark at its beginning; records that end with NUL lose nothing.
 */
#include "keylist/internal.h"

#include "base/batch.h"
#include "base/bits.h"
#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "keylist/csv.h"
#include "keylist/list_format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SEPARATED "(fields are separated by --delimiter, a tab by default)"

/* Stores what is wrong with the last line. */
static bool is_bad(um_piece *p, const char *what)
{
    p->bad = what;
    return false;
}

/* Stores what is wrong, after the text that is. Skipped lines are reported with
 * their text. */
static bool is_bad_text(const um_key_format *f, um_piece *p, umbel_slice text,
                        const char *what)
{
    umbel_error why;

    if (f->skip_bad)
        return is_bad(p, what);
    um_set_error(&why, UMBEL_E_KEY, "%s", what);
    um_refuse_key(text, &why, &p->why);
    return is_bad(p, p->why.text);
}

/* Finds a field of CSV, and removes quotation marks. */
static bool find_csv_field(const um_key_format *f, um_piece *p, uint64_t n,
                           umbel_slice line, umbel_slice *out)
{
    bool doubled = false;
    const char *wrong =
        um_csv_field(line, um_format_delimiter(f), n, out, &doubled);

    if (wrong)
        return is_bad(p, wrong);
    if (doubled) {
        uint8_t *copy = p->decoded + p->decoded_len;
        *out = (umbel_slice){copy, um_csv_unquote(*out, copy)};
        p->decoded_len += out->len;
    }
    return true;
}

/* Finds field n of a line, or its last field. Returns false if the line has no
 * such field. */
static bool find_field(const um_key_format *f, uint64_t n, umbel_slice line,
                       umbel_slice *out)
{
    const char *at = line.data, *end = at + line.len;
    char delimiter = um_format_delimiter(f);

    for (uint64_t i = 1;; i++) {
        const char *stop = memchr(at, delimiter, (size_t)(end - at));
        if (i == n || (n == UM_LAST_FIELD && !stop)) {
            *out = (umbel_slice){at, (size_t)((stop ? stop : end) - at)};
            return true;
        }
        if (!stop)
            return false;
        at = stop + 1;
    }
}

/* --- weights and amounts -------------------------------------------------- */

static bool is_tsv(const char *path)
{
    size_t len = strlen(path);

    return len >= 4 && strcmp(path + len - 4, ".tsv") == 0;
}

bool um_file_has_weights(const um_key_format *f, const char *file)
{
    if (um_format_has_names(f))
        return false;
    return f->weights == UM_WEIGHTS_TSV ? is_tsv(file)
                                        : f->weights == UM_WEIGHTS_ALL;
}

static bool parse_weight(umbel_slice text, double *out)
{
    static const char digits[] = "0123456789+-.eE";
    char number[64] = {0}, *end;

    if (text.len == 0 || text.len >= sizeof number)
        return false;
    memcpy(number, text.data, text.len);
    *out = strtod(number, &end);
    return strspn(number, digits) == text.len && end == number + text.len &&
           isfinite(*out);
}

/* Parses the last field of the line as a weight, and removes it from the
 * line. */
static bool split_weight(const um_key_format *f, um_piece *p, umbel_slice *line)
{
    umbel_slice text;
    double *weight = &p->weights[p->n];

    if (!f->csv)
        find_field(f, UM_LAST_FIELD, *line, &text);
    else if (!find_csv_field(f, p, UM_LAST_FIELD, *line, &text))
        return false;
    if (text.data == line->data)
        return is_bad(p, "no weight after the key " SEPARATED);
    if (!parse_weight(text, weight))
        return is_bad(p, "the weight is not a number");
    if (*weight < 0)
        return is_bad(p, "the weight is negative");
    if (*weight != 0 && (*weight < 1e-100 || *weight > 1e100))
        return is_bad(p, "the weight is neither 0 nor from 1e-100 to 1e100");
    if (!f->csv)
        line->len -= text.len + 1;
    return true;
}

/* Parses an amount of up to 64 bits, more than the 53 bits of a weight. */
static bool parse_amount(const um_key_format *f, um_piece *p, umbel_slice line)
{
    umbel_slice text;
    uint64_t most;

    if (f->csv && !find_csv_field(f, p, f->amount_field, line, &text))
        return false;
    if ((!f->csv && !find_field(f, f->amount_field, line, &text)) ||
        text.len == 0)
        return is_bad(p, "there is no number in that field");
    const char *digits = text.data;
    if (digits[0] == '-')
        return is_bad(p, "the number is negative");
    if (um_decimal_read(digits, text.len, UINT64_MAX, &p->amounts[p->n]))
        return true;
    return is_bad(p, um_decimal_scan(digits, text.len, &most) < text.len
                         ? "not a whole number"
                         : "the number is larger than 2^64 - 1");
}

/* --- keys ----------------------------------------------------------------- */

static bool parse_json(const um_key_format *f, um_piece *p, umbel_slice *key)
{
    uint8_t *out = p->decoded + p->decoded_len;
    size_t len;
    const char *wrong = um_json_member_key(*key, f->json_field, out, &len);

    *key = (umbel_slice){out, len};
    p->decoded_len += len;
    return !wrong || is_bad(p, wrong);
}

/* Finds the hash of a line, which replaces the line if it was incomplete. */
static bool parse_hash(um_piece *p, umbel_slice *key)
{
    uint8_t *out = p->decoded + p->decoded_len;
    const char *wrong = um_hibp_hash(key, p->range, out);

    if (key->data == out) {
        p->decoded_len += UM_HIBP_DIGITS;
        p->lines[p->n] = *key;
    }
    return !wrong || is_bad(p, wrong);
}

/* Finds the key of a line: a member of a JSON object, a hash, or a field. */
static bool parse_field(const um_key_format *f, um_piece *p, umbel_slice *key)
{
    uint64_t field = f->field || !f->amount_field ? f->field : 1;

    if (f->json_field)
        return parse_json(f, p, key);
    if (f->list == UM_LIST_HIBP)
        return parse_hash(p, key);
    if (f->csv)
        return find_csv_field(f, p, f->column ? p->field : field, *key, key);
    umbel_slice line = *key;
    if (field && !find_field(f, field, line, key))
        return is_bad(p, "too few fields for --field " SEPARATED);
    p->nfields[key->len < line.len] += field > 0;
    return true;
}

/* --- lines ---------------------------------------------------------------- */

static bool no_memory(um_piece *p)
{
    p->status = um_fail(&p->err, UMBEL_E_NOMEM, "no memory to split lines");
    return false;
}

static bool parse_form(const um_key_format *f, um_piece *p, umbel_slice *key)
{
    uint8_t *out = p->decoded + p->decoded_len;

    if (UM_FORM_SPACE(key->len) > p->decoded_cap - p->decoded_len)
        return no_memory(p);
    if (um_form_key(um_format_form(f), f->hex, *key, out, key, &p->why)) {
        p->keys[p->n] = *key;
        return f->form == UMBEL_KEYS_DOMAIN && !f->skip_bad
                   ? is_bad_text(f, p, *key, p->why.text)
                   : is_bad(p, p->why.text);
    }
    p->decoded_len += key->len;
    return true;
}

/* Reserves space for one more key. */
static bool grow_keys(const um_key_format *f, um_piece *p)
{
    size_t cap = p->keys_cap ? 2 * p->keys_cap : 4 * (size_t)UM_BATCH;

    if (p->n < p->keys_cap)
        return true;
    if (!um_array_resize(&p->keys, cap, sizeof *p->keys) ||
        !um_array_resize(&p->lines, cap, sizeof *p->lines) ||
        !um_array_resize(&p->texts, cap, sizeof *p->texts) ||
        !um_array_resize(&p->weights, cap, sizeof *p->weights) ||
        !um_array_resize(&p->amounts, cap, sizeof *p->amounts))
        return no_memory(p);
    for (; p->keys_cap < cap; p->keys_cap++) { /* the values for plain lines */
        p->weights[p->keys_cap] = 1;
        p->amounts[p->keys_cap] = f->times ? f->times : 1;
    }
    return true;
}

/* Returns true if keys are not converted to another form. */
static bool are_unchanged(const um_key_format *f)
{
    return um_format_form(f) == UMBEL_KEYS_TEXT;
}

/* Reserves space for all converted keys of the text. A key takes at most 16
 * times its line: the shortest line with a digest has two bytes. Keys in
 * quotation marks, of JSON and of range files are copied before that. */
static bool grow_decoded(const um_key_format *f, um_piece *p)
{
    size_t copies = (are_unchanged(f) ? 0
                     : f->form        ? 16
                                      : 1) +
                    3 * (size_t)(f->csv || f->json_field || f->list);

    p->decoded_cap = UM_FORM_SPACE(copies * p->len);
    return !copies || um_array_resize(&p->decoded, p->decoded_cap, 1) ||
           no_memory(p);
}

size_t um_mark_len(const uint8_t *text, size_t len)
{
    static const uint8_t mark[] = {0xEF, 0xBB, 0xBF};

    return len >= sizeof mark && memcmp(text, mark, sizeof mark) == 0
               ? sizeof mark
               : 0;
}

/* Removes a byte order mark and a carriage return. */
static umbel_slice trim_line(const um_key_format *f, const um_piece *p,
                             const uint8_t *at, size_t len)
{
    size_t mark = 0;

    if (f->null_ended)
        return (umbel_slice){at, len};
    if (p->first && p->nlines == 0)
        mark = um_mark_len(at, len);
    if (len > mark && at[len - 1] == '\r')
        len--;
    return (umbel_slice){at + mark, len - mark};
}

/* Begins a key: sets its line, and the values for plain lines. */
static void begin_key(const um_key_format *f, um_piece *p, umbel_slice line)
{
    p->lines[p->n] = line;
    p->weights[p->n] = 1;
    p->amounts[p->n] = f->times ? f->times : 1;
}

/* Converts the key that was begun, and appends it unless it is
 * empty. */
static bool append_key(const um_key_format *f, um_piece *p, umbel_slice key)
{
    p->texts[p->n] = key;
    if (key.len && !are_unchanged(f) && !parse_form(f, p, &key))
        return false;
    p->keys[p->n] = key;
    p->n += key.len > 0;
    return true;
}

/* Parses a line with any number of keys. */
static bool parse_names(const um_key_format *f, um_piece *p, umbel_slice line)
{
    const char *wrong = um_list_names(f->list, &line, &p->left_out);
    umbel_slice name;

    if (wrong)
        return is_bad_text(f, p, line, wrong);
    while (um_list_next(f->list, &line, &name)) {
        if (!grow_keys(f, p))
            return false;
        begin_key(f, p, name);
        if (!append_key(f, p, name))
            return false;
    }
    return true;
}

/* Parses the key of a line. Returns false if the line is bad or memory runs
 * out. */
static bool parse_line(const um_key_format *f, um_piece *p, const uint8_t *at,
                       size_t len)
{
    umbel_slice line = trim_line(f, p, at, len), key = line;
    bool header = p->header && p->nlines == 0;

    p->nlines++;
    if (line.len == 0 || header)
        return true;
    if (!grow_keys(f, p))
        return false;
    begin_key(f, p, line);
    if (line.len > UM_MAX_KEY_LEN)
        return is_bad(p, f->csv ? "longer than 1 MiB, the limit for a record: "
                                  "is a quotation mark not closed?"
                                : "longer than 1 MiB, the limit for a key");
    if (f->list > UM_LIST_HIBP)
        return parse_names(f, p, line);
    if ((f->amount_field && !parse_amount(f, p, line)) ||
        (um_file_has_weights(f, p->file) && !split_weight(f, p, &key)) ||
        !parse_field(f, p, &key))
        return false;
    return append_key(f, p, key);
}

/* Records the last line as skipped, so that parsing continues. */
static bool skip_line(um_piece *p)
{
    size_t cap = p->skipped_cap ? 2 * p->skipped_cap : 16;

    if (p->nskipped == p->skipped_cap) {
        if (!um_array_resize(&p->skipped, cap, sizeof *p->skipped))
            return no_memory(p);
        p->skipped_cap = cap;
    }
    p->skipped[p->nskipped++] =
        (um_bad_line){.number = p->nlines,
                      .what = p->bad == p->why.text ? NULL : p->bad,
                      .line = p->lines[p->n],
                      .key = p->keys[p->n]};
    p->bad = NULL;
    return true;
}

/* Parses a line of any format. Returns false if parsing must stop. */
static bool parse_any(const um_key_format *f, um_piece *p, const uint8_t *at,
                      const uint8_t *end)
{
    if (!parse_line(f, p, at, (size_t)(end - at)) &&
        !(f->skip_bad && p->bad && skip_line(p)))
        return false;
    for (; f->csv && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        p->nlines++; /* inside quotation marks */
    return true;
}

/* --- plain lines ---------------------------------------------------------- */

bool um_lines_are_keys(const um_key_format *f)
{
    return !f->null_ended && !f->field && !f->amount_field && !f->weights &&
           are_unchanged(f) && !f->csv && !f->json_field &&
           f->list == UM_LIST_LINES;
}

/* Returns a mask in which bit i is set if a line ends at p[i]. */
static inline uint64_t find_ends(const uint8_t *p, char end)
{
    uint64_t ends = 0;

#ifdef __SSE2__
    const __m128i all = _mm_set1_epi8(end);
    for (unsigned i = 0; i < 4; i++) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p + i);
        int some = _mm_movemask_epi8(_mm_cmpeq_epi8(x, all));
        ends |= (uint64_t)(unsigned)some << 16 * i;
    }
#else
    for (unsigned i = 0; i < 64; i++)
        ends |= (uint64_t)(p[i] == (uint8_t)end) << i;
#endif
    return ends;
}

/* Does the work of parse_any for a line that is a key as a whole and not the
 * first one. */
static inline bool parse_plain(const um_key_format *f, um_piece *p,
                               const uint8_t *at, const uint8_t *end)
{
    size_t len = (size_t)(end - at);

    if (len > UM_MAX_KEY_LEN || p->n == p->keys_cap)
        return parse_any(f, p, at, end);
    p->nlines++;
    len -= len && at[len - 1] == '\r';
    p->keys[p->n] = (umbel_slice){at, len};
    p->n += len > 0;
    return true;
}

/* Parses the lines that end in whole blocks of 64 bytes of the text, from at
 * on. Returns the beginning of the next line, or NULL if parsing must stop. */
UM_INLINE const uint8_t *parse_blocks(const um_key_format *f, um_piece *p,
                                      const uint8_t *at, bool plain)
{
    const uint8_t *block = at, *stop = p->text + p->len;
    char last = um_format_end(f);

    for (; stop - block >= 64; block += 64)
        for (uint64_t ends = find_ends(block, last); ends; ends &= ends - 1) {
            const uint8_t *end = block + __builtin_ctzll(ends);
            if (!(plain ? parse_plain(f, p, at, end)
                        : parse_any(f, p, at, end)))
                return NULL;
            at = end + 1;
        }
    return at;
}

/* --- pieces --------------------------------------------------------------- */

/* Parses the line at `at`. Returns the beginning of the next one, or NULL if
 * parsing must stop or there is none. */
static const uint8_t *parse_next(const um_key_format *f, um_piece *p,
                                 const uint8_t *at)
{
    size_t left = (size_t)(p->text + p->len - at);
    const uint8_t *end = f->csv ? um_csv_record_end(at, at + left)
                                : memchr(at, um_format_end(f), left);

    if (!end)
        end = at + left; /* the last line may lack its newline */
    return parse_any(f, p, at, end) && end + 1 < at + left ? end + 1 : NULL;
}

void um_split_piece(const um_key_format *f, um_piece *p)
{
    p->n = p->decoded_len = 0;
    p->nlines = p->nskipped = 0;
    p->nfields[0] = p->nfields[1] = 0;
    p->bad = NULL;
    p->left_out = (um_left_out){0};
    if (p->len == 0 || !grow_decoded(f, p))
        return;
    const uint8_t *at = parse_next(f, p, p->text); /* may have a BOM */
    if (at && !f->csv)
        at = um_lines_are_keys(f) ? parse_blocks(f, p, at, true)
                                  : parse_blocks(f, p, at, false);
    while (at && at < p->text + p->len)
        at = parse_next(f, p, at);
}
