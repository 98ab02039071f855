/* SPDX-License-Identifier: Apache-2.0 */
/* rows.cuh - what belongs to a row: its inputs, the values that passes leave, where it ends; and
 * the formula, which gets both those and the elements. */

/* The row inputs and row values of LANES rows, and their ROWLETs, where these are made; of one row,
 * which a whole vector shares, if LANES is 1. */
template <class Op, int LANES> struct row_numbers {
    T at[Op::narrays > 0 ? Op::narrays : 1][LANES];
    T lets[Op::nlets > 0 ? Op::nlets : 1][LANES];
};

/* Where a row ends: what the caller says, within the axis and, in a causal call, at the
 * diagonal. */
INLINE T limit_end(const vjpi_cuda_loop &loop, T end, int64_t causal)
{
    int64_t most = loop.length;
    if (loop.causal)
        most = vjpi_least(most, causal + 1 + loop.causal_shift);
    end = end < (T)most ? end : (T)most;
    return end > 0 ? end : 0;
}

/* Read the inputs of the row at `run` into lane e; its values are 0. */
template <class Op, int LANES>
INLINE void read_row(const vjpi_cuda_loop &loop, const place &run, int e,
                     row_numbers<Op, LANES> &rows)
{
    each<Op::nin>([&](auto i) {
        constexpr int I = i.value;
        if constexpr (Op::is_row_input(I)) {
            T number = (T)loop.call.stand_ins[I];
            if (!Op::optional(I) || is_given(loop.call, I))
                number = load_number(loop.call.dtypes[I], run.at[I]);
            if constexpr (Op::role(I) == VJPI_ROW_END)
                number = limit_end(loop, number, run.causal);
            rows.at[Op::array_of(I)][e] = number;
        }
    });
    UNROLL
    for (int v = 0; v < Op::nvalues; v++)
        rows.at[Op::first_value + v][e] = 0;
}

/* The same of N rows, which are side by side along x from element p on, out of the arrays of all
 * rows. */
template <class Op, int N>
INLINE void read_arrays(const vjpi_cuda_loop &loop, const place &run, int64_t p,
                        row_numbers<Op, N> &rows)
{
    UNROLL
    for (int a = 0; a < Op::narrays; a++) {
        const T *array = (const T *)loop.arrays + a * loop.all_rows + run.row;
        if (loop.x.row == 0) {
            T number = array[0];
            UNROLL
            for (int e = 0; e < N; e++)
                rows.at[a][e] = number;
        } else {
            UNROLL
            for (int e = 0; e < N; e++) /* p may begin before the run, or end behind it */
                rows.at[a][e] = p + e >= 0 && p + e < loop.x.n ? array[(p + e) * loop.x.row] : 0;
        }
    }
}

/* Is an element before the end of its row? */
template <class Op, int LANES>
INLINE bool is_live(const row_numbers<Op, LANES> &rows, int e, int64_t index)
{
    if constexpr (Op::end >= 0)
        return (T)index < rows.at[Op::array_of(Op::end)][LANES > 1 ? e : 0];
    return true;
}

/* Is some element of the N at this position before the end of its row? */
template <class Op, int N> INLINE bool any_live(const row_numbers<Op, N> &rows, int64_t index)
{
    bool live = false;
    UNROLL
    for (int e = 0; e < N; e++)
        live = live || is_live<Op>(rows, e, index);
    return live;
}

/* What the formula gets for one element. */
template <class Op> struct element_numbers {
    one::V in[Op::nin], values[Op::nvalues + 1], index;
};

/* Its results, and the value of KEEP. */
template <class Op> struct element_results {
    one::V made[Op::nmade], kept;
};

/* The formula for an element that takes a rare branch. */
template <class Op, int PART>
RARE element_results<Op> careful(uint32_t facts, const T *constants, element_numbers<Op> of)
{
    element_results<Op> results;
    one::formulas<false> formulas;
    Op::template formula<PART>(formulas, facts, of.in, of.values, of.index, constants,
                               &results.kept, results.made);
    return results;
}

