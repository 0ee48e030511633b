/* trace_reader.c - the reader of operation files: every format, what real files do, and damage. */
#define _POSIX_C_SOURCE 200809L /* mkstemp, open_memstream */
#include "trace.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct trace trace;
static char error[TRACE_ERROR_BYTES];

static bool parse(const char *name, const char *text)
{
    error[0] = '\0';
    return trace_parse(&trace, name, text, strlen(text), error);
}

/* The text is a trace that means `expected`, as .trace writes it. */
static void expect(const char *name, const char *text, const char *expected)
{
    cr_assert(parse(name, text), "%s was refused: %s", name, error);
    char *written = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&written, &size);
    cr_assert(out != NULL);
    cr_assert(trace_write(&trace, out), "trace_write failed");
    fclose(out);
    cr_assert_str_eq(written, expected, "%s was read as\n%s", name, written);
    free(written);
}

/* The text is damaged, and the message says so in just these words. */
static void expect_error(const char *name, const char *text, const char *expected)
{
    cr_assert_not(parse(name, text), "%s should have been refused: %s", name, expected);
    cr_assert_str_eq(error, expected);
}

static void release(void) { trace_release(&trace); }

TestSuite(trace_reader, .fini = release, .timeout = 10);

/* ---- Formats ---- */

Test(trace_reader, reads_every_operation_of_its_own_format)
{
    static const char text[] = "a 3 64\nc 4 5 8\nm 9 4096 100\nr 3 640\nw 3 600\nf 4\nf -1\n";
    expect("x.trace", text, text);
}

Test(trace_reader, skips_comments_and_blank_lines_but_counts_them)
{
    expect("x.trace", "# what it is for\n\n  \t\na 1 2 # two bytes\r\n\r\nf 1\r\n", "a 1 2\nf 1\n");
    cr_assert_eq(trace.ops[0].line, 4);
    cr_assert_eq(trace.ops[1].line, 6);
}

Test(trace_reader, a_last_line_needs_no_end) { expect("x.script", "a 0 1\nf 0", "a 0 1\nf 0\n"); }

Test(trace_reader, reads_the_classic_rep_variant)
{
    expect("x.rep", "20000\n2\n4\n2\na 0 512\na 1 128\nr 0 640\nf 1\n", "a 0 512\na 1 128\nr 0 640\nf 1\n");
    cr_assert_eq(trace.weight, 2, "the fourth number is the weight");
}

Test(trace_reader, reads_the_2012_rep_variant)
{
    expect("x.rep", "3 1 2 1\na 0 8\nf 0\n", "a 0 8\nf 0\n");
    cr_assert_eq(trace.weight, 3, "the first number is the weight");
}

Test(trace_reader, reads_the_later_rep_variant)
{
    expect("x.rep", "0 1 2 123456\na 0 8\nf 0\n", "a 0 8\nf 0\n");
    cr_assert_eq(trace.weight, 0, "the first number is the weight");
}

Test(trace_reader, knows_a_rep_file_by_its_header_too)
{
    expect("x.txt", "1 1 2 8\na 0 8\nf 0\n", "a 0 8\nf 0\n");
}

Test(trace_reader, what_is_not_a_rep_file_counts_for_speed_and_space)
{
    expect("x.trace", "a 0 8\n", "a 0 8\n");
    cr_assert_eq(trace.weight, 1);
}

/* ---- What real files do ---- */

Test(trace_reader, white_space_of_any_kind_separates_in_rep_files)
{
    expect("x.rep", "1 1 2 8 a 0\n8 f\n0", "a 0 8\nf 0\n");
}

Test(trace_reader, a_size_left_out_is_the_one_before_it)
{
    expect("x.rep", "1 3 4 8\na 0 72\na 1\nr 0 90\na 2\n", "a 0 72\na 1 72\nr 0 90\na 2 90\n");
}

Test(trace_reader, minus_one_is_null_in_both_spellings)
{
    expect("x.rep", "1 0 2 0\nf -1\nf 4294967295\n", "f -1\nf -1\n");
    cr_assert_eq(trace.slots, 0);
}

Test(trace_reader, an_id_is_used_again_after_its_free)
{
    expect("x.rep", "1 1 6 0\na 7 1\nf 7\na 7 2\nr 7 0\na 7 3\n", "a 7 1\nf 7\na 7 2\nr 7 0\na 7 3\n");
    cr_assert_eq(trace.slots, 1, "one id is one slot");
}

Test(trace_reader, header_counts_may_lie)
{
    expect("x.rep", "1 1 1 0\na 5 1\na 6 1\nf 5\n", "a 5 1\na 6 1\nf 5\n");
    expect("x.rep", "1 1000000000000 99 0\na 5 1\n", "a 5 1\n");
}

Test(trace_reader, unknown_ids_are_null)
{
    expect("x.script", "f 9\nr 8 100\nr 7 0\na 7 1\nf 8\n", "f 9\nr 8 100\nr 7 0\na 7 1\nf 8\n");
}

Test(trace_reader, sizes_have_64_bits)
{
    expect("x.rep", "1 1 1 0\na 0 18446744073709551615\n", "a 0 18446744073709551615\n");
}

Test(trace_reader, ids_may_be_anywhere_and_get_dense_slots)
{
    expect("x.trace", "a 140737488355328 1\na 3 1\nf 140737488355328\n",
        "a 140737488355328 1\na 3 1\nf 140737488355328\n");
    cr_assert_eq(trace.slots, 2);
    cr_assert_eq(trace.ops[2].slot, trace.ops[0].slot);
    cr_assert_neq(trace.ops[1].slot, trace.ops[0].slot);
}

