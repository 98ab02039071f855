/* SPDX-License-Identifier: Apache-2.0 */
/* overrides.cpp - backward kernels of PyTorch's own replaced by the library's: vjp.torch.enable(). */
#include "call.h"

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace vjp_torch {

namespace {

/* A backward kernel of aten that an operator of ours can stand in for. Only those without a Scalar
 * argument, which the stable ABI cannot pass; the rest is in enable.py. */
struct override {
    const char *aten, *out_overload; /* the overload that still reaches PyTorch's own kernel */
    const char *op;
    int inputs[2];    /* where our inputs are among aten's arguments */
    int axis, dtype;  /* where the axis and the dtype of the result are; -1: there is none */
    vjp_attr attrs[2];
    int nattrs;
};

const override overrides[] = {
    { "sigmoid_backward", "grad_input", "sigmoid_backward", { 1, 0 }, -1, -1,
      { vjp_attr_bool("use_dst", 1) }, 1 },
    { "hardsigmoid_backward", "grad_input", "hard_sigmoid_backward", { 1, 0 }, -1, -1,
      { vjp_attr_f64("alpha", 1.0 / 6), vjp_attr_f64("beta", 0.5) }, 2 },
    { "_softmax_backward_data", "out", "softmax_backward", { 0, 1 }, 2, 3, {}, 0 },
};
constexpr int NOVERRIDES = sizeof overrides / sizeof *overrides;

/* The kernels stay registered: PyTorch's dispatch tables are read without a lock, so removing one
 * while an operator runs could crash. Switched off, a kernel passes the call on. */
struct override_state {
    const op_signature *op; /* NULL: not in the table */
    std::atomic<bool> on;
    std::atomic<int64_t> taken, passed_on;
} states[NOVERRIDES];

struct properties {
    int32_t dtype, device_type, device;
    int64_t ndim, *sizes;
};

bool read_properties(StableIValue value, properties &p)
{
    AtenTensorHandle t = handle(value);
    return !aoti_torch_get_dtype(t, &p.dtype) && !aoti_torch_get_dim(t, &p.ndim) &&
           !aoti_torch_get_sizes(t, &p.sizes) && !aoti_torch_get_device_type(t, &p.device_type) &&
           !aoti_torch_get_device_index(t, &p.device);
}

/* Calls that are left to PyTorch: other dtypes, a gradient that is broadcast (torch.func.jacrev
 * sends such), a result of another dtype, tensors of too many dims or, for rows, of none. */
bool is_ours(const override &o, const StableIValue *stack)
{
    properties a, b;
    if (!read_properties(stack[0], a) || !read_properties(stack[1], b))
        return false;
    const vjp_dtype dtype = dtype_of(a.dtype);
    return dtype >= VJP_F64 && dtype <= VJP_BF16 && a.dtype == b.dtype && a.ndim == b.ndim &&
           a.ndim <= VJP_MAX_DIMS && (o.axis < 0 || a.ndim > 0) && a.device_type == b.device_type &&
           a.device == b.device && (o.dtype < 0 || (int32_t)stack[o.dtype] == a.dtype) &&
           !memcmp(a.sizes, b.sizes, sizeof *a.sizes * (size_t)a.ndim);
}

void take(const override &o, const op_signature &op, StableIValue *stack)
{
    call c(op);
    for (int i = 0; i < 2; i++)
        c.tensors[i] = handle(stack[o.inputs[i]]);
    for (int i = 0; i < o.nattrs; i++)
        c.attrs[c.nattrs++] = o.attrs[i];
    if (o.axis >= 0)
        c.attrs[c.nattrs++] = vjp_attr_s64(vjp_op_attr(op.info, op.axis)->name, (int64_t)stack[o.axis]);
    c.describe(0);
    c.describe(1);
    c.tensors[2] = empty_like(c, o.inputs[0] == 1 ? 0 : 1); /* aten's second argument: what was saved */
    c.describe(2);
    run(c);
    stack[0] = stable(std::exchange(c.tensors[2], nullptr));
}

/* PyTorch's own kernel, by its out overload, with an output that it resizes. */
void pass_on(const override &o, StableIValue *stack, uint64_t nargs)
{
    properties a, b;
    AtenTensorHandle result;
    const int64_t none = 0, one = 1;
    StableIValue arguments[8];
    if (!read_properties(stack[0], a) || !read_properties(stack[1], b) || nargs > 7)
        fail(std::string(o.aten) + ": its arguments are not tensors");
    const bool second = aoti_torch_dtype_element_size(b.dtype) > aoti_torch_dtype_element_size(a.dtype);
    const int32_t dtype = o.dtype >= 0 ? (int32_t)stack[o.dtype] : second ? b.dtype : a.dtype;
    ok(aoti_torch_empty_strided(1, &none, &one, dtype, a.device_type, a.device, &result),
       "allocating an output");
    memcpy(arguments, stack, sizeof *stack * nargs);
    arguments[nargs] = stable(result);
    ok(torch_call_dispatcher((std::string("aten::") + o.aten).c_str(), o.out_overload, arguments, ABI),
       o.aten);
    stack[0] = arguments[0];
}

template <size_t i> void override_kernel(StableIValue *stack, uint64_t nargs, uint64_t)
{
    override_state &state = states[i];
    const bool ours = state.on.load(std::memory_order_relaxed) && is_ours(overrides[i], stack);
    (ours ? state.taken : state.passed_on).fetch_add(1, std::memory_order_relaxed);
    if (ours)
        take(overrides[i], *state.op, stack);
    else
        pass_on(overrides[i], stack, nargs);
}

template <size_t... i> void add_overrides(const char *device, std::index_sequence<i...>)
{
    const kernel kernels[] = { override_kernel<i>... };
    TorchLibraryHandle library; /* kept for the life of the process */
    ok(aoti_torch_library_init_impl("aten", device, __FILE__, __LINE__, &library), "replacing kernels");
    for (int k = 0; k < NOVERRIDES; k++)
        if (states[k].op)
            ok(torch_library_impl(library, overrides[k].aten, kernels[k], ABI), overrides[k].aten);
}

} // namespace

} // namespace vjp_torch

/* ---- for vjp.torch, by ctypes ------------------------------------------------------------------ */

using namespace vjp_torch;

#define EXPORT extern "C" __attribute__((visibility("default")))

/* The name of override i in aten; NULL behind the last. */
EXPORT const char *vjp_torch_override(int i) { return i < NOVERRIDES ? overrides[i].aten : nullptr; }

/* Looks for the operator of override i in the table; to be called before it is registered. */
EXPORT int vjp_torch_override_exists(int i)
{
    for (int k = 0; k < noperators; k++)
        if (!strcmp(overrides[i].op, table[k].info->name))
            states[i].op = &table[k];
    return states[i].op != nullptr;
}

/* Registers the kernels of all overrides for a device, "CPU" or "CUDA"; to be called once. They pass
 * calls on until they are switched on. Returns 0 or -1. */
EXPORT int vjp_torch_override_register(const char *device)
{
    try {
        add_overrides(device, std::make_index_sequence<NOVERRIDES>());
    } catch (const std::exception &) {
        return -1;
    }
    return 0;
}

EXPORT void vjp_torch_override_switch(int i, int on) { states[i].on.store(on, std::memory_order_relaxed); }
EXPORT int64_t vjp_torch_override_taken(int i) { return states[i].taken.load(std::memory_order_relaxed); }
EXPORT int64_t vjp_torch_override_passed_on(int i)
{
    return states[i].passed_on.load(std::memory_order_relaxed);
}
