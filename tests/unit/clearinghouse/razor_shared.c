/*
 * razor_shared.c - shared accounts when memory runs out, and when the log is
 * full.
 */
#include "clearinghouse/peering/peers.h"
#include "clearinghouse/protocols/razor/internal.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <umbel/publish.h>

enum { ACCOUNTS = 100, NEVER = -1 };

static int reallocs_left = NEVER; /* calls that succeed */
void *__real_realloc(void *old, size_t len);
void *__wrap_realloc(void *old, size_t len);
void *__wrap_realloc(void *old, size_t len)
{
    if (reallocs_left == 0)
        return NULL;
    reallocs_left -= reallocs_left > 0;
    return __real_realloc(old, len);
}

static umbel_slice text_of(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

/* Wrapped: one account in the store, and the log that peers read. */
bool __wrap_um_razor_account_next(const um_store *s, size_t *at,
                                  umbel_slice *name, umbel_slice *password);
bool __wrap_um_razor_account_next(const um_store *s, size_t *at,
                                  umbel_slice *name, umbel_slice *password)
{
    (void)s;
    *name = text_of("alice");
    *password = text_of("secret");
    return (*at)++ == 0;
}

static bool log_is_full;
umbel_status __wrap_um_peers_append(um_peers *p, uint8_t type, umbel_slice body,
                                    uint64_t *ticket, umbel_error *err);
umbel_status __wrap_um_peers_append(um_peers *p, uint8_t type, umbel_slice body,
                                    uint64_t *ticket, umbel_error *err)
{
    *ticket = 1;
    if (!log_is_full)
        return umbel_sync_log_append((umbel_sync *)(void *)p, type, body, NULL,
                                     err);
    err->status = UMBEL_E_LIMIT;
    snprintf(err->text, sizeof err->text, "a log is full");
    return UMBEL_E_LIMIT;
}

umbel_sync *__wrap_um_peers_machine(const um_peers *p);
umbel_sync *__wrap_um_peers_machine(const um_peers *p)
{
    return (umbel_sync *)(uintptr_t)p;
}

/* Returns an environment with only a machine, which stands in for peers. */
static um_environment open_environment(void)
{
    static const um_clock clock = {.now = 1};
    uint8_t sign[UMBEL_SIGN_KEY_LEN], trust[UMBEL_TRUST_KEY_LEN];
    umbel_sync_params p = UMBEL_SYNC_INIT;
    um_environment env = {.clock = &clock};
    umbel_sync *machine;

    assert_ok(umbel_sign_keygen(sign, trust, &test_refusal));
    p.sign_key = sign;
    p.incarnation = p.session = 1;
    assert_ok(umbel_sync_open(&p, &machine, &test_refusal));
    env.peers = (um_peers *)(void *)machine;
    return env;
}

static size_t count_entries(const umbel_sync *machine)
{
    umbel_sync_entry entry;
    size_t n = 0;

    for (size_t at = 0; umbel_sync_next_entry(machine, &at, &entry);)
        n++;
    return n;
}

static void name_account(int i, char out[16])
{
    snprintf(out, 16, "user%03d", i);
}

static size_t count_found(um_razor_shared *s, const um_environment *env)
{
    size_t n = 0;

    for (int i = 0; i < ACCOUNTS; i++) {
        char name[16];
        umbel_slice password;
        name_account(i, name);
        n += um_razor_shared_find(s, env, text_of(name), &password);
    }
    return n;
}

static void without_memory_no_account_is_known_and_later_all(void **state)
{
    um_razor_shared *s = um_razor_shared_create();
    um_environment env = open_environment();
    uint64_t ticket;

    (void)state;
    assert_non_null(s);
    for (int i = 0; i < ACCOUNTS; i++) {
        char name[16];
        name_account(i, name);
        assert_ok(um_razor_shared_append(&env, text_of(name), text_of("pass"),
                                         &ticket, &test_refusal));
    }
    for (int left = 0; left < 2; left++) {
        umbel_slice password;
        reallocs_left = left;
        assert_false(
            um_razor_shared_find(s, &env, text_of("user000"), &password));
        reallocs_left = left;
        assert_refused(um_razor_shared_publish(s, &env, &test_refusal),
                       UMBEL_E_NOMEM, "memory");
    }
    reallocs_left = NEVER;
    assert_int_equal(count_found(s, &env), ACCOUNTS);
    um_razor_shared_free(s);
    umbel_sync_close(um_peers_machine(env.peers));
}

static void a_log_that_is_full_is_named_and_tried_again(void **state)
{
    um_razor_shared *s = um_razor_shared_create();
    um_environment env = open_environment();
    umbel_slice password;

    (void)state;
    assert_non_null(s);
    log_is_full = true;
    for (int i = 0; i < 2; i++)
        assert_refused(um_razor_shared_publish(s, &env, &test_refusal),
                       UMBEL_E_LIMIT, "full");
    log_is_full = false;
    for (int i = 0; i < 3; i++)
        assert_ok(um_razor_shared_publish(s, &env, &test_refusal));
    assert_true(um_razor_shared_find(s, &env, text_of("alice"), &password));
    assert_int_equal(count_entries(um_peers_machine(env.peers)), 1);
    um_razor_shared_free(s);
    umbel_sync_close(um_peers_machine(env.peers));
}

TEST_GROUP(razor_shared)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_no_account_is_known_and_later_all),
        cmocka_unit_test(a_log_that_is_full_is_named_and_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
