/* SPDX-License-Identifier: Apache-2.0 */
/* test_known_faults.c - the faults of tests/test_known_faults.c, tested in the infiniop interface:
 * with every operator and tensor that they apply to. */
#include <limits.h>
#include <string.h>

#include "operators.h"
#include "support.h"

enum { ROWS = 4, CHANNELS = 6 };

static infiniopHandle_t handle;
static const operator_values values = { 1, 0.25f, 0.5f };

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

typedef struct view {
    size_t ndim;
    size_t shape[4];
    int is_param, is_row;
} view;

/* The views of an operator on data of (rows, channels). */
static void plain(const operator *op, size_t rows, size_t channels, view *views)
{
    for (int i = 0; i < op->ntensors; i++) {
        views[i].ndim = operator_shape(op, i, rows, channels, views[i].shape);
        views[i].is_param = operator_is_param(op, i);
        views[i].is_row = views[i].ndim == 1 && !views[i].is_param;
    }
}

/* What Create says to the views, dense and of that dtype. There is a descriptor if and only if it
 * is content. */
static infiniStatus_t create(const operator *op, infiniDtype_t dtype, const view *views,
                             const operator_values *with)
{
    static int untouched;
    infiniopTensorDescriptor_t tensors[MOST_ARGUMENTS];
    any_descriptor desc = (any_descriptor)&untouched;
    for (int i = 0; i < op->ntensors; i++)
        OK(infiniopCreateTensorDescriptor(&tensors[i], views[i].ndim, views[i].shape, NULL,
                                          operator_dtype(op, i, dtype)));
    infiniStatus_t status = operator_create(op, handle, &desc, tensors, with);
    assert_true((status == INFINI_STATUS_SUCCESS) == (desc != NULL));
    OK(op->destroy(desc));
    for (int i = 0; i < op->ntensors; i++)
        OK(infiniopDestroyTensorDescriptor(tensors[i]));
    return status;
}

static int same_shape(const view *a, const view *b)
{
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, a->ndim * sizeof(a->shape[0])) == 0;
}

/* A weight may have any shape that is broadcast to the data, where no gradient must have the same;
 * what has an element per row may have the axis, of 1. */
static int is_weight_that_fits(const operator *op, int i, const view *was, const view *bent)
{
    static const size_t data[] = { ROWS, CHANNELS };
    if (strcmp(op->vjp_name, "cross_entropy") == 0 && !was->is_row) /* of any number of classes */
        return bent->ndim == 2 && bent->shape[0] == ROWS;
    if (was->is_row)
        return bent->ndim == 2 && bent->shape[0] == ROWS && bent->shape[1] == 1;
    if (!operator_is_param(op, i) || strcmp(op->vjp_name, "prelu_backward") == 0 || bent->ndim > 2)
        return 0;
    for (size_t d = 0; d < bent->ndim; d++)
        if (bent->shape[d] != 1 && bent->shape[d] != data[2 - bent->ndim + d])
            return 0;
    return 1;
}

/* Every operator with tensor after tensor bent to this shape: refused, but where it is the shape
 * that it has. In one dim the axis may be what is missing first. */
static void each_tensor_bent_is_refused(view bent)
{
    for (int k = 0; k < noperators; k++) {
        view views[MOST_ARGUMENTS];
        plain(&operators[k], ROWS, CHANNELS, views);
        OK(create(&operators[k], INFINI_DTYPE_F32, views, &values));
        for (int i = 0; i < operators[k].ntensors; i++) {
            view was = views[i];
            if (same_shape(&was, &bent) || is_weight_that_fits(&operators[k], i, &was, &bent))
                continue;
            views[i] = bent;
            infiniStatus_t status = create(&operators[k], INFINI_DTYPE_F32, views, &values);
            if (status != INFINI_STATUS_BAD_PARAM || bent.ndim > 1)
                EXPECT(BAD_TENSOR_SHAPE, status);
            views[i] = was;
        }
    }
}

