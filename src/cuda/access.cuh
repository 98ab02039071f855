/* SPDX-License-Identifier: Apache-2.0 */
/* access.cuh - vectors of elements, the operands of an operator, and where they lie.
 *
 * Kernels come in two kinds. With N > 1 they move N elements, 16 bytes, at a time: every operand is
 * dense along x (or, in maps, one repeated element), and all begin at the same place within a
 * vector (`shift` elements behind its start). Vector v then has the elements from v * N - shift on;
 * at the ends of a run some are missing. With N = 1 any step will do. */

/* N elements of type E as they lie in memory. Pairs of 16-bit elements stay in one register. */
template <class E, int N, bool PAIRED = sizeof(E) == 2 && N % 2 == 0>
struct alignas(sizeof(E) * N < 16 ? sizeof(E) * N : 16) pack {
    E e[N];

    INLINE_MEMBER E get(int i) const { return e[i]; }
    INLINE_MEMBER T value_of(int i) const { return value(e[i]); }
    INLINE_MEMBER void set(int i, E a) { e[i] = a; }
    INLINE_MEMBER void round(const T *values)
    {
        UNROLL
        for (int i = 0; i < N; i++)
            e[i] = rounded<E>(values[i]);
    }
};

template <class E, int N> struct alignas(sizeof(E) * N < 16 ? sizeof(E) * N : 16) pack<E, N, true> {
    uint32_t pair[N / 2];

    INLINE_MEMBER E get(int i) const { return from_bits<E>(pair[i / 2] >> 16 * (i % 2)); }
    INLINE_MEMBER T value_of(int i) const
    {
        return i % 2 ? high_value<E>(pair[i / 2]) : low_value<E>(pair[i / 2]);
    }
    INLINE_MEMBER void set(int i, E a)
    {
        uint32_t bits = bits_of(a);
        pair[i / 2] = i % 2 ? __byte_perm(pair[i / 2], bits, 0x5410)
                            : __byte_perm(pair[i / 2], bits, 0x3254);
    }
    INLINE_MEMBER void round(const T *values)
    {
        UNROLL
        for (int i = 0; i < N; i += 2)
            pair[i / 2] = rounded_pair<E>(values[i], values[i + 1]);
    }
};

template <bool WIDE> struct stored {
    typedef D type;
};
template <> struct stored<true> {
    typedef T type;
};

/* One element, N times. */
template <class E, int N> INLINE void repeat(pack<E, N> &to, const char *one)
{
    E e = *(const E *)one;
    UNROLL
    for (int i = 0; i < N; i++)
        to.set(i, e);
}

/* Elements p .. p + N - 1 of a run of n; whatever it finds where there is none. whole: all are
 * there. */
template <class E, int N, class Index>
INLINE void fetch(pack<E, N> &to, const char *run, int64_t step, Index p, Index n, bool whole)
{
    if (N > 1 && (whole || (p >= 0 && p + N <= n))) {
        to = *(const pack<E, N> *)(run + p * (int64_t)sizeof(E));
    } else {
        UNROLL
        for (int e = 0; e < N; e++)
            if (whole || (p + e >= 0 && p + e < n))
                to.set(e, *(const E *)(run + (N > 1 ? (int64_t)sizeof(E) : step) * (p + e)));
    }
}

template <class E, int N, class Index>
INLINE void keep(const pack<E, N> &from, char *run, int64_t step, Index p, Index n, bool whole)
{
    if (N > 1 && (whole || (p >= 0 && p + N <= n))) {
        *(pack<E, N> *)(run + p * (int64_t)sizeof(E)) = from;
    } else {
        UNROLL
        for (int e = 0; e < N; e++)
            if (whole || (p + e >= 0 && p + e < n))
                *(E *)(run + (N > 1 ? (int64_t)sizeof(E) : step) * (p + e)) = from.get(e);
    }
}

/* ---- operands ----------------------------------------------------------------------------- */

/* f(0), f(1), ... f(END - 1), each with a constant. */
template <int I> struct constant {
    static constexpr int value = I;
};

template <int END, int I = 0, class F> INLINE void each(F f)
{
    if constexpr (I < END) {
        f(constant<I>());
        each<END, I + 1>(f);
    }
}

/* The first COUNT things that a formula reads, N elements of each: the inputs, then the row sum. */
template <class Op, int N, int COUNT> struct packs : packs<Op, N, COUNT - 1> {
    pack<typename stored<Op::wide(Op::operand(COUNT - 1))>::type, N> last;
};
template <class Op, int N> struct packs<Op, N, 0> {};

