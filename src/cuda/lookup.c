/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c - tables on the device: filled there, by the operator's own kernels, when the first plan
 * needs one. */
#include "cuda/lookup.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    vjpi_lookup_entry base;
    void *entries; /* on the device */
} entry;

/* What a table is made for. */
typedef struct request {
    const vjp_context *ctx;
    const vjpi_call *call;
    const vjpi_cuda_plan *plan;
    const void *wide; /* the flat kernel of f32 */
} request;

/* The value of a 16-bit element. */
static float value_of(vjp_dtype dtype, uint32_t bits)
{
    float value;
    if (dtype == VJP_F16) { /* the exponent's bias differs by 112 */
        uint32_t rest = (bits & 0x7fff) << 13, sign = bits >> 15 << 31;
        rest = rest >= 0x7c00u << 13 ? rest | 0x7f800000 : rest;
        memcpy(&value, &rest, sizeof(value));
        value = (rest >= 0x7f800000 ? value : value * 0x1p112f) * (sign ? -1.0f : 1.0f);
        return value;
    }
    bits <<= 16;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The inputs of the kernel that fills a table: all values; and ones. */
static void set_inputs(const request *r, bool products, char *host)
{
    for (uint32_t i = 0; i < VJPI_LOOKUP_COUNT; i++) {
        if (products) {
            ((float *)(void *)host)[i] = value_of(r->call->dtype, i);
            ((float *)(void *)host)[VJPI_LOOKUP_COUNT + i] = 1;
        } else {
            ((uint16_t *)(void *)host)[i] = (uint16_t)i;
        }
    }
}

/* Queue the flat kernel over all values: inputs at `inputs`, `size` bytes each. */
static cudaError_t launch_fill(const request *r, bool products, char *inputs, size_t size,
                               char *entries, cudaStream_t stream)
{
    const unsigned per_block = VJPI_CUDA_THREADS * VJPI_CUDA_MAP_STEPS * VJPI_CUDA_VECTOR;
    vjpi_cuda_flat flat = { .call = r->plan->call, .n = VJPI_LOOKUP_COUNT };
    void *arguments[] = { &flat };
    cudaLaunchConfig_t config = {
        .gridDim = { (unsigned)(size + per_block - 1) / per_block, 1, 1 },
        .blockDim = { VJPI_CUDA_THREADS, 1, 1 },
        .stream = stream,
    };
    flat.data[0] = inputs;
    flat.data[1] = products ? inputs + size : entries;
    flat.data[2] = entries;
    return cudaLaunchKernelExC(&config, products ? r->wide : r->plan->kernels->flat, arguments);
}

/* Fill the table through `host` and `inputs`, buffers for the inputs here and there. */
static cudaError_t fill(const request *r, char *host, char *inputs, char *entries,
                        cudaStream_t stream)
{
    bool products = r->call->op->info.ninputs == 2;
    size_t size = VJPI_LOOKUP_COUNT * (products ? sizeof(float) : sizeof(uint16_t));
    set_inputs(r, products, host);
    cudaError_t error = cudaMemcpyAsync(inputs, host, products ? 2 * size : size,
                                        cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess)
        error = launch_fill(r, products, inputs, size, entries, stream);
    if (error == cudaSuccess && products)
        error = cudaMemcpyAsync(host, entries, size, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess || !products)
        return error;
    vjpi_keep_factors((float *)(void *)host, VJPI_LOOKUP_COUNT);
    error = cudaMemcpyAsync(entries, host, size, cudaMemcpyHostToDevice, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

/* The entries of a table on the device; NULL if anything fails. */
static void *make_entries(const request *r)
{
    size_t size = 2 * VJPI_LOOKUP_COUNT * sizeof(float);
    char *host = r->ctx->options.allocate(r->ctx->options.allocator_user, size);
    void *inputs = NULL, *entries = NULL;
    cudaStream_t stream = NULL;
    cudaError_t error = host ? cudaSuccess : cudaErrorMemoryAllocation;
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaMalloc(&inputs, size);
    if (error == cudaSuccess)
        error = cudaMalloc(&entries, VJPI_LOOKUP_COUNT * sizeof(float));
    if (error == cudaSuccess)
        error = fill(r, host, inputs, entries, stream);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        (void)cudaFree(entries);
        entries = NULL;
    }
    (void)cudaFree(inputs);
    if (stream)
        (void)cudaStreamDestroy(stream);
    if (host)
        r->ctx->options.deallocate(r->ctx->options.allocator_user, host);
    return entries;
}

static vjpi_lookup_entry *make(void *user)
{
    const request *r = user;
    /* another thread's capture into a graph must not fail because of these allocations */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    entry *made = r->ctx->options.allocate(r->ctx->options.allocator_user, sizeof(*made));
    if (!made || cudaThreadExchangeStreamCaptureMode(&mode) != cudaSuccess) {
        if (made)
            r->ctx->options.deallocate(r->ctx->options.allocator_user, made);
        return NULL;
    }
    made->entries = make_entries(r);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    if (made->entries)
        return &made->base;
    r->ctx->options.deallocate(r->ctx->options.allocator_user, made);
    return NULL;
}

static void discard(void *user, vjpi_lookup_entry *base)
{
    const request *r = user;
    (void)cudaFree(((entry *)base)->entries);
    r->ctx->options.deallocate(r->ctx->options.allocator_user, base);
}

const void *vjpi_cuda_lookup(const vjp_context *ctx, vjpi_lookups *lookups, const vjpi_call *call,
                             const vjpi_cuda_plan *plan, const vjpi_cuda_kernels *wide)
{
    request r = { ctx, call, plan, wide->flat };
    const vjpi_lookup_maker maker = { make, discard, &r };
    if (call->elements < VJPI_CUDA_LOOKUP_LEAST || !plan->kernels->lookup ||
        plan->limits.multiprocessors == 0 ||
        (int64_t)vjpi_cuda_window_size((int)call->dtype, call->op->info.ninputs) >
            plan->limits.most_shared)
        return NULL;
    entry *found = (entry *)(void *)vjpi_lookup_find(lookups, call, &maker);
    return found ? found->entries : NULL;
}

void vjpi_cuda_lookups_free(const vjp_context *ctx, vjpi_lookups *lookups)
{
    request r = { ctx, NULL, NULL, NULL };
    vjpi_lookups_free(lookups, discard, &r);
}