static void tensorflow_cve_2021_37674_gradients_of_another_shape(void **state)
{
    (void)state;
    each_tensor_bent_is_refused((view){ 2, { ROWS + 1, CHANNELS }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { ROWS - 1, CHANNELS }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { ROWS, CHANNELS + 1 }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { ROWS, CHANNELS - 1 }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { CHANNELS, ROWS }, 0, 0 });
    each_tensor_bent_is_refused((view){ 1, { ROWS * CHANNELS }, 0, 0 });
}

static void tensorflow_cve_2021_29580_empty_tensors(void **state)
{
    (void)state;
    each_tensor_bent_is_refused((view){ 2, { 0, CHANNELS }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { ROWS, 0 }, 0, 0 });
    each_tensor_bent_is_refused((view){ 1, { 0 }, 0, 0 });
    for (int k = 0; k < noperators; k++) {
        view views[MOST_ARGUMENTS];
        plain(&operators[k], 0, CHANNELS, views);
        OK(create(&operators[k], INFINI_DTYPE_F32, views, &values));
        plain(&operators[k], ROWS, 0, views);
        OK(create(&operators[k], INFINI_DTYPE_F32, views, &values));
    }
}

static void tensorflow_cve_2022_23575_products_of_dims_that_wrap(void **state)
{
    static const view wraps[] = {
        { 2, { (size_t)1 << 32, (size_t)1 << 31 }, 0, 0 }, /* to -2^63 */
        { 2, { (size_t)1 << 32, (size_t)1 << 32 }, 0, 0 }, /* to 0 */
        { 2, { 0x5555555555555555, 3 }, 0, 0 },            /* to -1 */
        { 2, { SIZE_MAX, SIZE_MAX }, 0, 0 },               /* to 1 */
        { 2, { SIZE_MAX, 2 }, 0, 0 },
        { 3, { 641, 6700417, (size_t)1 << 32 }, 0, 0 }, /* to 2^32 */
    };
    (void)state;
    for (int k = 0; k < noperators; k++)
        for (size_t w = 0; w < COUNT(wraps); w++) {
            view views[MOST_ARGUMENTS];
            plain(&operators[k], ROWS, CHANNELS, views);
            for (int i = 0; i < operators[k].ntensors; i++)
                views[i] = views[i].is_param ? (view){ 1, { wraps[w].shape[1] }, 1, 0 }
                           : views[i].is_row ? (view){ 1, { wraps[w].shape[0] }, 0, 1 }
                                             : wraps[w];
            EXPECT(BAD_TENSOR_SHAPE, create(&operators[k], INFINI_DTYPE_F16, views, &values));
        }
}

static void tensorflow_cve_2022_21726_axes_out_of_bounds(void **state)
{
    static const int axes[] = { 2, 3, -3, 12, 13, 255, 256, -256, INT_MAX, INT_MIN };
    int asked = 0;
    (void)state;
    for (int k = 0; k < noperators; k++) {
        view views[MOST_ARGUMENTS];
        plain(&operators[k], ROWS, CHANNELS, views);
        for (size_t i = 0; i < COUNT(axes) && operators[k].needs == NEEDS_AXIS; i++, asked++)
            EXPECT(BAD_PARAM, create(&operators[k], INFINI_DTYPE_F32, views,
                                     &(operator_values){ .axis = axes[i] }));
    }
    assert_true(asked > 0);
}

static void tensorflow_cve_2022_41897_parameters_of_another_length(void **state)
{
    int asked = 0;
    (void)state;
    for (int k = 0; k < noperators; k++)
        for (size_t length = 0; length <= 3 * CHANNELS; length++) {
            view views[MOST_ARGUMENTS];
            plain(&operators[k], ROWS, CHANNELS, views);
            for (int i = 0; i < operators[k].ntensors; i++)
                if (views[i].is_param && length != CHANNELS && length != 1) {
                    views[i].shape[0] = length; /* the first alone, then both */
                    EXPECT(BAD_TENSOR_SHAPE,
                           create(&operators[k], INFINI_DTYPE_F32, views, &values));
                    asked++;
                }
        }
    assert_true(asked > 0);
}

