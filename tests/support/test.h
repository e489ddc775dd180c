/*
 * test.h - shared by the tests: keys, filters, files, assertions.
 *
 * All helpers check for errors themselves: a helper that returns has succeeded.
 */
#ifndef UM_TEST_H
#define UM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <umbel/experimental.h>
#include <umbel/umbel.h>

/* Builds a list of n keys for a call: digests, weights (or NULL). */
#define TEST_LIST(d, w, len)                                                   \
    (&(umbel_key_list){.size = sizeof(umbel_key_list),                         \
                       .digests = (d),                                         \
                       .n = (len),                                             \
                       .weights = (w)})

/*
 * Defines the tests of a file in tests/unit as a group with the file's name:
 *   TEST_GROUP(bits) { const struct CMUnitTest tests[] = ...; return ...; }
 * argc and argv are the arguments after the group's name.
 */
#define TEST_GROUP(name)                                                       \
    int test_group_##name(int argc, char **argv);                              \
    int test_group_##name(int argc __attribute__((unused)),                    \
                          char **argv __attribute__((unused)))

#define TEST_COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Pass this as err, so that a failing assertion can print the reason. */
extern umbel_error test_refusal;

#define assert_ok(call) test_assert_ok((call), #call, __FILE__, __LINE__)
/*
 * Asserts that the call fails with that status and a text that contains word.
 */
#define assert_refused(call, status, word)                                     \
    test_assert_refused((call), (status), (word), #call, __FILE__, __LINE__)
/* The same, and that the error has that detail. */
#define assert_refused_as(call, status, what, word)                            \
    do {                                                                       \
        umbel_status refused_as_ = (call);                                     \
        assert_int_equal(test_refusal.detail, (what));                         \
        test_assert_refused(refused_as_, (status), (word), #call, __FILE__,    \
                            __LINE__);                                         \
    } while (0)
/* Asserts |got - want| <= tolerance; fails for a NAN. */
#define assert_near(got, want, tolerance)                                      \
    test_assert_near((got), (want), (tolerance), #got, __FILE__, __LINE__)

void test_assert_ok(umbel_status status, const char *call, const char *file,
                    int line);
void test_assert_refused(umbel_status status, umbel_status want,
                         const char *word, const char *call, const char *file,
                         int line);
void test_assert_near(double got, double want, double tolerance,
                      const char *what, const char *file, int line);

/* Returns ln P(X = k), X ~ Binomial(n, p), 0 < p < 1. */
double test_ln_binomial(double n, double k, double p);

/*
 * Keys are decimal numbers of ten digits, which every hash accepts. Their order
 * is scrambled: the linear hash of the papers maps consecutive numbers evenly,
 * not randomly. Different i give different keys, up to 2^30.
 */
enum { TEST_KEY_LEN = 10 };

void test_key(uint64_t i, char out[TEST_KEY_LEN]);
/* Returns the keys from .. from+n-1, concatenated. Free them. */
char *test_keys(uint64_t from, size_t n);
/* Returns slices of these keys. */
umbel_slice *test_slices(const char *keys, size_t n);

/* Two secrets for keyed hashes. */
extern const uint8_t test_secret[UMBEL_SECRET_LEN];
extern const uint8_t test_other_secret[UMBEL_SECRET_LEN];

umbel_filter *test_open(const umbel_params *params);
/* Adds the keys from .. from+n-1. */
void test_add(umbel_filter *f, uint64_t from, size_t n);
/* Adds key i this many times; test_count returns its count. */
void test_add_times(umbel_filter *f, uint64_t i, uint64_t amount);
uint64_t test_count(const umbel_filter *f, uint64_t i);
/* Builds a static filter of the keys from .. from+n-1. */
umbel_filter *test_build(const char *kind, const umbel_params *params,
                         uint64_t from, size_t n);
/* Returns the number of the keys from .. from+n-1 that match. */
size_t test_hits(const umbel_filter *f, uint64_t from, size_t n);
bool test_has(const umbel_filter *f, uint64_t i);

/* Returns the encoded file. Free it. */
uint8_t *test_encode(const umbel_filter *f, size_t *len);
void test_assert_same_file(const umbel_filter *a, const umbel_filter *b);
/* Asserts equal cells, whatever the heads contain. */
void test_assert_same_payload(const umbel_filter *a, const umbel_filter *b);
/* Returns the length of a file's head. */
size_t test_head_len(const uint8_t *file);
/* Corrects the checksum of a changed head. */
void test_reseal(uint8_t *file);
struct um_shape;
/*
 * Returns the encoding of f with its head replaced by one of that shape. Free
 * it.
 */
uint8_t *test_forge(const umbel_filter *f, const struct um_shape *shape,
                    size_t *len);

/* A kind on an addressing with a hash that fits it. */
typedef struct test_combo {
    const char *kind, *addressing, *hash;
    bool keyed, seeded;
} test_combo;

/* Returns the i-th combination that the tables allow; false past the end. */
bool test_combo_at(size_t i, test_combo *out);
/*
 * Returns parameters that choose it, with a secret if needed, and without an
 * addressing if the kind has its own.
 */
umbel_params test_combo_params(const test_combo *c);

/* Returns the i-th addressing that takes any hash; NULL past the end. */
const char *test_own_addressing(size_t i);

/* Counts allocations, and fails one on demand; for one thread. */
typedef struct test_memory {
    size_t calls, fail_at; /* 0: never */
    size_t live_bytes, live_blocks;
} test_memory;

umbel_alloc test_alloc(test_memory *m);

/*
 * Creates a temporary directory; test_dir_remove removes it with its content.
 */
char *test_dir_make(void);
void test_dir_remove(char *dir);
/* Returns dir/name. Free it. */
char *test_path(const char *dir, const char *name);
size_t test_dir_count(const char *dir);
void test_write_file(const char *path, const void *data, size_t len);
uint8_t *test_read_file(const char *path, size_t *len);

/* A running mean and variance (Welford 1962). */
typedef struct test_spread {
    double n, mean, squares;
} test_spread;

void test_spread_add(test_spread *s, double x);
double test_variance(const test_spread *s);

#endif
