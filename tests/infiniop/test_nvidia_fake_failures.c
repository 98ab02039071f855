/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvidia_fake_failures.c - each function of the CUDA driver that infinirt uses fails in turn,
 * on the fake driver (fake_cuda/fake.h): that it comes back as a status, and nothing is lost. */
#define _POSIX_C_SOURCE 200809L
#include "fake_cuda/probe.h"

/* Each of these goes to one function of the driver; what it made is written to *made. */
static infinirtStream_t a_stream;
static infinirtEvent_t an_event;
static infinirtGraph_t a_graph;
static infinirtGraphExec_t an_exec;
static void *some_memory, *host_memory, *made;

#define STEP(name, call)                \
    static infiniStatus_t name(void)    \
    {                                   \
        return infinirt##call;          \
    }
STEP(synchronize, DeviceSynchronize())
STEP(stream_create, StreamCreate(&made))
STEP(stream_synchronize, StreamSynchronize(a_stream))
STEP(stream_wait, StreamWaitEvent(a_stream, an_event))
STEP(event_create, EventCreate(&made))
STEP(event_record, EventRecord(an_event, a_stream))
STEP(event_synchronize, EventSynchronize(an_event))
STEP(event_elapsed, EventElapsedTime(&(float){ 0 }, an_event, an_event))
STEP(event_query, EventQuery(an_event, &(infinirtEventStatus_t){ 0 }))
STEP(allocate, Malloc(&made, 8))
STEP(allocate_host, MallocHost(&made, 8))
STEP(allocate_async, MallocAsync(&made, 8, a_stream))
STEP(copy, Memcpy(some_memory, host_memory, 8, INFINIRT_MEMCPY_H2D))
STEP(copy_async, MemcpyAsync(some_memory, host_memory, 8, INFINIRT_MEMCPY_H2D, a_stream))
STEP(set, Memset(some_memory, 1, 8))
STEP(set_async, MemsetAsync(some_memory, 1, 8, a_stream))
STEP(begin_capture, StreamBeginCapture(a_stream, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL))
STEP(end_capture, StreamEndCapture(a_stream, &made))
STEP(instantiate, GraphInstantiate(&made, a_graph, NULL, NULL, 0))
STEP(launch, GraphLuanch(an_exec, a_stream))
STEP(exec_destroy, GraphExecDestroy(an_exec))
STEP(graph_destroy, GraphDestroy(a_graph))
STEP(event_destroy, EventDestroy(an_event))
STEP(release, Free(some_memory))
STEP(release_host, FreeHost(host_memory))
STEP(release_async, FreeAsync(some_memory, a_stream))
STEP(stream_destroy, StreamDestroy(a_stream))
STEP(count, GetDeviceCount(INFINI_DEVICE_NVIDIA, &(int){ 0 }))

static const struct {
    const char *symbol;
    infiniStatus_t (*call)(void);
    int makes; /* it writes *made, and NULL where it fails */
} steps[] = {
    { "cuCtxSynchronize", synchronize, 0 },
    { "cuStreamCreate", stream_create, 1 },
    { "cuStreamSynchronize", stream_synchronize, 0 },
    { "cuStreamWaitEvent", stream_wait, 0 },
    { "cuEventCreate", event_create, 1 },
    { "cuEventRecord", event_record, 0 },
    { "cuEventSynchronize", event_synchronize, 0 },
    { "cuEventElapsedTime", event_elapsed, 0 },
    { "cuEventQuery", event_query, 0 },
    { "cuMemAlloc_v2", allocate, 1 },
    { "cuMemAllocHost_v2", allocate_host, 1 },
    { "cuMemAllocAsync", allocate_async, 1 },
    { "cuMemcpy", copy, 0 },
    { "cuMemcpyAsync", copy_async, 0 },
    { "cuMemsetD8_v2", set, 0 },
    { "cuMemsetD8Async", set_async, 0 },
    { "cuStreamBeginCapture_v2", begin_capture, 0 },
    { "cuStreamEndCapture", end_capture, 1 },
    { "cuGraphInstantiateWithFlags", instantiate, 1 },
    { "cuGraphLaunch", launch, 0 },
    { "cuGraphExecDestroy", exec_destroy, 0 },
    { "cuGraphDestroy", graph_destroy, 0 },
    { "cuEventDestroy_v2", event_destroy, 0 },
    { "cuMemFree_v2", release, 0 },
    { "cuMemFreeHost", release_host, 0 },
    { "cuMemFreeAsync", release_async, 0 },
    { "cuStreamDestroy_v2", stream_destroy, 0 },
    { "cuDeviceGetCount", count, 0 },
};

/* The driver's number, and infinirt's for it. */
static const struct {
    int number;
    infiniStatus_t status;
} failures[] = {
    { 1, INFINI_STATUS_BAD_PARAM },
    { 400, INFINI_STATUS_BAD_PARAM },
    { 100, INFINI_STATUS_DEVICE_NOT_FOUND },
    { 101, INFINI_STATUS_DEVICE_NOT_FOUND },
    { 2, INFINI_STATUS_INTERNAL_ERROR },
    { 700, INFINI_STATUS_INTERNAL_ERROR },
};

static void every_call_says_that_the_driver_failed(void **state)
{
    char log[32];
    (void)state;
    OK(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 0));
    OK(infinirtStreamCreate(&a_stream));
    OK(infinirtEventCreate(&an_event));
    OK(infinirtMalloc(&some_memory, 8));
    OK(infinirtMallocHost(&host_memory, 8));
    OK(infinirtStreamBeginCapture(a_stream, INFINIRT_STREAM_CAPTURE_MODE_RELAXED));
    OK(infinirtStreamEndCapture(a_stream, &a_graph));
    OK(infinirtGraphInstantiate(&an_exec, a_graph, NULL, NULL, 0));
    int before = fake_cuda_alive();
    for (size_t i = 0; i < COUNT(steps); i++)
        for (size_t j = 0; j < COUNT(failures); j++) {
            driver_fails(steps[i].symbol, failures[j].number);
            made = &made;
            assert_int_equal(steps[i].call(), failures[j].status);
            assert_ptr_equal(made, steps[i].makes ? NULL : &made);
            driver_works();
        }
    driver_fails("cuGraphInstantiateWithFlags", 2);
    EXPECT(INTERNAL_ERROR, infinirtGraphInstantiate(&made, a_graph, NULL, log, sizeof(log)));
    driver_works();
    assert_string_equal(log, "CUDA_ERROR_OUT_OF_MEMORY");
    assert_int_equal(fake_cuda_alive(), before);
}

/* The handles of the test above are all alive: no failed Destroy has destroyed one. */
static void and_works_when_it_works_again(void **state)
{
    (void)state;
    OK(infinirtGraphLuanch(an_exec, a_stream));
    OK(infinirtGraphExecDestroy(an_exec));
    OK(infinirtGraphDestroy(a_graph));
    OK(infinirtEventDestroy(an_event));
    OK(infinirtFree(some_memory));
    OK(infinirtFreeHost(host_memory));
    OK(infinirtStreamDestroy(a_stream));
    assert_int_equal(fake_cuda_alive(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_says_that_the_driver_failed),
        cmocka_unit_test(and_works_when_it_works_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
