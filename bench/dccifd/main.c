/*
 * main.c - sends many mails to a dccifd server; bench/clearinghouse runs it.
 *
 * bench_dccifd HOST:PORT [NAME=VALUE...]: words (header), count (mails), size
 * (bytes of a mail), first (number of the first mail), threads, seed. With
 * pareto=1 the mails are a shuffled stream in which a letter occurs at least x
 * times with probability 1/x. Prints one line of JSON.
 */
#include "base/rng.h"
#include "net/server/address.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TIMES = 1000, MAX_SIZE = 1 << 20, ROOM = MAX_SIZE + 1024 };

typedef struct load {
    um_address server;
    const char *words;
    uint64_t count, size, first, threads, seed, pareto;
    uint32_t *order; /* letters, if they are a stream */
    uint64_t distinct;
    atomic_uint_fast64_t next, answered, failed, many[3];
} load;

static const char *const names[] = {"Body=many", "Fuz1=many", "Fuz2=many"};

/* --- letters -------------------------------------------------------------- */

static size_t write_word(char *out, uint64_t x)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    size_t n = 3 + x % 6;

    for (size_t i = 0; i < n; i++, x /= 26)
        out[i] = letters[x % 26];
    out[n] = ' ';
    return n + 1;
}

static size_t write_letter(char *out, uint64_t number, uint64_t size)
{
    um_rng rng = {number * 2 + 1};
    size_t len = (size_t)sprintf(
        out, "From: a@example.org\nSubject: letter\nMIME-Version: 1.0\n"
             "Content-Type: text/plain; charset=utf-8\n\n");

    for (unsigned i = 1; len < size; i++) {
        len += write_word(out + len, um_random(&rng));
        if (i % 10 == 0)
            out[len - 1] = '\n';
    }
    return len;
}

/* Creates letters with Pareto counts until there are enough mails, and shuffles
 * them. */
static bool create_stream(load *l)
{
    um_rng rng = {l->seed};
    uint64_t n = 0;

    l->order = calloc(l->count + MAX_TIMES, sizeof *l->order);
    if (!l->order)
        return false;
    while (n < l->count) {
        double u = ((double)(um_random(&rng) >> 11) + 1) * 0x1p-53;
        uint64_t times = 1 / u < MAX_TIMES ? (uint64_t)(1 / u) : MAX_TIMES;
        for (uint64_t i = 0; i < times; i++)
            l->order[n++] = (uint32_t)l->distinct;
        l->distinct++;
    }
    l->count = n;
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = um_random(&rng) % i;
        uint32_t swap = l->order[i - 1];
        l->order[i - 1] = l->order[j];
        l->order[j] = swap;
    }
    return true;
}

/* --- mails ---------------------------------------------------------------- */

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return shutdown(fd, SHUT_WR) == 0;
}

static size_t receive_all(int fd, char *out, size_t cap)
{
    size_t len = 0;
    ssize_t n;

    while (len < cap && (n = recv(fd, out + len, cap - len, 0)) > 0)
        len += (size_t)n;
    out[len] = '\0';
    return len;
}

static bool ask(load *l, uint64_t number, char *room)
{
    size_t len =
        (size_t)sprintf(room, "%s\n192.0.2.7\nmx\ns@x\nr@x\n\n", l->words);
    int fd = socket(l->server.ip.any.sa_family, SOCK_STREAM, 0);

    len += write_letter(room + len, number, l->size);
    bool fine = fd >= 0 &&
                connect(fd, &l->server.ip.any, sizeof l->server.ip) == 0 &&
                send_all(fd, room, len) && receive_all(fd, room, 4096) &&
                room[0] == 'A';
    if (fd >= 0)
        close(fd);
    return fine;
}

static void *run_thread(void *arg)
{
    load *l = arg;
    char *room = malloc(ROOM);
    uint64_t i;

    while (room && (i = atomic_fetch_add(&l->next, 1)) < l->count) {
        bool fine = ask(l, l->first + (l->order ? l->order[i] : i), room);
        atomic_fetch_add(fine ? &l->answered : &l->failed, 1);
        for (unsigned s = 0; fine && s < 3; s++)
            if (strstr(room, names[s]))
                atomic_fetch_add(&l->many[s], 1);
    }
    free(room);
    return NULL;
}

/* --- the program ---------------------------------------------------------- */

static bool set(load *l, const char *arg)
{
    const struct {
        const char *name;
        uint64_t *to;
    } numbers[] = {{"count=", &l->count},     {"size=", &l->size},
                   {"first=", &l->first},     {"seed=", &l->seed},
                   {"threads=", &l->threads}, {"pareto=", &l->pareto}};

    if (strncmp(arg, "words=", 6) == 0) {
        l->words = arg + 6;
        return true;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strncmp(arg, numbers[i].name, strlen(numbers[i].name)) == 0) {
            *numbers[i].to = strtoull(arg + strlen(numbers[i].name), NULL, 10);
            return true;
        }
    return false;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_all(load *l)
{
    pthread_t thread[64];
    uint64_t n = l->threads < 64 ? l->threads : 64, begun = 0;

    while (begun < n &&
           pthread_create(&thread[begun], NULL, run_thread, l) == 0)
        begun++;
    while (begun)
        pthread_join(thread[--begun], NULL);
}

int main(int argc, char **argv)
{
    static load l = {.words = "header",
                     .count = 1000,
                     .size = 1000,
                     .threads = 16,
                     .seed = 1};
    umbel_error err;

    for (int i = 2; i < argc; i++)
        if (!set(&l, argv[i]) || l.size > MAX_SIZE) {
            fprintf(stderr, "bench_dccifd: %s?\n", argv[i]);
            return 2;
        }
    if (argc < 2 || um_address_parse(argv[1], &l.server, &err) != UMBEL_OK ||
        (l.pareto && !create_stream(&l)))
        return 2;
    double began = now();
    run_all(&l);
    printf("{\"sent\": %" PRIu64 ", \"answered\": %" PRIu64
           ", \"failed\": %" PRIu64 ", \"distinct\": %" PRIu64
           ", \"body\": %" PRIu64 ", \"fuz1\": %" PRIu64 ", \"fuz2\": %" PRIu64
           ", \"seconds\": %.3f}\n",
           l.count, (uint64_t)l.answered, (uint64_t)l.failed, l.distinct,
           (uint64_t)l.many[0], (uint64_t)l.many[1], (uint64_t)l.many[2],
           now() - began);
    free(l.order);
    return l.failed ? 1 : 0;
}
