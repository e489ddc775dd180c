/*
 * mail_digests.c - prints the Pyzor digest of each mail on standard input, for
 * tests that compare it with the real client's.
 *
 * A mail is preceded by its length in decimal and a newline. --text also prints
 * the text that was digested.
 */
#include "mail/internal.h"
#include "mail/mail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200000000 };

static void print_text(const um_mail *m)
{
    for (size_t i = 0; i < m->nleaves; i++) {
        printf("part %zu\n", i);
        fwrite(m->leaves[i].data, 1, m->leaves[i].len, stdout);
        putchar('\n');
    }
}

static int print_digest(um_mail_reader *r, const uint8_t *mail, size_t len,
                        bool text)
{
    uint8_t digest[UM_SIGNATURE_LEN];
    um_mail m;

    if (um_mail_read(r, mail, len, NULL, &m, NULL) != UMBEL_OK)
        return 1;
    um_pyzor_digest(m.leaves, m.nleaves, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        printf("%02x", digest[i]);
    printf(" %zu %u\n", m.nleaves, m.notes);
    if (text)
        print_text(&m);
    return 0;
}

int main(int argc, char **argv)
{
    bool text = argc > 1 && strcmp(argv[1], "--text") == 0;
    um_mail_reader *r;
    umbel_error err;
    size_t len;

    if (um_mail_reader_open(&r, &err) != UMBEL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    while (scanf("%zu", &len) == 1 && getchar() == '\n' && len <= MOST) {
        uint8_t *mail = malloc(len + 1);

        if (!mail || fread(mail, 1, len, stdin) != len ||
            print_digest(r, mail, len, text) != 0)
            return 1;
        free(mail);
    }
    um_mail_reader_close(r);
    return 0;
}
