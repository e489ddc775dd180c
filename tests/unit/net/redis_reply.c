/* redis_reply.c - replies of Redis: complete, truncated and malformed. */
#include "support/test.h"

#include "net/redis.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT = 100 };

static um_redis_parsed parse(const char *text, size_t len, um_redis_reply *out)
{
    /* Exact length, so that sanitizers detect reads past its end. */
    char *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    memcpy(copy, text, len);
    um_redis_parsed state = um_redis_parse(copy, len, LIMIT, out);
    free(copy);
    return state;
}

static void values_of_every_type_are_read(void **state)
{
    static const char text[] = "*4\r\n:-12\r\n$3\r\na\r\n\r\n$-1\r\n+fine\r\n";
    um_redis_reply r;

    (void)state;
    assert_int_equal(um_redis_parse(text, sizeof text - 1, LIMIT, &r),
                     UM_REDIS_WHOLE);
    assert_true(r.is_array);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.value[0].number, -12);
    assert_int_equal(r.value[1].text.len, 3);
    assert_memory_equal(r.value[1].text.data, "a\r\n", 3);
    assert_int_equal(r.value[2].type, UM_REDIS_NIL);
    assert_memory_equal(r.value[3].text.data, "fine", 4);
    assert_int_equal(um_redis_parse("-ERR no\r\n", 9, LIMIT, &r),
                     UM_REDIS_WHOLE);
    assert_int_equal(r.value[0].type, UM_REDIS_ERROR);
}

static void a_reply_that_is_cut_waits_for_more(void **state)
{
    static const char text[] = "*3\r\n:1000\r\n:12\r\n$5\r\nhello\r\n";
    um_redis_reply r;

    (void)state;
    for (size_t len = 0; len < sizeof text - 1; len++)
        assert_int_equal(parse(text, len, &r), UM_REDIS_MORE);
    assert_int_equal(parse(text, sizeof text - 1, &r), UM_REDIS_WHOLE);
}

static void bad_replies_are_bad_at_once(void **state)
{
    static const char *const bad[] = {
        "\r\n",      "\n",         "x\r\n",       "*5\r\n",
        "*-1\r\n",   "$101\r\n",   "$-2\r\n",     "$9999999999999999999\r\n",
        ":\r\n",     ":1x\r\n",    ":-\r\n",      "*1\r\n*1\r\n:1\r\n",
        "$1\r\nabc", "*1\r\n\r\n", "%1\r\n:1\r\n"};
    um_redis_reply r;
    char line[2000];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_int_equal(parse(bad[i], strlen(bad[i]), &r), UM_REDIS_BAD);
    memset(line, '+', sizeof line); /* never ends */
    assert_int_equal(parse(line, sizeof line, &r), UM_REDIS_BAD);
}

TEST_GROUP(redis_reply)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_type_are_read),
        cmocka_unit_test(a_reply_that_is_cut_waits_for_more),
        cmocka_unit_test(bad_replies_are_bad_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
