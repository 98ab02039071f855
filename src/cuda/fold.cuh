/* SPDX-License-Identifier: Apache-2.0 */
/* fold.cuh - sums over every axis along which a tensor was broadcast, in the pass that computes
 * the values per element; and what the other passes leave for rows that are not held.
 *
 * What is summed for one result is cut into segments, one block each; `join` adds up those. */

/* Leave result I of pass PART: in its place, or beside those of the other segments. x is its index
 * along x, and it belongs to the row or the kept axes at `start`. */
template <class Op, int PART, int I>
INLINE void leave_result(const vjpi_cuda_loop &loop, int64_t segment, int64_t out,
                         const place &start, int64_t x, T result)
{
    if (loop.partials) {
        ((T *)loop.partials)[(segment * Op::reduced(PART) + I) * loop.nouts + out] = result;
    } else if constexpr (PART < Op::last) {
        constexpr int array = Op::value_of_pass(PART) + I;
        ((T *)loop.arrays)[array * loop.all_rows + start.row + x * loop.x.row] = result;
    } else {
        constexpr int tensor = Op::sum_tensor(I);
        if (!Op::optional(tensor) || is_given(loop.call, tensor))
            store_number(loop.call.dtypes[tensor], start.at[tensor] + x * loop.x.step[tensor],
                         result);
    }
}

/* Ignore elements past the end of a row: they add nothing, and outputs are +0. */
template <class Op, int PART, int N, int LANES>
INLINE void mask_dead(const row_numbers<Op, LANES> &rows, int64_t index, int64_t index_step,
                      values<N> *out)
{
    if constexpr (Op::end >= 0)
        UNROLL
        for (int i = 0; i < Op::results(PART); i++)
            UNROLL
            for (int e = 0; e < N; e++)
                if (!is_live<Op>(rows, e, index + e * index_step))
                    out[i].lane[e] = identity<Op::is_max(PART)>();
}

/* ---- sums along x ------------------------------------------------------------------------- */

enum {
    STEPS = VJPI_CUDA_PIECE_STEPS,
    AHEAD = VJPI_CUDA_AHEAD
};

/* Which elements of some vectors are there: all, whole vectors or none of a vector, or any. */
enum extent { ALL, VECTORS, ANY };

/* Outputs and terms of one vector. `shared`: the numbers of the row, if it runs along x. */
template <class Op, int PART, int N>
INLINE void fold_vector(const vjpi_cuda_loop &loop, const place &run, const inputs<Op, N> &in,
                        const row_numbers<Op, 1> &shared, int64_t p, values<N> *out)
{
    int64_t index = run.index + p * loop.x.index;
    if constexpr (PART < Op::last) {
        evaluate<Op, PART, N>(loop.call, in, shared, index, loop.x.index, out);
    } else {
        row_numbers<Op, N> rows;
        read_arrays<Op, N>(loop, run, p, rows);
        evaluate<Op, PART, N>(loop.call, in, rows, index, loop.x.index, out);
        mask_dead<Op, PART, N>(rows, index, loop.x.index, out);
    }
}

/* COUNT vectors of a lane, a warp's width apart, in a run of n. Adds the lane's terms to its
 * totals. */
