/* SPDX-License-Identifier: Apache-2.0 */
/* infinirt_nvidia.c - infinirt on NVIDIA GPUs: the CUDA driver's calls, with infinirt's numbers.
 *
 * A stream, event or graph is the driver's own, so that programs may use it with CUDA as well; NULL
 * is CUDA's default stream. Without a driver, or without a GPU, there are 0 devices. */
#include <stdint.h>
#include <stdio.h>

#include "cuda/driver.h"
#include "infinirt_backend.h"

/* The driver, which is open: SetDevice has succeeded before any other call gets here. */
static const cuda_driver *driver(void)
{
    return cuda_driver_open(NULL);
}

static infiniStatus_t translate(cuda_result result)
{
    switch (result) {
    case CUDA_OK:
        return INFINI_STATUS_SUCCESS;
    case CUDA_INVALID_VALUE:
    case CUDA_INVALID_HANDLE:
        return INFINI_STATUS_BAD_PARAM;
    case CUDA_NO_DEVICE:
    case CUDA_INVALID_DEVICE:
        return INFINI_STATUS_DEVICE_NOT_FOUND;
    default:
        return INFINI_STATUS_INTERNAL_ERROR;
    }
}

/* ---- devices ------------------------------------------------------------------------------ */

static infiniStatus_t get_device_count(int *count)
{
    return driver() ? translate(driver()->DeviceGetCount(count)) : INFINI_STATUS_SUCCESS;
}

static infiniStatus_t set_device(int device_id)
{
    return driver() ? translate(cuda_enter(device_id)) : INFINI_STATUS_DEVICE_NOT_FOUND;
}

/* The driver reports on the current device: go there, and come back. */
static infiniStatus_t get_mem_info(int device_id, size_t *free_bytes, size_t *total_bytes)
{
    cuda_context caller;
    cuda_result result, back;
    if (!driver())
        return INFINI_STATUS_DEVICE_NOT_FOUND;
    result = driver()->CtxGetCurrent(&caller);
    if (result != CUDA_OK)
        return translate(result);
    result = cuda_enter(device_id);
    if (result == CUDA_OK)
        result = driver()->MemGetInfo(free_bytes, total_bytes);
    back = driver()->CtxSetCurrent(caller);
    return translate(result != CUDA_OK ? result : back);
}

static infiniStatus_t synchronize(void)
{
    return translate(driver()->CtxSynchronize());
}

/* ---- streams ------------------------------------------------------------------------------ */

static infiniStatus_t stream_create(infinirtStream_t *stream_ptr)
{
    cuda_stream made = NULL;
    cuda_result result = driver()->StreamCreate(&made, CUDA_STREAM_DEFAULT);
    *stream_ptr = result == CUDA_OK ? made : NULL;
    return translate(result);
}

static infiniStatus_t stream_destroy(infinirtStream_t stream)
{
    return stream ? translate(driver()->StreamDestroy(stream)) : INFINI_STATUS_SUCCESS;
}

static infiniStatus_t stream_synchronize(infinirtStream_t stream)
{
    return translate(driver()->StreamSynchronize(stream));
}

static infiniStatus_t stream_wait_event(infinirtStream_t stream, infinirtEvent_t event)
{
    return event ? translate(driver()->StreamWaitEvent(stream, event, 0))
                 : INFINI_STATUS_NULL_POINTER;
}

/* ---- events ------------------------------------------------------------------------------- */

static infiniStatus_t event_create(infinirtEvent_t *event_ptr, uint32_t flags)
{
    unsigned cuda_flags = (flags & INFINIRT_EVENT_DISABLE_TIMING ? CUDA_EVENT_DISABLE_TIMING : 0) |
                          (flags & INFINIRT_EVENT_BLOCKING_SYNC ? CUDA_EVENT_BLOCKING_SYNC : 0);
    cuda_event made = NULL;
    cuda_result result = driver()->EventCreate(&made, cuda_flags);
    *event_ptr = result == CUDA_OK ? made : NULL;
    return translate(result);
}

