/*
 * answer.c - answers for programs: a line, or a JSON object, for every
 * question.
 */
#include "query/query.h"

#include "base/error.h"
#include "base/text.h"

#include <umbel/describe.h>

#include <string.h>

static void print_slice(umbel_slice s, FILE *out)
{
    if (s.len)
        fwrite(s.data, 1, s.len, out);
}

static void print_line(char verdict, umbel_slice text, umbel_slice more,
                       char end, FILE *out)
{
    putc(verdict, out);
    putc('\t', out);
    print_slice(text, out);
    putc('\t', out);
    print_slice(more, out);
    putc(end, out);
}

void um_answer_refusal(umbel_slice text, const char *why, char end, FILE *out)
{
    print_line('-', text, (umbel_slice){why, strlen(why)}, end, out);
}

static umbel_status ask(um_question *q, const umbel_filter *f, umbel_slice text,
                        um_question_answer *out, umbel_error *err)
{
    UM_TRY(um_question_set(q, f, text, err));
    return um_question_ask(q, f, out, err);
}

um_answered um_answer_line(um_question *q, const umbel_filter *f,
                           umbel_slice text, char end, FILE *out)
{
    um_question_answer answer;
    umbel_error err;

    if (ask(q, f, text, &answer, &err) != UMBEL_OK) {
        um_answer_refusal(text, err.text, end, out);
        return UM_ANSWERED_REFUSED;
    }
    print_line(answer.hit ? '1' : '0', text, answer.matched, end, out);
    return answer.hit ? UM_ANSWERED_YES : UM_ANSWERED_NO;
}

um_answered um_answer_json(um_question *q, const umbel_filter *f,
                           umbel_slice text, FILE *out)
{
    um_question_answer answer;
    umbel_error err;
    umbel_status status = ask(q, f, text, &answer, &err);

    putc('{', out);
    um_json_key(out, &text);
    if (status) {
        um_json_field(out, 1, "error", err.text);
        putc('}', out);
        return UM_ANSWERED_REFUSED;
    }
    fprintf(out,
            ", \"match\": %s, \"matched\": ", answer.hit ? "true" : "false");
    if (answer.hit)
        um_json_string(out, answer.matched.data, answer.matched.len);
    else
        fputs("null", out);
    um_json_field(out, 1, "form", um_form_option(q->form));
    putc('}', out);
    return answer.hit ? UM_ANSWERED_YES : UM_ANSWERED_NO;
}

/* --- lines from a stream -------------------------------------------------- */

/* Passes on one line, of len bytes without its end. */
static void pass_line(um_lines *l, const uint8_t *line, size_t len)
{
    bool too_long = l->skipping;

    l->skipping = false;
    l->scanned = 0;
    if (l->end == '\n' && len && line[len - 1] == '\r')
        len--;
    too_long |= len > l->max;
    l->take(l->ctx, (umbel_slice){line, too_long ? 0 : len}, too_long);
}

size_t um_lines_take(um_lines *l, const uint8_t *bytes, size_t len, size_t n,
                     bool last)
{
    size_t at = 0;

    for (; at < len && n > 0; n--) {
        const uint8_t *from = bytes + at + l->scanned;
        const uint8_t *end = memchr(from, l->end, len - at - l->scanned);

        if (!end)
            break;
        size_t line = (size_t)(end - (bytes + at));
        pass_line(l, bytes + at, line);
        at += line + 1;
    }
    if (n == 0)
        return at;
    l->scanned = len - at;
    if (l->scanned > l->max + 1 || (l->skipping && !last)) { /* discard it */
        l->skipping = true;
        l->scanned = 0;
        at = len;
    }
    if (last && (at < len || l->skipping)) {
        pass_line(l, bytes + at, len - at);
        at = len;
    }
    return at;
}
