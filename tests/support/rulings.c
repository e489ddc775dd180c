/* rulings.c - filters to admit or refuse, and checks of the rulings. */
#include "support/rulings.h"

#include "filter/handle.h"

#include <string.h>

const umbel_admission test_no_demand = UMBEL_ADMISSION_INIT;

umbel_filter *test_made(const char *kind, const umbel_params *base,
                        size_t capacity, size_t keys)
{
    umbel_params p = *base;
    umbel_filter *f = NULL;

    if (umbel_is_static(kind))
        return test_build(kind, &p, 0, keys);
    if (!p.cells)
        p.capacity = capacity;
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    test_add(f, 0, keys);
    return f;
}

umbel_filter *test_plain(const char *addressing)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    return test_made("bloom", &p, TEST_RULED_KEYS, TEST_RULED_KEYS);
}

umbel_ruling test_ruled(const umbel_filter *f, const umbel_admission *wants)
{
    umbel_ruling r;

    assert_ok(umbel_admit(f, wants, &r, &test_refusal));
    assert_int_equal(r.admitted, r.n == 0);
    return r;
}

bool test_refused_for(const umbel_ruling *r, umbel_refusal code)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->reason[i].code == code)
            return true;
    return false;
}

void test_expect_admitted(const umbel_filter *f, const umbel_admission *wants)
{
    umbel_ruling r = test_ruled(f, wants);

    if (!r.admitted)
        print_error("%s %s: %s\n", umbel_kind(f), f->layout.row->name,
                    r.reason[0].text);
    assert_true(r.admitted);
}

void test_expect_refused(const umbel_filter *f, const umbel_admission *wants,
                         umbel_refusal code, const char *word)
{
    umbel_ruling r = test_ruled(f, wants);

    if (r.n != 1 || r.reason[0].code != code)
        for (size_t i = 0; i < r.n; i++)
            print_error("refused: %s\n", r.reason[i].text);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.reason[0].code, code);
    assert_non_null(strstr(r.reason[0].text, word));
}
