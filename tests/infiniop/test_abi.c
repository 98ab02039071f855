/* SPDX-License-Identifier: Apache-2.0 */
/* test_abi.c - the binary interface, as a program compiled with InfiniCore's headers sees it.
 *
 * The numbers are typed here a second time, from InfiniCore. The client at the end loads the
 * libraries by name and calls them with plain ints and pointers, never with our headers' types. */
#include <dlfcn.h>
#include <string.h>

#include "support.h"

static const struct {
    const char *name;
    long value, expected;
} numbers[] = {
#define NUMBER(name, expected) { #name, (long)(name), expected }
    NUMBER(INFINI_STATUS_SUCCESS, 0),
    NUMBER(INFINI_STATUS_INTERNAL_ERROR, 1),
    NUMBER(INFINI_STATUS_NOT_IMPLEMENTED, 2),
    NUMBER(INFINI_STATUS_BAD_PARAM, 3),
    NUMBER(INFINI_STATUS_NULL_POINTER, 4),
    NUMBER(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, 5),
    NUMBER(INFINI_STATUS_DEVICE_NOT_FOUND, 6),
    NUMBER(INFINI_STATUS_DEVICE_NOT_INITIALIZED, 7),
    NUMBER(INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED, 8),
    NUMBER(INFINI_STATUS_BAD_TENSOR_DTYPE, 10),
    NUMBER(INFINI_STATUS_BAD_TENSOR_SHAPE, 11),
    NUMBER(INFINI_STATUS_BAD_TENSOR_STRIDES, 12),
    NUMBER(INFINI_STATUS_INSUFFICIENT_WORKSPACE, 13),
    NUMBER(INFINI_DEVICE_CPU, 0),
    NUMBER(INFINI_DEVICE_NVIDIA, 1),
    NUMBER(INFINI_DEVICE_CAMBRICON, 2),
    NUMBER(INFINI_DEVICE_ASCEND, 3),
    NUMBER(INFINI_DEVICE_METAX, 4),
    NUMBER(INFINI_DEVICE_MOORE, 5),
    NUMBER(INFINI_DEVICE_ILUVATAR, 6),
    NUMBER(INFINI_DEVICE_KUNLUN, 7),
    NUMBER(INFINI_DEVICE_HYGON, 8),
    NUMBER(INFINI_DEVICE_SUGON, 8),
    NUMBER(INFINI_DEVICE_QY, 9),
    NUMBER(INFINI_DEVICE_ALI, 10),
    NUMBER(INFINI_DEVICE_TYPE_COUNT, 11),
    NUMBER(INFINI_DTYPE_INVALID, 0),
    NUMBER(INFINI_DTYPE_BYTE, 1),
    NUMBER(INFINI_DTYPE_BOOL, 2),
    NUMBER(INFINI_DTYPE_I8, 3),
    NUMBER(INFINI_DTYPE_I16, 4),
    NUMBER(INFINI_DTYPE_I32, 5),
    NUMBER(INFINI_DTYPE_I64, 6),
    NUMBER(INFINI_DTYPE_U8, 7),
    NUMBER(INFINI_DTYPE_U16, 8),
    NUMBER(INFINI_DTYPE_U32, 9),
    NUMBER(INFINI_DTYPE_U64, 10),
    NUMBER(INFINI_DTYPE_F8, 11),
    NUMBER(INFINI_DTYPE_F16, 12),
    NUMBER(INFINI_DTYPE_F32, 13),
    NUMBER(INFINI_DTYPE_F64, 14),
    NUMBER(INFINI_DTYPE_C16, 15),
    NUMBER(INFINI_DTYPE_C32, 16),
    NUMBER(INFINI_DTYPE_C64, 17),
    NUMBER(INFINI_DTYPE_C128, 18),
    NUMBER(INFINI_DTYPE_BF16, 19),
    NUMBER(INFINIRT_MEMCPY_H2H, 0),
    NUMBER(INFINIRT_MEMCPY_H2D, 1),
    NUMBER(INFINIRT_MEMCPY_D2H, 2),
    NUMBER(INFINIRT_MEMCPY_D2D, 3),
    NUMBER(INFINIRT_EVENT_COMPLETE, 0),
    NUMBER(INFINIRT_EVENT_NOT_READY, 1),
    NUMBER(INFINIRT_EVENT_DEFAULT, 0),
    NUMBER(INFINIRT_EVENT_DISABLE_TIMING, 1),
    NUMBER(INFINIRT_EVENT_BLOCKING_SYNC, 2),
    NUMBER(INFINIRT_STREAM_CAPTURE_MODE_GLOBAL, 0),
    NUMBER(INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1),
    NUMBER(INFINIRT_STREAM_CAPTURE_MODE_RELAXED, 2),
    NUMBER(INFINIRT_RESOURCE_FIELD_NONE, 0),
    NUMBER(INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY, 1),
    NUMBER(INFINIRT_RESOURCE_FIELD_COMPUTE_UTILIZATION, 2),
    NUMBER(INFINIRT_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION, 4),
    NUMBER(INFINIRT_RESOURCE_FIELD_KERNEL_TIME_RATIO, 8),
    NUMBER(INFINIRT_RESOURCE_FIELD_COMMUNICATION, 16),
    { "sizeof infiniStatus_t", sizeof(infiniStatus_t), 4 },
    { "sizeof infiniDevice_t", sizeof(infiniDevice_t), 4 },
    { "sizeof infiniDtype_t", sizeof(infiniDtype_t), 4 },
    { "sizeof infinirtMemcpyKind_t", sizeof(infinirtMemcpyKind_t), 4 },
    { "sizeof infinirtEventStatus_t", sizeof(infinirtEventStatus_t), 4 },
#define OFFSET(field, expected) \
    { "offset of " #field, offsetof(infinirtDeviceResourceSnapshot_t, field), expected }
    OFFSET(device_type, 0),
    OFFSET(device_id, 4),
    OFFSET(valid_fields, 8),
    OFFSET(estimated_fields, 16),
    OFFSET(free_bytes, 24),
    OFFSET(total_bytes, 32),
    OFFSET(used_bytes, 40),
    OFFSET(reserved_bytes, 48),
    OFFSET(compute_utilization, 56),
    OFFSET(memory_bandwidth_utilization, 60),
    OFFSET(kernel_time_ratio, 64),
    OFFSET(communication_time_ratio, 68),
    OFFSET(communication_bytes, 72),
    { "sizeof snapshot", sizeof(infinirtDeviceResourceSnapshot_t), 80 },
};

static void numbers_are_infinicores(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (numbers[i].value != numbers[i].expected)
            fail_msg("%s is %ld, not %ld", numbers[i].name, numbers[i].value,
                     numbers[i].expected);
}

/* ---- a client that has never seen our headers --------------------------------------------- */

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail_msg("%s is missing", name);
    return found;
}

