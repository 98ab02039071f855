/* SPDX-License-Identifier: Apache-2.0 */
/* test_forward.c - the forward operators against their definitions in double: with strides, in place,
 * in every dtype; what their own parameters do, and the operator whose input holds two tensors. */
#include <math.h>
#include <stdlib.h>

#include "operators.h"
#include "support.h"

/* ---- the definitions ---------------------------------------------------------------------- */

static const float low = -0.75f, high = 1.5f, beta = 0.5f;

static double logistic(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double clipped(double x, double min, double max) { return fmin(fmax(x, min), max); }
static double want_tanhshrink(double x) { return x - tanh(x); }
static double want_softsign(double x) { return x / (1 + fabs(x)); }
static double want_reciprocal(double x) { return 1 / x; }
static double want_relu(double x) { return fmax(x, 0); }
static double want_relu6(double x) { return clipped(x, 0, 6); }
static double want_hardtanh(double x) { return clipped(x, (double)low, (double)high); }
static double want_hardswish(double x) { return x * clipped(x + 3, 0, 6) / 6; }
static double want_silu(double x) { return x * logistic(x); }
static double want_quickgelu(double x) { return x * logistic(1.702 * x); }
static double want_gelu(double x) { return x / 2 * erfc(-x / sqrt(2)); }
static double want_softplus(double x) { return log1p(exp((double)beta * x)) / (double)beta; }

static double want_gelutanh(double x)
{
    return x * logistic(2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x));
}

static double want_selu(double x)
{
    return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * expm1(x));
}

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

static const struct forward {
    const char *name;
    create_2 create;
    run_2 run;
    double (*want)(double x);
} forwards[] = {
#define FORWARD(stem, want) { #stem, infiniopCreate##stem##Descriptor, infiniop##stem, want }
    FORWARD(Sigmoid, logistic),
    FORWARD(Tanh, tanh),
    FORWARD(Tanhshrink, want_tanhshrink),
    FORWARD(Softsign, want_softsign),
    FORWARD(Reciprocal, want_reciprocal),
    FORWARD(Relu, want_relu),
    FORWARD(Relu6, want_relu6),
    { "HardTanh", create_hardtanh, infiniopHardTanh, want_hardtanh },
    FORWARD(HardSwish, want_hardswish),
    FORWARD(Silu, want_silu),
    FORWARD(QuickGelu, want_quickgelu),
    FORWARD(Gelu, want_gelu),
    FORWARD(GeluTanh, want_gelutanh),
    FORWARD(Selu, want_selu),
    { "Softplus", create_softplus, infiniopSoftplus, want_softplus },
};

/* ---- one tensor in, one out --------------------------------------------------------------- */

/* tolerance() has room for a few ULP; the definition in double loses digits of its own in f64. */
static void check_value(const char *name, infiniDtype_t dtype, double want, double got)
{
    double allowed = tolerance(dtype) * fabs(want) + 0x1p-50;
    if (!(fabs(got - want) <= allowed) && !(isinf(want) && got == want))
        fail_msg("%s, dtype %d: %a, not %a", name, (int)dtype, got, want);
}

static void check_forward(infiniopHandle_t handle, const struct forward *f, infiniDtype_t dtype,
                          const ptrdiff_t *strides, int in_place)
{
    const size_t shape[] = { 5, 7 };
    tensor y = tensor_make(dtype, 2, shape, NULL, 3), x = tensor_make(dtype, 2, shape, strides, 4);
    const tensor *input = in_place ? &y : &x;
    infiniopTensorDescriptor_t y_desc = tensor_describe(&y), x_desc = tensor_describe(input);
    any_descriptor desc;
    double want[35];
    for (size_t i = 0; i < y.numel; i++)
        want[i] = f->want(tensor_get(input, i));
    OK(f->create(handle, &desc, y_desc, x_desc));
    OK(f->run(desc, NULL, 0, tensor_data(&y), tensor_data(input), NULL));
    for (size_t i = 0; i < y.numel; i++)
        check_value(f->name, dtype, want[i], tensor_get(&y, i));
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
        for (size_t t = 0; t < COUNT(all_dtypes); t++)
            for (size_t s = 0; s < COUNT(strides); s++)
                check_forward(handle, &forwards[f], all_dtypes[t], strides[s], s == 0);
    OK(infiniopDestroyHandle(handle));
}

/* ---- two tensors in ----------------------------------------------------------------------- */

