/* SPDX-License-Identifier: Apache-2.0 */
/* test_sums.c - the operators that sum, SoftmaxBackward and PReluBackward, against the oracle:
 * argument order, axes, slopes, dtypes, in place, and the workspace. */
#include <stdlib.h>

#include "expected.h"

static void *workspace_of(size_t size)
{
    void *workspace = size > 0 ? malloc(size) : NULL;
    assert_true(workspace || size == 0);
    return workspace;
}

/* ---- softmax ------------------------------------------------------------------------------ */

static void run_softmax(infiniopHandle_t handle, const tensor *grad_input, const tensor *output,
                        const tensor *grad_output, int axis)
{
    infiniopSoftmaxBackwardDescriptor_t desc;
    infiniopTensorDescriptor_t out = tensor_describe(grad_input), y = tensor_describe(output),
                               dy = tensor_describe(grad_output);
    size_t size;
    OK(infiniopCreateSoftmaxBackwardDescriptor(handle, &desc, out, y, dy, axis));
    OK(infiniopDestroyTensorDescriptor(out));
    OK(infiniopDestroyTensorDescriptor(y));
    OK(infiniopDestroyTensorDescriptor(dy));
    OK(infiniopGetSoftmaxBackwardWorkspaceSize(desc, &size));
    void *workspace = workspace_of(size);
    OK(infiniopSoftmaxBackward(desc, workspace, size, tensor_data(grad_input), tensor_data(output),
                               tensor_data(grad_output), NULL));
    free(workspace);
    OK(infiniopDestroySoftmaxBackwardDescriptor(desc));
}

/* grad_input may be either of the inputs. */
static void check_softmax(infiniopHandle_t handle, const tensor *grad_input, const tensor *output,
                          const tensor *grad_output, int axis)
{
    const tensor *const tensors[] = { grad_output, output, NULL, NULL, grad_input };
    problem p = problem_start("softmax_backward");
    problem_add_attr(&p, vjp_attr_s64("axis", axis));
    expected e = expected_of(&p, tensors);
    run_softmax(handle, grad_input, output, grad_output, axis);
    expected_check(&e, &grad_input);
}

static void softmax_is_right_along_every_axis(void **state)
{
    static const size_t shape[] = { 3, 5, 70 };
    static const ptrdiff_t strides[] = { 1, 3, 15 };
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t t = 0; t < COUNT(infini_dtypes); t++)
        for (int axis = -3; axis < 3; axis++)
            for (int place = 0; place < 3; place++) { /* apart, on output, on grad_output */
                tensor y = tensor_make(infini_dtypes[t], 3, shape, NULL, 3);
                tensor dy = tensor_make(infini_dtypes[t], 3, shape, strides, 5);
                tensor dx = tensor_make(infini_dtypes[t], 3, shape, NULL, 7);
                check_softmax(handle, place == 0 ? &dx : place == 1 ? &y : &dy, &y, &dy, axis);
                tensor_free(&y);
                tensor_free(&dy);
                tensor_free(&dx);
            }
    OK(infiniopDestroyHandle(handle));
}

static void softmax_may_write_f32_from_16_bit_inputs(void **state)
{
    static const size_t shape[] = { 4, 9 };
    infiniopHandle_t handle = cpu_handle();
    tensor y = tensor_make(INFINI_DTYPE_BF16, 2, shape, NULL, 3);
    tensor dy = tensor_make(INFINI_DTYPE_BF16, 2, shape, NULL, 5);
    tensor dx = tensor_make(INFINI_DTYPE_F32, 2, shape, NULL, 7);
    (void)state;
    check_softmax(handle, &dx, &y, &dy, 1);
    tensor_free(&y);
    tensor_free(&dy);
    tensor_free(&dx);
    OK(infiniopDestroyHandle(handle));
}

/* ---- prelu -------------------------------------------------------------------------------- */

/* The five tensors of a call, in the order of infiniop's arguments. */
struct prelu {
    tensor grad_input, grad_slope, input, slope, grad_output;
};

static infiniopPReluBackwardDescriptor_t create_prelu(infiniopHandle_t handle,
                                                      const struct prelu *p)
{
    infiniopPReluBackwardDescriptor_t desc;
    const tensor *tensors[] = { &p->grad_input, &p->grad_slope, &p->input, &p->slope,
                                &p->grad_output };
    infiniopTensorDescriptor_t d[5];
    for (int i = 0; i < 5; i++)
        d[i] = tensor_describe(tensors[i]);
    OK(infiniopCreatePReluBackwardDescriptor(handle, &desc, d[0], d[1], d[2], d[3], d[4]));
    for (int i = 0; i < 5; i++)
        OK(infiniopDestroyTensorDescriptor(d[i]));
    return desc;
}

