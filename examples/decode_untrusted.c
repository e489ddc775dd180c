/*
 * decode_untrusted.c - read a filter from an untrusted peer on standard input.
 * It is used only if it is well-formed, small, and not so full that it would
 * match everything; otherwise every reason is printed.
 *
 *   cc decode_untrusted.c $(pkg-config --cflags --libs umbel) -o untrusted
 *   ./untrusted apple <words.umb
 */
#include <umbel/admit.h>
#include <umbel/umbel.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static unsigned char bytes[1 << 20]; /* the peer's message */
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_ruling ruling;
    umbel_filter *f = NULL;
    umbel_error err;
    bool hit;

    if (argc != 2)
        return 2;
    size_t len = fread(bytes, 1, sizeof bytes, stdin);
    wants.max_bytes = sizeof bytes - 1;
    wants.max_error = 0.01; /* 1 false positive in 100 */
    if (umbel_admit_bytes(bytes, len, NULL, &wants, &f, &ruling, &err)) {
        fprintf(stderr, "%s\n", err.text); /* our fault: out of memory */
        return 2;
    }
    for (size_t i = 0; i < ruling.n; i++)
        printf("refused: %s\n", ruling.reason[i].text);
    if (!ruling.admitted)
        return 1;
    if (umbel_query(f, argv[1], strlen(argv[1]), &hit, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    printf("%s: %s\n", argv[1], hit ? "probably in" : "not in");
    umbel_close(f);
    return 0;
}