Test(trace_reader, many_ids_keep_apart)
{
    enum { IDS = 5000 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < IDS; i++)
        fprintf(out, "a %d 1\n", i * 64);
    for (int i = 0; i < IDS; i++)
        fprintf(out, "f %d\n", i * 64);
    fclose(out);
    cr_assert(parse("x.trace", text), "%s", error);
    free(text);
    cr_assert_eq(trace.slots, IDS);
    for (size_t i = 0; i < IDS; i++)
        cr_assert_eq(trace.ops[i].slot, trace.ops[IDS + i].slot, "id %zu has two slots", i * 64);
}

/* ---- Damage ---- */

Test(trace_reader, names_file_line_and_reason)
{
    expect_error("x.trace", "a 1 2\n\nq 1\n", "x.trace:3: q is not an operation: a, c, m, r, f or w");
    expect_error("x.trace", "ab 1 2\n", "x.trace:1: ab is not an operation: a, c, m, r, f or w");
    expect_error("x.trace", "a 1\n", "x.trace:1: expected a size in bytes, found the end of the line");
    expect_error("x.trace", "a 1\n2\n", "x.trace:1: expected a size in bytes, found the end of the line");
    expect_error("x.trace", "a\n", "x.trace:1: expected an id, found the end of the line");
    expect_error("x.trace", "a one 2\n", "x.trace:1: expected an id, found one");
    expect_error("x.trace", "a 1 2x\n", "x.trace:1: expected a size in bytes, found 2x");
    expect_error("x.trace", "a 1 -2\n", "x.trace:1: expected a size in bytes, found -2");
    expect_error("x.trace", "c 1 2\n", "x.trace:1: expected a size in bytes, found the end of the line");
    expect_error("x.trace", "c 1\n", "x.trace:1: expected a count, found the end of the line");
    expect_error("x.trace", "m 1\n", "x.trace:1: expected an alignment, found the end of the line");
    expect_error("x.trace", "a 1 2 3\n", "x.trace:1: expected the end of the line, found 3");
    expect_error("x.trace", "a 1 18446744073709551616\n", "x.trace:1: a size in bytes does not fit 64 bits");
    expect_error(
        "x.trace", "a -1 8\n", "x.trace:1: id -1 is NULL: it can be freed, but not be given a block");
    expect_error("x.trace", "a 1 8\nf 2\na 1 9\n",
        "x.trace:3: id 1 has a block already, allocated on line 1 and not freed since");
}

Test(trace_reader, a_rep_file_needs_its_header)
{
    expect_error(
        "x.rep", "a 0 1\n", "x.rep:1: expected the four numbers that a .rep file starts with, found a");
    expect_error("x.rep", "1 2 3\na 0 1\n",
        "x.rep:1: expected the four numbers that a .rep file starts with, found a");
    expect_error("x.rep", "1 2 3 4\na 0\n", "x.rep:2: expected a size in bytes, found the end of the line");
}

Test(trace_reader, a_file_without_operations_is_damaged)
{
    expect_error("x.trace", "", "x.trace:1: the file ends without an operation");
    expect_error("x.trace", "# nothing\n\n", "x.trace:3: the file ends without an operation");
    expect_error("x.rep", "1 0 0 0\n", "x.rep:2: the file ends without an operation");
}

Test(trace_reader, bytes_that_are_no_text_are_shown_as_such)
{
    expect_error("x.trace", "\x7f\x01\x02", "x.trace:1: ??? is not an operation: a, c, m, r, f or w");
    cr_assert_not(trace_parse(&trace, "x.trace", "\0", 1, error));
}

/* ---- Files ---- */

/* A temporary file of this text, packed with gzip if so asked; its bytes after `keep` are cut off. */
static const char *file_of(const char *text, bool packed, long keep)
{
    static char path[] = "/tmp/alloclab-XXXXXX";
    strcpy(path + sizeof path - sizeof "XXXXXX", "XXXXXX");
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    char command[128];
    snprintf(command, sizeof command, packed ? "gzip -c > %s" : "cat > %s", path);
    FILE *out = popen(command, "w");
    cr_assert(out != NULL);
    fputs(text, out);
    cr_assert_eq(pclose(out), 0, "%s failed", command);
    if (keep >= 0)
        cr_assert_eq(ftruncate(fd, keep), 0);
    close(fd);
    return path;
}

Test(trace_reader, reads_files_plain_and_packed)
{
    for (int packed = 0; packed <= 1; packed++) {
        const char *path = file_of("a 1 2\nf 1\n", packed, -1);
        bool good = trace_read(&trace, path, error);
        unlink(path);
        cr_assert(good, "%s", error);
        cr_assert_eq(trace.count, 2);
        trace_release(&trace);
    }
}

Test(trace_reader, a_packed_file_that_is_cut_off_is_an_error)
{
    const char *path = file_of("a 1 2\nf 1\n", true, 20);
    char expected[TRACE_ERROR_BYTES];
    snprintf(expected, sizeof expected, "%s: gzip cannot unpack it; try: gzip -t '%s'", path, path);
    bool good = trace_read(&trace, path, error);
    unlink(path);
    cr_assert_not(good);
    cr_assert_str_eq(error, expected);
}

Test(trace_reader, a_file_that_is_not_there_is_an_error)
{
    cr_assert_not(trace_read(&trace, "no/such.trace", error));
    cr_assert_str_eq(error, "no/such.trace: No such file or directory");
    cr_assert_not(trace_read(&trace, "tests", error));
    cr_assert_str_eq(error, "tests: Is a directory");
}