template <class Op, int PART, int N, int COUNT, extent EXTENT>
INLINE void along_vectors(const vjpi_cuda_loop &loop, const place &run,
                          const row_numbers<Op, 1> &shared, int64_t p, int64_t n,
                          total<Op::is_max(PART)> (&totals)[Op::reduced(PART)])
{
    constexpr bool MAX = Op::is_max(PART);
    inputs<Op, N> in[COUNT];
    T terms[Op::reduced(PART)][COUNT];
    UNROLL
    for (int s = 0; s < COUNT; s++)
        if (EXTENT != VECTORS || p + s * 32 * N < n)
            fetch_all<Op, ALL_INPUTS, false, N>(in[s], loop.call, run, loop.x, p + s * 32 * N, n,
                                                EXTENT != ANY);
    UNROLL
    for (int s = 0; s < COUNT; s++) {
        int64_t at = p + s * 32 * N;
        values<N> out[Op::nmade];
        fold_vector<Op, PART, N>(loop, run, in[s], shared, at, out);
        if (PART == Op::last && (EXTENT != VECTORS || at < n))
            store_all<Op, N>(out, loop.call, run, loop.x, at, n, EXTENT != ANY);
        each<Op::reduced(PART)>([&](auto i) {
            constexpr int TERM = Op::term(PART, i.value);
            T(&term)[N] = out[TERM].lane;
            UNROLL
            for (int e = 0; e < N; e++)
                if (EXTENT == ANY ? at + e < 0 || at + e >= n : EXTENT == VECTORS && at >= n)
                    term[e] = identity<MAX>();
            terms[i.value][s] = reduce_tree<MAX>(term);
        });
    }
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        totals[i].add(reduce_tree<MAX>(terms[i]));
}

/* Over the warps that share a result; lane 0 of the first has it. */
template <bool MAX> INLINE T reduce_warps(const vjpi_cuda_loop &loop, T mine)
{
    __shared__ T sums[VJPI_CUDA_WARPS];
    mine = reduce_lanes<MAX>(mine, 32);
    if (loop.warps == 1)
        return mine;
    __syncthreads(); /* the result before this one may still be read */
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = mine;
    __syncthreads();
    return reduce_lanes<MAX>(sums[threadIdx.x % VJPI_CUDA_WARPS], VJPI_CUDA_WARPS);
}

/* All pieces of a warp. */
template <class Op, int PART, int N>
INLINE void along_pieces(const vjpi_cuda_loop &loop, const place &start,
                         const vjpi_fold_share &share,
                         total<Op::is_max(PART)> (&totals)[Op::reduced(PART)])
{
    constexpr int AT_ONCE = Op::heavy ? STEPS / 2 : STEPS;
    int lane = threadIdx.x % 32;
    row_numbers<Op, 1> shared;
    if constexpr (PART < Op::last)
        read_arrays<Op, 1>(loop, start, 0, shared);
    for (int64_t piece = share.first; piece < share.end; piece += share.stride) {
        place run = start;
        int64_t part, row = vjpi_find_piece(&loop, piece, &part), n = loop.x.n;
        move_outer<Op>(run, loop, loop.nkept, loop.nouter, row);
        if constexpr (PART < Op::last && Op::end >= 0)
            n = max((int64_t)0, vjpi_least(n, (int64_t)shared.at[Op::array_of(Op::end)][0] -
                                                  run.index));
        int64_t begin = vjpi_piece_begin(part, N, shift_of<Op, PART, N>(loop.call, run));
        int64_t p = begin + lane * N, stop = begin + 32 * N * STEPS;
        if (begin >= 0 && stop <= n)
#pragma unroll 1
            for (; p < stop; p += 32 * N * AT_ONCE)
                along_vectors<Op, PART, N, AT_ONCE, ALL>(loop, run, shared, p, n, totals);
        else if (N > 1 && !Op::heavy && loop.exact && n == loop.x.n)
            along_vectors<Op, PART, N, STEPS, VECTORS>(loop, run, shared, p, n, totals);
        else
#pragma unroll 1
            for (; p < stop && p < n; p += 32 * N)
                along_vectors<Op, PART, N, 1, ANY>(loop, run, shared, p, n, totals);
    }
}

template <class Op, int PART, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS, 2)
    along_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    constexpr bool MAX = Op::is_max(PART);
    int warp = threadIdx.x / 32;
    vjpi_fold_share share = vjpi_share_along(&loop, blockIdx.x, warp);
    if (share.out >= loop.nouts)
        return; /* the whole block does, or warps that share no result with others */
    place start = place_start<Op>(loop);
    move_outer<Op>(start, loop, 0, loop.nkept, share.out);
    total<MAX> totals[Op::reduced(PART)];
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        totals[i].start();
    along_pieces<Op, PART, N>(loop, start, share, totals);
    each<Op::reduced(PART)>([&](auto i) {
        T result = reduce_warps<MAX>(loop, totals[i.value].result());
        if (threadIdx.x % 32 == 0 && (loop.warps == 1 || warp == 0))
            leave_result<Op, PART, i.value>(loop, share.segment, share.out, start, 0, result);
    });
}

