/*
 * threads_stress.c - make stress-threads, make tsan, make helgrind: a stage under threads that come and go.
 *
 *     threads_stress ROUNDS SEED [STEPS]
 *
 * In each round some threads run side by side and end. Each allocates, reallocates and frees blocks, of which it
 * leaves many to the others, through slots that all share: so most blocks are freed by another thread than the one that
 * allocated them. Meanwhile a signal comes every few milliseconds, the process forks, and every other round memory
 * runs out. Every block holds a pattern, which whoever takes it over checks. After each round all invariants must
 * hold, and in the end no block may be left in use, nor may the heap have grown without bound.
 */
#define _DEFAULT_SOURCE /* setitimer */
#include "front.h"
#include "used.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 4,
    SHARED = 512, /* slots that threads pass blocks through */
    OWN = 256, /* blocks that a thread keeps for itself */
    FORKS = 3, /* in a round */
    TIMER_MICROSECONDS = 3000,
};

/* The heap may not grow beyond this in every other round, the first too. */
static const size_t LIMIT = (size_t)2 << 20;
/* The blocks alive at a time are at most THREADS * OWN + SHARED, a quarter of them large. */
static const size_t ENOUGH = (size_t)128 << 20;

/* At the start of each block; its last byte is the lowest of `key`. */
struct head {
    size_t bytes;
    uint64_t key;
};

/* Each has a lock of its own: Helgrind knows locks, but not atomic operations. */
static struct slot {
    pthread_mutex_t mutex;
    struct head *block;
} shared[SHARED];

static unsigned long steps = 20000; /* of each thread in a round */
static atomic_uint signals, refusals;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "threads_stress: %s\n", what);
    abort();
}

static void open_slots(void)
{
    for (int i = 0; i < SHARED; i++)
        pthread_mutex_init(&shared[i].mutex, NULL);
}

static struct head *exchange(struct slot *slot, struct head *h)
{
    pthread_mutex_lock(&slot->mutex);
    struct head *before = slot->block;
    slot->block = h;
    pthread_mutex_unlock(&slot->mutex);
    return before;
}

static uint32_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

static size_t random_size(uint64_t *random)
{
    uint32_t r = next_random(random);
    size_t most = r % 64 == 0 ? 300000 : r % 8 == 0 ? 20000 : 600;
    return sizeof(struct head) + 1 + next_random(random) % most;
}

static char *last_byte(struct head *h) { return (char *)h + h->bytes - 1; }

static struct head *fill(struct head *h, size_t bytes, uint64_t *random)
{
    if (h == NULL) {
        if (errno != ENOMEM)
            fail("no memory, but errno does not say so");
        atomic_fetch_add(&refusals, 1);
        return NULL;
    }
    memset(h, 0x5a, front_usable_size(&mm_allocator, h)); /* so that calloc has something to clear */
    h->bytes = bytes;
    h->key = next_random(random);
    *last_byte(h) = (char)h->key;
    return h;
}

static void check_block(struct head *h)
{
    if (h->bytes < sizeof *h + 1 || *last_byte(h) != (char)h->key)
        fail("a block in use has changed");
    if (front_usable_size(&mm_allocator, h) < h->bytes)
        fail("a block is smaller than what was asked for");
}

static struct head *allocate(uint64_t *random)
{
    size_t bytes = random_size(random);
    errno = 0;
    switch (next_random(random) % 8) {
    case 0: {
        struct head *h = front_calloc(&mm_allocator, 1, bytes);
        for (size_t i = 0; h != NULL && i < bytes; i++)
            if (((char *)h)[i] != 0)
                fail("calloc did not clear");
        return fill(h, bytes, random);
    }
    case 1: {
        size_t alignment = (size_t)32 << next_random(random) % 8;
        struct head *h = front_aligned_alloc(&mm_allocator, alignment, bytes);
        if (!is_aligned(h, alignment))
            fail("aligned_alloc did not align");
        return fill(h, bytes, random);
    }
    default:
        return fill(front_malloc(&mm_allocator, bytes), bytes, random);
    }
}

static void release(struct head *h)
{
    if (h != NULL)
        check_block(h);
    front_free(&mm_allocator, h);
}

