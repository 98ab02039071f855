/* SPDX-License-Identifier: Apache-2.0 */
/* fake.h - a fake libcuda.so.1, for tests on machines without a GPU. It computes nothing.
 *
 * Device memory is host memory under an address that the host cannot use, so that a copy which
 * bypasses the driver crashes. Streams are done at once; a capturing one keeps copies and memsets,
 * and a graph does them when it is launched. Calls need a current context and live handles, as the
 * real ones do. Environment variables control it, read at each call:
 *
 *   FAKE_CUDA_DEVICES=n              how many devices there are, up to 8; 3 if it is not set
 *   FAKE_CUDA_FAIL=cuInit:100        the function answers that number */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include "cuda/driver.h"

#define FAKE __attribute__((visibility("default")))

#define CALL(member, symbol, parameters) FAKE cuda_result symbol parameters;
#define VALUE(name, cuda_name, number)
#include "cuda/driver.def"

/* A look inside, for tests: how many memory blocks, streams, events and graphs there are, and how
 * often the primary context of a device was retained and not released. */
FAKE int fake_cuda_alive(void);
FAKE int fake_cuda_retained(int ordinal);

enum {
    FAKE_INVALID_CONTEXT = 201,
    FAKE_NOT_SUPPORTED = 801,
    FAKE_CAPTURE_UNSUPPORTED = 900
};

enum kind {
    DEVICE_MEMORY,
    HOST_MEMORY,
    STREAM,
    EVENT,
    GRAPH,
    EXEC
};

/* A copy, or a memset if src is 0. */
struct step {
    struct step *next;
    cuda_pointer dst, src;
    unsigned char value;
    size_t size;
};

/* Anything that is made and destroyed. */
struct object {
    struct object *next;
    enum kind kind;
    cuda_context context;
    char *memory; /* DEVICE_MEMORY, HOST_MEMORY: as the host sees it */
    size_t size;
    struct object *captured; /* STREAM: the graph that it fills, if it does */
    struct step *steps;      /* GRAPH, EXEC: the last one first */
    unsigned flags;          /* EVENT */
    double recorded;         /* EVENT: when, in ms; 0: never */
};

struct object *fake_add(enum kind kind, char *memory, size_t size);

/* The object if it is alive, of this kind and of the current context; else NULL. */
struct object *fake_find(enum kind kind, const void *handle);

/* The block, of any context, that contains these bytes. */
struct object *fake_find_memory(enum kind kind, const char *first, size_t size);

/* NULL: answers `otherwise`. */
cuda_result fake_drop(struct object *object, cuda_result otherwise);

/* The start of every call: the status set in the environment; a context; a stream of it. */
cuda_result fake_begin(const char *function);
cuda_result fake_begin_in_context(const char *function);
cuda_result fake_begin_on_stream(const char *function, cuda_stream stream);

/* The graph that the stream is captured into, or NULL. */
struct object *fake_capture(cuda_stream stream);

/* Do it now; or keep it for later. */
cuda_result fake_perform(const struct step *step);
void fake_keep(struct object *graph, const struct step *step);

#endif
