/* typed.c - see typed.h. */
#include "typed.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned long typed_number(const char *name, const char *text, unsigned long most, unsigned long example)
{
    char *rest;
    unsigned long n = strtoul(text, &rest, 10);
    if (*rest == '\0' && n >= 1 && n <= most)
        return n;
    fprintf(stderr, "%s=%s is not a number from 1 to %lu; type for instance %s=%lu\n", name, text, most, name,
        example);
    exit(2);
}

void check_writable(const char *what, const char *path)
{
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (path == NULL)
        return;
    if (file == NULL) {
        fprintf(stderr, "%s=%s: %s; type %s= with the path of a file that can be written\n", what, path,
            strerror(errno), what);
        exit(2);
    }
    fclose(file);
}
