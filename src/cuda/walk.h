/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h - which elements a thread has: the index arithmetic of the kernels, in plain C, so that
 * tests/cuda can walk a launch without a GPU. N is the number of elements of a vector, or 1. */
#ifndef VJPI_CUDA_WALK_H
#define VJPI_CUDA_WALK_H

#include "cuda/launch.h"

#ifdef __CUDACC__
#define VJPI_WALK static __device__ __forceinline__
#else
#define VJPI_WALK static inline
#endif

VJPI_WALK int64_t vjpi_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* index / n, and index % n in `rest`; most divisions fit in 32 bits. */
VJPI_WALK int64_t vjpi_divide(int64_t index, int64_t n, int64_t *rest)
{
    int64_t quotient = ((uint64_t)index | (uint64_t)n) >> 32
                           ? index / n
                           : (int64_t)((uint32_t)index / (uint32_t)n);
    *rest = index - quotient * n;
    return quotient;
}

/* ---- map, transposed ---------------------------------------------------------------------- */

typedef struct vjpi_tile_at {
    uint32_t x, y, outer; /* block of x, block of y, index over the outer axes */
} vjpi_tile_at;

VJPI_WALK vjpi_tile_at vjpi_find_tile(const vjpi_cuda_loop *loop, uint32_t block)
{
    uint32_t rest = block / loop->xblocks;
    vjpi_tile_at at = { block % loop->xblocks, rest % loop->yblocks, rest / loop->yblocks };
    return at;
}

/* The first element of block xb of a run that begins `shift` elements behind a vector's start. */
VJPI_WALK int64_t vjpi_map_begin(int64_t xb, int64_t threads, int N, int shift)
{
    return xb * threads * (N * VJPI_CUDA_MAP_STEPS) - shift;
}

/* Slot s of a thread in a tile whose rows have `side` elements. */
VJPI_WALK void vjpi_tile_slot(int s, int thread, int side, int N, int *row, int *column)
{
    int i = s * VJPI_CUDA_THREADS + thread;
    *row = i / (side / N);
    *column = i % (side / N) * N;
}

/* ---- row, longer -------------------------------------------------------------------------- */

/* Where a thread is: its row, its number among the threads that share the row, its first vector,
 * and the distance to its next. */
typedef struct vjpi_row_share {
    int64_t row;
    int number, first, stride;
} vjpi_row_share;

/* cluster: the blocks that share a row, each thread of which holds `held` vectors. */
VJPI_WALK vjpi_row_share vjpi_share_row(const vjpi_cuda_loop *loop, uint32_t block, int thread,
                                        int threads, uint32_t cluster, int held)
{
    vjpi_row_share share;
    if (loop->lanes > 0) {
        share.row = (int64_t)block * (threads >> loop->lanes_log) + (thread >> loop->lanes_log);
        share.number = share.first = thread & (loop->lanes - 1);
        share.stride = loop->lanes;
    } else {
        int rank = (int)(block % cluster);
        share.row = block / cluster;
        share.number = rank * threads + thread;
        share.first = rank * threads * held + thread;
        share.stride = threads;
    }
    return share;
}

/* A row of n elements is some vectors and, where it does not begin or end with one, single elements
 * before and behind them: a thread has one of those at most. */
typedef struct vjpi_row_cut {
    int head, vectors; /* elements before the first vector; whole vectors */
    int single;        /* the thread's single element; -1: none */
} vjpi_row_cut;

/* line: vectors begin at multiples of this many elements, from which the row is `shift` away. */
VJPI_WALK vjpi_row_cut vjpi_cut_row(int n, int shift, int line, int N, int number)
{
    vjpi_row_cut cut;
    cut.head = (line - shift) % line;
    cut.head = cut.head < n ? cut.head : n;
    cut.vectors = (n - cut.head) / N;
    cut.single = number < cut.head ? number : cut.vectors * N + number;
    if (N == 1 || number >= n - cut.vectors * N)
        cut.single = -1;
    return cut;
}

