/*
 * doctor_fuzzy.c - rspamd's module fuzzy_check: ping, check, and the right to
 * write.
 *
 * That is tried by a deletion of a mail that nobody has, which changes nothing.
 */
#include "clearinghouse/admin/doctor_rows.h"
#include "clearinghouse/protocols/fuzzy/request.h"

#include "base/bytes.h"
#include "base/error.h"
#include "net/server/socket.h"

#include <string.h>
#include <unistd.h>

enum { TAG = 11335, FORBIDDEN = 403 };

static umbel_status ask_fuzzy(int fd, um_fuzzy_op op, const char *name,
                              int32_t *value, umbel_error *err)
{
    uint8_t text[UM_FUZZY_PLAIN] = {4, (uint8_t)op}, answer[UM_FUZZY_REPLY + 1];
    um_writer w = {text + 8, text + sizeof text, false};
    um_reader r = {answer, answer + UM_FUZZY_REPLY, false};
    size_t n;

    um_write_u32(&w, TAG);
    um_write_bytes(&w, "umbel clearinghouse doctor", 26);
    UM_TRY(um_call_send(fd, (const char *)text, sizeof text, err));
    if (um_call_receive(fd, (char *)answer, sizeof answer, &n, err) != UMBEL_OK)
        return um_fail(err, UMBEL_E_IO,
                       "%s is not answered: a firewall drops it, or the "
                       "limits of the configuration do",
                       name);
    *value = (int32_t)um_get_u32(&r);
    um_get_u32(&r);
    if (n == UM_FUZZY_REPLY && um_get_u32(&r) == TAG)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   "what answers there is not a fuzzy storage");
}

umbel_status um_doctor_fuzzy(const um_doctor *d, const um_address *at,
                             um_finding *out, umbel_error *err)
{
    int32_t ping, check, delete;
    int fd;

    (void)d;
    UM_TRY(um_call_open_datagram(at, UM_DOCTOR_MS, &fd, err));
    umbel_status status = ask_fuzzy(fd, UM_FUZZY_PING, "ping", &ping, err);
    if (status == UMBEL_OK)
        status = ask_fuzzy(fd, UM_FUZZY_CHECK, "check", &check, err);
    if (status == UMBEL_OK)
        status = ask_fuzzy(fd, UM_FUZZY_DELETE, "delete", &delete, err);
    close(fd);
    if (status != UMBEL_OK)
        return status;
    UM_SAY(out->text, "ping, check, and delete");
    if (delete == 0)
        return UMBEL_OK;
    out->health = delete == FORBIDDEN ? UM_LIMITED : UM_BROKEN;
    UM_SAY(out->text, "clients of this machine may check, but not write (%d)",
           delete);
    UM_SAY(out->advice, "%s",
           delete == FORBIDDEN
               ? "add its network to writers in fuzzy { }, and send the server "
                 "SIGHUP, if rspamc should write from here"
               : "see the problems of umbel clearinghouse status");
    return UMBEL_OK;
}
