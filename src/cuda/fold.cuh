/* SPDX-License-Identifier: Apache-2.0 */
/* fold.cuh - sums over every axis along which a tensor was broadcast, in the pass that computes
 * the values per element. With PART TERMS: the sums of rows alone, where rows are too long to hold.
 *
 * What is summed for one result is cut into segments, one block each; `join` adds up those. */

/* How many sums there are, where their terms are among a formula's values, and which operand the
 * first of them is. */
template <class Op, int PART> struct sums_of {
    static constexpr int count = PART == TERMS ? Op::nrowsums : Op::nsums;
    static constexpr int term = PART == TERMS ? 0 : Op::nfull;
    static constexpr int operand = Op::nin + Op::nfull;
};

/* Leave sum i of result `out`: in its place, or beside those of the other segments. */
template <class Op, int PART, int I>
INLINE void leave_sum(const vjpi_cuda_loop &loop, int64_t segment, int64_t out, char *at, T sum)
{
    typedef typename stored<Op::wide(sums_of<Op, PART>::operand + I)>::type E;
    if (loop.partials)
        ((T *)loop.partials)[(segment * sums_of<Op, PART>::count + I) * loop.nouts + out] = sum;
    else
        *(E *)at = rounded<E>(sum);
}

/* ---- sums along x ------------------------------------------------------------------------- */

enum {
    STEPS = VJPI_CUDA_PIECE_STEPS,
    AHEAD = VJPI_CUDA_AHEAD
};

/* Which elements of some vectors are there: all, whole vectors or none of a vector, or any. */
enum extent { ALL, VECTORS, ANY };

/* COUNT vectors of a lane, a warp's width apart. Adds the lane's terms to its totals. */
template <class Op, int PART, int N, int COUNT, extent EXTENT>
INLINE void along_vectors(const vjpi_cuda_loop &loop, const place &run, int64_t p,
                          total (&totals)[sums_of<Op, PART>::count])
{
    typedef sums_of<Op, PART> sums;
    packs<Op, N, Op::nin> in[COUNT];
    T terms[sums::count][COUNT];
    int64_t n = loop.x.n;
    UNROLL
    for (int s = 0; s < COUNT; s++)
        each<Op::nin>([&](auto i) {
            if constexpr (Op::template fixed<PART>(i.value))
                repeat(pack_of<i.value, Op, N>(in[s]), run.at[i.value]);
            else if (EXTENT != VECTORS || p + s * 32 * N < n)
                fetch(pack_of<i.value, Op, N>(in[s]), run.at[i.value], loop.x.step[i.value],
                      p + s * 32 * N, n, EXTENT != ANY);
        });
    UNROLL
    for (int s = 0; s < COUNT; s++) {
        int64_t at = p + s * 32 * N;
        values<N> out[Op::nouts];
        evaluate<Op, PART, N>(in[s], {}, loop.constants, out);
        if (PART == OUTS && (EXTENT != VECTORS || at < n))
            keep_all<Op, N>(out, run, loop.x, at, n, EXTENT != ANY);
        UNROLL
        for (int i = 0; i < sums::count; i++) {
            UNROLL
            for (int e = 0; e < N; e++)
                if (EXTENT == ANY ? at + e < 0 || at + e >= n : EXTENT == VECTORS && at >= n)
                    out[sums::term + i].lane[e] = 0;
            terms[i][s] = add_tree(out[sums::term + i].lane);
        }
    }
    UNROLL
    for (int i = 0; i < sums::count; i++)
        totals[i].add(add_tree(terms[i]));
}

/* The sum over the warps that share it; lane 0 of the first has it. */
INLINE T add_warps(const vjpi_cuda_loop &loop, T mine)
{
    __shared__ T sums[VJPI_CUDA_WARPS];
    mine = add_lanes(mine, 32);
    if (loop.warps == 1)
        return mine;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = mine;
    __syncthreads();
    return add_lanes(sums[threadIdx.x % VJPI_CUDA_WARPS], VJPI_CUDA_WARPS);
}

