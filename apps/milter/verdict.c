/*
 * verdict.c - from the answer of dccifd to a header, or a rejection.
 *
 *     X-DCC-umbel-Metrics: host 1; bulk Body=many Fuz1=3 Fuz2=3
 *                              reported: 1               checksum  server
 *      Body: 39ea73d8 8935a22f 014a8793 d15e139d many
 */
#include "base/error.h"
#include "milter/milter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sums[] = {"Body", "Fuz1", "Fuz2"};

/* The count of "Body=3 "; many is more than any. False: it is not there. */
static bool read_count(const char *line, const char *sum, char text[24],
                       uint64_t *count)
{
    char name[16];
    int len = snprintf(name, sizeof name, " %s=", sum);
    const char *at = strstr(line, name);

    if (!at)
        return false;
    at += len;
    snprintf(text, 24, "%.*s", (int)strcspn(at, " \n"), at);
    *count = strcmp(text, "many") == 0 ? UINT64_MAX : strtoull(text, NULL, 10);
    return true;
}

/* Copies the checksum of a sum, without blanks. */
static void read_checksum(const char *lines, const char *sum, char out[64])
{
    char name[16];
    size_t n = 0;

    snprintf(name, sizeof name, " %s: ", sum);
    const char *at = strstr(lines, name);
    for (at = at ? at + strlen(name) : ""; *at && *at != '\n' && n < 35; at++)
        out[n++] = *at;
    out[n] = '\0';
    for (char *from = out, *to = out; (*to = *from); from++)
        to += *to != ' ';
    out[out[0] ? strspn(out, "0123456789abcdef") : 0] = '\0';
}

static void write_why(um_milter_verdict *out, const char *text, const char *sum,
                      const char *lines, const char *contact)
{
    char checksum[64];

    read_checksum(lines, sum, checksum);
    snprintf(out->why, sizeof out->why,
             "this mail was seen %s times (%s %s); if it is not bulk mail, ask "
             "%s",
             text, sum, checksum, contact);
    out->reject = true;
}

umbel_status um_milter_judge(const um_dccifd_answer *answer, uint64_t reject_at,
                             const char *contact, um_milter_verdict *out,
                             umbel_error *err)
{
    static const char begin[] = "X-DCC-";
    char line[512], text[24];
    uint64_t count;

    snprintf(line, sizeof line, "%.*s", (int)strcspn(answer->text, "\n"),
             answer->text);
    const char *words = strstr(line, ";");
    if (strncmp(line, begin, sizeof begin - 1) != 0 || !words)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the server's answer has no X-DCC "
                       "line");
    bool welcome = strstr(words, " whitelist") != NULL;
    *out = (um_milter_verdict){.reject = false};
    int len = snprintf(out->header, sizeof out->header, "%s;",
                       strstr(words, " bulk") ? "bulk" : "ok");
    for (size_t i = 0; i < UM_COUNT(sums); i++) {
        if (!read_count(words, sums[i], text, &count))
            continue;
        len += snprintf(out->header + len, sizeof out->header - (size_t)len,
                        " %s=%s", sums[i], text);
        if (reject_at && count >= reject_at && !welcome && !out->reject)
            write_why(out, text, sums[i], answer->text, contact);
    }
    return UMBEL_OK;
}