static struct head *resize(struct head *h, uint64_t *random)
{
    if (h == NULL)
        return allocate(random);
    check_block(h);
    size_t bytes = random_size(random), kept = h->bytes;
    uint64_t key = h->key;
    char last = *last_byte(h);
    errno = 0;
    struct head *moved = front_realloc(&mm_allocator, h, bytes);
    if (moved == NULL) {
        check_block(h);
        atomic_fetch_add(&refusals, 1);
        return h;
    }
    if (moved->bytes != kept || moved->key != key || (bytes >= kept && ((char *)moved)[kept - 1] != last))
        fail("realloc lost the contents");
    return fill(moved, bytes, random);
}

static void *run(void *argument)
{
    uint64_t random = (uint64_t)(uintptr_t)argument;
    struct head *own[OWN] = {NULL};
    for (unsigned long step = 0; step < steps; step++) {
        struct head **mine = &own[next_random(&random) % OWN];
        switch (next_random(&random) % 4) {
        case 0:
            *mine = resize(*mine, &random);
            break;
        case 1:
            release(*mine);
            *mine = allocate(&random);
            break;
        default: /* leave it to whoever comes to this slot next, and take what lies there */
            *mine = exchange(&shared[next_random(&random) % SHARED], *mine);
        }
    }
    for (int i = 0; i < OWN; i++)
        release(own[i]);
    return NULL;
}

/* A child has one thread, and all the blocks: it goes on with them. */
static void fork_once(uint64_t *random)
{
    mm_allocator.before_fork();
    pid_t child = fork();
    mm_allocator.after_fork();
    int status;
    if (child < 0)
        fail("fork failed");
    if (child == 0) {
        open_slots(); /* who held one is not here */
        run((void *)(uintptr_t)(next_random(random) + 1));
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("a forked process failed");
}

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals, 1);
}

static void check_heap(void)
{
    struct mm_fault fault = mm_allocator.check();
    if (fault.invariant != 0) {
        fprintf(stderr, "I%d at offset %zu: ", fault.invariant, fault.offset);
        fail(fault.what);
    }
}

static void run_round(unsigned long round, uint64_t *random)
{
    pthread_t threads[THREADS];
    memory_set_limit(round % 2 == 0 ? LIMIT : SIZE_MAX);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(next_random(random) + 1)) != 0)
            fail("no thread");
    for (int i = 0; i < FORKS; i++)
        fork_once(random);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check_heap();
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4 || !mm_allocator.thread_safe) {
        fprintf(stderr, mm_allocator.thread_safe
                            ? "usage: threads_stress ROUNDS SEED [STEPS]\n"
                            : "this stage leaves threads to the lock in preload.c; type stage=6\n");
        return 2;
    }
    unsigned long rounds = strtoul(argv[1], NULL, 10);
    uint64_t random = strtoull(argv[2], NULL, 10) * 2654435761 + 88172645463325252;
    if (argc == 4)
        steps = strtoul(argv[3], NULL, 10);
    open_slots();
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL);
    struct itimerval every = {{0, TIMER_MICROSECONDS}, {0, TIMER_MICROSECONDS}};
    setitimer(ITIMER_REAL, &every, NULL);

    front_free(&mm_allocator, front_malloc(&mm_allocator, 1)); /* the first thread has its cache */
    size_t used = used_blocks();
    for (unsigned long round = 0; round < rounds; round++)
        run_round(round, &random);
    for (int i = 0; i < SHARED; i++)
        release(exchange(&shared[i], NULL));
    check_heap();
    size_t left = used_blocks() - used;
    if (left > 2 * THREADS) /* what the stage keeps for threads to come */
        fail("blocks are in use that nobody holds");
    if (rounds > 0 && atomic_load(&refusals) == 0)
        fail("memory never ran out, though it was limited");
    if (memory.peak_bytes > ENOUGH)
        fail("the heap grew without bound");
    printf("threads_stress: %lu rounds, %u signals, %u times no memory, heap %zu KiB: sound\n", rounds,
        atomic_load(&signals), atomic_load(&refusals), memory.peak_bytes / 1024);
    return 0;
}
