/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - what the host (cuda.c, plain C) and the kernels (*.cuh, CUDA) tell each other.
 *
 * A kernel is handed one vjpi_cuda_loop by value: addresses, steps, counts. Nothing is copied to
 * the device beforehand, so that a run can be captured into a graph. */
#ifndef VJPI_CUDA_LAUNCH_H
#define VJPI_CUDA_LAUNCH_H

#include "core/limits.h"
#include "vjp/vjp.h"

typedef struct vjpi_cuda_axis {
    int64_t n;
    int64_t step[VJPI_MAX_OPERANDS]; /* bytes */
} vjpi_cuda_axis;

/* What x, y and the outer axes mean differs:
 *
 *   map     x, y: the sides of a block's tile; outer: all others
 *   turned  as map
 *   row     x: the axis that is summed; outer: the others, one row for each index
 *   longer  as row
 *   column  y: the axis that is summed; x: the columns; outer: all others
 *   along   x: summed; outer: nkept axes that are not summed, then those that are
 *   across  x: not summed; outer: as along
 *   join    as the fold before it: adds up the partial sums of its segments */
typedef struct vjpi_cuda_loop {
    char *data[VJPI_MAX_OPERANDS]; /* the tensors in order, then the row sums */
    float constants[VJPI_MAX_ATTRS];
    vjpi_cuda_axis x, y;
    int32_t nkept, nouter;
    vjpi_cuda_axis outer[VJP_MAX_DIMS]; /* the last turns fastest */
    uint32_t xblocks, yblocks; /* blocks that cover x, y; along: pieces that cover x */
    int32_t lanes;             /* row: threads that share a row, if they are of one warp; else 0 */
    int32_t exact;             /* along: runs begin and end where vectors do */
    int32_t cluster;           /* longer, column: blocks that share a row; 1 without clusters */
    int32_t held;              /* longer, column: vectors of each input that a thread holds */
    int32_t warps;             /* along: warps that share a sum: 1 or those of a block */
    uint32_t turned;           /* turned: bit i: operand i is dense along y, not x */
    int32_t x_kept;            /* join: x is not summed */
    int64_t nouts;             /* folds: how many sums of each kind */
    int64_t rows;              /* row: how many; folds: summed pieces or rows for each sum */
    int64_t per_segment;       /* folds: pieces or rows that one block sums */
    int64_t nsegments;
    void *partials;            /* [segment][sum][out] of the compute type; NULL: there is one
                                  segment, and it stores its sums itself */
} vjpi_cuda_loop;

/* The same for a map of dense tensors. */
typedef struct vjpi_cuda_flat {
    char *data[VJPI_MAX_TENSORS];
    float constants[VJPI_MAX_ATTRS];
    int64_t n;
} vjpi_cuda_flat;

/* Elements that a block of the map kernels has per thread, threads of a block, and so on: both
 * sides need them. */
enum {
    VJPI_CUDA_THREADS = 256,
    VJPI_CUDA_WARPS = VJPI_CUDA_THREADS / 32,
    VJPI_CUDA_VECTOR = 16,     /* bytes of the widest access */
    VJPI_CUDA_MAP_STEPS = 2,   /* vectors per thread of a map */
    VJPI_CUDA_PIECE_STEPS = 4, /* vectors per lane of a piece that `along` sums */
    VJPI_CUDA_AHEAD = 8,       /* rows that a thread of `across` has under way */
    VJPI_CUDA_TILE = 64,       /* side of a turned tile; of 8-byte elements half */
    VJPI_CUDA_HELD = 4,        /* sizes of row kernels: 1, 2, 4, 8 vectors a thread, */
    VJPI_CUDA_HELD_ONES = 4,   /* or this many times as many single elements */
    VJPI_CUDA_ROW_THREADS = 512, /* of a block of theirs, at most */
    VJPI_CUDA_CLUSTER = 16     /* blocks of a cluster, at most */
};

/* The kernels of one operator. [0]: element by element, whatever the steps; [1]: by vectors. What
 * an operator does not need is NULL. */
typedef struct vjpi_cuda_kernels {
    const void *map[3]; /* [2]: by vectors, and some operand is one element all along x */
    const void *flat, *turned[2];
    const void *row[2][VJPI_CUDA_HELD], *longer[2], *column[2];
    const void *along[2], *across[2], *join;
} vjpi_cuda_kernels;

/* One table for each dtype: [formula][choice][wide]. */
#ifdef __cplusplus
extern "C" {
#endif
#define DTYPE(name, ...) extern const vjpi_cuda_kernels (*const vjpi_cuda_kernels_##name)[2][2];
#include "dtypes.def"
#ifdef __cplusplus
}
#endif

#endif
