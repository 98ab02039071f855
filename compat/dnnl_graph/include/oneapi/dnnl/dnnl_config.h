/* SPDX-License-Identifier: Apache-2.0 */
/* dnnl_config.h - what this build of the library offers: CPU engines on OpenMP's threads, no GPU.
 *
 * Programs test these macros to choose between code for one runtime and another.
 */
#ifndef ONEAPI_DNNL_DNNL_CONFIG_H
#define ONEAPI_DNNL_DNNL_CONFIG_H

#if defined(__GNUC__)
#define DNNL_API __attribute__((visibility("default")))
#define DNNL_DEPRECATED __attribute__((deprecated))
#else
#define DNNL_API
#define DNNL_DEPRECATED
#endif

/* Runtimes. */
#define DNNL_RUNTIME_NONE 0u
#define DNNL_RUNTIME_SEQ 1u
#define DNNL_RUNTIME_OMP 2u
#define DNNL_RUNTIME_TBB 4u
#define DNNL_RUNTIME_THREADPOOL 8u
#define DNNL_RUNTIME_OCL 256u
#define DNNL_RUNTIME_SYCL 512u
#define DNNL_RUNTIME_DPCPP DNNL_RUNTIME_SYCL
#define DNNL_RUNTIME_ZE 1024u

/* Vendors of GPUs. */
#define DNNL_VENDOR_NONE 0u
#define DNNL_VENDOR_INTEL 1u
#define DNNL_VENDOR_NVIDIA 2u
#define DNNL_VENDOR_AMD 4u
#define DNNL_VENDOR_GENERIC 8u

#define DNNL_CPU_THREADING_RUNTIME DNNL_RUNTIME_OMP
#define DNNL_CPU_RUNTIME DNNL_RUNTIME_OMP
#define DNNL_GPU_RUNTIME DNNL_RUNTIME_NONE
#define DNNL_GPU_VENDOR DNNL_VENDOR_NONE

#if !defined(DNNL_CPU_RUNTIME) || !defined(DNNL_GPU_RUNTIME)
#error "DNNL_CPU_RUNTIME and DNNL_GPU_RUNTIME must both be defined"
#elif DNNL_CPU_RUNTIME == DNNL_RUNTIME_NONE && DNNL_GPU_RUNTIME == DNNL_RUNTIME_NONE
#error "at least one of DNNL_CPU_RUNTIME and DNNL_GPU_RUNTIME must be a runtime"
#endif

/* The Graph API is part of the library; the primitives API (dnnl.h) is not. */
#define ONEDNN_BUILD_GRAPH

#endif
