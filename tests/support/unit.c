/* SPDX-License-Identifier: Apache-2.0 */
/* unit.c - see unit.h. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"

void unit_assert_status(vjp_status wanted, vjp_status got, const char *reason, const char *file,
                        int line)
{
    if (got == wanted)
        return;
    print_error("expected %s, got %s (reason: %s)\n", vjp_status_string(wanted),
                vjp_status_string(got), reason != NULL ? reason : "none asked");
    _fail(file, line);
}

struct CMUnitTest unit_named(const char *subject, const char *what, CMUnitTestFunction test,
                             const void *state)
{
    size_t size = strlen(subject) + strlen(what) + sizeof ": ";
    char *name = malloc(size);
    if (name == NULL)
        abort(); /* no test runs yet that could fail */
    snprintf(name, size, "%s: %s", subject, what);
    return (struct CMUnitTest){ name, test, NULL, NULL, (void *)(intptr_t)state };
}

int unit_quick(void)
{
    return getenv("VJP_TEST_QUICK") != NULL;
}

int unit_tries(const vjp_op_info *op)
{
    return !unit_quick() || kind_is_first(op);
}
