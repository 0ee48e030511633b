/* lab.c - see lab.h. */
#define _DEFAULT_SOURCE /* sigaltstack, open_memstream, setitimer */
#include "lab.h"
#include "pattern.h"
#include <criterion/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS_KEPT = 8, STEP_BYTES = 96, WORDS_BYTES = 1024 };

/* A block that the test holds, or held. */
struct held {
    void *payload;
    size_t bytes; /* asked for */
    size_t usable; /* all of it is filled */
    size_t block_bytes; /* also of a block that was freed, until its name is used again */
    uint64_t key; /* of the pattern */
    bool live;
};

static struct held held[LAB_NAMES];
static int names_used; /* names from this one on were never used */
static uint64_t keys_given;
static bool may_run_out;
static const void *just_freed; /* by the last step; NULL: it was no free */

static struct layout before, after; /* the last step */
static char steps[STEPS_KEPT][STEP_BYTES];
static size_t step_count;

/* ---- Failing ---- */

static const char *last_step(void) { return steps[(step_count + STEPS_KEPT - 1) % STEPS_KEPT]; }

static void put_steps(FILE *out)
{
    size_t first = step_count < STEPS_KEPT ? 0 : step_count - STEPS_KEPT;
    fprintf(out, "steps   ");
    if (first > 0)
        fprintf(out, "(%zu, then) ", first);
    for (size_t i = first; i < step_count; i++)
        fprintf(out, "%s%s", i > first ? "; " : "", steps[i % STEPS_KEPT]);
    fprintf(out, "\n");
}

/* Reported at the test, which is where to read on, not at this line: a suite's name is that of its file. */
static void report(const char *words, const struct layout *was, const struct layout *is)
{
    char *message = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&message, &size);
    if (out == NULL)
        abort();
    fprintf(out, "%s\n", words);
    if (step_count > 0)
        put_steps(out);
    layout_print(out, was, is);
    fclose(out);
    char file[64];
    const char *suite = criterion_current_test->category;
    snprintf(file, sizeof file, "tests/%s.c", strncmp(suite, "goal_", 5) == 0 ? "goals" : suite);
    unsigned line; /* Criterion's data is not aligned here */
    memcpy(&line,
        (const char *)criterion_current_test->data + offsetof(struct criterion_test_extra_data, line_),
        sizeof line);
    struct criterion_assert_stats stats = {.message = message, .line = line, .file = file};
    criterion_send_assert(&stats);
    free(message);
}

/* The last step broke something: "after free(B): ...". */
static _Noreturn __attribute__((format(printf, 1, 2))) void fail_after(const char *format, ...)
{
    char words[WORDS_BYTES];
    size_t n = (size_t)snprintf(words, sizeof words, "after %s: ", last_step());
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words + n, sizeof words - n, format, arguments);
    va_end(arguments);
    report(words, &before, &after);
    criterion_abort_test();
}

static void name_blocks(struct layout *l);

/* "the block at offset 8 breaks I5: ... (docs/faults.md#i5)"; at offset 0 is no block: a list or a map is wrong. */
static const char *fault_text(const struct mm_fault *fault)
{
    static char text[WORDS_BYTES / 2];
    char block[48] = "this";
    if (fault->offset != 0)
        snprintf(block, sizeof block, "the block at offset %zu", fault->offset);
    snprintf(text, sizeof text, "%s breaks I%d: %s (docs/faults.md#i%d)", block, fault->invariant,
        fault->what, fault->invariant);
    return text;
}

