/*
 * doctor_razor.c - a Razor2 client without an account: greeting, discovery,
 * state, check; and whether it could get one. The registration that is tried
 * has a name that none can have.
 */
#include "clearinghouse/admin/doctor_rows.h"
#include "clearinghouse/protocols/razor/code.h"
#include "clearinghouse/protocols/razor/protocol.h"
#include "clearinghouse/protocols/razor/reply.h"

#include "base/error.h"
#include "net/server/socket.h"

#include <string.h>
#include <unistd.h>

/* Asks as clients do: a line, and one read. NULL: only read. */
static umbel_status ask_razor(int fd, const char *line,
                              char out[UM_RAZOR_REPLY + 1], umbel_error *err)
{
    size_t n;

    if (line)
        UM_TRY(um_call_send(fd, line, strlen(line), err));
    UM_TRY(um_call_receive(fd, out, UM_RAZOR_REPLY, &n, err));
    out[n] = '\0';
    if (n > 2 && strcmp(out + n - 2, "\r\n") == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   n ? "what answers there does not speak Razor2"
                     : "the connection is ended at once: too many connections, "
                       "or what listens there does not speak Razor2");
}

/* Every server that shares reports needs the seed, and so does every client's
 * copy of the state. */
static umbel_status check_seed(const um_razor_settings *s, const char *greeting,
                               um_finding *out, umbel_error *err)
{
    static const char key[] = "ep4=";
    const char *at = strstr(greeting, key);

    if (strncmp(greeting, "sn=", 3) != 0 || !at)
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there does not speak Razor2");
    at += sizeof key - 1;
    size_t len = strcspn(at, "&\r");
    if (len == strlen(s->seed) && memcmp(at, s->seed, len) == 0)
        return UMBEL_OK;
    UM_SAY(out->advice, "restart the server, so that it takes the seed of the "
                        "configuration; reports under the other one are lost");
    return um_fail(err, UMBEL_E_MISMATCH,
                   "wrong seed: the server has %.*s, razor.seed of the "
                   "configuration is %s",
                   (int)(len < 40 ? len : 40), at, s->seed);
}

static umbel_status check_signature(int fd, const um_razor_settings *s,
                                    umbel_error *err)
{
    uint8_t digest[UM_RAZOR_DIGEST] = {0};
    char code[UM_RAZOR_DIGEST_TEXT + 1], line[128], reply[UM_RAZOR_REPLY + 1];

    um_razor_encode(digest, code);
    snprintf(line, sizeof line, "a=c&e=4&ep4=%s&s=%s\r\n", s->seed, code);
    UM_TRY(ask_razor(fd, line, reply, err));
    if (strncmp(reply, "p=", 2) == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED, "a check is refused: %.*s",
                   (int)strcspn(reply, "\r"), reply);
}

/* Discovery names two addresses, or clients repeat it in every run. */
static umbel_status check_places(int fd, um_finding *out, umbel_error *err)
{
    char reply[UM_RAZOR_REPLY + 1];
    size_t n = 0;

    UM_TRY(ask_razor(fd, "a=g&pm=csl\r\n", reply, err));
    for (const char *at = reply; (at = strstr(at, "csl=")); at++)
        n++;
    if (!n)
        return um_fail(err, UMBEL_E_FORMAT, "discovery names no server");
    if (n > 1)
        return UMBEL_OK;
    out->health = UM_LIMITED;
    UM_SAY(out->advice, "give razor.announce two names of this server: clients "
                        "that know one discover in every run");
    return UMBEL_OK;
}

static umbel_status check_registration(const um_doctor *d, int fd,
                                       um_finding *out, umbel_error *err)
{
    char reply[UM_RAZOR_REPLY + 1];

    UM_TRY(ask_razor(fd, "a=reg&user=%20&pass=%20\r\n", reply, err));
    UM_SAY(out->text, "greeting, discovery and check; clients may register, "
                      "and report then");
    if (strcmp(reply, "err=403\r\n") != 0)
        return UMBEL_OK;
    UM_SAY(out->text,
           "greeting, discovery and check; registration is closed, %zu "
           "accounts may report",
           d->razor_accounts);
    if (d->server != UM_SERVER_ANSWERS || d->razor_accounts)
        return UMBEL_OK;
    out->health = UM_BROKEN;
    UM_SAY(out->text, "nobody may report: registration is closed, and no "
                      "account was registered");
    UM_SAY(out->advice, "set registration = \"open\" in razor { }, send the "
                        "server SIGHUP, register, and close it again");
    return UMBEL_OK;
}

static umbel_status speak_razor(const um_doctor *d, int fd, um_finding *out,
                                umbel_error *err)
{
    const um_razor_settings *s =
        um_config_protocol(d->config, &um_protocol_razor);
    char reply[UM_RAZOR_REPLY + 1];

    UM_TRY(ask_razor(fd, NULL, reply, err));
    UM_TRY(check_seed(s, reply, out, err));
    UM_TRY(um_call_send(fd, "cn=doctor&cv=1\r\n", 16, err));
    UM_TRY(ask_razor(fd, "a=g&pm=state\r\n", reply, err));
    UM_TRY(check_signature(fd, s, err));
    UM_TRY(check_places(fd, out, err));
    UM_TRY(check_registration(d, fd, out, err));
    return um_call_send(fd, "a=q\r\n", 5, err);
}

umbel_status um_doctor_razor(const um_doctor *d, const um_address *at,
                             um_finding *out, umbel_error *err)
{
    int fd;

    UM_TRY(um_call_open(at, UM_DOCTOR_MS, &fd, err));
    umbel_status status = speak_razor(d, fd, out, err);
    close(fd);
    return status;
}
