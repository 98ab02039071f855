/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <infiniop.h>
#include <infinirt.h>

int main(void)
{
    float input[3] = { -1, 0, 2 }, grad_output[3] = { 10, 20, 30 }, grad_input[3];
    const size_t shape[] = { 3 };
    infiniopHandle_t handle;
    infiniopTensorDescriptor_t row;
    infiniopSigmoidBackwardDescriptor_t op;

    if (infinirtInit() || infinirtSetDevice(INFINI_DEVICE_CPU, 0) ||
        infiniopCreateHandle(&handle) ||
        infiniopCreateTensorDescriptor(&row, 1, shape, NULL, INFINI_DTYPE_F32) ||
        infiniopCreateSigmoidBackwardDescriptor(handle, &op, row, row, row) ||
        infiniopSigmoidBackward(op, NULL, 0, grad_input, input, grad_output, NULL))
        return 1;
    printf("%g %g %g\n", grad_input[0], grad_input[1], grad_input[2]);

    infiniopDestroySigmoidBackwardDescriptor(op);
    infiniopDestroyTensorDescriptor(row);
    infiniopDestroyHandle(handle);
    return 0;
}
