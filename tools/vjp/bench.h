/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what the parts of `vjp bench` share. */
#ifndef VJP_BENCH_H
#define VJP_BENCH_H

#include <stdio.h>

#include "memory.h"
#include "named.h"
#include "tool.h"

/* ---- bench_cases.c ------------------------------------------------------------------------ */

enum {
    BENCH_SIZES = 6,
    BENCH_DTYPES = 4,
    FILL = -1 /* dim 0: as large as the case's size asks for */
};

/* A problem without its dtype, at several sizes and in several dtypes. */
typedef struct bench_case {
    named_problem problem;
    int64_t sizes[BENCH_SIZES];     /* elements, ends with 0; none: the shape is complete */
    vjp_dtype dtypes[BENCH_DTYPES]; /* ends with 0 */
} bench_case;

/* bench_cases_of - the table of a device. */
const bench_case *bench_cases_of(vjp_device device, int64_t *count);

/* bench_case_at - the problem at size `size` (0 if the case has none) in one dtype; false if it
 * has no such size. */
bool bench_case_at(const bench_case *c, int64_t size, vjp_dtype dtype, named_problem *made);

/* ---- bench_load.c ------------------------------------------------------------------------- */

/* A problem ready to run: a plan, a workspace, and one or more sets of tensors, taken in turn so
 * that none is in a cache of `spread` bytes when its turn comes. */
typedef struct load {
    memory *where;
    problem p;
    vjp_plan *plan;
    unsigned char *blocks[PROBLEM_TENSORS]; /* every set of one tensor, one after the other */
    size_t stride[PROBLEM_TENSORS];         /* bytes from one set to the next */
    int64_t sets, turn;
    void *workspace;
    double bytes; /* of one set: each input read once, each output written once */
} load;

bool load_open(load *l, memory *where, vjp_context *ctx, const named_problem *row, double spread,
               char reason[VJP_REASON_SIZE]);
void load_close(load *l);

/* load_run - one run on the next set. load_buffer - where set 0 of a tensor lies. */
vjp_status load_run(load *l, void *stream);
void *load_buffer(const load *l, int32_t tensor);

/* ---- measuring ---------------------------------------------------------------------------- */

typedef struct sample {
    double ns;            /* the median time of a run */
    double gbps, ceiling; /* ceiling: of a triad in the same minute */
    double share;         /* of the ceiling */
    double call_ns;       /* the host's time for one call; 0: not measured */
    double graph_ns;      /* one run in a graph of many; 0: not measured */
} sample;

/* bench_now - seconds of a steady clock; bench_median - also sorts the values. */
double bench_now(void);
double bench_median(double *values, int n);

/* bench_cpu_caches - the sizes of the CPU's caches for data, as far as known; ends with 0. */
enum {
    BENCH_CACHES = 8
};
void bench_cpu_caches(double sizes[BENCH_CACHES]);

/* bench_cpu_measure - on the load's own threads; the ceiling on as many. */
bool bench_cpu_measure(load *l, int threads, sample *s);

enum {
    BENCH_EVENTS = 41
};

/* The ceiling of a CUDA device needs a kernel and memory of its own. */
typedef struct bench_cuda {
    memory *where;
    void *stream;
    cuda_event events[BENCH_EVENTS];
    cuda_module module;
    cuda_function triad;
    unsigned blocks; /* of its grid */
    void *buffers[3];
    double cache_size; /* the device's L2 */
} bench_cuda;

bool bench_cuda_open(bench_cuda *b, memory *where, char reason[VJP_REASON_SIZE]);
bool bench_cuda_measure(bench_cuda *b, load *l, sample *s);
void bench_cuda_close(bench_cuda *b);

#endif
