/*
 * slice.c - a closed time slice: a static filter of fingerprints, and its
 * facts.
 *
 * A slice is an ordinary file of umbel, kind ribbon. Its user data are lines of
 * text with the router, the times of the first and last packet, and what turns
 * a digest into a fingerprint:
 *
 *     umbel-packets slice 1
 *     router r7
 *     from 1700000000000000000
 *     to 1700000059999000000
 *     packets 1000000
 *     universe 8000000000
 *     seed 17
 *
 * The error rate is divided: a foreign digest has the fingerprint of a packet
 * with probability keys / universe, and the filter gets the rest. Slices come
 * from other machines, so nothing in the text is used before it is checked.
 */
#include "base/bits.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/text.h"
#include "packets/witness/witness.h"

#include <umbel/build.h>
#include <umbel/file.h>

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 512, TEXT_LEN = 512 };

static const char header[] = "umbel-packets slice 1";

uint64_t pk_digest(const uint8_t *invariant, size_t len)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];

    crypto_generichash(hash, sizeof hash, invariant, len, NULL, 0);
    return um_load64(hash);
}

/* --- facts ---------------------------------------------------------------- */

static size_t format_facts(const pk_slice_facts *f, char out[TEXT_LEN])
{
    return (size_t)snprintf(
        out, TEXT_LEN,
        "%s\nrouter %s\nfrom %" PRIu64 "\nto %" PRIu64 "\npackets %" PRIu64
        "\nuniverse %" PRIu64 "\nseed %" PRIu64 "\n",
        header, f->router, f->from, f->to, f->packets, f->universe, f->seed);
}

/* Reads the line "NAME VALUE" into out. */
static bool read_fact(umbel_slice *text, const char *name, char *out,
                      size_t cap)
{
    umbel_slice line;
    size_t len = strlen(name);

    if (!um_next_line(text, &line) || !um_line_is_whole(text, &line) ||
        line.len <= len || memcmp(line.data, name, len) != 0 ||
        ((const char *)line.data)[len] != ' ')
        return false;
    return um_slice_text(
        (umbel_slice){(const char *)line.data + len + 1, line.len - len - 1},
        out, cap);
}

static bool parse_facts(umbel_slice text, pk_slice_facts *f)
{
    const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {{"from", &f->from},
                   {"to", &f->to},
                   {"packets", &f->packets},
                   {"universe", &f->universe},
                   {"seed", &f->seed}};
    umbel_slice line;
    char number[24];

    if (text.len > TEXT_LEN || !um_next_line(&text, &line) ||
        line.len != sizeof header - 1 ||
        memcmp(line.data, header, line.len) != 0 ||
        !read_fact(&text, "router", f->router, sizeof f->router) ||
        !pk_router_name(f->router))
        return false;
    for (size_t i = 0; i < UM_COUNT(numbers); i++)
        if (!read_fact(&text, numbers[i].name, number, sizeof number) ||
            !um_decimal_parse(number, UINT64_MAX, numbers[i].value))
            return false;
    return text.len == 0 && f->from <= f->to && f->universe > 0;
}

/* --- building ------------------------------------------------------------- */

/* Collects the digests, as the filter hashes keys, of all fingerprints. */
static umbel_status collect(const pk_set *s, const umbel_filter *hasher,
                            umbel_digest *out, umbel_error *err)
{
    uint64_t *fingerprints = malloc(pk_set_part_max(s) * sizeof *fingerprints);
    umbel_status status = UMBEL_OK;

    if (!fingerprints)
        return um_no_memory(err, pk_set_part_max(s) * sizeof *fingerprints);
    for (uint32_t i = 0; !status && i < pk_set_parts(s); i++) {
        size_t n = pk_set_read(s, i, fingerprints);
        for (size_t j = 0; j < n; j++)
            fingerprints[j] = um_le64(fingerprints[j]);
        status = umbel_digest_fixed(hasher, fingerprints, PK_DIGEST_LEN, n, out,
                                    err);
        out += n;
    }
    free(fingerprints);
    return status;
}

static umbel_status build(const pk_set *s, const umbel_params *params,
                          umbel_filter **out, umbel_error *err)
{
    size_t n = pk_set_count(s);
    umbel_digest *digests = malloc(n * sizeof *digests + 1);
    umbel_filter *hasher = NULL;
    umbel_status status;

    if (!digests)
        return um_no_memory(err, n * sizeof *digests);
    status = umbel_build("ribbon", params, NULL, NULL, &hasher, err);
    if (!status)
        status = collect(s, hasher, digests, err);
    if (!status) {
        umbel_key_list list = UMBEL_KEY_LIST(digests, n);
        status = umbel_build("ribbon", params, &list, NULL, out, err);
    }
    umbel_close(hasher);
    free(digests);
    return status;
}

umbel_status pk_slice_build(const pk_set *s, const pk_slice_facts *facts,
                            double fpr, pk_slice *out, umbel_error *err)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    pk_slice slice = {.facts = *facts};
    char text[TEXT_LEN];
    umbel_status status;

    slice.facts.universe = pk_set_universe(s);
    params.seed = facts->seed;
    params.fpr = fpr - (double)pk_set_count(s) / (double)slice.facts.universe;
    UM_TRY(build(s, &params, &slice.filter, err));
    status = umbel_set_data(slice.filter, text,
                            format_facts(&slice.facts, text), err);
    if (!status)
        status = pk_slice_attach(slice.filter, &slice, err);
    if (status)
        umbel_close(slice.filter);
    else
        *out = slice;
    return status;
}

/* --- reading -------------------------------------------------------------- */

umbel_status pk_slice_attach(umbel_filter *f, pk_slice *out, umbel_error *err)
{
    pk_slice_facts facts = {.packets = 0};
    char text[TEXT_LEN + 1];
    umbel_slice data = umbel_data(f);

    /* Copied, because a mapped file may change. */
    if (data.len > TEXT_LEN || !um_slice_text(data, text, sizeof text) ||
        !parse_facts((umbel_slice){text, data.len}, &facts))
        return um_fail(err, UMBEL_E_FORMAT,
                       "a filter, but not a slice of 'umbel packets witness'");
    double keys = (double)umbel_added(f);
    double error = umbel_predict(f) + keys / (double)facts.universe;
    *out = (pk_slice){.facts = facts, .error = fmin(error, 1), .filter = f};
    return UMBEL_OK;
}

umbel_status pk_slice_open(const char *path, bool verify, pk_slice *out,
                           umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f;

    source.verify = verify;
    UM_TRY(umbel_map(path, &source, &f, err));
    umbel_status status = um_name_file(pk_slice_attach(f, out, err), path, err);
    if (status)
        umbel_close(f);
    return status;
}

void pk_slice_fini(pk_slice *s)
{
    umbel_close(s->filter);
    s->filter = NULL;
}

umbel_status pk_slice_query(const pk_slice *s, const uint64_t *digests,
                            size_t n, bool *hit, umbel_error *err)
{
    uint64_t keys[BATCH];

    for (size_t at = 0; at < n; at += BATCH) {
        size_t some = n - at < BATCH ? n - at : BATCH;
        for (size_t i = 0; i < some; i++)
            keys[i] = um_le64(pk_fingerprint(digests[at + i], s->facts.universe,
                                             s->facts.seed));
        UM_TRY(umbel_query_fixed(s->filter, keys, PK_DIGEST_LEN, some, hit + at,
                                 err));
    }
    return UMBEL_OK;
}