/* ---- sums across x ------------------------------------------------------------------------ */

/* What a thread of `across` has for all its rows. */
template <class Op, int N> struct across_state {
    place start;
    row_numbers<Op, N> rows; /* of the columns, in a pass whose rows they are */
    inputs<Op, N> fixed;     /* the inputs of loop.fixed */
};

/* Begin to read a row of N columns into slot j, unless all of it is past the ends. */
template <class Op, int PART, int N>
INLINE void start_row(const vjpi_cuda_loop &loop, const across_state<Op, N> &state, int64_t row,
                      int64_t p, int j)
{
    place run = state.start;
    move_outer<Op>(run, loop, loop.nkept, loop.nouter, row);
    if (PART == Op::last || any_live<Op, N>(state.rows, run.index))
        hold_all<Op, N>(loop, run, AHEAD, j, p, loop.x.n);
}

/* Compute and store a row that has arrived in slot j, and add its terms. */
template <class Op, int PART, int N>
INLINE void finish_row(const vjpi_cuda_loop &loop, const across_state<Op, N> &state, int64_t row,
                       int64_t p, int j, T (&terms)[Op::reduced(PART)][N])
{
    inputs<Op, N> in;
    values<N> out[Op::nmade];
    place run = state.start;
    take_held<Op, N>(loop, AHEAD, j, in);
    move_outer<Op>(run, loop, loop.nkept, loop.nouter, row);
    each<Op::nin>([&](auto i) {
        constexpr int I = i.value;
        if constexpr (Op::role(I) == VJPI_ELEMENTS && Op::direct(I)) {
            if (loop.fixed >> I & 1)
                pack_of<I, Op, N>(in) = pack_of<I, Op, N>(state.fixed);
            else
                fetch_input<Op, I, true>(pack_of<I, Op, N>(in), loop.call, run, loop.x.step[I], p,
                                         loop.x.n, true);
        }
    });
    int64_t index = run.index + p * loop.x.index;
    row_numbers<Op, N> rows = state.rows;
    if constexpr (PART == Op::last)
        read_arrays<Op, N>(loop, run, p, rows);
    evaluate<Op, PART, N>(loop.call, in, rows, index, loop.x.index, out);
    mask_dead<Op, PART, N>(rows, index, loop.x.index, out);
    if (PART == Op::last)
        store_all<Op, N>(out, loop.call, run, loop.x, p, loop.x.n, true);
    each<Op::reduced(PART)>([&](auto i) {
        constexpr int TERM = Op::term(PART, i.value);
        UNROLL
        for (int e = 0; e < N; e++)
            terms[i.value][e] = combined<Op::is_max(PART)>(terms[i.value][e], out[TERM].lane[e]);
    });
}

/* All of a thread's rows: AHEAD - 1 of them are on their way while one is computed. */
template <class Op, int PART, int N>
INLINE void across_rows(const vjpi_cuda_loop &loop, const across_state<Op, N> &state,
                        const vjpi_fold_share &share,
                        total<Op::is_max(PART)> (&totals)[Op::reduced(PART)][N])
{
    constexpr bool MAX = Op::is_max(PART);
    int64_t row = share.first;
#pragma unroll 1
    for (int j = 0; j < AHEAD - 1; j++) {
        if (row + j * share.stride < share.end)
            start_row<Op, PART, N>(loop, state, row + j * share.stride, share.p, j);
        commit_copies();
    }
    while (row < share.end) {
        T terms[Op::reduced(PART)][N];
        UNROLL
        for (int i = 0; i < Op::reduced(PART); i++)
            UNROLL
            for (int e = 0; e < N; e++)
                terms[i][e] = identity<MAX>();
#pragma unroll 1
        for (int j = 0; j < AHEAD; j++, row += share.stride) {
            int64_t next = row + (AHEAD - 1) * share.stride;
            if (next < share.end)
                start_row<Op, PART, N>(loop, state, next, share.p, (j + AHEAD - 1) % AHEAD);
            commit_copies();
            wait_copies<AHEAD - 1>();
            if (row < share.end)
                finish_row<Op, PART, N>(loop, state, row, share.p, j, terms);
        }
        UNROLL
        for (int i = 0; i < Op::reduced(PART); i++)
            UNROLL
            for (int e = 0; e < N; e++)
                totals[i][e].add(terms[i][e]);
    }
}