/* Elements [end, n) of a row: single ones before `begin` and from `stop` on, vectors between. */
VJPI_WALK void vjpi_cut_behind(int64_t end, int64_t n, int shift, int N, int64_t *begin,
                               int64_t *stop)
{
    *begin = vjpi_least(n, (end + shift + N - 1) / N * N - shift);
    *stop = (n + shift) / N * N - shift;
    *stop = *stop > *begin ? *stop : *begin;
}

/* ---- column ------------------------------------------------------------------------------- */

typedef struct vjpi_column_share {
    int64_t p, outer; /* the first of N columns; index over the outer axes */
    int64_t first;    /* the first of the thread's places along the axis */
    int count;        /* of those, blockDim.y apart */
} vjpi_column_share;

VJPI_WALK vjpi_column_share vjpi_share_column(const vjpi_cuda_loop *loop, uint32_t block, int x,
                                              int y, int xthreads, int ythreads, int N)
{
    vjpi_column_share share;
    uint32_t rank = block % (uint32_t)loop->cluster, rest = block / (uint32_t)loop->cluster;
    share.p = ((int64_t)(rest % loop->xblocks) * xthreads + x) * N;
    share.outer = rest / loop->xblocks;
    share.first = (int64_t)rank * ythreads * loop->held + y;
    int64_t below = (loop->y.n - share.first + ythreads - 1) / ythreads;
    below = vjpi_least(loop->held, below);
    share.count = share.p < loop->x.n && below > 0 ? (int)below : 0;
    return share;
}

/* ---- folds -------------------------------------------------------------------------------- */

/* The results of a thread, and which of the pieces or rows that belong to them it adds up. */
typedef struct vjpi_fold_share {
    int64_t out;           /* along: the result; across: the index over the kept axes */
    int64_t segment, first, end, stride;
    int64_t p;             /* across: the first of N columns */
} vjpi_fold_share;

VJPI_WALK vjpi_fold_share vjpi_share_along(const vjpi_cuda_loop *loop, int64_t block, int warp)
{
    vjpi_fold_share share;
    int64_t unit = loop->warps == 1 ? block * VJPI_CUDA_WARPS + warp : block;
    share.out = vjpi_divide(unit, loop->nsegments, &share.segment);
    share.first = share.segment * loop->per_segment;
    share.end = vjpi_least(share.first + loop->per_segment, loop->rows);
    share.first += loop->warps == 1 ? 0 : warp;
    share.stride = loop->warps;
    share.p = 0;
    return share;
}

VJPI_WALK vjpi_fold_share vjpi_share_across(const vjpi_cuda_loop *loop, uint32_t block, int x,
                                            int y, int xthreads, int ythreads, int N)
{
    vjpi_fold_share share;
    uint32_t xb = block % loop->xblocks;
    share.out = vjpi_divide(block / loop->xblocks, loop->nsegments, &share.segment);
    share.p = ((int64_t)xb * xthreads + x) * N;
    share.first = share.segment * loop->per_segment;
    share.end = vjpi_least(share.first + loop->per_segment, loop->rows);
    share.first += y;
    share.stride = ythreads;
    return share;
}

/* A piece of a run along x: elements of x from *begin on, a vector per lane and step. Returns the
 * index over the outer axes that are summed. */
VJPI_WALK int64_t vjpi_find_piece(const vjpi_cuda_loop *loop, int64_t piece, int64_t *part)
{
    return vjpi_divide(piece, loop->xblocks, part);
}

VJPI_WALK int64_t vjpi_piece_begin(int64_t part, int N, int shift)
{
    return part * (32 * N * VJPI_CUDA_PIECE_STEPS) - shift;
}

/* Which index of x, and which over the kept axes, result `out` of a fold has. */
VJPI_WALK int64_t vjpi_find_result(const vjpi_cuda_loop *loop, int64_t out, int64_t *x)
{
    *x = 0;
    return loop->x_kept ? vjpi_divide(out, loop->x.n, x) : out;
}

#endif
