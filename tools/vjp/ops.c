/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - vjp ops: the operators, or one of them in full. */
#include "tool.h"

static int run(const arguments *args)
{
    return complain(args->command, FAILED, "not written yet");
}

const command command_ops = { "ops", NULL, "the operators, or one of them in full", NULL, NULL, run };
