/*
 * reconcile.c - finds out which lines two files lack, with the machine that
 * 'umbel reconcile' runs on two hosts.
 *
 *     reconcile HERE THERE
 */
#include <umbel/experimental/reconcile.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 10000 };

typedef struct side {
    umbel_slice line[MAX_LINES];
    size_t n;
    umbel_reconcile *machine;
} side;

static void read_lines(const char *path, side *s)
{
    char text[1000];
    FILE *in = fopen(path, "r");

    while (in && s->n < MAX_LINES && fgets(text, sizeof text, in)) {
        size_t len = strcspn(text, "\n");
        char *copy = malloc(len + 1);
        if (!copy)
            exit(2);
        memcpy(copy, text, len);
        s->line[s->n++] = (umbel_slice){copy, len};
    }
    if (!in) {
        perror(path);
        exit(2);
    }
    fclose(in);
}

int main(int argc, char **argv)
{
    static side s[2];
    umbel_reconcile_result result;
    umbel_error err;
    umbel_slice m;

    if (argc != 3) {
        fprintf(stderr, "usage: reconcile HERE THERE\n");
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        umbel_reconcile_params p = UMBEL_RECONCILE_INIT;
        read_lines(argv[i + 1], &s[i]);
        p.keys = s[i].line;
        p.n = s[i].n;
        p.first = i == 0;
        p.want = UMBEL_RECONCILE_BOTH;
        if (umbel_reconcile_open(&p, &s[i].machine, &err))
            goto failed;
    }
    /* A program on two hosts would send these bytes over a connection. */
    while (umbel_reconcile_state(s[0].machine) != UMBEL_RECONCILE_DONE)
        for (int i = 0; i < 2; i++)
            while (umbel_reconcile_next(s[i].machine, &m)) {
                umbel_reconcile *to = s[!i].machine;
                if (umbel_reconcile_receive(to, m.data, m.len, &err))
                    goto failed;
                if (umbel_reconcile_state(to) == UMBEL_RECONCILE_READY &&
                    umbel_reconcile_commit(to, &err))
                    goto failed;
            }
    umbel_reconcile_report(s[0].machine, &result);
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; umbel_reconcile_received(s[i].machine, k, &m); k++)
            printf("%s lacks %.*s\n", argv[i + 1], (int)m.len,
                   (const char *)m.data);
    printf("%llu bytes\n",
           (unsigned long long)(result.bytes_in + result.bytes_out));
    for (int i = 0; i < 2; i++) {
        umbel_reconcile_close(s[i].machine);
        while (s[i].n)
            free((void *)(uintptr_t)s[i].line[--s[i].n].data);
    }
    return 0;
failed:
    fprintf(stderr, "%s\n", err.text);
    return 2;
}
