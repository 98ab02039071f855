/* SPDX-License-Identifier: Apache-2.0 */
/* infinirt_cpu.c - infinirt on the CPU: the C library's memory and clock.
 *
 * Everything is done when a call returns, so that streams have nothing to keep (NULL stands for all
 * of them) and waiting does nothing. Graph capture is left out: there is nothing to capture. */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "infinirt_backend.h"

static infiniStatus_t get_device_count(int *count)
{
    *count = 1;
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t set_device(int device_id)
{
    return device_id == 0 ? INFINI_STATUS_SUCCESS : INFINI_STATUS_DEVICE_NOT_FOUND;
}

/* "MemAvailable:   12345 kB" counts what the page cache would give back; "MemFree" does not. */
static infiniStatus_t get_mem_info(int device_id, size_t *free_bytes, size_t *total_bytes)
{
    unsigned long long available = 0, total = 0;
    char line[128];
    FILE *file;
    if (device_id != 0)
        return INFINI_STATUS_DEVICE_NOT_FOUND;
    file = fopen("/proc/meminfo", "r");
    if (!file)
        return INFINI_STATUS_INTERNAL_ERROR;
    while (fgets(line, sizeof(line), file)) {
        (void)sscanf(line, "MemTotal: %llu kB", &total);
        (void)sscanf(line, "MemAvailable: %llu kB", &available);
    }
    fclose(file);
    if (total == 0 || available > total)
        return INFINI_STATUS_INTERNAL_ERROR;
    *free_bytes = (size_t)available * 1024;
    *total_bytes = (size_t)total * 1024;
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t synchronize(void)
{
    return INFINI_STATUS_SUCCESS;
}

/* ---- streams ------------------------------------------------------------------------------ */

static infiniStatus_t stream_create(infinirtStream_t *stream_ptr)
{
    *stream_ptr = NULL;
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t stream_ignore(infinirtStream_t stream)
{
    (void)stream;
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t stream_wait_event(infinirtStream_t stream, infinirtEvent_t event)
{
    (void)stream;
    (void)event;
    return INFINI_STATUS_NOT_IMPLEMENTED;
}

/* ---- events ------------------------------------------------------------------------------- */

struct event {
    _Atomic int64_t nanoseconds; /* when it was recorded last; 0: never */
};

static infiniStatus_t event_create(infinirtEvent_t *event_ptr, uint32_t flags)
{
    struct event *made = malloc(sizeof(*made));
    (void)flags;
    *event_ptr = made;
    if (!made)
        return INFINI_STATUS_INTERNAL_ERROR;
    atomic_init(&made->nanoseconds, 0);
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t event_record(infinirtEvent_t event, infinirtStream_t stream)
{
    struct timespec now;
    (void)stream;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return INFINI_STATUS_INTERNAL_ERROR;
    atomic_store(&((struct event *)event)->nanoseconds,
                 (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t event_query(infinirtEvent_t event, infinirtEventStatus_t *status_ptr)
{
    (void)event;
    *status_ptr = INFINIRT_EVENT_COMPLETE;
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t event_synchronize(infinirtEvent_t event)
{
    (void)event;
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t event_destroy(infinirtEvent_t event)
{
    free(event);
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t event_elapsed_time(float *ms_ptr, infinirtEvent_t start, infinirtEvent_t end)
{
    int64_t from = atomic_load(&((struct event *)start)->nanoseconds);
    int64_t to = atomic_load(&((struct event *)end)->nanoseconds);
    if (from == 0 || to == 0)
        return INFINI_STATUS_BAD_PARAM;
    *ms_ptr = (float)((double)(to - from) * 1e-6);
    return INFINI_STATUS_SUCCESS;
}

/* ---- memory ------------------------------------------------------------------------------- */

static infiniStatus_t allocate(void **p_ptr, size_t size)
{
    *p_ptr = malloc(size);
    return *p_ptr || size == 0 ? INFINI_STATUS_SUCCESS : INFINI_STATUS_INTERNAL_ERROR;
}

static infiniStatus_t allocate_async(void **p_ptr, size_t size, infinirtStream_t stream)
{
    (void)stream;
    return allocate(p_ptr, size);
}

static infiniStatus_t release(void *ptr)
{
    free(ptr);
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t release_async(void *ptr, infinirtStream_t stream)
{
    (void)stream;
    return release(ptr);
}

static infiniStatus_t copy(void *dst, const void *src, size_t size, infinirtMemcpyKind_t kind)
{
    (void)kind;
    if (size > 0)
        memmove(dst, src, size);
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t copy_async(void *dst, const void *src, size_t size,
                                 infinirtMemcpyKind_t kind, infinirtStream_t stream)
{
    (void)stream;
    return copy(dst, src, size, kind);
}

static infiniStatus_t set(void *ptr, int value, size_t count)
{
    if (count > 0)
        memset(ptr, value, count);
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t set_async(void *ptr, int value, size_t count, infinirtStream_t stream)
{
    (void)stream;
    return set(ptr, value, count);
}

const struct rt_backend rt_cpu = {
    .GetDeviceCount = get_device_count,
    .SetDevice = set_device,
    .GetMemInfo = get_mem_info,
    .DeviceSynchronize = synchronize,
    .StreamCreate = stream_create,
    .StreamDestroy = stream_ignore,
    .StreamSynchronize = stream_ignore,
    .StreamWaitEvent = stream_wait_event,
    .EventCreateWithFlags = event_create,
    .EventRecord = event_record,
    .EventQuery = event_query,
    .EventSynchronize = event_synchronize,
    .EventDestroy = event_destroy,
    .EventElapsedTime = event_elapsed_time,
    .Malloc = allocate,
    .MallocHost = allocate,
    .MallocAsync = allocate_async,
    .Free = release,
    .FreeHost = release,
    .FreeAsync = release_async,
    .Memcpy = copy,
    .MemcpyAsync = copy_async,
    .Memset = set,
    .MemsetAsync = set_async,
};
