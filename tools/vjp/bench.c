/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - vjp bench: measure time and bandwidth. */
#include "tool.h"

static int run(const arguments *args)
{
    return complain(args->command, FAILED, "not written yet");
}

const command command_bench = { "bench", NULL, "measure time and bandwidth", NULL, NULL, run };
