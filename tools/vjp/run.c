/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - vjp run: run an operator on .npy files. */
#include "tool.h"

static int run(const arguments *args)
{
    return complain(args->command, FAILED, "not written yet");
}

const command command_run = { "run", NULL, "run an operator on .npy files", NULL, NULL, run };
