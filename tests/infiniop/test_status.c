/* SPDX-License-Identifier: Apache-2.0 */
/* test_status.c - every status that SigmoidBackward's specification names and a caller can reach,
 * and that no broken call crashes. docs/infiniop.md lists the statuses that cannot be reached. */
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

static infiniopHandle_t handle;

static int set_up(void **state)
{
    (void)state;
    handle = cpu_handle();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(infiniopDestroyHandle(handle));
    return 0;
}

static infiniopTensorDescriptor_t make(infiniDtype_t dtype, size_t ndim, const size_t *shape,
                                       const ptrdiff_t *strides)
{
    infiniopTensorDescriptor_t desc;
    OK(infiniopCreateTensorDescriptor(&desc, ndim, shape, strides, dtype));
    return desc;
}

static infiniopTensorDescriptor_t matrix(infiniDtype_t dtype, size_t rows, size_t columns)
{
    const size_t shape[] = { rows, columns };
    return make(dtype, 2, shape, NULL);
}

/* What does Create answer? The descriptors are destroyed. */
static infiniStatus_t create(infiniopTensorDescriptor_t grad_input,
                             infiniopTensorDescriptor_t input,
                             infiniopTensorDescriptor_t grad_output)
{
    static int untouched;
    infiniopSigmoidBackwardDescriptor_t desc = (infiniopSigmoidBackwardDescriptor_t)&untouched;
    infiniStatus_t status =
        infiniopCreateSigmoidBackwardDescriptor(handle, &desc, grad_input, input, grad_output);
    assert_true(status == INFINI_STATUS_SUCCESS ? desc != NULL : desc == NULL);
    OK(infiniopDestroySigmoidBackwardDescriptor(desc));
    OK(infiniopDestroyTensorDescriptor(grad_input));
    if (input != grad_input)
        OK(infiniopDestroyTensorDescriptor(input));
    if (grad_output != grad_input && grad_output != input)
        OK(infiniopDestroyTensorDescriptor(grad_output));
    return status;
}

/* An output of this layout, with dense inputs. */
static infiniStatus_t create_output(size_t ndim, const size_t *shape, const ptrdiff_t *strides)
{
    return create(make(INFINI_DTYPE_F32, ndim, shape, strides),
                  make(INFINI_DTYPE_F32, ndim, shape, NULL),
                  make(INFINI_DTYPE_F32, ndim, shape, NULL));
}

static infiniopSigmoidBackwardDescriptor_t sigmoid(size_t rows, size_t columns)
{
    infiniopSigmoidBackwardDescriptor_t desc;
    infiniopTensorDescriptor_t t = matrix(INFINI_DTYPE_F32, rows, columns);
    OK(infiniopCreateSigmoidBackwardDescriptor(handle, &desc, t, t, t));
    OK(infiniopDestroyTensorDescriptor(t));
    return desc;
}

/* ---- create ------------------------------------------------------------------------------- */

static void create_refuses_null(void **state)
{
    infiniopTensorDescriptor_t t = matrix(INFINI_DTYPE_F32, 2, 3);
    infiniopSigmoidBackwardDescriptor_t desc;
    (void)state;
    EXPECT(BAD_PARAM, infiniopCreateSigmoidBackwardDescriptor(NULL, &desc, t, t, t));
    assert_null(desc);
    EXPECT(BAD_PARAM, infiniopCreateSigmoidBackwardDescriptor(handle, NULL, t, t, t));
    EXPECT(BAD_PARAM, infiniopCreateSigmoidBackwardDescriptor(handle, &desc, NULL, t, t));
    EXPECT(BAD_PARAM, infiniopCreateSigmoidBackwardDescriptor(handle, &desc, t, NULL, t));
    EXPECT(BAD_PARAM, infiniopCreateSigmoidBackwardDescriptor(handle, &desc, t, t, NULL));
    EXPECT(BAD_PARAM, infiniopCreateSigmoidBackwardDescriptor(NULL, NULL, NULL, NULL, NULL));
    EXPECT(BAD_PARAM, infiniopCreatePReluBackwardDescriptor(handle, &desc, t, NULL, t, t, t));
    EXPECT(BAD_PARAM, infiniopCreateSoftmaxBackwardDescriptor(handle, &desc, t, t, NULL, 1));
    OK(infiniopDestroyTensorDescriptor(t));
}

