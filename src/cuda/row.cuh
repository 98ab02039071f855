/* SPDX-License-Identifier: Apache-2.0 */
/* row.cuh - a sum along an axis, then one value per element that needs it.
 *
 * What is read stays in registers until the sum is known: memory is read once. A row is shared by
 * some lanes of a warp, by a block or by a cluster of blocks. */

enum {
    ROW_WARPS = VJPI_CUDA_ROW_THREADS / 32
};

/* Where a thread stands: its row, its first vector and the distance to its next. */
struct row_share {
    int64_t row, first;
    int stride;
};

template <int HELD> INLINE row_share share_rows(const vjpi_cuda_loop &loop)
{
    row_share share;
    if (loop.lanes > 0) {
        int log = __ffs(loop.lanes) - 1;
        share.row = (int64_t)blockIdx.x * (blockDim.x >> log) + (threadIdx.x >> log);
        share.first = threadIdx.x & (loop.lanes - 1);
        share.stride = loop.lanes;
    } else {
        share.row = blockIdx.x / loop.cluster;
        share.first = (int64_t)(blockIdx.x % loop.cluster) * blockDim.x * HELD + threadIdx.x;
        share.stride = blockDim.x;
    }
    return share;
}

/* The sum over all threads that share a row; each of them gets it. */
INLINE T add_row(const vjpi_cuda_loop &loop, T mine)
{
    __shared__ T sums[VJPI_CUDA_CLUSTER * ROW_WARPS];
    int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (loop.lanes > 0)
        return add_lanes(mine, loop.lanes);
    mine = add_lanes(mine, 32);
    if (loop.cluster == 1) {
        if (lane == 0)
            sums[warp] = mine;
        __syncthreads();
    } else {
        cluster_wait();
        if (lane < loop.cluster)
            in_block(sums, lane)[blockIdx.x % loop.cluster * warps + warp] = mine;
        cluster_arrive();
        cluster_wait();
    }
    T sum = 0;
    for (int i = lane; i < warps * loop.cluster; i += 32)
        sum += sums[i];
    return add_lanes(sum, 32);
}

template <class Op, int N, int HELD, bool EXACT>
INLINE void do_row(const vjpi_cuda_loop &loop, const place &run, row_share share, int shift,
                   int64_t n)
{
    constexpr int partial = N > VJPI_CUDA_HELD_ONES ? N : VJPI_CUDA_HELD_ONES;
    packs<Op, N, Op::nin> in[HELD];
    T sums[partial] = { 0 };
    UNROLL
    for (int j = 0; j < HELD; j++) {
        int64_t p = (share.first + (int64_t)j * share.stride) * N - shift;
        if (p < n)
            fetch_all(in[j], run, loop.x, p, n, EXACT);
    }
    UNROLL
    for (int j = 0; j < HELD; j++) {
        int64_t p = (share.first + (int64_t)j * share.stride) * N - shift;
        UNROLL
        for (int e = 0; e < N; e++) {
            V term;
            evaluate<Op, TERMS>(in[j], e, 0, loop.constants, &term);
            bool there = EXACT ? p < n : p + e >= 0 && p + e < n;
            sums[(j * N + e) % partial] += there ? term : 0;
        }
    }
    T sum = add_row(loop, add_tree(sums));
    UNROLL
    for (int j = 0; j < HELD; j++) {
        int64_t p = (share.first + (int64_t)j * share.stride) * N - shift;
        V out[Op::nouts][N];
        evaluate_all<Op, OUTS, N>(in[j], [&](int) { return sum; }, loop.constants, out);
        if (p < n)
            keep_all<Op, N>(out, run, loop.x, p, n, EXACT);
    }
}

template <class Op, int N, int HELD>
__global__ void __launch_bounds__(VJPI_CUDA_ROW_THREADS)
    row_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    if (loop.cluster > 1)
        cluster_arrive();
    row_share share = share_rows<HELD>(loop);
    bool there = share.row < loop.rows; /* lanes without a row take part in the sums of others */
    place run = place_start<Op>(loop);
    if (there)
        move_outer<Op>(run, loop, 0, loop.nouter, share.row);
    int64_t n = there ? loop.x.n : 0;
    int shift = shift_of<Op, N>(run);
    if (N > 1 && loop.exact)
        do_row<Op, N, HELD, true>(loop, run, share, 0, n);
    else
        do_row<Op, N, HELD, false>(loop, run, share, shift, n);
}

