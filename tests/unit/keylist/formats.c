/*
 * formats.c - CSV, JSON lines, hosts files, adblock rules, domains, hashes of
 * Have I Been Pwned, and files compressed with zstd and bzip2. Every text is
 * read from a file and from pipes in pieces of several sizes.
 */
#include "support/key_input.h"

#include "keylist/internal.h"
#include "keylist/ranges.h"

#include <bzlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

/* A text, and the keys in it, or also why it is refused after them. */
typedef struct example {
    const char *text, *keys, *reason;
} example;

static void check_examples(const um_key_format *f, const example *rows,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        test_input in;
        test_input_bytes(f, rows[i].text, strlen(rows[i].text), &in);
        assert_string_equal(in.reason, rows[i].reason ? rows[i].reason : "");
        assert_string_equal(in.keys, rows[i].keys);
        assert_int_equal(in.status, rows[i].reason ? UMBEL_E_KEY : UMBEL_OK);
        test_input_fini(&in);
    }
}

#define CHECK(format, ...)                                                     \
    do {                                                                       \
        static const example rows[] = {__VA_ARGS__};                           \
        um_key_format f = format;                                              \
        check_examples(&f, rows, TEST_COUNT(rows));                            \
    } while (0)
#define FORMAT(...) ((um_key_format){__VA_ARGS__})

/* --- CSV -------------------------------------------------------------------
 */

static void a_column_of_csv_is_the_key(void **state)
{
    (void)state;
    CHECK(FORMAT(.csv = true, .field = 2),
          {"a,b,c\r\nd,e,f\r\n", "b|e|", NULL}, /* RFC 4180, 2.1 */
          {"a,b\nd,e", "b|e|", NULL},           /* 2.2: no last newline */
          {"a,\"b\"\n\"d\",\"\"\n", "b|", NULL},
          {"a,\"b\r\nx\"\nd,\"e,f\"\ng,h\n", "b\\x0d\\x0ax|e,f|h|",
           NULL},                                  /* 2.6 */
          {"a,\"b\"\"c\"\"\"\n", "b\"c\"|", NULL}, /* 2.7 */
          {"\xEF\xBB\xBF\"a\",b\n\n,c\n", "b|c|", NULL},
          {"a, b \n", " b |", NULL}, /* 2.4: spaces are part of a field */
          {"a,x\\\"\n", "",
           "line 1: a quotation mark inside a field that does "
           "not begin with one"});
    CHECK(FORMAT(.csv = true, .field = 1, .delimiter = ';'),
          {"a;b\n\"c;d\";e\n", "a|c;d|", NULL});
    CHECK(FORMAT(.csv = true, .field = 1, .hex = true),
          {"\"4142\",x\n43,y\n", "AB|C|", NULL});
    CHECK(FORMAT(.csv = true, .field = 1, .fold_case = true),
          {"\"A\"\"B\",x\nC,y\n", "a\"b|c|", NULL});
}

static void a_column_has_a_name_in_each_file(void **state)
{
    (void)state;
    CHECK(FORMAT(.csv = true, .column = "k"), {"a,k\n1,2\n3,4\n", "2|4|", NULL},
          {"\xEF\xBB\xBFk,a\r\n1,2\r\n", "1|", NULL},
          {"\"k\"\n1\n", "1|", NULL}, {"\"a\nb\",k\n1,2\n", "2|", NULL},
          {"k\n", "", NULL},
          {"a,b\n1,2\n", "", "no column \"k\" in its first line: a,b"});
    CHECK(FORMAT(.csv = true, .column = "a\"b"),
          {"\"a\"\"b\"\n1\n", "1|", NULL});
}

static void damaged_csv_is_refused_with_its_line(void **state)
{
    (void)state;
    CHECK(FORMAT(.csv = true, .field = 1),
          {"a,b\n\"c\nd\",e\n\"f", "a|c\\x0ad|",
           "line 4: a quotation mark is not closed"},
          {"a\n\"b\"c\n", "a|",
           "line 2: something follows a closing quotation mark (a quotation "
           "mark inside a field is doubled)"},
          /* The marks would hide the end of a line. */
          {"a,5\" b\nc,6\" d\n", "",
           "line 1: a quotation mark inside a field that does not begin with "
           "one"});
    CHECK(FORMAT(.csv = true, .field = 3),
          {"a,b,c\nd,e\n", "c|", "line 2: too few columns"});
}

