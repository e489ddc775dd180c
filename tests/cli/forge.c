/*
 * forge.c - helpers for the test scripts that a shell cannot do.
 *
 *   forge poke FILE OFFSET HEX   overwrite bytes in place
 *   forge flip FILE OFFSET       invert every bit of one byte in place
 *   forge fields FILE HEX        overwrite the fields of the head with these
 *                                bytes, then zeros, and seal it
 *   forge claim FILE NAME N      change cells or added in the head
 *   forge payload FILE           write the payload's checksum into the head
 *   forge seal FILE              correct the head's checksum
 *   forge socket COMMAND...      run it with a socket as its standard input and
 *                                output, as servers and node do
 *   forge amid FILE TEXT COMMAND...
 *                                run it while FILE is locked; append TEXT to
 *                                FILE before unlocking it
 *   forge locked FILE COMMAND... run it while FILE is locked, and fail if it
 *                                waits for the lock
 *
 * A poked and sealed file passes the checksum test, so that a script reaches
 * the checks after it.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "filter/head.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 16 };

static int fail(const char *what)
{
    fprintf(stderr, "forge: %s: %s\n", what, strerror(errno));
    return 1;
}

static size_t parse_hex(const char *hex, uint8_t bytes[64])
{
    size_t len = strlen(hex) / 2 < 64 ? strlen(hex) / 2 : 64;

    for (size_t i = 0; i < len; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return len;
}

static int poke(char **argv)
{
    uint8_t bytes[64];
    size_t len = parse_hex(argv[2], bytes);
    int fd = open(argv[0], O_WRONLY);
    if (fd < 0 ||
        pwrite(fd, bytes, len, strtol(argv[1], NULL, 10)) != (ssize_t)len)
        return fail(argv[0]);
    return close(fd);
}

static int flip(char **argv)
{
    off_t at = strtol(argv[1], NULL, 10);
    int fd = open(argv[0], O_RDWR);
    uint8_t byte;

    if (fd < 0 || pread(fd, &byte, 1, at) != 1)
        return fail(argv[0]);
    byte = (uint8_t)~byte;
    if (pwrite(fd, &byte, 1, at) != 1)
        return fail(argv[0]);
    return close(fd);
}

/* Reads a file. Returns the length of its head, or 0. */
static size_t load(const char *path, uint8_t file[MOST], size_t *len)
{
    FILE *f = fopen(path, "rb");
    size_t head = 0;

    *len = f ? fread(file, 1, MOST, f) : 0;
    if (f)
        fclose(f);
    if (um_head_len(file, *len, &head, NULL) != UMBEL_OK || head > *len)
        head = 0;
    return head;
}

/* Writes the head with its checksum; the rest of the file is unchanged. */
static int save_head(const char *path, uint8_t *head, size_t len)
{
    size_t at = len - UM_HEAD_CHECKSUM_LEN;
    int fd = open(path, O_WRONLY);

    if (!len)
        return fail("no head");
    um_store64(head + at, um_checksum(head, at));
    if (fd < 0 || pwrite(fd, head, len, 0) != (ssize_t)len)
        return fail(path);
    return close(fd);
}

static uint8_t file[MOST];

static int seal(char **argv)
{
    size_t len, head = load(argv[0], file, &len);

    return save_head(argv[0], file, head);
}

static int fields(char **argv)
{
    size_t len, head = load(argv[0], file, &len);

    if (!head)
        return fail("no head");
    memset(file + UM_HEAD_NAMES_AT, 0, head - UM_HEAD_NAMES_AT);
    parse_hex(argv[1], file + UM_HEAD_NAMES_AT);
    return save_head(argv[0], file, head);
}

static int claim(char **argv)
{
    size_t len, n = load(argv[0], file, &len);
    uint64_t number = strtoull(argv[2], NULL, 10);
    um_head head;

    if (um_head_decode(file, n, &head, NULL) != UMBEL_OK)
        return fail("no head");
    *(strcmp(argv[1], "cells") ? &head.shape.added : &head.shape.cells) =
        number;
    if (um_head_encode(&head.shape, head.payload_checksum, NULL, file) != n)
        return fail("another length");
    return save_head(argv[0], file, n);
}

