/*
 * doctor_pyzor.c - a Pyzor client without an account: ping, check, report.
 *
 * The report is of the empty text, which is never counted.
 */
#include "clearinghouse/admin/doctor.h"
#include "clearinghouse/admin/doctor_rows.h"
#include "clearinghouse/protocols/pyzor/accounts.h"
#include "clearinghouse/protocols/pyzor/protocol.h"
#include "clearinghouse/protocols/pyzor/request.h"

#include "base/decimal.h"
#include "base/error.h"
#include "net/server/socket.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREAD = 24441, ANSWERED = 200, FORBIDDEN = 403 };

/* Reads the code of an answer with our thread; 0: it is none. */
static unsigned code_of(umbel_slice text)
{
    um_pyzor_request r;
    uint64_t code;

    um_pyzor_parse(text.data, text.len, &r);
    return r.thread.data && um_decimal_read(r.code.data, r.code.len, 999, &code)
               ? (unsigned)code
               : 0;
}

static umbel_status ask_pyzor(int fd, const char *op, const char *digest,
                              unsigned *code, umbel_error *err)
{
    char text[256], answer[UM_PYZOR_MAX];
    int len =
        snprintf(text, sizeof text, "Op: %s\n%s%s%sThread: %d\nPV: 2.1\n\n", op,
                 digest ? "Op-Digest: " : "", digest ? digest : "",
                 digest ? "\n" : "", THREAD);
    size_t n;

    UM_TRY(um_call_send(fd, text, (size_t)len, err));
    if (um_call_receive(fd, answer, sizeof answer, &n, err) != UMBEL_OK)
        return um_fail(err, UMBEL_E_IO,
                       "%s is not answered: a firewall drops it, or the "
                       "limits of the configuration do",
                       op);
    *code = code_of((umbel_slice){answer, n});
    if (*code)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   "what answers there does not speak Pyzor");
}

static void ignore_line(void *ctx, const char *file, size_t line,
                        const char *what)
{
    (void)ctx;
    (void)file;
    (void)line;
    (void)what;
}

/* Accounts of the passwd file that may report. */
static size_t count_reporters(const um_pyzor_settings *s)
{
    um_pyzor_accounts a = {0};
    size_t n = 0;

    if (um_pyzor_accounts_init(&a, s->passwd, s->access, ignore_line, NULL,
                               NULL) != UMBEL_OK)
        return 0;
    for (size_t i = 0; i < a.n; i++)
        n += a.account[i].listed &&
             (a.account[i].granted >> UM_PYZOR_REPORT & 1);
    um_pyzor_accounts_fini(&a);
    return n;
}

static void judge_rights(const um_doctor *d, unsigned check, unsigned report,
                         um_finding *out)
{
    const um_pyzor_settings *s =
        um_config_protocol(d->config, &um_protocol_pyzor);
    size_t reporters = report == FORBIDDEN ? count_reporters(s) : 0;

    UM_SAY(out->text, "ping %s%s", check == ANSWERED ? "and check" : "only",
           report == ANSWERED ? ", and report" : "");
    if (check == ANSWERED && report == ANSWERED)
        return;
    out->health = reporters || report == ANSWERED ? UM_LIMITED : UM_BROKEN;
    if (report == FORBIDDEN)
        UM_SAY(out->text,
               "clients without an account may %s, but not report (403), %s",
               check == ANSWERED ? "check" : "ping, not check",
               reporters ? "accounts may" : "and no account may");
    else
        UM_SAY(out->text, "check is answered with code %u, report with %u",
               check, report);
    UM_SAY(out->advice,
           "add \"check report : anonymous : allow\" to %s, and "
           "send the server SIGHUP, if they should",
           s->access ? s->access : "the access file");
}

umbel_status um_doctor_pyzor(const um_doctor *d, const um_address *at,
                             um_finding *out, umbel_error *err)
{
    static const char empty_text[] = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    unsigned ping, check, report;
    int fd;

    UM_TRY(um_call_open_datagram(at, UM_DOCTOR_MS, &fd, err));
    umbel_status status = ask_pyzor(fd, "ping", NULL, &ping, err);
    if (status == UMBEL_OK)
        status = ask_pyzor(fd, "check", um_doctor_digest, &check, err);
    if (status == UMBEL_OK)
        status = ask_pyzor(fd, "report", empty_text, &report, err);
    close(fd);
    if (status == UMBEL_OK)
        judge_rights(d, check, report, out);
    return status;
}
