// SPDX-License-Identifier: Apache-2.0
// client.cpp - a C++ program on the Graph API, like those built on oneDNN's C++ header.
//
// A graph of SoftMaxBackward and PReLUBackward with a MatMul between them that is not ours to
// compute. Every exported function is called, here or in wrapper.hpp; symbols.sh checks that none
// was forgotten.
#include "wrapper.hpp"

#include <oneapi/dnnl/dnnl_debug.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace wrapper;

namespace
{

void expect(bool condition, const char *what)
{
    if (!condition)
        throw std::runtime_error(what);
}

int live_allocations = 0;

void *counted_allocate(size_t size, size_t alignment)
{
    void *memory = nullptr;
    if (posix_memalign(&memory, alignment, size) != 0)
        return nullptr;
    ++live_allocations;
    return memory;
}

void counted_deallocate(void *memory)
{
    --live_allocations;
    std::free(memory);
}

engine make_engine()
{
    dnnl_graph_allocator_t a;
    check(dnnl_graph_allocator_create(&a, counted_allocate, counted_deallocate), "allocator");
    const allocator owner(a);
    dnnl_engine_t e;
    check(dnnl_graph_make_engine_with_allocator(&e, dnnl_cpu, 0, owner.get()), "engine");
    return engine(e);
}

stream make_stream(const engine &e)
{
    dnnl_stream_t s;
    check(dnnl_stream_create(&s, e.get(), dnnl_stream_default_flags), "stream");
    return stream(s);
}

// ---- the program ----------------------------------------------------------------------------

const logical_tensor::dims dims = { 2, 3, 4 }, channels(1, 3);

void run_softmax(const partition &p, const engine &e, const stream &s)
{
    const std::vector<logical_tensor> in = p.inputs();
    const compiled_partition compiled = p.compile(in, p.outputs(), e);
    const logical_tensor out = compiled.query(2);
    expect(out.mem_size() == 96 && out.data.layout.strides[0] == 12, "inferred shape");
    expect(compiled.inplace().size() == 1, "pair of softmax");
    const tensor diff_dst(in[0], e), dst(in[1], e), diff_src(out, e);
    expect(diff_dst.get_engine().get() == e.get(), "engine of a tensor");
    expect(diff_src.description().is_equal(out), "description of a tensor");
    float *dd = static_cast<float *>(diff_dst.data()), *y = static_cast<float *>(dst.data());
    const float *dx = static_cast<const float *>(diff_src.data());
    for (int i = 0; i < 24; i++) {
        dd[i] = 0.1f * float(i) - 1;
        y[i] = 0.25f;
    }
    const tensor scratchpad(compiled.scratchpad(), e);
    compiled.execute(s, { diff_dst, dst }, { diff_src }, &scratchpad);
    check(dnnl_stream_wait(s.get()), "wait");
    for (int row = 0; row < 24; row += 4) {
        const float sum = 0.25f * (dd[row] + dd[row + 1] + dd[row + 2] + dd[row + 3]);
        for (int i = row; i < row + 4; i++)
            expect(std::fabs(dx[i] - y[i] * (dd[i] - sum)) < 1e-6f, "value of softmax");
    }
}

void run_prelu(const partition &p, const engine &e, const stream &s)
{
    const compiled_partition compiled = p.compile(p.inputs(), p.outputs(), e);
    float src[24], slope[3] = { 0.5f, 0.25f, 2 }, diff_dst[24], diff_src[24], diff_slope[3];
    for (int i = 0; i < 24; i++) {
        src[i] = i % 2 ? 1.0f : -1.0f;
        diff_dst[i] = float(i);
    }
    const tensor out(compiled.query(13), e, nullptr);
    out.set_data(diff_src);
    compiled.execute(s,
                     { tensor(compiled.query(10), e, src), tensor(compiled.query(11), e, slope),
                       tensor(compiled.query(12), e, diff_dst) },
                     { out, tensor(compiled.query(14), e, diff_slope) }, nullptr);
    float wanted[3] = { 0, 0, 0 };
    for (int i = 0; i < 24; i++) {
        const int channel = i / 4 % 3;
        const bool negative = src[i] < 0;
        wanted[channel] += negative ? diff_dst[i] * src[i] : 0;
        expect(diff_src[i] == diff_dst[i] * (negative ? slope[channel] : 1), "value of prelu");
    }
    for (int c = 0; c < 3; c++)
        expect(diff_slope[c] == wanted[c], "value of diff_slope");
}

void run_graph(const engine &e, const stream &s)
{
    const logical_tensor diff_dst(0, dnnl_f32, dims), dst(1, dnnl_f32, dims);
    const logical_tensor between(2, dnnl_f32, DNNL_GRAPH_UNKNOWN_NDIMS), after(12, dnnl_f32, dims);
    const logical_tensor src(10, dnnl_f32, dims, { 12, 4, 1 }), slope(11, dnnl_f32, channels);
    op softmax(1, dnnl_graph_op_softmax_backward, { diff_dst, dst }, { between });
    softmax.set(dnnl_graph_op_attr_axis, int64_t(-1));
    op matmul(2, dnnl_graph_op_matmul, { between, dst }, { after });
    matmul.set(dnnl_graph_op_attr_transpose_b, true);
    op prelu(3, dnnl_graph_op_prelu_backward, { src, slope, after },
             { logical_tensor(13, dnnl_f32, dims), logical_tensor(14, dnnl_f32, 1) });
    prelu.set(dnnl_graph_op_attr_data_format, std::string("NCX"));

    graph g;
    g.add(prelu);
    g.add(matmul);
    g.add(softmax);
    expect(!g.is_finalized(), "not finalized");
    g.finalize();
    expect(g.is_finalized(), "finalized");
    const std::vector<partition> parts = g.partitions();
    expect(parts.size() == 3, "three partitions");
    for (size_t i = 0; i < 3; i++) {
        expect(parts[i].ops() == std::vector<size_t>(1, i + 1), "topological order");
        expect(parts[i].is_supported() == (i != 1), "what is supported");
        expect(parts[i].engine_kind() == dnnl_cpu, "engine kind");
    }
    expect(parts[0].id() != parts[1].id(), "partitions have ids of their own");
    run_softmax(parts[0], e, s);
    run_prelu(parts[2], e, s);
}

void run_single_op()
{
    op o(7, dnnl_graph_op_hard_sigmoid_backward,
         { logical_tensor(0, dnnl_bf16, dims), logical_tensor(1, dnnl_bf16, dims) },
         { logical_tensor(2, dnnl_bf16, dims) });
    try {
        const partition too_early(o);
        expect(false, "alpha and beta are required");
    } catch (const failure &f) {
        expect(f.status == dnnl_invalid_graph_op, dnnl_status2str(f.status));
    }
    o.set(dnnl_graph_op_attr_alpha, 0.2f).set(dnnl_graph_op_attr_beta, 0.5f);
    expect(partition(o).is_supported(), "hard sigmoid");
    size_t id;
    dnnl_graph_op_kind_t kind;
    check(dnnl_graph_op_get_id(o.get(), &id), "op id");
    check(dnnl_graph_op_get_kind(o.get(), &kind), "op kind");
    expect(id == 7 && kind == dnnl_graph_op_hard_sigmoid_backward, "op");
}

void run_scalar()
{
    float value = 3;
    dnnl_graph_logical_tensor_t lt;
    dnnl_graph_tensor_t raw;
    check(dnnl_graph_logical_tensor_init(&lt, 0, dnnl_f32, 0, dnnl_graph_layout_type_strided,
                                         dnnl_graph_tensor_property_host_scalar),
          "scalar");
    check(dnnl_graph_tensor_create_scalar(&raw, &lt, &value), "scalar tensor");
    const handle<dnnl_graph_tensor_t, dnnl_graph_tensor_destroy> owner(raw);
    void *data = &value;
    check(dnnl_graph_tensor_get_data_handle(raw, &data), "scalar's data");
    expect(data == nullptr, "a scalar has no data handle");
}

void run_settings()
{
    int number, flag;
    size_t size;
    dnnl_fpmath_mode_t mode;
    const graph g(dnnl_fpmath_mode_bf16);
    check(dnnl_graph_graph_set_fpmath_mode(g.get(), dnnl_fpmath_mode_any, 1), "set mode");
    check(dnnl_graph_graph_get_fpmath_mode(g.get(), &mode, &flag), "get mode");
    expect(mode == dnnl_fpmath_mode_any && flag == 1, "mode");
    check(dnnl_graph_set_compiled_partition_cache_capacity(10), "set capacity");
    check(dnnl_graph_get_compiled_partition_cache_capacity(&number), "get capacity");
    expect(number == 10, "capacity");
    check(dnnl_graph_set_constant_tensor_cache(1), "set cache");
    check(dnnl_graph_get_constant_tensor_cache(&flag), "get cache");
    expect(flag == 1, "cache");
    check(dnnl_graph_set_constant_tensor_cache_capacity(dnnl_cpu, 5), "set size");
    check(dnnl_graph_get_constant_tensor_cache_capacity(dnnl_cpu, &size), "get size");
    expect(size == 5, "size");
    check(dnnl_graph_set_dump_mode(dnnl_graph_dump_mode_none), "dump mode");
    check(dnnl_set_verbose(0), "verbose");
    check(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_strict), "set default mode");
    check(dnnl_get_default_fpmath_mode(&mode), "get default mode");
    expect(dnnl_version()->major == DNNL_VERSION_MAJOR, "version");
}

