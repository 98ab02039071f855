/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - the interface between the host (cuda.c, plain C) and the kernels (*.cuh, CUDA).
 *
 * A kernel receives one vjpi_cuda_loop by value: addresses, steps, counts. Nothing is copied to
 * the device beforehand, so that a run can be captured into a graph. */
#ifndef VJPI_CUDA_LAUNCH_H
#define VJPI_CUDA_LAUNCH_H

#include "core/limits.h"
#include "vjp/vjp.h"

typedef struct vjpi_cuda_axis {
    int64_t n;
    int64_t step[VJPI_MAX_TENSORS]; /* bytes */
    int64_t row;    /* how far it moves in an array that has an element for each row */
    int64_t index;  /* how far it moves along the rows */
    int64_t causal; /* how far it moves along the dim that counts causal rows */
} vjpi_cuda_axis;

/* What all kernels of a call need, independent of the layout. */
typedef struct vjpi_cuda_call {
    double constants[VJPI_MAX_CONSTANTS]; /* room for them in the compute type */
    double stand_ins[VJPI_MAX_TENSORS];   /* what inputs that are not given are read as */
    uint32_t facts, passes;               /* as in vjpi_call */
    uint8_t dtypes[VJPI_MAX_TENSORS];     /* vjp_dtype */
} vjpi_cuda_call;

#define VJPI_CUDA_NO_TARGET 255

/* What x, y and the outer axes mean differs:
 *
 *   map         x, y: the sides of a block's tile; outer: all others
 *   transposed  as map
 *   row         x: the axis of the operator; outer: the others, one row for each index
 *   longer      as row
 *   column      y: the axis of the operator; x: the columns; outer: all others
 *   summed      as row, in segments of rows
 *   along       x: summed; outer: nkept axes that are not summed, then those that are
 *   across      x: not summed; outer: as along
 *   join        as the fold before it: adds up the partial sums of its segments
 *   gather      outer: one row for each index; also per_row */
typedef struct vjpi_cuda_loop {
    vjpi_cuda_call call;
    char *data[VJPI_MAX_TENSORS];
    void *arrays;          /* [row inputs, then row values][row] of the compute type */
    int64_t all_rows;      /* of the data */
    int64_t length;        /* of the axis */
    int64_t causal_shift;  /* a causal row ends this far after its own position + 1 */
    vjpi_cuda_axis x, y;
    int32_t nkept, nouter;
    vjpi_cuda_axis outer[VJP_MAX_DIMS]; /* the last one varies fastest */
    uint32_t xblocks, yblocks; /* blocks that cover x, y; along: pieces that cover x */
    int32_t causal;            /* rows end at the diagonal */
    int32_t lanes, lanes_log;  /* row: threads that share a row, if they are of one warp; else 0 */
    int32_t exact;             /* along: runs begin and end where vectors do */
    int32_t cluster;           /* longer, column: blocks that share a row; 1 without clusters */
    int32_t held;              /* longer, column: vectors of each input that a thread holds */
    int32_t warps;             /* along: warps that share a sum: 1 or those of a block */
    uint32_t transposed;       /* transposed: bit i: operand i is dense along y, not x */
    uint32_t fixed;            /* across: bit i: input i is the same for all that is summed */
    int32_t x_kept;            /* join: x is not summed */
    int32_t nsums, is_max;     /* folds: results of a kind; they are maxima */
    uint8_t target[VJPI_MAX_SUMS]; /* folds: tensors, NO_TARGET, or row arrays behind
                                      VJPI_MAX_TENSORS */
    uint8_t array_of[VJPI_MAX_TENSORS]; /* gather: the row arrays of the row inputs; NO_TARGET */
    uint32_t ends;             /* gather: bit i: input i says where rows end */
    int32_t narrays, nvalues;  /* gather: of all row arrays; those at the end that are row values */
    int64_t nouts;             /* folds: how many sums of each kind */
    int64_t rows;              /* row, summed, gather: how many; folds: summed pieces or rows per
                                  sum */
    int64_t per_segment;       /* folds, summed: pieces or rows that one block sums */
    int64_t nsegments;
    void *partials;            /* [segment][sum][out] of the compute type; NULL: there is one
                                  segment, and it stores its sums itself */
} vjpi_cuda_loop;

