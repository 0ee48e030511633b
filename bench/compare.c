/*
 * compare.c - see bench.h. What changed between two runs, from the CSV files that both wrote.
 *
 * Two runs share no rounds, and the machine may have changed between them. So what is compared is each
 * allocator's ratio to the system's malloc, which was measured in the same rounds. A change is claimed only where
 * the intervals of both runs do not meet: stricter than a test at 5 % (N. Schenker and J. F. Gentleman, "On Judging
 * the Significance of Differences by Examining the Overlap Between Confidence Intervals", The American
 * Statistician 55(3), 2001).
 */
#include "bench.h"
#include <errno.h>
#include <math.h>
#include <string.h>

struct results {
    int count;
    char names[ALLOCATORS_MAX][40];
    struct estimate ratios[ALLOCATORS_MAX]
                          [WORKLOADS]; /* to the system's time; the system's own row: milliseconds */
};

static int row(struct results *r, const char *name, bool add)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->names[i], name) == 0)
            return i;
    if (!add || r->count == ALLOCATORS_MAX)
        return -1;
    snprintf(r->names[r->count], sizeof r->names[0], "%s", name);
    for (int w = 0; w < WORKLOADS; w++)
        r->ratios[r->count][w] = (struct estimate){0, NAN, NAN, NAN};
    return r->count++;
}

static bool read_results(const char *path, struct results *r)
{
    char line[400], name[40], workload[16];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        struct estimate ms = {0}, ratio = {0};
        int fields = sscanf(line, "%39[^,],%15[^,],%zu,%*[^,],%lf,%lf,%lf,%*[^,],%lf,%lf,%lf", name, workload,
            &ms.samples, &ms.median, &ms.low, &ms.high, &ratio.median, &ratio.low, &ratio.high);
        int w = workload_by_name(workload), i = number == 1 ? -1 : row(r, name, true);
        if (number == 1 ? strncmp(line, "allocator,workload,", 19) != 0 : fields != 9 || w < 0 || i < 0) {
            fprintf(stderr, "%s:%d: not a result; name a CSV file that make bench wrote\n", path, number);
            fclose(file);
            return false;
        }
        if (number != 1)
            r->ratios[i][w] = strcmp(name, "system") == 0 ? ms : ratio;
    }
    fclose(file);
    return true;
}

/* Of two numbers known by their intervals; its interval excludes 1 exactly if theirs do not meet. */
static struct estimate quotient(struct estimate x, struct estimate y)
{
    return (struct estimate){x.samples, x.median / y.median, x.low / y.high, x.high / y.low};
}

int compare_files(const char *old_path, const char *new_path)
{
    static struct results old, new;
    bool chosen[WORKLOADS] = {false};
    if (!read_results(old_path, &old) || !read_results(new_path, &new))
        return 2;
    for (int i = 0; i < old.count; i++)
        for (int w = 0; w < WORKLOADS; w++)
            chosen[w] = chosen[w] || !isnan(old.ratios[i][w].median);

    printf("old: %s\nnew: %s\n", old_path, new_path);
    print_head(
        chosen, "Time as a multiple of the system's malloc: new / old (below 1: faster now)", NAME_WIDTH, "");
    for (int i = 0; i < old.count; i++) {
        int j = row(&new, old.names[i], false);
        if (j < 0)
            continue;
        printf("%-*s", NAME_WIDTH, old.names[i]);
        for (int w = 0; w < WORKLOADS; w++)
            if (chosen[w])
                print_ratio(quotient(new.ratios[j][w], old.ratios[i][w]), false);
        puts("");
    }
    puts("\nsystem: its milliseconds, new / old; other than 1 means that the machine or its load has "
         "changed, which"
         "\nthe other rows are free of. ~ no change seen: the intervals of old and new meet. ? too few "
         "rounds.");
    return 0;
}