void lab_require(bool holds, const char *format, ...)
{
    if (holds)
        return;
    char words[WORDS_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    layout_take(&after);
    name_blocks(&after);
    report(words, NULL, &after);
    criterion_abort_test();
}

/* ---- Crashes and endless loops ---- */

static const int CAUGHT[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};
enum { CAUGHT_COUNT = sizeof CAUGHT / sizeof *CAUGHT };

static void handle_signals(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    for (size_t i = 0; i < CAUGHT_COUNT; i++)
        sigaction(CAUGHT[i], &action, NULL);
}

/*
 * A stage with one endless loop hangs in most tests. The file that tests/suite.sh names, there from the first test
 * that hung on, makes the others give up sooner.
 */
static const char *hung_file(void)
{
    const char *file = getenv("LAB_HUNG");
    return file == NULL ? "" : file;
}

/* Criterion, too, sends SIGPROF when a test's time is up. */
static void on_signal(int signal)
{
    handle_signals(SIG_DFL);
    if (signal == SIGPROF)
        close(open(hung_file(), O_CREAT | O_WRONLY, 0666));
    alarm(2); /* reporting from a handler may hang, in a lock that was held: then this ends the process */
    char words[WORDS_BYTES];
    const char *step = step_count == 0 ? "this test" : last_step();
    if (signal == SIGABRT) { /* the stage has seen what is wrong, and ended its call there: so can we */
        layout_take(&after);
        name_blocks(&after);
    }
    if (signal == SIGABRT && after.fault.invariant != 0)
        snprintf(words, sizeof words, "in %s: the stage broke its own heap, and stopped when it noticed: %s",
            step, fault_text(&after.fault));
    else
        snprintf(words, sizeof words, "in %s: %s", step,
            signal == SIGPROF   ? "no end in sight; an endless loop?"
            : signal == SIGABRT ? "the stage called abort(); what it said is above"
            : signal == SIGSEGV ? "the stage crashed (segmentation fault)"
                                : "the stage crashed");
    /* After a crash, as it was: the heap as it is now cannot be trusted. */
    report(words, signal == SIGABRT ? &before : NULL, signal == SIGABRT ? &after : &before);
    raise(signal);
}

static void catch_signals(void)
{
    static char stack[1 << 16]; /* the handlers' own: the crash may be a stack that overflowed */
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    handle_signals(on_signal);
}

/* How much slower than usual this build is. */
#if defined(LAB_SANITIZED) || defined(LAB_COVERAGE)
enum { SLOWNESS = 5 };
#else
enum { SLOWNESS = 1 };
#endif

void lab_seconds(double seconds)
{
    time_t microseconds = (time_t)(seconds * SLOWNESS * 1e6);
    struct itimerval timer = {.it_value = {microseconds / 1000000, microseconds % 1000000}};
    setitimer(ITIMER_PROF, &timer, NULL);
}

/* ---- Names ---- */

static const char *name_text(int name, char text[LAYOUT_NAME_BYTES])
{
    if (name < 26)
        snprintf(text, LAYOUT_NAME_BYTES, "%c", 'A' + name);
    else
        snprintf(text, LAYOUT_NAME_BYTES, "#%d", name);
    return text;
}

/* A freed block keeps its name in the picture as long as it is what was freed. */
static void name_blocks(struct layout *l)
{
    char text[LAYOUT_NAME_BYTES];
    for (int name = 0; name < names_used; name++) {
        const struct held *h = &held[name];
        const struct layout_block *b = h->payload == NULL ? NULL : layout_block_of(l, h->payload);
        if (b == NULL || b->block.payload != h->payload)
            continue;
        if (h->live || (b->block.state != MM_USED && b->block.block_bytes == h->block_bytes))
            layout_name(l, h->payload, name_text(name, text));
    }
}

/* "A", or "the block at offset 96". */
static const char *block_text(const struct layout_block *b, char text[48])
{
    if (b->name[0] != '\0')
        snprintf(text, 48, "%s", b->name);
    else
        snprintf(text, 48, "the block at offset %zu", b->block.offset);
    return text;
}

/* ---- Checking ---- */

static void check_neighbours(const struct layout_block *first, const struct layout_block *second)
{
    if (first->block.state != MM_FREE || second->block.state != MM_FREE)
        return;
    char one[48], other[48];
    fail_after("%s and %s are neighbours and both free (I4)%s", block_text(first, one),
        block_text(second, other),
        just_freed == NULL                    ? ""
        : just_freed == second->block.payload ? ": what was freed was not merged with the block before it"
        : just_freed == first->block.payload  ? ": what was freed was not merged with the block after it"
                                              : "");
}

/* I1, I2 and I4 from the walker alone: the stage's own check() may be what is wrong. */
static void check_blocks(void)
{
    char text[48];
    for (size_t i = 0; i < after.block_count; i++) {
        const struct layout_block *b = &after.blocks[i];
        if (b->block.block_bytes % MM_ALIGNMENT != 0 || b->block.block_bytes <= mm_allocator.header_bytes)
            fail_after("%s has %zu bytes: I2, a multiple of 16 that holds the header and a payload",
                block_text(b, text), b->block.block_bytes);
        if (i > 0)
            check_neighbours(b - 1, b);
    }
    if (after.block_count == 0)
        return;
    const struct mm_block *last = &after.blocks[after.block_count - 1].block;
    size_t end = last->offset + last->block_bytes;
    if (end > memory.bytes || memory.bytes - end >= 4096)
        fail_after("the last block ends at offset %zu, but the heap at %zu: I1", end, memory.bytes);
}

/* I6 from the walkers alone: the free lists hold exactly the free blocks. The last block of the heap may be in no
 * list from stage 4 on, and those that the stage says are too small. */
static void check_lists(void)
{
    char text[48];
    for (size_t i = 0; i < after.listed_count; i++) {
        const struct mm_block *listed = &after.listed[i].block;
        struct layout_block *b = layout_block_of(&after, listed->payload);
        if (b == NULL || b->block.offset != listed->offset || b->block.state == MM_USED)
            fail_after("a free list holds offset %zu, where no free block starts: I6", listed->offset);
        if (b->listed)
            fail_after("%s is in the free lists twice: I6", block_text(b, text));
        b->listed = true;
    }
    size_t n = after.block_count - (after.block_count != 0 && mm_allocator.stage >= 4);
    for (size_t i = 0; i < n; i++)
        if (after.blocks[i].block.state != MM_USED && !after.blocks[i].listed &&
            after.blocks[i].block.block_bytes >= mm_allocator.least_listed)
            fail_after("%s is free, but in no free list: I6", block_text(&after.blocks[i], text));
}

/* Every live block is a used block of the heap with its contents, and no other block is used. */
static void check_held(void)
{
    char text[48];
    for (int name = 0; name < names_used; name++) {
        const struct held *h = &held[name];
        if (!h->live)
            continue;
        name_text(name, text);
        const struct layout_block *b = layout_block_of(&after, h->payload);
        if (b == NULL || b->block.payload != h->payload || b->block.state != MM_USED)
            fail_after("%s is in use, but in its place the heap has %s", text,
                b == NULL                        ? "no block"
                : b->block.payload != h->payload ? "the middle of another block"
                                                 : "a free block");
        size_t i = pattern_difference(h->payload, h->usable, h->key);
        if (i != h->usable)
            fail_after(
                "byte %zu of %s, which has %zu (asked for: %zu), has changed: a used payload was written to",
                i, text, h->usable, h->bytes);
    }
    for (size_t i = 0; i < after.block_count; i++) {
        const struct layout_block *b = &after.blocks[i];
        if (b->block.state == MM_USED && b->name[0] == '\0')
            fail_after("%s is used, but nobody holds it: its %zu bytes are lost", block_text(b, text),
                b->block.block_bytes);
    }
}

void lab_check(void)
{
    layout_take(&after);
    name_blocks(&after);
    const struct mm_fault *fault = &after.fault;
    check_blocks();
    if (fault->invariant != 0)
        fail_after("%s", fault_text(fault));
    if (after.cut != NULL)
        fail_after("%s, though check() finds no fault", after.cut);
    if (mm_allocator.walk_lists != NULL)
        check_lists();
    check_held();
}

/* ---- Operations ---- */

void lab_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(steps[step_count++ % STEPS_KEPT], STEP_BYTES, format, arguments);
    va_end(arguments);
    struct layout swapped = before;
    before = after;
    after = swapped;
    just_freed = NULL;
}

