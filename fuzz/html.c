/*
 * html.c - arbitrary HTML pages.
 *
 * The extracted text is at most twice as long as the page, is trimmed, has no
 * double space where two pieces were joined, and is UTF-8 if the page was. Time
 * must be linear; libFuzzer's timeout finds pages for which it is not.
 */
#include "fuzz.h"

#include "base/text.h"
#include "mail/internal.h"

static bool is_utf8(const uint8_t *at, size_t len)
{
    for (size_t i = 0, n; i < len; i += n) {
        n = um_utf8_len(at + i, len - i);
        if (!n)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    um_buffer out = {0};

    if (!is_utf8(data, len))
        return 0; /* um_mail_read passes only UTF-8 */
    UM_WANT(um_html_to_text(&out, data, len));
    UM_WANT(out.len <= 2 * len);
    UM_WANT(is_utf8(out.data, out.len));
    if (out.len) {
        UM_WANT(!um_char_is_space(um_char_at(out.data, out.len).code));
        UM_WANT(out.data[out.len - 1] != ' ');
    }
    um_buffer_fini(&out);
    return 0;
}
