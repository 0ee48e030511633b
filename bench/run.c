/* run.c - see run.h. */
#define _GNU_SOURCE
#include "run.h"
#include "bench.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

int run_program(char *const *argv, const char *library, unsigned seconds, char *output, size_t bytes)
{
    int ends[2], status;
    size_t length = 0;
    ssize_t got;
    if (pipe(ends) != 0)
        stop("pipe");
    pid_t child = fork();
    if (child < 0)
        stop("fork");
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(seconds);
        if (library != NULL)
            setenv("LD_PRELOAD", library, 1);
        else
            unsetenv("LD_PRELOAD");
        execv(argv[0], argv);
        dprintf(STDOUT_FILENO, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    close(ends[1]);
    while ((got = read(ends[0], output + length, bytes - 1 - length)) > 0 || (got < 0 && errno == EINTR))
        length += got < 0 ? 0 : (size_t)got;
    output[length] = '\0';
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

const char *signal_name(int number)
{
    switch (number) {
    case SIGABRT:
        return "ABRT";
    case SIGBUS:
        return "BUS";
    case SIGFPE:
        return "FPE";
    case SIGILL:
        return "ILL";
    case SIGKILL:
        return "KILL";
    case SIGSEGV:
        return "SEGV";
    case SIGTRAP:
        return "TRAP";
    default:
        return "signal";
    }
}

void failure_mark(int status, char *mark, size_t bytes)
{
    if (WIFSIGNALED(status))
        snprintf(mark, bytes, "%s", WTERMSIG(status) == SIGALRM ? "timeout" : signal_name(WTERMSIG(status)));
    else
        snprintf(mark, bytes, "exit %d", WEXITSTATUS(status));
}

void show_progress(double done, double seconds_left, const char *doing)
{
    static double last_shown;
    enum { BAR = 30 };
    char bar[BAR + 1];
    if (!isatty(STDERR_FILENO) || seconds_now() - last_shown < 0.2)
        return;
    last_shown = seconds_now();
    for (int i = 0; i < BAR; i++)
        bar[i] = i < done * BAR ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r[%s] %3.0f s left   %s\033[K", bar, seconds_left < 0 ? 0 : seconds_left, doing);
}

void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}
