/* SPDX-License-Identifier: Apache-2.0 */
/* held.cuh - vectors that a thread holds in shared memory: there is more of it than of registers,
 * and it is filled asynchronously. Parameters and masks are read from
 * memory whenever they are needed: a parameter is the same for many rows, and in the caches.
 *
 * The value of KEEP takes the place of the input that it was made of, which has room for it. */

/* Bytes of one vector of those of the first COUNT inputs that are held. */
template <class Op, int N, int COUNT> INLINE constexpr size_t held_size()
{
    size_t size = 0;
    each<COUNT>([&](auto i) {
        if constexpr (Op::is_held(i.value))
            size += Op::keeps ? sizeof(values<N>) : sizeof(pack<input_type<Op, i.value>, N>);
    });
    return size;
}

/* Vector j of `held` of input I of this thread: it alone writes and reads it. What may be of
 * several dtypes is there as it is in memory. */
template <class Op, int N, int I> INLINE auto &held_at(int held, int j)
{
    typedef pack<input_type<Op, I>, N> P;
    constexpr size_t STEP = Op::keeps && N == 1 ? sizeof(T) : sizeof(P);
    int threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
    char *first = dynamic_shared() + held_size<Op, N, I>() * held * threads;
    return *(P *)(first + (j * threads + thread) * STEP);
}

/* The values of KEEP are in pieces of a vector's size: the first pieces of all threads are next to
 * each other, so that neighbours use different banks. */
template <int N> constexpr int PIECE = N > 1 ? N * (int)sizeof(D) / (int)sizeof(T) : 1;

template <int N> INLINE auto &kept_piece(int held, int j, int piece)
{
    int threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
    return ((pack<T, PIECE<N>> *)dynamic_shared())[(piece * held + j) * threads + thread];
}

template <int N> INLINE void hold_kept(int held, int j, const values<N> &kept)
{
    UNROLL
    for (int piece = 0; piece < N / PIECE<N>; piece++)
        kept_piece<N>(held, j, piece).round(&kept.lane[piece * PIECE<N>]);
}

template <int N> INLINE void take_kept(int held, int j, values<N> &kept)
{
    UNROLL
    for (int piece = 0; piece < N / PIECE<N>; piece++) {
        const auto some = kept_piece<N>(held, j, piece);
        UNROLL
        for (int e = 0; e < PIECE<N>; e++)
            kept.lane[piece * PIECE<N> + e] = some.value_of(e);
    }
}

/* Shared memory after all that is held. */
template <class Op, int N> INLINE void *room_behind(int held)
{
    size_t size = held_size<Op, N, Op::nin>() * held * blockDim.x * blockDim.y;
    return dynamic_shared() + (size + 15) / 16 * 16;
}

/* Start to fetch vector j of input I; single elements are loaded as usual. */
template <class Op, int N, int I, class Index>
INLINE void hold(const vjpi_cuda_loop &loop, const place &run, int held, int j, Index p, Index n)
{
    auto &to = held_at<Op, N, I>(held, j);
    if constexpr (Op::optional(I))
        if (!is_given(loop.call, I))
            return;
    if constexpr (N == 1)
        fetch_input<Op, I, false>(to, loop.call, run, loop.x.step[I], p, n, true);
    else if constexpr (Op::how(I) == MIXED_DTYPE)
        with_dtype(loop.call.dtypes[I], [&](auto element) {
            start_copy<N * sizeof(element)>(&to, run.at[I] + p * (int64_t)sizeof(element));
        });
    else
        start_copy<sizeof(to)>(&to, run.at[I] + p * (int64_t)sizeof(D));
}

template <class Op, int N, class Index>
INLINE void hold_all(const vjpi_cuda_loop &loop, const place &run, int held, int j, Index p,
                     Index n)
{
    each<Op::nin>([&](auto i) {
        if constexpr (Op::is_held(i.value))
            hold<Op, N, i.value>(loop, run, held, j, p, n);
    });
}

/* What was held, into registers. */
template <class Op, int N>
INLINE void take_held(const vjpi_cuda_loop &loop, int held, int j, inputs<Op, N> &in)
{
    each<Op::nin>([&](auto i) {
        constexpr int I = i.value;
        if constexpr (Op::is_held(I)) {
            auto &from = held_at<Op, N, I>(held, j);
            auto &to = pack_of<I, Op, N>(in);
            if constexpr (Op::optional(I))
                if (!is_given(loop.call, I)) {
                    repeat(to, rounded<input_type<Op, I>>((T)loop.call.stand_ins[I]));
                    return;
                }
            if constexpr (N > 1 && Op::how(I) == MIXED_DTYPE)
                with_dtype(loop.call.dtypes[I], [&](auto element) {
                    convert(to, *(const pack<decltype(element), N> *)&from);
                });
            else
                to = from;
        }
    });
}

/* What pass PART reads of vector j, at element p of a run of n. From the pass of KEEP on its value
 * is held, not the input: the last pass needs no more than that, passes in between read the input
 * again. */
template <class Op, int PART, int N, class Index>
INLINE void take_vector(const vjpi_cuda_loop &loop, const place &run, int j, Index p, Index n,
                        inputs<Op, N> &in, values<N> &kept)
{
    static_assert(!Op::keeps || Op::count_held() == 1, "KEEP replaces one input");
    if constexpr (!Op::keeps || PART <= Op::kept_pass)
        take_held<Op, N>(loop, loop.held, j, in);
    else if constexpr (PART < Op::last)
        fetch_all<Op, HELD_INPUTS, false, N>(in, loop.call, run, loop.x, p, n, true);
    else
        take_kept<N>(loop.held, j, kept);
}
