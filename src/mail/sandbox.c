/*
 * sandbox.c - limits, then a list of system calls that are allowed
 * (libseccomp).
 *
 * The limit on memory is RLIMIT_DATA, which counts what the process may write;
 * RLIMIT_AS would count libraries, too, which all workers share. Sanitizers
 * reserve terabytes: under them there is no limit.
 */
#include "mail/sandbox.h"

#include "base/error.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STACK = 4 << 20 };

static umbel_status limit(int what, rlim_t most, umbel_error *err)
{
    struct rlimit l = {most, most};

    if (setrlimit((__rlimit_resource_t)what, &l) != 0)
        return um_fail_errno(err, "a limit of the mail worker");
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

/* Plain memory, stacks and time, for libc, GLib and sanitizers. */
static const int allowed[] = {
    SCMP_SYS(brk),          SCMP_SYS(munmap),       SCMP_SYS(mremap),
    SCMP_SYS(madvise),      SCMP_SYS(futex),        SCMP_SYS(rt_sigreturn),
    SCMP_SYS(exit),         SCMP_SYS(exit_group),   SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday), SCMP_SYS(time),         SCMP_SYS(getrandom),
    SCMP_SYS(gettid),       SCMP_SYS(getpid),       SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sigaltstack),  SCMP_SYS(rt_sigaction), SCMP_SYS(sched_yield),
};

/* A library that looks for a file finds none, and goes on. */
static const int refused[] = {
    SCMP_SYS(open),   SCMP_SYS(openat),     SCMP_SYS(stat),
    SCMP_SYS(lstat),  SCMP_SYS(newfstatat), SCMP_SYS(statx),
    SCMP_SYS(access), SCMP_SYS(faccessat),  SCMP_SYS(readlink),
    SCMP_SYS(fstat),
};

/* Calls whose arguments are restricted. */
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
