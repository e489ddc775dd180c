/*
 * razor_reply.c - the bytes of replies.
 */
#include "clearinghouse/protocols/razor/reply.h"

#include "clearinghouse/protocols/razor/row.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * Engine 4 only: of others the client would send signatures that depend on
 * nothing but the domains of links, and hit much ordinary mail. The mask has
 * the bit of engine 4, as hexadecimal digits.
 */
#define ENGINES "8"

enum { ENGINE = 4, BATCH_KB = 128 };

size_t um_razor_print(const um_razor_answer *a, char *out)
{
    bool told = a->is_check && (a->outcome == UM_RAZOR_OK ||
                                a->outcome == UM_RAZOR_NO_ENGINE ||
                                a->outcome == UM_RAZOR_WRONG_SEED);
    enum { MOST = 24 };

    if (told && a->confidence)
        return (size_t)snprintf(out, MOST, "p=1&cf=%u&ct=0\r\n", a->confidence);
    if (told)
        return (size_t)snprintf(out, MOST, "p=0\r\n");
    if (a->outcome == UM_RAZOR_OK || a->outcome == UM_RAZOR_WRONG_PASSWORD)
        return (size_t)snprintf(out, MOST, "res=%d\r\n",
                                a->outcome == UM_RAZOR_OK);
    return (size_t)snprintf(out, MOST, "err=%u\r\n",
                            um_razor_verdicts[a->outcome].code);
}

size_t um_razor_print_greeting(const um_razor_state *s,
                               char out[UM_RAZOR_REPLY])
{
    return (size_t)snprintf(out, UM_RAZOR_REPLY,
                            "sn=C&srl=%" PRIu64 "&ep4=%s&a=l&a=cg\r\n",
                            s->serial, s->seed);
}

size_t um_razor_print_state(const um_razor_state *s, char out[UM_RAZOR_REPLY])
{
    return (size_t)snprintf(out, UM_RAZOR_REPLY,
                            "-ep4=%s\r\nse=" ENGINES "\r\nac=%" PRIu64
                            "\r\nbql=%d\r\nbqs=%d\r\ndre=%d\r\nsn=C\r\n"
                            "zone=razor2.umbel\r\n.\r\n",
                            s->seed, s->confidence, UM_RAZOR_BATCH, BATCH_KB,
                            ENGINE);
}

/* A single line is no batch: clients misread one that is sent as such. */
size_t um_razor_print_places(const um_razor_state *s, const char *key,
                             char out[UM_RAZOR_REPLY])
{
    enum { END = 3 };
    size_t len = 0;

    for (size_t i = 0; i < s->nplaces; i++) {
        size_t room = UM_RAZOR_REPLY - END - len;
        int more =
            snprintf(out + len, room, "%s%s=%s\r\n",
                     i == 0 && s->nplaces > 1 ? "-" : "", key, s->place[i]);
        if ((size_t)more >= room)
            break;
        len += (size_t)more;
    }
    if (s->nplaces > 1)
        len += (size_t)snprintf(out + len, END + 1, ".\r\n");
    return len;
}
