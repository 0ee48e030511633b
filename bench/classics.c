/*
 * classics.c - three classic comparisons of ways to get memory, over one allocator. Prints raw times as CSV.
 *
 *     classics lists|chunks|small|zeroed NAME [LIBRARY]
 *
 * LIBRARY exports malloc and its kin; without it, the system's are measured. classics.sh runs this program
 * for each allocator and prints the tables; it preloads LIBRARY, for jemalloc as packaged cannot be loaded
 * later. Each measurement is in a process of its own, whose heap is as at the start. Chapter: docs/pools.md
 *
 * A line is: comparison,allocator,variant,part,count,nanoseconds (of all `count` operations together).
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, RTLD_DEFAULT */
#include "item_pool.h"
#include "pool.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HANGS_SECONDS = 60 }; /* on the wall; the longest measurement takes a tenth of it */

/* The allocator that is measured. */
static struct {
    const char *name;
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void (*free)(void *payload);
} heap;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "classics: %s: %s\n", heap.name == NULL ? "?" : heap.name, what);
    exit(1);
}

/* True in a new process, which measures one thing and ends with finish(); then false in this one. */
static bool in_own_process(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(HANGS_SECONDS);
        return true;
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        fail("no process for a measurement");
    if (WIFSIGNALED(status))
        fail(WTERMSIG(status) == SIGALRM ? "it hangs: stopped" : strsignal(WTERMSIG(status)));
    if (status != 0)
        exit(1); /* it has said why */
    return false;
}

static _Noreturn void finish(void)
{
    fflush(stdout);
    _exit(0);
}

static void *must(void *memory)
{
    if (memory == NULL)
        fail("no memory");
    return memory;
}

/* Processor time in nanoseconds: while other programs run, it stands still. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The compiler must believe that this memory is used, or it would leave out what fills it. */
static inline void keep(void *memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

static void print_line(const char *comparison, const char *variant, const char *part, size_t count, double ns)
{
    printf("%s,%s,%s,%s,%zu,%.0f\n", comparison, heap.name, variant, part, count, ns);
}

/* ---- Lists: nodes from malloc or a pool, removed one by one or all at once ---- */

struct node {
    struct node *next, *prev;
    long value;
};

enum {
    ROUNDS = 16,
    NODES = 65536,
    FEWER_NODES = 2048, /* where malloc looks at every block, and a round would take minutes */
    PROBE_NODES = 4096,
    SLOW_NS = 3000, /* per node of the probe: O(1) takes a tenth of it at most, O(n) several times as much */
};

enum kind { MALLOC, POOL, ITEM_POOL };

enum way {
    NICE, /* node by node, one pool for all rounds */
    NICE_NEW_POOL, /* node by node, a pool for each round */
    BRUTE, /* by destroying the pool, so a pool for each round */
};

enum phase { START, BUILD, REMOVE, DONE, END, PHASES };

static void *store_create(enum kind kind, struct chunk_source source)
{
    if (kind == POOL)
        return must(pool_create(source));
    return kind == ITEM_POOL ? must(item_pool_create(source, sizeof(struct node))) : NULL;
}

static void store_destroy(enum kind kind, void *store)
{
    if (kind == POOL)
        pool_destroy(store);
    else if (kind == ITEM_POOL)
        item_pool_destroy(store);
}

static inline struct node *node_alloc(enum kind kind, void *store)
{
    return kind == POOL        ? pool_alloc(store, sizeof(struct node))
           : kind == ITEM_POOL ? item_pool_alloc(store)
                               : heap.malloc(sizeof(struct node));
}

static inline void node_free(enum kind kind, void *store, struct node *node)
{
    if (kind == POOL)
        pool_free(store, node);
    else if (kind == ITEM_POOL)
        item_pool_free(store, node);
    else
        heap.free(node);
}

static void list_build(struct node *list, size_t nodes, enum kind kind, void *store)
{
    for (size_t i = 0; i < nodes; i++) {
        struct node *node = must(node_alloc(kind, store));
        *node = (struct node){list, list->prev, (long)i};
        list->prev->next = node;
        list->prev = node;
    }
}

static void list_remove_all(struct node *list, enum kind kind, void *store)
{
    while (list->next != list) {
        struct node *node = list->next;
        list->next = node->next;
        node->next->prev = list;
        node_free(kind, store, node);
    }
}

static long page_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* The list as often as `rounds` says; adds up the time of each phase, and returns the page faults. */
static long list_rounds(
    enum kind kind, enum way way, struct chunk_source source, size_t nodes, int rounds, double ns[PHASES])
{
    void *store = NULL;
    long faults = page_faults();
    double times[PHASES + 1];
    for (int round = 0; round < rounds; round++) {
        times[START] = now();
        if (store == NULL)
            store = store_create(kind, source);
        struct node list = {&list, &list, 0};
        times[BUILD] = now();
        list_build(&list, nodes, kind, store);
        times[REMOVE] = now();
        if (way != BRUTE)
            list_remove_all(&list, kind, store);
        times[DONE] = now();
        if (way != NICE) {
            store_destroy(kind, store);
            store = NULL;
        }
        times[END] = now();
        for (int phase = START; phase < END; phase++)
            ns[phase] += times[phase + 1] - times[phase];
    }
    double start = now();
    store_destroy(kind, store);
    ns[END] += now() - start;
    return page_faults() - faults;
}

static void print_list(const char *comparison, const char *variant, enum kind kind, enum way way,
    struct chunk_source source, size_t nodes)
{
    static const char *const names[] = {"Start", "Build", "Remove", "Done", "End"};
    if (!in_own_process())
        return;
    double ns[PHASES] = {0};
    long faults = list_rounds(kind, way, source, nodes, ROUNDS, ns);
    for (int phase = 0; phase < PHASES; phase++)
        print_line(comparison, variant, names[phase], nodes * ROUNDS, ns[phase]);
    print_line(comparison, variant, "faults", ROUNDS, (double)faults);
    finish();
}

/* Processor time of the processes that have ended. */
static double children_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_utime.tv_sec * 1e9 + (double)usage.ru_utime.tv_usec * 1e3;
}

