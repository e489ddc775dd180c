/*
 * machine.c - clearinghouse_machine CONFIG KEY INCARNATION: a machine of
 * umbel/experimental/sync.h with the lists of a server, controlled by a test
 * through standard input.
 *
 * KEY is a seed and a public key, 64 bytes in hex; they need not belong
 * together. Each input line is a command; the reply is a line of hex for each
 * message that the machine sends, and then a dot.
 *
 *     message HEX      receive a message
 *     next             receive none
 *     add LIST KEYS    publish a filter with that many keys
 *     fill LIST KEYS   publish a filter with as many cells set as possible,
 *                      which claims to have that many keys
 */
#include "machine.h"

#include "sync/internal.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <umbel/counting.h>
#include <umbel/publish.h>

enum { MESSAGE_BYTES = 65536, LINE_BYTES = 1 << 20, EVERY_KEY = 100000 };

static umbel_error error;
static umbel_sync_list list[UMBEL_SYNC_MAX_LISTS];
static size_t nlists;
static umbel_sync *machine;
static int peer;

static void must(umbel_status status)
{
    if (status == UMBEL_OK)
        return;
    fprintf(stderr, "clearinghouse_machine: %s\n", error.text);
    exit(1);
}

static void open_machine(const char *key, const char *incarnation)
{
    umbel_sync_params p = UMBEL_SYNC_INIT;
    uint8_t sign_key[UMBEL_ORIGIN_SECRET_LEN];

    if (sodium_hex2bin(sign_key, sizeof sign_key, key, strlen(key), NULL, NULL,
                       NULL) != 0)
        exit(2);
    p.nlists = nlists;
    p.lists = list;
    p.sign_key = sign_key;
    p.incarnation = strtoull(incarnation, NULL, 10);
    p.limits.message_bytes = MESSAGE_BYTES;
    randombytes_buf(&p.session, sizeof p.session);
    must(umbel_sync_open(&p, &machine, &error));
    umbel_sync_tick(machine, (uint64_t)time(NULL));
    must(umbel_sync_connect(machine, &peer, &error));
}

static size_t list_named(const char *name)
{
    for (size_t i = 0; i < nlists; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    exit(2);
}

/*
 * Publishes a filter of `keys` keys, or fewer if it is full, that claims
 * `claimed` keys.
 */
static void say_that_it_has(const char *name, uint64_t keys, uint64_t claimed)
{
    size_t i = list_named(name);
    umbel_filter *f;

    must(umbel_copy(list[i].shape, &f, &error));
    machine->list[i].shape->capacity = 0; /* lifts the limit on publishing */
    for (uint64_t k = 0; k < keys; k++)
        if (umbel_add(f, &k, sizeof k, NULL, NULL) != UMBEL_OK)
            break; /* it is full */
    f->added = claimed;
    must(umbel_sync_publish(machine, i, umbel_sync_epoch(machine, i), f,
                            &error));
    umbel_close(f);
}

static void consume(const char *hex)
{
    size_t len = strlen(hex) / 2;
    uint8_t *bytes = malloc(len + 1);

    if (!bytes ||
        sodium_hex2bin(bytes, len, hex, 2 * len, NULL, NULL, NULL) != 0)
        exit(2);
    umbel_sync_receive(machine, peer, bytes, len, (uint64_t)time(NULL), NULL);
    free(bytes);
}

static void obey(char *line)
{
    char name[UMBEL_SYNC_MAX_NAME];
    uint64_t keys;

    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "message ", 8) == 0)
        consume(line + 8);
    else if (sscanf(line, "fill %63s %" SCNu64, name, &keys) == 2)
        say_that_it_has(name, EVERY_KEY, keys);
    else if (sscanf(line, "add %63s %" SCNu64, name, &keys) == 2)
        say_that_it_has(name, keys, keys);
    else if (strcmp(line, "next") != 0)
        exit(2);
}

static void print_messages(void)
{
    umbel_slice m;

    while (umbel_sync_next(machine, peer, (uint64_t)time(NULL), &m)) {
        for (size_t i = 0; i < m.len; i++)
            printf("%02x", ((const uint8_t *)m.data)[i]);
        puts("");
    }
    puts(".");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char line[LINE_BYTES];

    if (argc != 4)
        return 2;
    nlists = machine_lists(argv[1], list, &error);
    if (!nlists)
        must(UMBEL_E_REFUSED);
    open_machine(argv[2], argv[3]);
    while (fgets(line, sizeof line, stdin)) {
        obey(line);
        print_messages();
    }
    umbel_sync_close(machine);
    return 0;
}
