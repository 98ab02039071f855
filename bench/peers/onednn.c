/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.c - oneDNN as a peer: its primitives, by its C API.
 *
 * The library is $ONEDNN_ROOT/lib/libdnnl.so.3; without ONEDNN_ROOT the oneDNN that is linked into
 * PyTorch, which is much newer than the package for OpenMP. PyTorch does not export its functions,
 * but its symbol table has them: onednn_offsets.h, which `make peers` generates with nm. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <link.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include <oneapi/dnnl/dnnl.h>

#include "peer.h"

/* ---- the library -------------------------------------------------------------------------- */

#define FUNCTIONS(F) \
    F(version) F(engine_create) F(stream_create) F(stream_wait) \
    F(memory_desc_create_with_strides) F(memory_desc_destroy) F(memory_create) F(memory_destroy) \
    F(eltwise_forward_primitive_desc_create) F(eltwise_backward_primitive_desc_create) \
    F(softmax_forward_primitive_desc_create) F(softmax_backward_primitive_desc_create) \
    F(prelu_forward_primitive_desc_create) F(prelu_backward_primitive_desc_create) \
    F(primitive_desc_destroy) F(primitive_create) F(primitive_execute) F(primitive_destroy)

#define DECLARE(name) static __typeof__(&dnnl_##name) name;
FUNCTIONS(DECLARE)

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static const struct {
    const char *name;
    size_t offset;
} offsets[] = {
#include "onednn_offsets.h"
    { NULL, 0 },
};

