/*
 * main.c - bench_fuzzy, a client and an echo server for load tests of rspamd's
 * fuzzy storage.
 *
 * bench_fuzzy PORT write|check|ping TEXTS SET FIRST N - sends a request for
 * each of N mails of a set to a fuzzy storage on loopback, 64 at a time, and
 * prints a line for each answer: number, value, flag, probability in 32nds.
 * Texts are short, sixty or long (mails.c), sets stored, near, footer and
 * other; mix takes one of each in turn. A request that is not answered within a
 * second is sent again.
 *
 * bench_fuzzy truth TEXTS SET N - prints, for each mail of a set, what an
 * exhaustive search in N stored mails finds (truth.h).
 *
 * bench_fuzzy echo - a server that only receives and answers (echo.h).
 */
#include "bench/fuzzy_load/echo.h"
#include "bench/fuzzy_load/mails.h"
#include "bench/fuzzy_load/truth.h"

#include "base/bytes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    WINDOW = 128,
    BATCH = 64,
    REQUEST = 332,
    REPLY = 96,
    FLAG = 11,
    VALUE = 10,
    PATIENCE = 60000 /* ms */
};

typedef struct answer {
    int32_t value;
    uint32_t flag;
    float probability;
    bool there;
} answer;

typedef struct load {
    int socket;
    bool writes;
    uint32_t command;
    uint64_t first, n;
    uint8_t *request; /* REQUEST bytes each */
    answer *answer;
} load;

static void die(const char *what)
{
    fprintf(stderr, "bench_fuzzy: %s: %s\n", what, strerror(errno));
    exit(2);
}

static um_mail_set set_of(const char *name, uint64_t i)
{
    um_mail_set set;

    return um_mail_set_find(name, &set) ? set : (um_mail_set)(i % 4);
}

static void create_requests(load *l, const um_mail_texts *texts,
                            const char *set)
{
    for (uint64_t i = 0; i < l->n; i++) {
        uint8_t *at = l->request + i * REQUEST;
        um_writer w = {at, at + REQUEST, false};
        um_fuzzy_letter letter;

        um_create_letter(texts, set_of(set, i), l->first + i, &letter);
        um_write_u32(&w, 4 | l->command << 8 | UM_MAIL_SHINGLES << 16 |
                             (l->writes ? (uint32_t)FLAG << 24 : 0));
        um_write_u32(&w, l->writes ? VALUE : 0);
        um_write_u32(&w, (uint32_t)i);
        um_write_bytes(&w, letter.digest, sizeof letter.digest);
        for (int k = 0; k < UM_MAIL_SHINGLES; k++)
            um_write_u64(&w, letter.shingle[k]);
    }
}

static void send_some(const load *l, uint64_t first, unsigned n)
{
    struct mmsghdr head[BATCH] = {0};
    struct iovec part[BATCH];

    for (unsigned i = 0; i < n; i++) {
        part[i] = (struct iovec){l->request + (first + i) * REQUEST, REQUEST};
        head[i].msg_hdr.msg_iov = &part[i];
        head[i].msg_hdr.msg_iovlen = 1;
    }
    for (unsigned done = 0; done < n;) {
        int sent = sendmmsg(l->socket, head + done, n - done, 0);
        if (sent < 0 && errno != EINTR && errno != EAGAIN &&
            errno != ECONNREFUSED)
            die("send");
        done += sent > 0 ? (unsigned)sent : 0;
    }
}

static bool parse_one(const load *l, const uint8_t *bytes)
{
    um_reader r = {bytes, bytes + REPLY, false};
    answer a = {.value = (int32_t)um_get_u32(&r), .there = true};

    a.flag = um_get_u32(&r);
    uint32_t tag = um_get_u32(&r), bits = um_get_u32(&r);
    memcpy(&a.probability, &bits, sizeof bits);
    if (tag >= l->n || l->answer[tag].there)
        return false;
    l->answer[tag] = a;
    return true;
}

