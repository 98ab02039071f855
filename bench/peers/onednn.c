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
    F(version) F(get_effective_cpu_isa) F(engine_create) F(stream_create) F(stream_wait) \
    F(memory_desc_create_with_strides) F(memory_desc_destroy) F(memory_create) F(memory_destroy) \
    F(eltwise_forward_primitive_desc_create) F(eltwise_backward_primitive_desc_create) \
    F(softmax_forward_primitive_desc_create) F(softmax_backward_primitive_desc_create) \
    F(prelu_forward_primitive_desc_create) F(prelu_backward_primitive_desc_create) \
    F(primitive_desc_destroy) F(primitive_create) F(primitive_execute) F(primitive_destroy)

/* What older versions lack: there norms are refused. */
#define NEWER(F) \
    F(layer_normalization_forward_primitive_desc_create_v2) \
    F(layer_normalization_backward_primitive_desc_create_v2)

#define DECLARE(name) static __typeof__(&dnnl_##name) name;
FUNCTIONS(DECLARE)
NEWER(DECLARE)

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
#define FIND(name) *(void **)&name = find(library, root != NULL, "dnnl_" #name);
#define EXPECT(name) missing = name ? missing : "dnnl_" #name;
    FUNCTIONS(FIND)
    NEWER(FIND)
    FUNCTIONS(EXPECT)
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
    dnnl_primitive_desc_t forward, backward; /* one that computes a value has no backward */
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t descs[MOST];
    dnnl_exec_arg_t args[MOST];
    int nargs;
    float *statistics[2]; /* of a norm, in memory of its own */
    void *outputs[MOST];
    dnnl_status_t status; /* the first that was not dnnl_success */
} job;

static const dnnl_data_type_t dtypes[] = {
    [VJP_F64] = dnnl_f64, [VJP_F32] = dnnl_f32, [VJP_F16] = dnnl_f16, [VJP_BF16] = dnnl_bf16
};

static void expect(job *j, dnnl_status_t status)
{
    j->status = j->status ? j->status : status;
}

/* A tensor as the primitive's argument of that number. */
static dnnl_memory_desc_t add(job *j, int number, const vjp_tensor *tensor, void *data)
{
    dnnl_memory_desc_t *desc = &j->descs[j->nargs];
    dnnl_exec_arg_t *arg = &j->args[j->nargs++];
    arg->arg = number;
    expect(j, memory_desc_create_with_strides(desc, tensor->ndim, tensor->shape,
                                              dtypes[tensor->dtype], tensor->strides));
    if (!j->status)
        expect(j, memory_create(&arg->memory, *desc, engine, data));
    return *desc;
}

static dnnl_memory_desc_t add_given(job *j, int number, const peer_task *task, int32_t tensor)
{
    return add(j, number, &task->tensors[tensor], task->buffers[tensor]);
}

static int is_backward(const peer_task *task)
{
    return strstr(task->op->name, "_backward") != NULL;
}

/* ---- maps --------------------------------------------------------------------------------- */

/* An operator without "_backward" in vjp's words and in oneDNN's: the algorithm, that of its other
 * choice (use_dst, or gelu_tanh), and alpha and beta: an attribute, or where there is none a
 * number. */
