/* SPDX-License-Identifier: Apache-2.0 */
/* sums.cuh - adding up: in a thread, a warp, a block, a cluster of blocks. No atomics; the order
 * depends on the launch alone, so the bits are the same every time. */

/* A sum with its rounding errors: however long it gets, its error is that of one addition. */
struct total {
    T sum, lost;

    __device__ void start() { sum = lost = 0; }

    __device__ void add(T term)
    {
        T next = sum + term, took = next - sum;
        lost += (sum - (next - took)) + (term - took);
        sum = next;
    }

    /* Beside an infinity there is nothing to correct. */
    __device__ T result() const { return magnitude(lost) < INFINITY ? sum + lost : sum; }
};

/* By a tree; changes what it adds up. COUNT is a power of two. */
template <int COUNT> INLINE T add_tree(T (&terms)[COUNT])
{
    UNROLL
    for (int half = COUNT / 2; half > 0; half /= 2)
        UNROLL
        for (int i = 0; i < half; i++)
            terms[i] = terms[2 * i] + terms[2 * i + 1];
    return terms[0];
}

/* Over `lanes` neighbours of a warp, a power of two; each of them has the sum. */
INLINE T add_lanes(T a, int lanes)
{
    for (int distance = lanes / 2; distance > 0; distance /= 2)
        a += __shfl_xor_sync(0xffffffff, a, distance);
    return a;
}

template <int N> INLINE pack<T, N> packed(const T (&sums)[N])
{
    pack<T, N> made;
    UNROLL
    for (int e = 0; e < N; e++)
        made.e[e] = sums[e];
    return made;
}

template <int N> INLINE values<N> all_lanes(T sum)
{
    values<N> made;
    UNROLL
    for (int e = 0; e < N; e++)
        made.lane[e] = sum;
    return made;
}

/* The sum of `count` packs in shared memory, `step` apart: in fours, so that no chain gets long. */
template <int N> INLINE void add_packs(const pack<T, N> *from, int step, int count, T (&sum)[N])
{
    T chains[N][4] = { { 0 } };
    for (int i = 0; i < count; i += 4)
        UNROLL
        for (int j = 0; j < 4; j++)
            if (i + j < count) {
                pack<T, N> one = from[(i + j) * step];
                UNROLL
                for (int e = 0; e < N; e++)
                    chains[e][j] += one.e[e];
            }
    UNROLL
    for (int e = 0; e < N; e++)
        sum[e] = add_tree(chains[e]);
}

/* ---- blocks of a cluster ------------------------------------------------------------------ */

/* Memory of another block may be written only once that block runs: say early that this one does,
 * and wait late. A second arrival and wait makes what was written visible to its block. */
INLINE void cluster_arrive()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

INLINE void cluster_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* The same variable in block `rank` of the cluster. */
template <class E> INLINE E *in_block(E *mine, int rank)
{
#if __CUDA_ARCH__ >= 900
    return cooperative_groups::this_cluster().map_shared_rank(mine, rank);
#else
    return mine;
#endif
}

/* The sums over y of every column, N columns a thread: over the lanes of a warp that have the same
 * columns, over the block's warps, over the blocks of a cluster. `room` is in shared memory. */
template <int N> INLINE void add_columns(const vjpi_cuda_loop &loop, T (&sums)[N], void *room)
{
    pack<T, N> *own = (pack<T, N> *)room;
    int lanes = blockDim.x, thread = threadIdx.y * lanes + threadIdx.x;
    int groups = lanes < 32 ? lanes * blockDim.y / 32 : blockDim.y;
    for (int distance = lanes; distance < 32; distance *= 2)
        UNROLL
        for (int e = 0; e < N; e++)
            sums[e] += __shfl_xor_sync(0xffffffff, sums[e], distance);
    if (lanes >= 32 || thread % 32 < lanes)
        own[(lanes < 32 ? thread / 32 : threadIdx.y) * lanes + threadIdx.x] = packed(sums);
    __syncthreads();
    add_packs<N>(own + threadIdx.x, lanes, groups, sums);
    if (loop.cluster == 1)
        return;
    pack<T, N> *all = own + groups * lanes;
    cluster_wait();
    for (int rank = threadIdx.y; rank < loop.cluster; rank += blockDim.y)
        in_block(all, rank)[blockIdx.x % loop.cluster * lanes + threadIdx.x] =
            packed(sums);
    cluster_arrive();
    cluster_wait();
    add_packs<N>(all + threadIdx.x, lanes, loop.cluster, sums);
}