/* ---- rows side by side -------------------------------------------------------------------- */

/* The sums over y of every column, N columns a thread: over the block's threads by a tree in
 * shared memory, then over the blocks of a cluster. sums[] comes in as the thread's own. */
template <int N> INLINE void add_columns(const vjpi_cuda_loop &loop, T (&sums)[N])
{
    extern __shared__ unsigned char shared[];
    T *own = (T *)shared, *clusters = own + blockDim.x * blockDim.y * N;
    int width = blockDim.x * N, column = threadIdx.x * N;
    UNROLL
    for (int e = 0; e < N; e++)
        own[threadIdx.y * width + column + e] = sums[e];
    for (int half = blockDim.y / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.y < half)
            UNROLL
            for (int e = 0; e < N; e++)
                own[threadIdx.y * width + column + e] +=
                    own[(threadIdx.y + half) * width + column + e];
    }
    __syncthreads();
    if (loop.cluster == 1) {
        UNROLL
        for (int e = 0; e < N; e++)
            sums[e] = own[column + e];
        return;
    }
    cluster_wait();
    for (int rank = threadIdx.y; rank < loop.cluster; rank += blockDim.y)
        UNROLL
        for (int e = 0; e < N; e++)
            in_block(clusters, rank)[blockIdx.x % loop.cluster * width + column + e] =
                own[column + e];
    cluster_arrive();
    cluster_wait();
    UNROLL
    for (int e = 0; e < N; e++) {
        T parts[VJPI_CUDA_CLUSTER];
        UNROLL
        for (int rank = 0; rank < VJPI_CUDA_CLUSTER; rank++)
            parts[rank] = rank < loop.cluster ? clusters[rank * width + column + e] : 0;
        sums[e] = add_tree(parts);
    }
}

template <class Op, int N, int HELD>
__global__ void __launch_bounds__(VJPI_CUDA_ROW_THREADS)
    column_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    if (loop.cluster > 1)
        cluster_arrive();
    uint32_t rank = blockIdx.x % loop.cluster, rest = blockIdx.x / loop.cluster;
    int64_t first = (int64_t)rank * blockDim.y * HELD + threadIdx.y, n = loop.x.n;
    place corner = place_start<Op>(loop);
    move_outer<Op>(corner, loop, 0, loop.nouter, rest / loop.xblocks);
    int64_t p = ((int64_t)(rest % loop.xblocks) * blockDim.x + threadIdx.x) * N -
                shift_of<Op, N>(corner);
    move<Op>(corner, loop.y, first);
    packs<Op, N, Op::nin> in[HELD];
    T sums[N], chains[N][VJPI_CUDA_HELD_ONES] = { { 0 } };
    UNROLL
    for (int j = 0; j < HELD; j++) {
        place run = corner;
        move<Op>(run, loop.y, (int64_t)j * blockDim.y);
        if (p < n && first + (int64_t)j * blockDim.y < loop.y.n)
            fetch_all(in[j], run, loop.x, p, n, false);
    }
    UNROLL
    for (int j = 0; j < HELD; j++)
        UNROLL
        for (int e = 0; e < N; e++) {
            V term;
            evaluate<Op, TERMS>(in[j], e, 0, loop.constants, &term);
            chains[e][j % VJPI_CUDA_HELD_ONES] +=
                first + (int64_t)j * blockDim.y < loop.y.n ? term : 0;
        }
    UNROLL
    for (int e = 0; e < N; e++)
        sums[e] = add_tree(chains[e]);
    add_columns<N>(loop, sums);
    UNROLL
    for (int j = 0; j < HELD; j++) {
        place run = corner;
        move<Op>(run, loop.y, (int64_t)j * blockDim.y);
        V out[Op::nouts][N];
        evaluate_all<Op, OUTS, N>(in[j], [&](int e) { return sums[e]; }, loop.constants, out);
        if (p < n && first + (int64_t)j * blockDim.y < loop.y.n)
            keep_all<Op, N>(out, run, loop.x, p, n, false);
    }
}
