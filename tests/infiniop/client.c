/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - a client program, compiled as C and as C++: operators of each kind, and the runtime.
 */
#include <stdio.h>

#include <infiniop.h>
#include <infinirt.h>

static int failures;

static void expect(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "client: %s\n", what);
        failures++;
    }
}

static void expect_ok(infiniStatus_t status, const char *what)
{
    expect(status == INFINI_STATUS_SUCCESS, what);
}

#define OK(call) expect_ok(call, #call)

static void check_relu(infiniopHandle_t handle, infiniopTensorDescriptor_t vector)
{
    infiniopReluBackwardDescriptor_t desc;
    float input[3] = { -1, 0, 2 }, grad[3] = { 10, 20, 30 };
    OK(infiniopCreateReluBackwardDescriptor(handle, &desc, vector, vector, vector));
    OK(infiniopReluBackward(desc, NULL, 0, grad, input, grad, NULL));
    OK(infiniopDestroyReluBackwardDescriptor(desc));
    expect(grad[0] == 0 && grad[1] == 0 && grad[2] == 30, "relu's gradient");
}

static void check_hard_sigmoid(infiniopHandle_t handle, infiniopTensorDescriptor_t vector)
{
    infiniopHardSigmoidBackwardDescriptor_t desc;
    float input[3] = { -9, 0, 9 }, grad[3] = { 8, 8, 8 };
    OK(infiniopCreateHardSigmoidBackwardDescriptor(handle, &desc, vector, vector, vector, 0.25f,
                                                   0.5f));
    OK(infiniopHardSigmoidBackward(desc, NULL, 0, grad, input, grad, NULL));
    OK(infiniopDestroyHardSigmoidBackwardDescriptor(desc));
    expect(grad[0] == 0 && grad[1] == 2 && grad[2] == 0, "hard sigmoid's gradient");
}

static void check_softmax(infiniopHandle_t handle, infiniopTensorDescriptor_t vector)
{
    infiniopSoftmaxBackwardDescriptor_t desc;
    float output[3] = { 0.5f, 0.25f, 0.25f }, grad[3] = { 4, 0, 0 };
    char workspace[4096];
    size_t size = 0;
    OK(infiniopCreateSoftmaxBackwardDescriptor(handle, &desc, vector, vector, vector, -1));
    OK(infiniopGetSoftmaxBackwardWorkspaceSize(desc, &size));
    expect(size <= sizeof(workspace), "softmax's workspace");
    OK(infiniopSoftmaxBackward(desc, workspace, sizeof(workspace), grad, output, grad, NULL));
    OK(infiniopDestroySoftmaxBackwardDescriptor(desc));
    expect(grad[0] == 1 && grad[1] == -0.5f && grad[2] == -0.5f, "softmax's gradient");
}

static void check_prelu(infiniopHandle_t handle, infiniopTensorDescriptor_t vector)
{
    infiniopPReluBackwardDescriptor_t desc;
    infiniopTensorDescriptor_t scalar;
    float input[3] = { -1, -2, 3 }, slope = 0.5f, grad[3] = { 2, 4, 6 }, grad_slope = 0;
    char workspace[4096];
    OK(infiniopCreateTensorDescriptor(&scalar, 0, NULL, NULL, INFINI_DTYPE_F32));
    OK(infiniopCreatePReluBackwardDescriptor(handle, &desc, vector, scalar, vector, scalar,
                                             vector));
    OK(infiniopPReluBackward(desc, workspace, sizeof(workspace), grad, &grad_slope, input, &slope,
                             grad, NULL));
    OK(infiniopDestroyPReluBackwardDescriptor(desc));
    OK(infiniopDestroyTensorDescriptor(scalar));
    expect(grad[0] == 1 && grad[1] == 2 && grad[2] == 6, "prelu's gradient");
    expect(grad_slope == -10, "prelu's slope's gradient");
}

static void check_runtime(void)
{
    int counts[INFINI_DEVICE_TYPE_COUNT];
    infiniDevice_t device = INFINI_DEVICE_NVIDIA;
    void *memory = NULL;
    OK(infinirtInit());
    OK(infinirtGetAllDeviceCount(counts));
    expect(counts[INFINI_DEVICE_CPU] == 1, "one CPU");
    OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
    OK(infinirtGetDevice(&device, NULL));
    expect(device == INFINI_DEVICE_CPU, "the current device");
    OK(infinirtMalloc(&memory, 16));
    OK(infinirtMemset(memory, 0, 16));
    OK(infinirtFree(memory));
}

int main(void)
{
    const size_t shape[1] = { 3 };
    infiniopHandle_t handle;
    infiniopTensorDescriptor_t vector;
    check_runtime();
    OK(infiniopCreateHandle(&handle));
    OK(infiniopCreateTensorDescriptor(&vector, 1, shape, NULL, INFINI_DTYPE_F32));
    check_relu(handle, vector);
    check_hard_sigmoid(handle, vector);
    check_softmax(handle, vector);
    check_prelu(handle, vector);
    OK(infiniopDestroyTensorDescriptor(vector));
    OK(infiniopDestroyHandle(handle));
    return failures != 0;
}
