/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - load the CUDA backend, so that the library itself does not depend on CUDA.
 *
 * Only the folder that this library itself was loaded from is searched, so that no other file of
 * that name is picked up, and a module of another version or table is refused. The module stays
 * loaded: its kernels may be running. In a static build there is no such folder, and no module. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"

#ifdef VJPI_STATIC

const vjpi_backend *vjpi_load_cuda(vjpi_reason reason)
{
    vjpi_refuse(reason, VJP_NO_DEVICE, "options: the static library supports the CPU only");
    return NULL;
}

#else

/* The folder of the library that contains this code; empty if it cannot be determined. Looked up at
 * load time: its name may be relative to a working directory that the process leaves. */
static char own_folder[PATH_MAX];

__attribute__((constructor)) static void find_own_folder(void)
{
    Dl_info info;
    char folder[PATH_MAX];
    const char *slash =
        dladdr(&vjpi_backend_cpu, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    if (!slash || (size_t)(slash + 2 - info.dli_fname) > sizeof(folder))
        return;
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash + 1 - info.dli_fname), info.dli_fname);
    if (!realpath(folder, own_folder))
        own_folder[0] = 0;
}

const vjpi_backend *vjpi_load_cuda(vjpi_reason reason)
{
    char path[sizeof(own_folder) + sizeof("/" VJPI_CUDA_MODULE)];
    const vjpi_module *module;
    void *handle;
    if (!own_folder[0]) {
        vjpi_refuse(reason, VJP_NO_DEVICE, "CUDA: cannot determine the folder of libvjp.so");
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/" VJPI_CUDA_MODULE, own_folder);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    module = handle ? dlsym(handle, VJPI_CUDA_SYMBOL) : NULL;
    if (!module) {
        vjpi_refuse(reason, VJP_NO_DEVICE, "CUDA: %s", dlerror());
        return NULL;
    }
    if (module->version != VJPI_VERSION || module->table_hash != VJPI_TABLE_HASH) {
        vjpi_refuse(reason, VJP_NO_DEVICE,
                    "CUDA: " VJPI_CUDA_MODULE " was built from another version of the library");
        return NULL;
    }
    return module->backend;
}

#endif
