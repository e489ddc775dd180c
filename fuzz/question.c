/*
 * question.c - what anybody may write becomes the keys of a question, in every
 * form.
 *
 * The first byte chooses the form and options; for networks, the next bytes are
 * prefixes that the filter has. A question has a bounded number of keys, none
 * of them longer than its text allows; a key that was converted is found, and
 * converting a domain again changes nothing.
 */
#include "fuzz.h"

#include "query/query.h"

#include <umbel/filter.h>

#include <string.h>

enum { FORMS = UMBEL_KEYS_NETWORK + 1, MAX_TEXT = 4096 };

static umbel_filter *open_form(unsigned form)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.capacity = 16;
    p.key_form = form;
    if (form == UMBEL_KEYS_INTEGER)
        p.addressing = "universal";
    UM_WANT(umbel_create(NULL, &p, &f, NULL) == UMBEL_OK);
    return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static um_question q;
    uint8_t space[UMBEL_FORM_SPACE(MAX_TEXT)], again[UMBEL_FORM_SPACE(256)];
    um_question_answer answer;
    umbel_slice key, same;
    umbel_error err;

    if (len < 2 || len > MAX_TEXT)
        return 0;
    unsigned form = data[0] % FORMS;
    umbel_filter *f = open_form(form);
    umbel_slice text = {data + 1, len - 1};
    q.raw = data[0] >= 128;
    q.digests = data[0] / 16 % 2;
    if (umbel_form_key(f, text.data, text.len, space, &key, &err) == UMBEL_OK) {
        UM_WANT(key.len <= UMBEL_FORM_SPACE(text.len));
        if (umbel_add(f, key.data, key.len, NULL, &err) == UMBEL_OK) {
            um_question plain = {.raw = false};
            UM_WANT(um_question_set(&plain, f, text, &err) == UMBEL_OK);
            UM_WANT(um_question_ask(&plain, f, &answer, &err) == UMBEL_OK);
            UM_WANT(answer.hit);
            um_question_fini(&plain);
        }
        if (form == UMBEL_KEYS_DOMAIN) {
            UM_WANT(umbel_form_key(f, key.data, key.len, again, &same, &err) ==
                    UMBEL_OK);
            UM_WANT(same.len == key.len &&
                    memcmp(same.data, key.data, key.len) == 0);
        }
    }
    if (um_question_set(&q, f, text, &err) == UMBEL_OK) {
        UM_WANT(q.n <= UM_MAX_CANDIDATES);
        if (um_question_ask(&q, f, &answer, &err) == UMBEL_OK)
            UM_WANT(answer.hit || !answer.matched.len);
    }
    umbel_close(f);
    return 0;
}
