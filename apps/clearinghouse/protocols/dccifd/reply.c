/*
 * dccifd_reply.c - the bytes of an answer.
 */
#include "clearinghouse/protocols/dccifd/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[UM_DCCIFD_SUMS] = {"Body", "Fuz1", "Fuz2"};

typedef struct number {
    char text[24];
} number;

static number print_count(const um_dccifd_reply *r, uint64_t count)
{
    number n;

    if (count >= r->many)
        snprintf(n.text, sizeof n.text, "many");
    else
        snprintf(n.text, sizeof n.text, "%" PRIu64, count);
    return n;
}

bool um_dccifd_is_bulk(const um_dccifd_reply *r)
{
    for (unsigned i = 0; i < UM_DCCIFD_SUMS; i++)
        if (r->sum[i].present && r->sum[i].count >= r->many)
            return true;
    return false;
}

static char *write_results(const um_dccifd_reply *r, unsigned recipients,
                           char *at)
{
    char letter = r->failed ? 'T' : 'A';

    *at++ = letter;
    *at++ = '\n';
    memset(at, letter, recipients);
    at += recipients;
    *at++ = '\n';
    return at;
}

/* rspamd wants something behind "; ", so a blank stands there in any case. */
static char *write_header(const um_dccifd_reply *r, const char *host, char *at)
{
    at += sprintf(at, "X-DCC-umbel-Metrics: %.*s 1;%s", UM_DCCIFD_HOST, host,
                  r->welcome             ? " whitelist"
                  : um_dccifd_is_bulk(r) ? " bulk"
                                         : "");
    for (unsigned i = 0; i < UM_DCCIFD_SUMS; i++)
        if (r->sum[i].present)
            at += sprintf(at, " %s=%s", names[i],
                          print_count(r, r->sum[i].count).text);
    if (at[-1] == ';')
        *at++ = ' ';
    *at++ = '\n';
    return at;
}

static char *write_checksum(const um_dccifd_reply *r, unsigned i, char *at)
{
    const um_dccifd_count *c = &r->sum[i];

    at += sprintf(at, "%7s:", names[i]);
    for (unsigned j = 0; j < UM_DCCIFD_CHECKSUM; j++)
        at += sprintf(at, "%s%02x", j % 4 ? "" : " ", c->checksum[j]);
    return at + sprintf(at, " %s\n", print_count(r, c->count).text);
}

static char *write_checksums(const um_dccifd_reply *r, char *at)
{
    at += sprintf(at, "%41s %-15s checksum  server\n",
                  "reported:", print_count(r, r->reported).text);
    for (unsigned i = 0; i < UM_DCCIFD_SUMS; i++)
        if (r->sum[i].present)
            at = write_checksum(r, i, at);
    return at;
}

size_t um_dccifd_print(const um_dccifd_reply *r, const um_dccifd_envelope *e,
                       const char *host, char out[UM_DCCIFD_REPLY])
{
    char *at = write_results(r, e->recipients, out);

    if (!r->failed &&
        e->words & (UM_DCCIFD_HEADER | UM_DCCIFD_CKSUMS | UM_DCCIFD_BODY))
        at = write_header(r, host, at);
    if (!r->failed && e->words & UM_DCCIFD_CKSUMS)
        at = write_checksums(r, at);
    return (size_t)(at - out);
}
