/*
 * guava.c - files of Guava's BloomFilter.writeTo, which Java programs read.
 *
 *     0  strategy: 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64
 *     1  hash functions
 *     2  number of words, 4 bytes, big-endian
 *     6  words of 64 cells, big-endian; cell i is bit i % 64 of word i / 64
 *
 * Nothing follows. The file records neither capacity nor error nor number of
 * keys, so the number is estimated from the cells. The bytes of a key depend on
 * the funnel: UTF-8 text (stringFunnel), the bytes themselves (byteArrayFunnel)
 * or a number of 8 bytes, little-endian (longFunnel).
 */
#include "base/bytes.h"
#include "base/error.h"
#include "filter/envelope.h"
#include "foreign/internal.h"

#include <inttypes.h>
#include <string.h>

enum { HEAD_LEN = 6, WORD_LEN = 8, WORD_BITS = 64, MAX_WORDS = INT32_MAX };

/* By the number of the strategy. */
static const char *const strategies[] = {"guava32", "guava"};

static uint32_t load_be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
           (uint32_t)at[2] << 8 | at[3];
}

static umbel_status read_head(const uint8_t *bytes, size_t len, umbel_params *p,
                              umbel_error *err)
{
    if (len < HEAD_LEN || bytes[0] >= UM_COUNT(strategies))
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a file of Guava's BloomFilter: it does not begin "
                       "like one");
    uint32_t words = load_be32(bytes + 2);
    p->addressing = strategies[bytes[0]];
    p->hashes = bytes[1];
    p->cells = (uint64_t)words * WORD_BITS;
    if (p->hashes < 1 || p->hashes > UM_MAX_HASHES || words < 1 ||
        words > MAX_WORDS)
        return um_fail(err, UMBEL_E_FORMAT,
                       "a file of Guava's BloomFilter with %" PRIu32
                       " words and %" PRIu32 " hashes: umbel takes 1 to %d "
                       "words and 1 to %d hashes",
                       words, p->hashes, MAX_WORDS, UM_MAX_HASHES);
    return UMBEL_OK;
}

static umbel_status least(const uint8_t *bytes, size_t len, uint64_t *out,
                          umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    UM_TRY(read_head(bytes, len, &p, err));
    *out = HEAD_LEN + p.cells / 8;
    return UMBEL_OK;
}

static umbel_status import(const uint8_t *bytes, size_t len,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    UM_TRY(read_head(bytes, len, &p, err));
    uint64_t want = HEAD_LEN + p.cells / 8;
    if (len != want)
        return um_fail(err, UMBEL_E_FORMAT,
                       "%s: %zu bytes, and its head promises %" PRIu64,
                       len < want ? "cut short" : "something follows its words",
                       len, want);
    UM_TRY(um_foreign_limit(len, source, err));
    p.key_form = UMBEL_KEYS_UNRECORDED; /* the format does not record it */
    p.alloc = source->alloc;
    UM_TRY(umbel_create("bloom", &p, &f, err));
    um_swap_words(f->payload, bytes + HEAD_LEN, (size_t)p.cells / 8);
    um_foreign_estimate(f);
    *out = f;
    return UMBEL_OK;
}

static umbel_status part(const umbel_filter *f, uint8_t head[UM_FOREIGN_HEAD],
                         umbel_slice parts[UM_FOREIGN_PARTS], size_t *n,
                         umbel_error *err)
{
    const um_shape *s = um_shape_of(f);
    uint8_t strategy = 0;

    while (strategy < UM_COUNT(strategies) &&
           strcmp(strategies[strategy], s->addressing->name) != 0)
        strategy++;
    if (!um_has_bits(s->kind) || strategy == UM_COUNT(strategies))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "Guava has other cells: build the filter with "
                       "--kind bloom --addressing guava (this is %s, %s)",
                       s->kind->name, s->addressing->name);
    if (s->attached)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "Guava has no place for the data that the filter "
                       "carries: remove it with convert --data /dev/null");
    uint64_t words = s->cells / WORD_BITS;
    if (words > MAX_WORDS)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "Guava counts at most %d words of 64 cells, the filter "
                       "has %" PRIu64 ": allow more error",
                       MAX_WORDS, words);
    head[0] = strategy;
    head[1] = (uint8_t)s->hashes;
    for (int i = 0; i < 4; i++)
        head[2 + i] = (uint8_t)(words >> (24 - 8 * i));
    parts[0] = (umbel_slice){head, HEAD_LEN};
    parts[1] = (umbel_slice){f->payload, (size_t)words * WORD_LEN};
    *n = 2;
    return UMBEL_OK;
}

const um_foreign um_foreign_guava = {
    .name = "guava",
    .summary =
        "files of Guava's BloomFilter, which Keycloak reads: a Bloom filter of "
        "either strategy, without capacity, error or number of keys; read and "
        "written, compared byte for byte with Guava 31",
    .big_endian = true,
    .least = least,
    .import = import,
    .part = part,
};
