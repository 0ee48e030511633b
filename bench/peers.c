/* peers.c - see bench.h. */
#define _GNU_SOURCE
#include "bench.h"
#include <stdlib.h>
#include <string.h>

/*
 * musl's malloc cannot be lent to a process of another C library: it finds its secrets and locks in musl's own
 * start-up data. So its cells are the same program, built with musl-gcc, and its row is all of musl: memset too.
 */
const struct peer peers[] = {
    {"jemalloc", "libjemalloc.so.2", "libjemalloc2"},
    {"mimalloc", "libmimalloc.so.2", "libmimalloc2.0"},
    {"tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
    {"tbbmalloc", "libtbbmalloc_proxy.so.2", "libtbbmalloc2"},
    {"musl", "system", "musl"},
};
const int peer_count = sizeof peers / sizeof *peers;

void package_version(const char *package, char *version, size_t bytes)
{
    char command[200];
    snprintf(command, sizeof command, "dpkg-query -W -f '${Version}' %s 2>/dev/null", package);
    FILE *pipe = popen(command, "r");
    version[0] = '\0';
    if (pipe == NULL)
        return;
    if (fgets(version, (int)bytes, pipe) == NULL)
        version[0] = '\0';
    pclose(pipe);
}
