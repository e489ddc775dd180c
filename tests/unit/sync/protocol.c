/*
 * protocol.c - the worked exchange of docs/PROTOCOL.md: the document contains
 * these bytes.
 *
 *   test_sync_protocol --print   writes them for the document
 */
#include "support/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1 << 16 };

static void dump(char *out, const char *who, umbel_slice m)
{
    static const char *const names[] = {
        "", "HELLO", "HAVE", "UPDATE", "STATEMENT", "CONTRADICTION", "LOG"};
    const uint8_t *at = m.data;
    size_t len = strlen(out);

    len += (size_t)snprintf(out + len, TEXT - len, "%s: %s, %zu bytes\n", who,
                            names[at[0]], m.len);
    for (size_t i = 0; i < m.len; i += 16) {
        len += (size_t)snprintf(out + len, TEXT - len, "%08zx:", i);
        for (size_t j = i; j < i + 16 && j < m.len; j++)
            len += (size_t)snprintf(out + len, TEXT - len, "%s%02x",
                                    j % 2 ? "" : " ", at[j]);
        len += (size_t)snprintf(out + len, TEXT - len, "\n");
    }
}

static umbel_filter *small_shape(void)
{
    umbel_setting settings[] = {{"cell_bits", 8}};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *shape;

    p.cells = 64;
    p.hashes = 2;
    p.addressing = "classic";
    p.settings = settings;
    p.nsettings = 1;
    assert_ok(umbel_create("counting", &p, &shape, &test_refusal));
    return shape;
}

static void work_exchange(char *out)
{
    umbel_filter *shape = small_shape();
    test_sync_server s[2] = {{0}};
    test_sync_link l;
    umbel_slice m;

    for (uint64_t i = 0; i < 2; i++) {
        s[i].list.shape = shape;
        test_sync_open(&s[i], 1 + i);
    }
    assert_ok(umbel_add(s[0].own, "spam", 4, NULL, &test_refusal));
    test_sync_publish(&s[0]);
    test_sync_connect(&l, &s[0], &s[1]);
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 2; i++)
            while (umbel_sync_next(s[i].machine, l.peer[i], 1000, &m)) {
                dump(out, i ? "B to A" : "A to B", m);
                assert_ok(umbel_sync_receive(s[!i].machine, l.peer[!i], m.data,
                                             m.len, 1000, &test_refusal));
            }
    assert_true(test_sync_word(&s[0]) == test_sync_word(&s[1]));
    test_sync_close(&s[0]);
    test_sync_close(&s[1]);
    umbel_close(shape);
}

static void the_document_has_the_bytes(void **state)
{
    static char text[TEXT], document[1 << 18];
    FILE *in = fopen(UM_GOLDEN_DIR "/../../docs/PROTOCOL.md", "r");

    (void)state;
    assert_non_null(in);
    size_t len = fread(document, 1, sizeof document - 1, in);
    fclose(in);
    document[len] = '\0';
    work_exchange(text);
    assert_non_null(strstr(document, text));
}

TEST_GROUP(protocol)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_has_the_bytes),
    };

    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        static char text[TEXT];
        work_exchange(text);
        return fputs(text, stdout) < 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
