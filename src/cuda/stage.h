/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h - a CUDA plan is one stage or two, queued one after the other. A stage is one launch, and
 * one more where the segments of a sum are joined. */
#ifndef VJPI_CUDA_STAGE_H
#define VJPI_CUDA_STAGE_H

#include "core/layout.h"
#include "cuda/launch.h"

typedef enum vjpi_cuda_kind {
    VJPI_CUDA_MAP,
    VJPI_CUDA_TURNED,
    VJPI_CUDA_ROW,
    VJPI_CUDA_COLUMN,
    VJPI_CUDA_ALONG,
    VJPI_CUDA_ACROSS,
    VJPI_CUDA_JOIN
} vjpi_cuda_kind;

/* A loop and how it is done. The numbers of a launch depend on whether the addresses of a run allow
 * vectors, so vjpi_cuda_shape finds them at each run. */
typedef struct vjpi_cuda_stage {
    vjpi_cuda_kind kind;
    bool vectors;       /* the steps allow vectors; the addresses may still forbid them */
    bool aligned;       /* and all steps are whole vectors */
    bool repeats;       /* some input is one element all along x */
    uint32_t dense;     /* bit i: operand i takes part and is dense along x */
    int64_t elements;   /* of a vector: 16 bytes */
    int64_t most_segments; /* folds: that the workspace has room for */
    vjpi_cuda_loop loop;
} vjpi_cuda_stage;

#define VJPI_CUDA_MAX_STAGES 2

typedef struct vjpi_cuda_plan {
    const vjpi_cuda_kernels *kernels;
    int32_t nstages, ntensors, noperands;
    int32_t held_size;         /* bytes of an element of all inputs that kernels hold */
    int64_t compute_size;      /* bytes of the compute type */
    int64_t size[VJPI_MAX_OPERANDS], offset[VJPI_MAX_OPERANDS];
    int64_t rowsums_size;      /* bytes at the start of the workspace; the partial sums follow */
    int32_t nsums;
    int32_t most_cluster;      /* 1: no clusters */
    vjpi_cuda_stage stages[VJPI_CUDA_MAX_STAGES];
} vjpi_cuda_plan;

/* One launch of a stage. */
typedef struct vjpi_cuda_launch {
    const void *kernel;
    int64_t blocks;
    uint32_t x, y;       /* threads of a block */
    uint32_t cluster;    /* blocks of a cluster */
    size_t shared;       /* bytes */
    bool flat;           /* its argument is a vjpi_cuda_flat, made from the loop */
    vjpi_cuda_loop loop; /* its argument; the addresses are the caller's to fill in */
} vjpi_cuda_launch;

/* stages.c: the stages of a call, and its workspace. */
void vjpi_cuda_prepare(const vjpi_call *call, vjpi_cuda_plan *plan, size_t *workspace_size);

/* shapes.c: may a run with these addresses use vectors, and are they exact? */
bool vjpi_cuda_choose(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, char *const *data,
                      bool *exact);
/* How to launch a stage, with vectors or element by element; exact: the addresses begin
 * where vectors do. */
void vjpi_cuda_shape(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                     bool exact, vjpi_cuda_launch *launch);
/* Can a row or column kernel hold n elements along the axis? Asks for kind and elements alone. */
bool vjpi_cuda_can_hold(const vjpi_cuda_stage *stage, int32_t most_cluster, int64_t n);
/* The launch that joins the segments of a fold; blocks is 0 if there is one segment. */
void vjpi_cuda_shape_join(const vjpi_cuda_plan *plan, const vjpi_cuda_launch *fold,
                          vjpi_cuda_launch *launch);

#endif
