/* SPDX-License-Identifier: Apache-2.0 */
/* map.cuh - one value per element: tiles of x and y, a few vectors per thread. For row operators
 * the row operands come from the arrays of all rows. */

/* The FULL outputs of a vector at element p of a run: +0 past the end of a row. */
template <class Op, int N>
INLINE void map_outputs(const vjpi_cuda_loop &loop, const inputs<Op, N> &in, const place &run,
                        int64_t p, int64_t n, bool whole)
{
    row_numbers<Op, N> rows;
    values<N> out[Op::nmade];
    int64_t index = run.index + p * loop.x.index;
    read_arrays<Op, N>(loop, run, p, rows);
    evaluate<Op, Op::last, N>(loop.call, in, rows, index, loop.x.index, out);
    if constexpr (Op::end >= 0)
        UNROLL
        for (int i = 0; i < Op::results(Op::last); i++)
            UNROLL
            for (int e = 0; e < N; e++)
                if (!is_live<Op>(rows, e, index + e * loop.x.index))
                    out[i].lane[e] = 0;
    store_all<Op, N>(out, loop.call, run, loop.x, p, n, whole);
}

/* COUNT vectors of a thread, `step` elements apart: all are read before the first is written. */
template <class Op, int N, int COUNT, bool WHOLE>
INLINE void map_vectors(const vjpi_cuda_loop &loop, const place &run, int64_t p, int64_t step)
{
    inputs<Op, N> in[COUNT];
    UNROLL
    for (int s = 0; s < COUNT; s++)
        fetch_all<Op, ALL_INPUTS, true, N>(in[s], loop.call, run, loop.x, p + s * step, loop.x.n,
                                           WHOLE);
    UNROLL
    for (int s = 0; s < COUNT; s++)
        map_outputs<Op, N>(loop, in[s], run, p + s * step, loop.x.n, WHOLE);
}

template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS, Op::npasses > 1 ? 2 : 5)
    map_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    vjpi_tile_at at = vjpi_find_tile(&loop, blockIdx.x);
    int64_t y = (int64_t)at.y * blockDim.y + threadIdx.y;
    if (y >= loop.y.n)
        return;
    place run = place_start<Op>(loop);
    move<Op>(run, loop.y, y);
    move_outer<Op>(run, loop, 0, loop.nouter, at.outer);
    int64_t begin = vjpi_map_begin(at.x, blockDim.x, N, shift_of<Op, Op::last, N>(loop.call, run));
    int64_t step = (int64_t)blockDim.x * N, end = begin + step * VJPI_CUDA_MAP_STEPS;
    int64_t p = begin + (int64_t)threadIdx.x * N;
    if (!Op::heavy && begin >= 0 && end <= loop.x.n)
        map_vectors<Op, N, VJPI_CUDA_MAP_STEPS, true>(loop, run, p, step);
    else
#pragma unroll 1
        for (; p < end && p < loop.x.n; p += step)
            map_vectors<Op, N, 1, false>(loop, run, p, 0);
}

/* ---- dense tensors ------------------------------------------------------------------------ */

/* COUNT vectors of a thread, `step` elements apart: those that begin before n. */
template <class Op, int N, int COUNT>
INLINE void flat_vectors(const vjpi_cuda_flat &flat, const vjpi_cuda_axis &x, const place &run,
                         int64_t p, int64_t step, int64_t n)
{
    inputs<Op, N> in[COUNT];
    UNROLL
    for (int s = 0; s < COUNT; s++)
        if (p + s * step < n)
            fetch_all<Op, ALL_INPUTS, false, N>(in[s], flat.call, run, x, p + s * step, n, true);
    UNROLL
    for (int s = 0; s < COUNT; s++) {
        values<N> out[Op::nmade];
        if (p + s * step >= n)
            break;
        evaluate<Op, Op::last, N>(flat.call, in[s], row_numbers<Op, 1>(), 0, 0, out);
        store_all<Op, N>(out, flat.call, run, x, p + s * step, n, true);
    }
}

/* The bytes of an element of tensor I. */
template <class Op, int I> INLINE int64_t element_size(const vjpi_cuda_call &call)
{
    int64_t size = Op::how(I) == MASK_DTYPE ? 1 : sizeof(D);
    if constexpr (Op::how(I) == MIXED_DTYPE)
        with_dtype(call.dtypes[I], [&](auto element) { size = sizeof(element); });
    return size;
}

/* Tensors that begin with whole vectors: few parameters, so that a small launch is quick. What is
 * left at the end is less than a vector: one thread of the last block for each element. */
