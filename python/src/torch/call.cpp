/* SPDX-License-Identifier: Apache-2.0 */
/* call.cpp - describes PyTorch's tensors to the library, allocates outputs, and runs: on the CPU
 * with PyTorch's own threads, on CUDA on its current stream. */
#include "call.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace vjp_torch {

op_signature table[MOST_OPERATORS];
int noperators;

static int32_t torch_dtypes[8], torch_bool, on_cpu,
    on_cuda; /* torch's numbers; dtypes by vjp_dtype */

void fail(const std::string &text) { throw std::runtime_error(text); }

void ok(AOTITorchError error, const char *what)
{
    if (error)
        fail(std::string("torch: ") + what + " failed");
}

/* ---- signatures ------------------------------------------------------------------------------ */

/* "diff_x" is shaped like the input "x", if there is one; else the gradient of a parameter like the
 * one before it. */
static int shaped_like(const op_signature &op, int output)
{
    const char *name = op.tensors[output]->name;
    const vjp_shape_rule rule = op.tensors[output]->shape_rule;
    const int i = strncmp(name, "diff_", 5) ? -1 : vjp_op_tensor_index(op.info, name + 5);
    if (i >= 0 && i < op.ninputs)
        return i;
    if (rule == VJP_SHAPE_PARAM && output > op.ninputs &&
        op.tensors[output - 1]->shape_rule == VJP_SHAPE_PARAM)
        return op.like[output - 1];
    return rule == VJP_SHAPE_ROW ? -1 : 0;
}

static void read_signature(const vjp_op_info *info, op_signature &op)
{
    op.info = info;
    op.ninputs = info->ninputs;
    op.ntensors = info->ninputs + info->noutputs;
    op.nattrs = info->nattrs;
    op.axis = -1;
    if (op.ntensors > MOST_TENSORS || op.nattrs > MOST_ATTRS)
        fail(std::string(info->name) + ": more tensors or attributes than this file allows for");
    for (int i = 0; i < op.ntensors; i++) {
        op.tensors[i] = vjp_op_tensor(info, i);
        op.optional[i] = op.tensors[i]->flags & VJP_TENSOR_OPTIONAL;
    }
    for (int i = 0; i < op.nattrs; i++) {
        const vjp_attr_info *attr = op.attrs[i] = vjp_op_attr(info, i);
        if (attr->role == VJP_ROLE_AXIS || attr->role == VJP_ROLE_AXES)
            op.axis = i;
        op.absent[i] = !attr->required && attr->type == VJP_ATTR_F64 &&
                       !std::isfinite(attr->default_value.value.f64);
    }
    for (int i = op.ninputs; i < op.ntensors; i++)
        op.like[i] = shaped_like(op, i);
}

void read_table()
{
    int32_t (*const dtypes[])() = { nullptr, aoti_torch_dtype_float64, aoti_torch_dtype_float32,
                                    aoti_torch_dtype_float16, aoti_torch_dtype_bfloat16,
                                    aoti_torch_dtype_int32, aoti_torch_dtype_int64,
                                    aoti_torch_dtype_uint8 };
    for (int i = VJP_F64; i <= VJP_U8; i++)
        torch_dtypes[i] = dtypes[i]();
    torch_bool = aoti_torch_dtype_bool();
    on_cpu = aoti_torch_device_type_cpu();
    on_cuda = aoti_torch_device_type_cuda();
    noperators = vjp_op_count();
    if (noperators > MOST_OPERATORS)
        fail("vjp: more operators than this file allows for");
    for (int i = 0; i < noperators; i++)
        read_signature(vjp_op_at(i), table[i]);
}

/* ---- arguments ------------------------------------------------------------------------------- */

bool take_optional(StableIValue &value)
{
    auto *held = (StableIValue *)(uintptr_t)value;
    if (!held)
        return false;
    value = *held;
    delete held;
    return true;
}

vjp_dtype dtype_of(int32_t dtype)
{
    for (int i = VJP_F64; i <= VJP_U8; i++)
        if (dtype == torch_dtypes[i])
            return (vjp_dtype)i;
    return dtype == torch_bool ? VJP_U8 : (vjp_dtype)0;
}

std::string call::describe_unless(int i)
{
    int32_t dtype, type, index;
    int64_t ndim, *sizes, *strides;
    AtenTensorHandle t = tensors[i];
    vjp_tensor &d = described[i];
    if (aoti_torch_get_dtype(t, &dtype) || aoti_torch_get_dim(t, &ndim) ||
        aoti_torch_get_sizes(t, &sizes) || aoti_torch_get_strides(t, &strides) ||
        aoti_torch_get_data_ptr(t, &data[i]) || aoti_torch_get_device_type(t, &type) ||
        aoti_torch_get_device_index(t, &index))
        return "has no strided memory";
    if (ndim > VJP_MAX_DIMS)
        return "has " + std::to_string(ndim) + " dims; 12 are the most";
    d.dtype = dtype_of(dtype);
    if (!d.dtype)
        return "its dtype is not one of float64, float32, float16, bfloat16, int32, int64, uint8 "
               "and bool";
    if (i == 0) {
        device_type = type;
        device = index;
    } else if (type != device_type || index != device) {
        return std::string("is on another device than ") + op.tensors[0]->name;
    }
    d.struct_size = sizeof d;
    d.ndim = (int32_t)ndim;
    memcpy(d.shape, sizes, sizeof *sizes * (size_t)ndim);
    memcpy(d.strides, strides, sizeof *strides * (size_t)ndim);
    given[i] = &d;
    return std::string();
}

