/* machine.c - see bench.h. All that is read from Linux alone stands here; elsewhere it is just not known. */
#define _GNU_SOURCE
#include "bench.h"
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The first line of a file that starts with `key`, from there on what follows ": "; or the whole first line. */
static void read_line(const char *path, const char *key, char *out, size_t bytes)
{
    char line[300];
    FILE *file = fopen(path, "r");
    out[0] = '\0';
    if (file == NULL)
        return;
    while (out[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *value = key[0] == '\0' ? line : strstr(line, ": ");
        if (strncmp(line, key, strlen(key)) == 0 && value != NULL)
            snprintf(out, bytes, "%s", key[0] == '\0' ? value : value + 2);
    }
    fclose(file);
}

void kernel(char *out, size_t bytes)
{
    struct utsname name;
    if (uname(&name) == 0)
        snprintf(out, bytes, "%s %s %s", name.sysname, name.release, name.machine);
    else
        snprintf(out, bytes, "unknown");
}

/* On arm64 Linux names no model: then the machine type must do. */
void cpu_model(char *out, size_t bytes)
{
    struct utsname name;
    read_line("/proc/cpuinfo", "model name", out, bytes);
    if (out[0] == '\0')
        snprintf(out, bytes, "%s", uname(&name) == 0 ? name.machine : "unknown processor");
}

void system_version(char *out, size_t bytes)
{
#if defined(__GLIBC__)
    snprintf(out, bytes, "glibc %s", gnu_get_libc_version());
#else
    snprintf(out, bytes, "this system's C library");
#endif
}

const char *compiler(void)
{
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

long processors(void) { return sysconf(_SC_NPROCESSORS_ONLN); }

void governor(char *out, size_t bytes)
{
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", out, bytes);
}

static double seconds_of(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }

static double own_cpu_seconds(void)
{
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return seconds_of(self.ru_utime) + seconds_of(self.ru_stime) + seconds_of(children.ru_utime) +
           seconds_of(children.ru_stime);
}

/* What all processors together were busy with since the start; NaN where there is no /proc/stat. */
static double all_cpu_seconds(void)
{
    double user, nice, system, idle, wait, irq, soft, steal;
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL)
        return NAN;
    int found = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait, &irq,
        &soft, &steal);
    fclose(file);
    return found == 8 ? (user + nice + system + irq + soft + steal) / (double)sysconf(_SC_CLK_TCK)
                      : (double)NAN;
}

double busy_elsewhere(void)
{
    static double last_time, last_all, last_own;
    double time = seconds_now(), all = all_cpu_seconds(), own = own_cpu_seconds();
    double busy = ((all - last_all) - (own - last_own)) / (time - last_time);
    last_time = time;
    last_all = all;
    last_own = own;
    return busy < 0 ? 0 : busy;
}

void machine_line(char *out, size_t bytes)
{
    char cpu[200], system[200];
    cpu_model(cpu, sizeof cpu);
    kernel(system, sizeof system);
    snprintf(out, bytes, "%s, %ld processors, %s", cpu, processors(), system);
}

void date(char *out, size_t bytes)
{
    time_t now = time(NULL);
    strftime(out, bytes, "%Y-%m-%d %H:%M", localtime(&now));
}
