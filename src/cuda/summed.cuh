/* SPDX-License-Identifier: Apache-2.0 */
/* summed.cuh - rows (row.cuh), and sums over all of them for each of their elements. */

enum {
    FEW_ROWS = 8 /* whose terms are added up without their rounding errors */
};

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