/* The address of a function: exported, or in PyTorch at an offset from where it was loaded. */
static void *find(void *library, int exported, const char *name)
{
    struct link_map *map;
    if (exported)
        return dlsym(library, name);
    for (int i = 0; offsets[i].name; i++)
        if (!strcmp(offsets[i].name, name) && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
            return (char *)map->l_addr + offsets[i].offset;
    return NULL;
}

static int load(char reason[PEER_REASON_SIZE])
{
    const char *root = getenv("ONEDNN_ROOT"), *missing = NULL;
    char path[4096];
    snprintf(path, sizeof(path), "%s/lib/libdnnl.so.3", root ? root : "");
    /* deep: PyTorch's own must not answer instead */
    void *library = dlopen(root ? path : PYTORCH, RTLD_NOW | (root ? RTLD_DEEPBIND : 0));
    if (!library) {
        snprintf(reason, PEER_REASON_SIZE, "%s", dlerror());
        return 0;
    }
#define FIND(name) \
    *(void **)&name = find(library, root != NULL, "dnnl_" #name); \
    missing = name ? missing : "dnnl_" #name;
    FUNCTIONS(FIND)
    if (missing)
        snprintf(reason, PEER_REASON_SIZE, "no %s in %s: set ONEDNN_ROOT", missing,
                 root ? root : "this PyTorch");
    return !missing;
}

/* ---- jobs --------------------------------------------------------------------------------- */

enum {
    MOST = 8
};

typedef struct job {
    dnnl_primitive_desc_t forward, backward;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t descs[MOST];
    dnnl_exec_arg_t args[MOST];
    int nargs;
    void *outputs[2];
    dnnl_status_t status; /* the first that was not dnnl_success */
} job;

static void expect(job *j, dnnl_status_t status)
{
    j->status = j->status ? j->status : status;
}

/* A tensor as the primitive's argument of that number. */
static dnnl_memory_desc_t add(job *j, int number, const vjp_tensor *tensor, void *data)
{
    static const dnnl_data_type_t dtypes[] = {
        [VJP_F64] = dnnl_f64, [VJP_F32] = dnnl_f32, [VJP_F16] = dnnl_f16, [VJP_BF16] = dnnl_bf16
    };
    dnnl_memory_desc_t *desc = &j->descs[j->nargs];
    dnnl_exec_arg_t *arg = &j->args[j->nargs++];
    arg->arg = number;
    expect(j, memory_desc_create_with_strides(desc, tensor->ndim, tensor->shape,
                                              dtypes[tensor->dtype], tensor->strides));
    if (!j->status)
        expect(j, memory_create(&arg->memory, *desc, engine, data));
    return *desc;
}

static void open_eltwise(job *j, const peer_task *task, dnnl_alg_kind_t algorithm, int from_dst)
{
    float alpha = (float)peer_attr(task, "alpha").value.f64;
    float beta = (float)peer_attr(task, "beta").value.f64;
    const vjp_tensor *t = task->tensors;
    void *const *data = task->buffers;
    dnnl_memory_desc_t x = add(j, from_dst ? DNNL_ARG_DST : DNNL_ARG_SRC, &t[0], data[0]);
    dnnl_memory_desc_t dy = add(j, DNNL_ARG_DIFF_DST, &t[1], data[1]);
    dnnl_memory_desc_t dx = add(j, DNNL_ARG_DIFF_SRC, &t[2], data[2]);
    if (j->status)
        return;
    expect(j, eltwise_forward_primitive_desc_create(&j->forward, engine, dnnl_forward_training,
                                                    algorithm, x, x, alpha, beta, NULL));
    if (!j->status)
        expect(j, eltwise_backward_primitive_desc_create(&j->backward, engine, algorithm, dx, dy, x,
                                                         alpha, beta, j->forward, NULL));
}

static void open_softmax(job *j, const peer_task *task)
{
    int axis = (int)peer_attr(task, "axis").value.s64, output = task->op->ninputs;
    const vjp_tensor *t = task->tensors;
    void *const *data = task->buffers;
    dnnl_memory_desc_t dy = add(j, DNNL_ARG_DIFF_DST, &t[0], data[0]);
    dnnl_memory_desc_t y = add(j, DNNL_ARG_DST, &t[1], data[1]);
    dnnl_memory_desc_t dx = add(j, DNNL_ARG_DIFF_SRC, &t[output], data[output]);
    axis += axis < 0 ? t[0].ndim : 0;
    if (j->status)
        return;
    expect(j, softmax_forward_primitive_desc_create(&j->forward, engine, dnnl_forward_training,
                                                    dnnl_softmax_accurate, y, y, axis, NULL));
    if (!j->status)
        expect(j, softmax_backward_primitive_desc_create(&j->backward, engine,
                                                         dnnl_softmax_accurate, dx, dy, y, axis,
                                                         j->forward, NULL));
}

static void open_prelu(job *j, const peer_task *task)
{
    const vjp_tensor *t = task->tensors, slope = peer_slope(task, 1);
    const vjp_tensor diff_slope = peer_slope(task, 4);
    void *const *data = task->buffers;
    dnnl_memory_desc_t x = add(j, DNNL_ARG_SRC, &t[0], data[0]);
    dnnl_memory_desc_t w = add(j, DNNL_ARG_WEIGHTS, &slope, data[1]);
    dnnl_memory_desc_t dy = add(j, DNNL_ARG_DIFF_DST, &t[2], data[2]);
    dnnl_memory_desc_t dx = add(j, DNNL_ARG_DIFF_SRC, &t[3], data[3]);
    dnnl_memory_desc_t dw = add(j, DNNL_ARG_DIFF_WEIGHTS, &diff_slope, data[4]);
    if (j->status)
        return;
    expect(j, prelu_forward_primitive_desc_create(&j->forward, engine, dnnl_forward_training, x, w,
                                                  x, NULL));
    if (!j->status)
        expect(j, prelu_backward_primitive_desc_create(&j->backward, engine, x, w, dx, dw, dy,
                                                       j->forward, NULL));
}

static void open_any(job *j, const peer_task *task)
{
    const char *op = task->op->name;
    int from_dst = peer_attr(task, "use_dst").value.b;
    if (!strcmp(op, "softmax_backward"))
        open_softmax(j, task);
    else if (!strcmp(op, "prelu_backward"))
        open_prelu(j, task);
    else if (!strcmp(op, "relu_backward"))
        open_eltwise(j, task, dnnl_eltwise_relu, 0);
    else if (!strcmp(op, "hard_sigmoid_backward"))
        open_eltwise(j, task, dnnl_eltwise_hardsigmoid, 0);
    else if (!strcmp(op, "sigmoid_backward") && from_dst)
        open_eltwise(j, task, dnnl_eltwise_logistic_use_dst_for_bwd, 1);
    else if (!strcmp(op, "sigmoid_backward"))
        open_eltwise(j, task, dnnl_eltwise_logistic, 0);
    else
        expect(j, dnnl_unimplemented);
}

/* ---- the peer ----------------------------------------------------------------------------- */

static int run_job(void *state)
{
    job *j = state;
    return primitive_execute(j->primitive, stream, j->nargs, j->args) || stream_wait(stream);
}

static const void *result_of(void *state, int32_t output)
{
    return ((job *)state)->outputs[output];
}

static void close_job(void *state)
{
    job *j = state;
    for (int i = 0; i < j->nargs; i++) {
        memory_destroy(j->args[i].memory);
        memory_desc_destroy(j->descs[i]);
    }
    primitive_destroy(j->primitive);
    primitive_desc_destroy(j->backward);
    primitive_desc_destroy(j->forward);
    free(j);
}

static void *open_job(const peer_task *task, char reason[PEER_REASON_SIZE])
{
    static const char *const words[] = { [dnnl_out_of_memory] = "out of memory",
                                         [dnnl_invalid_arguments] = "invalid arguments",
                                         [dnnl_unimplemented] = "unimplemented",
                                         [dnnl_runtime_error] = "runtime error" };
    job *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    for (int32_t i = 0; i < task->op->noutputs && i < 2; i++)
        j->outputs[i] = task->buffers[task->op->ninputs + i];
    open_any(j, task);
    if (!j->status)
        expect(j, primitive_create(&j->primitive, j->backward));
    if (!j->status)
        return j;
    snprintf(reason, PEER_REASON_SIZE, "%s",
             j->status <= dnnl_runtime_error && words[j->status] ? words[j->status] : "refused");
    close_job(j);
    return NULL;
}

const peer *vjp_peer(const peer_host *host, char reason[PEER_REASON_SIZE])
{
    static char number[32];
    static const peer self = { "oneDNN", number, open_job, run_job, result_of, close_job };
    omp_set_num_threads(host->threads);
    if (!load(reason))
        return NULL;
    if (engine_create(&engine, dnnl_cpu, 0) ||
        stream_create(&stream, engine, dnnl_stream_in_order)) {
        snprintf(reason, PEER_REASON_SIZE, "it has no CPU engine");
        return NULL;
    }
    snprintf(number, sizeof(number), "%d.%d.%d", version()->major, version()->minor,
             version()->patch);
    return &self;
}