typedef struct skipped {
    char text[256];
} skipped;

static void note_skipped(void *ctx, const char *where, umbel_slice line,
                         const char *what)
{
    skipped *s = ctx;
    const char *number = strstr(where, "line ");

    (void)line;
    (void)what;
    assert_non_null(number);
    size_t len = strlen(s->text);
    snprintf(s->text + len, sizeof s->text - len, "%s|", number);
}

static void bad_records_are_skipped_as_a_whole(void **state)
{
    static const char text[] =
        "a\n\"b\"x,\"\n\n\"\nc\n\"d\ne\",\"\nf\n\"g,h\ni\n";
    um_key_format f = {.csv = true, .field = 1, .skip_bad = true};

    (void)state;
    for (size_t step = 1; step < sizeof text; step++) {
        skipped bad = {""};
        test_drip d;
        test_input in;
        test_drip_open(&d, text, sizeof text - 1, step);
        um_key_source s = test_drip_source(&d, &f);
        s.bad_line = note_skipped;
        s.bad_ctx = &bad;
        test_input_read(&s, &in);
        assert_int_equal(in.status, UMBEL_OK);
        assert_string_equal(in.keys, "a|c|i|");
        assert_string_equal(bad.text, "line 2|line 6|");
        test_input_fini(&in);
        test_drip_close(&d);
    }
}

/* Reading a quotation mark that is never closed ends at the limit of a
 * record. */
static void an_unclosed_quotation_mark_ends_reading_soon(void **state)
{
    um_key_format f = {.csv = true, .field = 1};
    size_t len = 4 << 20;
    char *text = malloc(len);
    test_drip d;
    test_input in;

    (void)state;
    assert_non_null(text);
    memset(text, '\n', len);
    text[0] = '"';
    test_drip_open(&d, text, len, 50000);
    um_key_source s = test_drip_source(&d, &f);
    test_input_read(&s, &in);
    assert_int_equal(in.status, UMBEL_E_KEY);
    assert_non_null(strstr(in.reason, "is a quotation mark not closed?"));
    assert_true(d.done < 2 << 20);
    test_input_fini(&in);
    test_drip_close(&d);
    free(text);
}

static void amounts_and_weights_are_fields_of_csv(void **state)
{
    static const char text[] = "\"a,b\",\"7\"\nc,8\n";
    um_key_format f = {.csv = true, .field = 1, .amount_field = 2};
    test_input in;

    (void)state;
    test_input_bytes(&f, text, sizeof text - 1, &in);
    assert_string_equal(in.numbers, "1*7 1*8 ");
    test_input_fini(&in);
    f = (um_key_format){.csv = true, .field = 1, .weights = UM_WEIGHTS_ALL};
    test_input_bytes(&f, text, sizeof text - 1, &in);
    assert_string_equal(in.numbers, "7*1 8*1 ");
    test_input_fini(&in);
}

/* --- JSON ------------------------------------------------------------------
 */

static void a_member_of_a_json_object_is_the_key(void **state)
{
    (void)state;
    CHECK(FORMAT(.json_field = "k"),
          {"{\"k\":\"a\"}\n{\"x\":{\"k\":1},\"k\":\"b\"}\n", "a|b|", NULL},
          {" { \"k\" : \"a\" } \r\n\n{\"k\":12.50}", "a|12.50|", NULL},
          {"{\"k\":\"\\u0041\\\"\\n\\u00e9\\ud83d\\ude00\"}\n",
           "A\"\\x0a\\xc3\\xa9\\xf0\\x9f\\x98\\x80|", NULL},
          {"{\"\\u006b\":true,\"l\":2}\n", "true|", NULL},
          {"{\"k\":null}\n{\"k\":\"\"}\n{\"k\":\"b\"}\n", "b|", NULL},
          {"{\"k\":\"a\",\"k\":\"b\"}\n", "b|", NULL}, /* the last one counts */
          {"\xEF\xBB\xBF{\"k\":\"a\"}\n", "a|", NULL});
    CHECK(FORMAT(.json_field = "k", .hex = true),
          {"{\"k\":\"4a\"}\n", "J|", NULL});
}

