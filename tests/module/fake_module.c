/* SPDX-License-Identifier: Apache-2.0 */
/* fake_module.c - a CUDA module without CUDA, to test the library with devices that fail.
 *
 * It computes nothing. The environment variable FAKE_MODULE names the call that fails or, when it
 * is loaded, what differs from the library: version, table. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <string.h>

#include "core/internal.h"

static bool asked(const char *word)
{
    const char *asked_for = getenv("FAKE_MODULE");
    return asked_for && strcmp(asked_for, word) == 0;
}

static vjp_status open_fake(vjp_context *ctx, vjpi_reason reason)
{
    (void)ctx;
    (void)reason;
    return asked("open") ? VJP_NO_DEVICE : VJP_OK;
}

static const char *isa(const vjp_context *ctx)
{
    (void)ctx;
    return "fake";
}

static const char *error(const vjp_context *ctx)
{
    (void)ctx;
    return "FAKE_ERROR";
}

static vjp_status prepare(vjp_context *ctx, const vjpi_call *call, void *state,
                          size_t *workspace_size, vjpi_reason reason)
{
    (void)ctx;
    (void)call;
    (void)state;
    (void)reason;
    *workspace_size = 64;
    return asked("prepare") ? VJP_TOO_LARGE : VJP_OK;
}

static vjp_status run(vjp_context *ctx, const void *state, char *const *data, void *workspace,
                      void *stream)
{
    (void)ctx;
    (void)state;
    (void)data;
    (void)workspace;
    (void)stream;
    return asked("run") ? VJP_DEVICE_ERROR : VJP_OK;
}

static void *allocate(const vjp_context *ctx, size_t size)
{
    (void)ctx;
    return asked("allocate") ? NULL : malloc(size);
}

static void deallocate(const vjp_context *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static vjp_status finish(vjp_context *ctx)
{
    (void)ctx;
    return asked("finish") ? VJP_DEVICE_ERROR : VJP_OK;
}

static const vjpi_backend backend = {
    .plan_size = 16,
    .open = open_fake,
    .isa = isa,
    .error = error,
    .prepare = prepare,
    .run = run,
    .allocate = allocate,
    .deallocate = deallocate,
    .finish = finish,
};

extern vjpi_module vjpi_cuda_module;
__attribute__((visibility("default"))) vjpi_module vjpi_cuda_module = {
    VJPI_VERSION, VJPI_TABLE_HASH, &backend
};

__attribute__((constructor)) static void bend(void)
{
    vjpi_cuda_module.version += asked("version");
    vjpi_cuda_module.table_hash += asked("table");
}