void call::describe(int i)
{
    const std::string reason = describe_unless(i);
    if (!reason.empty())
        refuse(std::string(op.tensors[i]->name) + ": " + reason);
}

void call::take_attr(int i, StableIValue value)
{
    const vjp_attr_info *info = op.attrs[i];
    if (op.absent[i] && !take_optional(value))
        return;
    double real;
    memcpy(&real, &value, sizeof real);
    vjp_attr &attr = attrs[nattrs++];
    switch (info->type) {
    case VJP_ATTR_BOOL: attr = vjp_attr_bool(info->name, value & 1); break;
    case VJP_ATTR_S64: attr = vjp_attr_s64(info->name, (int64_t)value); break;
    case VJP_ATTR_F32:
    case VJP_ATTR_F64: attr = vjp_attr_f64(info->name, real); break;
    case VJP_ATTR_STR:
        attr = vjp_attr_str(info->name, "");
        strings[nstrings++] = (StringHandle)(uintptr_t)value;
        ok(torch_string_c_str(strings[nstrings - 1], &attr.value.str), "reading a string");
        break;
    }
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Whether each address between the first and the last element belongs to exactly one of them. */
static bool is_dense(const vjp_tensor &t)
{
    int64_t expected = 1;
    unsigned done = 0;
    for (int k = 0; k < t.ndim; k++) { /* the dim of the smallest stride that is left */
        int next = -1;
        for (int i = 0; i < t.ndim; i++) {
            if (t.shape[i] == 0)
                return false;
            if (!(done >> i & 1) && t.shape[i] > 1 && (next < 0 || t.strides[i] < t.strides[next]))
                next = i;
        }
        if (next < 0)
            return true;
        if (t.strides[next] != expected)
            return false;
        expected *= t.shape[next];
        done |= 1u << next;
    }
    return true;
}

static AtenTensorHandle empty(const call &c, int32_t ndim, const int64_t *shape,
                              const int64_t *strides, vjp_dtype dtype)
{
    AtenTensorHandle result;
    ok(aoti_torch_empty_strided(ndim, shape, strides, torch_dtypes[dtype], c.device_type, c.device,
                                &result), "allocating an output");
    return result;
}

void add_output_like(call &c, int i, int like)
{
    const vjp_tensor &t = c.described[like];
    if (is_dense(t)) { /* the usual case needs no second description */
        c.tensors[i] = empty(c, t.ndim, t.shape, t.strides, t.dtype);
        c.described[i] = t;
        c.given[i] = &c.described[i];
        ok(aoti_torch_get_data_ptr(c.tensors[i], &c.data[i]), "allocating an output");
        return;
    }
    AtenTensorHandle argument;
    ok(aoti_torch_new_tensor_handle(c.tensors[like], &argument), "allocating an output");
    StableIValue stack[6] = { stable(argument) };
    ok(torch_call_dispatcher("aten::empty_like", "", stack, ABI), "allocating an output");
    c.tensors[i] = handle(stack[0]);
    c.describe(i);
}

/* One element per row: the data's shape without the dims that rows run along. An axis out of range
 * is left for the library to refuse. */
static AtenTensorHandle empty_rows(const call &c, int output)
{
    const vjp_tensor &data = c.described[0];
    const vjp_attr_info *attr = c.op.attrs[c.op.axis];
    int64_t axis = attr->default_value.value.s64, shape[VJP_MAX_DIMS], strides[VJP_MAX_DIMS];
    for (int i = 0; i < c.nattrs; i++)
        if (!strcmp(c.attrs[i].name, attr->name))
            axis = c.attrs[i].value.s64;
    axis += axis < 0 ? data.ndim : 0;
    int32_t ndim = 0;
    for (int i = 0; i < data.ndim; i++)
        if (attr->role == VJP_ROLE_AXIS ? i != axis : i < axis)
            shape[ndim++] = data.shape[i];
    for (int64_t i = ndim - 1, stride = 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape[i] > 1 ? shape[i] : 1;
    }
    const bool is_same = c.op.tensors[output]->dtype_rule == VJP_DTYPE_SAME;
    const vjp_dtype dtype = is_same || data.dtype == VJP_F64 ? data.dtype : VJP_F32;
    return empty(c, ndim, shape, strides, dtype);
}

void add_output(call &c, int i, bool wanted)
{
    const int64_t none = 0, one = 1;
    if (!wanted) {
        c.tensors[i] = empty(c, 1, &none, &one, c.described[0].dtype);
    } else if (c.op.like[i] < 0) {
        c.tensors[i] = empty_rows(c, i);
        c.describe(i);
    } else {
        add_output_like(c, i, c.op.like[i]);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

namespace {
struct job {
    vjp_task task;
    void *arg;
};
} // namespace

static thread_local bool threads_failed;

/* torch's own threads, so that torch.set_num_threads counts and there is one pool. */
static void torch_threads(void *, int64_t ntasks, vjp_task task, void *arg)
{
    job work = { task, arg };
    auto run = [](int64_t begin, int64_t end, void *context) {
        const job *work = (const job *)context;
        for (int64_t i = begin; i < end; i++)
            work->task(work->arg, i);
    };
    /* No exception may pass through the library: run() throws when it is back. */
    threads_failed = threads_failed || torch_parallel_for(0, ntasks, 1, run, &work);
}

static vjp_context *create_context(vjp_device device, int32_t index)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.device = device;
    options.device_id = index;
    options.parallel_for = torch_threads;
    char reason[VJP_REASON_SIZE];
    vjp_context *context;
    if (vjp_context_create(&options, &context, reason, sizeof reason))
        fail(std::string("vjp: ") + reason);
    return context;
}

static vjp_context *cpu_context()
{
    static vjp_context *context = create_context(VJP_CPU, 0);
    return context;
}

static vjp_context *cuda_context(int32_t device)
{
    static std::mutex mutex;
    static std::atomic<vjp_context *> contexts[MOST_DEVICES];
    if (device < 0 || device >= MOST_DEVICES)
        fail("vjp: CUDA device " + std::to_string(device) + ": 64 are the most");
    if (vjp_context *context = contexts[device].load(std::memory_order_acquire))
        return context;
    std::lock_guard<std::mutex> lock(mutex);
    if (!contexts[device].load())
        contexts[device].store(create_context(VJP_CUDA, device));
    return contexts[device].load();
}

/* libtorch_cuda.so is not a dependency: a torch without CUDA has none. */
static void *current_stream(int32_t device)
{
    using function = AOTITorchError (*)(int32_t, void **);
    static const function get = [] {
        void *library = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
        return library ? (function)dlsym(library, "aoti_torch_get_current_cuda_stream") : nullptr;
    }();
    void *stream = nullptr;
    if (!get || get(device, &stream))
        fail("vjp: torch did not name its current CUDA stream");
    return stream;
}

static void run_cuda(call &c)
{
    struct resources {
        vjp_plan *plan = nullptr;
        AtenTensorHandle workspace = nullptr;
        ~resources()
        {
            vjp_plan_destroy(plan);
            if (workspace) /* the caching allocator reuses it in stream order */
                aoti_torch_delete_tensor_object(workspace);
        }
    } own;
    char reason[VJP_REASON_SIZE];
    vjp_context *context = cuda_context(c.device);
    void *stream = current_stream(c.device), *memory = nullptr;
    if (vjp_plan_create(context, c.op.info->name, c.attrs, c.nattrs, c.given, c.op.ntensors,
                        &own.plan, reason, sizeof reason))
        c.refuse(reason);
    const int64_t size = (int64_t)vjp_plan_workspace_size(own.plan), one = 1;
    if (size) {
        ok(aoti_torch_empty_strided(1, &size, &one, torch_dtypes[VJP_U8], c.device_type, c.device,
                                    &own.workspace), "allocating the workspace");
        ok(aoti_torch_get_data_ptr(own.workspace, &memory), "allocating the workspace");
    }
    void **outputs = c.data + c.op.ninputs;
    const vjp_status status = vjp_plan_run(own.plan, c.data, outputs, memory, (size_t)size, stream);
    if (status == VJP_DEVICE_ERROR)
        c.refuse(vjp_context_error(context));
    if (status) {
        vjp_plan_check(own.plan, c.data, outputs, memory, (size_t)size, reason, sizeof reason);
        c.refuse(reason);
    }
}

void run(call &c)
{
    char reason[VJP_REASON_SIZE];
    if (c.device_type == on_cuda)
        run_cuda(c);
    else if (c.device_type != on_cpu)
        c.refuse(std::string(c.op.tensors[0]->name) + ": is neither on a CPU nor on a CUDA device");
    else if (vjp_compute(cpu_context(), c.op.info->name, c.attrs, c.nattrs, c.given, c.op.ntensors,
                         c.data, c.data + c.op.ninputs, reason, sizeof reason))
        c.refuse(reason);
    if (std::exchange(threads_failed, false))
        c.refuse("torch could not run its threads");
}

} // namespace vjp_torch
