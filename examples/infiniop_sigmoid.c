/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop_sigmoid.c - a program written for InfiniCore: the gradient of Sigmoid in four calls.
 *
 * It does not mention vjp. Build it with what `pkg-config --cflags --libs vjp-infiniop` prints, or
 * against InfiniCore itself. */
#include <stdio.h>
#include <stdlib.h>

#include <infiniop.h>
#include <infinirt.h>

static void check(infiniStatus_t status, const char *what)
{
    if (status != INFINI_STATUS_SUCCESS) {
        fprintf(stderr, "%s: status %d\n", what, (int)status);
        exit(1);
    }
}

#define CHECK(call) check(call, #call)

int main(void)
{
    const float input[2][3] = { { -1, 0, 1 }, { 10, 20, 30 } }; /* input of the forward pass */
    const float grad_output[3] = { 1, 10, 100 };                /* one row, for both */
    float grad_input[2][3];
    const size_t shape[] = { 2, 3 };
    const ptrdiff_t repeat_rows[] = { 0, 1 }; /* stride 0: the same row twice */

    CHECK(infinirtInit());
    CHECK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
    infiniopHandle_t handle;
    CHECK(infiniopCreateHandle(&handle));

    infiniopTensorDescriptor_t matrix, row;
    CHECK(infiniopCreateTensorDescriptor(&matrix, 2, shape, NULL, INFINI_DTYPE_F32));
    CHECK(infiniopCreateTensorDescriptor(&row, 2, shape, repeat_rows, INFINI_DTYPE_F32));

    infiniopSigmoidBackwardDescriptor_t op; /* once per shape: grad_input, input, grad_output */
    CHECK(infiniopCreateSigmoidBackwardDescriptor(handle, &op, matrix, matrix, row));
    CHECK(infiniopDestroyTensorDescriptor(matrix));
    CHECK(infiniopDestroyTensorDescriptor(row));

    size_t workspace_size;
    void *workspace = NULL, *x, *dy;
    CHECK(infiniopGetSigmoidBackwardWorkspaceSize(op, &workspace_size));
    CHECK(infinirtMalloc(&workspace, workspace_size));
    CHECK(infinirtMalloc(&x, sizeof(input)));
    CHECK(infinirtMalloc(&dy, sizeof(grad_output)));
    CHECK(infinirtMemcpy(x, input, sizeof(input), INFINIRT_MEMCPY_H2D));
    CHECK(infinirtMemcpy(dy, grad_output, sizeof(grad_output), INFINIRT_MEMCPY_H2D));

    CHECK(infiniopSigmoidBackward(op, workspace, workspace_size, x, x, dy, NULL)); /* in place */
    CHECK(infinirtDeviceSynchronize());
    CHECK(infinirtMemcpy(grad_input, x, sizeof(grad_input), INFINIRT_MEMCPY_D2H));
    for (int i = 0; i < 2; i++)
        printf("%g %g %g\n", grad_input[i][0], grad_input[i][1], grad_input[i][2]);

    CHECK(infinirtFree(x));
    CHECK(infinirtFree(dy));
    CHECK(infinirtFree(workspace));
    CHECK(infiniopDestroySigmoidBackwardDescriptor(op));
    CHECK(infiniopDestroyHandle(handle));
    return grad_input[1][2] > 0 ? 0 : 1; /* computing s * (1 - s) directly would lose it */
}
