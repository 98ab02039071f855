/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - the CUDA backend: contexts, plans, runs. All of it is plain C over CUDA's runtime; the
 * kernels are in kernels.cu.
 *
 * A run queues a few launches on the caller's stream and nothing else: no copy, no allocation, no
 * wait. Kernels are loaded when a plan is made, so that even the first run may be captured into
 * a graph. The caller's current device is left as it was. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/lookup.h"

#define LEAST_ARCH 80       /* that the kernels are built for */
#define CLUSTER_ARCH 90     /* the first with clusters of blocks, */
#define PORTABLE_CLUSTER 8  /* of this many everywhere, and of more on some */

/* The backend's part of a context. */
typedef struct cuda_context {
    atomic_int error;    /* the last one of the device; 0: none */
    int32_t arch;        /* that kernels are chosen for: 10 * major + minor */
    char arch_name[16];
    vjpi_cuda_limits limits;
    vjpi_lookups lookups;
} cuda_context;

static const cuda_context *state_of(const vjp_context *ctx)
{
    return (const cuda_context *)(const void *)ctx->state;
}

/* ---- errors and devices ------------------------------------------------------------------- */

/* Keep the error for vjp_context_error, and clear it, so that the caller's next CUDA call does not
 * return it. */
static vjp_status device_error(vjp_context *ctx, cudaError_t error)
{
    if (error == cudaSuccess)
        return VJP_OK;
    (void)cudaGetLastError();
    atomic_store_explicit(&((cuda_context *)(void *)ctx->state)->error, (int)error,
                          memory_order_relaxed);
    return VJP_DEVICE_ERROR;
}

static const char *error_name(const vjp_context *ctx)
{
    int error = atomic_load_explicit(&state_of(ctx)->error, memory_order_relaxed);
    return error == 0 ? "" : cudaGetErrorName((cudaError_t)error);
}

/* Work on the context's device; leave with what enter found. */
static cudaError_t enter_device(const vjp_context *ctx, int *caller)
{
    cudaError_t error = cudaGetDevice(caller);
    if (error == cudaSuccess && *caller != ctx->options.device_id)
        error = cudaSetDevice(ctx->options.device_id);
    return error;
}

static void leave_device(const vjp_context *ctx, int caller)
{
    if (caller != ctx->options.device_id)
        (void)cudaSetDevice(caller);
}

/* ---- contexts ----------------------------------------------------------------------------- */

/* The architecture, or less if `cap` says so. */
static vjp_status cap_arch(const char *where, const char *cap, int32_t *arch, vjpi_reason reason)
{
    char *end;
    if (!cap || !*cap)
        return VJP_OK;
    long named = strtol(cap, &end, 10);
    if (*end || named < LEAST_ARCH || named > 999)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s: '%.32s' is not a number like 80 or 90",
                           where, cap);
    *arch = named < *arch ? (int32_t)named : *arch;
    return VJP_OK;
}

/* Blocks of a cluster, at most: sixteen only where a whole one is known to fit. */
static int32_t most_cluster(int32_t arch)
{
    if (arch < CLUSTER_ARCH)
        return 1;
    return arch < 110 ? VJPI_CUDA_CLUSTER : PORTABLE_CLUSTER;
}

/* The device's own architecture, or less if the options or VJP_CUDA_ARCH say so. */
static vjp_status choose_arch(vjp_context *ctx, int own, int shared, int multiprocessors,
                              vjpi_reason reason)
{
    cuda_context *state = (cuda_context *)(void *)ctx->state;
    vjp_status status;
    if (own < LEAST_ARCH)
        return vjpi_refuse(reason, VJP_NO_DEVICE,
                           "CUDA: device %d has compute capability %d.%d, at least %d.%d is needed",
                           (int)ctx->options.device_id, own / 10, own % 10, LEAST_ARCH / 10,
                           LEAST_ARCH % 10);
    state->arch = own;
    if ((status = cap_arch("options: isa", ctx->options.isa, &state->arch, reason)) != VJP_OK ||
        (status = cap_arch("VJP_CUDA_ARCH", getenv("VJP_CUDA_ARCH"), &state->arch, reason)) !=
            VJP_OK)
        return status;
    state->limits = (vjpi_cuda_limits){ most_cluster(state->arch), shared, multiprocessors };
    snprintf(state->arch_name, sizeof(state->arch_name), "sm_%d", (int)state->arch);
    return VJP_OK;
}

