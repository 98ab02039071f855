// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

#include <vjp/vjp.hpp>

int main()
{
    const std::vector<float> src = { -1, 0, 2 }, diff_dst = { 10, 20, 30 };
    std::vector<float> diff_src(src.size());

    try {
        vjp::context ctx;
        const vjp_tensor row = vjp::dense(VJP_F32, { 3 });
        vjp::plan plan(ctx, "sigmoid_backward", {}, { row, row }, { row }); // inputs, outputs
        plan.run({ src, diff_dst }, { diff_src });
    } catch (const vjp::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    std::printf("%g %g %g\n", diff_src[0], diff_src[1], diff_src[2]);
}
