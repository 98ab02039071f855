/* SPDX-License-Identifier: Apache-2.0 */
/* test_forward.c - the forward operators against the oracle: with strides, in place, in every
 * dtype; what their own parameters do, and the operator whose input holds two tensors. */
#include <math.h>
#include <stdlib.h>

#include "expected.h"
#include "operators.h"

/* ---- the operators, and what they mean ---------------------------------------------------- */

static const float low = -0.75f, high = 1.5f, beta = 0.5f;

typedef infiniStatus_t (*create_2)(infiniopHandle_t, any_descriptor *, infiniopTensorDescriptor_t,
                                   infiniopTensorDescriptor_t);
typedef infiniStatus_t (*run_2)(any_descriptor, void *, size_t, void *, const void *, void *);

static infiniStatus_t create_hardtanh(infiniopHandle_t handle, any_descriptor *desc,
                                      infiniopTensorDescriptor_t output,
                                      infiniopTensorDescriptor_t input)
{
    return infiniopCreateHardTanhDescriptor(handle, desc, output, input, low, high);
}

/* The threshold, in the middle of the data, is ignored. */
static infiniStatus_t create_softplus(infiniopHandle_t handle, any_descriptor *desc,
                                      infiniopTensorDescriptor_t y, infiniopTensorDescriptor_t x)
{
    return infiniopCreateSoftplusDescriptor(handle, desc, y, x, beta, 1);
}

#define REAL(name, value) { name, VJP_ATTR_F64, { .f64 = value } }
#define MODE(value) { "mode", VJP_ATTR_STR, { .str = value } }
#define NO_ATTR { 0 }

static const struct forward {
    const char *op; /* of vjp */
    create_2 create;
    run_2 run;
    vjp_attr attrs[2]; /* up to the first without a name */
} forwards[] = {
#define FORWARD(stem, op, ...) \
    { #op, infiniopCreate##stem##Descriptor, infiniop##stem, { __VA_ARGS__ } }
    FORWARD(Sigmoid, sigmoid, NO_ATTR),
    FORWARD(Tanh, tanh, NO_ATTR),
    FORWARD(Tanhshrink, tanh_shrink, NO_ATTR),
    FORWARD(Softsign, softsign, NO_ATTR),
    FORWARD(Reciprocal, reciprocal, NO_ATTR),
    FORWARD(Relu, relu, NO_ATTR),
    FORWARD(Relu6, clamp, REAL("min", 0), REAL("max", 6)),
    { "clamp", create_hardtanh, infiniopHardTanh, { REAL("min", -0.75), REAL("max", 1.5) } },
    FORWARD(HardSwish, hard_swish, NO_ATTR),
    FORWARD(Silu, silu, REAL("alpha", 1)),
    FORWARD(QuickGelu, silu, REAL("alpha", 1.702)),
    FORWARD(Gelu, gelu, MODE("gelu_erf")),
    FORWARD(GeluTanh, gelu, MODE("gelu_tanh")),
    FORWARD(Selu, elu, REAL("alpha", 1.6732632423543772848), REAL("scale", 1.0507009873554804934)),
    { "softplus", create_softplus, infiniopSoftplus, { REAL("beta", 0.5) } },
};

/* ---- one tensor in, one out --------------------------------------------------------------- */

static problem meaning_of(const struct forward *f)
{
    problem p = problem_start(f->op);
    for (size_t i = 0; i < COUNT(f->attrs) && f->attrs[i].name; i++)
        problem_add_attr(&p, f->attrs[i]);
    return p;
}

static void check_forward(infiniopHandle_t handle, const struct forward *f, infiniDtype_t dtype,
                          const ptrdiff_t *strides, int in_place)
{
    const size_t shape[] = { 5, 7 };
    tensor y = tensor_make(dtype, 2, shape, NULL, 3), x = tensor_make(dtype, 2, shape, strides, 4);
    const tensor *const tensors[] = { in_place ? &y : &x, &y };
    infiniopTensorDescriptor_t y_desc = tensor_describe(&y), x_desc = tensor_describe(tensors[0]);
    any_descriptor desc;
    problem p = meaning_of(f);
    expected e = expected_of(&p, tensors);
    OK(f->create(handle, &desc, y_desc, x_desc));
    OK(f->run(desc, NULL, 0, tensor_data(&y), tensor_data(tensors[0]), NULL));
    expected_check(&e, tensors + 1);
    OK(infiniopDestroySigmoidDescriptor(desc)); /* descriptors are all alike */
    OK(infiniopDestroyTensorDescriptor(y_desc));
    OK(infiniopDestroyTensorDescriptor(x_desc));
    tensor_free(&y);
    tensor_free(&x);
}

static void forwards_are_right_in_every_dtype(void **state)
{
    static const ptrdiff_t padded[] = { 11, 1 }, transposed[] = { 1, 5 }, row[] = { 0, 1 };
    const ptrdiff_t *const strides[] = { NULL, padded, transposed, row };
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t f = 0; f < COUNT(forwards); f++)
        for (size_t t = 0; t < COUNT(infini_dtypes); t++)
            for (size_t s = 0; s < COUNT(strides); s++)
                check_forward(handle, &forwards[f], infini_dtypes[t], strides[s], s == 0);
    OK(infiniopDestroyHandle(handle));
}