static void other_json_is_refused(void **state)
{
    static const char no[] = "line 1: not a JSON object in one line";

    (void)state;
    CHECK(
        FORMAT(.json_field = "k"),
        {"{\"x\":1}\n", "", "line 1: no such member in this line"},
        {"{\"k\":\"a\"}\n{\"k\":[1]}\n", "a|",
         "line 2: the member is not a string or number"},
        {"{\"k\":\"\\ud83d\"}\n", "",
         "line 1: an escape in the string is invalid"},
        {"{\"k\":\"a\"} x\n", "", "line 1: something follows the JSON object"},
        {"[{\"k\":\"a\"}]\n", "",
         "line 1: a line is one JSON object: jq -c '.[]' FILE makes them of "
         "an array"},
        {"{\n\"k\":1}\n", "", no}, {"{\"k\":\"a\n", "", no}, {"k\n", "", no},
        {"{\"k\"}\n", "", no}, {"{\"k\":}\n", "", no});
}

/* --- names -----------------------------------------------------------------
 */

static void names_of_hosts_files_are_keys(void **state)
{
#define FORM                                                                   \
    ": a line of a hosts file is an address, then names; --list-format "       \
    "domains takes names alone"

    (void)state;
    CHECK(FORMAT(.list = UM_LIST_HOSTS),
          {"# x\n127.0.0.1 localhost\n0.0.0.0 a.b  c.d # e\r\n\n", "a.b|c.d|",
           NULL},
          {"::1\tx.y\nfe80::1%lo0 localhost z\n0.0.0.0 0.0.0.0\n", "x.y|z|",
           NULL},
          {"  0.0.0.0 a\n0.0.0.0\n#0.0.0.0 b\n", "a|", NULL},
          {"a.b\n", "", "line 1: \"a.b\"" FORM},
          {" 1.2.3 a\n", "", "line 1: \"1.2.3\"" FORM},
          {"0.0.0.0 a a/b\n", "",
           "line 1: \"a/b\": not a domain name after the address"});
#undef FORM
    CHECK(FORMAT(.list = UM_LIST_HOSTS, .fold_case = true),
          {"0.0.0.0 A.b\n", "a.b|", NULL});
}

static void names_of_domain_lists_are_keys(void **state)
{
    (void)state;
    CHECK(FORMAT(.list = UM_LIST_DOMAINS),
          {"# x\n! y\n; z\na.b # c\r\n*.d.e\n.f.g\nb\xC3\xBC.h\n",
           "a.b|d.e|f.g|b\\xc3\\xbc.h|", NULL},
          {"a b\n", "", "line 1: \"a b\": not a domain name"},
          {"\x1B 234567890123456789012345678901234567890\n", "",
           "line 1: \"? 23456789012345678901234567890123456789\"...: not a "
           "domain name"},
          {"0.0.0.0 a\n", "",
           "line 1: \"0.0.0.0 a\": not a domain name alone; --list-format "
           "hosts takes "
           "addresses with names"},
          {"||a^\n", "",
           "line 1: \"||a^\": not a domain name alone; --list-format adblock "
           "takes "
           "rules"},
          {"http://a.b/\n", "", "line 1: \"http://a.b/\": not a domain name"});
}

typedef struct warnings {
    char *text; /* of 1024 bytes */
} warnings;

static void append_warning(const void *ctx, const char *file, const char *text)
{
    const warnings *w = ctx;
    size_t len = strlen(w->text);

    (void)file;
    snprintf(w->text + len, 1024 - len, "%s\n", text);
}

static void rules_that_block_a_domain_are_keys(void **state)
{
    static const char text[] =
        "[Adblock Plus 2.0]\n! Title\n||a.b^\r\n||c.d^$important\n||e.f^|\n"
        "||*.g.h^\n||i.j^$third-party\n||k.l/path^\n@@||m.n^\n##.ad\n/x/\n"
        "o.p##.ad\n||q*.r^\n# comment\n";
    um_key_format f = {.list = UM_LIST_ADBLOCK};
    char warned[1024] = "";
    warnings w = {warned};
    test_drip d;
    test_input in;

    (void)state;
    test_input_bytes(&f, text, sizeof text - 1, &in);
    assert_string_equal(in.keys, "a.b|c.d|e.f|g.h|");
    test_input_fini(&in);
    test_drip_open(&d, text, sizeof text - 1, 30);
    um_key_source s = test_drip_source(&d, &f);
    s.warn = append_warning;
    s.warn_ctx = &w;
    test_input_read(&s, &in);
    assert_string_equal(w.text,
                        "lines that were left out: 6 that do not block a whole "
                        "domain, 1 with an exception (@@): make a filter "
                        "of their names, and ask with check --unless\n");
    test_input_fini(&in);
    test_drip_close(&d);
}

