/*
 * pull.c - fetch a published filter, or what changed in it, and look up a key.
 *
 *     cc pull.c $(pkg-config --cflags --libs umbel-fetch) -o pull
 *     ./pull https://example.org/site/words words.umb alpha
 *
 * Run it again and it fetches only what changed. The first key that signed the
 * list is trusted from then on; words.umb.pull remembers it.
 */
#include <umbel/experimental/exchange.h>
#include <umbel/fetch.h>
#include <umbel/umbel.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
    umbel_pull_params params = UMBEL_PULL_INIT;
    umbel_fetcher fetcher = umbel_fetch_curl(NULL);
    umbel_store store = {0};
    umbel_puller *puller = NULL;
    umbel_pulled pulled;
    umbel_filter *filter = NULL;
    umbel_error err;
    bool hit;
    int code = 2;

    if (argc != 4) {
        fprintf(stderr, "usage: pull URL FILE KEY\n");
        return 2;
    }
    params.url = argv[1];
    if (umbel_store_file(argv[2], &store, &err) ||
        umbel_pull_open(&params, &fetcher, &store, &puller, &err) ||
        umbel_pull_round(puller, (uint64_t)time(NULL), &pulled, &err) ||
        umbel_load(argv[2], NULL, &filter, &err) ||
        umbel_query(filter, argv[3], strlen(argv[3]), &hit, &err))
        goto done;
    printf("serial %llu, %llu bytes moved; %s %s\n",
           (unsigned long long)pulled.serial, (unsigned long long)pulled.moved,
           argv[3], hit ? "is in the list" : "is not in the list");
    code = hit ? 0 : 1;
done:
    if (code == 2)
        fprintf(stderr, "pull: %s\n", err.text);
    umbel_close(filter);
    umbel_pull_close(puller);
    umbel_store_close(&store);
    return code;
}
