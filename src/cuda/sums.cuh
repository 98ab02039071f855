/* SPDX-License-Identifier: Apache-2.0 */
/* sums.cuh - adding up, or taking maxima: in a thread, a warp, a block, a cluster of blocks. No
 * atomics; the order depends on the launch alone, so the bits are the same every time. */

/* The start of a reduction, and its step. A maximum ignores NaN. */
template <bool MAX> INLINE T identity() { return MAX ? -(T)INFINITY : (T)0; }

template <bool MAX> INLINE T combined(T a, T b)
{
    if (MAX)
        return greatest(a, b);
    return a + b;
}

/* A sum with its rounding errors: at any length, its error is that of one addition. */
template <bool MAX> struct total {
    T sum, lost;

    __device__ void start()
    {
        sum = identity<MAX>();
        lost = 0;
    }

    __device__ void add(T term)
    {
        if (MAX) {
            sum = combined<true>(sum, term);
            return;
        }
        T next = sum + term, took = next - sum;
        lost += (sum - (next - took)) + (term - took);
        sum = next;
    }

    /* Beside an infinity there is nothing to correct. */
    __device__ T result() const
    {
        return !MAX && magnitude(lost) < (T)INFINITY ? sum + lost : sum;
    }
};

/* By a tree; changes what it combines. COUNT is a power of two. */
template <bool MAX, int COUNT> INLINE T reduce_tree(T (&terms)[COUNT])
{
    UNROLL
    for (int half = COUNT / 2; half > 0; half /= 2)
        UNROLL
        for (int i = 0; i < half; i++)
            terms[i] = combined<MAX>(terms[2 * i], terms[2 * i + 1]);
    return terms[0];
}

/* Over `lanes` neighbours of a warp, a power of two; each of them has the results. */
template <bool MAX, int COUNT> INLINE void reduce_lanes(T (&mine)[COUNT], int lanes)
{
    for (int distance = lanes / 2; distance > 0; distance /= 2)
        UNROLL
        for (int i = 0; i < COUNT; i++)
            mine[i] = combined<MAX>(mine[i], __shfl_xor_sync(0xffffffff, mine[i], distance));
}

template <bool MAX> INLINE T reduce_lanes(T a, int lanes)
{
    T mine[1] = { a };
    reduce_lanes<MAX>(mine, lanes);
    return mine[0];
}

template <int N> INLINE pack<T, N> packed(const T (&sums)[N])
{
    pack<T, N> made;
    UNROLL
    for (int e = 0; e < N; e++)
        made.e[e] = sums[e];
    return made;
}

/* Of `count` packs in shared memory, `step` apart: in fours, so that no chain gets long. */
template <bool MAX, int N>
INLINE void reduce_packs(const pack<T, N> *from, int step, int count, T (&sum)[N])
{
    T chains[N][4];
    UNROLL
    for (int e = 0; e < N; e++)
        UNROLL
        for (int j = 0; j < 4; j++)
            chains[e][j] = identity<MAX>();
    for (int i = 0; i < count; i += 4)
        UNROLL
        for (int j = 0; j < 4; j++)
            if (i + j < count) {
                pack<T, N> one = from[(i + j) * step];
                UNROLL
                for (int e = 0; e < N; e++)
                    chains[e][j] = combined<MAX>(chains[e][j], one.e[e]);
            }
    UNROLL
    for (int e = 0; e < N; e++)
        sum[e] = reduce_tree<MAX>(chains[e]);
}

/* ---- blocks and clusters of blocks -------------------------------------------------------- */

/* Over all threads that share a row; each of them gets the results of a pass. Each of the TOTAL
 * results of a kernel, of which these are numbered from `first` on, has shared memory of its own:
 * no thread waits until those of the pass before are read. In a cluster, all blocks are known to
 * run. */
template <bool MAX, int TOTAL, int BLOCKS, int WARPS, int COUNT>
INLINE void reduce_row(const vjpi_cuda_loop &loop, int first, T (&mine)[COUNT])
{
    __shared__ T sums[TOTAL][BLOCKS * WARPS];
    int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    reduce_lanes<MAX>(mine, loop.lanes > 0 ? loop.lanes : 32);
    if (loop.lanes > 0)
        return;
    int cluster = BLOCKS == 1 ? 1 : loop.cluster;
    UNROLL
    for (int i = 0; i < COUNT; i++)
        if (cluster == 1 && lane == 0)
            sums[first + i][warp] = mine[i];
        else if (cluster > 1 && lane < cluster)
            in_block(sums[first + i], lane)[blockIdx.x % cluster * warps + warp] = mine[i];
    if (cluster == 1) {
        __syncthreads();
    } else {
        cluster_arrive();
        cluster_wait();
    }
    UNROLL
    for (int i = 0; i < COUNT; i++) {
        mine[i] = identity<MAX>();
#pragma unroll 1
        for (int other = lane; other < warps * cluster; other += 32)
            mine[i] = combined<MAX>(mine[i], sums[first + i][other]);
    }
    reduce_lanes<MAX>(mine, 32);
}

/* Over y, for every column, N columns per thread: over the lanes of a warp that have the same
 * columns, over the block's warps, over the blocks of a cluster. `room` is in shared memory; it has
 * two parts, which results use alternately: when one is written again, all threads have read it
 * before the barrier of the result in between. */
template <bool MAX, int N>
INLINE void reduce_columns(const vjpi_cuda_loop &loop, int number, T (&sums)[N], void *room)
{
    int lanes = blockDim.x, thread = threadIdx.y * lanes + threadIdx.x;
    int groups = lanes < 32 ? lanes * blockDim.y / 32 : blockDim.y;
    int rows = groups + (loop.cluster > 1 ? loop.cluster : 0);
    pack<T, N> *own = (pack<T, N> *)room + number % 2 * rows * lanes;
    for (int distance = lanes; distance < 32; distance *= 2)
        UNROLL
        for (int e = 0; e < N; e++)
            sums[e] = combined<MAX>(sums[e], __shfl_xor_sync(0xffffffff, sums[e], distance));
    if (lanes >= 32 || thread % 32 < lanes)
        own[(lanes < 32 ? thread / 32 : threadIdx.y) * lanes + threadIdx.x] = packed(sums);
    __syncthreads();
    reduce_packs<MAX, N>(own + threadIdx.x, lanes, groups, sums);
    if (loop.cluster == 1)
        return;
    pack<T, N> *all = own + groups * lanes;
    for (int rank = threadIdx.y; rank < loop.cluster; rank += blockDim.y)
        in_block(all, rank)[blockIdx.x % loop.cluster * lanes + threadIdx.x] =
            packed(sums);
    cluster_arrive();
    cluster_wait();
    reduce_packs<MAX, N>(all + threadIdx.x, lanes, loop.cluster, sums);
}
