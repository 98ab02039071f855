/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report.h - lines of JSON, read back, and a page of charts made of them. */
#ifndef VJP_BENCH_REPORT_H
#define VJP_BENCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One line: the library, the problem, the device and the time; or why there is none. */
typedef struct record {
    char who[32], op[48], name[64], dtype[8], shape[96], layout[32], device[16], pages[16];
    char isa[32]; /* of that library; "" in files that do not have it */
    char note[96]; /* "", "differs from vjp" or "refuses: why"; the last has no time */
    int threads, pairs;
    double ns, gbps, ceiling, share;
    double over_vjp; /* of a peer: its time over vjp's */
} record;

typedef struct records {
    record *at;
    int64_t count;
    int64_t bad; /* the number of the first line that is wrong; 0: none */
    bool cut;    /* the last line has no end */
    long end;    /* where the lines that have one end */
} records;

/* records_read - every line of a file that has at least who, op, dtype and shape, and either
 * median_ns and gbps or a note. Of repeated measurements the last one counts. */
records records_read(FILE *lines);

/* records_has - whether there is a line for the same who, case, dtype and so on. */
bool records_has(const records *all, const record *wanted);

/* report_write - a page that needs nothing else: bars for each case, bandwidth over size with the
 * caches marked (bytes, ends with 0), and over threads where there is more than one count. */
void report_write(FILE *page, const records *all, const double *caches);

#endif