static int payload(char **argv)
{
    size_t len, head = load(argv[0], file, &len);

    if (!head || len == MOST)
        return fail("no head, or too large");
    um_store64(file + UM_HEAD_SUM_AT, um_checksum(file + head, len - head));
    return save_head(argv[0], file, head);
}

/* Copies everything from one descriptor to the other. */
static int copy(int from, int to)
{
    static char bytes[MOST];
    ssize_t got;

    while ((got = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, (size_t)got) != got)
            return fail("write");
    return got < 0 ? fail("read") : 0;
}

static int feed(int to)
{
    int code = copy(STDIN_FILENO, to);
    shutdown(to, SHUT_WR);
    return code;
}

static int on_socket(char **argv)
{
    int pair[2], code = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return fail("socketpair");
    pid_t child = fork();
    if (child == 0) {
        dup2(pair[1], STDIN_FILENO);
        dup2(pair[1], STDOUT_FILENO);
        close(pair[0]);
        close(pair[1]);
        execvp(argv[0], argv);
        _exit(fail(argv[0]));
    }
    close(pair[1]);
    pid_t feeder = fork();
    if (feeder == 0)
        _exit(feed(pair[0]));
    copy(pair[0], STDOUT_FILENO);
    waitpid(feeder, NULL, 0);
    waitpid(child, &code, 0);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 1;
}

/* Returns true if the process waits for a POSIX lock. */
static bool waits_for_lock(pid_t who)
{
    char line[256];
    long pid;
    bool found = false;
    FILE *f = fopen("/proc/locks", "r");

    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "%*d: -> POSIX %*s %*s %ld", &pid) == 1 &&
                pid == (long)who;
    if (f)
        fclose(f);
    return found;
}

static int lock(const char *path)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_WRONLY | O_APPEND);

    return fd >= 0 && fcntl(fd, F_SETLKW, &all) != 0 ? -1 : fd;
}

/*
 * Starts the command and waits until it ends (then *child is 0) or waits for a
 * lock. If /proc/locks does not show waiting processes, gives up after 10 s.
 */
static int start(char **argv, pid_t *child)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    int code = 0;

    *child = fork();
    if (*child == 0) {
        execvp(argv[0], argv);
        _exit(fail(argv[0]));
    }
    for (int i = 0; i < 10000 && !waits_for_lock(*child); i++) {
        nanosleep(&moment, NULL);
        if (waitpid(*child, &code, WNOHANG) != 0) {
            *child = 0;
            break;
        }
    }
    return code;
}

/*
 * Appends the text and unlocks the file once the command waits for the lock, or
 * has ended without waiting. Appending early for a slow command is correct,
 * too.
 */
static int amid(char **argv)
{
    int fd = lock(argv[0]);
    ssize_t len = (ssize_t)strlen(argv[1]);
    pid_t child;

    if (fd < 0)
        return fail(argv[0]);
    int code = start(argv + 2, &child);
    if (write(fd, argv[1], (size_t)len) != len || close(fd) != 0)
        return fail(argv[0]);
    if (child != 0)
        waitpid(child, &code, 0);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 1;
}

static int locked(char **argv)
{
    pid_t child;

    if (lock(argv[0]) < 0)
        return fail(argv[0]);
    int code = start(argv + 1, &child);
    if (child != 0) {
        kill(child, SIGKILL);
        waitpid(child, &code, 0);
        fprintf(stderr, "forge: it waited for %s\n", argv[0]);
    }
    return WIFEXITED(code) ? WEXITSTATUS(code) : 1;
}

static const struct {
    const char *name;
    int least; /* minimum number of arguments */
    int (*run)(char **argv);
} table[] = {
    {"poke", 3, poke},        {"flip", 2, flip},       {"fields", 2, fields},
    {"claim", 3, claim},      {"payload", 1, payload}, {"seal", 1, seal},
    {"socket", 1, on_socket}, {"amid", 3, amid},       {"locked", 2, locked}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < UM_COUNT(table); i++)
        if (strcmp(argv[1], table[i].name) == 0 && argc - 2 >= table[i].least)
            return table[i].run(argv + 2);
    fputs("usage: see the head of forge.c\n", stderr);
    return 2;
}
