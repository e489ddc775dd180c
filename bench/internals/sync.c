/*
 * sync.c - how long each call of the machine of umbel/experimental/sync.h
 * takes.
 *
 * bench_sync [MB] [PAGE_BYTES] [MESSAGE_BYTES]: a list of MB (100) in pages of
 * PAGE_BYTES (4096) goes from one server to another in messages of at most
 * MESSAGE_BYTES (65536), first whole and then by differences. Then a server
 * with 256 peers and the copies of 64 origins, 4 epochs and 6 lists. Prints the
 * mean and the longest time of each call: a server answers nobody meanwhile.
 * Times are CPU time.
 */
#include "base/bytes.h"
#include "base/rng.h"

#include <umbel/counting.h>
#include <umbel/experimental/sync.h>
#include <umbel/filter.h>

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LISTS = 6,
    ORIGINS = 64,
    EPOCHS = 4,
    PEERS = 256,
    SLICE = 4 << 20,
    NOW = 100 * EPOCHS
};

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One kind of call. */
typedef struct timing {
    double sum, most, began;
    uint64_t n, bytes;
} timing;

static void begin(timing *t)
{
    t->began = cpu_seconds();
}

static void end(timing *t)
{
    double took = cpu_seconds() - t->began;

    t->sum += took;
    t->most = took > t->most ? took : t->most;
    t->n++;
}

static void print(const char *what, const timing *t)
{
    printf("%-44s %8" PRIu64 " calls, mean %9.4f ms, longest %9.4f ms", what,
           t->n, t->n ? 1e3 * t->sum / (double)t->n : 0, 1e3 * t->most);
    if (t->bytes)
        printf(", %" PRIu64 " bytes", t->bytes);
    printf("\n");
}

static void demand(umbel_status status, const umbel_error *err)
{
    if (!status)
        return;
    fprintf(stderr, "bench_sync: %s\n", err->text);
    exit(1);
}

static umbel_filter *create_filter(const char *kind, uint64_t mb,
                                   uint64_t *keys)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;
    umbel_error err;

    p.fpr = 0.01;
    p.capacity = *keys = (mb << 20) / 12;
    demand(umbel_create(kind, &p, &f, &err), &err);
    return f;
}

static void add_keys(umbel_filter *f, uint64_t from, uint64_t n)
{
    umbel_error err;

    for (uint64_t i = 0; i < n; i++) {
        um_rng rng = {from + i};
        umbel_digest d = {um_random(&rng), um_random(&rng)};
        demand(umbel_add_digests(f, &d, 1, NULL, &err), &err);
    }
}

static umbel_sync *open_machine(const umbel_sync_list *lists, size_t n,
                                uint64_t seed, uint32_t message_bytes)
{
    uint8_t bytes[crypto_sign_SEEDBYTES] = {0}, public[UMBEL_ORIGIN_LEN],
            secret[UMBEL_ORIGIN_SECRET_LEN];
    umbel_sync_params p = UMBEL_SYNC_INIT;
    umbel_sync *s;
    umbel_error err;

    um_store64(bytes, seed);
    crypto_sign_seed_keypair(public, secret, bytes);
    p.lists = lists;
    p.nlists = n;
    p.sign_key = secret;
    p.incarnation = 1;
    p.session = seed;
    p.limits.memory = (uint64_t)4 << 30;
    p.limits.message_bytes = message_bytes;
    demand(umbel_sync_open(&p, &s, &err), &err);
    return s;
}

static void publish_slices(umbel_sync *s, const umbel_filter *f,
                           uint32_t page_bytes, timing *t)
{
    uint64_t pages = umbel_sync_pages(s, 0), by = SLICE / page_bytes;
    umbel_sync_slice out;
    umbel_error err;

    for (uint64_t i = 0; i < pages; i += by) {
        begin(t);
        demand(umbel_sync_publish_pages(
                   s, 0, 0, f, i, i + by < pages ? i + by : pages, &out, &err),
               &err);
        end(t);
    }
}

/* Carries messages until both are silent. */
static void exchange(umbel_sync *a, umbel_sync *b, int pa, int pb, timing *next,
                     timing *receive)
{
    umbel_sync *end_of[2] = {a, b};
    int peer[2] = {pa, pb};
    umbel_slice m;
    umbel_error err;

    for (int quiet = 0, i = 0; quiet < 2; i = !i) {
        begin(next);
        bool any = umbel_sync_next(end_of[i], peer[i], 1, &m);
        end(next);
        quiet = any ? 0 : quiet + 1;
        if (!any)
            continue;
        next->bytes += m.len;
        begin(receive);
        demand(umbel_sync_receive(end_of[!i], peer[!i], m.data, m.len, 1, &err),
               &err);
        end(receive);
        i = !i; /* the same one goes on */
    }
}

