/* cases.c - the traces in tests/cases/, each made to catch one kind of mistake, on the stage under test. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "run.h"
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CASES = 100, PATH_BYTES = 128 };

/* Criterion hands each one to a process of its own: no pointers in it. */
struct case_file {
    char path[PATH_BYTES];
};

static size_t find_cases(struct case_file files[MOST_CASES])
{
    glob_t found;
    size_t count = 0;
    if (glob("tests/cases/*.trace", 0, NULL, &found) == 0) {
        for (; count < found.gl_pathc && count < MOST_CASES; count++)
            snprintf(files[count].path, PATH_BYTES, "%s", found.gl_pathv[count]);
        globfree(&found);
    }
    return count;
}

/* The comment at the top of a case: what it catches. */
static void print_comment(FILE *out, const char *path)
{
    char line[256];
    FILE *in = fopen(path, "r");
    while (in != NULL && fgets(line, sizeof line, in) != NULL && line[0] == '#')
        fprintf(out, "  %s", line + 2);
    if (in != NULL)
        fclose(in);
}

Test(cases, are_there)
{
    static struct case_file files[MOST_CASES];
    cr_assert(
        find_cases(files) > 0, "no tests/cases/*.trace: run the tests from the top folder, with make test");
}

ParameterizedTestParameters(cases, trace)
{
    static struct case_file files[MOST_CASES];
    size_t count = find_cases(files);
    return cr_make_param_array(struct case_file, files, count, NULL);
}

ParameterizedTest(struct case_file *file, cases, trace)
{
    struct trace trace;
    char error[TRACE_ERROR_BYTES];
    cr_assert(trace_read(&trace, file->path, error), "%s", error);
    struct run_result result;
    run_exactly(&trace, &engine_defaults, &result);
    if (result.failure.fault == ENGINE_SOUND)
        return;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(out != NULL);
    run_report(out, file->path, &trace, &engine_defaults, &result);
    print_comment(out, file->path);
    fclose(out);
    cr_assert_fail("%s", text);
}
