/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.c - see runtime.h. On the CPU everything is done when a call returns. */
#include "infiniop/runtime.h"

#define OK INFINI_STATUS_SUCCESS

/* ---- memory -------------------------------------------------------------------------------- */

static void release(runtime *r, int32_t slot, int32_t how)
{
    void *block = r->blocks[slot];
    infiniStatus_t status = how == 0   ? infinirtFree(block)
                            : how == 1 ? infinirtFreeHost(block)
                                       : infinirtFreeAsync(block, NULL);
    expect(status == OK, "memory does not go");
    r->blocks[slot] = NULL;
    r->sizes[slot] = 0;
}

/* A sanitizer ends the program where a request is too large for it: these are not. */
static void allocate(runtime *r, bytes *b)
{
    int32_t slot = bytes_below(b, BLOCKS), how = bytes_below(b, 3);
    size_t size = (size_t)bytes_number(b) % 4096;
    void *block = NULL;
    release(r, slot, bytes_below(b, 3));
    infiniStatus_t status = how == 0   ? infinirtMalloc(&block, size)
                            : how == 1 ? infinirtMallocHost(&block, size)
                                       : infinirtMallocAsync(&block, size, NULL);
    expect(status == OK && (block || size == 0), "no memory");
    expect(infinirtMalloc(NULL, size) == INFINI_STATUS_NULL_POINTER, "NULL was accepted");
    r->blocks[slot] = block;
    r->sizes[slot] = size;
    if (size > 0)
        memset(block, 0, size);
}

static void copy(runtime *r, bytes *b)
{
    int32_t to = bytes_below(b, BLOCKS), from = bytes_below(b, BLOCKS);
    infinirtMemcpyKind_t kind = (infinirtMemcpyKind_t)bytes_below(b, 6);
    size_t size = r->sizes[to] < r->sizes[from] ? r->sizes[to] : r->sizes[from];
    if (to == from)
        return;
    infiniStatus_t status =
        bytes_below(b, 2) ? infinirtMemcpy(r->blocks[to], r->blocks[from], size, kind)
                          : infinirtMemcpyAsync(r->blocks[to], r->blocks[from], size, kind, NULL);
    if (status == OK && size > 0)
        expect(!memcmp(r->blocks[to], r->blocks[from], size), "a copy is another");
    expect(infinirtMemcpy(NULL, r->blocks[from], 1, kind) != OK, "NULL was accepted");
}

static void set(runtime *r, bytes *b)
{
    int32_t slot = bytes_below(b, BLOCKS);
    int value = bytes_u8(b), later = bytes_below(b, 2);
    infiniStatus_t status = later
                                ? infinirtMemsetAsync(r->blocks[slot], value, r->sizes[slot], NULL)
                                : infinirtMemset(r->blocks[slot], value, r->sizes[slot]);
    expect(status == OK, "memory is not set");
    for (size_t i = 0; i < r->sizes[slot]; i++)
        expect((unsigned char)r->blocks[slot][i] == value, "memory is set to another value");
    expect(infinirtMemset(NULL, value, 1) == INFINI_STATUS_NULL_POINTER, "NULL was accepted");
}

/* ---- events, streams and graphs ------------------------------------------------------------ */

static void use_event(runtime *r, bytes *b)
{
    infinirtEvent_t *slot = &r->events[bytes_below(b, EVENTS)];
    infiniStatus_t wanted = *slot ? OK : INFINI_STATUS_NULL_POINTER;
    infinirtEventStatus_t state;
    float ms;
    switch (bytes_below(b, 4)) {
    case 0:
        expect(infinirtEventDestroy(*slot) == OK, "an event does not go");
        *slot = NULL;
        infiniStatus_t status = bytes_below(b, 2)
                                    ? infinirtEventCreate(slot)
                                    : infinirtEventCreateWithFlags(slot, (uint32_t)bytes_number(b));
        expect(status == OK && *slot, "no event");
        break;
    case 1:
        expect(infinirtEventRecord(*slot, NULL) == wanted, "recorded?");
        break;
    case 2:
        expect(infinirtEventQuery(*slot, &state) == wanted, "over?");
        expect(infinirtEventSynchronize(*slot) == wanted, "waited?");
        infinirtStreamWaitEvent(NULL, *slot);
        break;
    default:
        if (infinirtEventElapsedTime(&ms, r->events[0], r->events[1]) == OK)
            expect(r->events[0] && r->events[1] && ms == ms, "a time without events, or none");
    }
}

static void use_stream(runtime *r, bytes *b)
{
    infinirtStream_t stream;
    infinirtGraph_t graph = NULL;
    infinirtGraphExec_t exec = NULL;
    (void)r;
    expect(infinirtStreamCreate(&stream) == OK, "no stream");
    expect(infinirtStreamCreate(NULL) == INFINI_STATUS_NULL_POINTER, "NULL was accepted");
    if (bytes_below(b, 2)) { /* the CPU has nothing to capture */
        infinirtStreamBeginCapture(stream, (infinirtStreamCaptureMode_t)bytes_below(b, 4));
        expect(infinirtStreamEndCapture(stream, &graph) != OK, "a graph of nothing");
        expect(infinirtGraphInstantiate(&exec, graph, NULL, NULL, 0) != OK, "it can be launched");
        expect(infinirtGraphLuanch(exec, stream) != OK, "it was launched");
    }
    expect(infinirtStreamSynchronize(stream) == OK && infinirtDeviceSynchronize() == OK, "waited?");
    expect(infinirtStreamDestroy(stream) == OK, "a stream does not go");
}

/* ---- devices ------------------------------------------------------------------------------- */

static void ask_device(runtime *r, bytes *b)
{
    infiniDevice_t device = bytes_below(b, 2) ? INFINI_DEVICE_CPU
                                              : (infiniDevice_t)(int32_t)bytes_number(b),
                   current;
    int id = bytes_below(b, 2) ? 0 : (int)bytes_number(b), count = -1, its_id;
    int counts[INFINI_DEVICE_TYPE_COUNT];
    infinirtDeviceResourceSnapshot_t snapshot;
    (void)r;
    expect(infinirtInit() == OK && infinirtGetAllDeviceCount(counts) == OK, "no counts");
    infinirtGetDeviceCount(device, &count);
    expect(count >= 0, "less than no devices");
    if (infinirtGetDeviceResourceSnapshot(device, id, &snapshot) == OK)
        expect(id < count && snapshot.free_bytes <= snapshot.total_bytes, "memory of no device");
    if (infinirtSetDevice(device, id) != OK)
        expect(infinirtDeviceSynchronize() != OK, "a device that is not there has waited");
    expect(infinirtGetDevice(&current, &its_id) == OK && current == device && its_id == id,
           "the device is another");
    expect(infinirtSetDevice(INFINI_DEVICE_CPU, 0) == OK, "no CPU");
}

/* ---- all of them --------------------------------------------------------------------------- */

void runtime_call(runtime *r, bytes *b)
{
    static void (*const calls[])(runtime *, bytes *) = {
        allocate, copy, set, use_event, use_stream, ask_device,
    };
    calls[bytes_below(b, sizeof(calls) / sizeof(calls[0]))](r, b);
}

void runtime_end(runtime *r)
{
    for (int32_t i = 0; i < BLOCKS; i++)
        release(r, i, 0);
    for (int32_t i = 0; i < EVENTS; i++)
        infinirtEventDestroy(r->events[i]);
}
