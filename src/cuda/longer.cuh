/* SPDX-License-Identifier: Apache-2.0 */
/* longer.cuh - rows (row.cuh) that are held in shared memory: where a row takes a cluster of blocks,
 * or where rows are side by side. */

/* Vectors whose terms are added up before they go to a thread's total. Loops over what is held are
 * unrolled unless the formula is long. */
enum {
    GROUP = 4
};

/* What a thread has of a row that is shared by a cluster of blocks. */
template <class Op, int N> struct long_state {
    vjpi_row_share share;
    vjpi_row_cut cut;
    int n, count; /* elements before the end; vectors of this thread */
    place run;
    row_numbers<Op, 1> rows;
    inputs<Op, 1> one;

    INLINE_MEMBER int at(int j) const { return cut.head + (share.first + j * share.stride) * N; }
};

template <class Op, int PART, int N>
INLINE void long_pass(const vjpi_cuda_loop &loop, long_state<Op, N> &s)
{
    constexpr bool MAX = Op::is_max(PART);
    total<MAX> totals[Op::reduced(PART)];
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        totals[i].start();
#pragma unroll 1
    for (int j = 0; j < s.count; j += GROUP) {
        T sums[Op::reduced(PART)][N > 1 ? N : 2];
        start_chains<Op, PART>(sums);
#pragma unroll(Op::heavy ? 1 : GROUP)
        for (int g = 0; g < GROUP; g++)
            if (j + g < s.count) {
                inputs<Op, N> in;
                values<N> kept;
                int p = s.at(j + g);
                take_vector<Op, PART, N>(loop, s.run, j + g, p, s.n, in, kept);
                add_terms<Op, PART, N>(loop, in, s.run, p, s.n, s.rows, p, 1, 0, sums,
                                       Op::keeps ? &kept : nullptr);
                if constexpr (Op::keeps && PART == Op::kept_pass)
                    hold_kept<N>(loop.held, j + g, kept);
            }
        UNROLL
        for (int i = 0; i < Op::reduced(PART); i++)
            totals[i].add(reduce_tree<MAX>(sums[i]));
    }
    if (s.cut.single >= 0) {
        T term[Op::reduced(PART)][1];
        start_chains<Op, PART>(term);
        add_terms<Op, PART, 1>(loop, s.one, s.run, s.cut.single, s.n, s.rows, s.cut.single, 1, 0,
                               term);
        UNROLL
        for (int i = 0; i < Op::reduced(PART); i++)
            totals[i].add(term[i][0]);
    }
    T results[Op::reduced(PART)];
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        results[i] = totals[i].result();
    leave_values<Op, PART, VJPI_CUDA_CLUSTER, VJPI_CUDA_WARPS>(loop, results, s.rows);
}

/* A row that does not fit in registers. Vectors begin where a cache line of the output does, so
 * that no two warps share one. */
template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    long_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    constexpr int LINE = N > 1 ? VJPI_CUDA_LINE / (int)sizeof(D) : 1;
    if (loop.cluster > 1)
        cluster_arrive();
    long_state<Op, N> s;
    s.share = vjpi_share_row(&loop, blockIdx.x, threadIdx.x, blockDim.x, loop.cluster, loop.held);
    s.run = place_start<Op>(loop);
    move_outer<Op>(s.run, loop, 0, loop.nouter, s.share.row);
    read_row<Op>(loop, s.run, 0, s.rows);
    s.n = row_length<Op>(loop, s.rows);
    s.cut = vjpi_cut_row(s.n, shift_of<Op, Op::last, LINE>(loop.call, s.run), LINE, N,
                         s.share.number);
    s.count = min(loop.held, (s.cut.vectors - s.share.first + s.share.stride - 1) /
                                 s.share.stride);
#pragma unroll 4
    for (int j = 0; j < s.count; j++)
        hold_all<Op, N>(loop, s.run, loop.held, j, s.at(j), s.n);
    if (s.cut.single >= 0)
        fetch_all<Op, HELD_INPUTS, false, 1>(s.one, loop.call, s.run, loop.x, s.cut.single, s.n,
                                             true);
    commit_copies();
    wait_copies<0>();
    if (loop.cluster > 1)
        cluster_wait();
    each<Op::last>([&](auto part) {
        make_lets<Op, part.value>(loop.call, s.rows);
        if (Op::always(part.value) || loop.call.passes >> part.value & 1)
            long_pass<Op, part.value, N>(loop, s);
    });
    make_lets<Op, Op::last>(loop.call, s.rows);
    if constexpr (Op::nper_row > 0)
        if (s.share.number == 0)
            store_per_row<Op>(loop.call, s.run, s.rows, 0);
    if constexpr (Op::nfull > 0) {
#pragma unroll(Op::heavy ? 1 : 4)
        for (int j = 0; j < s.count; j++) {
            inputs<Op, N> in;
            values<N> kept;
            take_vector<Op, Op::last, N>(loop, s.run, j, s.at(j), s.n, in, kept);
            finish<Op, N>(loop, in, s.run, s.at(j), s.n, s.rows, s.at(j), 1,
                          Op::keeps ? &kept : nullptr);
        }
        if (s.cut.single >= 0)
            finish<Op, 1>(loop, s.one, s.run, s.cut.single, s.n, s.rows, s.cut.single, 1);
        if constexpr (Op::end >= 0)
            clear_behind<Op, N>(loop, s.run, s.n, s.share.number, blockDim.x * loop.cluster);
    }
}

