/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - vjp check: test the library on this machine. */
#include "tool.h"

static int run(const arguments *args)
{
    return complain(args->command, FAILED, "not written yet");
}

const command command_check = { "check", NULL, "test the library on this machine", NULL, NULL, run };
