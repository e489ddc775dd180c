/*
 * runs.c - runs the machine of umbel reconcile against itself, with known
 * differences, and checks every key and every byte.
 *
 *   reconcile_runs [-r RUNS] [-k KEYS] [-d DIFFERENCES] [-s SEED] [-b N] [-v]
 *
 * Without -k, each run draws 10^3 to 10^5 keys, and without -d one of the
 * differences 0, 1, 100, 10^4 and 30 %. -b N breaks the machine in the way
 * number N on purpose: then the runs must be found wrong. Exit code 0 if every
 * run is exact and within its bytes, 1 if one is not.
 */
#include "base/rng.h"
#include "reconcile/internal.h"

#include <umbel/experimental/reconcile.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_LEN = 32 };

/* --- machines that are broken on purpose -----------------------------------
 */

static int broken;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names */
umbel_status __real_um_key_set_init(um_key_set *s, const umbel_slice *keys,
                                    size_t n, const uint8_t *secret,
                                    umbel_error *err);
umbel_status __wrap_um_key_set_init(um_key_set *s, const umbel_slice *keys,
                                    size_t n, const uint8_t *secret,
                                    umbel_error *err);
bool __real_um_peeler_is_done(const um_peeler *p);
bool __wrap_um_peeler_is_done(const um_peeler *p);
um_chunk_shape __real_um_first_chunk(double difference);
um_chunk_shape __wrap_um_first_chunk(double difference);
umbel_status __real_um_set_filter_append(um_buffer *out, const um_key_set *s,
                                         unsigned bits, const uint8_t *secret,
                                         umbel_error *err);
umbel_status __wrap_um_set_filter_append(um_buffer *out, const um_key_set *s,
                                         unsigned bits, const uint8_t *secret,
                                         umbel_error *err);
void __real_um_append_text(um_buffer *out, umbel_slice text);
void __wrap_um_append_text(um_buffer *out, umbel_slice text);

/* 1: the hash of a set is only the number of its keys. */
umbel_status __wrap_um_key_set_init(um_key_set *s, const umbel_slice *keys,
                                    size_t n, const uint8_t *secret,
                                    umbel_error *err)
{
    umbel_status status = __real_um_key_set_init(s, keys, n, secret, err);

    if (broken == 1 && !status)
        s->sum = (um_set_sum){n, n};
    return status;
}

/* 2: decoding stops when something was found. */
bool __wrap_um_peeler_is_done(const um_peeler *p)
{
    return (broken == 2 && p->nfound > 0) || __real_um_peeler_is_done(p);
}

/* 3: ten times as many symbols are sent as are needed. */
um_chunk_shape __wrap_um_first_chunk(double difference)
{
    return __real_um_first_chunk(difference * (broken == 3 ? 10 : 1));
}

/* 4: a filter lacks a member. */
umbel_status __wrap_um_set_filter_append(um_buffer *out, const um_key_set *s,
                                         unsigned bits, const uint8_t *secret,
                                         umbel_error *err)
{
    um_key_set part = *s;

    part.n -= broken == 4 && part.n;
    return __real_um_set_filter_append(out, &part, bits, secret, err);
}

