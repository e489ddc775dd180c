/*
 * key_file.c - malformed key files, with every byte changed.
 */
#include "support/test.h"

#include "trust/key_file.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *dir, *path;

static int begin(void **state)
{
    (void)state;
    dir = test_dir_make();
    path = test_path(dir, "key");
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(path);
    test_dir_remove(dir);
    return 0;
}

static void write_secretly(const void *text, size_t len)
{
    test_write_file(path, text, len);
    assert_int_equal(chmod(path, 0600), 0);
}

static umbel_status load(uint8_t out[UMBEL_SECRET_LEN])
{
    return um_secret_load(path, out, &test_refusal);
}

static void every_byte_of_a_key_file_counts(void **state)
{
    uint8_t secret[UMBEL_SECRET_LEN], back[UMBEL_SECRET_LEN] = {0};
    size_t len;

    (void)state;
    memset(secret, 0x5A, sizeof secret);
    assert_ok(um_secret_save(secret, path, &test_refusal));
    char *text = (char *)test_read_file(path, &len);
    for (size_t i = 0; i < len; i++) {
        char was = text[i];
        text[i] = 'x';
        write_secretly(text, len);
        assert_refused(load(back), UMBEL_E_SECRET, "is not a key file");
        text[i] = was;
        write_secretly(text, i);
        assert_refused(load(back), UMBEL_E_SECRET, "is not a key file");
    }
    for (size_t i = 0; i < sizeof back; i++)
        assert_int_equal(back[i], 0); /* no output */
    char *longer = calloc(1, len + 300);
    assert_non_null(longer);
    memcpy(longer, text, len);
    write_secretly(longer, len + 1);
    assert_refused(load(back), UMBEL_E_SECRET, "is not a key file");
    write_secretly(longer, len + 300); /* longer than any key file */
    assert_refused(load(back), UMBEL_E_SECRET, "is not a key file");
    write_secretly(text, len);
    assert_ok(load(back));
    assert_memory_equal(back, secret, sizeof back);
    free(longer);
    free(text);
}

static void a_name_of_64_signs_is_a_key_or_a_file(void **state)
{
    char digits[65], no_digits[65];
    uint8_t key[UMBEL_TRUST_KEY_LEN];

    (void)state;
    memset(digits, 'a', 64);
    memset(no_digits, 'g', 64);
    digits[64] = no_digits[64] = '\0';
    assert_ok(umbel_trust_key_load(digits, key, &test_refusal));
    assert_int_equal(key[31], 0xAA);
    assert_refused(umbel_trust_key_load(no_digits, key, &test_refusal),
                   UMBEL_E_IO, "neither a file nor a key");
    digits[63] = '\0';
    assert_refused(umbel_trust_key_load(digits, key, &test_refusal), UMBEL_E_IO,
                   "neither a file nor a key");
}

static void a_key_is_written_once_and_beside_nothing(void **state)
{
    uint8_t secret[UMBEL_SECRET_LEN] = {1};
    char here[4096];

    (void)state;
    assert_ok(um_secret_save(secret, path, &test_refusal));
    assert_refused(um_secret_save(secret, path, &test_refusal), UMBEL_E_IO,
                   "exist");
    assert_refused(um_secret_save(secret, "/nowhere/key", &test_refusal),
                   UMBEL_E_IO, "nowhere");
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(dir), 0);
    assert_ok(um_secret_save(secret, "bare-name", &test_refusal));
    assert_int_equal(chdir(here), 0);
    assert_int_equal(test_dir_count(dir), 2);
}

/* Limits the file size, as on a full disk. */
static void a_key_that_cannot_be_written_leaves_no_file(void **state)
{
    uint8_t secret[UMBEL_SECRET_LEN] = {1};
    struct rlimit before, low;
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = before;
    for (low.rlim_cur = 0; low.rlim_cur < 60; low.rlim_cur += 20) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
        umbel_status status = um_secret_save(secret, path, &test_refusal);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, UMBEL_E_IO);
        assert_int_equal(test_dir_count(dir), 0);
    }
    signal(SIGXFSZ, old);
    assert_ok(um_secret_save(secret, path, &test_refusal));
}

static void a_directory_is_no_key_file(void **state)
{
    uint8_t secret[UMBEL_SECRET_LEN];

    (void)state;
    assert_refused(um_secret_load(dir, secret, &test_refusal), UMBEL_E_IO,
                   "directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_GROUP(key_file)
{
    const struct CMUnitTest tests[] = {
        TEST(every_byte_of_a_key_file_counts),
        TEST(a_name_of_64_signs_is_a_key_or_a_file),
        TEST(a_key_is_written_once_and_beside_nothing),
        TEST(a_key_that_cannot_be_written_leaves_no_file),
        TEST(a_directory_is_no_key_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
