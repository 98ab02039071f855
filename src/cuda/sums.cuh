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
    __device__ T result() const { return absolute(lost) < INFINITY ? sum + lost : sum; }
};

/* By a tree; changes what it adds up. COUNT is a power of two. */
template <int COUNT> INLINE T add_tree(T (&terms)[COUNT])
{
    UNROLL
    for (int half = COUNT / 2; half > 0; half /= 2)
        UNROLL
        for (int i = 0; i < half; i++)
            terms[i] += terms[i + half];
    return terms[0];
}

/* Over `lanes` neighbours of a warp, a power of two; each of them has the sum. */
INLINE T add_lanes(T a, int lanes)
{
    for (int distance = lanes / 2; distance > 0; distance /= 2)
        a += __shfl_xor_sync(0xffffffff, a, distance);
    return a;
}

/* ---- blocks of a cluster ------------------------------------------------------------------ */

/* Memory of another block may be written only once that block runs: say early that this one does,
 * and wait late. share makes all writes to other blocks visible. */
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
INLINE T *in_block(T *mine, int rank)
{
#if __CUDA_ARCH__ >= 900
    return cooperative_groups::this_cluster().map_shared_rank(mine, rank);
#else
    return mine;
#endif
}
