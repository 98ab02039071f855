/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.cuh - maps of dense 16-bit data by a table of all values of the first input
 * (core/lookup.h).
 *
 * A long formula in 16 bits is bound by instructions, a table by memory. The table, or the part of
 * it that ordinary inputs need, is copied to shared memory once per block; blocks are as many as
 * fit on the device at once, and go through the data together. */

/* The entries of the first input's magnitudes from LOW on, COUNT of them, of both signs. */
template <class Op> struct window {
    static constexpr int low = vjpi_cuda_window_low(OWN_DTYPE, Op::nin);
    static constexpr int count = vjpi_cuda_window_count(OWN_DTYPE, Op::nin);
};

/* How a table has an entry: as the output is stored, or as the factor of the second input. */
template <class Op> using lookup_type = std::conditional_t<Op::nin == 1, uint16_t, T>;

template <class Op> INLINE lookup_type<Op> look_up(const lookup_type<Op> *shared,
                                                   const void *entries, uint32_t bits)
{
    uint32_t place = (bits & 0x7fff) - window<Op>::low;
    if (place < window<Op>::count)
        return shared[place + (bits >> 15) * window<Op>::count];
    return ((const lookup_type<Op> *)entries)[bits];
}

template <class Op> INLINE void fill_window(lookup_type<Op> *shared, const void *entries)
{
    for (int i = threadIdx.x; i < window<Op>::count; i += blockDim.x)
        for (int sign = 0; sign < 2; sign++)
            shared[i + sign * window<Op>::count] =
                ((const lookup_type<Op> *)entries)[(sign << 15) + window<Op>::low + i];
}

/* N elements by the formula, read again: the loop need not keep them in registers for this. */
template <class Op, int N> RARE void by_formula(const vjpi_cuda_flat &flat, int64_t p)
{
#pragma unroll 1
    for (int64_t at = p; at < p + N; at++) {
        element_numbers<Op> of;
        of.in[0].lane[0] = value(((const D *)flat.data[0])[at]);
        of.in[Op::nin - 1].lane[0] = value(((const D *)flat.data[Op::nin - 1])[at]);
        of.index.lane[0] = 0;
        ((D *)flat.data[Op::nin])[at] = rounded<D>(
            careful<Op, Op::last>(flat.call.facts, (const T *)flat.call.constants, of)
                .made[0].lane[0]);
    }
}

/* N elements at p: outputs. */
template <class Op, int N>
INLINE void look_up_values(const vjpi_cuda_flat &flat, const uint16_t *shared,
                           const inputs<Op, N> &in, int64_t p)
{
    pack<D, N> to;
    UNROLL
    for (int e = 0; e < N; e++)
        to.set(e, from_bits<D>(look_up<Op>(shared, flat.lookup,
                                           bits_of(pack_of<0, Op, N>(in).get(e)))));
    store(to, flat.data[1], (int64_t)sizeof(D), p, p + N, true);
}

/* The second input times a factor; a vector with an element that has none, by the formula. */
template <class Op, int N>
INLINE void look_up_products(const vjpi_cuda_flat &flat, const T *shared, const inputs<Op, N> &in,
                             int64_t p)
{
    pack<D, N> to;
    T made[N];
    bool found = true;
    UNROLL
    for (int e = 0; e < N; e++) {
        T factor = look_up<Op>(shared, flat.lookup, bits_of(pack_of<0, Op, N>(in).get(e)));
        found = found && factor == factor;
        made[e] = pack_of<1, Op, N>(in).value_of(e) * factor;
    }
    if (!found) {
        by_formula<Op, N>(flat, p);
        return;
    }
    to.round(made);
    store(to, flat.data[2], (int64_t)sizeof(D), p, p + N, true);
}

/* COUNT vectors of a thread, `step` elements apart: those that begin before n. */
template <class Op, int N, int COUNT>
INLINE void look_up_vectors(const vjpi_cuda_flat &flat, const lookup_type<Op> *shared, int64_t p,
                            int64_t step, int64_t n)
{
    inputs<Op, N> in[COUNT];
    UNROLL
    for (int s = 0; s < COUNT; s++)
        if (p + s * step < n)
            each<Op::nin>([&](auto i) {
                fetch(pack_of<i.value, Op, N>(in[s]), flat.data[i.value], (int64_t)sizeof(D),
                      p + s * step, n, true);
            });
    UNROLL
    for (int s = 0; s < COUNT; s++)
        if (p + s * step < n) {
            if constexpr (Op::nin == 1)
                look_up_values<Op, N>(flat, shared, in[s], p + s * step);
            else
                look_up_products<Op, N>(flat, shared, in[s], p + s * step);
        }
}

/* As flat_kernel. What is left at the end is less than a vector: one thread for each element. */
template <class Op, int N>
__global__ void __launch_bounds__(vjpi_cuda_lookup_threads(OWN_DTYPE, Op::nin),
                                  vjpi_cuda_lookup_blocks(OWN_DTYPE, Op::nin))
    lookup_kernel(const __grid_constant__ vjpi_cuda_flat flat)
{
    lookup_type<Op> *shared = (lookup_type<Op> *)dynamic_shared();
    fill_window<Op>(shared, flat.lookup);
    __syncthreads();
    int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, whole = flat.n - flat.n % N;
    int64_t step = (int64_t)gridDim.x * blockDim.x * N;
#pragma unroll 1
    for (int64_t p = thread * N; p < whole; p += step * VJPI_CUDA_MAP_STEPS)
        look_up_vectors<Op, N, VJPI_CUDA_MAP_STEPS>(flat, shared, p, step, whole);
    if (whole + thread < flat.n)
        look_up_vectors<Op, 1, 1>(flat, shared, whole + thread, 0, flat.n);
}
