/* seeds_foreign.c - files of other programs, and key files. */
#include "seeds.h"

#include "base/bytes.h"
#include "base/error.h"
#include "filter/head.h"

#include <umbel/experimental/index.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Files of DCSO's bloom: 64-bit words, and possibly data. */
typedef struct foreign {
    const char *name;
    uint64_t word[9]; /* version n p k m N, bits */
    size_t len;
} foreign;

#define HALF UINT64_C(0x3FE0000000000000)

static const foreign foreigns[] = {
    {"dcso", {1, 9, HALF, 3, 128, 2, 0x8001, 77}, 64},
    {"dcso-data", {1, 9, HALF, 3, 100, 2, 0x8001, 77, 5}, 72},
    {"dcso-cut", {1, 9, HALF, 3, 129, 2, 0x8001, 77}, 64},
    {"dcso-cut-in-head", {1, 9, HALF, 3}, 33},
    {"dcso-bits-behind", {1, 9, HALF, 3, 100, 2, 1, UINT64_MAX}, 64},
    {"dcso-version-2", {2, 9, HALF, 3, 64, 2, 1}, 56},
    {"dcso-no-hashes", {1, 9, HALF, 0, 64, 2, 1}, 56},
    {"dcso-65-hashes", {1, 9, HALF, 65, 64, 2, 1}, 56},
    {"dcso-1-bit", {1, 9, HALF, 3, 1, 2, 1}, 56},
    {"dcso-many-bits", {1, 9, HALF, 3, UINT64_MAX, 2, 1}, 56},
    {"dcso-many-keys", {1, UINT64_MAX, HALF, 3, 64, 2, 1}, 56},
    {"dcso-error-0", {1, 9, 0, 3, 64, 2, 1}, 56},
    {"dcso-error-nan", {1, 9, UINT64_MAX, 3, 64, 2, 1}, 56},
    {"dcso-odd-cells", {1, 9, HALF, 3, 63, UINT64_MAX, 1}, 56},
};

/* Writes a file of zero bits that compresses to very little. */
static void write_packed(const char *name, uint64_t bits, size_t len,
                         int members)
{
    enum { GZIP = 15 + 16, MEMORY = 9 };
    uint8_t *plain = calloc(1, len), out[UM_SEED_ROOM];
    static const uint64_t head[] = {1, 9, HALF, 3};
    size_t n = 0;

    if (!plain)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < UM_COUNT(head); i++)
        um_store64(plain + 8 * i, head[i]);
    um_store64(plain + 8 * UM_COUNT(head), bits);
    for (int i = 0; i < members; i++) {
        z_stream z = {.next_in = plain + (size_t)i * len / (size_t)members,
                      .avail_in = (uInt)(len / (size_t)members),
                      .next_out = out + n,
                      .avail_out = (uInt)(sizeof out - n)};
        if (deflateInit2(&z, 9, Z_DEFLATED, GZIP, MEMORY, 0) != Z_OK ||
            deflate(&z, Z_FINISH) != Z_STREAM_END)
            exit(EXIT_FAILURE);
        n += z.total_out;
        deflateEnd(&z);
    }
    um_seed_write("foreign", name, out, n);
    free(plain);
}

/* Files of Guava's BloomFilter: a head of 6 bytes, then words. */
static void write_guavas(void)
{
    static const struct {
        const char *name;
        uint8_t head[6];
        size_t words;
    } rows[] = {
        {"guava", {1, 7, 0, 0, 0, 3}, 3},
        {"guava32", {0, 13, 0, 0, 0, 1}, 1},
        {"guava-cut", {1, 7, 0, 0, 0, 3}, 2},
        {"guava-longer", {1, 7, 0, 0, 0, 3}, 4},
        {"guava-no-words", {1, 7, 0, 0, 0, 0}, 0},
        {"guava-no-hashes", {1, 0, 0, 0, 0, 1}, 1},
        {"guava-65-hashes", {1, 65, 0, 0, 0, 1}, 1},
        {"guava-other-strategy", {2, 7, 0, 0, 0, 1}, 1},
        {"guava32-beyond-limit", {0, 7, 2, 0, 0, 1}, 1},
        {"guava-negative", {1, 7, 0xFF, 0xFF, 0xFF, 0xFF}, 1},
    };

    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        uint8_t bytes[sizeof rows[i].head + 8 * 8];
        memset(bytes, 0x5A, sizeof bytes);
        memcpy(bytes, rows[i].head, sizeof rows[i].head);
        um_seed_write("foreign", rows[i].name, bytes,
                      sizeof rows[i].head + 8 * rows[i].words);
    }
}

