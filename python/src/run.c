/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - compute, on the device of the arrays, without the GIL unless it is a matter of
 * microseconds.
 *
 * On the CPU one context serves all calls. On CUDA there is one per device; a plan is queued on the
 * framework's stream and destroyed, and nothing waits. */
#include "core.h"

#include <string.h>

enum { MAX_DEVICES = 64 };
static vjp_context *cpu, *cuda[MAX_DEVICES]; /* under the GIL */

static int create_context(vjp_device device, int id, vjp_context **ctx)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    char reason[VJP_REASON_SIZE];
    options.device = device;
    options.device_id = id;
    if (vjp_context_create(&options, ctx, reason, sizeof reason) == VJP_OK)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, reason);
    return -1;
}

int vjpy_run_init(void)
{
    return create_context(VJP_CPU, 0, &cpu);
}

static int fail(const call *call, vjp_context *ctx, vjp_status status, const char *reason)
{
    const char *name = call->op->info->name;
    PyObject *type = PyExc_ValueError;
    if (status == VJP_BAD_DTYPE)
        type = PyExc_TypeError;
    if (status == VJP_NO_MEMORY)
        type = PyExc_MemoryError;
    if (status == VJP_NO_DEVICE || status == VJP_DEVICE_ERROR)
        type = PyExc_RuntimeError;
    if (status == VJP_DEVICE_ERROR && !*reason)
        reason = vjp_context_error(ctx);
    PyErr_Format(type, "%s: %s", name, *reason ? reason : vjp_status_string(status));
    return -1;
}

/* ---- devices ------------------------------------------------------------------------------ */

static bool is_cuda(DLDevice device)
{
    return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged;
}

static bool is_cpu(DLDevice device)
{
    return device.device_type == kDLCPU || device.device_type == kDLCUDAHost;
}

static PyObject *device_name(DLDevice device)
{
    if (is_cpu(device))
        return PyUnicode_FromString("the CPU");
    if (is_cuda(device))
        return PyUnicode_FromFormat("cuda:%d", (int)device.device_id);
    return PyUnicode_FromFormat("DLPack device %d:%d", (int)device.device_type,
                                (int)device.device_id);
}

/* All tensors are where the first is, and the library serves that device. */
static int check_devices(const call *call)
{
    DLDevice first = call->arrays[0].device;
    for (int i = 0; i < call->op->ntensors; i++) {
        const array *array = &call->arrays[i];
        bool same = is_cuda(first) ? is_cuda(array->device) &&
                                         array->device.device_id == first.device_id
                                   : is_cpu(array->device);
        if (!array->object || (same && (is_cpu(first) || is_cuda(first))))
            continue;
        PyObject *here = device_name(array->device), *there = device_name(first);
        if (here && there && i == 0)
            PyErr_Format(PyExc_ValueError, "%s: %s: is on %U, which is not supported",
                         call->op->info->name, call->op->tensors[i]->name, here);
        else if (here && there)
            PyErr_Format(PyExc_ValueError, "%s: %s: is on %U, %s is on %U", call->op->info->name,
                         call->op->tensors[i]->name, here, call->op->tensors[0]->name, there);
        Py_XDECREF(here);
        Py_XDECREF(there);
        return -1;
    }
    return 0;
}

/* ---- compute ------------------------------------------------------------------------------ */

typedef struct pointers {
    const vjp_tensor *tensors[MAX_TENSORS];
    const void *inputs[MAX_TENSORS];
    void *outputs[MAX_TENSORS];
} pointers;

static void collect(const call *call, pointers *p)
{
    int ninputs = call->op->info->ninputs;
    for (int i = 0; i < call->op->ntensors; i++) {
        const array *array = &call->arrays[i];
        void *data = array->object ? array->data : NULL;
        p->tensors[i] = array->object ? &array->tensor : NULL;
        if (i < ninputs)
            p->inputs[i] = data;
        else
            p->outputs[i - ninputs] = data;
    }
}

/* Handing over the GIL costs more than a call of a few microseconds gains. */
static bool is_short(const call *call)
{
    const vjp_tensor *data = &call->arrays[0].tensor;
    int64_t elements = 1;
    for (int d = 0; d < data->ndim && elements <= 8192; d++)
        elements *= data->shape[d] <= 8192 ? data->shape[d] : 8193;
    return elements <= 8192;
}

static int run_cpu(call *call, const pointers *p)
{
    char reason[VJP_REASON_SIZE];
    PyThreadState *thread = is_short(call) ? NULL : PyEval_SaveThread();
    vjp_status status =
        vjp_compute(cpu, call->op->info->name, call->attrs, call->nattrs, p->tensors,
                    call->op->ntensors, p->inputs, p->outputs, reason, sizeof reason);
    if (thread)
        PyEval_RestoreThread(thread);
    return status == VJP_OK ? 0 : fail(call, cpu, status, reason);
}

/* Scratch memory from the framework of input 0, which reuses it on the same stream only. */
static int make_workspace(call *call, size_t size, array *workspace)
{
    int64_t shape = (int64_t)size;
    PyObject *object = vjpy_empty(call, 1, &shape, VJP_U8);
    if (!object)
        return -1;
    array saved = call->arrays[0]; /* it is described as a tensor of the call, for its name */
    int failed = vjpy_borrow(call, 0, object, true);
    *workspace = call->arrays[0];
    call->arrays[0] = saved;
    Py_DECREF(object);
    return failed;
}

static int run_plan(call *call, vjp_context *ctx, const vjp_plan *plan, const pointers *p)
{
    array workspace = { NULL };
    size_t size = vjp_plan_workspace_size(plan);
    char reason[VJP_REASON_SIZE] = "";
    vjp_status status;
    if (size && make_workspace(call, size, &workspace)) {
        vjpy_release(&workspace);
        return -1;
    }
    void *memory = size ? workspace.data : NULL;
    Py_BEGIN_ALLOW_THREADS
    status = vjp_plan_run(plan, p->inputs, p->outputs, memory, size, call->stream);
    if (status != VJP_OK)
        vjp_plan_check(plan, p->inputs, p->outputs, memory, size, reason, sizeof reason);
    Py_END_ALLOW_THREADS
    vjpy_release(&workspace);
    return status == VJP_OK ? 0 : fail(call, ctx, status, reason);
}

static int run_cuda(call *call, const pointers *p)
{
    int id = call->arrays[0].device.device_id;
    char reason[VJP_REASON_SIZE];
    vjp_plan *plan;
    vjp_status status;
    if (id < 0 || id >= MAX_DEVICES) {
        PyErr_Format(PyExc_RuntimeError, "%s: no device cuda:%d", call->op->info->name, id);
        return -1;
    }
    if (!cuda[id] && create_context(VJP_CUDA, id, &cuda[id]))
        return -1;
    Py_BEGIN_ALLOW_THREADS
    status = vjp_plan_create(cuda[id], call->op->info->name, call->attrs, call->nattrs, p->tensors,
                             call->op->ntensors, &plan, reason, sizeof reason);
    Py_END_ALLOW_THREADS
    if (status != VJP_OK)
        return fail(call, cuda[id], status, reason);
    int failed = run_plan(call, cuda[id], plan, p);
    vjp_plan_destroy(plan);
    return failed;
}

int vjpy_run(call *call)
{
    pointers p;
    if (check_devices(call))
        return -1;
    collect(call, &p);
    return is_cuda(call->arrays[0].device) ? run_cuda(call, &p) : run_cpu(call, &p);
}