template <class Op, int PART, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS, 2)
    along_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    typedef sums_of<Op, PART> sums;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int64_t unit = loop.warps == 1 ? (int64_t)blockIdx.x * VJPI_CUDA_WARPS + warp : blockIdx.x;
    int64_t segment, out = divide(unit, loop.nsegments, segment);
    if (out >= loop.nouts)
        return;
    place start = place_start<Op>(loop);
    move_outer<Op>(start, loop, 0, loop.nkept, out);
    int64_t piece = segment * loop.per_segment;
    int64_t end = min(piece + loop.per_segment, loop.rows);
    total totals[sums::count];
    UNROLL
    for (int i = 0; i < sums::count; i++)
        totals[i].start();
    for (piece += loop.warps == 1 ? 0 : warp; piece < end; piece += loop.warps) {
        place run = start;
        int64_t part, row = divide(piece, loop.xblocks, part);
        move_outer<Op>(run, loop, loop.nkept, loop.nouter, row);
        int64_t begin = part * (32 * N * STEPS) - shift_of<Op, N, PART>(run);
        int64_t p = begin + lane * N;
        if (begin >= 0 && begin + 32 * N * STEPS <= loop.x.n)
            along_vectors<Op, PART, N, STEPS, ALL>(loop, run, p, totals);
        else if (N > 1 && loop.exact)
            along_vectors<Op, PART, N, STEPS, VECTORS>(loop, run, p, totals);
        else
            for (int64_t stop = begin + 32 * N * STEPS; p < stop && p < loop.x.n; p += 32 * N)
                along_vectors<Op, PART, N, 1, ANY>(loop, run, p, totals);
    }
    each<sums::count>([&](auto i) {
        T sum = add_warps(loop, totals[i.value].result());
        if (lane == 0 && (loop.warps == 1 || warp == 0))
            leave_sum<Op, PART, i.value>(loop, segment, out, start.at[sums::operand + i.value],
                                         sum);
    });
}

/* ---- sums across x ------------------------------------------------------------------------ */

/* Begin to read a row of N columns into slot j; inputs of the sums' own shape do not change. */
template <class Op, int PART, int N>
INLINE void start_row(const vjpi_cuda_loop &loop, const place &start, int64_t row, int64_t p,
                      int j)
{
    place run = start;
    move_outer<Op>(run, loop, loop.nkept, loop.nouter, row);
    each<Op::nin>([&](auto i) {
        if constexpr (!Op::template fixed<PART>(i.value))
            hold<Op, PART, N, i.value>(run, loop.x, AHEAD, j, p, loop.x.n);
    });
}

/* Compute and store a row that has arrived in slot j, and add its terms. */
template <class Op, int PART, int N>
INLINE void finish_row(const vjpi_cuda_loop &loop, const place &start, int64_t row, int64_t p,
                       int j, const packs<Op, N, Op::nin> &fixed,
                       T (&terms)[sums_of<Op, PART>::count][N])
{
    typedef sums_of<Op, PART> sums;
    packs<Op, N, Op::nin> in;
    values<N> out[Op::nouts];
    place run = start;
    each<Op::nin>([&](auto i) {
        if constexpr (Op::template fixed<PART>(i.value))
            pack_of<i.value, Op, N>(in) = pack_of<i.value, Op, N>(fixed);
        else
            pack_of<i.value, Op, N>(in) = held_at<Op, PART, N, i.value>(AHEAD, j);
    });
    evaluate<Op, PART, N>(in, {}, loop.constants, out);
    move_outer<Op>(run, loop, loop.nkept, loop.nouter, row);
    if (PART == OUTS)
        keep_all<Op, N>(out, run, loop.x, p, loop.x.n, true);
    UNROLL
    for (int i = 0; i < sums::count; i++)
        UNROLL
        for (int e = 0; e < N; e++)
            terms[i][e] += out[sums::term + i].lane[e];
}

