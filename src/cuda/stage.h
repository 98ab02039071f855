/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h - a CUDA plan is a few stages, queued one after the other. A stage is one launch, and one
 * more where the segments of a sum are joined. */
#ifndef VJPI_CUDA_STAGE_H
#define VJPI_CUDA_STAGE_H

#include "core/layout.h"
#include "cuda/launch.h"

typedef enum vjpi_cuda_kind {
    VJPI_CUDA_MAP,
    VJPI_CUDA_TRANSPOSED,
    VJPI_CUDA_ROW,
    VJPI_CUDA_COLUMN,
    VJPI_CUDA_SUMMED,
    VJPI_CUDA_ALONG,
    VJPI_CUDA_ACROSS,
    VJPI_CUDA_JOIN,    /* sums of nothing */
    VJPI_CUDA_GATHER,  /* row inputs into arrays of all rows */
    VJPI_CUDA_PER_ROW  /* PER_ROW outputs from them */
} vjpi_cuda_kind;

/* A loop and how it is done. The numbers of a launch depend on whether the addresses of a run allow
 * vectors, so vjpi_cuda_shape finds them at each run. */
typedef struct vjpi_cuda_stage {
    vjpi_cuda_kind kind;
    int8_t x, y;           /* dims of the plan; -1: none */
    int8_t nkept, nouter, outer[VJP_MAX_DIMS];
    uint8_t part;          /* the pass that a fold does */
    uint8_t target[VJPI_MAX_SUMS]; /* as in vjpi_cuda_loop */
    bool is_max;
    bool vectors;          /* the steps allow vectors; the addresses may still forbid them */
    bool aligned;          /* and all steps are whole vectors */
    bool repeats;          /* some input is one element all along x */
    bool x_kept;
    int32_t nsums;         /* results of a kind */
    uint32_t dense;        /* bit i: operand i takes part and is dense along x */
    uint32_t transposed, fixed;
    int64_t elements;      /* of a vector: 16 bytes */
    int64_t most_segments; /* folds, summed: that the workspace has room for */
} vjpi_cuda_stage;

#define VJPI_CUDA_MAX_STAGES (VJPI_MAX_PASSES + 2) /* gather, passes, PER_ROW */

/* What the device allows: the context's. */
typedef struct vjpi_cuda_limits {
    int32_t most_cluster; /* blocks of a cluster; 1: no clusters */
    int64_t most_shared;  /* bytes of shared memory that a block may have */
    int32_t multiprocessors;
} vjpi_cuda_limits;

typedef struct vjpi_cuda_plan {
    const vjpi_cuda_kernel_set *set;
    const vjpi_cuda_kernels *kernels;
    vjpi_cuda_limits limits;
    vjp_dtype dtype;
    int32_t ninputs;
    const void *lookup;        /* the context's table, on the device; NULL: none */
    int32_t nstages, ntensors, ndim;
    int32_t held_size;         /* bytes of an element of all inputs that kernels hold */
    int32_t held_most;         /* vectors of each that a thread can hold in shared memory */
    int32_t narrays, nvalues;  /* row inputs and row values; row values */
    bool ends, causal;         /* rows may end early; at the diagonal */
    uint8_t array_of[VJPI_MAX_TENSORS]; /* as in vjpi_cuda_loop */
    uint32_t end_inputs;
    int64_t compute_size;      /* bytes of the compute type */
    int64_t size[VJPI_MAX_TENSORS], offset[VJPI_MAX_TENSORS];
    int64_t rows, length, causal_shift;
    int64_t arrays_size;       /* bytes at the start of the workspace; the partial sums follow */
    vjpi_cuda_axis dims[VJP_MAX_DIMS]; /* of the loop, outermost first */
    uint8_t reduced[VJP_MAX_DIMS];
    vjpi_cuda_call call;
    vjpi_cuda_stage stages[VJPI_CUDA_MAX_STAGES];
} vjpi_cuda_plan;

/* One launch of a stage. */
typedef struct vjpi_cuda_launch {
    const void *kernel;
    int64_t blocks;
    uint32_t x, y;       /* threads of a block */
    uint32_t cluster;    /* blocks of a cluster */
    size_t shared;       /* bytes requested; kernels may have a few more */
    bool flat;           /* its argument is a vjpi_cuda_flat, made from the loop and */
    const void *lookup;  /* this */
    vjpi_cuda_loop loop; /* its argument; the caller fills in the addresses */
} vjpi_cuda_launch;

/* stages.c: the stages of a call, and its workspace. kernels, set and limits are filled in. */
void vjpi_cuda_prepare(const vjpi_call *call, vjpi_cuda_plan *plan, size_t *workspace_size);

/* shapes.c: may a run with these addresses use vectors, and are they exact? */
bool vjpi_cuda_choose(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, char *const *data,
                      bool *exact);
/* How to launch a stage, with vectors or element by element; exact: the addresses begin
 * where vectors do. */
void vjpi_cuda_shape(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                     bool exact, vjpi_cuda_launch *launch);
/* Can a row or column kernel hold n elements along the axis? Depends only on the kind and the
 * elements. */
bool vjpi_cuda_can_hold(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, int64_t n);
/* The same of rows that are summed, with as many sums of each element as the stage has. */
bool vjpi_cuda_can_sum(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, int64_t n);
/* How many vectors of each input a thread can hold. */
int32_t vjpi_cuda_held_most(const vjpi_cuda_plan *plan);
/* Shared memory that row kernels have beyond what a launch requests. */
int64_t vjpi_cuda_static_shared(const vjpi_cuda_plan *plan);
/* The launch that joins the segments of a fold; blocks is 0 if there is one segment. */
void vjpi_cuda_shape_join(const vjpi_cuda_plan *plan, const vjpi_cuda_launch *fold,
                          vjpi_cuda_launch *launch);

#endif