/* ISO C has no cast from void * to a function; POSIX guarantees that the bytes may be copied. */
#define LOAD(pointer, library, name)                  \
    do {                                              \
        void *address = function(library, name);      \
        memcpy(&(pointer), &address, sizeof(address)); \
    } while (0)

static void a_foreign_client_runs(void **state)
{
    int (*create_handle)(void **);
    int (*create_tensor)(void **, size_t, const size_t *, const ptrdiff_t *, int);
    int (*create)(void *, void **, void *, void *, void *);
    int (*workspace)(void *, size_t *);
    int (*run)(void *, void *, size_t, void *, const void *, const void *, void *);
    int (*destroy)(void *), (*destroy_tensor)(void *), (*destroy_handle)(void *);
    void *library = dlopen(INFINIOP_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *handle, *tensor, *desc;
    double input[3] = { 0, 0, 0 }, grad_output[3] = { 4, 8, 12 };
    const size_t shape[] = { 3 };
    size_t size = 99;
    int head[2];
    (void)state;
    assert_non_null(library);
    LOAD(create_handle, library, "infiniopCreateHandle");
    LOAD(create_tensor, library, "infiniopCreateTensorDescriptor");
    LOAD(create, library, "infiniopCreateSigmoidBackwardDescriptor");
    LOAD(workspace, library, "infiniopGetSigmoidBackwardWorkspaceSize");
    LOAD(run, library, "infiniopSigmoidBackward");
    LOAD(destroy, library, "infiniopDestroySigmoidBackwardDescriptor");
    LOAD(destroy_tensor, library, "infiniopDestroyTensorDescriptor");
    LOAD(destroy_handle, library, "infiniopDestroyHandle");
    assert_int_equal(create_handle(&handle), 0);
    assert_int_equal(create_tensor(&tensor, 1, shape, NULL, 14), 0);
    assert_int_equal(create(handle, &desc, tensor, tensor, tensor), 0);
    assert_int_equal(destroy_tensor(tensor), 0);
    assert_int_equal(workspace(desc, &size), 0);
    assert_int_equal(size, 0);
    assert_int_equal(run(desc, NULL, 0, grad_output, input, grad_output, NULL), 0);
    assert_true(grad_output[0] == 1 && grad_output[1] == 2 && grad_output[2] == 3);
    memcpy(head, handle, sizeof(head)); /* InfiniCore's Python reads the device there */
    assert_true(head[0] == 0 && head[1] == 0);
    memset(head, 1, sizeof(head));
    memcpy(head, desc, sizeof(head));
    assert_true(head[0] == 0 && head[1] == 0);
    assert_int_equal(destroy(desc), 0);
    assert_int_equal(destroy_handle(handle), 0);
    dlclose(library);
}

static void two_libraries_have_one_current_device(void **state)
{
    int (*set_device)(int, int), (*get_device)(int *, int *), (*create_handle)(void **);
    void *infinirt = dlopen(INFINIRT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *infiniop = dlopen(INFINIOP_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *handle;
    int device = -1, id = -1;
    (void)state;
    assert_true(infinirt && infiniop);
    LOAD(set_device, infinirt, "infinirtSetDevice");
    LOAD(get_device, infiniop, "infinirtGetDevice"); /* found through its dependency */
    LOAD(create_handle, infiniop, "infiniopCreateHandle");
    assert_int_equal(set_device(3, 7), 5);
    assert_int_equal(get_device(&device, &id), 0);
    assert_true(device == 3 && id == 7);
    assert_int_equal(create_handle(&handle), 5);
    assert_int_equal(set_device(0, 0), 0);
    assert_int_equal(create_handle(&handle), 0);
    OK(infiniopDestroyHandle(handle)); /* and the program's own links are the same again */
    dlclose(infiniop);
    dlclose(infinirt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_infinicores),
        cmocka_unit_test(a_foreign_client_runs),
        cmocka_unit_test(two_libraries_have_one_current_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