static vjp_status open_cuda(vjp_context *ctx, vjpi_reason reason)
{
    int count = 0, major = 0, minor = 0, shared = 0, processors = 0, id = ctx->options.device_id;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && (id < 0 || id >= count))
        return vjpi_refuse(reason, VJP_NO_DEVICE,
                           "options: there is no CUDA device %d, there %s %d",
                           id, count == 1 ? "is" : "are", count);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, id);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, id);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, id);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, id);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return vjpi_refuse(reason, VJP_NO_DEVICE, "CUDA: %s (%s)", cudaGetErrorString(error),
                           cudaGetErrorName(error));
    }
    return choose_arch(ctx, 10 * major + minor, shared, processors, reason);
}

static void close_cuda(vjp_context *ctx)
{
    int caller;
    if (enter_device(ctx, &caller) != cudaSuccess)
        return;
    vjpi_cuda_lookups_free(ctx, &((cuda_context *)(void *)ctx->state)->lookups);
    leave_device(ctx, caller);
}

static const char *arch_name(const vjp_context *ctx)
{
    return state_of(ctx)->arch_name;
}

/* ---- plans -------------------------------------------------------------------------------- */

/* NULL: a dtype of labels or masks, which no call is computed in. */
static const vjpi_cuda_kernel_set *set_of(vjp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(name, suffix, ...) \
    case VJP_##suffix:           \
        return &vjpi_cuda_kernel_set_##name;
#define STORED(name, suffix, ...) case VJP_##suffix:
#include "dtypes.def"
        break;
    }
    return NULL;
}

/* Load a kernel now. A large amount of shared memory, or a cluster above the portable size, must be
 * requested. The maximum that a kernel can get, not what this plan needs: other plans use the same
 * kernel, also while this one is made. */
static cudaError_t load(const vjpi_cuda_plan *plan, const void *kernel, uint32_t cluster,
                        size_t shared)
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error == cudaSuccess && (int)shared > attributes.maxDynamicSharedSizeBytes)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)(plan->limits.most_shared -
                                           (int64_t)attributes.sharedSizeBytes));
    if (error == cudaSuccess && cluster > PORTABLE_CLUSTER)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    return error;
}

/* Load every kernel that a run of this stage may launch. */
static cudaError_t load_stage(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage,
                              int64_t *blocks)
{
    cudaError_t error = cudaSuccess;
    for (int vectors = 0; vectors <= stage->vectors && error == cudaSuccess; vectors++)
        for (int exact = 0; exact <= vectors && error == cudaSuccess; exact++) {
            vjpi_cuda_launch launch;
            vjpi_cuda_shape(plan, stage, vectors, exact, &launch);
            *blocks = launch.blocks > *blocks ? launch.blocks : *blocks;
            error = load(plan, launch.kernel, launch.cluster, launch.shared);
        }
    if (error == cudaSuccess && stage->nsums > 0)
        error = load(plan, plan->set->join, 1, 0);
    return error;
}

static vjp_status prepare(vjp_context *ctx, const vjpi_call *call, void *state,
                          size_t *workspace_size, vjpi_reason reason)
{
    vjpi_cuda_plan *plan = state;
    int64_t blocks = 0;
    int caller;
    plan->set = set_of(call->dtype);
    plan->kernels = &plan->set->kernels[call->op->formula][call->variant][call->mixed];
    plan->limits = state_of(ctx)->limits;
    vjpi_cuda_prepare(call, plan, workspace_size);
    cudaError_t error = enter_device(ctx, &caller);
    if (error == cudaSuccess) {
        plan->lookup = vjpi_cuda_lookup(
            ctx, &((cuda_context *)(void *)ctx->state)->lookups, call, plan,
            &set_of(VJP_F32)->kernels[call->op->formula][call->choice][0]);
        for (int32_t s = 0; s < plan->nstages && error == cudaSuccess; s++)
            error = load_stage(plan, &plan->stages[s], &blocks);
        leave_device(ctx, caller);
    }
    if (error != cudaSuccess) {
        vjp_status status = device_error(ctx, error);
        return vjpi_refuse(reason, status, "CUDA: %s", error_name(ctx));
    }
    if (blocks > INT32_MAX)
        return vjpi_refuse(reason, VJP_TOO_LARGE, "CUDA: more than 2^31 - 1 blocks");
    return VJP_OK;
}