/* 5: the last byte of keys is lost on the way. */
void __wrap_um_append_text(um_buffer *out, umbel_slice text)
{
    text.len -= broken == 5 && text.len;
    __real_um_append_text(out, text);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* --- lists -----------------------------------------------------------------
 */

typedef struct key_file {
    uint8_t *bytes;
    umbel_slice *keys;
    size_t n;
} key_file;

/* Makes keys number from to from + n - 1 in the memory of a list: the number,
 * and bytes that depend on it. */
static void append_keys(key_file *l, uint64_t seed, uint64_t from, size_t n)
{
    for (uint64_t i = from; i < from + n; i++) {
        uint8_t *at = l->bytes + l->n * KEY_LEN;
        um_rng rng = {seed ^ i * UINT64_C(0xD6E8FEB86659FD93)};
        memcpy(at, &i, sizeof i);
        for (size_t j = 8; j < KEY_LEN; j += 8) {
            uint64_t x = um_random(&rng);
            memcpy(at + j, &x, sizeof x);
        }
        l->keys[l->n++] = (umbel_slice){at, KEY_LEN};
    }
}

static key_file open_list(size_t cap)
{
    key_file l = {malloc((cap + 1) * KEY_LEN),
                  malloc((cap + 1) * sizeof(umbel_slice)), 0};

    if (!l.bytes || !l.keys)
        abort();
    return l;
}

static void close_list(key_file *l)
{
    free(l->bytes);
    free(l->keys);
}

/* --- a run -----------------------------------------------------------------
 */

typedef struct outcome {
    umbel_reconcile_result result;
    const char *wrong; /* NULL: exact */
    umbel_error err;
    double cpu;
} outcome;

static const char *carry(umbel_reconcile *side[2], umbel_error *err)
{
    umbel_slice m;

    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < 2; i++)
            while (umbel_reconcile_next(side[i], &m)) {
                moved = true;
                /* In pieces, as a connection delivers them. */
                for (size_t at = 0; at < m.len; at += 100000) {
                    size_t len = m.len - at < 100000 ? m.len - at : 100000;
                    if (umbel_reconcile_receive(
                            side[!i], (const uint8_t *)m.data + at, len, err))
                        return "refused";
                }
                if (umbel_reconcile_state(side[!i]) == UMBEL_RECONCILE_READY &&
                    umbel_reconcile_commit(side[!i], err))
                    return "commit";
            }
    }
    for (int i = 0; i < 2; i++)
        if (umbel_reconcile_state(side[i]) != UMBEL_RECONCILE_DONE)
            return "not done";
    return NULL;
}

/* Checks that exactly the keys from .. from + n - 1 were received. */
static const char *check_received(const umbel_reconcile *r, uint64_t seed,
                                  uint64_t from, uint64_t n)
{
    key_file expected = open_list(n);
    uint8_t *seen = calloc(n + 1, 1);
    const char *wrong = NULL;
    umbel_slice key;
    size_t i = 0;

    append_keys(&expected, seed, from, n);
    for (; !wrong && umbel_reconcile_received(r, i, &key); i++) {
        uint64_t number;
        memcpy(&number, key.data, sizeof number);
        number -= from;
        if (key.len != KEY_LEN || number >= n || seen[number]++ ||
            memcmp(key.data, expected.keys[number].data, KEY_LEN) != 0)
            wrong = "a key is wrong";
    }
    if (!wrong && i != n)
        wrong = "keys are lost";
    free(seen);
    close_list(&expected);
    return wrong;
}

static outcome run_once(uint64_t seed, size_t common, size_t ours,
                        size_t theirs, unsigned want)
{
    key_file list[2] = {open_list(common + ours), open_list(common + theirs)};
    umbel_reconcile *side[2];
    uint8_t nonce[16] = {0};
    outcome out = {.wrong = NULL};

    for (int i = 0; i < 2; i++) {
        umbel_reconcile_params p = UMBEL_RECONCILE_INIT;
        append_keys(&list[i], seed, 0, common);
        append_keys(&list[i], seed, common + (i ? ours : 0), i ? theirs : ours);
        memcpy(nonce, &seed, sizeof seed);
        nonce[15] = (uint8_t)i;
        p.keys = list[i].keys;
        p.n = list[i].n;
        p.first = i == 0;
        p.want = i ? UMBEL_RECONCILE_BOTH : want;
        p.nonce = nonce;
        if (umbel_reconcile_open(&p, &side[i], NULL))
            abort();
    }
    clock_t start = clock();
    out.wrong = carry(side, &out.err);
    out.cpu = (double)(clock() - start) / CLOCKS_PER_SEC;
    umbel_reconcile_report(side[0], &out.result);
    if (!out.wrong && (out.result.ours_missing != theirs ||
                       out.result.theirs_missing != ours))
        out.wrong = "numbers are wrong";
    if (!out.wrong)
        out.wrong = check_received(side[0], seed, common + ours,
                                   want & UMBEL_RECONCILE_PULL ? theirs : 0);
    if (!out.wrong)
        out.wrong = check_received(side[1], seed, common,
                                   want & UMBEL_RECONCILE_PUSH ? ours : 0);
    for (int i = 0; i < 2; i++) {
        umbel_reconcile_close(side[i]);
        close_list(&list[i]);
    }
    return out;
}

