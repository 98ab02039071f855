/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvidia_fake.c - the runtime on NVIDIA's devices, on a fake driver (fake_cuda/fake.h): that
 * each call reaches the driver's, in the right context and with the right numbers. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <string.h>

#include "fake_cuda/probe.h"

static int on_device_0(void **state)
{
    (void)state;
    OK(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 0));
    return 0;
}

/* ---- devices ------------------------------------------------------------------------------ */

static void devices_are_counted_and_found(void **state)
{
    infinirtDeviceResourceSnapshot_t snapshot;
    infiniDevice_t device;
    int count = -1, id = -1;
    (void)state;
    OK(infinirtGetDeviceCount(INFINI_DEVICE_NVIDIA, &count));
    assert_int_equal(count, 3);
    OK(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 1));
    OK(infinirtGetDevice(&device, &id));
    assert_int_equal(device, INFINI_DEVICE_NVIDIA);
    assert_int_equal(id, 1);
    EXPECT(DEVICE_NOT_FOUND, infinirtSetDevice(INFINI_DEVICE_NVIDIA, 3));
    EXPECT(DEVICE_NOT_FOUND, infinirtDeviceSynchronize());
    EXPECT(DEVICE_NOT_FOUND, infinirtSetDevice(INFINI_DEVICE_NVIDIA, -1));
    EXPECT(DEVICE_NOT_FOUND, infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_NVIDIA, 3, &snapshot));
    OK(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 0));
    OK(infinirtDeviceSynchronize());
    OK(infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_NVIDIA, 2, &snapshot));
    assert_int_equal(snapshot.total_bytes, 1 << 30);
}

static void memory_is_counted_by_device(void **state)
{
    size_t before, after, total, other;
    void *memory, *on_second;
    (void)state;
    OK(infinirtGetMemInfo(INFINI_DEVICE_NVIDIA, 1, &before, &total));
    OK(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 1));
    OK(infinirtMalloc(&on_second, 4096));
    OK(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 0));
    OK(infinirtMalloc(&memory, 64));
    OK(infinirtGetMemInfo(INFINI_DEVICE_NVIDIA, 1, &after, &total));
    assert_int_equal(before - after, 4096);
    OK(infinirtGetMemInfo(INFINI_DEVICE_NVIDIA, 0, &other, &total));
    assert_int_equal(total - other, 64);
    OK(infinirtFree(memory));
    OK(infinirtFree(on_second));
}

/* Asking about another device's memory leaves the caller's context; so does a failure. */
static void asking_for_memory_leaves_the_context(void **state)
{
    cuda_context before = NULL, after = NULL;
    size_t free_bytes, total_bytes;
    (void)state;
    assert_int_equal(cuCtxGetCurrent(&before), 0);
    OK(infinirtGetMemInfo(INFINI_DEVICE_NVIDIA, 1, &free_bytes, &total_bytes));
    assert_int_equal(cuCtxGetCurrent(&after), 0);
    assert_ptr_equal(before, after);
    driver_fails("cuMemGetInfo_v2", 999);
    EXPECT(INTERNAL_ERROR, infinirtGetMemInfo(INFINI_DEVICE_NVIDIA, 1, &free_bytes, &total_bytes));
    driver_works();
    assert_int_equal(cuCtxGetCurrent(&after), 0);
    assert_ptr_equal(before, after);
    driver_fails("cuCtxGetCurrent", 999);
    EXPECT(INTERNAL_ERROR, infinirtGetMemInfo(INFINI_DEVICE_NVIDIA, 1, &free_bytes, &total_bytes));
    driver_works();
}

static void a_context_changed_behind_our_back_is_set_again(void **state)
{
    infinirtStream_t stream;
    (void)state;
    OK(infinirtStreamCreate(&stream));
    assert_int_equal(cuCtxSetCurrent(NULL), 0);
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtStreamDestroy(stream));
}

/* On a thread of its own, where an assertion cannot jump: returns NULL if all went well. */
static void *use_a_device(void *id)
{
    infiniDevice_t device;
    void *memory;
    if (infinirtGetDevice(&device, NULL) || device != INFINI_DEVICE_CPU)
        return "a thread begins on the CPU";
    for (int i = 0; i < 50; i++)
        if (infinirtSetDevice(INFINI_DEVICE_NVIDIA, *(int *)id) || infinirtMalloc(&memory, 8) ||
            infinirtMemset(memory, i, 8) || infinirtFree(memory))
            return "a device is used";
    return NULL;
}

