/*
 * charset.c - converts bytes of a charset to UTF-8.
 *
 * ASCII and UTF-8 are decoded here. For single-byte charsets iconv is used once
 * to create a table of 256 codes; for multibyte ones it converts. Invalid bytes
 * are dropped one by one, as Python drops them.
 */
#include "base/error.h"
#include "mail/internal.h"

#include <errno.h>
#include <iconv.h>

/* How a charset is decoded. */
typedef enum form { FORM_ASCII, FORM_UTF8, FORM_BYTE, FORM_MULTI } form;

typedef struct charset_row {
    const char *iconv; /* NULL: decoded here */
    const char *names; /* names of Python, each between blanks */
    form form;
    unsigned unit; /* bytes to skip after an invalid one */
} charset_row;

/* clang-format off */
static const charset_row rows[] = {
    {NULL, " ascii 646 ansi_x3.4_1968 ansi_x3_4_1968 ansi_x3.4_1986 cp367 csascii ibm367 "
        "iso646_us iso_646.irv_1991 iso_ir_6 us us_ascii ", FORM_ASCII, 1},
    {NULL, " utf_8 u8 utf utf8 utf8_ucs2 utf8_ucs4 cp65001 ", FORM_UTF8, 1},
    {"ISO-8859-1", " latin_1 8859 cp819 csisolatin1 ibm819 iso8859 iso8859_1 iso_8859_1 "
        "iso_8859_1_1987 iso_ir_100 l1 latin latin1 ", FORM_BYTE, 1},
    {"ISO-8859-2", " iso8859_2 csisolatin2 iso_8859_2 iso_8859_2_1987 iso_ir_101 l2 latin2 ",
        FORM_BYTE, 1},
    {"ISO-8859-3", " iso8859_3 csisolatin3 iso_8859_3 iso_8859_3_1988 iso_ir_109 l3 latin3 ",
        FORM_BYTE, 1},
    {"ISO-8859-4", " iso8859_4 csisolatin4 iso_8859_4 iso_8859_4_1988 iso_ir_110 l4 latin4 ",
        FORM_BYTE, 1},
    {"ISO-8859-5", " iso8859_5 csisolatincyrillic cyrillic iso_8859_5 iso_8859_5_1988 "
        "iso_ir_144 ", FORM_BYTE, 1},
    {"ISO-8859-6", " iso8859_6 arabic asmo_708 csisolatinarabic ecma_114 iso_8859_6 "
        "iso_8859_6_1987 iso_ir_127 ", FORM_BYTE, 1},
    {"ISO-8859-7", " iso8859_7 csisolatingreek ecma_118 elot_928 greek greek8 iso_8859_7 "
        "iso_8859_7_1987 iso_ir_126 ", FORM_BYTE, 1},
    {"ISO-8859-8", " iso8859_8 csisolatinhebrew hebrew iso_8859_8 iso_8859_8_1988 "
        "iso_ir_138 ", FORM_BYTE, 1},
    {"ISO-8859-9", " iso8859_9 csisolatin5 iso_8859_9 iso_8859_9_1989 iso_ir_148 l5 latin5 ",
        FORM_BYTE, 1},
    {"ISO-8859-10", " iso8859_10 csisolatin6 iso_8859_10 iso_8859_10_1992 iso_ir_157 l6 "
        "latin6 ", FORM_BYTE, 1},
    {"ISO-8859-11", " iso8859_11 thai iso_8859_11 iso_8859_11_2001 ", FORM_BYTE, 1},
    {"ISO-8859-13", " iso8859_13 iso_8859_13 l7 latin7 ", FORM_BYTE, 1},
    {"ISO-8859-14", " iso8859_14 iso_8859_14 iso_8859_14_1998 iso_celtic iso_ir_199 l8 "
        "latin8 ", FORM_BYTE, 1},
    {"ISO-8859-15", " iso8859_15 iso_8859_15 l9 latin9 ", FORM_BYTE, 1},
    {"ISO-8859-16", " iso8859_16 iso_8859_16 iso_8859_16_2001 iso_ir_226 l10 latin10 ",
        FORM_BYTE, 1},
    {"CP1250", " cp1250 1250 windows_1250 ", FORM_BYTE, 1},
    {"CP1251", " cp1251 1251 windows_1251 ", FORM_BYTE, 1},
    {"CP1252", " cp1252 1252 windows_1252 ", FORM_BYTE, 1},
    {"CP1253", " cp1253 1253 windows_1253 ", FORM_BYTE, 1},
    {"CP1254", " cp1254 1254 windows_1254 ", FORM_BYTE, 1},
    {"CP1255", " cp1255 1255 windows_1255 ", FORM_BYTE, 1},
    {"CP1256", " cp1256 1256 windows_1256 ", FORM_BYTE, 1},
    {"CP1257", " cp1257 1257 windows_1257 ", FORM_BYTE, 1},
    {"CP1258", " cp1258 1258 windows_1258 ", FORM_BYTE, 1},
    {"CP437", " cp437 437 cspc8codepage437 ibm437 ", FORM_BYTE, 1},
    {"CP850", " cp850 850 cspc850multilingual ibm850 ", FORM_BYTE, 1},
    {"CP852", " cp852 852 cspcp852 ibm852 ", FORM_BYTE, 1},
    {"CP866", " cp866 866 csibm866 ibm866 ", FORM_BYTE, 1},
    {"CP874", " cp874 ", FORM_BYTE, 1},
    {"KOI8-R", " koi8_r cskoi8r ", FORM_BYTE, 1},
    {"KOI8-U", " koi8_u ", FORM_BYTE, 1},
    {"KOI8-T", " koi8_t ", FORM_BYTE, 1},
    {"MACINTOSH", " mac_roman macintosh macroman ", FORM_BYTE, 1},
    {"MAC-CYRILLIC", " mac_cyrillic maccyrillic ", FORM_BYTE, 1},
    {"TIS-620", " tis_620 tis620 tis_620_0 tis_620_2529_0 tis_620_2529_1 iso_ir_166 ",
        FORM_BYTE, 1},
    {"UTF-7", " utf_7 u7 utf7 unicode_1_1_utf_7 ", FORM_MULTI, 1},
    {"UTF-16", " utf_16 u16 utf16 ", FORM_MULTI, 2},
    {"UTF-16LE", " utf_16_le unicodelittleunmarked utf_16le ", FORM_MULTI, 2},
    {"UTF-16BE", " utf_16_be unicodebigunmarked utf_16be ", FORM_MULTI, 2},
    {"UTF-32", " utf_32 u32 utf32 ", FORM_MULTI, 4},
    {"UTF-32LE", " utf_32_le utf_32le ", FORM_MULTI, 4},
    {"UTF-32BE", " utf_32_be utf_32be ", FORM_MULTI, 4},
    {"EUC-CN", " gb2312 chinese csiso58gb231280 euc_cn euccn eucgb2312_cn gb2312_1980 "
        "gb2312_80 iso_ir_58 x_mac_simp_chinese ", FORM_MULTI, 1},
    {"GBK", " gbk 936 cp936 ms936 ", FORM_MULTI, 1},
    {"GB18030", " gb18030 gb18030_2000 ", FORM_MULTI, 1},
    {"BIG5", " big5 big5_tw csbig5 x_mac_trad_chinese cp950 950 ms950 ", FORM_MULTI, 1},
    {"BIG5-HKSCS", " big5hkscs big5_hkscs hkscs ", FORM_MULTI, 1},
    {"EUC-JP", " euc_jp eucjp ujis u_jis ", FORM_MULTI, 1},
    {"SHIFT_JIS", " shift_jis csshiftjis shiftjis sjis s_jis x_mac_japanese ", FORM_MULTI, 1},
    {"CP932", " cp932 932 ms932 mskanji ms_kanji ", FORM_MULTI, 1},
    {"ISO-2022-JP", " iso2022_jp csiso2022jp iso2022jp iso_2022_jp ", FORM_MULTI, 1},
    {"ISO-2022-JP-2", " iso2022_jp_2 iso2022jp_2 iso_2022_jp_2 ", FORM_MULTI, 1},
    {"ISO-2022-KR", " iso2022_kr csiso2022kr iso2022kr iso_2022_kr ", FORM_MULTI, 1},
    {"EUC-KR", " euc_kr euckr korean ksc5601 ks_c_5601 ks_c_5601_1987 ksx1001 ks_x_1001 "
        "x_mac_korean ", FORM_MULTI, 1},
    {"CP949", " cp949 949 ms949 uhc ", FORM_MULTI, 1},
    {"JOHAB", " johab cp1361 ms1361 ", FORM_MULTI, 1},
};
/* clang-format on */