/* ---- two tensors in ----------------------------------------------------------------------- */

static void prelu_has_a_weight_per_channel(void **state)
{
    const size_t shape[] = { 2, 3, 5 }, channels[] = { 3 };
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t t = 0; t < COUNT(infini_dtypes); t++) {
        tensor y = tensor_make(infini_dtypes[t], 3, shape, NULL, 3);
        tensor x = tensor_make(infini_dtypes[t], 3, shape, NULL, 4);
        tensor w = tensor_make(infini_dtypes[t], 1, channels, NULL, 5);
        infiniopTensorDescriptor_t data = tensor_describe(&x), weight = tensor_describe(&w);
        infiniopPreluDescriptor_t desc;
        const tensor *const tensors[] = { &x, &w, &y };
        problem p = problem_start("prelu");
        problem_add_attr(&p, vjp_attr_str("data_format", "NCX"));
        expected e = expected_of(&p, tensors);
        OK(infiniopCreatePreluDescriptor(handle, &desc, data, data, weight));
        OK(infiniopPrelu(desc, NULL, 0, tensor_data(&y), tensor_data(&x), tensor_data(&w), NULL));
        expected_check(&e, tensors + 2);
        OK(infiniopDestroyPreluDescriptor(desc));
        OK(infiniopDestroyTensorDescriptor(data));
        OK(infiniopDestroyTensorDescriptor(weight));
        tensor_free(&y);
        tensor_free(&x);
        tensor_free(&w);
    }
    OK(infiniopDestroyHandle(handle));
}

/* c = a * silu(b): the gate comes last. */
static void swiglu_gates_by_its_second_input(void **state)
{
    const size_t shape[] = { 4, 9 };
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t t = 0; t < COUNT(infini_dtypes); t++) {
        tensor made[3];
        for (unsigned i = 0; i < 3; i++)
            made[i] = tensor_make(infini_dtypes[t], 2, shape, NULL, 3 + i);
        infiniopTensorDescriptor_t view = tensor_describe(&made[0]);
        infiniopSwiGLUDescriptor_t desc;
        const tensor *const tensors[] = { &made[2], &made[1], &made[0] };
        problem p = problem_start("swiglu");
        expected e = expected_of(&p, tensors);
        OK(infiniopCreateSwiGLUDescriptor(handle, &desc, view, view, view));
        OK(infiniopSwiGLU(desc, NULL, 0, tensor_data(&made[0]), tensor_data(&made[1]),
                          tensor_data(&made[2]), NULL));
        expected_check(&e, tensors + 2);
        OK(infiniopDestroySwiGLUDescriptor(desc));
        OK(infiniopDestroyTensorDescriptor(view));
        for (int i = 0; i < 3; i++)
            tensor_free(&made[i]);
    }
    OK(infiniopDestroyHandle(handle));
}

