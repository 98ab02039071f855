/* SPDX-License-Identifier: Apache-2.0 */
/* test_infinirt.c - the runtime on the CPU, and on the devices that are not served. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <time.h>

#include "support.h"

/* The sanitizers look these up by name; without them a malloc that fails ends the program. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void the_devices_that_are_served_are_counted(void **state)
{
    int counts[INFINI_DEVICE_TYPE_COUNT], count = -1;
    (void)state;
    OK(infinirtInit());
    memset(counts, -1, sizeof(counts));
    OK(infinirtGetAllDeviceCount(counts));
    for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; i++) {
        OK(infinirtGetDeviceCount((infiniDevice_t)i, &count));
        assert_int_equal(counts[i], count);
        if (i == INFINI_DEVICE_NVIDIA)
            assert_true(count >= 0); /* as many as this machine has */
        else
            assert_int_equal(count, i == INFINI_DEVICE_CPU);
    }
    EXPECT(NULL_POINTER, infinirtGetAllDeviceCount(NULL));
    EXPECT(NULL_POINTER, infinirtGetDeviceCount(INFINI_DEVICE_CPU, NULL));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtGetDeviceCount((infiniDevice_t)99, &count));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtGetDeviceCount((infiniDevice_t)-1, &count));
}

static void the_current_device_changes_even_where_it_is_refused(void **state)
{
    infiniDevice_t type;
    int id;
    (void)state;
    OK(infinirtGetDevice(&type, &id));
    assert_int_equal(type, INFINI_DEVICE_CPU);
    assert_int_equal(id, 0);
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice(INFINI_DEVICE_METAX, 2));
    OK(infinirtGetDevice(&type, NULL));
    OK(infinirtGetDevice(NULL, &id));
    assert_int_equal(type, INFINI_DEVICE_METAX);
    assert_int_equal(id, 2);
    EXPECT(NULL_POINTER, infinirtGetDevice(NULL, NULL));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice((infiniDevice_t)-1, 0));
    EXPECT(DEVICE_NOT_FOUND, infinirtSetDevice(INFINI_DEVICE_CPU, -1));
    OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
}

static void memory_is_allocated_copied_and_set(void **state)
{
    void *device = NULL, *host = NULL, *ordered = NULL;
    const char text[] = "gradient";
    (void)state;
    OK(infinirtMalloc(&device, 64));
    OK(infinirtMallocHost(&host, 64));
    OK(infinirtMallocAsync(&ordered, 64, NULL));
    OK(infinirtMemset(device, 7, 64));
    assert_int_equal(((char *)device)[63], 7);
    OK(infinirtMemsetAsync(device, 8, 32, NULL));
    assert_int_equal(((char *)device)[31], 8);
    assert_int_equal(((char *)device)[32], 7);
    OK(infinirtMemcpy(device, text, sizeof(text), INFINIRT_MEMCPY_H2D));
    OK(infinirtMemcpyAsync(ordered, device, sizeof(text), INFINIRT_MEMCPY_D2D, NULL));
    OK(infinirtMemcpy(host, ordered, sizeof(text), INFINIRT_MEMCPY_D2H));
    assert_string_equal(host, text);
    OK(infinirtFree(device));
    OK(infinirtFreeHost(host));
    OK(infinirtFreeAsync(ordered, NULL));
}

static void memory_calls_refuse_null_and_say_when_there_is_none(void **state)
{
    void *memory = &memory;
    char byte = 0;
    (void)state;
    EXPECT(NULL_POINTER, infinirtMalloc(NULL, 1));
    EXPECT(NULL_POINTER, infinirtMallocHost(NULL, 1));
    EXPECT(NULL_POINTER, infinirtMallocAsync(NULL, 1, NULL));
    EXPECT(NULL_POINTER, infinirtMemcpy(NULL, &byte, 1, INFINIRT_MEMCPY_H2H));
    EXPECT(NULL_POINTER, infinirtMemcpyAsync(&byte, NULL, 1, INFINIRT_MEMCPY_H2H, NULL));
    EXPECT(NULL_POINTER, infinirtMemset(NULL, 0, 1));
    EXPECT(NULL_POINTER, infinirtMemsetAsync(NULL, 0, 1, NULL));
    OK(infinirtMemcpy(NULL, NULL, 0, INFINIRT_MEMCPY_H2H));
    OK(infinirtMemset(NULL, 0, 0));
    OK(infinirtFree(NULL));
    OK(infinirtFreeHost(NULL));
    OK(infinirtMalloc(&memory, 0));
    OK(infinirtFree(memory));
    EXPECT(INTERNAL_ERROR, infinirtMalloc(&memory, PTRDIFF_MAX));
    assert_null(memory);
}

