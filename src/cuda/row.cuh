/* SPDX-License-Identifier: Apache-2.0 */
/* row.cuh - passes along an axis that leave values for each row, then one value per element that
 * needs them.
 *
 * What is read is held until the last pass, so that memory is read once: here in registers, where a
 * row is shared by lanes of a warp or by a block. longer.cuh has longer rows and columns. */

enum {
    ROW_WARPS = VJPI_CUDA_ROW_THREADS / 32
};

/* The terms of pass PART for the vector at p of a run of n, combined with some of the thread's
 * chains. */
template <class Op, int PART, int N, int LANES, int COUNT, class Index>
INLINE void add_terms(const vjpi_cuda_loop &loop, inputs<Op, N> &in, const place &run, Index p,
                      Index n, const row_numbers<Op, LANES> &rows, int64_t index,
                      int64_t index_step, int first, T (&sums)[Op::reduced(PART)][COUNT],
                      values<N> *kept = nullptr)
{
    values<N> terms[Op::nmade];
    fetch_all<Op, DIRECT_INPUTS, false, N>(in, loop.call, run, loop.x, p, n, true);
    evaluate<Op, PART, N>(loop.call, in, rows, index, index_step, terms, VJPI_HAS_LETS, kept);
    mask_dead<Op, PART, N>(rows, index, index_step, terms);
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        UNROLL
        for (int e = 0; e < N; e++)
            sums[i][(first + e) % COUNT] = combined<Op::is_max(PART)>(
                sums[i][(first + e) % COUNT], terms[i].lane[e]);
}

/* The FULL outputs of a vector. */
template <class Op, int N, int LANES, class Index>
INLINE void finish(const vjpi_cuda_loop &loop, inputs<Op, N> &in, const place &run, Index p,
                   Index n, const row_numbers<Op, LANES> &rows, int64_t index, int64_t index_step,
                   values<N> *kept = nullptr)
{
    values<N> out[Op::nmade];
    fetch_all<Op, DIRECT_INPUTS, false, N>(in, loop.call, run, loop.x, p, n, true);
    evaluate<Op, Op::last, N>(loop.call, in, rows, index, index_step, out, VJPI_HAS_LETS, kept);
    mask_dead<Op, Op::last, N>(rows, index, index_step, out);
    store_all<Op, N>(out, loop.call, run, loop.x, p, n, true);
}

template <class Op, int PART, int COUNT>
INLINE void start_chains(T (&sums)[Op::reduced(PART)][COUNT])
{
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        UNROLL
        for (int e = 0; e < COUNT; e++)
            sums[i][e] = identity<Op::is_max(PART)>();
}

/* What pass PART leaves for a row, from what its threads have of it. */
template <class Op, int PART, int BLOCKS, int WARPS>
INLINE void leave_values(const vjpi_cuda_loop &loop, T (&results)[Op::reduced(PART)],
                         row_numbers<Op, 1> &rows)
{
    constexpr int first = Op::value_of_pass(PART);
    reduce_row<Op::is_max(PART), Op::nvalues, BLOCKS, WARPS>(loop, first - Op::first_value,
                                                             results);
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        rows.at[first + i][0] = results[i];
}

/* +0 past the end of a row, which `sharers` threads share. */
template <class Op, int N>
INLINE void clear_behind(const vjpi_cuda_loop &loop, const place &run, int64_t end, int number,
                         int sharers)
{
    const T zeros[N] = { 0 };
    int64_t n = loop.x.n, begin, stop;
    vjpi_cut_behind(end, n, shift_of<Op, Op::last, N>(loop.call, run), N, &begin, &stop);
    each<Op::nout>([&](auto i) {
        constexpr int I = Op::nin + i.value;
        if constexpr (Op::role(I) == VJPI_FULL) {
#pragma unroll 1
            for (int64_t p = begin + (int64_t)number * N; p < stop; p += (int64_t)sharers * N)
                store_output<Op, I, N>(zeros, loop.call, run, loop.x, p, n, true);
#pragma unroll 1
            for (int64_t p = end + number; p < begin; p += sharers)
                store_output<Op, I, 1>(zeros, loop.call, run, loop.x, p, n, true);
#pragma unroll 1
            for (int64_t p = stop + number; p < n; p += sharers)
                store_output<Op, I, 1>(zeros, loop.call, run, loop.x, p, n, true);
        }
    });
}

/* How much of a row is read. */
template <class Op>
INLINE int row_length(const vjpi_cuda_loop &loop, const row_numbers<Op, 1> &rows)
{
    if constexpr (Op::end >= 0)
        return (int)rows.at[Op::array_of(Op::end)][0];
    return (int)loop.x.n;
}

/* ---- held in registers -------------------------------------------------------------------- */

/* Where a thread holds much, blocks are smaller: two and more of them share a multiprocessor, so
 * that one reads while the other writes. A long formula needs the registers of both. */