static void one_large(const char *kind, uint64_t mb, uint32_t page_bytes,
                      uint32_t message_bytes)
{
    static const uint64_t reports[] = {1, 1000, 100000};
    uint64_t keys;
    umbel_filter *f = create_filter(kind, mb, &keys);
    umbel_sync_list list = {
        .name = "large", .shape = f, .page_bytes = page_bytes};
    umbel_sync *a = open_machine(&list, 1, 1, message_bytes),
               *b = open_machine(&list, 1, 2, message_bytes);
    timing first = {0}, next = {0}, receive = {0};
    umbel_error err;
    int pa, pb;

    add_keys(f, 0, keys / 2);
    printf("%s, %zu bytes, %" PRIu64 " keys\n", kind, umbel_encoded_len(f),
           keys / 2);
    publish_slices(a, f, page_bytes, &first);
    print("first publish, 4 MiB a slice", &first);
    demand(umbel_sync_connect(a, &pa, &err), &err);
    demand(umbel_sync_connect(b, &pb, &err), &err);
    exchange(a, b, pa, pb, &next, &receive);
    print("first exchange: next", &next);
    print("first exchange: receive", &receive);
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        timing publish = {0}, more = {0}, take = {0};
        add_keys(f, keys / 2 + 1000 * i, reports[i]);
        printf("%" PRIu64 " reports\n", reports[i]);
        publish_slices(a, f, page_bytes, &publish);
        print("publish, 4 MiB a slice", &publish);
        exchange(a, b, pa, pb, &more, &take);
        print("next", &more);
        print("receive", &take);
    }
    if (umbel_sync_agreement(a, 0) != umbel_sync_agreement(b, 0))
        printf("they do not agree\n");
    umbel_sync_close(a);
    umbel_sync_close(b);
    umbel_close(f);
}

static void many_small(void)
{
    static const char *const names[LISTS] = {"a", "b", "c", "d", "e", "f"};
    umbel_sync_list list[LISTS];
    umbel_filter *f;
    timing take = {0}, connect = {0}, have = {0}, idle = {0}, tick = {0},
           word = {0}, settled = {0}, one = {0}, expire = {0};
    umbel_error err;
    umbel_slice m;
    int peer[PEERS], out, in;

    umbel_params p = UMBEL_PARAMS_INIT;
    p.capacity = 1000;
    demand(umbel_create("counting", &p, &f, &err), &err);
    for (size_t i = 0; i < LISTS; i++)
        list[i] = (umbel_sync_list){.name = names[i],
                                    .shape = f,
                                    .epoch_seconds = 100,
                                    .epochs = EPOCHS,
                                    .page_bytes = 4096};
    umbel_sync *s = open_machine(list, LISTS, 1000, 65536);
    umbel_sync_tick(s, NOW);
    add_keys(f, 1, 10);
    demand(umbel_sync_connect(s, &in, &err), &err);
    for (uint64_t o = 0; o < ORIGINS; o++) {
        umbel_sync *a = open_machine(list, LISTS, o + 1, 65536);
        umbel_sync_tick(a, NOW);
        for (size_t l = 0; l < LISTS; l++)
            for (uint64_t e = 1; e <= EPOCHS; e++)
                demand(umbel_sync_publish(a, l, e, f, &err), &err);
        demand(umbel_sync_connect(a, &out, &err), &err);
        for (int turn = 0; turn < 6; turn++) {
            while (umbel_sync_next(a, out, NOW, &m)) {
                begin(&take);
                umbel_sync_receive(s, in, m.data, m.len, NOW, &err);
                end(&take);
            }
            while (umbel_sync_next(s, in, NOW, &m))
                umbel_sync_receive(a, out, m.data, m.len, NOW, &err);
        }
        umbel_sync_close(a);
        umbel_sync_disconnect(s, in);
        demand(umbel_sync_connect(s, &in, &err), &err);
    }
    umbel_sync_disconnect(s, in);
    print("many copies: take one", &take);
    /* Each peer has all, as a machine that took it from this one. */
    for (int i = 0; i < PEERS; i++) {
        umbel_sync *b = open_machine(list, LISTS, 1000, 65536);
        demand(umbel_sync_connect(s, &peer[i], &err), &err);
        demand(umbel_sync_connect(b, &out, &err), &err);
        for (int turn = 0; turn < 4 && i < 8; turn++) {
            for (;;) {
                begin(&connect);
                bool any = umbel_sync_next(s, peer[i], NOW, &m);
                end(&connect);
                if (!any)
                    break;
                umbel_sync_receive(b, out, m.data, m.len, NOW, &err);
            }
            while (umbel_sync_next(b, out, NOW, &m)) {
                begin(&have);
                umbel_sync_receive(s, peer[i], m.data, m.len, NOW, &err);
                end(&have);
            }
        }
        umbel_sync_close(b);
    }
    print("many copies: next to a new peer", &connect);
    print("many copies: receive of HAVE", &have);
    for (int round = 0; round < 200; round++)
        for (int i = 0; i < 8; i++) {
            begin(&idle);
            while (umbel_sync_next(s, peer[i], NOW, &m))
                ;
            end(&idle);
            begin(&settled);
            umbel_sync_settled(s, peer[i]);
            end(&settled);
        }
    print("many copies: next, nothing to send", &idle);
    print("many copies: settled", &settled);
    for (int i = 0; i < 1000; i++) {
        begin(&tick);
        umbel_sync_tick(s, NOW);
        end(&tick);
        begin(&word);
        umbel_sync_agreement(s, (size_t)i % LISTS);
        end(&word);
    }
    print("many copies: tick", &tick);
    print("many copies: agreement", &word);
    begin(&one);
    demand(umbel_sync_publish(s, 0, EPOCHS, f, &err), &err);
    end(&one);
    print("many copies: publish of a new one", &one);
    for (uint64_t i = 0; i < 100; i++) {
        begin(&expire);
        umbel_sync_tick(s, NOW + 100 + i);
        end(&expire);
    }
    print("many copies: tick at an epoch's end", &expire);
    umbel_sync_close(s);
    umbel_close(f);
}

int main(int argc, char **argv)
{
    uint64_t mb = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    uint32_t page = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 4096;
    uint32_t message = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 65536;

    if (sodium_init() < 0)
        return 1;
    one_large("counting", mb, page, message);
    one_large("table", mb, page, message);
    one_large("bloom", mb, page, message);
    many_small();
    return 0;
}