static struct held *hold(int name, char text[LAYOUT_NAME_BYTES])
{
    if (name >= names_used)
        names_used = name + 1;
    name_text(name, text);
    return &held[name];
}

/* The same for a new block: a test that forgets one it holds is wrong itself. */
static struct held *hold_new(int name, char text[LAYOUT_NAME_BYTES])
{
    struct held *h = hold(name, text);
    lab_require(!h->live, "this test is wrong: it already has a block %s", text);
    return h;
}

/* What an allocation returned is a block that nobody else has. */
static void check_payload(const void *payload, size_t alignment, size_t bytes)
{
    if (!is_aligned(payload, alignment))
        fail_after("the payload is not aligned to %zu: its address ends in 0x%zx", alignment,
            (size_t)((uintptr_t)payload % (2 * alignment)));
    if (!memory_contains(payload) || memory.bytes - memory_offset(payload) < bytes)
        fail_after("the payload is not inside the heap of %zu bytes", memory.bytes);
    for (int name = 0; name < names_used; name++) {
        const struct held *h = &held[name];
        char text[LAYOUT_NAME_BYTES];
        uintptr_t start = (uintptr_t)payload, other = (uintptr_t)h->payload;
        if (h->live && start < other + h->usable && other < start + (bytes == 0 ? 1 : bytes))
            fail_after("the payload at offset %zu overlaps %s, which is in use", memory_offset(payload),
                name_text(name, text));
    }
}

