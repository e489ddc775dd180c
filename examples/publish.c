/*
 * publish.c - build a filter, sign it, and publish it in a directory.
 *
 *     cc publish.c $(pkg-config --cflags --libs umbel) -o publish
 *     ./publish site
 *
 * Any web server can serve the directory. The program prints the key that
 * readers trust. A real publisher makes its keys once, and keeps the one that
 * signs: umbel_sign_key_save, umbel_sign_key_load.
 */
#include <umbel/experimental/exchange.h>
#include <umbel/umbel.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const words[] = {"alpha", "beta", "gamma", "delta"};

int main(int argc, char **argv)
{
    uint8_t sign_key[UMBEL_SIGN_KEY_LEN], trust_key[UMBEL_TRUST_KEY_LEN];
    umbel_publication what = UMBEL_PUBLICATION_INIT;
    umbel_published done;
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_filter *filter = NULL;
    umbel_store site = {0};
    umbel_error err;
    int code = 1;

    if (argc != 2) {
        fprintf(stderr, "usage: publish DIRECTORY\n");
        return 2;
    }
    params.capacity = 1000;
    if (umbel_create("bloom", &params, &filter, &err) ||
        umbel_store_dir(argv[1], &site, &err) ||
        umbel_sign_keygen(sign_key, trust_key, &err))
        goto done;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (umbel_add(filter, words[i], strlen(words[i]), NULL, &err))
            goto done;
    what.name = "words";
    what.filter = filter;
    what.sign_key = sign_key;
    what.now = (uint64_t)time(NULL);
    what.valid = 30 * 86400; /* readers refuse it after 30 days */
    if (umbel_publish(&what, &site, &done, &err) ||
        umbel_publish_tidy(&site, done.last, done.has_last, &err))
        goto done;
    printf("serial %llu, %llu bytes\n", (unsigned long long)done.serial,
           (unsigned long long)done.bytes);
    for (size_t i = 0; i < sizeof trust_key; i++)
        printf("%02x", trust_key[i]);
    printf("\n");
    code = 0;
done:
    if (code)
        fprintf(stderr, "publish: %s\n", err.text);
    umbel_store_close(&site);
    umbel_close(filter);
    return code;
}
