/* peers.c - see bench.h. */
#define _GNU_SOURCE
#include "bench.h"
#include "run.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * musl's malloc cannot be lent to a process of another C library: it finds its secrets and locks in musl's own
 * start-up data. So its cells are the same program, built with musl-gcc, and its row is all of musl: memset too.
 */
static const struct peer peers[] = {
    {"jemalloc", "libjemalloc.so.2", "libjemalloc2"},
    {"mimalloc", "libmimalloc.so.2", "libmimalloc2.0"},
    {"tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
    {"tbbmalloc", "libtbbmalloc_proxy.so.2", "libtbbmalloc2"},
    {"musl", "system", "musl"},
};
enum { PEERS = sizeof peers / sizeof *peers };

/* `dl=build/libdl.so`: a library that is none of those above. */
static void take_path(const char *name, void (*take)(const struct peer *peer))
{
    char text[300];
    snprintf(text, sizeof text, "%s", name);
    char *equals = strchr(text, '=');
    *equals = '\0';
    if (access(equals + 1, R_OK) != 0) {
        fprintf(stderr, "peers=%s: there is no file %s; type peers=NAME=PATH.so, with the path of a malloc\n",
            name, equals + 1);
        exit(2);
    }
    take(&(struct peer){text, equals + 1, NULL});
}

static void take_known(const char *name, void (*take)(const struct peer *peer))
{
    bool found = false;
    for (int i = 0; i < PEERS; i++)
        if (strcmp(name, "all") == 0 || strcmp(name, peers[i].name) == 0) {
            take(&peers[i]);
            found = true;
        }
    if (found)
        return;
    fprintf(stderr, "peers=%s does not exist; pick from: all", name);
    for (int i = 0; i < PEERS; i++)
        fprintf(stderr, " %s", peers[i].name);
    fputs(" NAME=PATH.so\n", stderr);
    exit(2);
}

void for_each_peer(const char *names, void (*take)(const struct peer *peer))
{
    char name[300];
    while (*(names += strspn(names, " ,")) != '\0') {
        size_t length = strcspn(names, " ,");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        if (strchr(name, '=') != NULL)
            take_path(name, take);
        else
            take_known(name, take);
        names += length;
    }
}

void left_out(const struct peer *peer, const char *why)
{
    if (peer->package == NULL) {
        /* The cell's own word is the last line; before it may be the loader's. */
        for (const char *line; (line = strchr(why, '\n')) != NULL && line[1] != '\0';)
            why = line + 1;
        fprintf(stderr, "peers=%s=%s: %.*s\n", peer->name, peer->library, (int)strcspn(why, "\n"), why);
        exit(2);
    }
    fprintf(stderr, "%s is left out, since it is not installed (%s); make setup-peers installs it\n",
        peer->name, strcmp(peer->name, "musl") == 0 ? "musl-gcc" : peer->library);
}

struct preload next_preload(size_t count, const char *name, const char *library)
{
    struct preload p;
    if (count == ALLOCATORS_MAX) {
        fprintf(stderr, "more than %d allocators; name fewer with stages=\n", ALLOCATORS_MAX);
        exit(2);
    }
    snprintf(p.name, sizeof p.name, "%s", name);
    snprintf(p.library, sizeof p.library, "%s", library);
    return p;
}

bool can_preload(const struct peer *peer)
{
    char output[4096];
    char *argv[] = {(char *)"/bin/true", NULL};
    if (strcmp(peer->library, "system") == 0) {
        fprintf(stderr, "%s is left out, since its malloc cannot be preloaded\n", peer->name);
        return false;
    }
    run_program(argv, peer->library, 10, output, sizeof output); /* the loader writes why not */
    if (output[0] != '\0')
        left_out(peer, output);
    return output[0] == '\0';
}

void package_version(const char *package, char *version, size_t bytes)
{
    char command[200];
    version[0] = '\0';
    if (package == NULL)
        return;
    snprintf(command, sizeof command, "dpkg-query -W -f '${Version}' %s 2>/dev/null", package);
    FILE *pipe = popen(command, "r");
    if (pipe == NULL)
        return;
    if (fgets(version, (int)bytes, pipe) == NULL)
        version[0] = '\0';
    pclose(pipe);
}
