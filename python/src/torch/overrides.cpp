/* SPDX-License-Identifier: Apache-2.0 */
/* overrides.cpp - backward kernels of PyTorch's own replaced by the library's:
 * vjp.torch.enable(). */
#include "call.h"

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace vjp_torch {

namespace {

/* What aten's third argument is, behind the gradient and what was saved. */
enum third_argument { NOTHING, AXIS_AND_DTYPE, BUFFER, APPROXIMATE };

/* A backward kernel of aten that an operator of ours can replace. Only those without a Scalar
 * argument, which the stable ABI cannot pass, and with an out overload of their own; the rest is in
 * switches.py. */
struct override {
    const char *aten, *out_overload; /* the overload that still reaches PyTorch's own kernel */
    const char *op;
    int inputs[2]; /* where our inputs are among aten's arguments */
    third_argument third;
    vjp_attr attrs[2];
    int nattrs;
};

const override overrides[] = {
    { "sigmoid_backward", "grad_input", "sigmoid_backward", { 1, 0 }, NOTHING,
      { vjp_attr_bool("use_dst", 1) }, 1 },
    { "hardsigmoid_backward", "grad_input", "hard_sigmoid_backward", { 1, 0 }, NOTHING,
      { vjp_attr_f64("alpha", 1.0 / 6), vjp_attr_f64("beta", 0.5) }, 2 },
    { "_softmax_backward_data", "out", "softmax_backward", { 0, 1 }, AXIS_AND_DTYPE, {}, 0 },
    { "tanh_backward", "grad_input", "tanh_backward", { 1, 0 }, NOTHING,
      { vjp_attr_bool("use_dst", 1) }, 1 },
    { "silu_backward", "grad_input", "silu_backward", { 1, 0 }, NOTHING, {}, 0 },
    { "gelu_backward", "grad_input", "gelu_backward", { 1, 0 }, APPROXIMATE, {}, 0 },
    { "log_sigmoid_backward", "grad_input", "log_sigmoid_backward", { 1, 0 }, BUFFER, {}, 0 },
};
constexpr int NOVERRIDES = sizeof overrides / sizeof *overrides;

/* The kernels stay registered: PyTorch's dispatch tables are read without a lock, so removing one
 * while an operator runs could crash. Switched off, a kernel passes the call on. */
struct override_state {
    const op_signature *op;
    std::atomic<bool> on;
    std::atomic<int64_t> taken, passed_on;
} states[NOVERRIDES];

/* The mode of GELU for PyTorch's word; NULL if it is neither. */
const char *mode_of(StableIValue approximate)
{
    const char *word;
    ok(torch_string_c_str((StringHandle)(uintptr_t)approximate, &word), "reading a string");
    return !strcmp(word, "none") ? "gelu_erf" : !strcmp(word, "tanh") ? "gelu_tanh" : nullptr;
}

/* Calls that are left to PyTorch: other dtypes, a gradient that is broadcast (torch.func.jacrev
 * sends such), a result of another dtype, tensors of too many dims or, for rows, of none. */
bool is_ours(const override &o, call &c, const StableIValue *stack)
{
    for (int i = 0; i < 2; i++)
        c.tensors[i] = handle(stack[o.inputs[i]]);
    if (!c.describe_unless(0).empty() || !c.describe_unless(1).empty())
        return false;
    const vjp_tensor &a = c.described[0], &b = c.described[1];
    int32_t dtype;
    const bool is_row = o.third == AXIS_AND_DTYPE;
    if (is_row && (aoti_torch_get_dtype(c.tensors[0], &dtype) || dtype != (int32_t)stack[3]))
        return false;
    if (o.third == APPROXIMATE && !mode_of(stack[2]))
        return false;
    return a.dtype <= VJP_BF16 && a.dtype == b.dtype && a.ndim == b.ndim &&
           (!is_row || a.ndim > 0) && !memcmp(a.shape, b.shape, sizeof *a.shape * (size_t)a.ndim);
}

/* The third argument, which is ours to free, as an attribute. */
void take_third(const override &o, call &c, const StableIValue *value)
{
    switch (o.third) {
    case NOTHING: break;
    case AXIS_AND_DTYPE:
        c.attrs[c.nattrs++] = vjp_attr_s64(c.op.attrs[c.op.axis]->name, (int64_t)*value);
        break;
    case BUFFER: aoti_torch_delete_tensor_object(handle(*value)); break;
    case APPROXIMATE:
        c.attrs[c.nattrs++] = vjp_attr_str("mode", mode_of(*value));
        c.strings[c.nstrings++] = (StringHandle)(uintptr_t)*value;
        break;
    }
}

/* Computes the call if it is ours. Else its arguments are still the caller's. */
bool take(const override &o, const op_signature &op, StableIValue *stack)
{
    call c(op);
    if (!is_ours(o, c, stack)) {
        c.tensors[0] = c.tensors[1] = nullptr;
        return false;
    }
    for (int i = 0; i < o.nattrs; i++)
        c.attrs[c.nattrs++] = o.attrs[i];
    take_third(o, c, stack + 2);
    add_output_like(c, op.ninputs,
                    o.inputs[0] == 1 ? 0 : 1); /* aten's second argument: what was saved */
    run(c);
    stack[0] = stable(std::exchange(c.tensors[op.ninputs], nullptr));
    return true;
}

/* PyTorch's own kernel, by its out overload, with an output that it resizes. */
void pass_on(const override &o, StableIValue *stack, uint64_t nargs)
{
    AtenTensorHandle result;
    const int64_t none = 0, one = 1;
    int32_t a, b, device_type, device;
    StableIValue arguments[8];
    if (aoti_torch_get_dtype(handle(stack[0]), &a) || aoti_torch_get_dtype(handle(stack[1]), &b) ||
        aoti_torch_get_device_type(handle(stack[0]), &device_type) ||
        aoti_torch_get_device_index(handle(stack[0]), &device) || nargs > 7)
        fail(std::string(o.aten) + ": its arguments are not tensors");
    const bool second = aoti_torch_dtype_element_size(b) > aoti_torch_dtype_element_size(a);
    const int32_t dtype = o.third == AXIS_AND_DTYPE ? (int32_t)stack[3] : second ? b : a;
    ok(aoti_torch_empty_strided(1, &none, &one, dtype, device_type, device, &result),
       "allocating an output");
    memcpy(arguments, stack, sizeof *stack * nargs);
    arguments[nargs] = stable(result);
    ok(torch_call_dispatcher((std::string("aten::") + o.aten).c_str(), o.out_overload, arguments,
                             ABI),
       o.aten);
    stack[0] = arguments[0];
}

template <size_t i> void override_kernel(StableIValue *stack, uint64_t nargs, uint64_t)
{
    override_state &state = states[i];
    const bool ours =
        state.on.load(std::memory_order_relaxed) && take(overrides[i], *state.op, stack);
    (ours ? state.taken : state.passed_on).fetch_add(1, std::memory_order_relaxed);
    if (!ours)
        pass_on(overrides[i], stack, nargs);
}

const op_signature *find(const char *name)
{
    for (int k = 0; k < noperators; k++)
        if (!strcmp(name, table[k].info->name))
            return &table[k];
    fail(std::string(name) + ": not in the table");
}

template <size_t... i> void add_overrides(const char *device, std::index_sequence<i...>)
{
    const kernel kernels[] = { override_kernel<i>... };
    TorchLibraryHandle library; /* kept for the life of the process */
    ok(aoti_torch_library_init_impl("aten", device, __FILE__, __LINE__, &library),
       "replacing kernels");
    for (int k = 0; k < NOVERRIDES; k++) {
        states[k].op = find(overrides[k].op);
        ok(torch_library_impl(library, overrides[k].aten, kernels[k], ABI), overrides[k].aten);
    }
}

} // namespace

} // namespace vjp_torch

/* ---- for vjp.torch, by ctypes -------------------------------------------------------------- */

using namespace vjp_torch;

#define EXPORT extern "C" __attribute__((visibility("default")))

/* The name of override i in aten; NULL behind the last. */
EXPORT const char *vjp_torch_override(int i)
{
    return i < NOVERRIDES ? overrides[i].aten : nullptr;
}

/* Registers the kernels of all overrides for a device, "CPU" or "CUDA"; to be called once. They
 * pass calls on until they are switched on. Returns 0 or -1. */
EXPORT int vjp_torch_override_register(const char *device)
{
    try {
        add_overrides(device, std::make_index_sequence<NOVERRIDES>());
    } catch (const std::exception &) {
        return -1;
    }
    return 0;
}

EXPORT void vjp_torch_override_switch(int i, int on)
{
    states[i].on.store(on, std::memory_order_relaxed);
}
EXPORT int64_t vjp_torch_override_taken(int i)
{
    return states[i].taken.load(std::memory_order_relaxed);
}
EXPORT int64_t vjp_torch_override_passed_on(int i)
{
    return states[i].passed_on.load(std::memory_order_relaxed);
}