/* Cache digests of Squid: a head of 128 bytes, then the mask. */
static void write_squids(void)
{
    static const struct {
        const char *name;
        uint8_t head[24];
        size_t mask;
    } rows[] = {
        {"squid",
         {0, 5, 0, 3, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 13, 5, 4},
         13},
        {"squid-deleted",
         {0, 5, 0, 3, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 13, 5, 4},
         13},
        {"squid-cut",
         {0, 5, 0, 3, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 13, 5, 4},
         12},
        {"squid-longer",
         {0, 5, 0, 3, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 13, 5, 4},
         14},
        {"squid-wrong-mask",
         {0, 5, 0, 3, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 14, 5, 4},
         14},
        {"squid-5-functions",
         {0, 5, 0, 3, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 13, 5, 5},
         13},
        {"squid-version-6",
         {0, 6, 0, 3, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 13, 5, 4},
         13},
        {"squid-empty",
         {0, 5, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 5, 4},
         0},
    };

    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        uint8_t bytes[128 + 16] = {0};
        memcpy(bytes, rows[i].head, sizeof rows[i].head);
        memset(bytes + 128, 0x5A, rows[i].mask);
        um_seed_write("foreign", rows[i].name, bytes, 128 + rows[i].mask);
    }
}

static void write_foreigns(void)
{
    static const uint8_t damaged[] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 9};

    for (size_t i = 0; i < UM_COUNT(foreigns); i++) {
        uint8_t bytes[sizeof foreigns[i].word];
        for (size_t j = 0; j < UM_COUNT(foreigns[i].word); j++)
            um_store64(bytes + 8 * j, foreigns[i].word[j]);
        um_seed_write("foreign", foreigns[i].name, bytes, foreigns[i].len);
    }
    write_guavas();
    write_squids();
    write_packed("gzip-two-members", 1024, 48 + 128, 2);
    write_packed("gzip-large", 800000, 48 + 100000, 1);
    write_packed("gzip-exceeds-limit", UINT64_C(1) << 30, 200000, 1);
    write_packed("gzip-data-exceeds-limit", 1024, 1200000, 1);
    um_seed_write("foreign", "gzip-cut", damaged, 10);
    um_seed_write("foreign", "gzip-damaged", damaged, sizeof damaged);
}

/* Writes a line of each kind, valid and with errors. */
static void write_key_files(void)
{
    static const struct {
        const char *name, *start;
        size_t digits;
        const char *end;
    } lines[] = {
        {"secret", "umbel-secret-1 ", 32, "\n"},
        {"secret-cut", "umbel-secret-1 ", 31, "\n"},
        {"secret-no-end", "umbel-secret-1 ", 32, ""},
        {"secret-not-hex", "umbel-secret-1 ", 31, "x\n"},
        {"secret-for-all", "umbel-secret-1 ", 32, "\r"},
        {"sign-halves", "umbel-sign-1 ", 128, "\n"},
        {"trust", "umbel-trust-1 ", 64, "\n"},
        {"trust-for-all", "umbel-trust-1 ", 64, "\r"},
        {"trust-2", "umbel-trust-2 ", 64, "\n"},
        {"trust-long", "umbel-trust-1 ", 290, "\n"},
        {"other", "umbel-other-1 ", 32, "\n"},
        {"start-only", "umbel-sign-1 ", 0, ""},
        {"nothing", "", 0, ""},
    };
    static const char sign[] =
        "umbel-sign-1 "
        "0000000000000000000000000000000000000000000000000000000000000000"
        "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"
        "\n"; /* for a seed of zeros, as in RFC 8032's reference code */

    for (size_t i = 0; i < UM_COUNT(lines); i++) {
        char text[512];
        int len = snprintf(text, sizeof text, "%s%0*d%s", lines[i].start,
                           (int)lines[i].digits, 0, lines[i].end);
        if (!lines[i].digits)
            len = snprintf(text, sizeof text, "%s%s", lines[i].start,
                           lines[i].end);
        um_seed_write("key_file", lines[i].name, text, (size_t)len);
    }
    um_seed_write("key_file", "sign", sign, sizeof sign - 1);
}