static void streams_have_nothing_to_wait_for(void **state)
{
    infinirtStream_t stream = &stream;
    (void)state;
    OK(infinirtStreamCreate(&stream));
    assert_null(stream);
    OK(infinirtStreamSynchronize(stream));
    EXPECT(NOT_IMPLEMENTED, infinirtStreamWaitEvent(stream, NULL));
    OK(infinirtStreamDestroy(stream));
    OK(infinirtDeviceSynchronize());
    EXPECT(NULL_POINTER, infinirtStreamCreate(NULL));
}

static void events_measure_time(void **state)
{
    infinirtEvent_t start, end;
    infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
    const struct timespec pause = { 0, 20 * 1000 * 1000 };
    float ms = -1;
    (void)state;
    OK(infinirtEventCreate(&start));
    OK(infinirtEventCreateWithFlags(&end, INFINIRT_EVENT_BLOCKING_SYNC));
    EXPECT(BAD_PARAM, infinirtEventElapsedTime(&ms, start, end));
    OK(infinirtEventRecord(start, NULL));
    EXPECT(BAD_PARAM, infinirtEventElapsedTime(&ms, start, end));
    nanosleep(&pause, NULL);
    OK(infinirtEventRecord(end, NULL));
    OK(infinirtEventQuery(end, &status));
    assert_int_equal(status, INFINIRT_EVENT_COMPLETE);
    OK(infinirtEventSynchronize(end));
    OK(infinirtEventElapsedTime(&ms, start, end));
    assert_true(ms >= 20 && ms < 20000);
    OK(infinirtEventElapsedTime(&ms, end, start));
    assert_true(ms <= -20);
    EXPECT(NULL_POINTER, infinirtEventCreate(NULL));
    EXPECT(NULL_POINTER, infinirtEventRecord(NULL, NULL));
    EXPECT(NULL_POINTER, infinirtEventQuery(NULL, &status));
    EXPECT(NULL_POINTER, infinirtEventQuery(end, NULL));
    EXPECT(NULL_POINTER, infinirtEventSynchronize(NULL));
    EXPECT(NULL_POINTER, infinirtEventElapsedTime(NULL, start, end));
    EXPECT(NULL_POINTER, infinirtEventElapsedTime(&ms, NULL, end));
    EXPECT(NULL_POINTER, infinirtEventElapsedTime(&ms, start, NULL));
    OK(infinirtEventDestroy(start));
    OK(infinirtEventDestroy(end));
    OK(infinirtEventDestroy(NULL));
}

static void memory_is_reported(void **state)
{
    infinirtDeviceResourceSnapshot_t snapshot;
    size_t free_bytes = 0, total_bytes = 0;
    (void)state;
    OK(infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free_bytes, &total_bytes));
    assert_true(free_bytes > 0 && free_bytes <= total_bytes);
    memset(&snapshot, 0xff, sizeof(snapshot));
    OK(infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 0, &snapshot));
    assert_int_equal(snapshot.device_type, INFINI_DEVICE_CPU);
    assert_int_equal(snapshot.device_id, 0);
    assert_int_equal(snapshot.valid_fields, INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY);
    assert_int_equal(snapshot.estimated_fields, 0);
    assert_int_equal(snapshot.total_bytes, total_bytes);
    assert_int_equal(snapshot.used_bytes, total_bytes - snapshot.free_bytes);
    EXPECT(NULL_POINTER, infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, NULL, &total_bytes));
    EXPECT(NULL_POINTER, infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free_bytes, NULL));
    EXPECT(NULL_POINTER, infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 0, NULL));
    EXPECT(DEVICE_NOT_FOUND, infinirtGetMemInfo(INFINI_DEVICE_CPU, 1, &free_bytes, &total_bytes));
    EXPECT(DEVICE_NOT_FOUND, infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 1, &snapshot));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED,
           infinirtGetMemInfo(INFINI_DEVICE_METAX, 0, &free_bytes, &total_bytes));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED,
           infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_METAX, 0, &snapshot));
}

