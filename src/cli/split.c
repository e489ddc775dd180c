/*
 * split.c - lines, fields, hexadecimal digits.
 *
 * Keys are slices of the text, which is not moved. Empty lines are no keys.
 * Lines lose a carriage return at their end, and files a byte order mark at
 * their beginning; records of -0 lose nothing.
 */
#include "cli/split.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const um_option um_keys_options[] = {
    {"null", '0', NULL, "keys end with a NUL byte, not a newline"},
    {"hex", 0, NULL, "keys are written in hexadecimal"},
    {"field", 0, "N", "the key is the N-th field of the line"},
    {"delimiter", 0, "C", "what stands between fields (default: a tab)"},
    {0}};

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

static bool is_tsv(const char *path)
{
    static const char end[] = ".tsv";
    size_t len = strlen(path), n = sizeof end - 1;

    return len >= n && strcmp(path + len - n, end) == 0;
}

static bool names_tsv(const um_args *args, const char *option)
{
    const char *path;

    for (size_t i = 0; (path = um_value_at(args, option, i)); i++)
        if (is_tsv(path))
            return true;
    return false;
}

/* Who names a delimiter and no field would get whole lines, without a word. */
static umbel_status want_fields(const um_args *args, umbel_error *err)
{
    if (!um_has(args, "delimiter") || um_has(args, "field") ||
        um_has(args, "weights") || um_has(args, "amount-field") ||
        um_value(args, "counts") || um_value(args, "values") ||
        names_tsv(args, "never") || names_tsv(args, "members"))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "--delimiter alone does nothing, whole lines are keys: say "
                   "which field is the key, with --field N");
}

umbel_status um_rule_init(um_rule *r, const um_args *args, umbel_error *err)
{
    *r = (um_rule){.end = um_has(args, "null") ? '\0' : '\n',
                   .hex = um_has(args, "hex")};
    umbel_status status = parse_delimiter(args, &r->delimiter, err);
    if (status == UMBEL_OK)
        status = want_fields(args, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "field", &r->field, err);
    if (status == UMBEL_OK && um_has(args, "field") && r->field == 0)
        status = um_fail(err, UMBEL_E_RANGE, "--field counts from 1");
    return status;
}

bool um_rule_is_plain(const um_rule *r)
{
    return r->end == '\n' && !r->hex && !r->field && !r->amount;
}

/* The last line that was looked at is bad. */
static bool is_bad(um_piece *p, const char *what)
{
    p->bad = what;
    return false;
}

/* The N-th field of a line, its last with 0; false: there is none. */
static bool find_field(const um_rule *r, uint64_t n, umbel_slice line,
                       umbel_slice *out)
{
    const char *at = line.data, *end = at + line.len;

    for (uint64_t i = 1;; i++) {
        const char *stop = memchr(at, r->delimiter, (size_t)(end - at));
        if (i == n || (n == 0 && !stop)) {
            *out = (umbel_slice){at, (size_t)((stop ? stop : end) - at)};
            return true;
        }
        if (!stop)
            return false;
        at = stop + 1;
    }
}

static bool take_field(const um_rule *r, um_piece *p, umbel_slice *key)
{
    if (find_field(r, r->field, *key, key))
        return true;
    return is_bad(p, "it has fewer fields than --field asks for (what stands "
                     "between them: --delimiter, default a tab)");
}

static bool is_weighed(const um_rule *r, const um_piece *p)
{
    return r->weigh == UM_WEIGH_TSV ? is_tsv(p->file)
                                    : r->weigh == UM_WEIGH_ALL;
}

/* Take the last field off the key and read it as a weight. */
static bool take_weight(const um_rule *r, um_piece *p, umbel_slice *key)
{
    static const char digits[] = "0123456789+-.eE";
    const char *text = key->data, *at = text + key->len;
    char number[64] = {0}, *end;
    double *weight = &p->weights[p->n];

    while (at > text && at[-1] != r->delimiter)
        at--;
    size_t len = (size_t)(text + key->len - at);
    if (at == text)
        return is_bad(p, "no weight behind the key (what stands between them: "
                         "--delimiter, default a tab)");
    if (len == 0 || len >= sizeof number)
        return is_bad(p, "the weight is no number");
    memcpy(number, at, len);
    *weight = strtod(number, &end);
    if (strspn(number, digits) != len || end != number + len ||
        !isfinite(*weight))
        return is_bad(p, "the weight is no number");
    if (*weight < 0)
        return is_bad(p, "the weight is negative");
    if (*weight != 0 && (*weight < 1e-100 || *weight > 1e100))
        return is_bad(p, "the weight is not 0, nor from 1e-100 to 1e100");
    key->len = (size_t)(at - 1 - text);
    return true;
}

