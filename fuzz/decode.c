/*
 * decode.c - arbitrary bytes: decoded into a filter that every call accepts, or
 * rejected with a status.
 *
 * The input is the file. It is decoded once as it is and then with every other
 * umbel_source, whose results follow from the first. No byte of the input
 * selects the source, so each corpus file is also a file for the command.
 */
#include "fuzz.h"

#include "base/rng.h"
#include "filter/head.h"

#include <stdlib.h>

enum { SUM_LEN = 8, PAYLOAD_MIN = 64 };

enum { LIMIT = 1 << 20 }; /* of memory: a coded filter may claim any size */

static umbel_status decode(const uint8_t *data, size_t len,
                           const umbel_source *source, umbel_filter **out)
{
    umbel_error err;
    umbel_status status = umbel_decode(data, len, source, out, &err);

    if (status != UMBEL_OK)
        um_fuzz_check_error(status, &err);
    return status;
}

/* Checks that umbel_decode returns status, and a filter only on success. */
static void expect(const uint8_t *data, size_t len, const umbel_source *source,
                   umbel_status status)
{
    umbel_filter *f = NULL;

    UM_WANT(umbel_decode(data, len, source, &f, NULL) == status);
    UM_WANT((status == UMBEL_OK) == (f != NULL));
    umbel_close(f);
}

/* Decodes with checksums verified and a memory limit that just suffices. */
static void expect_verified(const uint8_t *data, size_t len,
                            const umbel_source *plain, const umbel_filter *f)
{
    umbel_source source = *plain;
    bool right = um_fuzz_payload_is_right(f, data);

    source.verify = true;
    if (!umbel_coded(f))
        source.memory_limit = len;
    expect(data, len, &source, right ? UMBEL_OK : UMBEL_E_CHECKSUM);
}

static void expect_limited(const uint8_t *data, size_t len,
                           const umbel_source *plain)
{
    umbel_source source = *plain;

    source.memory_limit = PAYLOAD_MIN - 1;
    expect(data, len, &source, UMBEL_E_LIMIT);
}

/*
 * Decodes with our secret: works for filters keyed with it, and fails for all
 * others.
 */
static void expect_unlocked(const uint8_t *data, size_t len,
                            const umbel_source *plain, umbel_status status)
{
    umbel_source source = *plain;

    source.secret = um_fuzz_secret;
    expect(data, len, &source, status);
}

/*
 * Admits arbitrary filters with arbitrary requirements: a rejection must have
 * at least one reason, an admission none.
 */
static void expect_ruling(const uint8_t *data, size_t len,
                          const umbel_source *plain, const umbel_filter *f)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_filter *got = NULL;
    umbel_ruling a, b;

    UM_WANT(umbel_admit(f, &wants, &a, NULL) == UMBEL_OK);
    UM_WANT(a.admitted == (a.n == 0) && a.n <= UMBEL_MAX_REASONS);
    UM_WANT(!(a.admitted && a.error > 0.5) || a.claim_checked);
    UM_WANT(umbel_admit_bytes(data, len, plain, &wants, &got, &b, NULL) ==
            UMBEL_OK);
    UM_WANT(b.admitted == (got != NULL));
    UM_WANT(b.admitted == (a.admitted && um_fuzz_payload_is_right(f, data)));
    umbel_close(got);
    wants.claimed = len;
    wants.max_error = 1e-3;
    wants.max_bytes = umbel_encoded_len(f) - 1;
    UM_WANT(umbel_admit(f, &wants, &a, NULL) == UMBEL_OK);
    UM_WANT(!a.admitted);
}

static bool same(const uint8_t *a, const uint8_t *b, size_t from, size_t to)
{
    return memcmp(a + from, b + from, to - from) == 0;
}

/*
 * Checks that a file of an older version, encoded in the current version, does
 * not change when encoded again.
 */
