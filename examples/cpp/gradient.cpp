// SPDX-License-Identifier: Apache-2.0
// gradient.cpp - the gradient of SiLU through vjp.hpp, and what a refusal looks like.
//
//     c++ -std=c++17 gradient.cpp $(pkg-config --cflags --libs vjp)
#include <vjp/vjp.hpp>

#include <cstdio>
#include <vector>

int main()
try {
    const std::vector<float> src = { -20, -1.2784646f, 0, 1, 2, 30 };
    const std::vector<float> diff_dst(6, 1);
    std::vector<float> diff_src(6);

    vjp::context ctx;
    const vjp_tensor matrix = vjp::dense(VJP_F32, { 2, 3 });
    const vjp::plan plan(ctx, "silu_backward", {}, { matrix, matrix }, { matrix });
    plan.run({ src, diff_dst }, { diff_src });
    for (std::size_t i = 0; i < src.size(); i++)
        std::printf("silu'(%g) = %g\n", static_cast<double>(src[i]),
                    static_cast<double>(diff_src[i]));

    try {
        vjp::plan(ctx, "silu_backward", {}, { matrix, vjp::dense(VJP_F32, { 2, 4 }) }, { matrix });
        return 1; // the shapes differ: the library must refuse
    } catch (const vjp::error &refusal) {
        std::printf("refused: %s\n", refusal.what());
    }
    return 0;
} catch (const vjp::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
