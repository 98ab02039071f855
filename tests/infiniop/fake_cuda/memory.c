/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the fake driver: memory, copies and memsets. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static const cuda_pointer DEVICE_BIT = 1ull << 62;
static const size_t MAX_SIZE = (size_t)1 << 20;

static cuda_result allocate(enum kind kind, size_t size, char **memory)
{
    if (size == 0 || size > MAX_SIZE)
        return size == 0 ? CUDA_INVALID_VALUE : CUDA_OUT_OF_MEMORY;
    *memory = malloc(size);
    if (!*memory)
        abort();
    fake_add(kind, *memory, size);
    return CUDA_OK;
}

static cuda_result allocate_device(cuda_pointer *memory, size_t size)
{
    char *made;
    cuda_result result = allocate(DEVICE_MEMORY, size, &made);
    if (result == CUDA_OK)
        *memory = (cuda_pointer)(uintptr_t)made | DEVICE_BIT;
    return result;
}

static char *host_address(cuda_pointer memory)
{
    return (char *)(uintptr_t)(memory & ~DEVICE_BIT);
}

static cuda_result release(enum kind kind, char *memory)
{
    struct object *found = fake_find_memory(kind, memory, 1);
    return fake_drop(found && found->memory == memory ? found : NULL, CUDA_INVALID_VALUE);
}

cuda_result cuMemAlloc_v2(cuda_pointer *memory, size_t size)
{
    cuda_result result = fake_begin_in_context(__func__);
    return result == CUDA_OK ? allocate_device(memory, size) : result;
}

cuda_result cuMemAllocAsync(cuda_pointer *memory, size_t size, cuda_stream stream)
{
    cuda_result result = fake_begin_on_stream(__func__, stream);
    if (result == CUDA_OK && fake_capture(stream))
        result = FAKE_CAPTURE_UNSUPPORTED;
    return result == CUDA_OK ? allocate_device(memory, size) : result;
}

cuda_result cuMemAllocHost_v2(void **memory, size_t size)
{
    char *made = NULL;
    cuda_result result = fake_begin_in_context(__func__);
    if (result == CUDA_OK)
        result = allocate(HOST_MEMORY, size, &made);
    if (result == CUDA_OK)
        *memory = made;
    return result;
}

cuda_result cuMemFree_v2(cuda_pointer memory)
{
    cuda_result result = fake_begin_in_context(__func__);
    return result == CUDA_OK ? release(DEVICE_MEMORY, host_address(memory)) : result;
}

cuda_result cuMemFreeAsync(cuda_pointer memory, cuda_stream stream)
{
    cuda_result result = fake_begin_on_stream(__func__, stream);
    return result == CUDA_OK ? release(DEVICE_MEMORY, host_address(memory)) : result;
}

cuda_result cuMemFreeHost(void *memory)
{
    cuda_result result = fake_begin_in_context(__func__);
    return result == CUDA_OK ? release(HOST_MEMORY, memory) : result;
}

/* Where the host has these bytes; NULL if they are the device's and not all allocated. */
static char *bytes_at(cuda_pointer address, size_t size)
{
    char *at = host_address(address);
    return !(address & DEVICE_BIT) || fake_find_memory(DEVICE_MEMORY, at, size) ? at : NULL;
}

cuda_result fake_perform(const struct step *step)
{
    char *dst = bytes_at(step->dst, step->size);
    const char *src = step->src ? bytes_at(step->src, step->size) : dst;
    if (!dst || !src || step->size == 0)
        return CUDA_INVALID_VALUE;
    if (step->src)
        memmove(dst, src, step->size);
    else
        memset(dst, step->value, step->size);
    return CUDA_OK;
}

void fake_keep(struct object *graph, const struct step *step)
{
    struct step *kept = malloc(sizeof(*kept));
    if (!kept)
        abort();
    *kept = *step;
    kept->next = graph->steps;
    graph->steps = kept;
}

/* `result` is how the call began. */
static cuda_result perform_on(cuda_stream stream, cuda_result result, const struct step *step)
{
    if (result != CUDA_OK)
        return result;
    if (!fake_capture(stream))
        return fake_perform(step);
    fake_keep(fake_capture(stream), step);
    return CUDA_OK;
}

cuda_result cuMemcpy(cuda_pointer dst, cuda_pointer src, size_t size)
{
    return perform_on(NULL, fake_begin_in_context(__func__),
                      &(struct step){ .dst = dst, .src = src, .size = size });
}

cuda_result cuMemcpyAsync(cuda_pointer dst, cuda_pointer src, size_t size, cuda_stream stream)
{
    return perform_on(stream, fake_begin_on_stream(__func__, stream),
                      &(struct step){ .dst = dst, .src = src, .size = size });
}

cuda_result cuMemsetD8_v2(cuda_pointer memory, unsigned char value, size_t count)
{
    return perform_on(NULL, fake_begin_in_context(__func__),
                      &(struct step){ .dst = memory, .value = value, .size = count });
}

cuda_result cuMemsetD8Async(cuda_pointer memory, unsigned char value, size_t count,
                            cuda_stream stream)
{
    return perform_on(stream, fake_begin_on_stream(__func__, stream),
                      &(struct step){ .dst = memory, .value = value, .size = count });
}