template <int N, int HELD> struct row_bounds {
    static constexpr bool many = HELD / (N > 1 ? 1 : VJPI_CUDA_HELD_ONES) >= 8;
    static constexpr int threads = many ? VJPI_CUDA_THREADS : VJPI_CUDA_ROW_THREADS;
};

/* What a thread has of a row. */
template <class Op, int N, int HELD> struct row_state {
    vjpi_row_share share;
    vjpi_row_cut cut;
    int n; /* elements of the row before its end */
    place run;
    row_numbers<Op, 1> rows;
    inputs<Op, N> in[HELD];
    inputs<Op, 1> one;
    values<N> kept[Op::keeps ? HELD : 1]; /* the values of KEEP */

    /* The element that vector j begins with; is there such a vector? */
    INLINE_MEMBER int at(int j) const { return cut.head + (share.first + j * share.stride) * N; }
    INLINE_MEMBER bool has(int j) const { return share.first + j * share.stride < cut.vectors; }
};

template <class Op, int PART, int N, int HELD>
INLINE void row_pass(const vjpi_cuda_loop &loop, row_state<Op, N, HELD> &s)
{
    constexpr int chains = N > VJPI_CUDA_HELD_ONES ? N : VJPI_CUDA_HELD_ONES;
    constexpr bool MAX = Op::is_max(PART);
    T sums[Op::reduced(PART)][chains];
    start_chains<Op, PART>(sums);
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (s.has(j))
            add_terms<Op, PART, N>(loop, s.in[j], s.run, s.at(j), s.n, s.rows, s.at(j), 1, j * N,
                                   sums, Op::keeps ? &s.kept[j] : nullptr);
    if (s.cut.single >= 0)
        add_terms<Op, PART, 1>(loop, s.one, s.run, s.cut.single, s.n, s.rows, s.cut.single, 1, 0,
                               sums);
    T results[Op::reduced(PART)];
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        results[i] = reduce_tree<MAX>(sums[i]);
    leave_values<Op, PART, 1, ROW_WARPS>(loop, results, s.rows);
}

/* What the passes of a row leave, and its PER_ROW outputs. */
template <class Op, int N, int HELD>
INLINE void row_passes(const vjpi_cuda_loop &loop, row_state<Op, N, HELD> &s, bool there)
{
    each<Op::last>([&](auto part) {
        make_lets<Op, part.value>(loop.call, s.rows);
        if (Op::always(part.value) || loop.call.passes >> part.value & 1)
            row_pass<Op, part.value, N, HELD>(loop, s);
    });
    make_lets<Op, Op::last>(loop.call, s.rows);
    if constexpr (Op::nper_row > 0)
        if (there && s.share.number == 0)
            store_per_row<Op>(loop.call, s.run, s.rows, 0);
}

template <class Op, int N, int HELD>
__global__ void __launch_bounds__(row_bounds<N, HELD>::threads, Op::heavy ? 1 : 2)
    row_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    row_state<Op, N, HELD> s;
    s.share = vjpi_share_row(&loop, blockIdx.x, threadIdx.x, blockDim.x, 1, HELD);
    bool there = s.share.row < loop.rows; /* lanes without a row take part in the sums of others */
    s.run = place_start<Op>(loop);
    if (there)
        move_outer<Op>(s.run, loop, 0, loop.nouter, s.share.row);
    read_row<Op>(loop, s.run, 0, s.rows); /* of any row, if there is none */
    s.n = there ? row_length<Op>(loop, s.rows) : 0;
    s.cut = vjpi_cut_row(s.n, shift_of<Op, Op::last, N>(loop.call, s.run), N, N, s.share.number);
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (s.has(j))
            fetch_all<Op, HELD_INPUTS, false, N>(s.in[j], loop.call, s.run, loop.x, s.at(j), s.n,
                                                 true);
    if (s.cut.single >= 0)
        fetch_all<Op, HELD_INPUTS, false, 1>(s.one, loop.call, s.run, loop.x, s.cut.single, s.n,
                                             true);
    row_passes<Op, N, HELD>(loop, s, there);
    if constexpr (Op::nfull > 0) {
        UNROLL
        for (int j = 0; j < HELD; j++)
            if (s.has(j))
                finish<Op, N>(loop, s.in[j], s.run, s.at(j), s.n, s.rows, s.at(j), 1,
                              Op::keeps ? &s.kept[j] : nullptr);
        if (s.cut.single >= 0)
            finish<Op, 1>(loop, s.one, s.run, s.cut.single, s.n, s.rows, s.cut.single, 1);
        if constexpr (Op::end >= 0)
            if (there)
                clear_behind<Op, N>(loop, s.run, s.n, s.share.number,
                                    loop.lanes > 0 ? loop.lanes : blockDim.x);
    }
}
