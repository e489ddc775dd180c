/*
 * watch.c - repeated work: the pauses, and a command that runs after each
 * change.
 */
#include "cli/commands/internal.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

uint64_t um_watch_pause(uint64_t seconds, unsigned failures, double jitter)
{
    uint64_t pause = seconds, limit = UM_WATCH_MAX_PAUSE;

    while (failures-- && pause < limit)
        pause = 2 * pause < limit ? 2 * pause : limit;
    return (uint64_t)((double)pause * 1000 * (1 - jitter / 10));
}

void um_watch_wait(uint64_t seconds, unsigned failures)
{
    enum { PARTS = 1000 };
    uint64_t ms = um_watch_pause(seconds, failures,
                                 (double)randombytes_uniform(PARTS) / PARTS);
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
                             .tv_nsec = (long)(ms % 1000) * 1000000};

    nanosleep(&pause, NULL);
}

/* --- signals -------------------------------------------------------------- */

static volatile sig_atomic_t running; /* its process group; 0: none */
static volatile sig_atomic_t stopping;

/* Ends the process at once, even during a transfer: a reader can be killed at
 * any moment. */
static void stop(int number)
{
    if (!running)
        _exit(EXIT_SUCCESS);
    stopping = 1;
    kill(-(pid_t)running, number);
}

/* Handles a signal, unless it is ignored (nohup, background jobs). */
static void stop_at(int number)
{
    struct sigaction action = {.sa_handler = stop}, before;

    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void um_watch_signals(void)
{
    stop_at(SIGINT);
    stop_at(SIGTERM);
}

/* --- the command ---------------------------------------------------------- */

/* Starts the command in its own process group, so that a signal can end it as a
 * whole. Signals are blocked until `running` is set. */
static int start_command(const char *command, pid_t *pid)
{
    union {
        const char *const given[4];
        char *args[4];
    } same = {{"sh", "-c", command, NULL}};
    sigset_t all, before;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;

    signal(SIGCHLD, SIG_DFL); /* if ignored, the exit code would be lost */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attr, &before);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    int failed = posix_spawn(pid, "/bin/sh", &files, &attr, same.args, environ);
    running = failed ? 0 : *pid;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return failed;
}

umbel_status um_watch_run(const char *command, umbel_error *err)
{
    pid_t pid = 0;
    int status = 0;

    errno = start_command(command, &pid);
    if (errno)
        return um_fail_errno(err, "cannot run /bin/sh");
    pid_t ended;
    while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        ;
    running = 0;
    if (stopping)
        exit(EXIT_SUCCESS);
    if (ended < 0)
        return um_fail_errno(err, "cannot wait for the command");
    if (WIFSIGNALED(status))
        return um_fail(err, UMBEL_E_IO, "signal %d ended the command: %.180s",
                       WTERMSIG(status), command);
    if (WEXITSTATUS(status))
        return um_fail(err, UMBEL_E_IO,
                       "the command ended with exit code %d: %.180s",
                       WEXITSTATUS(status), command);
    return UMBEL_OK;
}
