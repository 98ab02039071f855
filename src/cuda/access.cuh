/* SPDX-License-Identifier: Apache-2.0 */
/* access.cuh - vectors of elements, the operands of an operator, and where they are.
 *
 * Kernels come in two kinds. With N > 1 they move N elements of the data, 16 bytes, at a time: each
 * operand is dense along x or one repeated element, and all begin at the same place within a
 * vector (`shift` elements behind its start). Vector v then has the elements from v * N - shift on;
 * at the ends of a run some are missing. With N = 1 any step will do. */

/* N elements of type E as they are in memory. Pairs of 16-bit elements stay in one register. */
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

/* Elements p .. p + N - 1 of a run of n; any value where there is none. whole: all are there. */
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
INLINE void store(const pack<E, N> &from, char *run, int64_t step, Index p, Index n, bool whole)
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

/* One element, N times. */
template <class E, int N> INLINE void repeat(pack<E, N> &to, E e)
{
    UNROLL
    for (int i = 0; i < N; i++)
        to.set(i, e);
}

/* ---- mixed dtypes ------------------------------------------------------------------------- */

/* f(an element) of the type that `dtype` names, among those that can be beside D. */
template <class F> INLINE void with_dtype(int dtype, F f)
{
    if (dtype == OWN_DTYPE) {
        f(D());
        return;
    }
#if !VJPI_COMPUTE_F64
    if constexpr (sizeof(D) == sizeof(T)) {
        if (dtype == VJP_F16)
            f(__half());
        else
            f(__nv_bfloat16());
    } else {
        f(T());
    }
#endif
}