/* Does a call of malloc look at every block? */
static bool is_slow(void)
{
    double start = children_ns();
    if (in_own_process()) {
        double ns[PHASES] = {0};
        list_rounds(MALLOC, NICE, (struct chunk_source){heap.malloc, heap.free}, PROBE_NODES, 1, ns);
        finish();
    }
    return (children_ns() - start) / PROBE_NODES > SLOW_NS;
}

static void lists(void)
{
    struct chunk_source source = {heap.malloc, heap.free};
    print_list("lists", "malloc nice", MALLOC, NICE, source, is_slow() ? FEWER_NODES : NODES);
    print_list("lists", "pool nice", POOL, NICE, source, NODES);
    print_list("lists", "pool brute", POOL, BRUTE, source, NODES);
    print_list("lists", "item pool nice", ITEM_POOL, NICE, source, NODES);
    print_list("lists", "item pool brute", ITEM_POOL, BRUTE, source, NODES);
}

/* ---- Chunks: what becomes of the memory that a destroyed pool gives back ---- */

/* Each chunk is a mapping of its own: always fresh pages. Its size is kept before it. */
static void *pages_take(size_t bytes)
{
    size_t mapped = bytes + MM_ALIGNMENT;
    size_t *start = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    *start = mapped;
    return (char *)start + MM_ALIGNMENT;
}

static void pages_give_back(void *memory)
{
    size_t *start = (size_t *)((char *)memory - MM_ALIGNMENT);
    munmap(start, *start);
}

/* Chunks that were given back wait here for the next pool. All are large enough for any. */
static struct kept {
    struct kept *next;
} * kept_chunks;

static void *kept_take(size_t bytes)
{
    struct kept *chunk = kept_chunks;
    if (chunk == NULL)
        return heap.malloc(bytes < CHUNK_BYTES ? CHUNK_BYTES : bytes);
    kept_chunks = chunk->next;
    return chunk;
}

static void kept_give_back(void *memory)
{
    struct kept *chunk = memory;
    chunk->next = kept_chunks;
    kept_chunks = chunk;
}