/* ---- gate and up in one ------------------------------------------------------------------- */

static void check_silu_and_mul(infiniopHandle_t handle, infiniDtype_t dtype,
                               const ptrdiff_t *strides)
{
    const size_t shape[] = { 3, 4, 5 }, twice[] = { 3, 4, 10 };
    tensor y = tensor_make(dtype, 3, shape, NULL, 3), x = tensor_make(dtype, 3, twice, strides, 4);
    infiniopTensorDescriptor_t y_desc = tensor_describe(&y), x_desc = tensor_describe(&x);
    tensor gate = tensor_make(dtype, 3, shape, NULL, 5), up = tensor_make(dtype, 3, shape, NULL, 6);
    const tensor *const tensors[] = { &gate, &up, &y };
    problem p = problem_start("swiglu");
    infiniopSiluAndMulDescriptor_t desc;
    OK(infiniopCreateSiluAndMulDescriptor(handle, &desc, y_desc, x_desc));
    OK(infiniopSiluAndMul(desc, NULL, 0, tensor_data(&y), tensor_data(&x), NULL));
    for (size_t i = 0; i < y.numel; i++) { /* the halves of x, as two tensors */
        size_t in_x = i / 5 * 10 + i % 5;
        tensor_set(&gate, i, tensor_get(&x, in_x));
        tensor_set(&up, i, tensor_get(&x, in_x + 5));
    }
    expected e = expected_of(&p, tensors);
    expected_check(&e, tensors + 2);
    EXPECT(BAD_PARAM, infiniopSiluAndMul(desc, NULL, 0, tensor_data(&y), NULL, NULL));
    EXPECT(BAD_PARAM, infiniopSiluAndMul(desc, NULL, 0, NULL, tensor_data(&x), NULL));
    EXPECT(BAD_PARAM, infiniopSwiGLU(desc, NULL, 0, tensor_data(&y), tensor_data(&x),
                                     tensor_data(&x), NULL));
    OK(infiniopDestroySiluAndMulDescriptor(desc));
    OK(infiniopDestroyTensorDescriptor(y_desc));
    OK(infiniopDestroyTensorDescriptor(x_desc));
    tensor_free(&y);
    tensor_free(&x);
    tensor_free(&gate);
    tensor_free(&up);
}

static void silu_and_mul_splits_the_last_dim(void **state)
{
    static const ptrdiff_t padded[] = { 60, 14, 1 }, backwards[] = { 40, 10, -1 },
                           transposed[] = { 10, 30, 1 };
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t t = 0; t < COUNT(infini_dtypes); t++) {
        check_silu_and_mul(handle, infini_dtypes[t], NULL);
        check_silu_and_mul(handle, infini_dtypes[t], padded);
        check_silu_and_mul(handle, infini_dtypes[t], backwards);
        check_silu_and_mul(handle, infini_dtypes[t], transposed);
    }
    OK(infiniopDestroyHandle(handle));
}

static infiniopTensorDescriptor_t view_of(size_t ndim, const size_t *shape)
{
    infiniopTensorDescriptor_t desc;
    OK(infiniopCreateTensorDescriptor(&desc, ndim, shape, NULL, INFINI_DTYPE_F32));
    return desc;
}

