/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - what the files of libvjp_torch.so share: an operator's signature, and a call of it.
 *
 * Written against the C functions of libtorch's stable ABI, so that one binary serves torch 2.10
 * and newer. It is C++ only because an error leaves a boxed kernel as an exception. A call flows
 * one way: operators.cpp and overrides.cpp take arguments off PyTorch's stack, call.cpp describes
 * them, allocates outputs and runs. */
#ifndef VJP_TORCH_CALL_H
#define VJP_TORCH_CALL_H

#define TORCH_TARGET_VERSION 0x020a000000000000
#include <torch/csrc/stable/c/shim.h>

#include <vjp/vjp.h>

#include <string>

namespace vjp_torch {

constexpr uint64_t ABI = TORCH_TARGET_VERSION; /* whose conversions the kernels expect */
constexpr int MOST_OPERATORS = 256, MOST_TENSORS = 16, MOST_ATTRS = 16, MOST_DEVICES = 64;

using kernel = void (*)(StableIValue *stack, uint64_t nargs, uint64_t nresults);

struct op_signature {
    const vjp_op_info *info;
    const vjp_tensor_info *tensors[MOST_TENSORS]; /* inputs, then outputs */
    const vjp_attr_info *attrs[MOST_ATTRS];
    bool optional[MOST_TENSORS];
    int ninputs, ntensors, nattrs;
    int axis;                  /* the attribute that says where rows run; -1: none */
    int like[MOST_TENSORS];    /* the input whose shape an output takes; -1: one element per row */
    bool absent[MOST_ATTRS];   /* the default is not finite: "float? limit=None" */
};

extern op_signature table[MOST_OPERATORS];
extern int noperators;

/* Fills the table; throws if an operator does not fit. */
void read_table();

[[noreturn]] void fail(const std::string &text);
void ok(AOTITorchError error, const char *what); /* fails unless the call of torch succeeded */

inline AtenTensorHandle handle(StableIValue value) { return (AtenTensorHandle)(uintptr_t)value; }
inline StableIValue stable(AtenTensorHandle tensor) { return (StableIValue)(uintptr_t)tensor; }

/* The library's number for torch's; 0 if it has none. bool is u8. */
vjp_dtype dtype_of(int32_t dtype);

/* The value of a "T?" argument, which torch allocated for the kernel; false for None. */
bool take_optional(StableIValue &value);

/* What a kernel received and made. It owns the handles; results are released to the stack. */
struct call {
    const op_signature &op;
    AtenTensorHandle tensors[MOST_TENSORS] = {};
    vjp_tensor described[MOST_TENSORS];
    const vjp_tensor *given[MOST_TENSORS] = {};
    void *data[MOST_TENSORS] = {};
    vjp_attr attrs[MOST_ATTRS];
    int nattrs = 0;
    StringHandle strings[MOST_ATTRS];
    int nstrings = 0;
    int32_t device_type = 0, device = 0;

    explicit call(const op_signature &signature) : op(signature) {}
    call(const call &) = delete;
    ~call()
    {
        for (int i = 0; i < op.ntensors; i++)
            if (tensors[i])
                aoti_torch_delete_tensor_object(tensors[i]);
        for (int i = 0; i < nstrings; i++)
            torch_delete_string(strings[i]);
    }
    [[noreturn]] void refuse(const std::string &reason) const
    {
        fail(std::string(op.info->name) + ": " + reason);
    }
    std::string describe_unless(int i);        /* tensor i, whose handle is set; or why not */
    void describe(int i);                      /* the same; refuses */
    void take_attr(int i, StableIValue value); /* attribute i, off the stack */
};

/* Allocates and describes output i as torch.empty_like of tensor `like`: the same memory format,
 * also where that is not dense. */
void add_output_like(call &c, int i, int like);

/* Allocates and describes output i: shaped as the table says, or without elements if not wanted. */
void add_output(call &c, int i, bool wanted);

/* Computes what is given; throws the library's reason if it refuses. */
void run(call &c);

} // namespace vjp_torch

#endif /* VJP_TORCH_CALL_H */