static void fields_have_no_meaning_in_lists_of_names(void **state)
{
    um_key_format f = {.list = UM_LIST_HOSTS, .amount_field = 2};
    umbel_error err;
    um_key_source s = {.format = f};

    (void)state;
    assert_int_equal(um_keys_each_batch(&s, NULL, NULL, &err), UMBEL_E_RANGE);
    s.format = (um_key_format){.json_field = "k", .weights = UM_WEIGHTS_ALL};
    assert_int_equal(um_keys_each_batch(&s, NULL, NULL, &err), UMBEL_E_RANGE);
}

/* --- hashes ----------------------------------------------------------------
 */

#define H35 "0123456789012345678901234567890123a"
#define H40 "ABCDE" H35

static void hashes_with_counts_are_keys(void **state)
{
    static const char form[] = "line 1: not HASH:COUNT: the hash has 40 digits "
                               "(SHA-1) or 32 (NTLM)";

    (void)state;
    CHECK(FORMAT(.list = UM_LIST_HIBP),
          {H40 ":12\r\n" H40 "\n", H40 "|" H40 "|", NULL},
          {H40 ":0\n", "", NULL}, /* padding */
          {"0123456789abcdef0123456789abcdef:1",
           "0123456789abcdef0123456789abcdef|", NULL},
          {"0123:1\n", "", form}, {H40 ":x\n", "", "line 1: not HASH:COUNT"},
          {H35 ":1\n", "",
           "line 1: the first 5 digits are missing: the name of a range file "
           "is these digits, such as 00000.txt"});
}

/* Writes a tar archive by hand. */
static size_t tar_add(uint8_t *out, const char *name, char type,
                      const char *text)
{
    size_t len = strlen(text), sum = 0;

    memset(out, 0, 512);
    snprintf((char *)out, 100, "%s", name);
    snprintf((char *)out + 124, 12, "%011o", (unsigned)len);
    out[156] = (uint8_t)type;
    snprintf((char *)out + 257, 6, "ustar");
    memset(out + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++)
        sum += out[i];
    snprintf((char *)out + 148, 7, "%06o", (unsigned)sum % 262144);
    memset(out + 512, 0, (len + 511) / 512 * 512);
    memcpy(out + 512, text, len); /* NOLINT(bugprone-not-null*): no string */
    return 512 + (len + 511) / 512 * 512;
}

static const um_key_format hibp = {.list = UM_LIST_HIBP};

static void range_files_in_a_tar_archive_are_completed(void **state)
{
    static uint8_t tar[16384];
    size_t len = 0;
    test_input in;

    (void)state;
    memset(tar, 0, sizeof tar);
    len += tar_add(tar, "r/", '5', "");
    len += tar_add(tar + len, "x", 'x', "27 mtime=1\n");
    len +=
        tar_add(tar + len, "r/00000", '0', H35 ":1\r\n" H35 ":0\r\n" H35 ":2");
    len += tar_add(tar + len, "r/00001.txt", '0', "");
    len += tar_add(tar + len, "r/README", '0', "no hash\n");
    len += tar_add(tar + len, "r/00003.gz", '0', "no hash\n");
    len += tar_add(tar + len, "r/0000f.txt", '\0', H35 ":1\n");
    size_t cut = len;
    len += 1024;
    test_input_bytes(&hibp, tar, len, &in);
    assert_string_equal(in.reason, "");
    assert_string_equal(in.keys, "00000" H35 "|00000" H35 "|0000F" H35 "|");
    test_input_fini(&in);

    test_input_bytes(&hibp, tar, cut, &in); /* no end */
    assert_int_equal(in.status, UMBEL_E_FORMAT);
    assert_string_equal(in.reason, "the tar archive is damaged or cut short");
    test_input_fini(&in);
    tar[cut - 1024 + 3] ^= 1; /* in the name of the last one */
    test_input_bytes(&hibp, tar, len, &in);
    assert_int_equal(in.status, UMBEL_E_FORMAT);
    assert_string_equal(in.keys, "00000" H35 "|00000" H35 "|");
    test_input_fini(&in);

    test_drip d;
    um_key_format plain = {.field = 0};
    test_drip_open(&d, tar, len, len);
    um_key_source s = test_drip_source(&d, &plain);
    test_input_read(&s, &in);
    test_drip_close(&d);
    assert_int_equal(in.status, UMBEL_E_FORMAT);
    assert_non_null(strstr(in.reason, "tar -xO -f"));
    test_input_fini(&in);
}