/* ---- columns ------------------------------------------------------------------------------ */

/* What a thread has of N rows that are side by side. */
template <class Op, int N> struct column_state {
    vjpi_column_share share;
    place corner;
    row_numbers<Op, N> rows;
    int nresults; /* that were reduced so far */
};

/* The inputs of the rows, or their PER_ROW outputs. */
template <class Op, int N> INLINE void read_columns(const vjpi_cuda_loop &loop,
                                                    column_state<Op, N> &s)
{
    UNROLL
    for (int e = 0; e < N; e++) {
        place column = s.corner;
        if (s.share.p + e < loop.x.n) /* else those of any row */
            move<Op>(column, loop.x, s.share.p + e);
        read_row<Op>(loop, column, e, s.rows);
    }
}

template <class Op, int N> INLINE void store_columns(const vjpi_cuda_loop &loop,
                                                     const column_state<Op, N> &s)
{
    UNROLL
    for (int e = 0; e < N; e++) {
        place column = s.corner;
        move<Op>(column, loop.x, s.share.p + e);
        store_per_row<Op>(loop.call, column, s.rows, e);
    }
}

template <class Op, int PART, int N>
INLINE void column_pass(const vjpi_cuda_loop &loop, column_state<Op, N> &s, void *room)
{
    constexpr bool MAX = Op::is_max(PART);
    total<MAX> totals[Op::reduced(PART)][N];
    place run = s.corner;
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        UNROLL
        for (int e = 0; e < N; e++)
            totals[i][e].start();
#pragma unroll 1
    for (int j = 0; j < s.share.count; j += GROUP) {
        T group[Op::reduced(PART)][N];
        start_chains<Op, PART>(group);
#pragma unroll(Op::heavy ? 1 : GROUP)
        for (int g = 0; g < GROUP; g++)
            if (j + g < s.share.count) {
                inputs<Op, N> in;
                values<N> kept;
                take_vector<Op, PART, N>(loop, run, j + g, s.share.p, loop.x.n, in, kept);
                add_terms<Op, PART, N>(loop, in, run, s.share.p, loop.x.n, s.rows, run.index, 0, 0,
                                       group, Op::keeps ? &kept : nullptr);
                if constexpr (Op::keeps && PART == Op::kept_pass)
                    hold_kept<N>(loop.held, j + g, kept);
                move<Op>(run, loop.y, blockDim.y);
            }
        UNROLL
        for (int i = 0; i < Op::reduced(PART); i++)
            UNROLL
            for (int e = 0; e < N; e++)
                totals[i][e].add(group[i][e]);
    }
    constexpr int first = Op::value_of_pass(PART);
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++) {
        T results[N];
        UNROLL
        for (int e = 0; e < N; e++)
            results[e] = totals[i][e].result();
        reduce_columns<MAX, N>(loop, s.nresults++, results, room);
        UNROLL
        for (int e = 0; e < N; e++)
            s.rows.at[first + i][e] = results[e];
    }
}

/* Rows side by side: N of them per thread, some of their elements below each other. */
template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    column_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    if (loop.cluster > 1)
        cluster_arrive();
    column_state<Op, N> s;
    s.share = vjpi_share_column(&loop, blockIdx.x, threadIdx.x, threadIdx.y, blockDim.x,
                                blockDim.y, N);
    s.corner = place_start<Op>(loop);
    move_outer<Op>(s.corner, loop, 0, loop.nouter, s.share.outer);
    read_columns<Op, N>(loop, s);
    s.nresults = 0;
    move<Op>(s.corner, loop.y, s.share.first);
    place run = s.corner;
#pragma unroll 4
    for (int j = 0; j < s.share.count; j++) {
        if (any_live<Op, N>(s.rows, run.index))
            hold_all<Op, N>(loop, run, loop.held, j, s.share.p, loop.x.n);
        move<Op>(run, loop.y, blockDim.y);
    }
    commit_copies();
    wait_copies<0>();
    if (loop.cluster > 1)
        cluster_wait();
    each<Op::last>([&](auto part) {
        make_lets<Op, part.value>(loop.call, s.rows);
        if (Op::always(part.value) || loop.call.passes >> part.value & 1)
            column_pass<Op, part.value, N>(loop, s, room_behind<Op, N>(loop.held));
    });
    make_lets<Op, Op::last>(loop.call, s.rows);
    if constexpr (Op::nper_row > 0)
        if (s.share.first == 0 && s.share.p < loop.x.n)
            store_columns<Op, N>(loop, s);
    run = s.corner;
    if constexpr (Op::nfull > 0)
#pragma unroll(Op::heavy ? 1 : 4)
        for (int j = 0; j < s.share.count; j++) {
            inputs<Op, N> in;
            values<N> kept;
            take_vector<Op, Op::last, N>(loop, run, j, s.share.p, loop.x.n, in, kept);
            finish<Op, N>(loop, in, run, s.share.p, loop.x.n, s.rows, run.index, 0,
                          Op::keeps ? &kept : nullptr);
            move<Op>(run, loop.y, blockDim.y);
        }
}
