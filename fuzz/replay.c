/*
 * replay.c - run a fuzz target over files, without libFuzzer.
 *
 *     replay_NAME FILE|DIRECTORY...
 *
 * ctest repeats every finding with it, under every compiler. Each path is
 * printed before it runs: the last one printed is the one that crashed.
 */
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 20 };

static int complain(const char *path)
{
    perror(path);
    return -1;
}

/*
 * Runs the target on a copy of exactly len bytes, so that sanitizers detect
 * reads past its end.
 */
static int run_bytes(const uint8_t *bytes, size_t len)
{
    uint8_t *exact = malloc(len ? len : 1);

    if (!exact)
        return complain("malloc");
    for (size_t i = 0; i < len; i++)
        exact[i] = bytes[i];
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
    return 1;
}

static int run_file(const char *path)
{
    static uint8_t bytes[MOST];
    FILE *file = fopen(path, "rb");

    if (!file)
        return complain(path);
    size_t len = fread(bytes, 1, sizeof bytes, file);
    bool fine = !ferror(file) && feof(file);
    fclose(file);
    if (!fine)
        return complain(path);
    printf("%s\n", path);
    fflush(stdout);
    return run_bytes(bytes, len);
}

/* Returns the number of files that ran; -1 if one could not be read. */
static int run_directory(const char *path, struct dirent **entry, int n)
{
    int ran = 0;

    for (int i = 0; i < n; i++) {
        char name[PATH_MAX];
        int len = snprintf(name, sizeof name, "%s/%s", path, entry[i]->d_name);
        if (entry[i]->d_name[0] == '.')
            continue;
        if (len < 0 || (size_t)len >= sizeof name || run_file(name) < 0)
            return -1;
        ran++;
    }
    return ran;
}

static int run_path(const char *path)
{
    struct dirent **entry;
    int n = scandir(path, &entry, NULL, alphasort);

    if (n < 0)
        return run_file(path);
    int ran = run_directory(path, entry, n);
    while (n--)
        free(entry[n]);
    free(entry);
    return ran;
}

int main(int argc, char **argv)
{
    int sum = 0;

    um_fuzz_thorough = true;
    for (int i = 1; i < argc; i++) {
        int ran = run_path(argv[i]);
        if (ran < 0)
            return EXIT_FAILURE;
        sum += ran;
    }
    printf("ran %d inputs\n", sum);
    return sum ? EXIT_SUCCESS : EXIT_FAILURE;
}
