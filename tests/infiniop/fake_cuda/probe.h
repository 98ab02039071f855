/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - a test's hand on the fake driver that infinirt has loaded. */
#ifndef TESTS_FAKE_CUDA_PROBE_H
#define TESTS_FAKE_CUDA_PROBE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support.h"

static inline void *fake_symbol(const char *symbol)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    void *address = dlsym(library, symbol);
    assert_non_null(address); /* NULL: this is a real driver */
    return address;
}

static inline int fake_alive(void)
{
    int (*alive)(void);
    *(void **)&alive = fake_symbol("fake_cuda_alive");
    return alive();
}

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