enum { NO_CHARACTER = 0xffff, MAX_NAME = 40 };

struct um_charsets {
    iconv_t iconv[UM_COUNT(rows)];
    bool open[UM_COUNT(rows)];       /* iconv converts */
    uint16_t *table[UM_COUNT(rows)]; /* 256 codes; NULL: not single-byte */
};

/* --- open and close ------------------------------------------------------- */

/* Returns the code of one byte; all single-byte charsets fit into 16 bits. */
static uint16_t code_of(iconv_t cd, unsigned byte)
{
    char in = (char)byte, *from = &in;
    uint8_t out[16];
    char *to = (char *)out;
    size_t left = 1, space = sizeof out;

    iconv(cd, NULL, NULL, NULL, NULL);
    if (iconv(cd, &from, &left, &to, &space) == (size_t)-1)
        return NO_CHARACTER;
    iconv(cd, NULL, NULL, &to, &space); /* may hold back an accent */
    if (sizeof out - space != 4)
        return NO_CHARACTER;
    return (uint16_t)(out[0] | out[1] << 8);
}

static umbel_status open_charset(um_charsets *c, size_t i, umbel_error *err)
{
    bool single = rows[i].form == FORM_BYTE;

    if (!rows[i].iconv)
        return UMBEL_OK;
    c->iconv[i] = iconv_open(single ? "UCS-4LE" : "UTF-8", rows[i].iconv);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): as POSIX has it */
    c->open[i] = c->iconv[i] != (iconv_t)-1;
    if (!c->open[i] || !single)
        return UMBEL_OK;
    c->table[i] = malloc(256 * sizeof *c->table[i]);
    if (!c->table[i])
        return um_no_memory(err, 256 * sizeof *c->table[i]);
    for (unsigned byte = 0; byte < 256; byte++)
        c->table[i][byte] = code_of(c->iconv[i], byte);
    iconv_close(c->iconv[i]);
    c->open[i] = false;
    return UMBEL_OK;
}

