/* SPDX-License-Identifier: Apache-2.0 */
/* perfdoc - the tables and charts of docs/performance.md from lines of `vjp bench --json`.
 *
 *     perfdoc FILE DIR    writes DIR/<chart>.svg, and Markdown that shows them on standard output
 *
 * To be run on the machine that measured: its caches are marked in the charts. */
#include <stdio.h>
#include <stdlib.h>

#include "perfdoc.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: perfdoc FILE DIR\n");
        return 2;
    }
    FILE *lines = fopen(argv[1], "r");
    if (!lines) {
        fprintf(stderr, "perfdoc: cannot read %s\n", argv[1]);
        return 1;
    }
    records all = records_read(lines);
    view one = { &all, 1, "huge", "plain" };
    printf("### Beside the peers\n\n");
    draw_ratios(&one, argv[2]);
    put_peers(&all);
    printf("### Over size and threads\n\n");
    draw_sizes(&one, argv[2], true);
    draw_sizes(&one, argv[2], false);
    draw_threads(&one, argv[2]);
    printf("### No cliffs\n\n");
    put_cliffs(&all);
    fclose(lines);
    free(all.at);
    return 0;
}
