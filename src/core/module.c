/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - find the CUDA backend, without which the library has no dependency on CUDA.
 *
 * Only the folder that this library itself was loaded from is searched, so that nothing strange is
 * picked up on the way, and a module of another version is refused. The module stays loaded: its
 * kernels may be running. In a static build there is no such folder, and no module. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/internal.h"

#ifdef VJPI_STATIC

const vjpi_backend *vjpi_load_cuda(vjpi_reason reason)
{
    vjpi_refuse(reason, VJP_NO_DEVICE, "options: the static library serves the CPU only");
    return NULL;
}

#else

/* The path of the module, beside the library that holds this data. */
static bool module_path(char *path, size_t size)
{
    Dl_info info;
    const char *slash;
    if (!dladdr(&vjpi_backend_cpu, &info) || !info.dli_fname)
        return false;
    slash = strrchr(info.dli_fname, '/');
    int length = slash ? (int)(slash - info.dli_fname) : 1;
    int written = snprintf(path, size, "%.*s/" VJPI_CUDA_MODULE, length,
                           slash ? info.dli_fname : ".");
    return written > 0 && (size_t)written < size;
}

const vjpi_backend *vjpi_load_cuda(vjpi_reason reason)
{
    char path[4096];
    const vjpi_module *module;
    void *handle;
    if (!module_path(path, sizeof(path))) {
        vjpi_refuse(reason, VJP_NO_DEVICE, "CUDA: cannot tell where this library lies");
        return NULL;
    }
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    module = handle ? dlsym(handle, VJPI_CUDA_SYMBOL) : NULL;
    if (!module) {
        vjpi_refuse(reason, VJP_NO_DEVICE, "CUDA: %s", dlerror());
        return NULL;
    }
    if (module->version != VJPI_VERSION || module->sizes[0] != sizeof(vjp_context) ||
        module->sizes[1] != sizeof(vjpi_call)) {
        vjpi_refuse(reason, VJP_NO_DEVICE, "CUDA: " VJPI_CUDA_MODULE " belongs to another version");
        return NULL;
    }
    return module->backend;
}

#endif