/* Compute again the lanes for which the quick branches are not right. */
template <class Op, int PART, class V, class M>
INLINE void replace_unusual(const vjpi_cuda_call &call, M usual, const V *read, const V *held,
                            V position, V *kept, V *made)
{
    UNROLL
    for (int e = 0; e < (int)(sizeof(V) / sizeof(T)); e++) {
        if (usual.lane[e])
            continue;
        element_numbers<Op> of;
        UNROLL
        for (int i = 0; i < Op::nin; i++)
            of.in[i].lane[0] = read[i].lane[e];
        UNROLL
        for (int v = 0; v < Op::nvalues; v++)
            of.values[v].lane[0] = held[v].lane[e];
        of.index.lane[0] = position.lane[e];
        element_results<Op> results = careful<Op, PART>(call.facts, (const T *)call.constants, of);
        UNROLL
        for (int i = 0; i < Op::results(PART); i++)
            made[i].lane[e] = results.made[i].lane[0];
        kept->lane[e] = results.kept.lane[0];
    }
}

/* The formula: what pass PART leaves terms of or, in the last one, the FULL and SUM outputs in
 * order. `index` is the position along the axis of the first element, index_step the distance
 * between two. more: VJPI_HAS_LETS where the rows have them. kept: where the value of KEEP stays
 * from pass to pass; NULL: it is computed again. */
template <class Op, int PART, int N, int LANES>
INLINE void evaluate(const vjpi_cuda_call &call, const inputs<Op, N> &in,
                     const row_numbers<Op, LANES> &rows, int64_t index, int64_t index_step,
                     values<N> *out, uint32_t more = 0, values<N> *kept = nullptr)
{
    constexpr int width = lanes<N>::width, nheld = Op::nvalues + Op::nlets;
    const uint32_t facts = Op::possible(call.facts) | more | (kept ? VJPI_IS_KEPT : 0);
    UNROLL
    for (int first = 0; first < N; first += width) {
        typename lanes<N>::V read[Op::nin], held[nheld + 1], position, made[Op::nmade], keep;
        typename lanes<N>::quick formulas;
        UNROLL
        for (int e = 0; e < width; e++) {
            const int lane = first + e, row = LANES > 1 ? lane : 0;
            each<Op::nin>([&](auto i) {
                constexpr int I = i.value;
                if constexpr (Op::role(I) == VJPI_ELEMENTS)
                    read[I].lane[e] = pack_of<I, Op, N>(in).value_of(lane);
                else if constexpr (Op::is_row_input(I))
                    read[I].lane[e] = rows.at[Op::array_of(I)][row];
                else
                    read[I].lane[e] = 0; /* the formula does not use it */
            });
            UNROLL
            for (int v = 0; v < Op::nvalues; v++)
                held[v].lane[e] = rows.at[Op::first_value + v][row];
            if (more & VJPI_HAS_LETS)
                UNROLL
                for (int v = 0; v < Op::nlets; v++)
                    held[Op::nvalues + v].lane[e] = rows.lets[v][row];
            position.lane[e] = (T)index + (T)lane * (T)index_step;
            keep.lane[e] = kept ? kept->lane[lane] : 0;
        }
        Op::template formula<PART>(formulas, facts, read, held, position,
                                   (const T *)call.constants, &keep, made);
        if (__builtin_expect(!holds_for_all(formulas.usual), 0))
            replace_unusual<Op, PART>(call, formulas.usual, read, held, position, &keep, made);
        UNROLL
        for (int e = 0; e < width && kept; e++)
            kept->lane[first + e] = keep.lane[e];
        UNROLL
        for (int i = 0; i < Op::results(PART); i++)
            UNROLL
            for (int e = 0; e < width; e++)
                out[i].lane[first + e] = made[i].lane[e];
    }
}