static void each_thread_has_its_device_and_a_context_is_retained_once(void **state)
{
    pthread_t threads[8];
    int ids[8];
    (void)state;
    for (int i = 0; i < 8; i++) {
        ids[i] = i % 2;
        assert_int_equal(pthread_create(&threads[i], NULL, use_a_device, &ids[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        void *failure = NULL;
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        assert_null(failure);
    }
    assert_int_equal(fake_cuda_retained(0), 1);
    assert_int_equal(fake_cuda_retained(1), 1);
}

/* Device 2 is used by no other test before: its context is not retained yet. */
static void a_context_that_cannot_be_had_is_tried_again(void **state)
{
    static const char *const functions[] = { "cuDeviceGet", "cuDevicePrimaryCtxRetain",
                                             "cuCtxSetCurrent" };
    (void)state;
    for (size_t i = 0; i < COUNT(functions); i++) {
        driver_fails(functions[i], 999);
        EXPECT(INTERNAL_ERROR, infinirtSetDevice(INFINI_DEVICE_NVIDIA, 2));
        driver_works();
    }
    OK(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 2));
    OK(infinirtDeviceSynchronize());
    assert_int_equal(fake_cuda_retained(2), 1);
    OK(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 0));
}

/* The fake has memory and streams, but nothing that the library's kernels could run on. */
static void a_handle_is_refused_where_the_library_has_no_device(void **state)
{
    infiniopHandle_t handle = (infiniopHandle_t)&handle;
    (void)state;
    EXPECT(DEVICE_NOT_FOUND, infiniopCreateHandle(&handle));
    assert_null(handle);
}

/* ---- memory ------------------------------------------------------------------------------- */

static void memory_is_copied_in_every_direction(void **state)
{
    void *first, *second, *pinned;
    char text[9] = "gradient", back[9];
    infinirtStream_t stream;
    (void)state;
    OK(infinirtStreamCreate(&stream));
    OK(infinirtMalloc(&first, 9));
    OK(infinirtMallocAsync(&second, 9, stream));
    OK(infinirtMallocHost(&pinned, 9));
    OK(infinirtMemcpy(pinned, text, 9, INFINIRT_MEMCPY_H2H));
    assert_string_equal(pinned, text);
    OK(infinirtMemcpy(first, pinned, 9, INFINIRT_MEMCPY_H2D));
    OK(infinirtMemcpyAsync(second, first, 9, INFINIRT_MEMCPY_D2D, stream));
    OK(infinirtMemset(first, 'x', 8));
    OK(infinirtMemsetAsync(first, 256 + 'y', 4, stream));
    OK(infinirtMemcpy(back, second, 9, INFINIRT_MEMCPY_D2H));
    assert_string_equal(back, text);
    OK(infinirtMemcpyAsync(back, first, 9, INFINIRT_MEMCPY_D2H, stream));
    OK(infinirtStreamSynchronize(stream));
    assert_string_equal(back, "yyyyxxxx");
    EXPECT(BAD_PARAM, infinirtMemcpy(back, first, 10, INFINIRT_MEMCPY_D2H)); /* one too many */
    OK(infinirtFree(first));
    OK(infinirtFreeAsync(second, stream));
    OK(infinirtFreeHost(pinned));
    OK(infinirtStreamDestroy(stream));
}

static void memory_calls_refuse_what_makes_no_sense(void **state)
{
    void *memory = &memory;
    char byte = 0;
    (void)state;
    EXPECT(NULL_POINTER, infinirtMalloc(NULL, 1));
    EXPECT(NULL_POINTER, infinirtMemcpy(NULL, &byte, 1, INFINIRT_MEMCPY_H2D));
    EXPECT(BAD_PARAM, infinirtMemcpy(&byte, &byte, 1, (infinirtMemcpyKind_t)4));
    EXPECT(BAD_PARAM, infinirtMemcpyAsync(&byte, &byte, 1, (infinirtMemcpyKind_t)-1, NULL));
    OK(infinirtMemcpy(NULL, NULL, 0, INFINIRT_MEMCPY_D2D));
    OK(infinirtMemcpyAsync(NULL, NULL, 0, INFINIRT_MEMCPY_D2D, NULL));
    OK(infinirtMemset(NULL, 0, 0));
    OK(infinirtMemsetAsync(NULL, 0, 0, NULL));
    OK(infinirtFree(NULL));
    OK(infinirtFreeHost(NULL));
    OK(infinirtFreeAsync(NULL, NULL));
    OK(infinirtMalloc(&memory, 0));
    assert_null(memory);
    OK(infinirtMallocHost(&memory, 0));
    OK(infinirtMallocAsync(&memory, 0, NULL));
    memory = &byte;
    EXPECT(INTERNAL_ERROR, infinirtMalloc(&memory, PTRDIFF_MAX));
    assert_null(memory);
    EXPECT(BAD_PARAM, infinirtFree(&byte));
}

/* ---- streams, events, graphs -------------------------------------------------------------- */

static void events_measure_time(void **state)
{
    infinirtEvent_t start, end, untimed;
    infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
    infinirtStream_t stream;
    float ms = -1;
    (void)state;
    OK(infinirtStreamCreate(&stream));
    OK(infinirtEventCreate(&start));
    OK(infinirtEventCreateWithFlags(&end, INFINIRT_EVENT_BLOCKING_SYNC));
    OK(infinirtEventCreateWithFlags(&untimed, INFINIRT_EVENT_DISABLE_TIMING));
    OK(infinirtEventRecord(start, stream));
    EXPECT(BAD_PARAM, infinirtEventElapsedTime(&ms, start, end));
    OK(infinirtEventRecord(untimed, stream));
    OK(infinirtEventRecord(end, NULL));
    OK(infinirtStreamWaitEvent(stream, end));
    EXPECT(NULL_POINTER, infinirtStreamWaitEvent(stream, NULL));
    OK(infinirtEventElapsedTime(&ms, start, end));
    assert_true(ms >= 0 && ms < 10000);
    EXPECT(BAD_PARAM, infinirtEventElapsedTime(&ms, start, untimed));
    OK(infinirtEventQuery(end, &status));
    assert_int_equal(status, INFINIRT_EVENT_COMPLETE);
    driver_fails("cuEventQuery", 600);
    OK(infinirtEventQuery(end, &status));
    assert_int_equal(status, INFINIRT_EVENT_NOT_READY);
    driver_works();
    OK(infinirtEventSynchronize(end));
    OK(infinirtEventDestroy(start));
    OK(infinirtEventDestroy(end));
    OK(infinirtEventDestroy(untimed));
    OK(infinirtEventDestroy(NULL));
    OK(infinirtStreamDestroy(stream));
    OK(infinirtStreamDestroy(NULL));
}

static void a_graph_does_what_was_captured_as_often_as_it_is_launched(void **state)
{
    infinirtStream_t stream;
    infinirtGraph_t graph;
    infinirtGraphExec_t exec;
    infinirtGraphNode_t node = &node;
    char log[8] = "before", back[4] = { 0 };
    void *memory;
    (void)state;
    OK(infinirtStreamCreate(&stream));
    OK(infinirtMalloc(&memory, 4));
    OK(infinirtMemset(memory, 1, 4));
    OK(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(infinirtMemsetAsync(memory, 2, 2, stream));
    OK(infinirtMemcpyAsync(back, memory, 4, INFINIRT_MEMCPY_D2H, stream));
    EXPECT(INTERNAL_ERROR, infinirtStreamSynchronize(stream)); /* not while it is captured */
    OK(infinirtStreamEndCapture(stream, &graph));
    OK(infinirtGraphInstantiate(&exec, graph, &node, log, sizeof(log)));
    assert_null(node);
    assert_string_equal(log, "");
    OK(infinirtGraphDestroy(graph));
    assert_int_equal(back[0], 0);
    for (int i = 0; i < 2; i++) {
        OK(infinirtMemset(memory, 1, 4));
        memset(back, 0, sizeof(back));
        OK(infinirtGraphLuanch(exec, stream));
        OK(infinirtStreamSynchronize(stream));
        assert_memory_equal(back, "\2\2\1\1", 4);
    }
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtFree(memory));
    OK(infinirtStreamDestroy(stream));
}

static void graphs_refuse_what_makes_no_sense(void **state)
{
    infinirtStream_t stream;
    infinirtGraph_t graph = &graph;
    infinirtGraphExec_t exec = &exec;
    (void)state;
    OK(infinirtStreamCreate(&stream));
    EXPECT(BAD_PARAM, infinirtStreamBeginCapture(stream, (infinirtStreamCaptureMode_t)3));
    EXPECT(BAD_PARAM, infinirtStreamEndCapture(stream, &graph));
    assert_null(graph);
    EXPECT(NULL_POINTER, infinirtStreamEndCapture(stream, NULL));
    EXPECT(NULL_POINTER, infinirtGraphInstantiate(&exec, NULL, NULL, NULL, 0));
    EXPECT(NULL_POINTER, infinirtGraphLuanch(NULL, stream));
    OK(infinirtGraphDestroy(NULL));
    OK(infinirtGraphExecDestroy(NULL));
    OK(infinirtStreamDestroy(stream));
}

static void nothing_is_left(void **state)
{
    (void)state;
    assert_int_equal(fake_cuda_alive(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_device_and_a_context_is_retained_once),
        cmocka_unit_test(a_context_that_cannot_be_had_is_tried_again),
        cmocka_unit_test(devices_are_counted_and_found),
        cmocka_unit_test(memory_is_counted_by_device),
        cmocka_unit_test(asking_for_memory_leaves_the_context),
        cmocka_unit_test(a_context_changed_behind_our_back_is_set_again),
        cmocka_unit_test(a_handle_is_refused_where_the_library_has_no_device),
        cmocka_unit_test(memory_is_copied_in_every_direction),
        cmocka_unit_test(memory_calls_refuse_what_makes_no_sense),
        cmocka_unit_test(events_measure_time),
        cmocka_unit_test(a_graph_does_what_was_captured_as_often_as_it_is_launched),
        cmocka_unit_test(graphs_refuse_what_makes_no_sense),
        cmocka_unit_test(nothing_is_left),
    };
    return cmocka_run_group_tests(tests, on_device_0, NULL);
}