static void prelu_has_a_weight_per_channel(void **state)
{
    const size_t shape[] = { 2, 3, 5 }, channels[] = { 3 };
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t t = 0; t < COUNT(all_dtypes); t++) {
        tensor y = tensor_make(all_dtypes[t], 3, shape, NULL, 3);
        tensor x = tensor_make(all_dtypes[t], 3, shape, NULL, 4);
        tensor w = tensor_make(all_dtypes[t], 1, channels, NULL, 5);
        infiniopTensorDescriptor_t data = tensor_describe(&x), weight = tensor_describe(&w);
        infiniopPreluDescriptor_t desc;
        OK(infiniopCreatePreluDescriptor(handle, &desc, data, data, weight));
        OK(infiniopPrelu(desc, NULL, 0, tensor_data(&y), tensor_data(&x), tensor_data(&w), NULL));
        for (size_t i = 0; i < x.numel; i++) {
            double at = tensor_get(&x, i);
            check_value("Prelu", all_dtypes[t], at > 0 ? at : at * tensor_get(&w, i / 5 % 3),
                        tensor_get(&y, i));
        }
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
    for (size_t t = 0; t < COUNT(all_dtypes); t++) {
        tensor made[3];
        for (unsigned i = 0; i < 3; i++)
            made[i] = tensor_make(all_dtypes[t], 2, shape, NULL, 3 + i);
        infiniopTensorDescriptor_t view = tensor_describe(&made[0]);
        infiniopSwiGLUDescriptor_t desc;
        OK(infiniopCreateSwiGLUDescriptor(handle, &desc, view, view, view));
        OK(infiniopSwiGLU(desc, NULL, 0, tensor_data(&made[0]), tensor_data(&made[1]),
                          tensor_data(&made[2]), NULL));
        for (size_t i = 0; i < made[0].numel; i++)
            check_value("SwiGLU", all_dtypes[t],
                        tensor_get(&made[1], i) * want_silu(tensor_get(&made[2], i)),
                        tensor_get(&made[0], i));
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
    infiniopSiluAndMulDescriptor_t desc;
    OK(infiniopCreateSiluAndMulDescriptor(handle, &desc, y_desc, x_desc));
    OK(infiniopSiluAndMul(desc, NULL, 0, tensor_data(&y), tensor_data(&x), NULL));
    for (size_t i = 0; i < y.numel; i++) {
        size_t gate = i / 5 * 10 + i % 5;
        check_value("SiluAndMul", dtype, want_silu(tensor_get(&x, gate)) * tensor_get(&x, gate + 5),
                    tensor_get(&y, i));
    }
    EXPECT(BAD_PARAM, infiniopSiluAndMul(desc, NULL, 0, tensor_data(&y), NULL, NULL));
    EXPECT(BAD_PARAM, infiniopSiluAndMul(desc, NULL, 0, NULL, tensor_data(&x), NULL));
    EXPECT(BAD_PARAM, infiniopSwiGLU(desc, NULL, 0, tensor_data(&y), tensor_data(&x),
                                     tensor_data(&x), NULL));
    OK(infiniopDestroySiluAndMulDescriptor(desc));
    OK(infiniopDestroyTensorDescriptor(y_desc));
    OK(infiniopDestroyTensorDescriptor(x_desc));
    tensor_free(&y);
    tensor_free(&x);
}

static void silu_and_mul_splits_the_last_dim(void **state)
{
    static const ptrdiff_t padded[] = { 60, 14, 1 }, backwards[] = { 40, 10, -1 },
                           transposed[] = { 10, 30, 1 };
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t t = 0; t < COUNT(all_dtypes); t++) {
        check_silu_and_mul(handle, all_dtypes[t], NULL);
        check_silu_and_mul(handle, all_dtypes[t], padded);
        check_silu_and_mul(handle, all_dtypes[t], backwards);
        check_silu_and_mul(handle, all_dtypes[t], transposed);
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
    const float x[] = { -6, 0 }, g[] = { 1, 1 };
    float dx[2];
    infiniopHandle_t handle = cpu_handle();
    infiniopTensorDescriptor_t view = view_of(1, shape);
    infiniopGeluBackwardDescriptor_t desc;
    (void)state;
    OK(infiniopCreateGeluBackwardDescriptor(handle, &desc, view, view, view));
    OK(infiniopGeluBackward(desc, NULL, 0, dx, x, g, NULL));
    double a = 6, u = sqrt(2 / acos(-1)) * (a + 0.044715 * a * a * a);
    double du = sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * a * a), e = exp(-2 * u);
    double want = e / (1 + e) - a * 2 * du * e / ((1 + e) * (1 + e));
    check_value("GeluBackward", INFINI_DTYPE_F32, want * 0x1p30, (double)dx[0] * 0x1p30);
    check_value("GeluBackward", INFINI_DTYPE_F32, 0.5, (double)dx[1]);
    OK(infiniopDestroyGeluBackwardDescriptor(desc));
    OK(infiniopDestroyTensorDescriptor(view));
    OK(infiniopDestroyHandle(handle));
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