umbel_status um_charsets_open(um_charsets **out, umbel_error *err)
{
    um_charsets *c = calloc(1, sizeof *c);

    if (!c)
        return um_no_memory(err, sizeof *c);
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        umbel_status status = open_charset(c, i, err);

        if (status != UMBEL_OK) {
            um_charsets_close(c);
            return status;
        }
    }
    *out = c;
    return UMBEL_OK;
}

void um_charsets_close(um_charsets *c)
{
    for (size_t i = 0; c && i < UM_COUNT(rows); i++) {
        if (c->open[i])
            iconv_close(c->iconv[i]);
        free(c->table[i]);
    }
    free(c);
}

/* --- names ---------------------------------------------------------------- */

/* Writes " name " as Python normalises it: runs of other characters become
 * '_'. */
static bool normal_name(umbel_slice name, char out[MAX_NAME])
{
    const uint8_t *at = name.data;
    size_t n = 0;
    bool gap = false;

    out[n++] = ' ';
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = at[i];

        if (c >= 'A' && c <= 'Z')
            c |= 0x20;
        if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.') {
            gap = true;
            continue;
        }
        if (n + 4 > MAX_NAME)
            return false;
        if (gap && n > 1)
            out[n++] = '_';
        gap = false;
        out[n++] = (char)c;
    }
    out[n++] = ' ';
    out[n] = '\0';
    return n > 2;
}

static bool is_open(const um_charsets *c, size_t i)
{
    return !rows[i].iconv || c->table[i] || c->open[i];
}