/* Negative dims are very large ones here. */
static void tensorflow_cve_2023_25664_outputs_larger_than_the_gradient(void **state)
{
    (void)state;
    each_tensor_bent_is_refused((view){ 2, { ROWS * 1000, CHANNELS }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { ROWS, CHANNELS * 1000 }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { (size_t)-ROWS, CHANNELS }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { (size_t)-ROWS, (size_t)-CHANNELS }, 0, 0 });
}

/* What would broadcast is refused too. */
static void
pytorch_issue_195547_a_tensor_smaller_than_the_one_that_bounds_the_loop(void **state)
{
    (void)state;
    each_tensor_bent_is_refused((view){ 2, { 1, 1 }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { ROWS, 1 }, 0, 0 });
    each_tensor_bent_is_refused((view){ 2, { 1, CHANNELS }, 0, 0 });
    each_tensor_bent_is_refused((view){ 1, { 1 }, 0, 0 });
    each_tensor_bent_is_refused((view){ 1, { ROWS }, 0, 0 });
    each_tensor_bent_is_refused((view){ 3, { 1, ROWS, CHANNELS }, 0, 0 });
    each_tensor_bent_is_refused((view){ 0, { 0 }, 0, 0 });
}

/* Operators that work on rows refuse so many elements. */
static int has_rows(const operator *op)
{
    return strstr(op->vjp_name, "cross_entropy") || strstr(op->vjp_name, "softmax") ||
           strstr(op->vjp_name, "norm");
}

/* 2^59 + 1 elements of f32 are 4 bytes if their bits are counted in 64 bits, and 2^62 + 1 are if
 * their bytes are: the first must be found to overlap where they are 64 bytes apart. */
static void xnnpack_issue_10100_a_size_that_wraps_to_4_bytes(void **state)
{
    static char memory[512];
    (void)state;
    for (int k = 0; k < noperators; k++) {
        const operator *op = &operators[k];
        infiniopTensorDescriptor_t tensors[MOST_ARGUMENTS];
        any_descriptor desc;
        view views[MOST_ARGUMENTS];
        void *data[MOST_ARGUMENTS];
        plain(op, 1, ((size_t)1 << 62) + 1, views);
        EXPECT(BAD_TENSOR_SHAPE, create(op, INFINI_DTYPE_F32, views, &values));
        plain(op, 1, ((size_t)1 << 59) + 1, views);
        if (has_rows(op)) {
            EXPECT(BAD_TENSOR_SHAPE, create(op, INFINI_DTYPE_F32, views, &values));
            continue;
        }
        for (int i = 0; i < op->ntensors; i++) {
            OK(infiniopCreateTensorDescriptor(&tensors[i], views[i].ndim, views[i].shape, NULL,
                                              operator_dtype(op, i, INFINI_DTYPE_F32)));
            data[i] = memory + 64 * i;
        }
        OK(operator_create(op, handle, &desc, tensors, &values));
        EXPECT(BAD_PARAM, operator_run(op, desc, memory, SIZE_MAX, data));
        OK(op->destroy(desc));
        for (int i = 0; i < op->ntensors; i++)
            OK(infiniopDestroyTensorDescriptor(tensors[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensorflow_cve_2021_37674_gradients_of_another_shape),
        cmocka_unit_test(tensorflow_cve_2021_29580_empty_tensors),
        cmocka_unit_test(tensorflow_cve_2022_23575_products_of_dims_that_wrap),
        cmocka_unit_test(tensorflow_cve_2022_21726_axes_out_of_bounds),
        cmocka_unit_test(tensorflow_cve_2022_41897_parameters_of_another_length),
        cmocka_unit_test(tensorflow_cve_2023_25664_outputs_larger_than_the_gradient),
        cmocka_unit_test(
            pytorch_issue_195547_a_tensor_smaller_than_the_one_that_bounds_the_loop),
        cmocka_unit_test(xnnpack_issue_10100_a_size_that_wraps_to_4_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
