/*
 * worker_process.c - the process that reads mails, and its sandbox.
 *
 * Everything that needs files happens first: charsets are opened and a mail
 * with all encodings is read, so that libraries load what they need. Then the
 * process confines itself, reports that it is ready, and reads mails until it
 * is closed.
 *
 * The sandbox sets limits, then a list of allowed system calls (libseccomp).
 * The limit on memory is RLIMIT_DATA, which counts what the process may write;
 * RLIMIT_AS would also count libraries, which all workers share. Sanitizers
 * reserve terabytes: with them there is no limit.
 */
#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "mail/internal.h"
#include "mail/pool.h"

#include <errno.h>
#include <glib.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    CHUNK = 1 << 16,
    FIRST_BUFFER = 2 * CHUNK,
    MAX_KEPT = 8 * CHUNK,
    STACK = 4 << 20
};

typedef struct worker {
    um_mail_reader *reader;
    um_mail_limits limits;
    um_buffer in; /* received bytes that are not processed yet, from at on */
    size_t at;
    um_buffer decoded; /* an original that a relay has encoded */
    uint64_t memory;
} worker;

/* --- the sandbox ---------------------------------------------------------- */

static umbel_status limit(int what, rlim_t max, umbel_error *err)
{
    struct rlimit l = {max, max};

    if (setrlimit((__rlimit_resource_t)what, &l) != 0)
        return um_fail_errno(err, "cannot limit the mail worker");
    return UMBEL_OK;
}

static umbel_status set_limits(uint64_t memory, umbel_error *err)
{
    UM_TRY(limit(RLIMIT_CORE, 0, err));
    UM_TRY(limit(RLIMIT_FSIZE, 0, err));
    UM_TRY(limit(RLIMIT_NOFILE, 0, err));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    UM_TRY(limit(RLIMIT_STACK, STACK, err));
    if (memory)
        UM_TRY(limit(RLIMIT_DATA, (rlim_t)memory, err));
#else
    (void)memory;
    (void)STACK;
#endif
    return UMBEL_OK;
}

/* Calls for plain memory, stacks and time, for libc, GLib and sanitizers. */
static const int allowed[] = {
    SCMP_SYS(brk),          SCMP_SYS(munmap),       SCMP_SYS(mremap),
    SCMP_SYS(madvise),      SCMP_SYS(futex),        SCMP_SYS(rt_sigreturn),
    SCMP_SYS(exit),         SCMP_SYS(exit_group),   SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday), SCMP_SYS(time),         SCMP_SYS(getrandom),
    SCMP_SYS(gettid),       SCMP_SYS(getpid),       SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sigaltstack),  SCMP_SYS(rt_sigaction), SCMP_SYS(sched_yield),
};

/* Calls that fail, so that a library that looks for a file continues without
 * it. */
static const int refused[] = {
    SCMP_SYS(open),   SCMP_SYS(openat),     SCMP_SYS(stat),
    SCMP_SYS(lstat),  SCMP_SYS(newfstatat), SCMP_SYS(statx),
    SCMP_SYS(access), SCMP_SYS(faccessat),  SCMP_SYS(readlink),
    SCMP_SYS(fstat),
};

/* Allows some calls with restricted arguments. */
static int allow_some(scmp_filter_ctx ctx, int fd)
{
    const scmp_datum_t self = (scmp_datum_t)getpid();
    int bad = 0;

    bad |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(read), 1,
                            SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)fd, 0));
    bad |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                            SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)fd, 0));
    bad |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                            SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO, 0));
    bad |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                            SCMP_A0(SCMP_CMP_EQ, self, 0));
    bad |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                            SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    bad |= seccomp_rule_add(
        ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
        SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    return bad;
}

static int fill_filter(scmp_filter_ctx ctx, int fd)
{
    int bad = allow_some(ctx, fd);

    for (size_t i = 0; i < UM_COUNT(allowed); i++)
        bad |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
    for (size_t i = 0; i < UM_COUNT(refused); i++)
        bad |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EACCES), refused[i], 0);
    return bad;
}

umbel_status um_sandbox_enter(int fd, uint64_t memory, umbel_error *err)
{
    scmp_filter_ctx ctx;
    int bad;

    prctl(PR_SET_DUMPABLE, 0);
    UM_TRY(set_limits(memory, err));
    ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
    bad = !ctx || fill_filter(ctx, fd) || seccomp_load(ctx);
    if (ctx)
        seccomp_release(ctx);
    return bad ? um_fail(err, UMBEL_E_UNSUPPORTED,
                         "the kernel does not confine the mail worker")
               : UMBEL_OK;
}

/* --- preparation ---------------------------------------------------------- */

/* Exits if GLib logs an error before it aborts, which happens when memory runs
 * out. */
static void on_glib_message(const gchar *domain, GLogLevelFlags level,
                            const gchar *text, gpointer data)
{
    (void)domain;
    (void)text;
    (void)data;
    if (level & G_LOG_LEVEL_ERROR)
        _exit(UM_MAIL_WORKER_NO_MEMORY);
}

static bool parse_arguments(worker *w, int argc, char *const *argv)
{
    uint64_t parts, depth;

    if (argc != UM_MAIL_WORKER_ARGUMENTS ||
        !um_decimal_parse(argv[0], UINT64_MAX, &w->memory) ||
        !um_decimal_parse(argv[1], UINT64_MAX, &w->limits.bytes) ||
        !um_decimal_parse(argv[2], UINT64_MAX, &parts) ||
        !um_decimal_parse(argv[3], UINT64_MAX, &depth))
        return false;
    w->limits.parts = (unsigned)parts;
    w->limits.depth = (unsigned)depth;
    return w->limits.bytes < UINT32_MAX && parts < UINT32_MAX &&
           depth < UINT32_MAX;
}

