/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - the settings of the whole library and its version.
 *
 * There are no caches, dumps or messages to configure: values are checked, kept and reported, so
 * that programs that set them keep working.
 */
#include "internal.h"

/* Libraries that have a cache count its capacity in bytes. */
#define MAX_MIB (SIZE_MAX >> 20)

/* ---- floating-point mode and messages ----------------------------------------------------- */

static atomic_int fpmath_mode = dnnl_fpmath_mode_strict;

dnnl_status_t dnnl_get_default_fpmath_mode(dnnl_fpmath_mode_t *mode)
{
    if (!mode)
        return dnnl_invalid_arguments;
    *mode = (dnnl_fpmath_mode_t)atomic_load(&fpmath_mode);
    return dnnl_success;
}

dnnl_status_t dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_t mode)
{
    if ((unsigned)mode > dnnl_fpmath_mode_tf32)
        return dnnl_invalid_arguments;
    atomic_store(&fpmath_mode, (int)mode);
    return dnnl_success;
}

dnnl_status_t dnnl_set_verbose(int level)
{
    return level >= 0 && level <= 2 ? dnnl_success : dnnl_invalid_arguments;
}

dnnl_status_t dnnl_graph_set_dump_mode(dnnl_graph_dump_mode_t modes)
{
    const unsigned known = dnnl_graph_dump_mode_subgraph | dnnl_graph_dump_mode_graph;
    return ((unsigned)modes & ~known) ? dnnl_invalid_arguments : dnnl_success;
}

/* ---- caches ------------------------------------------------------------------------------- */

static atomic_int partition_capacity = 1024;
static atomic_size_t constant_capacity[2]; /* of the CPU and the GPU, in MiB */

dnnl_status_t dnnl_graph_get_compiled_partition_cache_capacity(int *capacity)
{
    if (!capacity)
        return dnnl_invalid_arguments;
    *capacity = atomic_load(&partition_capacity);
    return dnnl_success;
}

dnnl_status_t dnnl_graph_set_compiled_partition_cache_capacity(int capacity)
{
    if (capacity < 0)
        return dnnl_invalid_arguments;
    atomic_store(&partition_capacity, capacity);
    return dnnl_success;
}

/* constant_capacity_of - the setting for an engine kind; NULL if it has none. */
static atomic_size_t *constant_capacity_of(dnnl_engine_kind_t kind)
{
    return kind == dnnl_cpu || kind == dnnl_gpu ? &constant_capacity[kind == dnnl_gpu] : NULL;
}

dnnl_status_t dnnl_graph_set_constant_tensor_cache(int flag)
{
    if (flag < 0)
        return dnnl_invalid_arguments;
    dnnl_graph_set_constant_tensor_cache_capacity(dnnl_cpu, flag ? MAX_MIB : 0);
    return dnnl_graph_set_constant_tensor_cache_capacity(dnnl_gpu, flag ? MAX_MIB : 0);
}

dnnl_status_t dnnl_graph_get_constant_tensor_cache(int *flag)
{
    if (!flag)
        return dnnl_invalid_arguments;
    *flag = atomic_load(&constant_capacity[0]) != 0 || atomic_load(&constant_capacity[1]) != 0;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_set_constant_tensor_cache_capacity(dnnl_engine_kind_t eng_kind,
                                                            size_t size)
{
    atomic_size_t *capacity = constant_capacity_of(eng_kind);
    if (!capacity)
        return dnnl_invalid_arguments;
    atomic_store(capacity, size < MAX_MIB ? size : MAX_MIB);
    return dnnl_success;
}

dnnl_status_t dnnl_graph_get_constant_tensor_cache_capacity(dnnl_engine_kind_t eng_kind,
                                                            size_t *size)
{
    atomic_size_t *capacity = constant_capacity_of(eng_kind);
    if (!capacity || !size)
        return dnnl_invalid_arguments;
    *size = atomic_load(capacity);
    return dnnl_success;
}

/* ---- the version -------------------------------------------------------------------------- */

const dnnl_version_t *dnnl_version(void)
{
    static const dnnl_version_t version = {
        DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH, "vjp",
        DNNL_CPU_RUNTIME,   DNNL_GPU_RUNTIME,
    };
    return &version;
}
