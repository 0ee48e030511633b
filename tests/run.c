/* run.c - see run.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, setitimer, strsignal */
#include "run.h"
#include "stage_file.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Processes ---- */

enum { HUNG_STATUS = 86 }; /* no stage ends the program with this */

static struct engine_progress *watched;

static _Noreturn void stop(const char *what)
{
    perror(what);
    exit(1);
}

void *run_shared(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        stop("alloclab: shared memory");
    return p;
}

/* Now and then: has anything happened since the last time? Processor time for loops, real time for sleep. */
static void on_tick(int signal)
{
    static uint64_t last[2] = {UINT64_MAX, UINT64_MAX};
    uint64_t *seen = &last[signal == SIGALRM];
    if (*seen == watched->beats)
        _exit(HUNG_STATUS);
    *seen = watched->beats;
}

static void set_timer(int timer, int signal, double seconds)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(signal, &action, NULL);
    struct timeval every = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)};
    setitimer(timer, &(struct itimerval){every, every}, NULL);
}

static FILE *new_file(void)
{
    FILE *file = tmpfile();
    if (file == NULL)
        stop("alloclab: a temporary file");
    return file;
}

/* The first line that says something. */
static void read_message(FILE *messages, char *text, size_t size)
{
    rewind(messages);
    text[0] = '\0';
    while (fgets(text, (int)size, messages) != NULL && strspn(text, "=\n") == strlen(text)) {
    }
    text[strcspn(text, "\n")] = '\0';
}

struct run_end run_apart(void (*work)(struct engine_progress *progress, void *context), void *context,
    double hang_seconds, const struct engine_progress **progress)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    if (watched == NULL)
        watched = run_shared(sizeof *watched);
    memset(watched, 0, sizeof *watched);
    *progress = watched;
    FILE *messages = new_file();
    pid_t child = fork();
    if (child < 0)
        stop("alloclab: fork");
    if (child == 0) {
        for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
            signal(fatal[i], SIG_DFL);
        dup2(fileno(messages), STDERR_FILENO);
        set_timer(ITIMER_PROF, SIGPROF, hang_seconds);
        set_timer(ITIMER_REAL, SIGALRM, 60 * hang_seconds);
        work(watched, context);
        _exit(0);
    }
    struct run_end end = {.status = 0};
    while (waitpid(child, &end.status, 0) < 0 && errno == EINTR) {
    }
    end.hung = WIFEXITED(end.status) && WEXITSTATUS(end.status) == HUNG_STATUS;
    read_message(messages, end.message, sizeof end.message);
    fclose(messages);
    return end;
}

/* ---- Running a trace ---- */

struct run_job {
    const struct trace *trace;
    const struct engine_options *options;
    struct run_result *result; /* shared */
};

static void run_all(struct engine_progress *progress, void *context)
{
    const struct run_job *job = context;
    const struct engine_options *options = job->options;
    struct engine *e = engine_open(job->trace, options, progress);
    bool sound = true;
    for (size_t i = 0; sound && i < job->trace->count; i++) {
        bool due = (i + 1) % options->every == 0 || i + 1 == job->trace->count;
        sound = engine_step(e, i, due && i >= options->from, &job->result->failure);
    }
    job->result->totals = engine_totals(e);
}

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGABRT, "SIGABRT"}, {SIGFPE, "SIGFPE"},
        {SIGILL, "SIGILL"}, {SIGTRAP, "SIGTRAP"}, {SIGKILL, "SIGKILL"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    return strsignal(number);
}