int um_charset_find(const um_charsets *c, umbel_slice name)
{
    char normal[MAX_NAME];

    if (!normal_name(name, normal))
        return -1;
    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (strstr(rows[i].names, normal))
            return is_open(c, i) ? (int)i : -1;
    return -1;
}

/* --- decoding ------------------------------------------------------------- */

static void bad_byte(um_buffer *out, um_charset_errors errors)
{
    if (errors == UM_CHARSET_REPLACE)
        um_append_char(out, 0xfffd);
}

/* Returns the length of the ASCII text that the bytes begin with. */
static size_t ascii_len(const uint8_t *text, size_t len)
{
    size_t n = 0;
    uint64_t eight;

    for (; n + sizeof eight <= len; n += sizeof eight) {
        memcpy(&eight, text + n, sizeof eight);
        if (eight & UINT64_C(0x8080808080808080))
            break;
    }
    while (n < len && text[n] < 0x80)
        n++;
    return n;
}

/* Returns the length of a character that begins with a byte above ASCII, or 0
 * and in *bad the length of an invalid sequence, at least 1. */
static size_t utf8_len(const uint8_t *s, size_t left, size_t *bad)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t want;

    *bad = 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    want = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] == 0xe0)
        low = 0xa0;
    else if (s[0] == 0xed)
        high = 0x9f;
    else if (s[0] == 0xf0)
        low = 0x90;
    else if (s[0] == 0xf4)
        high = 0x8f;
    for (; *bad < want; ++*bad, low = 0x80, high = 0xbf)
        if (*bad >= left || s[*bad] < low || s[*bad] > high)
            return 0;
    return want;
}

static void decode_here(form how, um_charset_errors errors, um_buffer *out,
                        const uint8_t *text, size_t len)
{
    const uint8_t *end = text + len;

    while (text < end) {
        size_t n = ascii_len(text, (size_t)(end - text)), bad = 1;

        um_buffer_append(out, text, n);
        text += n;
        if (text == end)
            return;
        n = how == FORM_UTF8 ? utf8_len(text, (size_t)(end - text), &bad) : 0;
        um_buffer_append(out, text, n);
        if (n == 0)
            bad_byte(out, errors);
        text += n ? n : bad;
    }
}

static void decode_table(const uint16_t *table, um_charset_errors errors,
                         um_buffer *out, const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint16_t c = table[text[i]];

        if (c == NO_CHARACTER)
            bad_byte(out, errors);
        else
            um_append_char(out, c);
    }
}

static bool decode_iconv(iconv_t cd, unsigned unit, um_charset_errors errors,
                         um_buffer *out, uint8_t *text, size_t len)
{
    char *from = (char *)text;

    iconv(cd, NULL, NULL, NULL, NULL);
    while (len > 0) {
        if (!um_buffer_reserve(out, len + 16))
            return false;
        char *to = (char *)out->data + out->len;
        size_t space = out->cap - out->len - 4; /* for bad_byte */
        size_t code = iconv(cd, &from, &len, &to, &space);

        out->len = (size_t)(to - (char *)out->data);
        if (code != (size_t)-1 || errno == E2BIG)
            continue;
        bad_byte(out, errors);
        if (errno != EILSEQ || len <= unit)
            return true;
        from += unit;
        len -= unit;
    }
    return true;
}

bool um_charset_decode(um_charsets *c, int charset, um_charset_errors errors,
                       um_buffer *out, const uint8_t *text, size_t len)
{
    const charset_row *row = &rows[charset];

    if (row->form == FORM_MULTI) {
        /* iconv's parameter is not const, but it only reads. */
        union {
            const uint8_t *in;
            uint8_t *plain;
        } u = {text};

        return decode_iconv(c->iconv[charset], row->unit, errors, out, u.plain,
                            len);
    }
    /* A byte becomes at most three. */
    if (!um_buffer_reserve(out, 3 * len))
        return false;
    if (c->table[charset])
        decode_table(c->table[charset], errors, out, text, len);
    else
        decode_here(row->form, errors, out, text, len);
    return true;
}