static void missing_and_doubled_range_files_are_reported(void **state)
{
    static um_range_count c;
    char text[384], range[UM_RANGE_DIGITS + 1];

    (void)state;
    assert_false(um_range_report(&c, text, sizeof text));
    for (unsigned i = 0; i < UM_RANGES; i++) {
        snprintf(range, sizeof range, "%05X", i);
        if (i != 0xABCDE)
            um_range_count_add(&c, range);
    }
    assert_true(um_range_report(&c, text, sizeof text));
    assert_string_equal(text, "range files: 1 of 1048576 are missing (first "
                              "ABCDE), so their keys were not read");
    um_range_count_add(&c, "ABCDE");
    assert_false(um_range_report(&c, text, sizeof text));
    um_range_count_add(&c, "00001");
    um_range_count_other(&c, "x");
    um_range_count_other(&c, "w\n");
    assert_true(um_range_report(&c, text, sizeof text));
    assert_string_equal(text, "range files: 1 doubled (first 00001), both "
                              "used; 2 with another name left out (first w?)");
}

static void range_files_of_a_directory_are_read_in_order(void **state)
{
    static const char *const names[] = {"0000B.txt", "0000A", "notes"};
    char *dir = test_dir_make(), *path;
    const char *paths[] = {dir};
    char warned[1024] = "";
    warnings w = {warned};
    um_key_source s = {.paths = paths,
                       .npaths = 1,
                       .format = hibp,
                       .warn = append_warning,
                       .warn_ctx = &w};
    test_input in;

    (void)state;
    test_input_read(&s, &in);
    assert_non_null(strstr(in.reason, "no range files in this directory"));
    test_input_fini(&in);
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        path = test_path(dir, names[i]);
        test_write_file(path, H35 ":1", sizeof H35 + 1);
        free(path);
    }
    for (s.threads = 1; s.threads <= 3; s.threads++) {
        w.text[0] = '\0';
        assert_true(um_keys_rereadable(&s));
        test_input_read(&s, &in);
        assert_string_equal(in.keys, "0000A" H35 "|0000B" H35 "|");
        assert_string_equal(w.text,
                            "range files: 1048574 of 1048576 are missing "
                            "(first 00000), so their keys were not read; 1 "
                            "with another name left out (first notes)\n");
        test_input_fini(&in);
    }
    path = test_path(dir, "0000B.txt");
    test_write_file(path, "x\n", 2);
    test_input_read(&s, &in);
    assert_int_equal(in.status, UMBEL_E_KEY);
    assert_non_null(strstr(in.reason, "line 1: not HASH:COUNT"));
    test_input_fini(&in);
    free(path);
    test_dir_remove(dir);
}

/* --- compression -----------------------------------------------------------
 */

typedef size_t compress_fn(char *text, size_t len, void *out, size_t cap);

static size_t compress_zstd(char *text, size_t len, void *out, size_t cap)
{
    size_t n = ZSTD_compress(out, cap, text, len, 3);

    assert_false(ZSTD_isError(n));
    return n;
}

static size_t compress_bzip2(char *text, size_t len, void *out, size_t cap)
{
    unsigned n = (unsigned)cap;

    assert_int_equal(
        BZ2_bzBuffToBuffCompress(out, &n, text, (unsigned)len, 1, 0, 0), BZ_OK);
    return n;
}

