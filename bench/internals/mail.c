/*
 * mail.c - mails of 10 KB: extraction and signatures in this process, and by a
 * pool of workers, in microseconds of CPU.
 *
 * Time of the workers is that of children that have ended, as the kernel counts
 * it. Of several runs the best counts.
 */
#include "mail/mail.h"
#include "mail/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MAILS = 2000, RUNS = 3, ROUGHLY = 10000, ROOM = 2 * ROUGHLY };

/* A kind of mail: its head, a line of its body in front of and behind its
 * number, and what ends it. */
typedef struct shape {
    const char *name, *head, *line, *rest, *tail;
} shape;

static const shape shapes[] = {
    {"plain", "From: a@shop.example\nSubject: x\n\n",
     "these are the plain words of line ", ", as letters of a friend have\n",
     ""},
    {"html, quoted-printable",
     "From: a@shop.example\nContent-Type: text/html; charset=utf-8\n"
     "Content-Transfer-Encoding: quoted-printable\n\n<html><body>\n",
     "<p style=3D\"color:red\">words of <b>line</b> ",
     " with caf=C3=A9 &amp; milk</p>\n", "</body></html>\n"},
    {"multipart, base64",
     "From: a@shop.example\nContent-Type: multipart/mixed; boundary=x\n\n--x\n"
     "Content-Type: text/plain; charset=iso-8859-1\n\n"
     "these are the few words that stand before a picture of our shop\n--x\n"
     "Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n",
     "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", "+MA\n",
     "--x--\n"},
};

static size_t create_mail(const shape *s, unsigned i, char *out)
{
    size_t n = (size_t)snprintf(out, ROOM, "%s", s->head);

    for (unsigned line = 0; n < ROUGHLY; line++)
        n += (size_t)snprintf(out + n, ROOM - n, "%s%08u%s", s->line,
                              i * 1000 + line, s->rest);
    return n + (size_t)snprintf(out + n, ROOM - n, "%s", s->tail);
}

static double cpu_seconds(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static double read_here(um_mail_reader *r, const shape *s)
{
    char mail[ROOM];
    double used = 0;

    for (unsigned i = 0; i < MAILS; i++) {
        size_t len = create_mail(s, i, mail);
        double from = cpu_seconds(RUSAGE_SELF);
        um_mail_facts facts;
        um_mail m;

        if (um_mail_read(r, (const uint8_t *)mail, len, NULL, &m, NULL))
            exit(1);
        um_mail_describe(&m, &facts);
        um_mail_sign(&m, &facts);
        used += cpu_seconds(RUSAGE_SELF) - from;
    }
    return used / MAILS;
}

typedef struct run {
    um_loop *loop;
    um_mail_pool *pool;
    const shape *shape;
    unsigned asked, answered;
} run;

static void ask(run *r);

static void answered(void *arg, const um_mail_facts *facts, um_mail_fail why)
{
    run *r = arg;

    if (!facts) {
        fprintf(stderr, "bench_mail: %s\n", um_mail_fail_text(why));
        exit(1);
    }
    if (++r->answered == MAILS)
        um_loop_stop(r->loop);
    ask(r);
}

static void ask(run *r)
{
    uint8_t *mail;

    if (r->asked == MAILS)
        return;
    mail = malloc(ROOM);
    if (!mail)
        exit(1);
    size_t len = create_mail(r->shape, r->asked++, (char *)mail);
    um_mail_pool_submit(r->pool, mail, len, answered, r);
}

static double read_by_workers(const shape *s)
{
    um_mail_pool_config c = {.workers = 2, .seconds = 60};
    run r = {.shape = s};
    umbel_error err;
    double from, used;

    if (um_loop_open(&r.loop, &err) ||
        um_mail_pool_open(r.loop, &c, &r.pool, &err)) {
        fprintf(stderr, "bench_mail: %s\n", err.text);
        exit(1);
    }
    from = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
    for (unsigned i = 0; i < 64; i++)
        ask(&r);
    um_loop_run(r.loop);
    um_mail_pool_close(r.pool);
    um_loop_close(r.loop);
    used = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN) - from;
    return used / MAILS;
}

int main(int argc, char **argv)
{
    um_mail_reader *r;

    if (argc > 1 && strcmp(argv[1], UM_MAIL_WORKER_ARGUMENT) == 0)
        return um_mail_worker_main(argc - 2, argv + 2);
    if (um_mail_reader_open(&r, NULL) != UMBEL_OK)
        return 1;
    printf("microseconds of CPU for a mail of 10 KB, best of %d runs of %d "
           "mails\n%-24s%12s%12s%14s\n",
           RUNS, MAILS, "", "in process", "by workers", "mails/CPU s");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        double here = 1, workers = 1;

        for (int n = 0; n < RUNS; n++) {
            double a = read_here(r, &shapes[i]),
                   b = read_by_workers(&shapes[i]);

            here = a < here ? a : here;
            workers = b < workers ? b : workers;
        }
        printf("%-24s%12.0f%12.0f%14.0f\n", shapes[i].name, here * 1e6,
               workers * 1e6, 1 / workers);
    }
    um_mail_reader_close(r);
    return 0;
}
