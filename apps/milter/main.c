/*
 * main.c - umbel-milter: options, and libmilter's loop.
 *
 * It is a separate process because libmilter uses threads, handles signals, and
 * exits at SIGHUP, none of which suits the server.
 */
#include "base/decimal.h"
#include "base/error.h"
#include "milter/milter.h"

#include <getopt.h>
#include <libmilter/mfapi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

/* When SIGUSR1 ends the filter, mails that have begun get this time. */
enum { END_MS = 800, STEP_MS = 20 };

um_milter_settings um_milter;

static const char help[] =
    "usage: umbel-milter --socket SOCKET [OPTION]...\n"
    "A filter for Postfix and Sendmail that asks umbel-clearinghouse about "
    "each\n"
    "mail and adds " UM_MILTER_HEADER ": bulk; Body=many Fuz1=many Fuz2=many\n"
    "\n"
    "  --socket SOCKET     inet:8894@127.0.0.1, inet6:8894@::1 or unix:/PATH\n"
    "  --server ADDRESS    of the dccifd protocol: a path, or 127.0.0.1:10045, "
    "the\n"
    "                      default\n"
    "  --reject-at COUNT   reject a mail that was seen that often; 0, the\n"
    "                      default: never\n"
    "  --contact WHOM      named in a rejection; default: the postmaster\n"
    "  --network NETWORK   mail from there passes; may be repeated\n"
    "  --timeout SECONDS   for an answer; default 5. Then mail passes\n"
    "  --child PID         end with that process, which started this one\n"
    "  --help\n";

static _Noreturn void fail(int code, const char *text)
{
    fprintf(stderr, "umbel-milter: %s\n", text);
    exit(code);
}

static uint64_t read_number(const char *option, const char *text, uint64_t low,
                            uint64_t high)
{
    char why[128];
    uint64_t n;

    if (um_decimal_parse(text, high, &n) && n >= low)
        return n;
    snprintf(why, sizeof why, "%s: give a number from %llu to %llu", option,
             (unsigned long long)low, (unsigned long long)high);
    fail(EX_USAGE, why);
    return 0;
}

static void read_network(const char *text)
{
    umbel_error err;

    if (um_milter.nown == UM_MILTER_NETWORKS)
        fail(EX_USAGE, "--network: at most 64 of them");
    if (um_network_parse(text, &um_milter.own[um_milter.nown].network,
                         &um_milter.own[um_milter.nown].bits, &err) != UMBEL_OK)
        fail(EX_USAGE, err.text);
    um_milter.nown++;
}

/* Checks the form of the socket: libmilter takes any other text as a path. */
static void check_socket(void)
{
    const char *s = um_milter.socket;

    if (!s || (strncmp(s, "inet:", 5) != 0 && strncmp(s, "inet6:", 6) != 0 &&
               strncmp(s, "unix:/", 6) != 0))
        fail(EX_USAGE, "give --socket inet:8894@127.0.0.1, inet6:8894@::1 or "
                       "unix:/PATH");
}

static void read_server(const char *text)
{
    umbel_error err;

    if (um_address_parse(text, &um_milter.server, &err) != UMBEL_OK)
        fail(EX_USAGE, err.text);
}

/* Sets the contact, which is sent to senders: one line without "%", which
 * libmilter would take as a format. */
static void read_contact(const char *text)
{
    if (strlen(text) > 100 || strpbrk(text, "%\r\n"))
        fail(EX_USAGE, "--contact: give an address or a page, without %");
    um_milter.contact = text;
}

/* Ends this process with its parent, which may already have ended before
 * prctl was called. */
static void end_with(uint64_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    if ((uint64_t)getppid() != parent)
        exit(0);
}

/* Waits for SIGUSR1, then for mails that have begun, and ends the process.
 * libmilter looks at SIGTERM only every five seconds. */
static void *wait_for_end(void *signals)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    int number, idle = 0;

    while (sigwait(signals, &number) != 0)
        ;
    /* Idle twice: libmilter sends a verdict after the callback has ended. */
    for (int ms = 0; ms < END_MS && idle < 2; ms += STEP_MS) {
        idle = um_milter_open_mails() ? 0 : idle + 1;
        nanosleep(&step, NULL);
    }
    _exit(0);
}

static bool start_waiting(sigset_t *signals)
{
    pthread_t thread;
    sigset_t all, own;

    sigemptyset(signals);
    sigaddset(signals, SIGUSR1);
    /* The thread must not get SIGTERM, which libmilter waits for. */
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &own) != 0)
        return false;
    bool started = pthread_create(&thread, NULL, wait_for_end, signals) == 0;
    sigaddset(&own, SIGUSR1);
    return pthread_sigmask(SIG_SETMASK, &own, NULL) == 0 && started;
}

static void read_options(int argc, char **argv)
{
    static const struct option names[] = {
        {"socket", required_argument, NULL, 's'},
        {"server", required_argument, NULL, 'S'},
        {"reject-at", required_argument, NULL, 'r'},
        {"contact", required_argument, NULL, 'c'},
        {"network", required_argument, NULL, 'n'},
        {"timeout", required_argument, NULL, 't'},
        {"child", required_argument, NULL, 'C'},
        {"help", no_argument, NULL, 'h'},
        {0}};
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
        switch (c) {
        case 's':
            um_milter.socket = optarg;
            break;
        case 'S':
            read_server(optarg);
            break;
        case 'r':
            um_milter.reject_at =
                read_number("--reject-at", optarg, 0, 1 << 30);
            break;
        case 'c':
            read_contact(optarg);
            break;
        case 'n':
            read_network(optarg);
            break;
        case 't':
            um_milter.timeout_ms =
                1000 * read_number("--timeout", optarg, 1, 600);
            break;
        case 'C':
            end_with(read_number("--child", optarg, 1, INT32_MAX));
            break;
        case 'h':
            fputs(help, stdout);
            exit(0);
        default:
            fail(EX_USAGE, "umbel-milter --help lists the options");
        }
    if (optind < argc)
        fail(EX_USAGE,
             "unexpected argument; umbel-milter --help lists the options");
    check_socket();
}

int main(int argc, char **argv)
{
    um_milter.timeout_ms = 5000;
    um_milter.contact = "the postmaster";
    read_server("127.0.0.1:10045");
    read_options(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    static sigset_t signals; /* the thread uses it */
    if (!start_waiting(&signals))
        fail(EX_OSERR, "no thread can be started");
    /* libmilter's parameter is not const, but it does not change the text. */
    char *socket = strdup(um_milter.socket);
    if (!socket || !um_milter_register() || smfi_setconn(socket) != MI_SUCCESS)
        fail(EX_UNAVAILABLE, "libmilter does not start");
    if (smfi_opensocket(1) != MI_SUCCESS) {
        fprintf(stderr,
                "umbel-milter: cannot listen on %s: it is in use, or not of "
                "this machine, or its directory cannot be written\n",
                um_milter.socket);
        free(socket);
        return EX_UNAVAILABLE;
    }
    fprintf(stderr, "umbel-milter: ready on %s\n", um_milter.socket);
    int code = smfi_main() == MI_SUCCESS ? 0 : EX_UNAVAILABLE;
    free(socket);
    return code;
}
