/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report.h - lines of JSON, read back, and a page of charts made of them. */
#ifndef VJP_BENCH_REPORT_H
#define VJP_BENCH_REPORT_H

#include <stdint.h>
#include <stdio.h>

/* One line: who computed what, where, and how fast. */
typedef struct record {
    char who[32], op[48], name[64], dtype[8], shape[48], layout[32], device[16];
    int threads;
    double ns, gbps, ceiling;
} record;

typedef struct records {
    record *at;
    int64_t count;
} records;

/* records_read - every line of a file that has at least who, op, dtype, shape, median_ns and gbps.
 * What was measured more than once counts as it was last. */
records records_read(FILE *lines);

/* report_write - a page that needs nothing else: bars for each case, bandwidth over size with the
 * caches marked (bytes, ends with 0), and over threads where there is more than one count. */
void report_write(FILE *page, const records *all, const double *caches);

#endif