/* ---- runs --------------------------------------------------------------------------------- */

static cudaError_t launch(vjpi_cuda_launch *l, cudaStream_t stream)
{
    cudaLaunchAttribute cluster = { .id = cudaLaunchAttributeClusterDimension };
    cudaLaunchConfig_t config = {
        .gridDim = { (unsigned)l->blocks, 1, 1 },
        .blockDim = { l->x, l->y, 1 },
        .dynamicSmemBytes = l->shared,
        .stream = stream,
        .attrs = &cluster,
        .numAttrs = l->cluster > 1,
    };
    vjpi_cuda_flat flat;
    void *arguments[] = { l->flat ? (void *)&flat : &l->loop };
    if (l->flat) {
        flat.call = l->loop.call;
        memcpy(flat.data, l->loop.data, sizeof(flat.data));
        flat.n = l->loop.x.n;
        flat.lookup = l->lookup;
    }
    cluster.val.clusterDim.x = l->cluster;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    return cudaLaunchKernelExC(&config, l->kernel, arguments);
}

static cudaError_t run_stage(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage,
                             char *const *data, char *arrays, cudaStream_t stream)
{
    bool exact, vectors = vjpi_cuda_choose(plan, stage, data, &exact);
    vjpi_cuda_launch l;
    vjpi_cuda_shape(plan, stage, vectors, exact, &l);
    for (int32_t i = 0; i < plan->ntensors; i++)
        l.loop.data[i] = data[i];
    l.loop.arrays = arrays;
    if (l.loop.nsegments > 1)
        l.loop.partials = arrays + plan->arrays_size;
    cudaError_t error = launch(&l, stream);
    if (error == cudaSuccess && l.loop.nsegments > 1) {
        vjpi_cuda_shape_join(plan, &l, &l);
        error = launch(&l, stream);
    }
    return error;
}

static vjp_status run(vjp_context *ctx, const void *state, char *const *tensors, void *workspace,
                      void *stream)
{
    const vjpi_cuda_plan *plan = state;
    char *data[VJPI_MAX_TENSORS] = { NULL }, *arrays = NULL;
    int caller;
    if (plan->nstages == 0)
        return VJP_OK;
    for (int32_t i = 0; i < plan->ntensors; i++)
        if (tensors[i])
            data[i] = tensors[i] + plan->offset[i];
    if (workspace)
        arrays = (char *)workspace + -(uintptr_t)workspace % (uintptr_t)plan->compute_size;
    cudaError_t error = enter_device(ctx, &caller);
    if (error != cudaSuccess)
        return device_error(ctx, error);
    for (int32_t s = 0; s < plan->nstages && error == cudaSuccess; s++)
        error = run_stage(plan, &plan->stages[s], data, arrays, stream);
    leave_device(ctx, caller);
    return device_error(ctx, error);
}

/* ---- vjp_compute -------------------------------------------------------------------------- */

static void *allocate(const vjp_context *ctx, size_t size)
{
    void *memory = NULL;
    int caller;
    if (enter_device(ctx, &caller) == cudaSuccess) {
        (void)cudaMalloc(&memory, size);
        leave_device(ctx, caller);
    }
    if (!memory)
        (void)cudaGetLastError();
    return memory;
}

static void deallocate(const vjp_context *ctx, void *memory)
{
    (void)ctx;
    (void)cudaFree(memory);
}

static vjp_status finish(vjp_context *ctx)
{
    int caller;
    cudaError_t error = enter_device(ctx, &caller);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(NULL);
        leave_device(ctx, caller);
    }
    return device_error(ctx, error);
}

static const vjpi_backend backend = {
    .context_size = sizeof(cuda_context),
    .plan_size = sizeof(vjpi_cuda_plan),
    .plan_zeroed = sizeof(vjpi_cuda_plan),
    .open = open_cuda,
    .close = close_cuda,
    .isa = arch_name,
    .error = error_name,
    .prepare = prepare,
    .run = run,
    .allocate = allocate,
    .deallocate = deallocate,
    .finish = finish,
};

/* What core/module.c looks up. */
extern const vjpi_module vjpi_cuda_module;
__attribute__((visibility("default"))) const vjpi_module vjpi_cuda_module = {
    VJPI_VERSION,
    VJPI_TABLE_HASH,
    &backend,
};
