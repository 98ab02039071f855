/* SPDX-License-Identifier: Apache-2.0 */
/* held.cuh - vectors that a thread holds in shared memory: there is more of it than of registers,
 * and data gets there while the thread does something else. */

/* Bytes of one vector of the first COUNT inputs, but for those that are fixed. */
template <class Op, int PART, int N, int COUNT> INLINE constexpr size_t held_size()
{
    size_t size = 0;
    each<COUNT>([&](auto i) {
        if constexpr (!Op::template fixed<PART>(i.value))
            size += sizeof(pack<typename stored<Op::wide(i.value)>::type, N>);
    });
    return size;
}

/* Vector j of `held` of input i of this thread: it alone writes and reads it. */
template <class Op, int PART, int N, int I> INLINE auto &held_at(int held, int j)
{
    typedef pack<typename stored<Op::wide(I)>::type, N> P;
    extern __shared__ uint4 shared[];
    int threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
    P *first = (P *)((char *)shared + held_size<Op, PART, N, I>() * held * threads);
    return first[j * threads + thread];
}

/* Shared memory behind all that is held. */
template <class Op, int PART, int N> INLINE void *room_behind(int held)
{
    extern __shared__ uint4 shared[];
    size_t size = held_size<Op, PART, N, Op::nin>() * held * blockDim.x * blockDim.y;
    return (char *)shared + (size + 15) / 16 * 16;
}

/* Start to copy 16 bytes and more. Copies are waited for by what was committed together: all but
 * the last STILL commits. */
template <class P> INLINE void start_copy(P &to, const P *from)
{
    UNROLL
    for (int i = 0; i < (int)sizeof(P); i += 16) {
        uint32_t address = (uint32_t)__cvta_generic_to_shared((char *)&to + i);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address),
                     "l"((const char *)from + i) : "memory");
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

/* Fetch vector j of input I; single elements take the usual way. */
template <class Op, int PART, int N, int I, class Index>
INLINE void hold(const place &run, const vjpi_cuda_axis &x, int held, int j, Index p, Index n)
{
    typedef typename stored<Op::wide(I)>::type E;
    auto &to = held_at<Op, PART, N, I>(held, j);
    if constexpr (N > 1)
        start_copy(to, (const pack<E, N> *)(run.at[I] + p * (int64_t)sizeof(E)));
    else
        fetch(to, run.at[I], x.step[I], p, n, true);
}
