/* export.c - see bench.h. The results as CSV, a line for each cell, and as JSON, with every sample. */
#include "bench.h"
#include "csv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *verdict_words(const struct estimate *e)
{
    static const char *const words[] = {"too few rounds", "faster", "slower", "no difference seen"};
    return words[verdict(*e)];
}

void print_csv(const struct bench *b, FILE *out)
{
    fprintf(out,
        "allocator,workload,rounds,calls,ms,ms_low,ms_high,ns_per_call,ratio,ratio_low,ratio_high,verdict\n");
    for (int i = 0; i < b->count; i++)
        for (int w = 0; w < WORKLOADS; w++) {
            const struct cell *cell = &b->allocators[i].cells[w];
            struct estimate ms = milliseconds(b, i, w), r = ratio(b, i, b->system, w);
            if (!b->chosen[w])
                continue;
            fprintf(out, "%s,%s,%zu,%llu,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%s\n", b->allocators[i].name,
                workloads[w].name, ms.samples, cell->calls, ms.median, ms.low, ms.high,
                ms.median * 1e6 / (double)cell->calls, r.median, r.low, r.high,
                cell->failure[0] != '\0' ? cell->mark : verdict_words(&r));
        }
}

void json_string(FILE *out, const char *key, const char *text)
{
    fprintf(out, "\"%s\": \"", key);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : *c < 32 ? "\\u%04x" : "%c", *c);
    fputc('"', out);
}

void json_number(FILE *out, const char *key, double x)
{
    fprintf(out, isfinite(x) ? "\"%s\": %.9g" : "\"%s\": null", key, x);
}

static void json_estimate(FILE *out, const char *key, struct estimate e)
{
    fprintf(out, "\"%s\": {", key);
    json_number(out, "median", e.median);
    fputs(", ", out);
    json_number(out, "low", e.low);
    fputs(", ", out);
    json_number(out, "high", e.high);
    fputs("}", out);
}

static void json_cell(FILE *out, const struct bench *b, int i, int w)
{
    const struct allocator *a = &b->allocators[i];
    struct estimate r = ratio(b, i, b->system, w);
    fputs("    {", out);
    json_string(out, "allocator", a->name);
    fputs(", ", out);
    json_string(out, "workload", workloads[w].name);
    fprintf(out, ", \"calls\": %llu, ", a->cells[w].calls);
    json_estimate(out, "milliseconds", milliseconds(b, i, w));
    fputs(", ", out);
    json_estimate(out, "ratio", r);
    fputs(", ", out);
    json_string(out, "verdict", verdict_words(&r));
    fputs(", ", out);
    json_string(out, "failure", a->cells[w].failure);
    fputs(", \"ns_by_round\": [", out);
    for (size_t round = 0; round < b->rounds; round++) {
        double ns = a->ns[w][round];
        fprintf(out, isnan(ns) ? "%snull" : "%s%.9g", round == 0 ? "" : ", ", ns);
    }
    fputs("]}", out);
}

void json_head(FILE *out, const char *suite, const char *commit, const char *flags)
{
    char machine[500], when[40];
    machine_line(machine, sizeof machine);
    date(when, sizeof when);
    fputs("{\n  ", out);
    json_string(out, "suite", suite);
    fputs(",\n  ", out);
    json_string(out, "date", when);
    fputs(",\n  ", out);
    json_string(out, "machine", machine);
    fputs(",\n  ", out);
    json_string(out, "compiler", compiler());
    fputs(",\n  ", out);
    json_string(out, "flags", or_unknown(flags));
    fputs(",\n  ", out);
    json_string(out, "commit", or_unknown(commit));
}

void print_json(const struct bench *b, FILE *out)
{
    json_head(out, b->title == NULL ? "workloads" : b->title, b->commit, b->flags);
    fprintf(out, ",\n  \"rounds\": %zu,\n  ", b->rounds);
    json_number(out, "seconds", b->seconds);
    fputs(",\n  ", out);
    json_number(out, "processors_busy_elsewhere", b->elsewhere);
    fprintf(out, ",\n  \"dry\": %s,\n  \"interrupted\": %s,\n  \"allocators\": [", b->dry ? "true" : "false",
        b->interrupted ? "true" : "false");
    for (int i = 0; i < b->count; i++) {
        fputs(i == 0 ? "\n    {" : ",\n    {", out);
        json_string(out, "name", b->allocators[i].name);
        fputs(", ", out);
        json_string(out, "version", b->allocators[i].version);
        fprintf(out, ", \"rounds\": %zu, ", b->allocators[i].rounds);
        json_estimate(out, "geometric_mean_of_seven", mean_ratio(b, i, b->system, SEVEN));
        fputs(", ", out);
        json_estimate(out, "geometric_mean_of_ten", mean_ratio(b, i, b->system, WORKLOADS));
        fputs("}", out);
    }
    fputs("\n  ],\n  \"cells\": [", out);
    bool first = true;
    for (int i = 0; i < b->count; i++)
        for (int w = 0; w < WORKLOADS; w++)
            if (b->chosen[w]) {
                fputs(first ? "\n" : ",\n", out);
                first = false;
                json_cell(out, b, i, w);
            }
    fputs("\n  ]\n}\n", out);
}

/* ---- What suites in other languages measured ---- */

int print_rows(const char *path, const struct bench *b, FILE *out)
{
    struct csv csv;
    if (!csv_open(&csv, path))
        return 2;
    json_head(out, b->title, b->commit, b->flags);
    fprintf(out, ",\n  \"interrupted\": %s,\n  \"rows\": [", b->interrupted ? "true" : "false");
    for (const char *separator = "\n"; csv_next(&csv); separator = ",\n") {
        fprintf(out, "%s    {", separator);
        for (int i = 0; i < csv.columns; i++) {
            fputs(i == 0 ? "" : ", ", out);
            if (csv.fields[i][0] == '\0' || is_number(csv.fields[i]))
                json_number(out, csv.names[i], csv_number(&csv, csv.names[i]));
            else
                json_string(out, csv.names[i], csv.fields[i]);
        }
        fputs("}", out);
    }
    fputs("\n  ]\n}\n", out);
    fclose(csv.file);
    return csv.damaged ? 2 : 0;
}