static void create_refuses_every_other_dtype(void **state)
{
    (void)state;
    for (int dtype = -1; dtype <= INFINI_DTYPE_BF16 + 4; dtype++) {
        int served = dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_F32 ||
                     dtype == INFINI_DTYPE_F64 || dtype == INFINI_DTYPE_BF16;
        infiniopTensorDescriptor_t t = matrix((infiniDtype_t)dtype, 2, 3);
        assert_int_equal(create(t, t, t), served ? INFINI_STATUS_SUCCESS
                                                 : INFINI_STATUS_BAD_TENSOR_DTYPE);
    }
}

static void create_refuses_dtypes_that_differ(void **state)
{
    (void)state;
    EXPECT(BAD_TENSOR_DTYPE, create(matrix(INFINI_DTYPE_F32, 2, 3), matrix(INFINI_DTYPE_F16, 2, 3),
                                    matrix(INFINI_DTYPE_F32, 2, 3)));
    EXPECT(BAD_TENSOR_DTYPE, create(matrix(INFINI_DTYPE_F32, 2, 3), matrix(INFINI_DTYPE_F32, 2, 3),
                                    matrix(INFINI_DTYPE_F64, 2, 3)));
    EXPECT(BAD_TENSOR_DTYPE, create(matrix(INFINI_DTYPE_F32, 2, 3), matrix(INFINI_DTYPE_F16, 2, 3),
                                    matrix(INFINI_DTYPE_F16, 2, 3)));
}

static void create_refuses_shapes_that_differ(void **state)
{
    static const size_t row[] = { 3 }, huge[] = { SIZE_MAX, 2 }, wide[] = { SIZE_MAX / 8, 8 };
    static const size_t many[13] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2 };
    (void)state;
    EXPECT(BAD_TENSOR_SHAPE, create(matrix(INFINI_DTYPE_F32, 2, 3), matrix(INFINI_DTYPE_F32, 2, 4),
                                    matrix(INFINI_DTYPE_F32, 2, 3)));
    EXPECT(BAD_TENSOR_SHAPE, create(matrix(INFINI_DTYPE_F32, 2, 3), matrix(INFINI_DTYPE_F32, 2, 3),
                                    matrix(INFINI_DTYPE_F32, 1, 3)));
    EXPECT(BAD_TENSOR_SHAPE, create(matrix(INFINI_DTYPE_F32, 2, 3), matrix(INFINI_DTYPE_F32, 2, 3),
                                    make(INFINI_DTYPE_F32, 1, row, NULL)));
    EXPECT(BAD_TENSOR_SHAPE, create_output(2, huge, NULL));
    EXPECT(BAD_TENSOR_SHAPE, create_output(2, wide, NULL));
    EXPECT(BAD_TENSOR_SHAPE, create_output(13, many, NULL));
}

static void create_refuses_an_output_that_repeats(void **state)
{
    static const size_t shape[] = { 13, 4 }, leading[] = { 1, 13, 4 }, small[] = { 2, 3 };
    (void)state;
    EXPECT(BAD_TENSOR_STRIDES, create_output(2, shape, (const ptrdiff_t[]){ 0, 1 }));
    EXPECT(BAD_TENSOR_STRIDES, create_output(2, shape, (const ptrdiff_t[]){ 1, 0 }));
    /* InfiniCore misses this one: a dim of 1 precedes the one that repeats. */
    EXPECT(BAD_TENSOR_STRIDES, create_output(3, leading, (const ptrdiff_t[]){ 52, 0, 1 }));
    EXPECT(BAD_TENSOR_STRIDES, create_output(2, small, (const ptrdiff_t[]){ 1, 1 }));
    EXPECT(BAD_TENSOR_STRIDES, create_output(2, small, (const ptrdiff_t[]){ 2, -1 }));
    OK(create_output(3, leading, (const ptrdiff_t[]){ 0, 4, 1 }));
    OK(create_output(2, small, (const ptrdiff_t[]){ -3, -1 }));
}

