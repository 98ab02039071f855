/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - the CUDA driver, found at run time, for the program vjp and infinirt. They move memory
 * and time kernels on a GPU, but must also load where there is none and build without a CUDA
 * toolkit. The library itself does not use this.
 *
 * driver.def lists the functions and numbers. Types have cuda.h's own tags and enums are the
 * unsigned that compilers make of them, so that every declaration is compatible with cuda.h's.
 * Memory, streams and events are those of the device's primary context, which the CUDA runtime and
 * libvjp_cuda.so use too: they may be handed to either. */
#ifndef VJP_CUDA_DRIVER_H
#define VJP_CUDA_DRIVER_H

#include <stddef.h>

typedef unsigned cuda_result; /* CUDA_OK or an error; cuda_error_name says which */
typedef int cuda_device;
typedef unsigned long long cuda_pointer; /* an address, as a number */
typedef struct CUctx_st *cuda_context;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUgraph_st *cuda_graph;
typedef struct CUgraphExec_st *cuda_graph_exec;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;

enum {
#define CALL(member, symbol, parameters)
#define VALUE(name, cuda_name, number) name = number,
#include "cuda/driver.def"
};

typedef struct cuda_driver {
#define CALL(member, symbol, parameters) cuda_result (*member) parameters;
#define VALUE(name, cuda_name, number)
#include "cuda/driver.def"
} cuda_driver;

/* cuda_driver_open - the driver's functions, initialised, with at least one device; or NULL, and
 * *reason (which may be NULL) says why. Opened once per process, by the
 * first caller, and never closed. Any thread may call it. */
const cuda_driver *cuda_driver_open(const char **reason);

/* cuda_enter - make the primary context of a device, 0 .. count - 1, the calling thread's current
 * one, as cudaSetDevice does. It is kept alive from then on. Needs an open driver. */
cuda_result cuda_enter(int ordinal);

/* cuda_error_name - "CUDA_ERROR_OUT_OF_MEMORY" or the like; never NULL. Needs an open driver. */
const char *cuda_error_name(cuda_result result);

#endif
