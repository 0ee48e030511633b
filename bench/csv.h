/* csv.h - reading what the suites wrote: lines of fields with commas between, the columns' names in the first. */
#ifndef BENCH_CSV_H
#define BENCH_CSV_H

#include <stdbool.h>
#include <stdio.h>

enum { FIELDS_MAX = 24 };

struct csv {
    const char *path;
    FILE *file;
    int number; /* of the line that was read last, from 1 */
    bool damaged; /* a line was cut or has fields too few or too many; it was said which */
    int columns;
    char head[600], line[1000];
    char *names[FIELDS_MAX], *fields[FIELDS_MAX];
};

/* Opens a file and reads the names of its columns; lines that start with # are left out. Says why it cannot. */
bool csv_open(struct csv *csv, const char *path);

/* The next line. False at the end, or if it is damaged. */
bool csv_next(struct csv *csv);

/* Of this line: the text in a column, "" if there is no such column; and its number, NaN if it is none. */
const char *csv_text(const struct csv *csv, const char *column);
double csv_number(const struct csv *csv, const char *column);

/* Is the text a number, all of it? */
bool is_number(const char *text);

#endif