static void attributes_are_checked(void **state)
{
    infiniopTensorDescriptor_t t = matrix(INFINI_DTYPE_F32, 2, 3);
    infiniopTensorDescriptor_t scalar = make(INFINI_DTYPE_F32, 0, NULL, NULL);
    infiniopSoftmaxBackwardDescriptor_t desc;
    (void)state;
    for (int axis = -3; axis <= 2; axis++) {
        int valid = axis >= -2 && axis <= 1;
        assert_int_equal(infiniopCreateSoftmaxBackwardDescriptor(handle, &desc, t, t, t, axis),
                         valid ? INFINI_STATUS_SUCCESS : INFINI_STATUS_BAD_PARAM);
        OK(infiniopDestroySoftmaxBackwardDescriptor(desc));
    }
    EXPECT(BAD_TENSOR_SHAPE,
           infiniopCreateSoftmaxBackwardDescriptor(handle, &desc, scalar, scalar, scalar, 0));
    OK(infiniopDestroyTensorDescriptor(t));
    OK(infiniopDestroyTensorDescriptor(scalar));
}

/* ---- run ---------------------------------------------------------------------------------- */

static void run_refuses_null(void **state)
{
    infiniopSigmoidBackwardDescriptor_t desc = sigmoid(2, 3), empty = sigmoid(0, 3);
    float x[6] = { 0 }, g[6] = { 0 }, y[6] = { 0 };
    (void)state;
    EXPECT(BAD_PARAM, infiniopSigmoidBackward(NULL, NULL, 0, y, x, g, NULL));
    EXPECT(BAD_PARAM, infiniopSigmoidBackward(desc, NULL, 0, NULL, x, g, NULL));
    EXPECT(BAD_PARAM, infiniopSigmoidBackward(desc, NULL, 0, y, NULL, g, NULL));
    EXPECT(BAD_PARAM, infiniopSigmoidBackward(desc, NULL, 0, y, x, NULL, NULL));
    OK(infiniopSigmoidBackward(empty, NULL, 0, NULL, NULL, NULL, NULL));
    OK(infiniopDestroySigmoidBackwardDescriptor(desc));
    OK(infiniopDestroySigmoidBackwardDescriptor(empty));
}

static void run_refuses_overlap_and_misalignment(void **state)
{
    infiniopSigmoidBackwardDescriptor_t desc = sigmoid(2, 3);
    float memory[16] = { 0 }, other[8] = { 0 };
    (void)state;
    memory[4] = 42;
    EXPECT(BAD_PARAM, infiniopSigmoidBackward(desc, NULL, 0, memory + 1, memory, other, NULL));
    EXPECT(BAD_PARAM, infiniopSigmoidBackward(desc, NULL, 0, memory, other, memory + 5, NULL));
    EXPECT(BAD_PARAM,
           infiniopSigmoidBackward(desc, NULL, 0, (char *)memory + 2, other, other, NULL));
    assert_true(memory[4] == 42);
    OK(infiniopSigmoidBackward(desc, NULL, 0, memory, memory + 6, other, NULL));
    OK(infiniopSigmoidBackward(desc, NULL, 0, memory, memory, memory, NULL));
    OK(infiniopDestroySigmoidBackwardDescriptor(desc));
}

/* All operator descriptors are one C type: the compiler lets this through. */
static void run_refuses_another_operators_descriptor(void **state)
{
    infiniopSigmoidBackwardDescriptor_t desc = sigmoid(2, 3);
    float x[6] = { 0 }, g[6] = { 0 }, y[6] = { 0 };
    (void)state;
    EXPECT(BAD_PARAM, infiniopReluBackward(desc, NULL, 0, y, x, g, NULL));
    EXPECT(BAD_PARAM, infiniopPReluBackward(desc, NULL, 0, y, y, x, x, g, NULL));
    OK(infiniopDestroySigmoidBackwardDescriptor(desc));
}

/* ---- the rest of the life cycle ----------------------------------------------------------- */

