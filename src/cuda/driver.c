/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c - find the CUDA driver, once, and keep what it gives. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver.h"

/* Written by the one thread that opens; read by all, but for contexts[], which fill one by one. */
static struct {
    pthread_once_t once;
    cuda_driver driver;
    char reason[256]; /* why the driver cannot be used; empty if it can */
    int count;
    _Atomic(cuda_context) *contexts;
} opened = { .once = PTHREAD_ONCE_INIT };

static int find_functions(void *library)
{
    static const struct {
        const char *symbol;
        size_t member;
    } functions[] = {
#define CALL(member, symbol, parameters) { #symbol, offsetof(cuda_driver, member) },
#define VALUE(name, cuda_name, number)
#include "cuda/driver.def"
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        void *address = dlsym(library, functions[i].symbol);
        if (!address) {
            snprintf(opened.reason, sizeof(opened.reason),
                     "the NVIDIA driver is too old: it has no %s", functions[i].symbol);
            return 0;
        }
        memcpy((char *)&opened.driver + functions[i].member, &address, sizeof(address));
    }
    return 1;
}

static void find_devices(void)
{
    cuda_result result = opened.driver.Init(0);
    if (result == CUDA_OK)
        result = opened.driver.DeviceGetCount(&opened.count);
    if (result == CUDA_NO_DEVICE || (result == CUDA_OK && opened.count <= 0)) {
        snprintf(opened.reason, sizeof(opened.reason), "there is no NVIDIA GPU");
        return;
    }
    if (result != CUDA_OK) {
        snprintf(opened.reason, sizeof(opened.reason), "the NVIDIA driver does not start: %s",
                 cuda_error_name(result));
        return;
    }
    opened.contexts = calloc((size_t)opened.count, sizeof(*opened.contexts));
    if (!opened.contexts)
        snprintf(opened.reason, sizeof(opened.reason), "no memory for %d devices", opened.count);
}

static void open_once(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(opened.reason, sizeof(opened.reason), "there is no NVIDIA driver: %s", dlerror());
    else if (find_functions(library))
        find_devices();
}

const cuda_driver *cuda_driver_open(const char **reason)
{
    pthread_once(&opened.once, open_once);
    if (reason)
        *reason = opened.reason;
    return opened.reason[0] ? NULL : &opened.driver;
}

/* If two threads come first, both retain the context and one releases it again. */
static cuda_result find_context(int ordinal, cuda_context *context)
{
    cuda_context kept = NULL;
    cuda_device device;
    cuda_result result;
    *context = atomic_load(&opened.contexts[ordinal]);
    if (*context)
        return CUDA_OK;
    result = opened.driver.DeviceGet(&device, ordinal);
    if (result == CUDA_OK)
        result = opened.driver.DevicePrimaryCtxRetain(context, device);
    if (result == CUDA_OK &&
        !atomic_compare_exchange_strong(&opened.contexts[ordinal], &kept, *context)) {
        *context = kept;
        result = opened.driver.DevicePrimaryCtxRelease(device);
    }
    return result;
}

cuda_result cuda_enter(int ordinal)
{
    cuda_context context;
    cuda_result result;
    if (ordinal < 0 || ordinal >= opened.count)
        return CUDA_INVALID_DEVICE;
    result = find_context(ordinal, &context);
    return result == CUDA_OK ? opened.driver.CtxSetCurrent(context) : result;
}

const char *cuda_error_name(cuda_result result)
{
    const char *name = NULL;
    return opened.driver.GetErrorName(result, &name) == CUDA_OK && name ? name : "an unknown error";
}