static void graphs_are_not_for_the_cpu(void **state)
{
    infinirtGraph_t graph = NULL;
    infinirtGraphExec_t exec = NULL;
    (void)state;
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED,
           infinirtStreamBeginCapture(NULL, INFINIRT_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtStreamEndCapture(NULL, &graph));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtGraphInstantiate(&exec, graph, NULL, NULL, 0));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtGraphLuanch(exec, NULL));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtGraphExecDestroy(exec));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtGraphDestroy(graph));
}

static void on_a_device_not_served_every_call_says_so(void **state)
{
    void *memory;
    infinirtEvent_t event = NULL;
    infinirtEventStatus_t status;
    infinirtStream_t stream = NULL;
    char byte;
    float ms;
    (void)state;
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice(INFINI_DEVICE_METAX, 0));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtMalloc(&memory, 1));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtMallocHost(&memory, 1));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtMallocAsync(&memory, 1, stream));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtFree(NULL));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtFreeHost(NULL));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtFreeAsync(NULL, stream));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtMemcpy(&byte, &byte, 1, INFINIRT_MEMCPY_H2H));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED,
           infinirtMemcpyAsync(&byte, &byte, 1, INFINIRT_MEMCPY_H2H, stream));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtMemset(&byte, 0, 1));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtMemsetAsync(&byte, 0, 1, stream));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtStreamCreate(&stream));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtStreamSynchronize(stream));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtStreamWaitEvent(stream, event));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtStreamDestroy(stream));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtEventCreate(&event));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtEventRecord(event, stream));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtEventQuery(event, &status));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtEventSynchronize(event));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtEventElapsedTime(&ms, event, event));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtEventDestroy(event));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtDeviceSynchronize());
    OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
    OK(infinirtDeviceSynchronize());
}

/* One past the last: on a machine without NVIDIA GPUs that is NVIDIA's 0. */
static void on_a_device_that_is_not_there_every_call_says_so(void **state)
{
    (void)state;
    for (int type = INFINI_DEVICE_CPU; type <= INFINI_DEVICE_NVIDIA; type++) {
        infiniDevice_t device = (infiniDevice_t)type;
        size_t free_bytes, total_bytes;
        infiniopHandle_t handle;
        void *memory;
        int count;
        OK(infinirtGetDeviceCount(device, &count));
        EXPECT(DEVICE_NOT_FOUND, infinirtGetMemInfo(device, count, &free_bytes, &total_bytes));
        EXPECT(DEVICE_NOT_FOUND, infinirtSetDevice(device, count));
        EXPECT(DEVICE_NOT_FOUND, infinirtMalloc(&memory, 1));
        EXPECT(DEVICE_NOT_FOUND, infinirtStreamSynchronize(NULL));
        EXPECT(DEVICE_NOT_FOUND, infinirtDeviceSynchronize());
        EXPECT(DEVICE_NOT_FOUND, infiniopCreateHandle(&handle));
        assert_null(handle);
        EXPECT(NULL_POINTER, infinirtMalloc(NULL, 1));
    }
    OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_devices_that_are_served_are_counted),
        cmocka_unit_test(the_current_device_changes_even_where_it_is_refused),
        cmocka_unit_test(memory_is_allocated_copied_and_set),
        cmocka_unit_test(memory_calls_refuse_null_and_say_when_there_is_none),
        cmocka_unit_test(streams_have_nothing_to_wait_for),
        cmocka_unit_test(events_measure_time),
        cmocka_unit_test(memory_is_reported),
        cmocka_unit_test(graphs_are_not_for_the_cpu),
        cmocka_unit_test(on_a_device_not_served_every_call_says_so),
        cmocka_unit_test(on_a_device_that_is_not_there_every_call_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