/* Receives answers; returns how many were new. */
static uint64_t consume(const load *l)
{
    uint8_t bytes[BATCH][REPLY + 4];
    struct mmsghdr head[BATCH] = {0};
    struct iovec part[BATCH];
    uint64_t fresh = 0;

    for (unsigned i = 0; i < BATCH; i++) {
        part[i] = (struct iovec){&bytes[i], sizeof bytes[i]};
        head[i].msg_hdr.msg_iov = &part[i];
        head[i].msg_hdr.msg_iovlen = 1;
    }
    int n = recvmmsg(l->socket, head, BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++)
        fresh += head[i].msg_len == REPLY && parse_one(l, bytes[i]);
    return fresh;
}

static void send_again(const load *l, uint64_t sent)
{
    for (uint64_t i = 0; i < sent; i++)
        if (!l->answer[i].there)
            send_some(l, i, 1);
}

/* Sends as many requests as were answered, once that is at least half a
 * batch. */
static void run(load *l)
{
    struct pollfd p = {.fd = l->socket, .events = POLLIN};
    uint64_t sent = 0, answered = 0;

    while (answered < l->n) {
        uint64_t room = WINDOW - (sent - answered), left = l->n - sent;
        if (left && room >= BATCH / 2) {
            unsigned n = (unsigned)(room < BATCH ? room : BATCH);
            n = n < left ? n : (unsigned)left;
            send_some(l, sent, n);
            sent += n;
        }
        if (poll(&p, 1, l->writes ? PATIENCE : 1000) == 0) {
            if (l->writes) /* a repeated write would count twice */
                die("a write that is not answered");
            send_again(l, sent);
        }
        answered += consume(l);
    }
}

static void print_answers(const load *l)
{
    for (uint64_t i = 0; i < l->n; i++)
        printf("%llu %d %u %.0f\n", (unsigned long long)i, l->answer[i].value,
               l->answer[i].flag, (double)l->answer[i].probability * 32);
}

static int ask_server(const um_mail_texts *texts, char **argv)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    load l = {.socket = socket(AF_INET, SOCK_DGRAM, 0),
              .writes = strcmp(argv[2], "write") == 0,
              .command = strcmp(argv[2], "write") == 0  ? 1
                         : strcmp(argv[2], "ping") == 0 ? 4
                                                        : 0,
              .first = strtoull(argv[5], NULL, 10),
              .n = strtoull(argv[6], NULL, 10)};

    to.sin_port = htons((uint16_t)atoi(argv[1]));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(l.socket, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect");
    l.request = malloc(l.n * REQUEST);
    l.answer = calloc(l.n, sizeof *l.answer);
    if (!l.request || !l.answer)
        die("memory");
    create_requests(&l, texts, argv[4]);
    printf("ready\n"); /* the server's work starts here */
    fflush(stdout);
    if (getchar() == EOF)
        return 2;
    run(&l);
    print_answers(&l);
    free(l.request);
    free(l.answer);
    close(l.socket);
    return 0;
}

int main(int argc, char **argv)
{
    bool truth = argc == 6 && strcmp(argv[1], "truth") == 0;
    const um_mail_texts *texts =
        truth || argc == 7 ? um_mail_texts_find(argv[truth ? 2 : 3]) : NULL;
    um_mail_set set;

    if (truth && texts && um_mail_set_find(argv[3], &set))
        return um_print_truth(texts, set, strtoull(argv[4], NULL, 10),
                              strtoull(argv[5], NULL, 10))
                   ? 0
                   : 2;
    if (!truth && texts)
        return ask_server(texts, argv);
    if (argc == 2 && strcmp(argv[1], "echo") == 0)
        return um_echo();
    fprintf(stderr, "bench_fuzzy PORT write|check|ping TEXTS SET FIRST N\n"
                    "bench_fuzzy truth TEXTS SET FIRST N\n"
                    "bench_fuzzy echo\n");
    return 2;
}