static void expect_renewed(const umbel_filter *f)
{
    size_t len, again_len;
    uint8_t *bytes = um_fuzz_encode(f, &len);
    umbel_filter *again = NULL;
    umbel_source source = UMBEL_SOURCE_INIT;

    source.memory_limit = LIMIT;
    UM_WANT(umbel_decode(bytes, len, &source, &again, NULL) == UMBEL_OK);
    uint8_t *more = um_fuzz_encode(again, &again_len);
    UM_WANT(len == again_len && same(bytes, more, 0, len));
    umbel_close(again);
    free(bytes);
    free(more);
}

/*
 * Checks that a decoded file encodes to the same bytes: the decoder accepts
 * exactly one encoding per filter. If the payload does not match its checksum,
 * the encoder corrects the checksums and nothing else.
 */
static void expect_same_bytes(const umbel_filter *f, const uint8_t *data,
                              size_t len)
{
    size_t again_len;
    uint8_t *again = um_fuzz_encode(f, &again_len);
    umbel_source source = UMBEL_SOURCE_INIT;

    UM_WANT(again_len == len);
    if (um_fuzz_payload_is_right(f, data)) {
        UM_WANT(same(again, data, 0, len));
    } else {
        size_t head = um_fuzz_head_len(data, len);
        UM_WANT(same(again, data, 0, UM_HEAD_SUM_AT));
        UM_WANT(same(again, data, UM_HEAD_NAMES_AT, head - SUM_LEN));
        UM_WANT(same(again, data, head, len));
        source.verify = true;
        expect(again, again_len, &source, UMBEL_OK);
    }
    free(again);
}

/* Checks that feeding the decoder in random pieces gives the same result. */
static void expect_fed(const uint8_t *data, size_t len,
                       const umbel_source *source, umbel_status want)
{
    umbel_decoder *d = NULL;
    umbel_filter *f = NULL;
    um_rng rng = {um_checksum(data, len)};
    uint64_t total = um_random_below(&rng, 2) ? len : UMBEL_TO_END;
    uint64_t most = (uint64_t)1 << um_random_below(&rng, 12);
    umbel_status status;

    UM_WANT(umbel_decoder_open(source, total, &d, NULL) == UMBEL_OK);
    for (size_t at = 0, some; at < len; at += some) {
        some = (size_t)(1 + um_random_below(&rng, most));
        some = some < len - at ? some : len - at;
        if (umbel_decoder_feed(d, data + at, some, NULL) != UMBEL_OK)
            break;
    }
    status = umbel_decoder_finish(d, &f, NULL);
    UM_WANT((status == UMBEL_OK) == (f != NULL));
    if (total == len || want == UMBEL_OK)
        UM_WANT(status == want);
    else /* a different one of several errors may be found first */
        UM_WANT(status != UMBEL_OK);
    umbel_decoder_close(d);
    umbel_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    um_fuzz_memory memory = {.limit = LIMIT + UM_FUZZ_HANDLE};
    umbel_alloc alloc = um_fuzz_alloc(&memory);
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f = NULL;

    source.alloc = &alloc;
    source.memory_limit = LIMIT;
    umbel_status status = decode(data, len, &source, &f);
    UM_WANT(!memory.refused); /* decoding respects the limit */
    if (status != UMBEL_OK)
        UM_WANT(!f && memory.live == 0);
    memory.limit = 3 * LIMIT + 4 * UM_FUZZ_HANDLE; /* f, a code, its filter */
    expect_fed(data, len, &source, status);
    UM_WANT(!memory.refused);
    if (status != UMBEL_OK)
        return 0;
    if (!umbel_coded(f)) /* memory is bounded by the input */
        UM_WANT(memory.live <= len + UM_FUZZ_HANDLE);
    memory.limit = SIZE_MAX;
    if (um_fuzz_is_old(data))
        expect_renewed(f);
    else
        expect_same_bytes(f, data, len);
    if (um_fuzz_one_in(64, data, len))
        expect_ruling(data, len, &source, f);
    status = umbel_unlock(f, um_fuzz_secret, NULL);
    if (um_fuzz_one_in(8, data, len)) {
        expect_verified(data, len, &source, f);
        expect_limited(data, len, &source);
        expect_unlocked(data, len, &source, status);
    }
    um_fuzz_use(f, um_fuzz_effort_for(data, len));
    umbel_close(f);
    UM_WANT(memory.live == 0);
    return 0;
}
