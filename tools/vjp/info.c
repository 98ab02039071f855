/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - vjp info: this machine, as the library sees it. */
#include "tool.h"

static int run(const arguments *args)
{
    return complain(args->command, FAILED, "not written yet");
}

const command command_info = { "info", NULL, "this machine, as the library sees it", NULL, NULL, run };
