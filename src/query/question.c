/*
 * question.c - what a user wrote, as the keys to ask of a filter.
 */
#include "query/query.h"

#include "base/error.h"

#include <umbel/describe.h>
#include <umbel/umbel.h>

#include <string.h>

const char *um_form_option(umbel_key_form form)
{
    static const char *const names[] = {"text", "text", "hex", "integer",
                                        "folded"};

    return names[form];
}

bool um_form_asks_several(umbel_key_form form)
{
    return form > UMBEL_KEYS_FOLDED_TEXT;
}

umbel_status um_question_set(um_question *q, const umbel_filter *f,
                             umbel_slice text, umbel_error *err)
{
    umbel_slice key = text;

    q->n = 0;
    q->form = umbel_key_form_of(f);
    q->text = text;
    q->space.len = 0;
    if (!q->raw) {
        uint8_t *space = um_buffer_reserve(&q->space, text.len);
        if (!space) {
            q->space.failed = false;
            return um_no_memory(err, text.len);
        }
        UM_TRY(um_form_key(q->form, text, space, &key, err));
    }
    q->key[0] = key;
    q->n = 1;
    return UMBEL_OK;
}

umbel_slice um_question_matched(um_question *q, size_t i)
{
    (void)i;
    return q->text;
}

umbel_status um_question_ask(um_question *q, const umbel_filter *f,
                             um_question_answer *out, umbel_error *err)
{
    bool hit[UM_MAX_CANDIDATES];
    size_t i = 0;

    UM_TRY(umbel_query_many(f, q->key, q->n, hit, err));
    while (i < q->n && !hit[i])
        i++;
    out->hit = i < q->n;
    out->matched = out->hit ? um_question_matched(q, i) : (umbel_slice){"", 0};
    return UMBEL_OK;
}

void um_question_fini(um_question *q)
{
    um_buffer_fini(&q->space);
    q->n = 0;
}