static const struct map {
    const char *op;
    dnnl_alg_kind_t algorithm, other;
    const char *alpha_attr, *beta_attr;
    float alpha, beta;
} maps[] = {
    { .op = "relu", dnnl_eltwise_relu },
    { .op = "leaky_relu", dnnl_eltwise_relu, .alpha_attr = "alpha" },
    { .op = "clamp", dnnl_eltwise_clip_v2, .alpha_attr = "min", .beta_attr = "max" },
    { .op = "hard_sigmoid", dnnl_eltwise_hardsigmoid, .alpha_attr = "alpha", .beta_attr = "beta" },
    { .op = "hard_swish", dnnl_eltwise_hardswish, .alpha = 1.0f / 6, .beta = 0.5f },
    { .op = "abs", dnnl_eltwise_abs },
    { .op = "sqrt", dnnl_eltwise_sqrt, dnnl_eltwise_sqrt_use_dst_for_bwd },
    { .op = "square", dnnl_eltwise_square },
    { .op = "reciprocal", dnnl_eltwise_pow, .alpha = 1, .beta = -1 },
    { .op = "round", dnnl_eltwise_round },
    { .op = "exp", dnnl_eltwise_exp },
    { .op = "log", dnnl_eltwise_log },
    { .op = "sigmoid", dnnl_eltwise_logistic, dnnl_eltwise_logistic_use_dst_for_bwd },
    { .op = "log_sigmoid", dnnl_eltwise_soft_relu, .alpha = -1 },
    { .op = "tanh", dnnl_eltwise_tanh, dnnl_eltwise_tanh_use_dst_for_bwd },
    { .op = "softplus", dnnl_eltwise_soft_relu, .alpha_attr = "beta" },
    { .op = "elu", dnnl_eltwise_elu, dnnl_eltwise_elu_use_dst_for_bwd, .alpha_attr = "alpha" },
    { .op = "silu", dnnl_eltwise_swish, .alpha_attr = "alpha" },
    { .op = "gelu", dnnl_eltwise_gelu_erf, dnnl_eltwise_gelu_tanh },
    { .op = "mish", dnnl_eltwise_mish },
};

static const struct map *map_of(const peer_task *task)
{
    size_t length = strlen(task->op->name);
    if (is_backward(task))
        length -= strlen("_backward");
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        if (strlen(maps[i].op) == length && !strncmp(task->op->name, maps[i].op, length))
            return &maps[i];
    return NULL;
}

static int has_attr(const peer_task *task, const char *name)
{
    for (int32_t i = 0; i < task->nattrs; i++)
        if (!strcmp(task->attrs[i].name, name))
            return 1;
    return 0;
}

static void open_map(job *j, const peer_task *task, const struct map *map)
{
    int from_dst = has_attr(task, "use_dst") && peer_attr(task, "use_dst").value.b;
    int by_tanh =
        has_attr(task, "mode") && !strcmp(peer_attr(task, "mode").value.str, "gelu_tanh");
    int backward = is_backward(task);
    dnnl_alg_kind_t algorithm = from_dst || by_tanh ? map->other : map->algorithm;
    float alpha =
        map->alpha_attr ? (float)peer_attr(task, map->alpha_attr).value.f64 : map->alpha;
    float beta = map->beta_attr ? (float)peer_attr(task, map->beta_attr).value.f64 : map->beta;
    dnnl_memory_desc_t x = add_given(j, from_dst ? DNNL_ARG_DST : DNNL_ARG_SRC, task, 0);
    dnnl_memory_desc_t y = x, dy = NULL, dx = NULL;
    if (backward) {
        dy = add_given(j, DNNL_ARG_DIFF_DST, task, 1);
        dx = add_given(j, DNNL_ARG_DIFF_SRC, task, 2);
    } else {
        y = add_given(j, DNNL_ARG_DST, task, 1);
    }
    if (!j->status)
        expect(j, eltwise_forward_primitive_desc_create(&j->forward, engine, dnnl_forward_training,
                                                        algorithm, x, y, alpha, beta, NULL));
    if (!j->status && backward)
        expect(j, eltwise_backward_primitive_desc_create(&j->backward, engine, algorithm, dx, dy, x,
                                                         alpha, beta, j->forward, NULL));
}

/* ---- rows --------------------------------------------------------------------------------- */

