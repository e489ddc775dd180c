/*
 * main.c - umbel-dccproc: reads a mail and prints the X-DCC line of a
 * clearinghouse.
 *
 * Software that does not speak dccifd runs dccproc for each mail. This program
 * accepts the options that such software passes, asks the server's dccifd
 * protocol, and prints what dccproc prints.
 */
#include "base/decimal.h"
#include "base/error.h"
#include "net/dccifd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    MAIL_MAX = 16 << 20, /* the default limit of the server */
    TIMEOUT_MS = 20000
};

static const char help[] =
    "usage: umbel-dccproc [OPTION]... <MAIL\n"
    "Asks umbel-clearinghouse about a mail, as dccproc asks a DCC server.\n"
    "\n"
    "  -H            print the X-DCC line only\n"
    "  -C            print the X-DCC line and the checksums\n"
    "                (neither: the mail, with the X-DCC line in its header)\n"
    "  -Q            look up only: do not count the mail\n"
    "  -t TARGETS    recipients, or \"many\": report it as spam\n"
    "  -a ADDRESS    client that sent the mail\n"
    "  -R            take the client from Received: (the server does)\n"
    "  -f SENDER     envelope sender\n"
    "  -i FILE, -o FILE  read and write these instead\n"
    "  -x CODE       exit status when the mail is bulk; default 0\n"
    "  -h, -w, -m FILE   accepted and not read: the server has the rules\n"
    "  --server ADDRESS  of the dccifd protocol: 127.0.0.1:10045, or "
    "a\n"
    "                path; a comma may replace the colon\n"
    "  --help\n";

typedef struct arguments {
    const char *client, *sender, *in, *out;
    char server[256];
    bool header, checksums, query;
    unsigned targets; /* 0 means many */
    int bulk_code;
} arguments;

static _Noreturn void fail(int code, const char *text)
{
    fprintf(stderr, "umbel-dccproc: %s\n", text);
    exit(code);
}

/* Prints the system's error for a file, and exits. */
static _Noreturn void fail_file(int code, const char *name)
{
    fprintf(stderr, "umbel-dccproc: %s: %s\n", name, strerror(errno));
    exit(code);
}

static unsigned read_targets(const char *text)
{
    uint64_t n;

    if (strcmp(text, "many") == 0)
        return 0;
    if (!um_decimal_parse(text, 1000, &n) || n == 0)
        fail(EX_USAGE, "-t: give a number from 1 to 1000, or \"many\"");
    return (unsigned)n;
}

static int read_code(const char *text)
{
    uint64_t n;

    if (!um_decimal_parse(text, 255, &n))
        fail(EX_USAGE, "-x: give an exit status from 0 to 255");
    return (int)n;
}

/* Copies the address, with a comma replaced by a colon: SpamAssassin allows no
 * colon in its options. */
static void read_server(const char *text, char *out, size_t cap)
{
    if ((size_t)snprintf(out, cap, "%s", text) >= cap)
        fail(EX_USAGE, "--server: the address is too long");
    char *comma = text[0] == '/' ? NULL : strrchr(out, ',');
    if (comma)
        *comma = ':';
}

static arguments read_arguments(int argc, char **argv)
{
    static const struct option names[] = {
        {"server", required_argument, NULL, 's'},
        {"help", no_argument, NULL, '?' + 256},
        {0}};
    arguments a = {.client = "", .sender = "", .targets = 1};
    int c;

    read_server("127.0.0.1:10045", a.server, sizeof a.server);
    while ((c = getopt_long(argc, argv, "HCQRt:a:f:i:o:x:h:w:m:", names,
                            NULL)) != -1)
        switch (c) {
        case 'H':
            a.header = true;
            break;
        case 'C':
            a.checksums = true;
            break;
        case 'Q':
            a.query = true;
            break;
        case 't':
            a.targets = read_targets(optarg);
            break;
        case 'a':
            a.client = optarg;
            break;
        case 'f':
            a.sender = optarg;
            break;
        case 'i':
            a.in = optarg;
            break;
        case 'o':
            a.out = optarg;
            break;
        case 'x':
            a.bulk_code = read_code(optarg);
            break;
        case 's':
            read_server(optarg, a.server, sizeof a.server);
            break;
        case 'R':
        case 'h':
        case 'w':
        case 'm':
            break;
        case '?' + 256:
            fputs(help, stdout);
            exit(0);
        default:
            fputs("umbel-dccproc --help lists the options\n", stderr);
            exit(EX_USAGE);
        }
    if (optind < argc)
        fail(EX_USAGE, "the mail comes by standard input, or -i FILE");
    return a;
}