static void silu_and_mul_refuses_what_it_cannot_split(void **state)
{
    static const size_t half[] = { 4, 5 }, whole[] = { 4, 10 }, odd[] = { 4, 11 }, many[20] = { 1 };
    infiniopHandle_t handle = cpu_handle();
    infiniopTensorDescriptor_t out = view_of(2, half), in = view_of(2, whole);
    infiniopTensorDescriptor_t bad[] = { view_of(2, half), view_of(2, odd), view_of(0, NULL),
                                         view_of(1, whole), view_of(20, many) };
    infiniopSiluAndMulDescriptor_t desc;
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        EXPECT(BAD_TENSOR_SHAPE, infiniopCreateSiluAndMulDescriptor(handle, &desc, out, bad[i]));
        assert_null(desc);
        OK(infiniopDestroyTensorDescriptor(bad[i]));
    }
    EXPECT(BAD_PARAM, infiniopCreateSiluAndMulDescriptor(handle, &desc, out, NULL));
    EXPECT(BAD_PARAM, infiniopCreateSiluAndMulDescriptor(handle, &desc, NULL, in));
    OK(infiniopDestroyTensorDescriptor(out));
    OK(infiniopDestroyTensorDescriptor(in));
    OK(infiniopDestroyHandle(handle));
}

/* ---- parameters --------------------------------------------------------------------------- */

static void numbers_that_are_refused(void **state)
{
    static const size_t shape[] = { 4 };
    infiniopHandle_t handle = cpu_handle();
    infiniopTensorDescriptor_t view = view_of(1, shape);
    any_descriptor desc;
    (void)state;
    EXPECT(BAD_PARAM, infiniopCreateHardTanhDescriptor(handle, &desc, view, view, 2, 1));
    EXPECT(BAD_PARAM, infiniopCreateHardTanhDescriptor(handle, &desc, view, view, NAN, 1));
    EXPECT(BAD_PARAM, infiniopCreateSoftplusDescriptor(handle, &desc, view, view, 0, 20));
    OK(infiniopCreateSoftplusDescriptor(handle, &desc, view, view, 1, NAN)); /* is ignored */
    OK(infiniopDestroySoftplusDescriptor(desc));
    OK(infiniopDestroyTensorDescriptor(view));
    OK(infiniopDestroyHandle(handle));
}

/* Where the textbook's 1 + tanh has lost all digits. */
static void gelu_backward_keeps_its_digits_left_of_0(void **state)
{
    static const size_t shape[] = { 2 };
    tensor x = tensor_make(INFINI_DTYPE_F32, 1, shape, NULL, 1);
    tensor g = tensor_make(INFINI_DTYPE_F32, 1, shape, NULL, 2);
    tensor dx = tensor_make(INFINI_DTYPE_F32, 1, shape, NULL, 3);
    const tensor *const tensors[] = { &x, &g, &dx };
    infiniopHandle_t handle = cpu_handle();
    infiniopTensorDescriptor_t view = view_of(1, shape);
    infiniopGeluBackwardDescriptor_t desc;
    problem p = problem_start("gelu_backward");
    (void)state;
    problem_add_attr(&p, vjp_attr_str("mode", "gelu_tanh"));
    tensor_set(&x, 0, -6);
    tensor_set(&x, 1, 0);
    expected e = expected_of(&p, tensors);
    OK(infiniopCreateGeluBackwardDescriptor(handle, &desc, view, view, view));
    OK(infiniopGeluBackward(desc, NULL, 0, tensor_data(&dx), tensor_data(&x), tensor_data(&g),
                            NULL));
    expected_check(&e, tensors + 2);
    OK(infiniopDestroyGeluBackwardDescriptor(desc));
    OK(infiniopDestroyTensorDescriptor(view));
    OK(infiniopDestroyHandle(handle));
    tensor_free(&x);
    tensor_free(&g);
    tensor_free(&dx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forwards_are_right_in_every_dtype),
        cmocka_unit_test(prelu_has_a_weight_per_channel),
        cmocka_unit_test(swiglu_gates_by_its_second_input),
        cmocka_unit_test(silu_and_mul_splits_the_last_dim),
        cmocka_unit_test(silu_and_mul_refuses_what_it_cannot_split),
        cmocka_unit_test(numbers_that_are_refused),
        cmocka_unit_test(gelu_backward_keeps_its_digits_left_of_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