static infiniStatus_t event_record(infinirtEvent_t event, infinirtStream_t stream)
{
    return translate(driver()->EventRecord(event, stream));
}

static infiniStatus_t event_query(infinirtEvent_t event, infinirtEventStatus_t *status_ptr)
{
    cuda_result result = driver()->EventQuery(event);
    if (result != CUDA_OK && result != CUDA_NOT_READY)
        return translate(result);
    *status_ptr = result == CUDA_OK ? INFINIRT_EVENT_COMPLETE : INFINIRT_EVENT_NOT_READY;
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t event_synchronize(infinirtEvent_t event)
{
    return translate(driver()->EventSynchronize(event));
}

static infiniStatus_t event_destroy(infinirtEvent_t event)
{
    return event ? translate(driver()->EventDestroy(event)) : INFINI_STATUS_SUCCESS;
}

static infiniStatus_t event_elapsed_time(float *ms_ptr, infinirtEvent_t start, infinirtEvent_t end)
{
    return translate(driver()->EventElapsedTime(ms_ptr, start, end));
}

/* ---- memory: the driver has no 0 bytes, infinirt gives NULL for them ---------------------- */

static cuda_pointer pointer(const void *memory)
{
    return (cuda_pointer)(uintptr_t)memory;
}

static infiniStatus_t allocate(void **p_ptr, size_t size)
{
    cuda_pointer made = 0;
    cuda_result result = size > 0 ? driver()->MemAlloc(&made, size) : CUDA_OK;
    *p_ptr = result == CUDA_OK ? (void *)(uintptr_t)made : NULL;
    return translate(result);
}

static infiniStatus_t allocate_host(void **p_ptr, size_t size)
{
    void *made = NULL;
    cuda_result result = size > 0 ? driver()->MemAllocHost(&made, size) : CUDA_OK;
    *p_ptr = result == CUDA_OK ? made : NULL;
    return translate(result);
}

static infiniStatus_t allocate_async(void **p_ptr, size_t size, infinirtStream_t stream)
{
    cuda_pointer made = 0;
    cuda_result result = size > 0 ? driver()->MemAllocAsync(&made, size, stream) : CUDA_OK;
    *p_ptr = result == CUDA_OK ? (void *)(uintptr_t)made : NULL;
    return translate(result);
}

static infiniStatus_t release(void *ptr)
{
    return ptr ? translate(driver()->MemFree(pointer(ptr))) : INFINI_STATUS_SUCCESS;
}

static infiniStatus_t release_host(void *ptr)
{
    return ptr ? translate(driver()->MemFreeHost(ptr)) : INFINI_STATUS_SUCCESS;
}

static infiniStatus_t release_async(void *ptr, infinirtStream_t stream)
{
    return ptr ? translate(driver()->MemFreeAsync(pointer(ptr), stream)) : INFINI_STATUS_SUCCESS;
}

/* The driver knows from an address whose memory it is, so that all kinds are one call. */
static int is_kind(infinirtMemcpyKind_t kind)
{
    return kind == INFINIRT_MEMCPY_H2H || kind == INFINIRT_MEMCPY_H2D ||
           kind == INFINIRT_MEMCPY_D2H || kind == INFINIRT_MEMCPY_D2D;
}

static infiniStatus_t copy(void *dst, const void *src, size_t size, infinirtMemcpyKind_t kind)
{
    if (!is_kind(kind))
        return INFINI_STATUS_BAD_PARAM;
    return size > 0 ? translate(driver()->Memcpy(pointer(dst), pointer(src), size))
                    : INFINI_STATUS_SUCCESS;
}

static infiniStatus_t copy_async(void *dst, const void *src, size_t size,
                                 infinirtMemcpyKind_t kind, infinirtStream_t stream)
{
    if (!is_kind(kind))
        return INFINI_STATUS_BAD_PARAM;
    return size > 0 ? translate(driver()->MemcpyAsync(pointer(dst), pointer(src), size, stream))
                    : INFINI_STATUS_SUCCESS;
}

static infiniStatus_t set(void *ptr, int value, size_t count)
{
    return count > 0 ? translate(driver()->MemsetD8(pointer(ptr), (unsigned char)value, count))
                     : INFINI_STATUS_SUCCESS;
}

static infiniStatus_t set_async(void *ptr, int value, size_t count, infinirtStream_t stream)
{
    return count > 0 ? translate(driver()->MemsetD8Async(pointer(ptr), (unsigned char)value, count,
                                                         stream))
                     : INFINI_STATUS_SUCCESS;
}

/* ---- graphs ------------------------------------------------------------------------------- */

/* The two enums have the same numbers; one that is neither's is the driver's to refuse. */
static infiniStatus_t begin_capture(infinirtStream_t stream, infinirtStreamCaptureMode_t mode)
{
    return translate(driver()->StreamBeginCapture(stream, (unsigned)mode));
}

static infiniStatus_t end_capture(infinirtStream_t stream, infinirtGraph_t *graph_ptr)
{
    cuda_graph made = NULL;
    cuda_result result = driver()->StreamEndCapture(stream, &made);
    *graph_ptr = result == CUDA_OK ? made : NULL;
    return translate(result);
}

static infiniStatus_t graph_destroy(infinirtGraph_t graph)
{
    return graph ? translate(driver()->GraphDestroy(graph)) : INFINI_STATUS_SUCCESS;
}

/* CUDA names no node to blame any more; the log has the name of the error. */
static infiniStatus_t graph_instantiate(infinirtGraphExec_t *graph_exec_ptr, infinirtGraph_t graph,
                                        infinirtGraphNode_t *node_ptr, char *log_buffer,
                                        size_t buffer_size)
{
    cuda_graph_exec made = NULL;
    cuda_result result = driver()->GraphInstantiate(&made, graph, 0);
    *graph_exec_ptr = result == CUDA_OK ? made : NULL;
    if (node_ptr)
        *node_ptr = NULL;
    if (log_buffer && buffer_size > 0)
        snprintf(log_buffer, buffer_size, "%s", result == CUDA_OK ? "" : cuda_error_name(result));
    return translate(result);
}

static infiniStatus_t graph_exec_destroy(infinirtGraphExec_t graph_exec)
{
    return graph_exec ? translate(driver()->GraphExecDestroy(graph_exec)) : INFINI_STATUS_SUCCESS;
}

static infiniStatus_t graph_launch(infinirtGraphExec_t graph_exec, infinirtStream_t stream)
{
    return translate(driver()->GraphLaunch(graph_exec, stream));
}

const struct rt_backend rt_nvidia = {
    .GetDeviceCount = get_device_count,
    .SetDevice = set_device,
    .GetMemInfo = get_mem_info,
    .DeviceSynchronize = synchronize,
    .StreamCreate = stream_create,
    .StreamDestroy = stream_destroy,
    .StreamSynchronize = stream_synchronize,
    .StreamWaitEvent = stream_wait_event,
    .EventCreateWithFlags = event_create,
    .EventRecord = event_record,
    .EventQuery = event_query,
    .EventSynchronize = event_synchronize,
    .EventDestroy = event_destroy,
    .EventElapsedTime = event_elapsed_time,
    .Malloc = allocate,
    .MallocHost = allocate_host,
    .MallocAsync = allocate_async,
    .Free = release,
    .FreeHost = release_host,
    .FreeAsync = release_async,
    .Memcpy = copy,
    .MemcpyAsync = copy_async,
    .Memset = set,
    .MemsetAsync = set_async,
    .StreamBeginCapture = begin_capture,
    .StreamEndCapture = end_capture,
    .GraphDestroy = graph_destroy,
    .GraphInstantiate = graph_instantiate,
    .GraphExecDestroy = graph_exec_destroy,
    .GraphLuanch = graph_launch,
};