/* Reads all of a mail into MAIL_MAX + 1 bytes; returns its length. */
static size_t read_mail(const char *path, char *mail)
{
    const char *name = path ? path : "standard input";
    FILE *in = path ? fopen(path, "re") : stdin;

    if (!in)
        fail_file(EX_NOINPUT, name);
    size_t len = fread(mail, 1, MAIL_MAX + 1, in);
    int code = ferror(in) ? errno : 0;
    if (path)
        fclose(in);
    errno = code;
    if (code)
        fail_file(EX_IOERR, name);
    if (len > MAIL_MAX)
        fail(EX_DATAERR, "the mail is longer than 16 MiB");
    return len;
}

static umbel_status query_server(const arguments *a, umbel_slice mail,
                                 um_dccifd_response *out, umbel_error *err)
{
    const char *recipients[1001] = {NULL};
    char words[64];
    um_dccifd_query q = {.timeout_ms = TIMEOUT_MS,
                         .words = words,
                         .client = a->client,
                         .helo = "",
                         .sender = a->sender,
                         .recipient = recipients};

    for (unsigned i = 0; i < (a->targets ? a->targets : 1); i++)
        recipients[i] = "unknown";
    snprintf(words, sizeof words, "grey-off %s%s%s",
             a->checksums ? "cksums" : "header", a->query ? " query" : "",
             a->targets ? "" : " spam");
    UM_TRY(um_address_parse(a->server, &q.server, err));
    return um_dccifd_call(&q, mail, out, err);
}

/* Returns the length of the header of a mail, without the empty line. */
static size_t header_end(umbel_slice mail)
{
    const char *bytes = mail.data;

    for (size_t i = 0; i < mail.len; i++)
        if ((i == 0 || bytes[i - 1] == '\n') &&
            (bytes[i] == '\n' ||
             (i + 1 < mail.len && bytes[i] == '\r' && bytes[i + 1] == '\n')))
            return i;
    return mail.len;
}

static void print(const arguments *a, umbel_slice mail,
                  const um_dccifd_response *reply)
{
    FILE *out = a->out ? fopen(a->out, "we") : stdout;
    size_t head = a->header || a->checksums ? 0 : header_end(mail);

    if (!out)
        fail(EX_CANTCREAT, "the output: cannot write");
    if (a->header || a->checksums)
        mail.len = 0;
    fwrite(mail.data, 1, head, out);
    fwrite(reply->text, 1, reply->len, out);
    fwrite((const char *)mail.data + head, 1, mail.len - head, out);
    if (fclose(out) != 0)
        fail(EX_IOERR, "the output: cannot write");
}

static void fail_query(const umbel_error *err)
{
    char text[sizeof err->text + 128];

    snprintf(text, sizeof text,
             "%s; is umbel-clearinghouse running there? --server ADDRESS names "
             "another place",
             err->text);
    fail(EX_TEMPFAIL, text);
}

int main(int argc, char **argv)
{
    arguments a = read_arguments(argc, argv);
    char *bytes = malloc(MAIL_MAX + 1);
    um_dccifd_response reply;
    umbel_error err;

    if (!bytes)
        fail(EX_OSERR, "no memory for a mail");
    umbel_slice mail = {bytes, read_mail(a.in, bytes)};
    if (query_server(&a, mail, &reply, &err) != UMBEL_OK)
        fail_query(&err);
    print(&a, mail, &reply);
    free(bytes);
    return strstr(reply.text, "; bulk") ? a.bulk_code : 0;
}