/* The same for a map of dense tensors. */
typedef struct vjpi_cuda_flat {
    vjpi_cuda_call call;
    char *data[VJPI_MAX_TENSORS];
    int64_t n;
    const void *lookup; /* the lookup kernel's table */
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
    VJPI_CUDA_TILE = 64,       /* side of a transposed tile; of 8-byte elements half */
    VJPI_CUDA_TILES = 2,       /* operands of a transposed map that go through shared memory */
    VJPI_CUDA_HELD = 4,        /* sizes of row kernels: 1, 2, 4, 8 vectors per thread, */
    VJPI_CUDA_HELD_ONES = 4,   /* or this many times as many single elements */
    VJPI_CUDA_ROW_THREADS = 512, /* of a block of theirs, at most */
    VJPI_CUDA_SUMMED_SIZE = 64, /* bytes of a row in the compute type that a thread has there */
    VJPI_CUDA_LINE = 128,      /* bytes of a cache line */
    VJPI_CUDA_CLUSTER = 16,    /* blocks of a cluster, at most */
    VJPI_CUDA_LOOKUP_LEAST = 1 << 24 /* elements; with fewer, filling shared memory counts */
};

/* The part of a table in shared memory: magnitudes of the first input from `low` on, `count` of
 * them, of both signs. With one input all: entries are 16 bits. With two, 2^-18 to 128 in bf16, up
 * to 28 in f16: outside, slopes hardly change, and the table in global memory is read. */
#ifdef __cplusplus
#define VJPI_CUDA_CONSTANT static constexpr
#else
#define VJPI_CUDA_CONSTANT static inline
#endif
VJPI_CUDA_CONSTANT int vjpi_cuda_window_low(int dtype, int ninputs)
{
    return ninputs == 2 && dtype == VJP_BF16 ? 0x3680 : 0;
}
VJPI_CUDA_CONSTANT int vjpi_cuda_window_count(int dtype, int ninputs)
{
    return ninputs < 2 ? 0x8000 : dtype == VJP_BF16 ? 0x4301 - 0x3680 : 0x4f01;
}
VJPI_CUDA_CONSTANT int vjpi_cuda_window_size(int dtype, int ninputs)
{
    return 2 * vjpi_cuda_window_count(dtype, ninputs) * (ninputs < 2 ? 2 : 4);
}
/* Blocks on a multiprocessor, and their threads: one block where the table takes most of the shared
 * memory; three leave each thread 40 registers. */
VJPI_CUDA_CONSTANT int vjpi_cuda_lookup_blocks(int dtype, int ninputs)
{
    return vjpi_cuda_window_size(dtype, ninputs) < 65536 ? 3 : 1;
}
VJPI_CUDA_CONSTANT int vjpi_cuda_lookup_threads(int dtype, int ninputs)
{
    return vjpi_cuda_lookup_blocks(dtype, ninputs) > 1 ? 512 : 1024;
}

/* The kernels of one operator. [0]: element by element, for any steps; [1]: by vectors. What
 * an operator does not need is NULL. Of row there are some sizes; [0][0] and [1][2] are among
 * them. */
typedef struct vjpi_cuda_kernels {
    const void *map[2], *flat, *transposed[2];
    const void *row[2][VJPI_CUDA_HELD], *longer[2], *column[2], *summed[2];
    const void *along[VJPI_MAX_PASSES][2], *across[VJPI_MAX_PASSES][2]; /* by pass */
    const void *per_row;
    const void *lookup;
} vjpi_cuda_kernels;

/* All kernels of one dtype. */
typedef struct vjpi_cuda_kernel_set {
    const vjpi_cuda_kernels (*kernels)[2][2]; /* [formula][variant][mixed] */
    const void *gather, *join;
} vjpi_cuda_kernel_set;

#ifdef __cplusplus
extern "C" {
#endif
#define DTYPE(name, ...) extern const vjpi_cuda_kernel_set vjpi_cuda_kernel_set_##name;
#include "dtypes.def"
#ifdef __cplusplus
}
#endif

#endif