/* Take over what an allocation returned, write all of it, and check everything. */
static void *take_over(struct held *h, void *payload, size_t alignment, size_t bytes, int error)
{
    if (payload == NULL) {
        if (!may_run_out)
            fail_after("NULL, though there is memory");
        if (error != ENOMEM)
            fail_after("NULL, but errno is %d, not ENOMEM", error);
        lab_check();
        return NULL;
    }
    check_payload(payload, alignment, bytes);
    *h = (struct held){.payload = payload, .bytes = bytes, .live = true, .key = ++keys_given};
    h->usable = front_usable_size(&mm_allocator, payload);
    if (h->usable < bytes)
        fail_after("its usable size is %zu, less than was asked for", h->usable);
    layout_take(&after);
    const struct layout_block *b = layout_block_of(&after, payload);
    if (b != NULL) {
        h->block_bytes = b->block.block_bytes;
        size_t room = b->block.offset + b->block.block_bytes - memory_offset(payload);
        if (h->usable > room)
            fail_after("its usable size is %zu, but its block has room for %zu", h->usable, room);
    }
    pattern_fill(payload, h->usable, h->key);
    lab_check();
    return payload;
}

void *lab_malloc(int name, size_t bytes)
{
    char text[LAYOUT_NAME_BYTES];
    struct held *h = hold_new(name, text);
    lab_note("%s = malloc(%zu)", text, bytes);
    errno = 0;
    void *payload = front_malloc(&mm_allocator, bytes);
    return take_over(h, payload, MM_ALIGNMENT, bytes, errno);
}

void *lab_calloc(int name, size_t n, size_t bytes)
{
    char text[LAYOUT_NAME_BYTES];
    struct held *h = hold_new(name, text);
    lab_note("%s = calloc(%zu, %zu)", text, n, bytes);
    errno = 0;
    const char *payload = front_calloc(&mm_allocator, n, bytes);
    int error = errno;
    for (size_t i = 0; payload != NULL && i < n * bytes; i++)
        if (payload[i] != 0)
            fail_after("byte %zu is not 0", i);
    return take_over(h, (void *)payload, MM_ALIGNMENT, n * bytes, error);
}

void *lab_aligned_alloc(int name, size_t alignment, size_t bytes)
{
    char text[LAYOUT_NAME_BYTES];
    struct held *h = hold_new(name, text);
    lab_note("%s = aligned_alloc(%zu, %zu)", text, alignment, bytes);
    errno = 0;
    void *payload = front_aligned_alloc(&mm_allocator, alignment, bytes);
    int error = errno;
    return take_over(h, payload, alignment < MM_ALIGNMENT ? MM_ALIGNMENT : alignment, bytes, error);
}

void *lab_realloc(int name, size_t bytes)
{
    char text[LAYOUT_NAME_BYTES];
    struct held *h = hold(name, text), old = *h;
    lab_note("%s = realloc(%s, %zu)", text, old.live ? text : "NULL", bytes);
    errno = 0;
    void *payload = front_realloc(&mm_allocator, old.live ? old.payload : NULL, bytes);
    int error = errno;
    if (old.live && bytes == 0) {
        if (payload != NULL)
            fail_after("not NULL: realloc(p, 0) frees p and returns NULL");
        h->live = false;
        lab_check();
        return NULL;
    }
    if (old.live && payload != NULL) {
        h->live = false;
        size_t kept = old.bytes < bytes ? old.bytes : bytes;
        size_t i = pattern_difference(payload, kept, old.key);
        if (i != kept)
            fail_after("byte %zu of the %zu to keep is not what it was", i, kept);
    }
    return take_over(h, payload, MM_ALIGNMENT, bytes, error);
}