template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS, Op::heavy && Op::nin > 2 ? 4 : 5)
    flat_kernel(const __grid_constant__ vjpi_cuda_flat flat)
{
    vjpi_cuda_axis x;
    place run;
    each<Op::ntensors>([&](auto i) {
        x.step[i.value] = element_size<Op, i.value>(flat.call);
        run.at[i.value] = flat.data[i.value];
    });
    int64_t begin = vjpi_map_begin(blockIdx.x, blockDim.x, N, 0), whole = flat.n - flat.n % N;
    int64_t step = (int64_t)blockDim.x * N, end = begin + step * VJPI_CUDA_MAP_STEPS;
    int64_t p = begin + (int64_t)threadIdx.x * N;
    if (p < whole)
        flat_vectors<Op, N, VJPI_CUDA_MAP_STEPS>(flat, x, run, p, step, whole);
    if (whole < flat.n && end > whole && threadIdx.x < N)
        flat_vectors<Op, 1, 1>(flat, x, run, whole + threadIdx.x, 0, flat.n);
}

/* ---- transposed tiles --------------------------------------------------------------------- */

/* An operand of dtype D that is dense along y instead of x goes through shared memory, where a tile
 * of it is transposed. loop.transposed: such operands, at most VJPI_CUDA_TILES of them; the others
 * are read directly. */
enum {
    TILE = VJPI_CUDA_TILE / (sizeof(D) > 4 ? 2 : 1),
    PITCH = TILE + (sizeof(D) < 4 ? 2 : 1) /* at most two lanes meet in a bank */
};

/* Read a tile, N elements of a column at a time. One copy for all operators: a block calls it once
 * per transposed operand. */
template <int N>
RARE void read_tile(D *tile, const char *corner, int64_t x_step, int64_t y_step, int columns,
                    int rows)
{
    constexpr int steps = TILE * TILE / N / VJPI_CUDA_THREADS, at_once = steps < 8 ? steps : 8;
#pragma unroll 1
    for (int first = 0; first < steps; first += at_once) {
        pack<D, N> got[at_once];
        int column, row;
        UNROLL
        for (int s = 0; s < at_once; s++) {
            vjpi_tile_slot(first + s, threadIdx.x, TILE, N, &column, &row);
            if (column < columns)
                fetch(got[s], corner + column * x_step, y_step, row, rows, false);
        }
        UNROLL
        for (int s = 0; s < at_once; s++) {
            vjpi_tile_slot(first + s, threadIdx.x, TILE, N, &column, &row);
            UNROLL
            for (int e = 0; e < N; e++)
                tile[column * PITCH + row + e] = got[s].get(e);
        }
    }
}

/* N elements of a row of a tile. */
template <class E, int N> INLINE void take_tile(pack<E, N> &to, const D *tile, int row, int column)
{
    UNROLL
    for (int e = 0; e < N; e++) {
        D element = tile[(column + e) * PITCH + row];
        if constexpr (std::is_same<E, D>::value)
            to.set(e, element);
        else
            to.set(e, value(element));
    }
}

template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    transposed_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    __shared__ D tiles[VJPI_CUDA_TILES][TILE * PITCH];
    vjpi_tile_at at = vjpi_find_tile(&loop, blockIdx.x);
    int64_t x = (int64_t)at.x * TILE, y = (int64_t)at.y * TILE;
    int columns = (int)vjpi_least(TILE, loop.x.n - x), rows = (int)vjpi_least(TILE, loop.y.n - y);
    int tile = 0;
    place corner = place_start<Op>(loop);
    move_outer<Op>(corner, loop, 0, loop.nouter, at.outer);
    move<Op>(corner, loop.x, x);
    move<Op>(corner, loop.y, y);
    each<Op::nin>([&](auto i) {
        if (loop.transposed >> i.value & 1)
            read_tile<N>(tiles[tile++], corner.at[i.value], loop.x.step[i.value],
                         loop.y.step[i.value], columns, rows);
    });
    __syncthreads();
#pragma unroll(Op::heavy ? 1 : 2)
    for (int s = 0; s < TILE * TILE / N / VJPI_CUDA_THREADS; s++) {
        int row, column;
        vjpi_tile_slot(s, threadIdx.x, TILE, N, &row, &column);
        if (row >= rows || column >= columns)
            continue;
        inputs<Op, N> in;
        values<N> out[Op::nmade];
        place run = corner;
        move<Op>(run, loop.y, row);
        tile = 0;
        each<Op::nin>([&](auto i) {
            constexpr int I = i.value;
            auto &to = pack_of<I, Op, N>(in);
            if constexpr (Op::how(I) != MASK_DTYPE) {
                if (loop.transposed >> I & 1) {
                    take_tile(to, tiles[tile++], row, column);
                    return;
                }
            }
            fetch_input<Op, I, true>(to, loop.call, run, loop.x.step[I], column, columns, true);
        });
        evaluate<Op, Op::last, N>(loop.call, in, row_numbers<Op, 1>(), 0, 0, out);
        store_all<Op, N>(out, loop.call, run, loop.x, column, columns, true);
    }
}