/* Returns the bytes that a run may take. */
static double allowed(uint64_t d)
{
    return d == 0    ? 200
           : d < 100 ? 2048 + 62.4 * (double)(d - 1)
                     : 62.4 * (double)d + 1024;
}

/* --- all runs --------------------------------------------------------------
 */

typedef struct options {
    uint64_t runs, keys, differences, seed;
    bool has_differences, verbose;
} options;

static uint64_t draw_difference(um_rng *rng, uint64_t keys)
{
    static const uint64_t usual[] = {0, 1, 100, 10000};
    uint64_t i = um_random_below(rng, 5);

    return i < 4 && usual[i] < keys ? usual[i] : keys * 3 / 10;
}

int main(int argc, char **argv)
{
    options o = {.runs = 100, .seed = 1};
    uint64_t wrong = 0;
    double most = 0, cpu = 0;
    int letter;

    while ((letter = getopt(argc, argv, "r:k:d:s:b:v")) != -1) {
        uint64_t x = optarg ? strtoull(optarg, NULL, 10) : 0;
        switch (letter) {
        case 'r':
            o.runs = x;
            break;
        case 'k':
            o.keys = x;
            break;
        case 'd':
            o.differences = x;
            o.has_differences = true;
            break;
        case 's':
            o.seed = x;
            break;
        case 'b':
            broken = (int)x;
            break;
        case 'v':
            o.verbose = true;
            break;
        default:
            return 2;
        }
    }
    um_rng rng = {o.seed};
    for (uint64_t i = 0; i < o.runs; i++) {
        static const uint64_t sizes[] = {1000, 3000, 10000, 30000, 100000};
        /* Small sets more often: as many runs of each as take as long. */
        uint64_t pick = um_random_below(&rng, 64);
        uint64_t keys = o.keys ? o.keys
                               : sizes[pick < 40   ? 0
                                       : pick < 54 ? 1
                                       : pick < 60 ? 2
                                       : pick < 63 ? 3
                                                   : 4];
        uint64_t d =
            o.has_differences ? o.differences : draw_difference(&rng, keys);
        uint64_t side = um_random_below(&rng, 4); /* who lacks the keys */
        uint64_t ours = side == 0   ? 0
                        : side == 1 ? d
                                    : um_random_below(&rng, d + 1);
        unsigned want = (unsigned)um_random_below(&rng, 8);
        want = want < 4 ? want : UMBEL_RECONCILE_BOTH;
        outcome out =
            run_once(o.seed * 1000003 + i, keys - d / 2, ours, d - ours, want);
        double bytes = (double)(out.result.bytes_in + out.result.bytes_out);
        double share = bytes / allowed(d);
        if (!out.wrong && share > 1)
            out.wrong = "too many bytes";
        most = share > most ? share : most;
        cpu += out.cpu;
        if (out.wrong || o.verbose)
            printf("run %" PRIu64 ": keys %" PRIu64 " differences %" PRIu64
                   " (%" PRIu64 " ours) want %u: %s, %.0f bytes (%.3f of what "
                   "is allowed), %" PRIu64 " rounds, %.3f s; %s %s\n",
                   i, keys, d, ours, want, out.result.method, bytes, share,
                   out.result.rounds, out.cpu, out.wrong ? out.wrong : "exact",
                   out.wrong ? out.err.text : "");
        wrong += out.wrong != NULL;
    }
    printf("%" PRIu64 " runs, %" PRIu64 " wrong, at most %.3f of the bytes "
           "allowed, %.1f s\n",
           o.runs, wrong, most, cpu);
    return wrong > 0;
}
