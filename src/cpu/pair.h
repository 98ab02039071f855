/* SPDX-License-Identifier: Apache-2.0 */
/* pair.h - one pair of vectors of one operator: load, compute, store. Part of loops.c.
 *
 * A `shape` is what the compiler is to know of a kernel. Everything here is inlined with a constant
 * one, so that what it does not need vanishes. */

/* The compute type in memory, in the order of the dtype's pairs. */
INLINE VV load_T(const void *p)
{
#if BY_PARITY
    return by_parity(JOIN(load_, VJPI_COMPUTE)(p));
#else
    return JOIN(load_, VJPI_COMPUTE)(p);
#endif
}

INLINE VV load_some_T(const void *p, ptrdiff_t n)
{
#if BY_PARITY
    return by_parity(JOIN(load_some_, VJPI_COMPUTE)(p, n));
#else
    return JOIN(load_some_, VJPI_COMPUTE)(p, n);
#endif
}

INLINE VV ordered(VV v)
{
#if BY_PARITY
    return in_order(v);
#else
    return v;
#endif
}

INLINE void store_T(void *p, VV v) { JOIN(store_, VJPI_COMPUTE)(p, ordered(v)); }
INLINE void stream_T(void *p, VV v) { JOIN(stream_, VJPI_COMPUTE)(p, ordered(v)); }

INLINE void store_some_T(void *p, VV v, ptrdiff_t n)
{
    JOIN(store_some_, VJPI_COMPUTE)(p, ordered(v), n);
}

/* The first n elements of a pair; 0 in the others. */
INLINE VV keep_first(VV v, ptrdiff_t n)
{
    ptrdiff_t in_a = BY_PARITY ? (n + 1) / 2 : n < LANES ? n : LANES;
    return (VV){ pick(first(in_a), v.a, k(0)), pick(first(n - in_a), v.b, k(0)) };
}

/* What the compiler is to know of a kernel. wide[i]: operand i is of the compute type. */
typedef struct shape {
    formula *formula;
    int part, choice, nin, nfull, nsums, noperands;
    bool one_sum; /* the row sum is one number for the whole line */
    bool wide[VJPI_MAX_OPERANDS];
} shape;

INLINE ptrdiff_t size_of(const shape *s, int i)
{
    return s->wide[i] ? (ptrdiff_t)sizeof(T) : SIZE;
}

INLINE VV load(const shape *s, int i, const char *p, ptrdiff_t some)
{
    if (!some && !s->wide[i] && s->part == OUTS && SIZE == sizeof(T))
        return LOAD_T_TO_STORE(p);
    if (!s->wide[i])
        return some ? LOAD_SOME(p, some) : LOAD(p);
    VV v = some ? load_some_T(p, some) : load_T(p);
#if BY_PARITY
    if (i < s->nin)
        v = (VV){ plain_nan(v.a), plain_nan(v.b) };
#endif
    return v;
}

INLINE void store(const shape *s, int i, char *p, VV v, ptrdiff_t some, bool stream)
{
    if (some && s->wide[i])
        store_some_T(p, v, some);
    else if (some)
        STORE_SOME(p, v, some);
    else if (stream && s->wide[i])
        stream_T(p, v);
    else if (stream)
        STREAM(p, v);
    else if (s->wide[i])
        store_T(p, v);
    else
        STORE(p, v);
}

/* One pair of vectors at element `at` of the current block: load, compute, store the FULL outputs
 * and leave the sums' terms in terms[]. some > 0: that many elements only. */
INLINE void pair(const shape *s, const float *constants, char *const *data, ptrdiff_t at,
                 ptrdiff_t some, bool stream, VV *terms)
{
    V in_a[VJPI_MAX_OPERANDS], in_b[VJPI_MAX_OPERANDS];
    V out_a[VJPI_MAX_OPERANDS], out_b[VJPI_MAX_OPERANDS];
    int nfull = s->part == OUTS ? s->nfull : 0;
    bool has_rowsum = s->part == OUTS && s->noperands > s->nin + s->nfull;
    int nloads = s->nin + (has_rowsum && !s->one_sum);
    UNROLL
    for (int i = 0; i < nloads; i++) {
        int operand = i < s->nin ? i : s->noperands - 1;
        VV v = load(s, operand, data[operand] + at * size_of(s, operand), some);
        in_a[i] = v.a;
        in_b[i] = v.b;
    }
    if (s->one_sum) {
        T sum;
        memcpy(&sum, data[s->noperands - 1], sizeof(sum));
        in_a[nloads] = in_b[nloads] = k(sum);
    }
    s->formula(s->part, s->choice, in_a, constants, out_a);
    s->formula(s->part, s->choice, in_b, constants, out_b);
    UNROLL
    for (int i = 0; i < nfull; i++)
        store(s, s->nin + i, data[s->nin + i] + at * size_of(s, s->nin + i),
              (VV){ out_a[i], out_b[i] }, some, stream);
    UNROLL
    for (int i = 0; i < s->nsums; i++) {
        VV term = { out_a[nfull + i], out_b[nfull + i] };
        terms[i] = some ? keep_first(term, some) : term;
    }
}
