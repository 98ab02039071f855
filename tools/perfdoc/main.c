/* SPDX-License-Identifier: Apache-2.0 */
/* perfdoc - the tables of docs/performance.md from lines of `vjp bench --json`.
 *
 *     perfdoc FILE    writes Markdown, which also shows the charts that tools/site/charts.py draws
 */
#include <stdio.h>
#include <stdlib.h>

#include "perfdoc.h"

static void put_chart(const char *title, const char *name)
{
    printf("![%s](performance/%s.svg)\n\n", title, name);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: perfdoc FILE\n");
        return 2;
    }
    FILE *lines = fopen(argv[1], "r");
    if (!lines) {
        fprintf(stderr, "perfdoc: cannot read %s\n", argv[1]);
        return 1;
    }
    records all = records_read(lines);
    printf("### Compared with PyTorch and oneDNN\n\n");
    put_chart("Time of the best peer over vjp's at the largest size; bars end at 4", "ratio");
    put_peers(&all);
    printf("### Over size and threads\n\n");
    put_chart("Bandwidth over size, f32, one thread", "bandwidth");
    put_chart("Time per element over size, f32, one thread", "growth");
    put_chart("Speed over threads, f32, largest size; one thread is 1", "threads");
    printf("### Odd sizes, offsets and subnormal numbers\n\n");
    put_cliffs(&all);
    fclose(lines);
    free(all.at);
    return 0;
}