void run_names()
{
    expect(std::string(dnnl_dt2str(dnnl_bf16)) == "bf16", "name of a data type");
    expect(std::string(dnnl_engine_kind2str(dnnl_cpu)) == "cpu", "name of an engine kind");
    expect(std::string(dnnl_fpmath_mode2str(dnnl_fpmath_mode_any)) == "any", "name of a mode");
    expect(std::string(dnnl_accumulation_mode2str(dnnl_accumulation_mode_f32)) == "f32",
           "name of a way to accumulate");
    expect(std::string(dnnl_runtime2str(dnnl_version()->cpu_runtime)) == "OpenMP",
           "name of a runtime");
}

void run_engines(const engine &e, const stream &s)
{
    dnnl_engine_t raw;
    dnnl_engine_kind_t kind;
    expect(dnnl_engine_get_count(dnnl_cpu) == 1, "one CPU");
    check(dnnl_engine_create(&raw, dnnl_cpu, 0), "plain engine");
    const engine plain(raw);
    check(dnnl_engine_get_kind(plain.get(), &kind), "engine's kind");
    expect(kind == dnnl_cpu, "kind");
    check(dnnl_stream_get_engine(s.get(), &raw), "stream's engine");
    expect(engine(raw, true).get() == e.get(), "stream's engine");
}

} // namespace

int main()
{
    try {
        {
            const engine e = make_engine();
            const stream s = make_stream(e);
            run_engines(e, s);
            run_graph(e, s);
        }
        expect(live_allocations == 0, "everything allocated is freed");
        run_single_op();
        run_scalar();
        run_settings();
        run_names();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "failed: %s\n", error.what());
        return 1;
    }
    return 0;
}