static infiniStatus_t run_prelu(infiniopPReluBackwardDescriptor_t desc, const struct prelu *p,
                                void *workspace, size_t size)
{
    return infiniopPReluBackward(desc, workspace, size, tensor_data(&p->grad_input),
                                 tensor_data(&p->grad_slope), tensor_data(&p->input),
                                 tensor_data(&p->slope), tensor_data(&p->grad_output), NULL);
}

static void free_prelu(struct prelu *p)
{
    tensor_free(&p->grad_input);
    tensor_free(&p->grad_slope);
    tensor_free(&p->input);
    tensor_free(&p->slope);
    tensor_free(&p->grad_output);
}

static void check_prelu(infiniopHandle_t handle, infiniDtype_t dtype, infiniDtype_t slope_dtype,
                        size_t slope_ndim, const size_t *slope_shape)
{
    static const size_t shape[] = { 6, 5, 4, 40 };
    struct prelu p = { .grad_input = tensor_make(dtype, 4, shape, NULL, 1),
                       .grad_slope = tensor_make(slope_dtype, slope_ndim, slope_shape, NULL, 2),
                       .input = tensor_make(dtype, 4, shape, NULL, 3),
                       .slope = tensor_make(slope_dtype, slope_ndim, slope_shape, NULL, 4),
                       .grad_output = tensor_make(dtype, 4, shape, NULL, 5) };
    const tensor *const tensors[] = { &p.input, &p.slope, &p.grad_output, &p.grad_input,
                                      &p.grad_slope };
    infiniopPReluBackwardDescriptor_t desc = create_prelu(handle, &p);
    size_t size;
    problem channels_first = problem_start("prelu_backward");
    problem_add_attr(&channels_first, vjp_attr_str("data_format", "NCX"));
    expected e = expected_of(&channels_first, tensors);
    OK(infiniopGetPReluBackwardWorkspaceSize(desc, &size));
    void *workspace = workspace_of(size);
    OK(run_prelu(desc, &p, workspace, size));
    expected_check(&e, tensors + 3);
    free(workspace);
    OK(infiniopDestroyPReluBackwardDescriptor(desc));
    free_prelu(&p);
}

static void prelu_takes_a_slope_per_channel_per_tensor_or_aligned(void **state)
{
    static const size_t channels[] = { 5 }, one[] = { 1 }, aligned[] = { 5, 1, 1 };
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t t = 0; t < COUNT(infini_dtypes); t++) {
        infiniDtype_t dtype = infini_dtypes[t];
        check_prelu(handle, dtype, dtype, 1, channels);
        check_prelu(handle, dtype, dtype, 3, aligned);
        check_prelu(handle, dtype, dtype, 1, one);
        check_prelu(handle, dtype, dtype, 0, one);
        if (dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16)
            check_prelu(handle, dtype, INFINI_DTYPE_F32, 1, channels);
    }
    OK(infiniopDestroyHandle(handle));
}

static void a_workspace_that_is_too_small_is_refused(void **state)
{
    static const size_t shape[] = { 512, 512 }, slope[] = { 512 };
    infiniopHandle_t handle = cpu_handle();
    struct prelu p = { .grad_input = tensor_make(INFINI_DTYPE_F32, 2, shape, NULL, 1),
                       .grad_slope = tensor_make(INFINI_DTYPE_F32, 1, slope, NULL, 2),
                       .input = tensor_make(INFINI_DTYPE_F32, 2, shape, NULL, 3),
                       .slope = tensor_make(INFINI_DTYPE_F32, 1, slope, NULL, 4),
                       .grad_output = tensor_make(INFINI_DTYPE_F32, 2, shape, NULL, 5) };
    infiniopPReluBackwardDescriptor_t desc = create_prelu(handle, &p);
    double before = tensor_get(&p.grad_input, 0);
    size_t size;
    (void)state;
    OK(infiniopGetPReluBackwardWorkspaceSize(desc, &size));
    assert_true(size > 0);
    char *workspace = workspace_of(size + 1);
    EXPECT(INSUFFICIENT_WORKSPACE, run_prelu(desc, &p, workspace, size - 1));
    EXPECT(INSUFFICIENT_WORKSPACE, run_prelu(desc, &p, workspace, 0));
    EXPECT(INSUFFICIENT_WORKSPACE, run_prelu(desc, &p, NULL, size));
    assert_true(tensor_get(&p.grad_input, 0) == before);
    OK(run_prelu(desc, &p, workspace + 1, size)); /* of any alignment */
    free(workspace);
    OK(infiniopDestroyPReluBackwardDescriptor(desc));
    free_prelu(&p);
    OK(infiniopDestroyHandle(handle));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_is_right_along_every_axis),
        cmocka_unit_test(softmax_may_write_f32_from_16_bit_inputs),
        cmocka_unit_test(prelu_takes_a_slope_per_channel_per_tensor_or_aligned),
        cmocka_unit_test(a_workspace_that_is_too_small_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