static void open_softmax(job *j, const peer_task *task, dnnl_alg_kind_t algorithm)
{
    int axis = (int)peer_attr(task, "axis").value.s64, backward = is_backward(task);
    int32_t output = task->op->ninputs;
    dnnl_memory_desc_t y, x, dy = NULL, dx = NULL;
    if (backward) {
        dy = add_given(j, DNNL_ARG_DIFF_DST, task, 0);
        x = y = add_given(j, DNNL_ARG_DST, task, 1);
        dx = add_given(j, DNNL_ARG_DIFF_SRC, task, output);
    } else {
        x = add_given(j, DNNL_ARG_SRC, task, 0);
        y = add_given(j, DNNL_ARG_DST, task, output);
    }
    axis += axis < 0 ? task->tensors[0].ndim : 0;
    if (!j->status)
        expect(j, softmax_forward_primitive_desc_create(&j->forward, engine, dnnl_forward_training,
                                                        algorithm, x, y, axis, NULL));
    if (!j->status && backward)
        expect(j, softmax_backward_primitive_desc_create(&j->backward, engine, algorithm, dx, dy, y,
                                                         axis, j->forward, NULL));
}

static void open_prelu(job *j, const peer_task *task)
{
    const vjp_tensor slope = peer_slope(task, 1);
    int backward = is_backward(task);
    dnnl_memory_desc_t x = add_given(j, DNNL_ARG_SRC, task, 0), y = x;
    dnnl_memory_desc_t dy = NULL, dx = NULL, dw = NULL;
    dnnl_memory_desc_t w = add(j, DNNL_ARG_WEIGHTS, &slope, task->buffers[1]);
    if (backward) {
        const vjp_tensor diff_slope = peer_slope(task, 4);
        dy = add_given(j, DNNL_ARG_DIFF_DST, task, 2);
        dx = add_given(j, DNNL_ARG_DIFF_SRC, task, 3);
        dw = add(j, DNNL_ARG_DIFF_WEIGHTS, &diff_slope, task->buffers[4]);
    } else {
        y = add_given(j, DNNL_ARG_DST, task, 2);
    }
    if (!j->status)
        expect(j, prelu_forward_primitive_desc_create(&j->forward, engine, dnnl_forward_training, x,
                                                      w, y, NULL));
    if (!j->status && backward)
        expect(j, prelu_backward_primitive_desc_create(&j->backward, engine, x, w, dx, dw, dy,
                                                       j->forward, NULL));
}

/* ---- norms: of rows along the last dim ---------------------------------------------------- */

