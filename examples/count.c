/*
 * count.c - count how often each line of standard input occurs, in fixed
 * memory, and print each line at its third occurrence. Counts are never too
 * low.
 *
 *   cc count.c $(pkg-config --cflags --libs umbel) -o count
 *   printf 'a\nb\na\na\n' | ./count
 */
#include <umbel/describe.h>
#include <umbel/umbel.h>

#include <stdio.h>
#include <string.h>

enum { THRESHOLD = 3 };

static int fail(const umbel_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 2;
}

int main(void)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    umbel_error err;
    umbel_field bytes;
    char line[4096];

    params.capacity = 100000; /* different lines */
    if (umbel_create("counting", &params, &f, &err))
        return fail(&err);
    while (fgets(line, sizeof line, stdin)) {
        umbel_slice key = {line, strcspn(line, "\n")};
        uint64_t count;
        if (umbel_add(f, key.data, key.len, NULL, &err) ||
            umbel_count_many(f, &key, 1, &count, &err))
            return fail(&err);
        if (count == THRESHOLD)
            printf("%.*s: %d times\n", (int)key.len, line, THRESHOLD);
    }
    if (umbel_info_get(f, "bytes", &bytes, &err))
        return fail(&err);
    printf("%llu different lines in %llu bytes\n",
           (unsigned long long)umbel_added(f),
           (unsigned long long)bytes.value.count);
    umbel_close(f);
    return 0;
}