static void results_through_null_are_refused(void **state)
{
    static const size_t shape[] = { 2 };
    infiniopSigmoidBackwardDescriptor_t desc = sigmoid(2, 3);
    infiniopTensorDescriptor_t t;
    infiniDevice_t type = INFINI_DEVICE_ALI;
    int id = -1;
    size_t size;
    (void)state;
    EXPECT(NULL_POINTER, infiniopGetSigmoidBackwardWorkspaceSize(desc, NULL));
    EXPECT(NULL_POINTER, infiniopGetSigmoidBackwardWorkspaceSize(NULL, &size));
    EXPECT(NULL_POINTER, infiniopCreateHandle(NULL));
    EXPECT(NULL_POINTER, infiniopCreateTensorDescriptor(NULL, 1, shape, NULL, INFINI_DTYPE_F32));
    EXPECT(NULL_POINTER, infiniopCreateTensorDescriptor(&t, 1, NULL, NULL, INFINI_DTYPE_F32));
    EXPECT(NULL_POINTER, infiniopGetDescriptorDeviceType(desc, NULL));
    EXPECT(NULL_POINTER, infiniopGetDescriptorDeviceType(NULL, &type));
    EXPECT(NULL_POINTER, infiniopGetDescriptorDeviceId(desc, NULL));
    EXPECT(NULL_POINTER, infiniopGetDescriptorDeviceId(NULL, &id));
    OK(infiniopGetDescriptorDeviceType(desc, &type));
    OK(infiniopGetDescriptorDeviceId(desc, &id));
    assert_int_equal(type, INFINI_DEVICE_CPU);
    assert_int_equal(id, 0);
    OK(infiniopDestroySigmoidBackwardDescriptor(desc));
}

static void destroying_null_succeeds(void **state)
{
    (void)state;
    OK(infiniopDestroyHandle(NULL));
    OK(infiniopDestroyTensorDescriptor(NULL));
    OK(infiniopDestroySigmoidBackwardDescriptor(NULL));
    OK(infiniopDestroyReluBackwardDescriptor(NULL));
    OK(infiniopDestroyHardSigmoidBackwardDescriptor(NULL));
    OK(infiniopDestroyPReluBackwardDescriptor(NULL));
    OK(infiniopDestroySoftmaxBackwardDescriptor(NULL));
}

static void a_handle_needs_a_device_that_is_there(void **state)
{
    infiniopHandle_t other = handle;
    (void)state;
    for (int device = INFINI_DEVICE_NVIDIA + 1; device <= INFINI_DEVICE_TYPE_COUNT; device++) {
        EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice((infiniDevice_t)device, 0));
        EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infiniopCreateHandle(&other));
        assert_null(other);
    }
    EXPECT(DEVICE_NOT_FOUND, infinirtSetDevice(INFINI_DEVICE_CPU, 1));
    EXPECT(DEVICE_NOT_FOUND, infiniopCreateHandle(&other));
    assert_null(other);
    OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
}

/* The variable is not a parameter of the call, so the status is not BAD_PARAM. */
static void a_handle_needs_an_instruction_set(void **state)
{
    infiniopHandle_t other = handle;
    const char *was = getenv("VJP_ISA");
    char kept[32];
    (void)state;
    snprintf(kept, sizeof(kept), "%s", was ? was : "");
    setenv("VJP_ISA", "sse9", 1);
    EXPECT(INTERNAL_ERROR, infiniopCreateHandle(&other));
    setenv("VJP_ISA", kept, 1); /* empty is as good as not set */
    assert_null(other);
}

static void a_descriptor_outlives_its_handle_and_keeps_its_device(void **state)
{
    infiniopHandle_t mine = cpu_handle(), kept = handle;
    float x = 0, g = 4, y = 0;
    (void)state;
    handle = mine;
    infiniopSigmoidBackwardDescriptor_t desc = sigmoid(1, 1);
    handle = kept;
    OK(infiniopDestroyHandle(mine));
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice(INFINI_DEVICE_METAX, 0));
    OK(infiniopSigmoidBackward(desc, NULL, 0, &y, &x, &g, NULL));
    assert_true(y == 1);
    OK(infiniopDestroySigmoidBackwardDescriptor(desc));
    OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_refuses_null),
        cmocka_unit_test(create_refuses_every_other_dtype),
        cmocka_unit_test(create_refuses_dtypes_that_differ),
        cmocka_unit_test(create_refuses_shapes_that_differ),
        cmocka_unit_test(create_refuses_an_output_that_repeats),
        cmocka_unit_test(attributes_are_checked),
        cmocka_unit_test(run_refuses_null),
        cmocka_unit_test(run_refuses_overlap_and_misalignment),
        cmocka_unit_test(run_refuses_another_operators_descriptor),
        cmocka_unit_test(results_through_null_are_refused),
        cmocka_unit_test(destroying_null_succeeds),
        cmocka_unit_test(a_handle_needs_a_device_that_is_there),
        cmocka_unit_test(a_handle_needs_an_instruction_set),
        cmocka_unit_test(a_descriptor_outlives_its_handle_and_keeps_its_device),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
