/* SPDX-License-Identifier: Apache-2.0 */
/* row.cuh - a sum along an axis, then one value per element that needs it.
 *
 * What is read is held until the sum is known, so that memory is read once: in registers where a
 * row is shared by lanes of a warp or by a block, in shared memory where it takes a cluster of
 * blocks, or where rows lie side by side. */

enum {
    ROW_WARPS = VJPI_CUDA_ROW_THREADS / 32
};

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

/* Where a thread stands: its row, its number among those that share the row, which is that of its
 * first vector, and the distance to its next. */
struct row_share {
    int64_t row;
    int number, stride;
};

INLINE row_share share_rows(const vjpi_cuda_loop &loop)
{
    row_share share;
    if (loop.lanes > 0) {
        int log = __ffs(loop.lanes) - 1;
        share.row = (int64_t)blockIdx.x * (blockDim.x >> log) + (threadIdx.x >> log);
        share.number = threadIdx.x & (loop.lanes - 1);
        share.stride = loop.lanes;
    } else {
        share.row = blockIdx.x;
        share.number = threadIdx.x;
        share.stride = blockDim.x;
    }
    return share;
}

/* The terms of a vector, added to some of the thread's chains. */
template <class Op, int N, int COUNT>
INLINE void add_terms(const packs<Op, N, Op::nin> &in, const float *constants, int first,
                      T (&sums)[COUNT])
{
    values<N> terms;
    evaluate<Op, TERMS, N>(in, {}, constants, &terms);
    UNROLL
    for (int e = 0; e < N; e++)
        sums[(first + e) % COUNT] += terms.lane[e];
}

/* The outputs of a vector. */
template <class Op, int N>
INLINE void finish(const packs<Op, N, Op::nin> &in, values<N> sum,
                   const vjpi_cuda_loop &loop, const place &run, int64_t p, int64_t n)
{
    values<N> out[Op::nouts];
    evaluate<Op, OUTS, N>(in, sum, loop.constants, out);
    keep_all<Op, N>(out, run, loop.x, p, n, true);
}

/* Where a thread holds much, blocks are smaller: two and more of them share a multiprocessor, so
 * that one reads while the other writes. */
template <int N, int HELD> struct row_bounds {
    static constexpr bool many = HELD / (N > 1 ? 1 : VJPI_CUDA_HELD_ONES) >= 8;
    static constexpr int threads = many ? VJPI_CUDA_THREADS : VJPI_CUDA_ROW_THREADS;
};

/* A row is some vectors and, where it does not begin or end with one, up to N - 1 single elements
 * before and behind them: a thread has one of those at most. */
template <class Op, int N, int HELD>
__global__ void __launch_bounds__(row_bounds<N, HELD>::threads, 2)
    row_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    constexpr int chains = N > VJPI_CUDA_HELD_ONES ? N : VJPI_CUDA_HELD_ONES;
    row_share share = share_rows(loop);
    bool there = share.row < loop.rows; /* lanes without a row take part in the sums of others */
    place run = place_start<Op>(loop);
    if (there)
        move_outer<Op>(run, loop, 0, loop.nouter, share.row);
    int n = there ? (int)loop.x.n : 0, head = min(n, (N - shift_of<Op, N>(run)) % N);
    int vectors = (n - head) / N, singles = n - vectors * N;
    int single = share.number < head ? share.number : vectors * N + share.number;
    bool has_single = N > 1 && share.number < singles;
    packs<Op, N, Op::nin> in[HELD];
    packs<Op, 1, Op::nin> one;
    T sums[chains] = { 0 };
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (share.number + j * share.stride < vectors)
            fetch_all<false>(in[j], run, loop.x, head + (share.number + j * share.stride) * N, n,
                             true);
    if (has_single)
        fetch_all<false>(one, run, loop.x, single, n, true);
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (share.number + j * share.stride < vectors)
            add_terms<Op, N>(in[j], loop.constants, j * N, sums);
    if (has_single)
        add_terms<Op, 1>(one, loop.constants, 0, sums);
    T sum = add_row(loop, add_tree(sums));
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (share.number + j * share.stride < vectors)
            finish<Op, N>(in[j], all_lanes<N>(sum), loop, run,
                          head + (share.number + j * share.stride) * N, n);
    if (has_single)
        finish<Op, 1>(one, all_lanes<1>(sum), loop, run, single, n);
}

/* ---- held in shared memory ---------------------------------------------------------------- */

/* Vectors whose terms are added up before they go to a thread's total. */
enum {
    GROUP = 4,
    LINE_SIZE = 128 /* bytes */
};

template <class Op, int N, class Index>
INLINE void hold_all(const vjpi_cuda_loop &loop, const place &run, int j, Index p, Index n)
{
    each<Op::nin>([&](auto i) {
        hold<Op, TERMS, N, i.value>(run, loop.x, loop.held, j, p, n);
    });
}

