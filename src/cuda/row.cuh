/* SPDX-License-Identifier: Apache-2.0 */
/* row.cuh - passes along an axis that leave values for each row, then one value per element that
 * needs them.
 *
 * What is read is held until the last pass, so that memory is read once: in registers where a row
 * is shared by lanes of a warp or by a block, in shared memory where it takes a cluster of blocks,
 * or where rows are side by side. */

enum {
    ROW_WARPS = VJPI_CUDA_ROW_THREADS / 32,
    FEW_ROWS = 8 /* whose terms are added up without their rounding errors */
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

/* ---- rows, and sums across them ----------------------------------------------------------- */

/* A thread's total for SUM output i of element e of vector j: in shared memory, as registers are
 * full. */
template <class Op, int N, int HELD> INLINE total<false> &column_total(int i, int j, int e)
{
    total<false> *totals = (total<false> *)room_behind<Op, N>(HELD);
    return totals[((i * HELD + j) * N + e) * blockDim.x + threadIdx.x];
}

/* Start to fetch a row into shared memory, and return where it is. */
template <class Op, int N, int HELD>
INLINE place hold_row(const vjpi_cuda_loop &loop, const row_state<Op, N, HELD> &s, int64_t row)
{
    place run = place_start<Op>(loop);
    move_outer<Op>(run, loop, 0, loop.nouter, row);
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (s.has(j))
            hold_all<Op, N>(loop, run, HELD, j, s.at(j), s.n);
    commit_copies();
    return run;
}

/* f(i, j, e) for every element of a thread, in each SUM output. */
template <class Op, int N, int HELD, class F> INLINE void each_sum(F f)
{
    each<Op::nsums>([&](auto i) {
        UNROLL
        for (int j = 0; j < HELD; j++)
            UNROLL
            for (int e = 0; e < N; e++)
                f(i, j, e);
    });
}

/* The FULL outputs of a row, and its terms of the sums. */
template <class Op, int N, int HELD>
INLINE void finish_summed(const vjpi_cuda_loop &loop, row_state<Op, N, HELD> &s,
                          T (&terms)[Op::nsums][HELD][N])
{
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (s.has(j)) {
            values<N> out[Op::nmade];
            fetch_all<Op, DIRECT_INPUTS, false, N>(s.in[j], loop.call, s.run, loop.x, s.at(j), s.n,
                                                   true);
            evaluate<Op, Op::last, N>(loop.call, s.in[j], s.rows, s.at(j), 1, out, VJPI_HAS_LETS);
            store_all<Op, N>(out, loop.call, s.run, loop.x, s.at(j), s.n, true);
            each<Op::nsums>([&](auto i) {
                constexpr int TERM = Op::term(Op::last, i.value);
                UNROLL
                for (int e = 0; e < N; e++)
                    terms[i.value][j][e] += out[TERM].lane[e];
            });
        }
}

/* Rows, and sums over all of them for each of their elements: a block does the rows of a segment,
 * one after the other, and each of its threads has the same elements of all. While it computes one,
 * the next is on its way. A few rows' terms are added up before they go to the totals. */
template <class Op, int N, int HELD>
__global__ void __launch_bounds__(VJPI_CUDA_ROW_THREADS)
    summed_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    row_state<Op, N, HELD> s;
    T terms[Op::nsums][HELD][N];
    int64_t first = blockIdx.x * loop.per_segment;
    int64_t stop = vjpi_least(first + loop.per_segment, loop.rows);
    s.share = vjpi_share_row(&loop, 0, threadIdx.x, blockDim.x, 1, HELD);
    s.n = (int)loop.x.n;
    s.cut = { 0, s.n / N, -1 };
    each_sum<Op, N, HELD>([&](auto i, int j, int e) {
        column_total<Op, N, HELD>(i.value, j, e).start();
        terms[i.value][j][e] = 0;
    });
    place next = hold_row<Op, N, HELD>(loop, s, first);
#pragma unroll 1
    for (int64_t row = first; row < stop; row++) {
        s.run = next;
        wait_copies<0>();
        UNROLL
        for (int j = 0; j < HELD; j++)
            if (s.has(j))
                take_held<Op, N>(loop, HELD, j, s.in[j]);
        if (row + 1 < stop)
            next = hold_row<Op, N, HELD>(loop, s, row + 1);
        read_row<Op>(loop, s.run, 0, s.rows);
        row_passes<Op, N, HELD>(loop, s, true);
        finish_summed<Op, N, HELD>(loop, s, terms);
        if ((row - first) % FEW_ROWS == FEW_ROWS - 1 || row == stop - 1)
            each_sum<Op, N, HELD>([&](auto i, int j, int e) {
                column_total<Op, N, HELD>(i.value, j, e).add(terms[i.value][j][e]);
                terms[i.value][j][e] = 0;
            });
        __syncthreads(); /* what the passes reduced may still be read */
    }
    const place start = place_start<Op>(loop);
    each_sum<Op, N, HELD>([&](auto i, int j, int e) {
        int64_t p = s.at(j) + e;
        if (s.has(j))
            leave_result<Op, Op::last, i.value>(loop, blockIdx.x, p, start, p,
                                                column_total<Op, N, HELD>(i.value, j, e).result());
    });
}

/* ---- held in shared memory ---------------------------------------------------------------- */

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
