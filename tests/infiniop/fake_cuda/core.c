/* SPDX-License-Identifier: Apache-2.0 */
/* core.c - the fake driver: what is alive, how a call begins, and the devices. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum {
    MAX_DEVICES = 8
};

static const size_t TOTAL_SIZE = (size_t)1 << 30;

struct CUctx_st {
    int retained;
    size_t used;
};

/* One lock for all of it; a thread's current context is its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *alive;
static struct CUctx_st contexts[MAX_DEVICES];
static _Thread_local cuda_context current;

struct object *fake_add(enum kind kind, char *memory, size_t size)
{
    struct object *made = calloc(1, sizeof(*made));
    if (!made)
        abort();
    made->kind = kind;
    made->context = current;
    made->memory = memory;
    made->size = size;
    pthread_mutex_lock(&lock);
    if (kind == DEVICE_MEMORY)
        current->used += size;
    made->next = alive;
    alive = made;
    pthread_mutex_unlock(&lock);
    return made;
}

struct object *fake_find(enum kind kind, const void *handle)
{
    pthread_mutex_lock(&lock);
    struct object *at = alive;
    while (at && (at != handle || at->kind != kind || at->context != current))
        at = at->next;
    pthread_mutex_unlock(&lock);
    return at;
}

struct object *fake_find_memory(enum kind kind, const char *first, size_t size)
{
    pthread_mutex_lock(&lock);
    struct object *at = alive;
    while (at && (at->kind != kind || first < at->memory || first + size > at->memory + at->size))
        at = at->next;
    pthread_mutex_unlock(&lock);
    return at;
}

cuda_result fake_drop(struct object *object, cuda_result otherwise)
{
    if (!object)
        return otherwise;
    pthread_mutex_lock(&lock);
    struct object **at = &alive;
    while (*at != object)
        at = &(*at)->next;
    *at = object->next;
    if (object->kind == DEVICE_MEMORY)
        object->context->used -= object->size;
    pthread_mutex_unlock(&lock);
    for (struct step *step = object->steps, *next; step; step = next) {
        next = step->next;
        free(step);
    }
    free(object->memory);
    free(object);
    return CUDA_OK;
}

int fake_cuda_alive(void)
{
    int count = 0;
    pthread_mutex_lock(&lock);
    for (const struct object *at = alive; at; at = at->next)
        count++;
    pthread_mutex_unlock(&lock);
    return count;
}

static int count_retained(int ordinal, int change)
{
    pthread_mutex_lock(&lock);
    int retained = contexts[ordinal].retained += change;
    pthread_mutex_unlock(&lock);
    return retained;
}

int fake_cuda_retained(int ordinal)
{
    return count_retained(ordinal, 0);
}

/* ---- the beginning of a call --------------------------------------------------------------- */

cuda_result fake_begin(const char *function)
{
    const char *fail = getenv("FAKE_CUDA_FAIL");
    size_t length = strlen(function);
    return fail && !strncmp(fail, function, length) && fail[length] == ':'
               ? (cuda_result)strtoul(fail + length + 1, NULL, 10)
               : CUDA_OK;
}

cuda_result fake_begin_in_context(const char *function)
{
    cuda_result result = fake_begin(function);
    return result == CUDA_OK && !current ? (cuda_result)FAKE_INVALID_CONTEXT : result;
}

cuda_result fake_begin_on_stream(const char *function, cuda_stream stream)
{
    cuda_result result = fake_begin_in_context(function);
    return result == CUDA_OK && stream && !fake_find(STREAM, stream)
               ? (cuda_result)CUDA_INVALID_HANDLE
               : result;
}

/* ---- the driver and its devices ------------------------------------------------------------ */

static int device_count(void)
{
    const char *count = getenv("FAKE_CUDA_DEVICES");
    return count ? atoi(count) : 3;
}

cuda_result cuInit(unsigned flags)
{
    (void)flags;
    return fake_begin(__func__);
}

cuda_result cuGetErrorName(cuda_result result, const char **name)
{
    *name = result == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
    return fake_begin(__func__);
}

cuda_result cuDeviceGetCount(int *count)
{
    *count = device_count();
    return fake_begin(__func__);
}

cuda_result cuDeviceGet(cuda_device *device, int ordinal)
{
    *device = ordinal;
    return ordinal < 0 || ordinal >= device_count() ? CUDA_INVALID_DEVICE : fake_begin(__func__);
}

cuda_result cuDeviceGetName(char *name, int size, cuda_device device)
{
    snprintf(name, (size_t)size, "Fake GPU %d", device);
    return fake_begin(__func__);
}

cuda_result cuDeviceGetAttribute(int *value, unsigned attribute, cuda_device device)
{
    (void)attribute, (void)device;
    *value = 1;
    return fake_begin(__func__);
}

cuda_result cuMemGetInfo_v2(size_t *free_size, size_t *total_size)
{
    cuda_result result = fake_begin_in_context(__func__);
    if (result != CUDA_OK)
        return result;
    pthread_mutex_lock(&lock);
    *free_size = TOTAL_SIZE - current->used;
    pthread_mutex_unlock(&lock);
    *total_size = TOTAL_SIZE;
    return CUDA_OK;
}

cuda_result cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device)
{
    cuda_result result = fake_begin(__func__);
    if (result != CUDA_OK)
        return result;
    count_retained(device, 1);
    *context = &contexts[device];
    return CUDA_OK;
}

cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    count_retained(device, -1);
    return fake_begin(__func__);
}

cuda_result cuCtxSetCurrent(cuda_context context)
{
    cuda_result result = fake_begin(__func__);
    if (result == CUDA_OK)
        current = context;
    return result;
}

cuda_result cuCtxGetCurrent(cuda_context *context)
{
    *context = current;
    return fake_begin(__func__);
}

cuda_result cuCtxSynchronize(void)
{
    return fake_begin_in_context(__func__);
}