/* Writes records of a scan: the byte that chooses sha1, then the record. */
static void write_scan_records(void)
{
    static const char record[] =
        "\001umbel scan 1 sha1\n"
        "da39a3ee5e6b4b0d3255bfef95601890afd80709 0 17 18 3 a/b c\0"
        "da39a3ee5e6b4b0d3255bfef95601890afd80709 99999999999999999999 1 1 1 "
        "a/b c\0"
        "da39a3ee 1 2 3 4 short\0"
        "da39a3ee5e6b4b0d3255bfef95601890afd80709 1 2 3 4 cut off";

    um_seed_write("scan_record", "whole", record, 80);
    um_seed_write("scan_record", "damaged", record, sizeof record - 1);
    um_seed_write("scan_record", "empty", record, 19);
    um_seed_write("scan_record", "other", record, 12);
}

/* Writes the files of an index of ten filters: the byte that chooses what they
 * are, then the file. */
static void write_index(const char *addressing, const char *name)
{
    char dir[] = "/tmp/umbel-seeds-XXXXXX", path[64];
    static uint8_t bytes[1 << 17];
    umbel_index_entry entry[10];
    char names[10][8];
    umbel_error err;

    bytes[0] = 2;
    if (!mkdtemp(dir))
        exit(EXIT_FAILURE);
    for (unsigned i = 0; i < UM_COUNT(entry); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *f = NULL;
        p.addressing = addressing;
        p.cells = strcmp(addressing, "classic") ? 1024 + 512 * (i / 2) : 1000;
        p.hashes = 5;
        if (umbel_create(NULL, &p, &f, &err) ||
            umbel_add_fixed(f, "abcdefghij", 1, i + 1, NULL, &err))
            um_seed_fail(name, &err);
        snprintf(names[i], sizeof names[i], "%u", i);
        entry[i] = (umbel_index_entry){names[i], f};
    }
    if (umbel_index_update(dir, 0, entry, UM_COUNT(entry), NULL, 0, NULL, &err))
        um_seed_fail(name, &err);
    snprintf(path, sizeof path, "%s/1.slices", dir);
    FILE *in = fopen(path, "rb");
    size_t len = in ? fread(bytes + 1, 1, sizeof bytes - 1, in) : 0;
    if (in)
        fclose(in);
    um_seed_write("index", name, bytes, 1 + len);
    unlink(path);
    snprintf(path, sizeof path, "%s/index", dir);
    in = fopen(path, "rb");
    bytes[0] = 3;
    len = in ? fread(bytes + 1, 1, sizeof bytes - 1, in) : 0;
    if (in)
        fclose(in);
    snprintf(names[0], sizeof names[0], "%.4s", name);
    um_seed_write("index", names[0], bytes, 1 + len);
    unlink(path);
    rmdir(dir);
    for (unsigned i = 0; i < UM_COUNT(entry); i++)
        umbel_close((umbel_filter *)(uintptr_t)entry[i].filter);
}

void um_seed_foreigns(void)
{
    write_index("classic", "classic");
    write_index("blocked512", "blocked");
    write_foreigns();
    write_key_files();
    write_scan_records();
}
