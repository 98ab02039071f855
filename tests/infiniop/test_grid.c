/* SPDX-License-Identifier: Apache-2.0 */
/* test_grid.c - the elementwise operators over a grid of strides, in-place modes and dtypes.
 *
 * Each cell compares with the oracle, and checks that nothing but the output's elements
 * was written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expected.h"

/* ---- the operators, and what they mean ---------------------------------------------------- */

static const float alpha = 0.25f, beta = 0.5f;

static infiniStatus_t create_hard_sigmoid(infiniopHandle_t handle,
                                          infiniopHardSigmoidBackwardDescriptor_t *desc,
                                          infiniopTensorDescriptor_t grad_input,
                                          infiniopTensorDescriptor_t input,
                                          infiniopTensorDescriptor_t grad_output)
{
    return infiniopCreateHardSigmoidBackwardDescriptor(handle, desc, grad_input, input,
                                                       grad_output, alpha, beta);
}

#define USE_SRC { "use_dst", VJP_ATTR_BOOL, { .b = 0 } }
#define REAL(name, value) { name, VJP_ATTR_F64, { .f64 = value } }

static const struct op {
    const char *name;
    infiniStatus_t (*create)(infiniopHandle_t, struct InfiniopDescriptor **,
                             infiniopTensorDescriptor_t, infiniopTensorDescriptor_t,
                             infiniopTensorDescriptor_t);
    infiniStatus_t (*workspace)(struct InfiniopDescriptor *, size_t *);
    infiniStatus_t (*run)(struct InfiniopDescriptor *, void *, size_t, void *, const void *,
                          const void *, void *);
    infiniStatus_t (*destroy)(struct InfiniopDescriptor *);
    const char *op; /* of vjp */
    vjp_attr attrs[2]; /* up to the first without a name */
} ops[] = {
    { "sigmoid", infiniopCreateSigmoidBackwardDescriptor, infiniopGetSigmoidBackwardWorkspaceSize,
      infiniopSigmoidBackward, infiniopDestroySigmoidBackwardDescriptor, "sigmoid_backward",
      { USE_SRC } },
    { "relu", infiniopCreateReluBackwardDescriptor, infiniopGetReluBackwardWorkspaceSize,
      infiniopReluBackward, infiniopDestroyReluBackwardDescriptor, "relu_backward", { USE_SRC } },
    { "hard sigmoid", create_hard_sigmoid, infiniopGetHardSigmoidBackwardWorkspaceSize,
      infiniopHardSigmoidBackward, infiniopDestroyHardSigmoidBackwardDescriptor,
      "hard_sigmoid_backward", { REAL("alpha", 0.25), REAL("beta", 0.5) } },
};

/* ---- the grid ----------------------------------------------------------------------------- */

enum { OUT, IN, GRAD };

static const struct layout {
    const char *name;
    size_t ndim;
    size_t shape[MAX_RANK];
    int given[3]; /* 0: strides NULL */
    ptrdiff_t strides[3][MAX_RANK];
} layouts[] = {
    { "one element", 0, { 0 }, { 0, 0, 0 }, { { 0 } } },
    { "a vector", 1, { 37 }, { 0, 0, 0 }, { { 0 } } },
    { "dense", 2, { 13, 4 }, { 0, 0, 0 }, { { 0 } } },
    { "padded rows", 2, { 13, 4 }, { 1, 1, 1 }, { { 10, 1 }, { 10, 1 }, { 10, 1 } } },
    { "one padded", 3, { 13, 4, 4 }, { 1, 0, 1 }, { { 20, 4, 1 }, { 0 }, { 28, 7, 1 } } },
    { "rows and columns repeated", 2, { 13, 4 }, { 1, 1, 1 }, { { 4, 1 }, { 0, 1 }, { 1, 0 } } },
    { "a scalar repeated", 3, { 4, 5, 6 }, { 0, 1, 0 }, { { 0 }, { 0, 0, 0 }, { 0 } } },
    { "both repeated", 2, { 16, 33 }, { 0, 1, 1 }, { { 0 }, { 0, 0 }, { 0, 1 } } },
    { "transposed output", 2, { 16, 33 }, { 1, 0, 1 }, { { 1, 16 }, { 0 }, { 1, 16 } } },
    { "transposed input", 2, { 40, 70 }, { 0, 1, 0 }, { { 0 }, { 1, 40 }, { 0 } } },
    { "backwards", 2, { 5, 7 }, { 1, 1, 1 }, { { -7, -1 }, { 7, -1 }, { -14, 2 } } },
    { "stride 0 on a dim of 1", 3, { 1, 13, 4 }, { 1, 1, 1 },
      { { 0, 4, 1 }, { 9, 4, 1 }, { -3, 0, 1 } } },
    { "permuted, five dims", 5, { 2, 3, 4, 5, 6 }, { 1, 0, 1 },
      { { 1, 2, 180, 36, 6 }, { 0 }, { 360, 0, 30, 6, 1 } } },
    { "many rows", 2, { 16, 563 }, { 1, 0, 1 }, { { 600, 1 }, { 0 }, { 0, 1 } } },
    { "many elements", 3, { 4, 4, 563 }, { 0, 0, 0 }, { { 0 } } },
    { "no rows", 2, { 0, 4 }, { 0, 0, 0 }, { { 0 } } },
    { "nothing within", 3, { 3, 0, 4 }, { 0, 1, 0 }, { { 0 }, { 0, 0, 0 }, { 0 } } },
};

