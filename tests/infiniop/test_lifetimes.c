/* SPDX-License-Identifier: Apache-2.0 */
/* test_lifetimes.c - a handle, two tensor descriptors and two operators in every order in which they
 * can be created and destroyed (orders.h). */
#include "orders.h"
#include "support.h"

static infiniopHandle_t handle;
static infiniopTensorDescriptor_t vector, scalar;
static infiniopReluBackwardDescriptor_t relu;
static infiniopPReluBackwardDescriptor_t prelu;

static void use_nothing(void) {}

static void create_handle(void) { OK(infiniopCreateHandle(&handle)); }
static void destroy_handle(void) { OK(infiniopDestroyHandle(handle)); }

static void create_vector(void)
{
    const size_t shape[] = { 3 };
    OK(infiniopCreateTensorDescriptor(&vector, 1, shape, NULL, INFINI_DTYPE_F32));
}

static void destroy_vector(void) { OK(infiniopDestroyTensorDescriptor(vector)); }

/* With a handle: an operator that is gone again at once. */
static void use_vector(void)
{
    infiniopReluBackwardDescriptor_t brief;
    OK(infiniopCreateReluBackwardDescriptor(handle, &brief, vector, vector, vector));
    OK(infiniopDestroyReluBackwardDescriptor(brief));
}

static void create_scalar(void)
{
    OK(infiniopCreateTensorDescriptor(&scalar, 0, NULL, NULL, INFINI_DTYPE_F32));
}

static void destroy_scalar(void) { OK(infiniopDestroyTensorDescriptor(scalar)); }

static void create_relu(void)
{
    OK(infiniopCreateReluBackwardDescriptor(handle, &relu, vector, vector, vector));
}

static void destroy_relu(void) { OK(infiniopDestroyReluBackwardDescriptor(relu)); }

static void use_relu(void)
{
    float input[3] = { -1, 0, 2 }, grad[3] = { 10, 20, 30 };
    OK(infiniopReluBackward(relu, NULL, 0, grad, input, grad, NULL));
    assert_true(grad[0] == 0 && grad[1] == 0 && grad[2] == 30);
}

static void create_prelu(void)
{
    OK(infiniopCreatePReluBackwardDescriptor(handle, &prelu, vector, scalar, vector, scalar,
                                             vector));
}

static void destroy_prelu(void) { OK(infiniopDestroyPReluBackwardDescriptor(prelu)); }

static void use_prelu(void)
{
    float input[3] = { -1, -2, 3 }, slope = 0.5f, grad[3] = { 2, 4, 6 }, grad_slope = 0;
    char workspace[4096];
    OK(infiniopPReluBackward(prelu, workspace, sizeof(workspace), grad, &grad_slope, input, &slope,
                             grad, NULL));
    assert_true(grad_slope == -10);
}

enum { HANDLE = 1, VECTOR = 2, SCALAR = 4 };

static void objects_live_and_die_in_every_order(void **state)
{
    (void)state;
    const lifetime objects[] = {
        { create_handle, destroy_handle, use_nothing, 0, 0 },
        { create_vector, destroy_vector, use_vector, 0, HANDLE },
        { create_scalar, destroy_scalar, use_nothing, 0, 0 },
        { create_relu, destroy_relu, use_relu, HANDLE | VECTOR, 0 },
        { create_prelu, destroy_prelu, use_prelu, HANDLE | VECTOR | SCALAR, 0 },
    };
    int64_t tried = orders_try_all(objects, COUNT(objects));
    print_message("%lld orders\n", (long long)tried);
    assert_true(tried > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(objects_live_and_die_in_every_order) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