/* Cells of 64 bits hold any of them, which a weight's 53 bits do not. */
static bool take_amount(const um_rule *r, um_piece *p, umbel_slice line)
{
    umbel_slice text;
    uint64_t amount = 0;
    uint64_t field = r->amount == UM_LAST_FIELD ? 0 : r->amount;

    if (!find_field(r, field, line, &text) || text.len == 0)
        return is_bad(p, "there is no number in that field");
    const char *digits = text.data;
    if (digits[0] == '-')
        return is_bad(p, "the number is negative");
    for (size_t i = 0; i < text.len; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return is_bad(p, "it is no whole number");
        uint64_t digit = (uint64_t)(digits[i] - '0');
        if (amount > (UINT64_MAX - digit) / 10)
            return is_bad(p, "the number is larger than 2^64 - 1");
        amount = amount * 10 + digit;
    }
    p->amounts[p->n] = amount;
    return true;
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

static bool take_hex(um_piece *p, umbel_slice *key)
{
    uint8_t *out = p->decoded + p->decoded_len;
    size_t len = key->len / 2;

    if (key->len % 2)
        return is_bad(p, "an odd number of hexadecimal digits");
    if (!um_decode_hex(key->data, key->len, out))
        return is_bad(p, "not hexadecimal");
    p->decoded_len += len;
    *key = (umbel_slice){out, len};
    return true;
}

static bool no_memory(um_piece *p)
{
    p->status = um_fail(&p->err, UMBEL_E_NOMEM, "no memory to split lines");
    return false;
}

static bool grow(umbel_slice **slices, size_t room)
{
    umbel_slice *more = realloc(*slices, room * sizeof *more);

    if (more)
        *slices = more;
    return more;
}

static bool grow_weights(double **weights, size_t room)
{
    double *more = realloc(*weights, room * sizeof *more);

    if (more)
        *weights = more;
    return more;
}

static bool grow_amounts(uint64_t **amounts, size_t room)
{
    uint64_t *more = realloc(*amounts, room * sizeof *more);

    if (more)
        *amounts = more;
    return more;
}

static bool want_slices(um_piece *p)
{
    size_t room = p->room ? 2 * p->room : 1024;

    if (p->n < p->room)
        return true;
    if (!grow(&p->keys, room) || !grow(&p->lines, room) ||
        !grow_weights(&p->weights, room) || !grow_amounts(&p->amounts, room))
        return no_memory(p);
    p->room = room;
    return true;
}

/* Bytes of a mark that some systems put before the first line of a text. */
static size_t mark_len(const um_rule *r, const um_piece *p, const uint8_t *at,
                       size_t len)
{
    static const uint8_t mark[] = {0xEF, 0xBB, 0xBF};
    bool first = p->first && p->nlines == 0 && r->end == '\n';

    return first && len >= sizeof mark && memcmp(at, mark, sizeof mark) == 0
               ? sizeof mark
               : 0;
}

/* One line, which is a key unless it is empty; false: no further one. */
static bool take_line(const um_rule *r, um_piece *p, const uint8_t *at,
                      size_t len)
{
    size_t mark = mark_len(r, p, at, len);

    at += mark;
    len -= mark;
    p->nlines++;
    if (r->end == '\n' && len && at[len - 1] == '\r')
        len--;
    if (len > UM_MAX_KEY_LEN)
        return is_bad(p, "longer than 1 MiB, which no key may be");
    if (len == 0)
        return true;
    umbel_slice line = {at, len}, key = line;
    if (!want_slices(p))
        return false;
    p->weights[p->n] = 1;
    p->amounts[p->n] = 1;
    if ((r->amount && !take_amount(r, p, line)) ||
        (is_weighed(r, p) && !take_weight(r, p, &key)) ||
        (r->field && !take_field(r, p, &key)) || (r->hex && !take_hex(p, &key)))
        return false;
    p->lines[p->n] = line;
    p->keys[p->n] = key;
    p->n += key.len > 0;
    return true;
}

/* Room for all keys of the text at once: two digits a byte. */
static bool want_decoded(const um_rule *r, um_piece *p)
{
    if (!r->hex)
        return true;
    free(p->decoded);
    p->decoded = malloc(p->len / 2 + 1);
    return p->decoded || no_memory(p);
}

void um_split(const um_rule *r, um_piece *p)
{
    p->n = p->decoded_len = 0;
    p->nlines = 0;
    p->bad = NULL;
    if (p->len == 0) /* and perhaps no text at all */
        return;
    const uint8_t *at = p->text, *stop = at + p->len;
    bool go_on = want_decoded(r, p);
    while (go_on && at < stop) {
        const uint8_t *end = memchr(at, r->end, (size_t)(stop - at));
        if (!end)
            end = stop; /* the last line of a file may lack its end */
        go_on = take_line(r, p, at, (size_t)(end - at));
        at = end + 1;
    }
}
