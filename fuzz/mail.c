/*
 * mail.c - arbitrary mails, in every encoding and charset.
 *
 * Whatever the bytes are, the parts are within the limits and are UTF-8, the
 * server accepts the answer that a worker would send, and the original in a
 * wrapper is a part of the mail.
 */
#include "fuzz.h"

#include "base/text.h"
#include "mail/internal.h"
#include "mail/mail.h"

static void check_text(umbel_slice text)
{
    const uint8_t *at = text.data;

    for (size_t i = 0, n; i < text.len; i += n) {
        n = um_utf8_len(at + i, text.len - i);
        UM_WANT(n > 0);
    }
}

static void check_answer(const um_mail *m)
{
    um_mail_answer a = {.id = 17, .kind = UM_MAIL_READ}, back;
    uint8_t bytes[UM_MAIL_ANSWER];

    um_mail_describe(m, &a.facts);
    um_mail_sign(m, &a.facts);
    um_mail_answer_encode(&a, bytes);
    UM_WANT(um_mail_answer_decode(bytes, &back));
    UM_WANT(back.id == a.id && back.facts.notes == m->notes);
}

/* The original is a part of the mail, or no longer than it. */
static void check_original(umbel_slice mail)
{
    um_buffer decoded = {0};
    unsigned note;
    umbel_slice original = um_mail_unwrap(mail, &decoded, &note);
    const uint8_t *at = original.data, *begin = mail.data;

    UM_WANT(original.len <= mail.len);
    UM_WANT(at == decoded.data ||
            (at >= begin && at + original.len <= begin + mail.len));
    UM_WANT((note == UM_MAIL_WRAPPED) == (at != begin));
    um_buffer_fini(&decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static um_mail_reader *reader;
    static const um_mail_limits limits = {
        .bytes = 20000, .parts = 20, .depth = 10};
    um_mail m;

    if (!reader)
        UM_WANT(um_mail_reader_open(&reader, NULL) == UMBEL_OK);
    UM_WANT(um_mail_read(reader, data, len, &limits, &m, NULL) == UMBEL_OK);
    UM_WANT(m.nleaves <= limits.parts && m.ntexts <= m.nleaves);
    for (size_t i = 0; i < m.nleaves; i++)
        check_text(m.leaves[i]);
    check_answer(&m);
    check_original((umbel_slice){data, len});
    return 0;
}
