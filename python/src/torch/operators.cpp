/* SPDX-License-Identifier: Apache-2.0 */
/* operators.cpp - every operator of the library as torch.ops.vjp.<name> and <name>_out.
 *
 * No operator is named here: schemas are built from the library's enumeration when this library is
 * loaded.
 *
 *     name(Tensor input, ..., *, <attributes>, bool want_<optional output>=True) -> (Tensor, ...)
 *     name_out(Tensor input, ..., *, <attributes>, Tensor(a!) output, ...) -> ()
 *
 * An output that is not wanted is returned without elements. */
#include "call.h"

#include <cstdio>
#include <stdexcept>
#include <utility>

namespace vjp_torch {

static std::string attr_schema(const op_signature &op, int i)
{
    const vjp_attr_info *attr = op.attrs[i];
    static const char *const types[] = { "", "bool", "int", "float", "str", "float" };
    char text[64] = "";
    const auto &value = attr->default_value.value;
    switch (attr->type) {
    case VJP_ATTR_BOOL: snprintf(text, sizeof text, "%s", value.b ? "True" : "False"); break;
    case VJP_ATTR_S64: snprintf(text, sizeof text, "%lld", (long long)value.s64); break;
    case VJP_ATTR_F32: snprintf(text, sizeof text, "%.9g", (double)value.f32); break;
    case VJP_ATTR_F64: snprintf(text, sizeof text, "%.17g", value.f64); break;
    case VJP_ATTR_STR:
        snprintf(text, sizeof text, "\"%s\"", attr->required ? "" : value.str);
        break;
    }
    std::string schema = std::string(types[attr->type]) + (op.absent[i] ? "? " : " ") + attr->name;
    return attr->required ? schema : schema + "=" + (op.absent[i] ? "None" : text);
}

/* Arguments that inputs and attributes give; an optional input has a default where no required one
 * follows. */
static std::string arguments_schema(const op_signature &op)
{
    int last = op.ninputs;
    while (last > 0 && op.optional[last - 1])
        last--;
    std::string schema;
    for (int i = 0; i < op.ninputs; i++)
        schema += std::string(i ? ", " : "") + (op.optional[i] ? "Tensor? " : "Tensor ") +
                  op.tensors[i]->name + (i >= last ? "=None" : "");
    for (int i = 0; i < op.nattrs; i++)
        schema += std::string(i ? ", " : ", *, ") + attr_schema(op, i);
    return schema;
}

static std::string schema_of(const op_signature &op)
{
    std::string wants, returns, separator = op.nattrs ? ", " : ", *, ";
    for (int i = op.ninputs; i < op.ntensors; i++) {
        if (op.optional[i]) {
            wants += separator + "bool want_" + op.tensors[i]->name + "=True";
            separator = ", ";
        }
        returns += std::string(i > op.ninputs ? ", " : "") + "Tensor";
    }
    if (op.info->noutputs > 1)
        returns = "(" + returns + ")";
    return std::string(op.info->name) + "(" + arguments_schema(op) + wants + ") -> " + returns;
}

static std::string out_schema_of(const op_signature &op)
{
    std::string outputs;
    for (int i = op.ninputs; i < op.ntensors; i++) {
        const std::string alias(1, (char)('a' + i - op.ninputs));
        outputs += std::string(op.nattrs || i > op.ninputs ? ", " : ", *, ") + "Tensor(" + alias +
                   "!)" + (op.optional[i] ? "? " : " ") + op.tensors[i]->name +
                   (op.optional[i] ? "=None" : "");
    }
    return std::string(op.info->name) + "_out(" + arguments_schema(op) + outputs + ") -> ()";
}

/* ---- the boxed kernels ----------------------------------------------------------------------- */

/* Inputs and attributes off the stack; returns where the remaining arguments are. */
static StableIValue *take_arguments(call &c, StableIValue *stack)
{
    for (int i = 0; i < c.op.ninputs; i++, stack++)
        if (!c.op.optional[i] || take_optional(*stack))
            c.tensors[i] = handle(*stack);
    for (int i = 0; i < c.op.nattrs; i++)
        c.take_attr(i, *stack++);
    for (int i = 0; i < c.op.ninputs; i++)
        if (c.tensors[i])
            c.describe(i);
    return stack;
}

static void returning(const op_signature &op, StableIValue *stack)
{
    call c(op);
    const StableIValue *want = take_arguments(c, stack);
    for (int i = op.ninputs; i < op.ntensors; i++) {
        bool wanted = !op.optional[i] || *want++ & 1;
        wanted = wanted && (op.like[i] < 0 || c.given[op.like[i]]);
        add_output(c, i, wanted);
    }
    run(c);
    for (int i = op.ninputs; i < op.ntensors; i++)
        stack[i - op.ninputs] = stable(std::exchange(c.tensors[i], nullptr));
}

static void writing(const op_signature &op, StableIValue *stack)
{
    call c(op);
    StableIValue *output = take_arguments(c, stack);
    for (int i = op.ninputs; i < op.ntensors; i++, output++)
        if (!op.optional[i] || take_optional(*output))
            c.tensors[i] = handle(*output);
    for (int i = op.ninputs; i < op.ntensors; i++)
        if (c.tensors[i])
            c.describe(i);
    run(c);
}

/* A boxed kernel receives nothing but its arguments, so each operator has functions of its own. */
template <size_t i> static void returning_kernel(StableIValue *stack, uint64_t, uint64_t)
{
    returning(table[i], stack);
}
template <size_t i> static void writing_kernel(StableIValue *stack, uint64_t, uint64_t)
{
    writing(table[i], stack);
}

namespace {
struct kernels {
    kernel returning, writing;
};
} // namespace
template <size_t... i> static const kernels *kernels_of(std::index_sequence<i...>)
{
    static const kernels all[] = { { returning_kernel<i>, writing_kernel<i> }... };
    return all;
}

static void define_operators()
{
    const kernels *all = kernels_of(std::make_index_sequence<MOST_OPERATORS>());
    TorchLibraryHandle library, cpu, cuda;
    ok(aoti_torch_library_init_def("vjp", __FILE__, __LINE__, &library),
       "defining the namespace vjp");
    ok(aoti_torch_library_init_impl("vjp", "CPU", __FILE__, __LINE__, &cpu), "adding kernels");
    ok(aoti_torch_library_init_impl("vjp", "CUDA", __FILE__, __LINE__, &cuda), "adding kernels");
    for (int i = 0; i < noperators; i++) {
        const std::string name = table[i].info->name, out = name + "_out";
        const std::string schema = schema_of(table[i]), out_schema = out_schema_of(table[i]);
        ok(aoti_torch_library_def(library, schema.c_str()), schema.c_str());
        ok(aoti_torch_library_def(library, out_schema.c_str()), out_schema.c_str());
        for (TorchLibraryHandle device : { cpu, cuda }) {
            ok(torch_library_impl(device, name.c_str(), all[i].returning, ABI), name.c_str());
            ok(torch_library_impl(device, out.c_str(), all[i].writing, ABI), out.c_str());
        }
    }
}

/* Loading must not throw; vjp.torch asks for the error. */
static const std::string load_error = [] {
    try {
        read_table();
        define_operators();
    } catch (const std::exception &error) {
        return std::string(error.what());
    }
    return std::string();
}();

} // namespace vjp_torch

/* For vjp.torch, by ctypes: why the operators could not be defined; "" if they were. */
extern "C" __attribute__((visibility("default"))) const char *vjp_torch_load_error(void)
{
    return vjp_torch::load_error.c_str();
}