/* What the process was at, and how it ended: puts it into words and returns the kind of failure. */
static void explain_end(const struct run_job *job, const struct engine_progress *progress,
    const struct run_end *end, struct engine_failure *f)
{
    static const char *const doing[] = {
        [ENGINE_BEFORE] = "the test itself, before ",
        [ENGINE_CALL] = "",
        [ENGINE_CHECK] = "check() of the stage, after ",
        [ENGINE_WALK] = "walk() of the stage, after ",
        [ENGINE_FILL] = "writing to the payload returned by ",
    };
    *f = (struct engine_failure){.fault = ENGINE_CRASH, .op = progress->op, .slot = TRACE_NULL};
    char what[96];
    if (end->hung) {
        f->fault = ENGINE_HANG;
        snprintf(what, sizeof what, "did not end within %g s: an endless loop?", job->options->hang_seconds);
    } else if (!WIFSIGNALED(end->status)) {
        f->detail = -WEXITSTATUS(end->status);
        snprintf(what, sizeof what, "ended the program with status %d", WEXITSTATUS(end->status));
    } else if (WTERMSIG(end->status) == SIGABRT && strncmp(end->message, "alloclab: E0", 12) == 0) {
        f->fault = ENGINE_REPORT;
        f->detail = end->message[12] - '0';
        snprintf(what, sizeof what, "ended in the report of a misuse, though there was none");
    } else {
        f->detail = WTERMSIG(end->status);
        snprintf(what, sizeof what, "crashed with %s", signal_name(f->detail));
    }
    char text[TRACE_TEXT_BYTES];
    const struct trace_op *op = &job->trace->ops[f->op];
    snprintf(f->words, sizeof f->words, "%s`%s` (line %u) %s%s%s", doing[progress->phase],
        trace_op_text(job->trace, op, text), (unsigned)op->line, what,
        end->message[0] == '\0' ? "" : "\n  it said: ", end->message);
}

void run_trace(const struct trace *trace, const struct engine_options *options, struct run_result *result)
{
    static struct run_result *shared;
    if (shared == NULL)
        shared = run_shared(sizeof *shared);
    *shared = (struct run_result){.failure = {.fault = ENGINE_SOUND}};
    struct run_job job = {trace, options, shared};
    const struct engine_progress *progress;
    struct run_end end = run_apart(run_all, &job, options->hang_seconds, &progress);
    *result = *shared;
    if (end.status != 0)
        explain_end(&job, progress, &end, &result->failure);
}

void run_exactly(const struct trace *trace, const struct engine_options *options, struct run_result *result)
{
    run_trace(trace, options, result);
    if (result->failure.fault == ENGINE_SOUND || options->every == 1)
        return;
    struct engine_options exact = *options;
    exact.every = 1;
    exact.from = result->failure.op < options->every ? 0 : result->failure.op - options->every;
    struct run_result again;
    run_trace(trace, &exact, &again);
    if (again.failure.fault != ENGINE_SOUND)
        *result = again;
}

/* ---- Reporting ---- */

struct drawing {
    const struct trace *trace;
    const struct engine_options *options;
    size_t op; /* that failed */
    bool returned;
    FILE *out;
};

/* The heap before the operation that failed and, if it returned, after it. */
static void draw(struct engine_progress *progress, void *context)
{
    const struct drawing *d = context;
    struct engine *e = engine_open(d->trace, d->options, progress);
    struct engine_failure ignored;
    for (size_t i = 0; i < d->op; i++)
        engine_step(e, i, false, &ignored);
    struct layout before = {0}, after = {0};
    engine_layout(e, &before);
    if (d->returned) {
        engine_step(e, d->op, false, &ignored);
        engine_layout(e, &after);
    }
    layout_print(d->out, d->returned ? &before : NULL, d->returned ? &after : &before);
    fflush(d->out);
}

void run_report(FILE *out, const char *name, const struct trace *trace, const struct engine_options *options,
    const struct run_result *result)
{
    const struct engine_failure *f = &result->failure;
    if (name != NULL)
        fprintf(out, "%s:%u: ", name, (unsigned)trace->ops[f->op].line);
    fprintf(out, "operation %zu of %zu failed on %s\n%s\n", f->op + 1, trace->count, stage_file, f->words);
    bool returned = f->fault != ENGINE_CRASH && f->fault != ENGINE_HANG && f->fault != ENGINE_REPORT;
    struct drawing d = {trace, options, f->op, returned, new_file()};
    const struct engine_progress *progress;
    run_apart(draw, &d, options->hang_seconds, &progress);
    rewind(d.out);
    for (int c; (c = getc(d.out)) != EOF;)
        putc(c, out);
    fclose(d.out);
}
