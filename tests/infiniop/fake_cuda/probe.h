/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - a test's access to the fake driver, which it is linked with: infinirt then finds that
 * one and no other. */
#ifndef TESTS_FAKE_CUDA_PROBE_H
#define TESTS_FAKE_CUDA_PROBE_H

#include <stdio.h>
#include <stdlib.h>

#include "../support.h"
#include "fake.h"

/* This function of the driver answers that number, until driver_works(). */
static inline void driver_fails(const char *symbol, int number)
{
    char text[80];
    snprintf(text, sizeof(text), "%s:%d", symbol, number);
    setenv("FAKE_CUDA_FAIL", text, 1);
}

static inline void driver_works(void)
{
    unsetenv("FAKE_CUDA_FAIL");
}

#endif
