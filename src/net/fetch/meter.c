/*
 * meter.c - what a transfer may cost: bytes of any sort, and time.
 *
 * libcurl passes on neither the framing of chunks nor what it skips, and a
 * server can send either without end. So the bytes are counted where they
 * arrive, by the kernel (TCP_INFO); elsewhere, those that libcurl passes on.
 *
 * At every moment the time is at most timeout + bytes / min_rate. As the bytes
 * are bounded, so is the time.
 */
#include "net/fetch/meter.h"

#include "base/error.h"

#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/tcp.h>
#endif

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- sockets ----------------------------------------------------------------
 */

static uint64_t socket_bytes(int fd)
{
#ifdef __linux__
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t len = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
        return info.tcpi_bytes_received;
#else
    (void)fd;
#endif
    return 0;
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose,
                                 struct curl_sockaddr *a)
{
    um_meter *m = ctx;

    (void)purpose;
    if (m->nopen == UM_METER_SOCKETS)
        return CURL_SOCKET_BAD;
    int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    if (fd >= 0)
        m->open[m->nopen++] = fd;
    return fd;
}

static int close_socket(void *ctx, curl_socket_t fd)
{
    um_meter *m = ctx;

    m->closed += socket_bytes(fd);
    for (size_t i = 0; i < m->nopen; i++)
        if (m->open[i] == fd)
            m->open[i--] = m->open[--m->nopen];
    return close(fd);
}

static uint64_t received(const um_meter *m, uint64_t now)
{
    uint64_t wire = m->closed, passed = m->headers + now;

    for (size_t i = 0; i < m->nopen; i++)
        wire += socket_bytes(m->open[i]);
    return wire > passed ? wire : passed;
}

/* --- limits -----------------------------------------------------------------
 */

/* An eighth more than the file, for the framing of chunks and TLS. */
static uint64_t max_bytes(const um_meter *m)
{
    return m->max + m->max / 8 + UM_METER_EXTRA;
}

static uint64_t at_most(uint64_t x, uint64_t limit)
{
    return x < limit ? x : limit;
}

/* Limits beyond these are as good as none, and would overflow: here, or where
 * libcurl counts milliseconds. */
void um_meter_attach(um_meter *m, CURL *c, uint64_t timeout, uint64_t min_rate,
                     uint64_t max)
{
    m->timeout = timeout ? at_most(timeout, INT_MAX / 1000) : UM_METER_TIMEOUT;
    m->min_rate = min_rate ? min_rate : UM_METER_MIN_RATE;
    m->max = at_most(max, UINT64_MAX / 2);
    m->began = m->heard = now_ms();
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)m->timeout);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, m);
    curl_easy_setopt(c, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(c, CURLOPT_CLOSESOCKETDATA, m);
}

/* libcurl's memory for a header that is folded grows with the square. */
umbel_status um_meter_header(um_meter *m, const char *line, size_t len,
                             umbel_error *err)
{
    m->headers += len;
    if (len && (*line == ' ' || *line == '\t'))
        return um_fail(err, UMBEL_E_IO,
                       "the server sends headers that are folded");
    if (m->headers > UM_METER_EXTRA)
        return um_fail(err, UMBEL_E_IO,
                       "the server sends more than %d bytes of headers",
                       UM_METER_EXTRA);
    return UMBEL_OK;
}

umbel_status um_meter_check(um_meter *m, uint64_t now, umbel_error *err)
{
    uint64_t ms = now_ms(), got = received(m, now);

    if (got != m->got)
        m->heard = ms;
    m->got = got;
    if (got > max_bytes(m))
        return um_fail(err, UMBEL_E_IO,
                       "the server sends %" PRIu64 " bytes for a file of at "
                       "most %" PRIu64 ", and does not stop",
                       got, m->max);
    if (ms - m->heard > m->timeout * 1000)
        return um_fail(err, UMBEL_E_IO,
                       "the server is silent for %" PRIu64 " s", m->timeout);
    if (ms - m->began > 1000 * (m->timeout + got / m->min_rate))
        return um_fail(err, UMBEL_E_IO,
                       "the server is too slow: %" PRIu64 " bytes in %" PRIu64
                       " s",
                       got, (ms - m->began) / 1000);
    return UMBEL_OK;
}
