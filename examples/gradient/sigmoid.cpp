// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

#include <vjp/vjp.h>

int main()
{
    const std::vector<float> src = { -1, 0, 2 }, diff_dst = { 10, 20, 30 };
    std::vector<float> diff_src(src.size());

    vjp_tensor row;
    const int64_t length = static_cast<int64_t>(src.size());
    vjp_tensor_contiguous(VJP_F32, 1, &length, &row);
    const vjp_tensor *tensors[] = { &row, &row, &row }; // inputs, then outputs
    const void *inputs[] = { src.data(), diff_dst.data() };
    void *outputs[] = { diff_src.data() };

    char reason[VJP_REASON_SIZE];
    if (vjp_compute(nullptr, "sigmoid_backward", nullptr, 0, tensors, 3, inputs, outputs, reason,
                    sizeof reason) != VJP_OK) {
        std::fprintf(stderr, "%s\n", reason);
        return 1;
    }
    std::printf("%g %g %g\n", diff_src[0], diff_src[1], diff_src[2]);
}
