/* SPDX-License-Identifier: Apache-2.0 */
/* map.cuh - one value per element: tiles of x and y, a few vectors a thread. */

/* COUNT vectors of a thread, `step` elements apart: all are read before the first is written. */
template <class Op, int N, bool REPEATS, int COUNT, bool WHOLE>
INLINE void map_vectors(const vjpi_cuda_axis &x, const float *constants, const place &run,
                        int64_t p, int64_t step)
{
    packs<Op, N, Op::nin + Op::nrowsums> in[COUNT];
    UNROLL
    for (int s = 0; s < COUNT; s++)
        fetch_all<REPEATS>(in[s], run, x, p + s * step, x.n, WHOLE);
    UNROLL
    for (int s = 0; s < COUNT; s++) {
        values<N> out[Op::nouts];
        evaluate<Op, OUTS, N>(in[s], {}, constants, out);
        keep_all<Op, N>(out, run, x, p + s * step, x.n, WHOLE);
    }
}

/* A block's share of a run: whole vectors where it can. */
template <class Op, int N, bool REPEATS>
INLINE void map_run(const vjpi_cuda_axis &x, const float *constants, const place &run,
                    int64_t begin)
{
    int64_t step = (int64_t)blockDim.x * N, end = begin + step * VJPI_CUDA_MAP_STEPS;
    int64_t p = begin + (int64_t)threadIdx.x * N;
    if (begin >= 0 && end <= x.n)
        map_vectors<Op, N, REPEATS, VJPI_CUDA_MAP_STEPS, true>(x, constants, run, p, step);
    else
        for (; p < end && p < x.n; p += step)
            map_vectors<Op, N, REPEATS, 1, false>(x, constants, run, p, 0);
}

template <class Op, int N, bool REPEATS>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS, 5)
    map_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    uint32_t xb = blockIdx.x % loop.xblocks, rest = blockIdx.x / loop.xblocks;
    int64_t y = (int64_t)(rest % loop.yblocks) * blockDim.y + threadIdx.y;
    if (y >= loop.y.n)
        return;
    place run = place_start<Op>(loop);
    move<Op>(run, loop.y, y);
    move_outer<Op>(run, loop, 0, loop.nouter, rest / loop.yblocks);
    int64_t width = (int64_t)blockDim.x * N * VJPI_CUDA_MAP_STEPS;
    map_run<Op, N, REPEATS>(loop.x, loop.constants, run, xb * width - shift_of<Op, N>(run));
}

/* Dense tensors that begin with whole vectors: little to know, so that a small launch is quick. */
template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS, 5)
    flat_kernel(const __grid_constant__ vjpi_cuda_flat flat)
{
    vjpi_cuda_axis x;
    place run;
    x.n = flat.n;
    UNROLL
    for (int i = 0; i < Op::noperands; i++)
        run.at[i] = flat.data[i];
    map_run<Op, N, false>(x, flat.constants, run,
                          (int64_t)blockIdx.x * blockDim.x * (N * VJPI_CUDA_MAP_STEPS));
}

/* An operand that is dense along y instead of x goes through shared memory, where a tile of it is
 * turned. loop.turned: such operands, at most TURNED of them; the others are read as they lie. */
enum {
    TURNED = 2,
    TILE = VJPI_CUDA_TILE / (sizeof(D) > 4 ? 2 : 1),
    PITCH = TILE + (sizeof(D) < 4 ? 2 : 1) /* at most two lanes meet in a bank */
};

/* Read a tile, N elements of a column at a time. */
template <int N>
INLINE void read_tile(D *tile, const char *corner, int64_t x_step, int64_t y_step, int columns,
                      int rows)
{
    constexpr int steps = TILE * TILE / N / VJPI_CUDA_THREADS, across = TILE / N;
    pack<D, N> got[steps];
    UNROLL
    for (int s = 0; s < steps; s++) {
        int i = s * VJPI_CUDA_THREADS + threadIdx.x, column = i / across, row = i % across * N;
        if (column < columns)
            fetch(got[s], corner + column * x_step, y_step, row, rows, false);
    }
    UNROLL
    for (int s = 0; s < steps; s++) {
        int i = s * VJPI_CUDA_THREADS + threadIdx.x, column = i / across, row = i % across * N;
        UNROLL
        for (int e = 0; e < N; e++)
            tile[column * PITCH + row + e] = got[s].get(e);
    }
}

template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    turned_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    __shared__ D tiles[TURNED][TILE * PITCH];
    constexpr int steps = TILE * TILE / N / VJPI_CUDA_THREADS, across = TILE / N;
    uint32_t xb = blockIdx.x % loop.xblocks, rest = blockIdx.x / loop.xblocks;
    int64_t x = (int64_t)xb * TILE, y = (int64_t)(rest % loop.yblocks) * TILE;
    int columns = (int)min((int64_t)TILE, loop.x.n - x);
    int rows = (int)min((int64_t)TILE, loop.y.n - y);
    int tile = 0;
    place corner = place_start<Op>(loop);
    move_outer<Op>(corner, loop, 0, loop.nouter, rest / loop.yblocks);
    move<Op>(corner, loop.x, x);
    move<Op>(corner, loop.y, y);
    each<Op::nin>([&](auto i) {
        if (loop.turned >> i.value & 1)
            read_tile<N>(tiles[tile++], corner.at[i.value], loop.x.step[i.value],
                         loop.y.step[i.value], columns, rows);
    });
    __syncthreads();
    UNROLL
    for (int s = 0; s < steps; s++) {
        int i = s * VJPI_CUDA_THREADS + threadIdx.x, row = i / across, column = i % across * N;
        packs<Op, N, Op::nin + Op::nrowsums> in;
        values<N> out[Op::nouts];
        place run = corner;
        if (row >= rows || column >= columns)
            continue;
        move<Op>(run, loop.y, row);
        tile = 0;
        each<Op::nin + Op::nrowsums>([&](auto i) {
            constexpr int operand = Op::operand(i.value);
            auto &to = pack_of<i.value, Op, N>(in);
            if constexpr (!Op::wide(operand)) {
                if (loop.turned >> operand & 1) {
                    UNROLL
                    for (int e = 0; e < N; e++)
                        to.set(e, tiles[tile][(column + e) * PITCH + row]);
                    tile++;
                    return;
                }
            }
            if (N > 1 && loop.x.step[operand] == 0)
                repeat(to, run.at[operand]);
            else
                fetch(to, run.at[operand], loop.x.step[operand], column, columns, false);
        });
        evaluate<Op, OUTS, N>(in, {}, loop.constants, out);
        keep_all<Op, N>(out, run, loop.x, column, columns, false);
    }
}