/* Which inputs are the output's own memory. */
static const struct mode {
    const char *name;
    int in, grad;
} modes[] = {
    { "apart", 0, 0 },
    { "in place of input", 1, 0 },
    { "in place of grad_output", 0, 1 },
    { "all one", 1, 1 },
};

static infiniopTensorDescriptor_t describe(const tensor *t, int given)
{
    infiniopTensorDescriptor_t desc;
    OK(infiniopCreateTensorDescriptor(&desc, t->ndim, t->ndim ? t->shape : NULL,
                                      given ? t->strides : NULL, t->dtype));
    return desc;
}

static void run_op(infiniopHandle_t handle, const struct op *op, const tensor *const tensors[3],
                   const int given[3])
{
    struct InfiniopDescriptor *desc;
    infiniopTensorDescriptor_t descs[3];
    size_t workspace_size = 1;
    for (int i = 0; i < 3; i++)
        descs[i] = describe(tensors[i], given[i]);
    OK(op->create(handle, &desc, descs[OUT], descs[IN], descs[GRAD]));
    for (int i = 0; i < 3; i++) /* the operator has taken what it needs */
        OK(infiniopDestroyTensorDescriptor(descs[i]));
    OK(op->workspace(desc, &workspace_size));
    assert_int_equal(workspace_size, 0);
    OK(op->run(desc, NULL, 0, tensor_data(tensors[OUT]), tensor_data(tensors[IN]),
               tensor_data(tensors[GRAD]), NULL));
    OK(op->destroy(desc));
}

static char *copy_of(const tensor *t)
{
    char *copy = malloc(t->storage_size);
    assert_non_null(copy);
    return memcpy(copy, t->storage, t->storage_size);
}

static void check_cell(infiniopHandle_t handle, const struct op *op, const struct layout *layout,
                       const struct mode *mode, infiniDtype_t dtype)
{
    const int given[3] = { layout->given[OUT], layout->given[mode->in ? OUT : IN],
                           layout->given[mode->grad ? OUT : GRAD] };
    tensor made[3];
    const tensor *tensors[3];
    char *before[3];
    for (int i = 0; i < 3; i++) {
        made[i] = tensor_make(dtype, layout->ndim, layout->shape,
                              layout->given[i] ? layout->strides[i] : NULL, 17u + (unsigned)i);
        before[i] = copy_of(&made[i]);
        tensors[i] = (i == IN && mode->in) || (i == GRAD && mode->grad) ? &made[OUT] : &made[i];
    }
    const tensor *const in_order[] = { tensors[IN], tensors[GRAD], tensors[OUT] };
    problem p = problem_start(op->op);
    for (size_t i = 0; i < COUNT(op->attrs) && op->attrs[i].name; i++)
        problem_add_attr(&p, op->attrs[i]);
    expected e = expected_of(&p, in_order);
    run_op(handle, op, tensors, given);
    expected_check(&e, in_order + 2);
    assert_guards_intact(&made[OUT], before[OUT]);
    assert_memory_equal(made[IN].storage, before[IN], made[IN].storage_size);
    assert_memory_equal(made[GRAD].storage, before[GRAD], made[GRAD].storage_size);
    for (int i = 0; i < 3; i++) {
        free(before[i]);
        tensor_free(&made[i]);
    }
}

static void gradients_are_right_for_every_layout_mode_and_dtype(void **state)
{
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t o = 0; o < COUNT(ops); o++)
        for (size_t l = 0; l < COUNT(layouts); l++)
            for (size_t m = 0; m < COUNT(modes); m++)
                for (size_t t = 0; t < COUNT(infini_dtypes); t++)
                    check_cell(handle, &ops[o], &layouts[l], &modes[m], infini_dtypes[t]);
    OK(infiniopDestroyHandle(handle));
}

/* Where s rounds to 1, grad_output * s * (1 - s) as written is 0. */
static void sigmoid_keeps_the_gradient_of_large_inputs(void **state)
{
    infiniopHandle_t handle = cpu_handle();
    struct InfiniopDescriptor *desc;
    infiniopTensorDescriptor_t vector;
    const size_t shape[] = { 2 };
    float input[] = { 30, -30 }, grad_output[] = { 1, 1 }, grad_input[2];
    (void)state;
    OK(infiniopCreateTensorDescriptor(&vector, 1, shape, NULL, INFINI_DTYPE_F32));
    OK(infiniopCreateSigmoidBackwardDescriptor(handle, &desc, vector, vector, vector));
    OK(infiniopSigmoidBackward(desc, NULL, 0, grad_input, input, grad_output, NULL));
    for (int i = 0; i < 2; i++)
        assert_true(fabs(grad_input[i] - exp(-30)) <= 1e-6 * exp(-30));
    OK(infiniopDestroySigmoidBackwardDescriptor(desc));
    OK(infiniopDestroyTensorDescriptor(vector));
    OK(infiniopDestroyHandle(handle));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_right_for_every_layout_mode_and_dtype),
        cmocka_unit_test(sigmoid_keeps_the_gradient_of_large_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