void lab_free(int name)
{
    char text[LAYOUT_NAME_BYTES];
    struct held *h = hold(name, text);
    lab_note("free(%s)", h->live ? text : "NULL");
    h->live = false;
    just_freed = h->payload;
    errno = EXDEV; /* an error that free has no reason to set */
    front_free(&mm_allocator, h->payload);
    if (errno != EXDEV)
        fail_after("errno was changed; free keeps it (POSIX 2024)");
    lab_check();
}

void lab_free_all(void)
{
    for (int name = 0; name < names_used; name++)
        if (held[name].live)
            lab_free(name);
}

void lab_use_up(int name)
{
    if (mm_allocator.header_bytes == 0)
        return;
    for (size_t i = 0; i < after.block_count; i++) {
        const struct mm_block *b = &after.blocks[i].block;
        if (b->state == MM_USED)
            continue;
        lab_malloc(name++, b->block_bytes - mm_allocator.header_bytes);
        lab_require(name < LAB_NAMES, "a free block must be given out to who asks for exactly its size");
        i = SIZE_MAX; /* from the start: the heap has changed */
    }
}

void lab_may_run_out(bool may) { may_run_out = may; }

void *lab_payload(int name) { return held[name].live ? held[name].payload : NULL; }

size_t lab_block_bytes(int name) { return held[name].live ? held[name].block_bytes : 0; }

size_t lab_blocks(enum mm_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < after.block_count; i++)
        n += after.blocks[i].block.state == state;
    return n;
}

void lab_expect(const char *format, ...)
{
    char expected[512], found[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    layout_text(&after, 0, found, sizeof found);
    size_t n = strlen(expected);
    if (strncmp(found, expected, n) != 0 || (found[n] != '\0' && found[n] != ','))
        fail_after("the heap should be\n    %s\nbut it is\n    %s", expected, found);
}

void lab_begin(void)
{
    memory_reset();
    mm_allocator.init();
    mm_counts = (struct mm_counts){0};
    memset(held, 0, sizeof held);
    names_used = 0;
    may_run_out = false;
    step_count = 0;
    layout_take(&after);
    layout_take(&before);
    catch_signals();
    lab_seconds(access(hung_file(), F_OK) == 0 ? 0.5 : 3);
}

/* ---- Crimes ---- */

/* Addresses differ from run to run: "0x7f12ab" becomes "0x...". What does not fit is cut off. */
static void mask_addresses(const char *from, char *to, size_t size)
{
    for (char *end = to + size - 1; *from != '\0' && to < end;) {
        size_t digits = 0;
        if (from[0] == '0' && from[1] == 'x')
            digits = strspn(from + 2, "0123456789abcdef");
        if (digits == 0) {
            *to++ = *from++;
        } else {
            to += snprintf(to, (size_t)(end - to), "0x...");
            to = to > end ? end : to;
            from += 2 + digits;
        }
    }
    *to = '\0';
}

/* The coverage build counts in memory; abort() would lose what was counted in this process. */
#ifdef LAB_COVERAGE
extern void __gcov_dump(void);
#else
static void __gcov_dump(void) {}
#endif

static void on_abort(int signal)
{
    __gcov_dump();
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(signal, &usual, NULL);
    raise(signal);
}

static _Noreturn void be_the_criminal(void (*crime)(void), int to)
{
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    struct sigaction usual = {.sa_handler = SIG_DFL}, dump = {.sa_handler = on_abort};
    sigaction(SIGSEGV, &usual, NULL);
    sigaction(SIGPROF, &usual, NULL);
    sigaction(SIGABRT, &dump, NULL);
    dup2(to, STDERR_FILENO);
    lab_seconds(2);
    crime();
    __gcov_dump();
    _exit(0);
}

struct lab_report lab_commit(void (*crime)(void))
{
    char said[sizeof((struct lab_report *)NULL)->text] = "";
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0)
        be_the_criminal(crime, ends[1]);
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], said + length, sizeof said - 1 - length)) > 0;)
        length += (size_t)n;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    struct lab_report report = {.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    mask_addresses(said, report.text, sizeof report.text);
    return report;
}