template <class Op, int PART, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    across_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    constexpr bool MAX = Op::is_max(PART);
    vjpi_fold_share share = vjpi_share_across(&loop, blockIdx.x, threadIdx.x, threadIdx.y,
                                              blockDim.x, blockDim.y, N);
    across_state<Op, N> state;
    int64_t n = loop.x.n, p = share.p;
    total<MAX> totals[Op::reduced(PART)][N];
    state.start = place_start<Op>(loop);
    move_outer<Op>(state.start, loop, 0, loop.nkept, share.out);
    UNROLL
    for (int i = 0; i < Op::reduced(PART); i++)
        UNROLL
        for (int e = 0; e < N; e++)
            totals[i][e].start();
    if (p < n) {
        fetch_all<Op, DIRECT_INPUTS, true, N>(state.fixed, loop.call, state.start, loop.x, p, n,
                                              true);
        if constexpr (PART < Op::last)
            read_arrays<Op, N>(loop, state.start, p, state.rows);
        across_rows<Op, PART, N>(loop, state, share, totals);
    }
    each<Op::reduced(PART)>([&](auto i) {
        T results[N];
        UNROLL
        for (int e = 0; e < N; e++)
            results[e] = totals[i.value][e].result();
        reduce_columns<MAX, N>(loop, i.value, results, room_behind<Op, N>(AHEAD));
        UNROLL
        for (int e = 0; e < N; e++)
            if (threadIdx.y == 0 && p < n)
                leave_result<Op, PART, i.value>(loop, share.segment, share.out * n + p + e,
                                                state.start, p + e, results[e]);
    });
}

/* ---- segments together -------------------------------------------------------------------- */

template <bool MAX> INLINE T join_segments(const vjpi_cuda_loop &loop, int64_t out, int number)
{
    total<MAX> all;
    all.start();
    for (int64_t s = threadIdx.x % 32; s < loop.nsegments; s += 32)
        all.add(((const T *)loop.partials)[(s * loop.nsums + number) * loop.nouts + out]);
    return reduce_lanes<MAX>(all.result(), 32);
}

/* A warp for each result, of any operator. Without segments the sums are +0. */
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    join_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    int64_t out = (int64_t)blockIdx.x * VJPI_CUDA_WARPS + threadIdx.x / 32;
    if (out >= loop.nouts)
        return;
#pragma unroll 1
    for (int i = 0; i < loop.nsums; i++) {
        int target = loop.target[i];
        if (target == VJPI_CUDA_NO_TARGET)
            continue;
        bool is_tensor = target < VJPI_MAX_TENSORS;
        int tensor = is_tensor ? target : 0;
        int64_t x, kept = vjpi_find_result(&loop, out, &x);
        int64_t offset = x * loop.x.step[tensor], row = x * loop.x.row;
        for (int d = loop.nkept - 1; d >= 0; d--) {
            int64_t index;
            kept = vjpi_divide(kept, loop.outer[d].n, &index);
            offset += index * loop.outer[d].step[tensor];
            row += index * loop.outer[d].row;
        }
        T result = loop.is_max ? join_segments<true>(loop, out, i)
                               : join_segments<false>(loop, out, i);
        if (threadIdx.x % 32 > 0)
            continue;
        if (is_tensor)
            store_number(loop.call.dtypes[tensor], loop.data[tensor] + offset, result);
        else
            ((T *)loop.arrays)[(target - VJPI_MAX_TENSORS) * loop.all_rows + row] = result;
    }
}
