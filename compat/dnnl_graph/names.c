/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the names of status codes, data types and modes, as oneDNN spells them. */
#include "internal.h"

/* NAME - the name of a value that counts from 0, or `other`. */
#define NAME(names, value, other) \
    ((size_t)(value) < sizeof(names) / sizeof((names)[0]) ? (names)[value] : (other))

const char *dnnl_status2str(dnnl_status_t v)
{
    static const char *const names[] = {
        "success",           "out_of_memory", "invalid_arguments", "unimplemented",
        "last_impl_reached", "runtime_error", "not_required",      "invalid_graph",
        "invalid_graph_op",  "invalid_shape", "invalid_data_type",
    };
    return NAME(names, v, "unknown status");
}

const char *dnnl_dt2str(dnnl_data_type_t v)
{
    static const char *const names[] = {
        "undef",   "f16",     "bf16", "f32", "s32",  "s8",      "u8",      "f64", "boolean",
        "f8_e5m2", "f8_e4m3", "s4",   "u4",  "e8m0", "f4_e2m1", "f4_e3m0", "s64",
    };
    return v == dnnl_data_type_max ? "data_type_max" : NAME(names, v, "unknown dt");
}

const char *dnnl_engine_kind2str(dnnl_engine_kind_t v)
{
    static const char *const names[] = { "any", "cpu", "gpu" };
    return NAME(names, v, "unknown engine_kind");
}

const char *dnnl_fpmath_mode2str(dnnl_fpmath_mode_t v)
{
    static const char *const names[] = { "strict", "bf16", "f16", "any", "tf32" };
    return NAME(names, v, "unknown fpmath_mode");
}

const char *dnnl_accumulation_mode2str(dnnl_accumulation_mode_t v)
{
    static const char *const names[] = { "strict", "relaxed", "any", "s32", "f32", "f16" };
    return NAME(names, v, "unknown accumulation_mode");
}

const char *dnnl_runtime2str(unsigned v)
{
    switch (v) {
    case DNNL_RUNTIME_NONE:
        return "none";
    case DNNL_RUNTIME_SEQ:
        return "sequential";
    case DNNL_RUNTIME_OMP:
        return "OpenMP";
    case DNNL_RUNTIME_TBB:
        return "TBB";
    case DNNL_RUNTIME_THREADPOOL:
        return "threadpool";
    case DNNL_RUNTIME_OCL:
        return "OpenCL";
    default: /* SYCL too: a oneDNN without it does not name it */
        return "unknown";
    }
}
