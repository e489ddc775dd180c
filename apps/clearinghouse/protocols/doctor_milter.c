/*
 * doctor_milter.c - a mail server that asks its filter about a mail.
 *
 * Packets: four bytes, the length of what follows in network order; a letter;
 * its data. The mail has no text, so the clearinghouse has nothing to count;
 * that the filter adds its header shows that it was asked.
 */
#include "clearinghouse/admin/doctor_rows.h"

#include "base/error.h"
#include "net/server/socket.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 6, ADD_AND_CHANGE_HEADERS = 0x11, MAX_PACKET = 4096 };

typedef struct packet {
    char letter;
    uint32_t len;
    char data[MAX_PACKET];
} packet;

static umbel_status send_packet(int fd, char letter, const void *data,
                                size_t len, umbel_error *err)
{
    char bytes[256];
    uint32_t n = htonl((uint32_t)len + 1);

    memcpy(bytes, &n, sizeof n);
    bytes[sizeof n] = letter;
    if (len)
        memcpy(bytes + sizeof n + 1, data, len);
    return um_call_send(fd, bytes, sizeof n + 1 + len, err);
}

static umbel_status receive_exactly(int fd, void *to, size_t len,
                                    umbel_error *err)
{
    char *at = to;
    size_t n;

    for (; len; at += n, len -= n) {
        UM_TRY(um_call_receive(fd, at, len, &n, err));
        if (!n)
            return um_fail(err, UMBEL_E_IO, "the filter ends the connection");
    }
    return UMBEL_OK;
}

static umbel_status receive_packet(int fd, packet *p, umbel_error *err)
{
    uint32_t n;

    UM_TRY(receive_exactly(fd, &n, sizeof n, err));
    p->len = ntohl(n) - 1;
    if (ntohl(n) < 1 || p->len > sizeof p->data)
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there is not a milter");
    UM_TRY(receive_exactly(fd, &p->letter, 1, err));
    return receive_exactly(fd, p->data, p->len, err);
}

/* A step of a mail, and whether the filter answers it with "continue". */
static umbel_status parse_step(int fd, char letter, const void *data,
                               size_t len, umbel_error *err)
{
    packet p;

    UM_TRY(send_packet(fd, letter, data, len, err));
    UM_TRY(receive_packet(fd, &p, err));
    if (p.letter == 'c')
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   "the filter answers %c to step %c of a mail", p.letter,
                   letter);
}

static umbel_status negotiate(int fd, umbel_error *err)
{
    const uint32_t offer[] = {htonl(VERSION), htonl(ADD_AND_CHANGE_HEADERS), 0};
    packet p;

    UM_TRY(send_packet(fd, 'O', offer, sizeof offer, err));
    if (receive_packet(fd, &p, err) == UMBEL_OK && p.letter == 'O')
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT, "what answers there is not a milter");
}

/* Returns true if the filter added its header. */
static umbel_status end_mail(int fd, bool *added, umbel_error *err)
{
    packet p;

    *added = false;
    UM_TRY(send_packet(fd, 'E', NULL, 0, err));
    do {
        UM_TRY(receive_packet(fd, &p, err));
        *added |=
            p.letter == 'h' && p.len > 8 && memcmp(p.data, "X-Umbel", 8) == 0;
    } while (!strchr("acdrty", p.letter));
    return UMBEL_OK;
}

static umbel_status send_mail(int fd, bool *added, umbel_error *err)
{
    /* a name; IPv4; a port, in network order; the address */
    static const char client[] = "doctor\0004\000\031192.0.2.1";
    static const char sender[] = "<doctor@umbel.invalid>";
    static const char header[] = "Subject\0a test";

    UM_TRY(negotiate(fd, err));
    UM_TRY(parse_step(fd, 'C', client, sizeof client, err));
    UM_TRY(parse_step(fd, 'H', "doctor", 7, err));
    UM_TRY(parse_step(fd, 'M', sender, sizeof sender, err));
    UM_TRY(parse_step(fd, 'R', sender, sizeof sender, err));
    UM_TRY(parse_step(fd, 'L', header, sizeof header, err));
    UM_TRY(parse_step(fd, 'N', NULL, 0, err));
    UM_TRY(end_mail(fd, added, err));
    return send_packet(fd, 'Q', NULL, 0, err);
}

/* Reads "inet:8894@127.0.0.1", "inet6:8894@::1" or "unix:/PATH". */
static umbel_status read_socket(const char *text, char out[UM_ADDRESS_TEXT],
                                umbel_error *err)
{
    const char *port = strchr(text, ':') + 1, *host = strchr(port, '@');
    bool v6 = strncmp(text, "inet6:", 6) == 0;

    if (strncmp(text, "unix:", 5) == 0)
        snprintf(out, UM_ADDRESS_TEXT, "%s", port);
    else if (!host)
        snprintf(out, UM_ADDRESS_TEXT, v6 ? "[::1]:%s" : "127.0.0.1:%s", port);
    else
        snprintf(out, UM_ADDRESS_TEXT, v6 ? "[%s]:%.*s" : "%s:%.*s", host + 1,
                 (int)(host - port), port);
    um_address a;
    return um_address_parse(out, &a, err);
}

static umbel_status probe(const um_doctor *d, const um_address *at,
                          um_finding *out, umbel_error *err)
{
    bool added = false;
    int fd;

    (void)d;
    UM_SAY(out->advice, "the log of the server has umbel-milter's lines; is "
                        "the address taken, or the program not installed?");
    UM_TRY(um_call_open(at, UM_DOCTOR_MS, &fd, err));
    umbel_status status = send_mail(fd, &added, err);
    close(fd);
    UM_TRY(status);
    if (!added)
        return um_fail(err, UMBEL_E_REFUSED,
                       "mail passes without a header: the filter gets no "
                       "answer of dccifd, or 192.0.2.1 is in milter.networks");
    out->advice[0] = '\0';
    UM_SAY(out->text, "a mail without text got the header X-Umbel");
    return UMBEL_OK;
}

void um_doctor_milter(um_doctor *d, const char *socket)
{
    static const um_doctor_row row = {
        .name = "milter", .type = SOCK_STREAM, .probe = probe};
    char address[UM_ADDRESS_TEXT];
    umbel_error err;

    if (!socket)
        return;
    if (read_socket(socket, address, &err) == UMBEL_OK) {
        um_doctor_try(d, &row, address);
        return;
    }
    um_finding *f = um_doctor_add(d, row.name, socket);
    f->health = UM_LIMITED;
    UM_SAY(f->text, "not tried: %s", err.text);
    UM_SAY(f->advice, "give milter.socket a number of an address");
}
