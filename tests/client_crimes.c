/*
 * client_crimes.c - a program that misuses its heap, to see that AddressSanitizer and Valgrind tell. Its argument
 * names the crime; "none" touches every byte of blocks of many sizes, and commits none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile char sink;

/* Calls that the compiler can neither remove nor warn of. */
static void *(*volatile get)(size_t) = malloc;
static void (*volatile give)(void *) = free;
static void *(*volatile resize)(void *, size_t) = realloc;

static void none(void)
{
    for (size_t bytes = 1; bytes < 5000; bytes += 37) {
        char *p = get(bytes);
        char *q = calloc(bytes, 2);
        memset(p, 1, bytes);
        memset(q, 2, 2 * bytes);
        p = resize(p, 3 * bytes);
        if (p == NULL || p[bytes - 1] != 1)
            exit(1);
        memset(p, 3, 3 * bytes);
        p = resize(p, bytes / 2 + 1);
        memset(p, 4, bytes / 2 + 1);
        void *aligned = aligned_alloc(256, 256);
        memset(aligned, 5, 256);
        give(q);
        give(p);
        give(aligned);
    }
}

static void use_after_free(void)
{
    char *p = get(100);
    p[50] = 1;
    give(p);
    sink = p[50];
}

static void write_after_free(void)
{
    char *p = get(100);
    give(p);
    p[50] = 1;
}

static void overrun(void)
{
    char *p = get(100);
    p[100] = 1;
    give(p);
}

static void underrun(void)
{
    char *wall = get(100); /* else p could be the heap's first byte */
    char *p = get(100);
    sink = p[-1];
    give(p);
    give(wall);
}

static void overrun_after_realloc(void)
{
    char *p = resize(get(1000), 100);
    sink = p[100];
    give(p);
}

static void use_after_realloc(void)
{
    char *p = get(100);
    char *wall = get(100); /* p cannot grow in place */
    char *q = resize(p, 3000);
    sink = p[50];
    give(q);
    give(wall);
}

int main(int count, char **arguments)
{
    static const struct crime {
        const char *name;
        void (*commit)(void);
    } crimes[] = {{"none", none}, {"use_after_free", use_after_free}, {"write_after_free", write_after_free},
        {"overrun", overrun}, {"underrun", underrun}, {"overrun_after_realloc", overrun_after_realloc},
        {"use_after_realloc", use_after_realloc}};
    for (size_t i = 0; count == 2 && i < sizeof crimes / sizeof *crimes; i++) {
        if (strcmp(arguments[1], crimes[i].name) == 0) {
            crimes[i].commit();
            puts("lived");
            return 0;
        }
    }
    fprintf(stderr, "client_crimes: name a crime, such as overrun\n");
    return 2;
}
