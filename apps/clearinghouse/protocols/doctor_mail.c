/*
 * doctor_mail.c - fronts that take a whole mail, and the status documents.
 */
#include "clearinghouse/admin/doctor_rows.h"
#include "net/dccifd.h"

#include "base/error.h"

#include <string.h>

static umbel_slice test_mail(void)
{
    return (umbel_slice){um_doctor_mail, strlen(um_doctor_mail)};
}

/* --- dccifd --------------------------------------------------------------- */

umbel_status um_doctor_dccifd(const um_doctor *d, const um_address *at,
                              um_finding *out, umbel_error *err)
{
    static const char *const recipient[] = {"doctor", NULL};
    const um_dccifd_query q = {.server = *at,
                               .timeout_ms = UM_DOCTOR_MS,
                               .words = "header query",
                               .client = "192.0.2.1",
                               .helo = "doctor",
                               .sender = "doctor@umbel.invalid",
                               .recipient = recipient};
    um_dccifd_response a;

    (void)d;
    UM_TRY(um_dccifd_call(&q, test_mail(), &a, err));
    if (!strstr(a.text, "X-DCC-"))
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there does not speak dccifd");
    if (strstr(a.text, " whitelist"))
        UM_SAY(out->text, "the mail is welcome by a rule");
    else if (strstr(a.text, "Body="))
        UM_SAY(out->text, "the mail was read and looked up");
    else
        return um_fail(err, UMBEL_E_REFUSED,
                       "the mail was not read: no worker answers");
    return UMBEL_OK;
}

/* --- scan ----------------------------------------------------------------- */

static umbel_status scan(const um_address *at, const char *want,
                         const char *other, const char *name, um_finding *out,
                         umbel_error *err)
{
    char answer[256];

    UM_TRY(um_doctor_exchange(at, test_mail(), answer, sizeof answer, err));
    if (!answer[0])
        return um_fail(err, UMBEL_E_REFUSED,
                       "the mail is not answered: no worker could read it, or "
                       "the limits of the configuration refuse it");
    if (!strstr(answer, want) && strcmp(answer, other) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there does not speak to rspamd's scanner "
                       "%s",
                       name);
    UM_SAY(out->text, "the mail was read and looked up");
    return UMBEL_OK;
}

umbel_status um_doctor_scan_pyzor(const um_doctor *d, const um_address *at,
                                  um_finding *out, umbel_error *err)
{
    (void)d;
    return scan(at, "\t(200, 'OK')\t", "", "pyzor", out, err);
}

umbel_status um_doctor_scan_razor(const um_doctor *d, const um_address *at,
                                  um_finding *out, umbel_error *err)
{
    (void)d;
    return scan(at, "ham", "spam", "razor", out, err);
}

/* --- http ----------------------------------------------------------------- */

umbel_status um_doctor_http(const um_doctor *d, const um_address *at,
                            um_finding *out, umbel_error *err)
{
    static const char request[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n"
                                  "Connection: close\r\n\r\n";
    char answer[4096];

    (void)d;
    UM_TRY(um_doctor_exchange(at, (umbel_slice){request, sizeof request - 1},
                              answer, sizeof answer, err));
    if (strncmp(answer, "HTTP/1.1 200 ", 13) == 0) {
        UM_SAY(out->text, "http://%s/ shows the state", out->address);
        return UMBEL_OK;
    }
    if (strncmp(answer, "HTTP/1.1 503 ", 13) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there is not the page of a clearinghouse");
    out->health = UM_LIMITED;
    UM_SAY(out->text, "it answers that the server refuses reports");
    return UMBEL_OK;
}
