/*
 * helper.c - what tests of umbel-packets need besides the program itself.
 *
 *   packets_helper accept QUEUE
 *       the queue program of 'umbel packets mark', but it only accepts; ends at
 *       SIGINT
 *   packets_helper stream N SEED START SECONDS
 *       writes a capture of N different UDP packets, evenly in time, to
 *       standard output
 *   packets_helper flood ADDRESS PORT N BYTES
 *       sends N UDP packets as fast as possible
 */
#include "base/decimal.h"
#include "base/rng.h"
#include "packets/mark/mark.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINK_RAW = 101, PACKET = 28, RECORD = 16 + PACKET };

static volatile sig_atomic_t stop;

static void note_signal(int number)
{
    (void)number;
    stop = 1;
}

static pk_verdict pass(void *ctx, uint8_t *packet, uint32_t *len)
{
    (void)ctx;
    (void)packet;
    (void)len;
    return PK_PASS;
}

static void print_ready(void *ctx)
{
    (void)ctx;
    fprintf(stderr, "ready\n");
}

static int accept_all(uint64_t queue)
{
    struct sigaction a = {.sa_handler = note_signal};
    pk_queue_counts counts = {0, 0};
    umbel_error err;

    sigaction(SIGINT, &a, NULL);
    if (pk_queue_run((uint16_t)queue, "nobody", pass, NULL, print_ready, &stop,
                     &counts, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("{\"packets\": %llu, \"kernel_drops\": %llu}\n",
           (unsigned long long)counts.packets,
           (unsigned long long)counts.drops);
    return 0;
}

static void write_le32(uint8_t *p, uint64_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(x >> (8 * i));
}

static void write_big(uint8_t *p, uint64_t x, int len)
{
    for (int i = 0; i < len; i++)
        p[i] = (uint8_t)(x >> (8 * (len - 1 - i)));
}

/* A packet's number stands in its addresses, identification and payload. */
static void write_packet(uint8_t *p, um_rng *rng)
{
    uint64_t x = um_random(rng);

    memset(p, 0, PACKET);
    p[0] = 0x45;
    write_big(p + 2, PACKET, 2);
    write_big(p + 4, x, 2);
    p[8] = 64;
    p[9] = 17;
    write_big(p + 12, UINT64_C(0x0A000000) | (x >> 16 & 0xFFFFFF), 4);
    write_big(p + 16, UINT64_C(0x0AC80001), 4);
    write_big(p + 20, x >> 40, 3);
    write_big(p + 24, 8, 2);
    write_big(p + 26, x >> 56, 2);
}

static int stream(uint64_t n, uint64_t seed, uint64_t start, uint64_t seconds)
{
    uint8_t head[24] = {0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4};
    um_rng rng = {.state = seed};

    write_le32(head + 16, 65535);
    write_le32(head + 20, LINK_RAW);
    fwrite(head, 1, sizeof head, stdout);
    for (uint64_t i = 0; i < n; i++) {
        uint8_t record[RECORD];
        uint64_t us = (uint64_t)((double)i * (double)seconds * 1e6 / (double)n);
        write_le32(record, start + us / 1000000);
        write_le32(record + 4, us % 1000000);
        write_le32(record + 8, PACKET);
        write_le32(record + 12, PACKET);
        write_packet(record + 16, &rng);
        fwrite(record, 1, sizeof record, stdout);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

static int flood(const char *address, uint64_t port, uint64_t n, uint64_t len)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    static char bytes[65536];

    if (fd < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
        len > sizeof bytes || connect(fd, (struct sockaddr *)&to, sizeof to))
        return 1;
    for (uint64_t i = 0; i < n; i++)
        if (send(fd, bytes, len, 0) < 0)
            usleep(100);
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t n[4] = {0};

    for (int i = 2; i < argc && i < 6; i++)
        um_decimal_parse(argv[i], UINT64_MAX, &n[i - 2]);
    if (argc == 3 && strcmp(argv[1], "accept") == 0)
        return accept_all(n[0]);
    if (argc == 6 && strcmp(argv[1], "stream") == 0)
        return stream(n[0], n[1], n[2], n[3]);
    if (argc == 6 && strcmp(argv[1], "flood") == 0)
        return flood(argv[2], n[1], n[2], n[3]);
    fprintf(stderr, "usage: see the head of tests/packets/helper.c\n");
    return 2;
}