static double number_at(vjp_dtype dtype, const void *data, int64_t i)
{
    float wide;
    uint32_t bits;
    if (dtype == VJP_F64)
        return ((const double *)data)[i];
    if (dtype == VJP_F32)
        return ((const float *)data)[i];
    if (dtype == VJP_F16)
        return (double)((const _Float16 *)data)[i];
    bits = (uint32_t)((const uint16_t *)data)[i] << 16;
    memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

/* A number for each row in f32, which oneDNN keeps statistics in. */
static dnnl_memory_desc_t add_statistic(job *j, int number, const peer_task *task, int which)
{
    vjp_tensor rows = task->tensors[0];
    int64_t count = 1;
    rows.dtype = VJP_F32;
    rows.ndim--;
    for (int32_t d = rows.ndim - 1; d >= 0; d--) {
        rows.strides[d] = count;
        count *= rows.shape[d];
    }
    j->statistics[which] = calloc((size_t)count, sizeof(float));
    return add(j, number, &rows, j->statistics[which]);
}

/* vjp has 1 / sqrt(variance + epsilon) of the forward pass, and the mean unless there is none. */
static void take_statistics(job *j, const peer_task *task, int32_t mean, int32_t rstd)
{
    double epsilon = peer_attr(task, "epsilon").value.f64;
    int64_t rows = 1;
    for (int32_t d = 0; d < task->tensors[0].ndim - 1; d++)
        rows *= task->tensors[0].shape[d];
    for (int64_t i = 0; i < rows; i++) {
        double r = number_at(task->tensors[rstd].dtype, task->buffers[rstd], i);
        j->statistics[1][i] = (float)(1 / (r * r) - epsilon);
        if (mean >= 0)
            j->statistics[0][i] =
                (float)number_at(task->tensors[mean].dtype, task->buffers[mean], i);
    }
}

/* The forward pass has no parameters here; rms_norm has neither a mean nor a shift. */
static void open_norm(job *j, const peer_task *task, int rms)
{
    int backward = is_backward(task);
    float epsilon = (float)peer_attr(task, "epsilon").value.f64;
    dnnl_data_type_t dtype = dtypes[task->tensors[0].dtype];
    unsigned flags = rms ? dnnl_rms_norm : dnnl_normalization_flags_none;
    dnnl_memory_desc_t x = add_given(j, DNNL_ARG_SRC, task, 0), y = x, dy = NULL, dx = NULL;
    dnnl_memory_desc_t statistic = add_statistic(j, DNNL_ARG_MEAN, task, 0);
    add_statistic(j, DNNL_ARG_VARIANCE, task, 1);
    if (backward) {
        int32_t rstd = rms ? 2 : 3;
        flags |= rms ? dnnl_use_scale : dnnl_use_scale | dnnl_use_shift;
        add_given(j, DNNL_ARG_SCALE, task, 1);
        dy = add_given(j, DNNL_ARG_DIFF_DST, task, rstd + 1);
        dx = add_given(j, DNNL_ARG_DIFF_SRC, task, rstd + 2);
        add_given(j, DNNL_ARG_DIFF_SCALE, task, rstd + 3);
        if (!rms)
            add_given(j, DNNL_ARG_DIFF_SHIFT, task, rstd + 4);
        take_statistics(j, task, rms ? -1 : 2, rstd);
    } else {
        y = add_given(j, DNNL_ARG_DST, task, task->op->ninputs);
    }
    if (!layer_normalization_backward_primitive_desc_create_v2)
        expect(j, dnnl_unimplemented);
    if (!j->status)
        expect(j, layer_normalization_forward_primitive_desc_create_v2(
                      &j->forward, engine, dnnl_forward_training, x, y, statistic, dtype, epsilon,
                      flags, NULL));
    if (!j->status && backward)
        expect(j, layer_normalization_backward_primitive_desc_create_v2(
                      &j->backward, engine, dnnl_backward, dx, dy, x, statistic, dtype, dtype,
                      epsilon, flags, j->forward, NULL));
}

static int begins(const peer_task *task, const char *start)
{
    return !strncmp(task->op->name, start, strlen(start));
}

static void open_any(job *j, const peer_task *task)
{
    if (begins(task, "softmax"))
        open_softmax(j, task, dnnl_softmax_accurate);
    else if (begins(task, "log_softmax"))
        open_softmax(j, task, dnnl_softmax_log);
    else if (begins(task, "prelu"))
        open_prelu(j, task);
    else if (begins(task, "layer_norm"))
        open_norm(j, task, 0);
    else if (begins(task, "rms_norm"))
        open_norm(j, task, 1);
    else if (map_of(task))
        open_map(j, task, map_of(task));
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
    free(j->statistics[0]);
    free(j->statistics[1]);
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
    for (int32_t i = 0; i < task->op->noutputs && i < MOST; i++)
        j->outputs[i] = task->buffers[task->op->ninputs + i];
    open_any(j, task);
    if (!j->status)
        expect(j, primitive_create(&j->primitive, j->backward ? j->backward : j->forward));
    if (!j->status)
        return j;
    snprintf(reason, PEER_REASON_SIZE, "%s",
             j->status <= dnnl_runtime_error && words[j->status] ? words[j->status] : "refused");
    close_job(j);
    return NULL;
}

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    if ((isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core)
        return "AVX512";
    return (isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2 ? "AVX2" : "older than AVX2";
}

const peer *vjp_peer(const peer_host *host, char reason[PEER_REASON_SIZE])
{
    static char number[32];
    static peer self = { "oneDNN", number, "", open_job, run_job, result_of, close_job };
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
    self.isa = isa_name(get_effective_cpu_isa());
    return &self;
}
