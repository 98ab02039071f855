/* SPDX-License-Identifier: Apache-2.0 */
/* map.cuh - one value per element: tiles of x and y, a few vectors a thread. */

/* COUNT vectors of a thread, `step` elements apart: all are read before the first is written. */
template <class Op, int N, int COUNT, bool WHOLE>
INLINE void map_vectors(const vjpi_cuda_loop &loop, const place &run, int64_t p, int64_t step)
{
    packs<Op, N, Op::nin + Op::nrowsums> in[COUNT];
    UNROLL
    for (int s = 0; s < COUNT; s++)
        fetch_all(in[s], run, loop.x, p + s * step, loop.x.n, WHOLE);
    UNROLL
    for (int s = 0; s < COUNT; s++) {
        V out[Op::nouts][N];
        evaluate_all<Op, OUTS, N>(in[s], no_sum(), loop.constants, out);
        keep_all<Op, N>(out, run, loop.x, p + s * step, loop.x.n, WHOLE);
    }
}

template <class Op, int N>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
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
    int64_t begin = xb * width - shift_of<Op, N>(run);
    int64_t p = begin + (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
    if (begin >= 0 && begin + width <= loop.x.n)
        map_vectors<Op, N, VJPI_CUDA_MAP_STEPS, true>(loop, run, p, step);
    else
        for (int64_t end = begin + width; p < end && p < loop.x.n; p += step)
            map_vectors<Op, N, 1, false>(loop, run, p, 0);
}

/* An operand that is dense along y instead of x goes through shared memory, where a tile of it is
 * turned. loop.turned: such operands, at most TURNED of them; the others are read as they lie. */
enum {
    TURNED = 2,
    TILE = sizeof(D) > 4 ? VJPI_CUDA_TILE / 2 : VJPI_CUDA_TILE,
    PITCH = TILE + (sizeof(D) < 4 ? 4 / sizeof(D) : 1), /* no two lanes meet in a bank */
    TILE_STEPS = TILE * TILE / VJPI_CUDA_THREADS
};

template <class Op>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    turned_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    __shared__ D tile[TURNED][TILE * PITCH];
    constexpr int count = Op::nin + Op::nrowsums;
    uint32_t xb = blockIdx.x % loop.xblocks, rest = blockIdx.x / loop.xblocks;
    int64_t x = (int64_t)xb * TILE, y = (int64_t)(rest % loop.yblocks) * TILE;
    int columns = (int)min((int64_t)TILE, loop.x.n - x), rows = (int)min((int64_t)TILE, loop.y.n - y);
    place corner = place_start<Op>(loop);
    move_outer<Op>(corner, loop, 0, loop.nouter, rest / loop.yblocks);
    move<Op>(corner, loop.x, x);
    move<Op>(corner, loop.y, y);
    int turned = 0;
    each<Op::nin>([&](auto i) {
        if (Op::wide(i.value) || !(loop.turned >> i.value & 1))
            return;
        UNROLL
        for (int s = 0; s < TILE_STEPS; s++) {
            int column = (s * VJPI_CUDA_THREADS + threadIdx.x) / TILE, row = threadIdx.x % TILE;
            if (column < columns && row < rows)
                tile[turned][column * PITCH + row] =
                    *(const D *)(corner.at[i.value] + column * loop.x.step[i.value] +
                                 row * loop.y.step[i.value]);
        }
        turned++;
    });
    __syncthreads();
    UNROLL
    for (int s = 0; s < TILE_STEPS; s++) {
        int row = (s * VJPI_CUDA_THREADS + threadIdx.x) / TILE, column = threadIdx.x % TILE;
        packs<Op, 1, count> in;
        V out[Op::nouts][1];
        place run = corner;
        if (column >= columns || row >= rows)
            continue;
        move<Op>(run, loop.y, row);
        turned = 0;
        each<count>([&](auto i) {
            constexpr int operand = Op::operand(i.value);
            auto &to = pack_of<i.value, Op, 1>(in);
            if constexpr (!Op::wide(operand)) {
                if (loop.turned >> operand & 1) {
                    to.set(0, tile[turned++][column * PITCH + row]);
                    return;
                }
            }
            fetch(to, run.at[operand], loop.x.step[operand], column, columns, false);
        });
        evaluate_all<Op, OUTS, 1>(in, no_sum(), loop.constants, out);
        keep_all<Op, 1>(out, run, loop.x, column, columns, false);
    }
}