template <class E, int N> INLINE void convert(pack<T, N> &to, const pack<E, N> &from)
{
    UNROLL
    for (int i = 0; i < N; i++)
        to.set(i, from.value_of(i));
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

/* How kernels have the elements of input I: as they are, masks as bytes, and in the compute type
 * what may be of several dtypes. */
template <int HOW> struct element_type {
    typedef D type;
};
template <> struct element_type<MIXED_DTYPE> {
    typedef T type;
};
template <> struct element_type<MASK_DTYPE> {
    typedef uint8_t type;
};
template <class Op, int I> using input_type = typename element_type<Op::how(I)>::type;

/* The first COUNT inputs, N elements of each; nothing of row inputs. */
template <class Op, int N, int COUNT, bool ELEMENTS> struct packs_with;
template <class Op, int N, int COUNT>
using packs = packs_with<Op, N, COUNT, (COUNT > 0 && Op::role(COUNT - 1) == VJPI_ELEMENTS)>;
template <class Op, int N, int COUNT>
struct packs_with<Op, N, COUNT, true> : packs<Op, N, COUNT - 1> {
    pack<input_type<Op, COUNT - 1>, N> last;
};
template <class Op, int N, int COUNT>
struct packs_with<Op, N, COUNT, false> : packs<Op, N, COUNT - 1> {};
template <class Op, int N> struct packs_with<Op, N, 0, false> {};

template <class Op, int N> using inputs = packs<Op, N, Op::nin>;

template <int I, class Op, int N> INLINE auto &pack_of(packs<Op, N, I + 1> &all)
{
    return all.last;
}
template <int I, class Op, int N> INLINE auto &pack_of(const packs<Op, N, I + 1> &all)
{
    return all.last;
}

/* The operand addresses of a block or a thread; its row, and its position along it. */
struct place {
    char *at[VJPI_MAX_TENSORS];
    int64_t row, index, causal;
};

INLINE bool is_given(const vjpi_cuda_call &call, int tensor)
{
    return call.facts >> tensor & 1;
}

/* Fetch input I. REPEATS: it may be one element all along x. */
template <class Op, int I, bool REPEATS, int N, class Index>
INLINE void fetch_input(pack<input_type<Op, I>, N> &to, const vjpi_cuda_call &call,
                        const place &run, int64_t step, Index p, Index n, bool whole)
{
    typedef input_type<Op, I> E;
    if constexpr (Op::optional(I))
        if (!is_given(call, I)) {
            repeat(to, rounded<E>((T)call.stand_ins[I]));
            return;
        }
    bool repeats = REPEATS && N > 1 && step == 0;
    if constexpr (Op::how(I) == MIXED_DTYPE) {
        with_dtype(call.dtypes[I], [&](auto element) {
            typedef decltype(element) S;
            pack<S, N> from;
            if (repeats)
                repeat(from, *(const S *)run.at[I]);
            else
                fetch(from, run.at[I], step, p, n, whole);
            convert(to, from);
        });
    } else if (repeats) {
        repeat(to, *(const E *)run.at[I]);
    } else {
        fetch(to, run.at[I], step, p, n, whole);
    }
}

/* Which inputs: those that kernels hold, the others (Op::direct), or both. */
enum which { HELD_INPUTS, DIRECT_INPUTS, ALL_INPUTS };

/* REPEATS: any of them may be one element all along x; else only parameters may. */
template <class Op, which WHICH, bool REPEATS, int N, class Index>
INLINE void fetch_all(inputs<Op, N> &in, const vjpi_cuda_call &call, const place &run,
                      const vjpi_cuda_axis &x, Index p, Index n, bool whole)
{
    each<Op::nin>([&](auto i) {
        constexpr int I = i.value;
        if constexpr (Op::role(I) == VJPI_ELEMENTS &&
                      (WHICH == ALL_INPUTS || Op::direct(I) == (WHICH == DIRECT_INPUTS)))
            fetch_input<Op, I, REPEATS || Op::direct(I)>(pack_of<I, Op, N>(in), call, run,
                                                         x.step[I], p, n, whole);
    });
}

/* N values of the compute type. */
template <int N> struct values {
    T lane[N];
};

/* Store FULL output I of N elements. */
template <class Op, int I, int N, class Index>
INLINE void store_output(const T *made, const vjpi_cuda_call &call, const place &run,
                         const vjpi_cuda_axis &x, Index p, Index n, bool whole)
{
    if constexpr (Op::optional(I))
        if (!is_given(call, I))
            return;
    if constexpr (Op::how(I) == MIXED_DTYPE) {
        with_dtype(call.dtypes[I], [&](auto element) {
            pack<decltype(element), N> stored;
            stored.round(made);
            store(stored, run.at[I], x.step[I], p, n, whole);
        });
    } else {
        pack<D, N> stored;
        stored.round(made);
        store(stored, run.at[I], x.step[I], p, n, whole);
    }
}

/* Store the FULL outputs of N elements. */
template <class Op, int N, class Index>
INLINE void store_all(const values<N> *out, const vjpi_cuda_call &call, const place &run,
                      const vjpi_cuda_axis &x, Index p, Index n, bool whole)
{
    each<Op::nout>([&](auto i) {
        constexpr int I = Op::nin + i.value;
        if constexpr (Op::role(I) == VJPI_FULL)
            store_output<Op, I, N>(out[Op::result_of(I)].lane, call, run, x, p, n, whole);
    });
}

/* ---- places ------------------------------------------------------------------------------- */

template <class Op> INLINE place place_start(const vjpi_cuda_loop &loop)
{
    place start;
    UNROLL
    for (int i = 0; i < Op::ntensors; i++)
        start.at[i] = loop.data[i];
    start.row = start.index = start.causal = 0;
    return start;
}

template <class Op> INLINE void move(place &place, const vjpi_cuda_axis &axis, int64_t index)
{
    UNROLL
    for (int i = 0; i < Op::ntensors; i++)
        place.at[i] += index * axis.step[i];
    place.row += index * axis.row;
    place.index += index * axis.index;
    place.causal += index * axis.causal;
}

/* Go to `index`, counted over the outer axes first .. last - 1. */
template <class Op>
INLINE void move_outer(place &place, const vjpi_cuda_loop &loop, int first, int last,
                       int64_t index)
{
#pragma unroll 1
    for (int d = last - 1; d > first; d--) {
        int64_t i;
        index = vjpi_divide(index, loop.outer[d].n, &i);
        move<Op>(place, loop.outer[d], i);
    }
    if (last > first)
        move<Op>(place, loop.outer[first], index);
}

/* How many elements the run begins behind the start of N: decided by the first FULL output that is
 * given or, without one, the first input. */
template <class Op, int PART, int N> INLINE int shift_of(const vjpi_cuda_call &call,
                                                         const place &run)
{
    int64_t elements = (int64_t)((uintptr_t)run.at[0] / sizeof(D));
    bool found = false;
    each<Op::nout>([&](auto i) {
        constexpr int I = Op::nin + i.value;
        if constexpr (Op::role(I) == VJPI_FULL && PART == Op::last) {
            if (!found && (!Op::optional(I) || is_given(call, I))) {
                uintptr_t at = (uintptr_t)run.at[I];
                if constexpr (Op::how(I) == MIXED_DTYPE)
                    with_dtype(call.dtypes[I], [&](auto element) {
                        elements = (int64_t)(at / sizeof(element));
                    });
                else
                    elements = (int64_t)(at / sizeof(D));
                found = true;
            }
        }
    });
    return N > 1 ? (int)(elements % N) : 0;
}
