/*
 * foreign.c - a block of one stage's heap is given to another stage's free: make check-foreign.
 *
 *     foreign LIBRARY OTHER BYTES
 *
 * The block is of OTHER, LIBRARY frees it: that must say E03 and abort. Lives to tell if nobody notices.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *must_find(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL),
         *found = handle == NULL ? NULL : dlsym(handle, name);
    if (found == NULL) {
        fprintf(stderr, "foreign: %s\n", dlerror());
        exit(2);
    }
    return found;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: foreign LIBRARY OTHER BYTES\n");
        return 2;
    }
    void *(*own_malloc)(size_t), *(*other_malloc)(size_t);
    void (*own_free)(void *);
    *(void **)&own_malloc = must_find(argv[1], "malloc");
    *(void **)&own_free = must_find(argv[1], "free");
    *(void **)&other_malloc = must_find(argv[2], "malloc");
    size_t bytes = strtoul(argv[3], NULL, 10);
    own_free(own_malloc(bytes)); /* its heap is not empty */
    own_malloc(bytes);
    own_free(other_malloc(bytes));
    return 0;
}