/* Compute the ROWLETs that precede pass PART. */
template <class Op, int PART, int LANES>
INLINE void make_lets(const vjpi_cuda_call &call, row_numbers<Op, LANES> &rows)
{
    if constexpr (Op::results(LETS + PART) > 0) {
        inputs<Op, LANES> none = {};
        values<LANES> out[Op::nmade], unused = {};
        evaluate<Op, LETS + PART, LANES>(call, none, rows, 0, 0, out, VJPI_HAS_LETS, &unused);
        UNROLL
        for (int i = 0; i < Op::results(LETS + PART); i++)
            UNROLL
            for (int e = 0; e < LANES; e++)
                rows.lets[Op::lets_before(PART) + i][e] = out[i].lane[e];
    }
}

/* Compute and store the PER_ROW outputs of the row at `run`, which is lane e of `rows`. */
template <class Op, int LANES>
INLINE void store_per_row(const vjpi_cuda_call &call, const place &run,
                          const row_numbers<Op, LANES> &rows, int e)
{
    row_numbers<Op, 1> one;
    inputs<Op, 1> none = {};
    values<1> out[Op::nmade];
    UNROLL
    for (int a = 0; a < Op::narrays; a++)
        one.at[a][0] = rows.at[a][e];
    evaluate<Op, PER_ROWS, 1>(call, none, one, 0, 0, out);
    each<Op::nout>([&](auto i) {
        constexpr int I = Op::nin + i.value;
        if constexpr (Op::role(I) == VJPI_PER_ROW)
            if (!Op::optional(I) || is_given(call, I))
                store_number(call.dtypes[I], run.at[I], out[Op::result_of(I)].lane[0]);
    });
}

/* ---- arrays of all rows ------------------------------------------------------------------- */

/* Where tensor i has the element of a row, and where the row is along the dim that counts causal
 * rows. */
INLINE const char *row_address(const vjpi_cuda_loop &loop, int i, int64_t row, int64_t &causal)
{
    const char *at = loop.data[i];
    causal = 0;
    for (int d = loop.nouter - 1; d >= 0; d--) {
        int64_t index;
        row = vjpi_divide(row, loop.outer[d].n, &index);
        at += index * loop.outer[d].step[i];
        causal += index * loop.outer[d].causal;
    }
    return at;
}

/* The row inputs into their arrays, 0 into those of the row values: the values of a pass that is
 * skipped. For any operator. */
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    gather_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    T *arrays = (T *)loop.arrays + row;
    if (row >= loop.rows)
        return;
#pragma unroll 1
    for (int i = 0; i < VJPI_MAX_TENSORS; i++) {
        if (loop.array_of[i] == VJPI_CUDA_NO_TARGET)
            continue;
        int64_t causal;
        const char *at = row_address(loop, i, row, causal);
        T number = is_given(loop.call, i) ? load_number(loop.call.dtypes[i], at)
                                          : (T)loop.call.stand_ins[i];
        if (loop.ends >> i & 1)
            number = limit_end(loop, number, causal);
        arrays[loop.array_of[i] * loop.all_rows] = number;
    }
    for (int a = loop.narrays - loop.nvalues; a < loop.narrays; a++)
        arrays[a * loop.all_rows] = 0;
}

/* The PER_ROW outputs, a thread for each row. */
template <class Op>
__global__ void __launch_bounds__(VJPI_CUDA_THREADS)
    per_row_kernel(const __grid_constant__ vjpi_cuda_loop loop)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    row_numbers<Op, 1> rows;
    place run = place_start<Op>(loop);
    if (row >= loop.rows)
        return;
    move_outer<Op>(run, loop, 0, loop.nouter, row);
    UNROLL
    for (int a = 0; a < Op::narrays; a++)
        rows.at[a][0] = ((const T *)loop.arrays)[a * loop.all_rows + row];
    store_per_row<Op>(loop.call, run, rows, 0);
}
