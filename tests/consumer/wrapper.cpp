// SPDX-License-Identifier: Apache-2.0
// wrapper.cpp - tests vjp.hpp as installed, in C++17 and C++20: results, layouts, moves, threads'
// workspaces and every error that the wrapper finds itself. The header comes first: it must not
// lean on another.
#include <vjp/vjp.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

struct half { // a 16-bit type of the caller
    std::uint16_t bits;
};
template <> struct vjp::dtype_of<half> {
    static constexpr vjp_dtype value = VJP_F16;
};

static int failures;

static void expect(bool right, const char *what)
{
    if (!right) {
        std::printf("FAILED: %s\n", what);
        failures++;
    }
}

// The call throws vjp::error with this status and a reason that contains this text.
template <class Call> void expect_error(vjp_status status, const char *text, Call call)
{
    try {
        call();
        std::printf("FAILED: no error: %s\n", text);
        failures++;
    } catch (const vjp::error &error) {
        expect(error.status() == status && std::strstr(error.what(), text), error.what());
    }
}

static const vjp_tensor row = vjp::dense(VJP_F32, { 4 });

static vjp::plan relu_backward(const vjp::context &ctx, const vjp_tensor &src)
{
    return { ctx, "relu_backward", { vjp::attr("use_dst", false) }, { src, row }, { row } };
}

static void results(const vjp::context &ctx)
{
    const float src[] = { -1, 0, 2, 3 };
    const std::array<float, 4> diff_dst = { 10, 20, 30, 40 };
    std::vector<float> diff_src(4, -1);
    const std::vector<float> wanted = { 0, 0, 30, 40 };
    vjp::plan plan = relu_backward(ctx, row);
    plan.run({ src, diff_dst }, { diff_src });
    expect(diff_src == wanted, "relu_backward of a C array and a std::array");

    vjp::plan moved = std::move(plan);
    diff_src.assign(4, -1);
    moved.run({ { src, 4 }, { diff_dst.data(), 4 } }, { diff_src }, nullptr, 0);
    expect(diff_src == wanted && !plan.get(), "a moved plan, with pointers and a workspace");

    relu_backward(ctx, vjp::strided(VJP_F32, { 4 }, { -1 })).run({ src, diff_dst }, { diff_src });
    expect(diff_src == std::vector<float>{ 10, 20, 0, 0 }, "a negative stride");

    const std::vector<half> halves = { { 0x3c00 }, { 0xbc00 } }; // 1, -1
    std::vector<half> activated(2);
    const vjp_tensor pair = vjp::dense(VJP_F16, { 2 });
    vjp::plan(ctx, "relu", {}, { pair }, { pair }).run({ halves }, { activated });
    expect(activated[0].bits == 0x3c00 && activated[1].bits == 0, "f16 in a type of the caller");
#ifdef __cpp_lib_span
    diff_src.assign(4, -1);
    const std::vector<vjp::input> inputs = { src, diff_dst };
    const std::vector<vjp::output> outputs = { diff_src };
    moved.run(inputs, outputs);
    expect(diff_src == wanted, "spans of buffers");
    diff_src.assign(4, -1);
    moved.run({ std::span<const float>(src), diff_dst }, { std::span<float>(diff_src) });
    expect(diff_src == wanted, "spans of elements");
#endif
}

// One strided row, whose passes leave their values in the workspace.
static void workspace(const vjp::context &ctx)
{
    const int n = 1 << 12;
    const vjp_tensor column = vjp::strided(VJP_F32, { n }, { 2 });
    const vjp_tensor dense = vjp::dense(VJP_F32, { n });
    const vjp::plan plan(ctx, "softmax", { vjp::attr("axis", 0) }, { column }, { dense });
    std::vector<float> src(2 * n, 1), dst(n);
    expect(plan.workspace_size() > 0, "this plan needs a workspace");
    plan.run({ src }, { dst });
    expect(dst.front() == std::ldexp(1.0f, -12) && dst.back() == dst.front(), "softmax");
    expect_error(VJP_BAD_WORKSPACE, "workspace", [&] { plan.run({ src }, { dst }, nullptr, 0); });
}

static void errors(const vjp::context &ctx)
{
    std::vector<float> four(4), three(3);
    std::vector<double> doubles(4);
    const vjp::plan plan = relu_backward(ctx, row);
    expect_error(VJP_BAD_ARGUMENT, "diff_dst: the buffer has 12 bytes, the tensor takes 16", [&] {
        plan.run({ four, three }, { four });
    });
    expect_error(VJP_BAD_ARGUMENT, "diff_src: the buffer has 0 bytes", [&] {
        plan.run({ four, four }, {});
    });
    expect_error(VJP_BAD_DTYPE, "src: the buffer is of f64, the tensor of f32", [&] {
        plan.run({ doubles, four }, { four });
    });
    std::vector<float> five(5);
    expect_error(VJP_BAD_ALIAS, "overlap", [&] {
        plan.run({ { &five[1], 4 }, four }, { { &five[0], 4 } });
    });
    expect_error(VJP_BAD_OP, "no operator is named relu_backwards", [&] {
        vjp::plan(ctx, "relu_backwards", {}, { row, row }, { row });
    });
    expect_error(VJP_BAD_ARGUMENT, "relu has 1 inputs, not 2", [&] {
        vjp::plan(ctx, "relu", {}, { row, row }, { row });
    });
    expect_error(VJP_BAD_SHAPE, "diff_dst: ", [&] {
        vjp::plan(ctx, "silu_backward", {}, { row, vjp::dense(VJP_F32, { 5 }) }, { row });
    });
    expect_error(VJP_BAD_ATTRIBUTE, "slope",
                 [&] { vjp::plan(ctx, "relu", { vjp::attr("slope", 1.5) }, { row }, { row }); });
    expect_error(VJP_BAD_SHAPE, "cannot be described", [] { vjp::dense(VJP_F32, { -1 }); });
    expect_error(VJP_BAD_STRIDES, "2 dims, the strides have 1", [] {
        vjp::strided(VJP_F32, { 2, 2 }, { 1 });
    });
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.isa = "abacus";
    expect_error(VJP_BAD_ARGUMENT, "abacus", [&] { vjp::context{ options }; });
}

int main()
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1;
    vjp::context ctx(options);
    expect(ctx.threads() == 1 && !ctx.isa().empty(), "the context");
    results(ctx);
    workspace(ctx);
    errors(ctx);
    return failures != 0;
}
