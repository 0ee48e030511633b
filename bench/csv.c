/* csv.c - see csv.h. */
#define _DEFAULT_SOURCE /* strsep */
#include "csv.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The next line that is no comment; false at the end. */
static bool read_line(struct csv *csv, char *line, int bytes)
{
    do {
        if (fgets(line, bytes, csv->file) == NULL)
            return false;
        csv->number++;
    } while (line[0] == '#');
    return true;
}

/* Cuts a line at its commas. Returns how many fields there are, or -1 if the line is cut off or too long. */
static int split(char *line, char *fields[FIELDS_MAX])
{
    int count = 0;
    if (strchr(line, '\n') == NULL)
        return -1;
    line[strcspn(line, "\r\n")] = '\0';
    while (line != NULL && count < FIELDS_MAX)
        fields[count++] = strsep(&line, ",");
    return line == NULL ? count : -1;
}

bool csv_open(struct csv *csv, const char *path)
{
    *csv = (struct csv){.path = path, .file = fopen(path, "r")};
    if (csv->file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    if (read_line(csv, csv->head, sizeof csv->head))
        csv->columns = split(csv->head, csv->names);
    if (csv->columns >= 2)
        return true;
    fprintf(stderr, "%s:%d: not a result; name a CSV file that make bench wrote\n", path, csv->number);
    fclose(csv->file);
    return false;
}

bool csv_next(struct csv *csv)
{
    if (csv->damaged || !read_line(csv, csv->line, sizeof csv->line))
        return false;
    csv->damaged = split(csv->line, csv->fields) != csv->columns;
    if (csv->damaged)
        fprintf(stderr, "%s:%d: damaged: there should be %d fields; measure again\n", csv->path, csv->number,
            csv->columns);
    return !csv->damaged;
}

const char *csv_text(const struct csv *csv, const char *column)
{
    for (int i = 0; i < csv->columns; i++)
        if (strcmp(csv->names[i], column) == 0)
            return csv->fields[i];
    return "";
}

bool is_number(const char *text)
{
    char *rest;
    return strtod(text, &rest), rest != text && *rest == '\0';
}

double csv_number(const struct csv *csv, const char *column)
{
    const char *text = csv_text(csv, column);
    return is_number(text) ? strtod(text, NULL) : (double)NAN;
}