template <int I, class Op, int N> INLINE auto &pack_of(packs<Op, N, I + 1> &all)
{
    return all.last;
}
template <int I, class Op, int N> INLINE auto &pack_of(const packs<Op, N, I + 1> &all)
{
    return all.last;
}

/* Operand addresses as a block or a thread has them. */
struct place {
    char *at[VJPI_MAX_OPERANDS];
};

/* Fetch what the formula reads. REPEATS: an operand may be one element all along x. */
template <bool REPEATS, class Op, int N, int COUNT, class Index>
INLINE void fetch_all(packs<Op, N, COUNT> &in, const place &run, const vjpi_cuda_axis &x,
                      Index p, Index n, bool whole)
{
    each<COUNT>([&](auto i) {
        constexpr int operand = Op::operand(i.value);
        auto &to = pack_of<i.value, Op, N>(in);
        if (REPEATS && N > 1 && x.step[operand] == 0)
            repeat(to, run.at[operand]);
        else
            fetch(to, run.at[operand], x.step[operand], p, n, whole);
    });
}

/* N values of the compute type. */
template <int N> struct values {
    T lane[N];
};

/* The formula: FULL outputs, SUM values behind them; or TERMS of a row sum. `sum` is the row sum,
 * if it was not fetched with the inputs. */
template <class Op, int PART, int N, int COUNT>
INLINE void evaluate(const packs<Op, N, COUNT> &in, const values<N> &sum, const float *constants,
                     values<N> *out)
{
    constexpr int width = lanes<N>::width;
    UNROLL
    for (int first = 0; first < N; first += width) {
        typename lanes<N>::V read[Op::nin + 1], made[Op::nouts];
        UNROLL
        for (int e = 0; e < width; e++) {
            read[Op::nin].lane[e] = sum.lane[first + e];
            each<COUNT>([&](auto i) {
                read[i.value].lane[e] = pack_of<i.value, Op, N>(in).value_of(first + e);
            });
        }
        Op::template formula<PART>(read, constants, made);
        UNROLL
        for (int i = 0; i < (PART == TERMS ? Op::nrowsums : Op::nouts); i++)
            UNROLL
            for (int e = 0; e < width; e++)
                out[i].lane[first + e] = made[i].lane[e];
    }
}

/* Store the FULL outputs of N elements. */
template <class Op, int N, class Index>
INLINE void keep_all(const values<N> *out, const place &run, const vjpi_cuda_axis &x,
                     Index p, Index n, bool whole)
{
    each<Op::nfull>([&](auto i) {
        constexpr int operand = Op::nin + i.value;
        pack<typename stored<Op::wide(operand)>::type, N> made;
        made.round(out[i.value].lane);
        keep(made, run.at[operand], x.step[operand], p, n, whole);
    });
}

/* ---- places ------------------------------------------------------------------------------- */

template <class Op> INLINE place place_start(const vjpi_cuda_loop &loop)
{
    place start;
    UNROLL
    for (int i = 0; i < Op::noperands; i++)
        start.at[i] = loop.data[i];
    return start;
}

template <class Op> INLINE void move(place &place, const vjpi_cuda_axis &axis, int64_t index)
{
    UNROLL
    for (int i = 0; i < Op::noperands; i++)
        place.at[i] += index * axis.step[i];
}

/* index / n, and index % n in `rest`; most divisions fit in 32 bits. */
INLINE int64_t divide(int64_t index, int64_t n, int64_t &rest)
{
    int64_t quotient = ((uint64_t)index | (uint64_t)n) >> 32
                           ? index / n
                           : (int64_t)((uint32_t)index / (uint32_t)n);
    rest = index - quotient * n;
    return quotient;
}

/* Go to `index`, counted over the outer axes first .. last - 1. */
template <class Op>
INLINE void move_outer(place &place, const vjpi_cuda_loop &loop, int first, int last,
                       int64_t index)
{
#pragma unroll 1
    for (int d = last - 1; d > first; d--) {
        int64_t i;
        index = divide(index, loop.outer[d].n, i);
        move<Op>(place, loop.outer[d], i);
    }
    if (last > first)
        move<Op>(place, loop.outer[first], index);
}

/* How many elements the run begins behind the start of a vector: the first output tells or, where
 * there is none, the first input. */
template <class Op, int N, int PART = OUTS> INLINE int shift_of(const place &run)
{
    constexpr int operand = PART == OUTS ? Op::nin : 0;
    constexpr int size = sizeof(typename stored<Op::wide(operand)>::type);
    return N > 1 ? (int)((uintptr_t)run.at[operand] / size % N) : 0;
}