static size_t compress_gzip(char *text, size_t len, void *out, size_t cap)
{
    z_stream z = {.next_in = (Bytef *)text, .avail_in = (uInt)len};

    z.next_out = out;
    z.avail_out = (uInt)cap;
    assert_int_equal(
        deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
        Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return cap - z.avail_out;
}

static compress_fn *const compressors[] = {compress_gzip, compress_zstd,
                                           compress_bzip2};
static const um_key_format lines = {.field = 0};

static void every_compression_is_read_in_any_pieces(void **state)
{
    enum { MANY = 3000, CAP = 1 << 16 };
    char *text = malloc(CAP);
    uint8_t *out = malloc((size_t)2 * CAP);
    size_t len = 0;
    test_input plain, in;

    (void)state;
    assert_non_null(text);
    assert_non_null(out);
    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(text + len, CAP - len, "key %d\n", i * i);
    test_input_bytes(&lines, text, len, &plain);
    for (size_t i = 0; i < TEST_COUNT(compressors); i++) {
        /* in two members, as parallel compressors write them */
        size_t n = compressors[i](text, 1000, out, CAP);
        n += compressors[i](text + 1000, len - 1000, out + n, CAP);
        test_input_bytes(&lines, out, n, &in);
        assert_string_equal(in.reason, "");
        assert_string_equal(in.keys, plain.keys);
        test_input_fini(&in);
        test_input_bytes(&lines, out, n - 1, &in);
        assert_int_equal(in.status, UMBEL_E_FORMAT);
        assert_non_null(strstr(in.reason, "data is cut short"));
        test_input_fini(&in);
        memset(out + n, 'x', 4);
        test_input_bytes(&lines, out, n + 4, &in);
        assert_int_equal(in.status, UMBEL_E_FORMAT);
        assert_string_equal(in.keys, plain.keys);
        test_input_fini(&in);
        n = compressors[i](text, 1000, out, CAP);
        size_t twice = compressors[i]((char *)out, n, out + n, CAP);
        test_input_bytes(&lines, out + n, twice, &in);
        assert_non_null(strstr(in.reason, "compressed twice"));
        test_input_fini(&in);
    }
    test_input_fini(&plain);
    free(text);
    free(out);
}

static void a_file_that_expands_without_limit_is_refused(void **state)
{
    size_t len = UM_UNPACK_FREE + (4 << 20), cap = 1 << 20;
    char *text = malloc(len);
    uint8_t *out = malloc(cap);
    test_drip d;
    uint64_t keys = 0;
    umbel_error err;

    (void)state;
    assert_non_null(text);
    assert_non_null(out);
    memset(text, '\n', len);
    for (size_t i = 0; i < TEST_COUNT(compressors); i++) {
        size_t n = compressors[i](text, len, out, cap);
        test_drip_open(&d, out, n, n);
        um_key_source s = test_drip_source(&d, &lines);
        assert_int_equal(um_keys_count(&s, &keys, &err), UMBEL_E_FORMAT);
        assert_non_null(strstr(err.text, "expands to more than 500 times"));
        test_drip_close(&d);
    }
    free(text);
    free(out);
}

static void a_window_that_is_too_large_is_refused(void **state)
{
    /* a frame with a window of 2^31 bytes, and an empty last block */
    static const uint8_t frame[] = {0x28, 0xB5, 0x2F, 0xFD, 0x00,
                                    0xA8, 0x01, 0x00, 0x00};
    test_input in;

    (void)state;
    test_input_bytes(&lines, frame, sizeof frame, &in);
    assert_int_equal(in.status, UMBEL_E_FORMAT);
    assert_non_null(strstr(in.reason, "--long=31"));
    test_input_fini(&in);
}

TEST_GROUP(formats)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_of_csv_is_the_key),
        cmocka_unit_test(a_column_has_a_name_in_each_file),
        cmocka_unit_test(damaged_csv_is_refused_with_its_line),
        cmocka_unit_test(bad_records_are_skipped_as_a_whole),
        cmocka_unit_test(an_unclosed_quotation_mark_ends_reading_soon),
        cmocka_unit_test(amounts_and_weights_are_fields_of_csv),
        cmocka_unit_test(a_member_of_a_json_object_is_the_key),
        cmocka_unit_test(other_json_is_refused),
        cmocka_unit_test(names_of_hosts_files_are_keys),
        cmocka_unit_test(names_of_domain_lists_are_keys),
        cmocka_unit_test(rules_that_block_a_domain_are_keys),
        cmocka_unit_test(fields_have_no_meaning_in_lists_of_names),
        cmocka_unit_test(hashes_with_counts_are_keys),
        cmocka_unit_test(range_files_in_a_tar_archive_are_completed),
        cmocka_unit_test(missing_and_doubled_range_files_are_reported),
        cmocka_unit_test(range_files_of_a_directory_are_read_in_order),
        cmocka_unit_test(every_compression_is_read_in_any_pieces),
        cmocka_unit_test(a_file_that_expands_without_limit_is_refused),
        cmocka_unit_test(a_window_that_is_too_large_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
