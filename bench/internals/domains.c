/*
 * domains.c - what a question about a domain name costs, beside single queries;
 * bench/domains runs it.
 *
 * bench_domains FILTER SINGLE NAMES: FILTER holds domains, SINGLE the same
 * names as text. For each number of labels L among NAMES (one per line), (1)
 * umbel_ask asks FILTER for a name; (2) umbel_query asks SINGLE for it once;
 * (3) umbel_query asks SINGLE for the name and each parent. The bar is (1)
 * against L times (2). In (3) the caller has found the parents and knows that
 * they are in lower case; most of them are short, and asked so often that their
 * blocks are in the cache. CPU time, best of ROUNDS rounds in turns.
 */
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, MAX_NAMES = 100000, MAX_LABELS = 8, LEAST_NAMES = 1000 };
static const double BAR = 1.2;

typedef struct name {
    const char *text;
    size_t len, labels;
} name;

static void want(umbel_status status, const umbel_error *err)
{
    if (status == UMBEL_OK)
        return;
    fprintf(stderr, "bench_domains: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t read_names(const char *path, name *out)
{
    FILE *in = fopen(path, "r");
    char line[300];
    size_t n = 0;

    if (!in) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    while (n < MAX_NAMES && fgets(line, sizeof line, in)) {
        size_t len = strcspn(line, "\n"), labels = 1;
        for (size_t i = 0; i < len; i++)
            labels += line[i] == '.';
        out[n++] = (name){strndup(line, len), len, labels};
    }
    fclose(in);
    return n;
}

static double time_questions(const umbel_filter *f, const name *names, size_t n,
                             size_t labels, size_t *hits)
{
    double began = cpu_seconds();

    for (size_t i = 0; i < n; i++)
        if (names[i].labels == labels) {
            bool hit;
            umbel_error err;
            want(umbel_ask(f, names[i].text, names[i].len, &hit, NULL, &err),
                 &err);
            *hits += hit;
        }
    return cpu_seconds() - began;
}

/* Asks for a name, or for it and each of its parents. */
static double time_queries(const umbel_filter *f, const name *names, size_t n,
                           size_t labels, bool parents, size_t *hits)
{
    double began = cpu_seconds();

    for (size_t i = 0; i < n; i++) {
        const char *at = names[i].labels == labels ? names[i].text : NULL;
        const char *end = names[i].text + names[i].len;
        bool any = false;
        while (at) {
            bool hit;
            umbel_error err;
            want(umbel_query(f, at, (size_t)(end - at), &hit, &err), &err);
            any |= hit;
            at = parents ? strchr(at, '.') : NULL;
            at += at != NULL;
        }
        *hits += any;
    }
    return cpu_seconds() - began;
}

int main(int argc, char **argv)
{
    static name names[MAX_NAMES];
    umbel_filter *f, *single;
    umbel_error err;
    double worst = 0;

    if (argc != 4) {
        fprintf(stderr, "usage: bench_domains FILTER SINGLE NAMES\n");
        return 2;
    }
    want(umbel_load(argv[1], NULL, &f, &err), &err);
    want(umbel_load(argv[2], NULL, &single, &err), &err);
    size_t n = read_names(argv[3], names);
    for (size_t labels = 1; labels <= MAX_LABELS; labels++) {
        double ask = 1e9, query = 1e9, each = 1e9;
        size_t asked = 0, queried = 0, of = 0, ignored = 0;

        for (size_t i = 0; i < n; i++)
            of += names[i].labels == labels;
        if (of < LEAST_NAMES)
            continue;
        for (size_t round = 0; round < ROUNDS; round++) {
            ask = fmin(ask, time_questions(f, names, n, labels, &asked));
            query = fmin(
                query, time_queries(single, names, n, labels, false, &ignored));
            each = fmin(each,
                        time_queries(single, names, n, labels, true, &queried));
        }
        double ratio = ask / query / (double)labels;
        printf("%zu labels, %5zu names: question %4.0f ns, query %3.0f ns: "
               "%.2f times %zu queries (%.2f times those of its parents); "
               "matches %zu and %zu\n",
               labels, of, ask / (double)of * 1e9, query / (double)of * 1e9,
               ratio, labels, ask / each, asked / ROUNDS, queried / ROUNDS);
        worst = fmax(worst, ratio);
    }
    printf("at most %.2f times, bar %.1f: %s\n", worst, BAR,
           worst <= BAR ? "met" : "MISSED");
    umbel_close(f);
    umbel_close(single);
    return worst > BAR;
}
