/*
 * describe.c - what a mail is, without signatures.
 */
#include "mail/chars.h"
#include "mail/text.h"

#include <string.h>

/* Appends text as one line: white space and what could steer a terminal is one
 * blank. Returns false when it is full. */
static bool sample_text(umbel_slice text, char *out, size_t *n)
{
    const uint8_t *at = text.data, *end = at + text.len;

    for (um_char c; at < end; at += c.len) {
        c = um_char_at(at, (size_t)(end - at));
        bool blank = um_char_is_space(c.code) || c.code < 0x20 ||
                     (c.code >= 0x7f && c.code < 0xa0);

        if (blank && (*n == 0 || out[*n - 1] == ' '))
            continue;
        if (*n + c.len >= UM_MAIL_SAMPLE)
            return false;
        memcpy(out + *n, blank ? (const uint8_t *)" " : at, blank ? 1 : c.len);
        *n += blank ? 1 : c.len;
    }
    return true;
}

void um_mail_describe(const um_mail *m, um_mail_facts *out)
{
    size_t n = 0;
    bool room = true;

    memcpy(out->from_domain, m->from_domain, sizeof out->from_domain);
    memcpy(out->list_id, m->list_id, sizeof out->list_id);
    memcpy(out->received, m->received, sizeof out->received);
    memset(out->sample, 0, sizeof out->sample);
    out->parts = (uint32_t)m->nleaves;
    out->notes = m->notes;
    out->text_bytes = 0;
    for (size_t i = 0; i < m->ntexts; i++) {
        out->text_bytes += m->texts[i].len;
        if (room && n && out->sample[n - 1] != ' ' && n + 1 < UM_MAIL_SAMPLE)
            out->sample[n++] = ' ';
        room = room && sample_text(m->texts[i], out->sample, &n);
    }
    if (n && out->sample[n - 1] == ' ')
        out->sample[n - 1] = '\0';
}