/* All of a thread's rows: AHEAD - 1 of them are on their way while one is computed. */
template <class Op, int PART, int N>
INLINE void across_rows(const vjpi_cuda_loop &loop, const place &start, int64_t row, int64_t end,
                        int64_t p, const packs<Op, N, Op::nin> &fixed,
                        total (&totals)[sums_of<Op, PART>::count][N])
{
    typedef sums_of<Op, PART> sums;
#pragma unroll 1
    for (int j = 0; j < AHEAD - 1; j++) {
        if (row + (int64_t)j * blockDim.y < end)
            start_row<Op, PART, N>(loop, start, row + (int64_t)j * blockDim.y, p, j);
        commit_copies();
    }
    while (row < end) {
        T terms[sums::count][N] = { { 0 } };
#pragma unroll 1
        for (int j = 0; j < AHEAD; j++, row += blockDim.y) {
            int64_t next = row + (int64_t)(AHEAD - 1) * blockDim.y;
            if (next < end)
                start_row<Op, PART, N>(loop, start, next, p, (j + AHEAD - 1) % AHEAD);
            commit_copies();
            wait_copies<AHEAD - 1>();
            if (row < end)
                finish_row<Op, PART, N>(loop, start, row, p, j, fixed, terms);
        }
        UNROLL
        for (int i = 0; i < sums::count; i++)
            UNROLL
            for (int e = 0; e < N; e++)
                totals[i][e].add(terms[i][e]);
    }
}

template <class Op, int PART, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    across_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    typedef sums_of<Op, PART> sums;
    uint32_t xb = blockIdx.x % loop.xblocks;
    int64_t segment, kept = divide(blockIdx.x / loop.xblocks, loop.nsegments, segment);
    place start = place_start<Op>(loop);
    move_outer<Op>(start, loop, 0, loop.nkept, kept);
    int64_t n = loop.x.n;
    int64_t p = ((int64_t)xb * blockDim.x + threadIdx.x) * N;
    int64_t row = segment * loop.per_segment, end = min(row + loop.per_segment, loop.rows);
    packs<Op, N, Op::nin> fixed;
    total totals[sums::count][N];
    UNROLL
    for (int i = 0; i < sums::count; i++)
        UNROLL
        for (int e = 0; e < N; e++)
            totals[i][e].start();
    if (p < n) {
        fetch_all<false>(fixed, start, loop.x, p, n, true);
        across_rows<Op, PART, N>(loop, start, row + threadIdx.y, end, p, fixed, totals);
    }
    each<sums::count>([&](auto i) {
        constexpr int operand = sums::operand + i.value;
        T results[N];
        UNROLL
        for (int e = 0; e < N; e++)
            results[e] = totals[i.value][e].result();
        __syncthreads(); /* the sum before this one may still be read */
        add_columns<N>(loop, results, room_behind<Op, PART, N>(AHEAD));
        UNROLL
        for (int e = 0; e < N; e++)
            if (threadIdx.y == 0 && p < n)
                leave_sum<Op, PART, i.value>(loop, segment, kept * n + p + e,
                                             start.at[operand] + (p + e) * loop.x.step[operand],
                                             results[e]);
    });
}

/* ---- segments together -------------------------------------------------------------------- */

/* A warp for each result. Without segments the sums are +0. */
template <class Op, int PART>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    join_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    typedef sums_of<Op, PART> sums;
    int lane = threadIdx.x % 32;
    int64_t out = (int64_t)blockIdx.x * VJPI_CUDA_WARPS + threadIdx.x / 32;
    if (out >= loop.nouts)
        return;
    place result = place_start<Op>(loop);
    int64_t x = 0, kept = loop.x_kept ? divide(out, loop.x.n, x) : out;
    move<Op>(result, loop.x, x);
    move_outer<Op>(result, loop, 0, loop.nkept, kept);
    each<sums::count>([&](auto i) {
        total sum;
        sum.start();
        for (int64_t s = lane; s < loop.nsegments; s += 32)
            sum.add(((const T *)loop.partials)[(s * sums::count + i.value) * loop.nouts + out]);
        T all = add_lanes(sum.result(), 32);
        typedef typename stored<Op::wide(sums::operand + i.value)>::type E;
        if (lane == 0)
            *(E *)result.at[sums::operand + i.value] = rounded<E>(all);
    });
}
