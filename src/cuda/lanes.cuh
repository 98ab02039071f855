/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.cuh - the vocabulary of formulas (cpu/lanes_scalar.h) on CUDA: the LANES elements that a
 * thread has at once. Included once for each number of LANES, in a namespace of its own.
 *
 * Compiled with -fmad=false, so that the same text gives the CPU's bits. */

struct V {
    T lane[LANES];
};

struct M {
    bool lane[LANES];
};

/* name(...) lane by lane: `i` is the lane. */
#define LANEWISE(result, name, parameters, expression) \
    INLINE result name parameters                      \
    {                                                  \
        result made;                                   \
        UNROLL                                         \
        for (int i = 0; i < LANES; i++)                \
            made.lane[i] = expression;                 \
        return made;                                   \
    }

LANEWISE(V, k, (T c), c)
LANEWISE(V, operator+, (V a, V b), a.lane[i] + b.lane[i])
LANEWISE(V, operator-, (V a, V b), a.lane[i] - b.lane[i])
LANEWISE(V, operator*, (V a, V b), a.lane[i] * b.lane[i])
LANEWISE(V, operator/, (V a, V b), a.lane[i] / b.lane[i])
LANEWISE(V, operator-, (V a), -a.lane[i])
LANEWISE(M, gt, (V a, V b), a.lane[i] > b.lane[i])
LANEWISE(M, eq, (V a, V b), a.lane[i] == b.lane[i])
LANEWISE(M, both, (M m, M n), m.lane[i] && n.lane[i])
LANEWISE(V, pick, (M m, V a, V b), m.lane[i] ? a.lane[i] : b.lane[i])
LANEWISE(V, greater_of, (V a, V b), a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i])
LANEWISE(V, lesser_of, (V a, V b), a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i])
LANEWISE(V, muladd, (V a, V b, V c), fused(a.lane[i], b.lane[i], c.lane[i]))
LANEWISE(V, absolute, (V a), magnitude(a.lane[i]))
LANEWISE(V, times_2_to, (V a, V z), add_exponent(a.lane[i], z.lane[i]))
LANEWISE(V, ratio, (V a, V b), near_ratio(a.lane[i], b.lane[i]))

#if !VJPI_COMPUTE_F64
#define NEAR_POWER
LANEWISE(V, near_power, (V a), near_power_of_2(a.lane[i]))
LANEWISE(V, greater_or_nan, (V a, V b), max_or_nan(a.lane[i], b.lane[i]))
#endif

LANEWISE(V, root, (V a), square_root(a.lane[i]))
LANEWISE(V, with_sign, (V a, V s), signed_as(a.lane[i], s.lane[i]))

INLINE V split_exponent(V a, V *z)
{
    V made;
    UNROLL
    for (int i = 0; i < LANES; i++)
        made.lane[i] = fraction_of(a.lane[i], z->lane[i]);
    return made;
}

INLINE bool holds_for_all(M m)
{
    bool made = true;
    UNROLL
    for (int i = 0; i < LANES; i++)
        made = made && m.lane[i];
    return made;
}

/* The formulas as members, so that they can note what they find.
 *
 * QUICK: only the branches that ordinary numbers take. `usual` says for which lanes they are right;
 * the others are computed again, one at a time, by formulas that are not QUICK. So a kernel has the
 * rare branches once, for one lane, and its loop has none of them. */
template <bool QUICK> struct formulas {
    M usual;

    INLINE_MEMBER formulas()
    {
        UNROLL
        for (int i = 0; i < LANES; i++)
            usual.lane[i] = true;
    }

    INLINE_MEMBER bool all(M m)
    {
        usual = both(usual, m);
        return QUICK || holds_for_all(m);
    }

#pragma push_macro("INLINE")
#pragma push_macro("RARE")
#undef INLINE
#undef RARE
#define INLINE INLINE_MEMBER
#define RARE INLINE_MEMBER
#define LETS_MADE (facts & VJPI_HAS_LETS)
#include "formulas.h"
#undef LETS_MADE
#undef NEAR_POWER
#pragma pop_macro("RARE")
#pragma pop_macro("INLINE")
};

#undef LANEWISE