static void chunks(void)
{
    static const char *const ways[] = {"nice", "new pool", "brute"};
    const struct {
        const char *name;
        struct chunk_source source;
    } sources[] = {
        {"malloc/free", {heap.malloc, heap.free}},
        {"mmap/munmap", {pages_take, pages_give_back}},
        {"kept", {kept_take, kept_give_back}},
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        for (int way = NICE; way <= BRUTE; way++) {
            char variant[64];
            snprintf(variant, sizeof variant, "%s %s", sources[i].name, ways[way]);
            print_list("chunks", variant, ITEM_POOL, (enum way)way, sources[i].source, NODES);
        }
}

/* ---- Small objects ---- */

enum { OBJECTS = 1000000 };

struct object {
    int x, y;
};

static inline void object_use(struct object *object, int i)
{
    *object = (struct object){i, i};
    keep(object);
}

static void small_array(void)
{
    struct object *objects = must(heap.malloc(OBJECTS * sizeof *objects));
    for (int i = 0; i < OBJECTS; i++)
        object_use(&objects[i], i);
    heap.free(objects);
}

static void small_malloc(void)
{
    for (int i = 0; i < OBJECTS; i++) {
        struct object *object = must(heap.malloc(sizeof *object));
        object_use(object, i);
        heap.free(object);
    }
}

static void small_pool(void)
{
    struct pool *pool = must(pool_create((struct chunk_source){heap.malloc, heap.free}));
    for (int i = 0; i < OBJECTS; i++) {
        struct object *object = must(pool_alloc(pool, sizeof *object));
        object_use(object, i);
        pool_free(pool, object);
    }
    pool_destroy(pool);
}

static void small_item_pool(void)
{
    struct chunk_source source = {heap.malloc, heap.free};
    struct item_pool *pool = must(item_pool_create(source, sizeof(struct object)));
    for (int i = 0; i < OBJECTS; i++) {
        struct object *object = must(item_pool_alloc(pool));
        object_use(object, i);
        item_pool_free(pool, object);
    }
    item_pool_destroy(pool);
}

static void small_item_pool_brute(void)
{
    struct chunk_source source = {heap.malloc, heap.free};
    struct item_pool *pool = must(item_pool_create(source, sizeof(struct object)));
    for (int i = 0; i < OBJECTS; i++)
        object_use(must(item_pool_alloc(pool)), i);
    item_pool_destroy(pool);
}

static void small(void)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } variants[] = {
        {"malloc of an array once", small_array},
        {"malloc/free", small_malloc},
        {"general pool", small_pool},
        {"item pool", small_item_pool},
        {"item pool destroyed as a whole", small_item_pool_brute},
    };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (in_own_process()) {
            double start = now();
            variants[i].run();
            print_line("small", variants[i].name, "kept", OBJECTS, now() - start);
            finish();
        }
}

/* ---- Zeroed memory ---- */

enum zeroing {
    MALLOC_MEMSET,
    CALLOC,
    CALLOC_TOUCHED, /* a byte of each page is written: what calloc left to the system is paid for here */
};

static const size_t PAGE = 4096;

static inline char *zeroed(enum zeroing how, size_t bytes)
{
    char *memory = must(how == MALLOC_MEMSET ? heap.malloc(bytes) : heap.calloc(1, bytes));
    if (how == MALLOC_MEMSET)
        memset(memory, 0, bytes);
    keep(memory);
    for (size_t at = 0; how == CALLOC_TOUCHED && at < bytes; at += PAGE)
        memory[at] = 1;
    keep(memory);
    return memory;
}

/* Reused: each block is freed before the next. Fresh: none is freed, so that each needs memory never used. */
static void print_zeroed(const char *variant, bool fresh, enum zeroing how, size_t bytes)
{
    if (!in_own_process())
        return;
    size_t count = fresh ? 4096 : 100000; /* fresh: stages 1 and 2 look at every block */
    size_t most = (size_t)(fresh ? 32 : 200) * 1000 * 1000 / bytes;
    count = count < most ? count : most;

    double start = now();
    for (size_t i = 0; i < count; i++) {
        char *memory = zeroed(how, bytes);
        if (!fresh)
            heap.free(memory);
    }
    double ns = now() - start;
    char part[32];
    snprintf(part, sizeof part, "%zu", bytes);
    print_line("zeroed", variant, part, count, ns);
    finish();
}

static void zeroed_memory(void)
{
    for (size_t bytes = 100; bytes <= 1000000; bytes *= 10) {
        print_zeroed("reused malloc+memset", false, MALLOC_MEMSET, bytes);
        print_zeroed("reused calloc", false, CALLOC, bytes);
        print_zeroed("reused calloc touched", false, CALLOC_TOUCHED, bytes);
        print_zeroed("fresh malloc+memset", true, MALLOC_MEMSET, bytes);
        print_zeroed("fresh calloc", true, CALLOC, bytes);
        print_zeroed("fresh calloc touched", true, CALLOC_TOUCHED, bytes);
    }
}

/* ---- The program ---- */

/* Pointers to functions are fetched as POSIX shows it for dlsym(). */
static void find_heap(const char *library)
{
    void *handle = library == NULL ? RTLD_DEFAULT : dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL && handle == NULL)
        fail(dlerror());
    *(void **)&heap.malloc = dlsym(handle, "malloc");
    *(void **)&heap.calloc = dlsym(handle, "calloc");
    *(void **)&heap.free = dlsym(handle, "free");
    if (heap.malloc == NULL || heap.calloc == NULL || heap.free == NULL)
        fail("the library has no malloc, calloc and free");
}

int main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        void (*run)(void);
    } comparisons[] = {{"lists", lists}, {"chunks", chunks}, {"small", small}, {"zeroed", zeroed_memory}};

    if (argc < 3) {
        fprintf(stderr, "usage: classics lists|chunks|small|zeroed NAME [LIBRARY]\n");
        return 2;
    }
    heap.name = argv[2];
    find_heap(argv[3]); /* NULL if there is none */
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (strcmp(argv[1], comparisons[i].name) == 0) {
            comparisons[i].run();
            return 0;
        }
    fail("the comparisons are: lists, chunks, small, zeroed");
}
