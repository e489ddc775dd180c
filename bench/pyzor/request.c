/*
 * request.c - writes requests as the pyzor command sends them for an anonymous
 * user.
 */
#include "bench/pyzor/load.h"

#include "base/rng.h"

#include <stdio.h>
#include <string.h>

enum { DIGEST_LEN = 40 };

static size_t write_text(char *out, const char *text)
{
    return (size_t)(stpcpy(out, text) - out);
}

static size_t write_digest(char *out, uint64_t number)
{
    static const char hex[] = "0123456789abcdef";
    uint64_t word = 0;
    um_rng rng = {.state = number * 3};

    for (int i = 0; i < DIGEST_LEN; i++) {
        if (i % 16 == 0)
            word = um_random(&rng);
        out[i] = hex[word & 15];
        word >>= 4;
    }
    return DIGEST_LEN;
}

static bool is_report(const char *op)
{
    return strcmp(op, "report") == 0 || strcmp(op, "whitelist") == 0;
}

size_t um_load_request(const um_load *l, const uint64_t *digest,
                       unsigned thread, char out[UM_LOAD_REQUEST])
{
    char *p = out;

    p += write_text(p, "Op: ");
    p += write_text(p, l->op);
    for (unsigned i = 0; i < l->many; i++) {
        p += write_text(p, "\nOp-Digest: ");
        p += write_digest(p, digest[i]);
    }
    if (is_report(l->op))
        p += write_text(p, "\nOp-Spec: 20,3,60,3");
    p += write_text(p, "\nThread: ");
    p += sprintf(p, "%u", thread);
    p += write_text(p, "\nPV: 2.1\nUser: anonymous\nTime: 1794768498\n"
                       "Sig: 9739f1b8bcc90a4dda50b8b41a32461479136bc1\n\n");
    return (size_t)(p - out);
}
