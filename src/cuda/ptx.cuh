/* SPDX-License-Identifier: Apache-2.0 */
/* ptx.cuh - what CUDA C++ cannot express. tests/cuda/emulate.h has the same in plain C++. */

#if !VJPI_COMPUTE_F64
/* About 1 / a; 0 for a that is too large. */
INLINE float near_inverse(float a)
{
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(a));
    return inverse;
}

/* 2^a within 2^-22 of it; 0 where that is subnormal. */
INLINE float near_power_of_2(float a)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(a));
    return power;
}

/* The greater of two; NaN if one is. */
INLINE float max_or_nan(float a, float b)
{
    float greater;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(greater) : "f"(a), "f"(b));
    return greater;
}
#endif

/* The shared memory that a launch requests. */
INLINE char *dynamic_shared()
{
    extern __shared__ uint4 shared[];
    return (char *)shared;
}

/* Start to copy 8 bytes, or a multiple of 16. Copies are waited for by what was committed together:
 * all but the last STILL commits. */
template <int SIZE> INLINE void start_copy(void *to, const char *from)
{
    UNROLL
    for (int i = 0; i < SIZE; i += 16) {
        uint32_t address = (uint32_t)__cvta_generic_to_shared((char *)to + i);
        if (SIZE >= 16)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address),
                         "l"(from + i) : "memory");
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address),
                         "l"(from + i) : "memory");
    }
}

INLINE void commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int STILL> INLINE void wait_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(STILL) : "memory");
}

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