/* Makes the libraries load everything that they load at first use. */
static umbel_status warm_up(worker *w, umbel_error *err)
{
    static const char mail[] =
        "From: \"A, =?utf-8?q?=C3=A4?=\" <a@example.org>, b@example.org\n"
        "Date: Tue, 17 Nov 2026 06:00:00 +0100\n"
        "Received: from x (x [192.0.2.1]) by y; Tue, 17 Nov 2026 06:00:00 GMT\n"
        "Subject: =?iso-8859-1?q?=E4?= =?koi8-r?b?8A==?= \xe4\n"
        "Content-Type: multipart/mixed; boundary*0=\"=_\"; boundary*1=\"x\"\n\n"
        "--=_x\nContent-Type: text/html; charset=iso-2022-jp\n"
        "Content-Disposition: attachment; filename*=utf-8''%C3%A4\n"
        "Content-Transfer-Encoding: base64\n\nPGI+eA==\n"
        "--=_x\nContent-Type: message/rfc822\n\nSubject: x\n\nx\n--=_x--\n";
    um_mail_facts facts = {0};
    um_mail m;

    UM_TRY(um_mail_read(w->reader, (const uint8_t *)mail, sizeof mail - 1,
                        &w->limits, &m, err));
    um_mail_describe(&m, &facts);
    um_mail_sign(&m, &facts);
    return UMBEL_OK;
}

static umbel_status prepare(worker *w, umbel_error *err)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_range(STDERR_FILENO + 1, ~0u, 0);
    signal(SIGPIPE, SIG_IGN);
    g_log_set_default_handler(on_glib_message, NULL);
    UM_TRY(um_mail_reader_open(&w->reader, err));
    UM_TRY(warm_up(w, err));
    if (!um_buffer_reserve(&w->in, FIRST_BUFFER))
        return um_no_memory(err, FIRST_BUFFER);
    return um_sandbox_enter(UM_MAIL_WORKER_FD, w->memory, err);
}

/* --- mails ---------------------------------------------------------------- */

static bool send_answer(const um_mail_answer *a)
{
    uint8_t bytes[UM_MAIL_ANSWER];
    size_t sent = 0;

    um_mail_answer_encode(a, bytes);
    while (sent < sizeof bytes) {
        ssize_t n = write(UM_MAIL_WORKER_FD, bytes + sent, sizeof bytes - sent);

        if (n < 0 && errno != EINTR)
            return false;
        sent += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Receives until there are at least want bytes. */
static bool receive(worker *w, size_t want)
{
    while (w->in.len - w->at < want) {
        size_t more = want - (w->in.len - w->at);

        if (w->at > 0) {
            w->in.len -= w->at;
            memmove(w->in.data, w->in.data + w->at, w->in.len);
            w->at = 0;
        }
        if (!um_buffer_reserve(&w->in, more > CHUNK ? more : CHUNK))
            _exit(UM_MAIL_WORKER_NO_MEMORY);
        ssize_t n = read(UM_MAIL_WORKER_FD, w->in.data + w->in.len,
                         w->in.cap - w->in.len);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        w->in.len += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool read_one(worker *w)
{
    um_mail_answer a = {.kind = UM_MAIL_READ};
    um_mail_request r;
    um_mail m;

    if (!receive(w, UM_MAIL_REQUEST) ||
        !um_mail_request_decode(w->in.data + w->at, &r) ||
        r.len > w->limits.bytes || !receive(w, UM_MAIL_REQUEST + r.len))
        return false;
    a.id = r.id;
    umbel_slice sent = {w->in.data + w->at + UM_MAIL_REQUEST, r.len};
    um_buffer_clear(&w->decoded, MAX_KEPT);
    unsigned note = 0;
    umbel_slice mail =
        r.unwrap ? um_mail_unwrap(sent, &w->decoded, &note) : sent;
    if (mail.data && um_mail_read(w->reader, mail.data, mail.len, &w->limits,
                                  &m, NULL) == UMBEL_OK) {
        m.notes |= (r.cut ? UM_MAIL_CUT : 0) | note;
        um_mail_describe(&m, &a.facts);
        um_mail_sign(&m, &a.facts);
    } else
        a.kind = UM_MAIL_NO_MEMORY;
    w->at += UM_MAIL_REQUEST + r.len;
    if (w->at == w->in.len) {
        w->at = 0;
        um_buffer_clear(&w->in, MAX_KEPT);
    }
    return send_answer(&a);
}

int um_mail_worker_main(int argc, char *const *argv)
{
    worker w = {0};
    umbel_error err = {0};

    if (!parse_arguments(&w, argc, argv))
        return UM_MAIL_WORKER_BROKEN;
    if (prepare(&w, &err) != UMBEL_OK ||
        !send_answer(&(um_mail_answer){.kind = UM_MAIL_READY})) {
        um_buffer_fini(&w.in);
        return UM_MAIL_WORKER_BROKEN;
    }
    while (read_one(&w))
        continue;
    /* Faster than freeing everything. */
    _exit(UM_MAIL_WORKER_DONE);
}