template <class Op, int N> INLINE packs<Op, N, Op::nin> held(const vjpi_cuda_loop &loop, int j)
{
    packs<Op, N, Op::nin> in;
    each<Op::nin>([&](auto i) {
        pack_of<i.value, Op, N>(in) = held_at<Op, TERMS, N, i.value>(loop.held, j);
    });
    return in;
}

/* A row that is shared by a cluster of blocks: more than registers hold. Vectors begin where a
 * cache line of the output does, so that no two warps meet in one. */
template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    long_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    constexpr int LINE = N > 1 ? LINE_SIZE / sizeof(D) : 1;
    cluster_arrive();
    int rank = blockIdx.x % loop.cluster, number = rank * blockDim.x + threadIdx.x;
    int first = rank * blockDim.x * loop.held + threadIdx.x;
    place run = place_start<Op>(loop);
    move_outer<Op>(run, loop, 0, loop.nouter, blockIdx.x / loop.cluster);
    int n = (int)loop.x.n, head = min(n, (LINE - shift_of<Op, LINE>(run)) % LINE);
    int vectors = (n - head) / N, singles = n - vectors * N;
    int single = number < head ? number : vectors * N + number;
    bool has_single = N > 1 && number < singles;
    packs<Op, 1, Op::nin> one;
    total all;
    all.start();
    int mine = min(loop.held, (vectors - first + (int)blockDim.x - 1) / (int)blockDim.x);
#pragma unroll 4
    for (int j = 0; j < mine; j++)
        hold_all<Op, N>(loop, run, j, head + (first + j * (int)blockDim.x) * N, n);
    if (has_single)
        fetch_all<false>(one, run, loop.x, single, n, true);
    commit_copies();
    wait_copies<0>();
#pragma unroll 1
    for (int j = 0; j < mine; j += GROUP) {
        T sums[N > 1 ? N : 2] = { 0 };
        UNROLL
        for (int g = 0; g < GROUP; g++)
            if (j + g < mine)
                add_terms<Op, N>(held<Op, N>(loop, j + g), loop.constants, 0, sums);
        all.add(add_tree(sums));
    }
    if (has_single) {
        T term[1] = { 0 };
        add_terms<Op, 1>(one, loop.constants, 0, term);
        all.add(term[0]);
    }
    T sum = add_row(loop, all.result());
#pragma unroll 4
    for (int j = 0; j < mine; j++)
        finish<Op, N>(held<Op, N>(loop, j), all_lanes<N>(sum), loop, run,
                      head + (first + j * (int)blockDim.x) * N, n);
    if (has_single)
        finish<Op, 1>(one, all_lanes<1>(sum), loop, run, single, n);
}

/* Rows side by side: N columns a thread, some of the rows of x below each other. */
template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    column_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    if (loop.cluster > 1)
        cluster_arrive();
    uint32_t rank = blockIdx.x % loop.cluster, rest = blockIdx.x / loop.cluster;
    int64_t first = (int64_t)rank * blockDim.y * loop.held + threadIdx.y, n = loop.x.n;
    place corner = place_start<Op>(loop);
    move_outer<Op>(corner, loop, 0, loop.nouter, rest / loop.xblocks);
    int64_t p = ((int64_t)(rest % loop.xblocks) * blockDim.x + threadIdx.x) * N;
    move<Op>(corner, loop.y, first);
    int64_t below = (loop.y.n - first + blockDim.y - 1) / blockDim.y;
    int mine = p < n ? (int)max((int64_t)0, min((int64_t)loop.held, below)) : 0;
    values<N> sums;
    total totals[N];
    UNROLL
    for (int e = 0; e < N; e++)
        totals[e].start();
    place run = corner;
#pragma unroll 4
    for (int j = 0; j < mine; j++) {
        hold_all<Op, N>(loop, run, j, p, n);
        move<Op>(run, loop.y, blockDim.y);
    }
    commit_copies();
    wait_copies<0>();
#pragma unroll 1
    for (int j = 0; j < mine; j += GROUP) {
        T group[N] = { 0 };
        UNROLL
        for (int g = 0; g < GROUP; g++)
            if (j + g < mine)
                add_terms<Op, N>(held<Op, N>(loop, j + g), loop.constants, 0, group);
        UNROLL
        for (int e = 0; e < N; e++)
            totals[e].add(group[e]);
    }
    UNROLL
    for (int e = 0; e < N; e++)
        sums.lane[e] = totals[e].result();
    add_columns<N>(loop, sums.lane, room_behind<Op, TERMS, N>(loop.held));
    run = corner;
#pragma unroll 4
    for (int j = 0; j < mine; j++) {
        finish<Op, N>(held<Op, N>(loop, j), sums, loop, run, p, n);
        move<Op>(run, loop.y, blockDim.y);
    }
}
