/*
 * doctor_probe.c - requests that the probes of several protocols send.
 */
#include "clearinghouse/protocols/doctor_probe.h"

#include "base/error.h"
#include "net/server/socket.h"

#include <sys/socket.h>
#include <unistd.h>

static const char mail[] =
    "From: doctor@umbel.invalid\r\n"
    "To: postmaster@umbel.invalid\r\n"
    "Subject: a test of umbel clearinghouse doctor\r\n"
    "Message-ID: <doctor@umbel.invalid>\r\n"
    "\r\n"
    "this mail was made by the doctor of umbel to see if all doors are open\r\n"
    "it says the same in each run so that its marks are the same as well\r\n"
    "if you can read it in a mail box then a rule has sent it on by "
    "mistake\r\n";
umbel_slice um_doctor_mail(void)
{
    return (umbel_slice){mail, sizeof mail - 1};
}

const char um_doctor_digest[] = "b40442b373f03cb71cc3f2e4bfea7bc2d10a65b9";

umbel_status um_doctor_exchange(const um_address *at, umbel_slice bytes,
                                char *out, size_t cap, umbel_error *err)
{
    size_t len = 0, n = 1;
    int fd;

    UM_TRY(um_call_open(at, UM_DOCTOR_MS, &fd, err));
    umbel_status status = um_call_send(fd, bytes.data, bytes.len, err);
    if (status == UMBEL_OK)
        shutdown(fd, SHUT_WR);
    for (; status == UMBEL_OK && n && len < cap - 1; len += n)
        status = um_call_receive(fd, out + len, cap - 1 - len, &n, err);
    close(fd);
    out[status == UMBEL_OK ? len : 0] = '\0';
    return status;
}
