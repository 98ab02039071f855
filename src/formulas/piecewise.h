/* SPDX-License-Identifier: Apache-2.0 */
/* piecewise.h - quotients, products and pieces that keep their digits over the whole range. Part of
 * formulas.h. */

#ifndef VJPI_PIECEWISE_CONSTANTS
#define VJPI_PIECEWISE_CONSTANTS
#if VJPI_COMPUTE_F64
#define SIXTH_HIGH 0x1.5555555555555p-3
#define SIXTH_LOW 0x1.5555555555555p-57
#define BELOW_3 0x1.7ffffffffffffp1  /* the number before 3 */
#define NO_FRACTION 0x1p52           /* from here on every number is an integer */
#define TWICE_OVERFLOWS 0x1p1022     /* about: beyond, twice that might */
#define HALF_WAY 0x1p-512            /* brings such numbers to the middle of the range */
#define TINY_DIFF 0x1p-766           /* below: its quotient by a number < 1 might be subnormal */
#define RAISED 0x1p256               /* what such gradients are multiplied by */
#else
#define SIXTH_HIGH 0x1.555554p-3f
#define SIXTH_LOW 0x1.555556p-27f
#define BELOW_3 0x1.7ffffep1f
#define NO_FRACTION 0x1p23f
#define TWICE_OVERFLOWS 0x1p126f
#define HALF_WAY 0x1p-64f
#define TINY_DIFF 0x1p-94f
#define RAISED 0x1p32f
#endif
#endif

/* v, or NaN where x is. */
INLINE V unless_nan(V x, V v) { return pick(eq(x, x), v, x); }

/* max(x, 0), +0 at -0; NaN stays NaN. */
INLINE V positive_part(V x) { return at_least(x, k(0)) + k(0); }

/* a / 6 with the digits of 1/6 that do not fit in one number. Both parts are positive: -0 stays
 * -0. */
INLINE V sixth_of(V a) { return muladd(a, k(SIXTH_HIGH), a * k(SIXTH_LOW)); }

/* To the nearest integer, ties to even: adding NO_FRACTION leaves no digits behind the point. */
INLINE V nearest_integer(V x)
{
    V size = absolute(x), whole = (size + k(NO_FRACTION)) - k(NO_FRACTION);
    V near = pick(gt(size, k(0.5f)), pick(gt(k(0), x), -whole, whole), x * k(0)); /* keeps -0 */
    return pick(gt(k(NO_FRACTION), size), near, x);
}

/* 2 * a * b, rounded once: the factor that cannot overflow is doubled. */
INLINE V twice_product(V a, V b)
{
    M large = gt(absolute(a), k(1));
    return pick(large, a, a + a) * pick(large, b + b, b);
}

/* x * (x + 3) / 6 between -3 and 3; -0 below, x above. */
INLINE V hard_swish_of(V x)
{
    V from = at_least(x, k(-3));
    return pick(gt(x, k(3)), x, sixth_of(from * (from + k(3))));
}

/* dy * (2 * x + 3) / 6 between -3 and 3: 2 * x + 3 has all its digits next to the root, -3/2. */
INLINE V hard_swish_vjp(V x, V dy)
{
    V dx = pick(gt(x, k(BELOW_3)), dy, dy * sixth_of(muladd(k(2), x, k(3))));
    return pick(gt(k(-BELOW_3), x), k(0), dx);
}

/* dy / (2 * y) for any y: twice a large one would overflow. */
INLINE V half_quotient(V dy, V y)
{
    V scale = pick(gt(absolute(y), k(TWICE_OVERFLOWS)), k(HALF_WAY), k(1));
    V scaled = y * scale;
    return (dy * scale) / (scaled + scaled);
}

/* -dy / x^2: the first quotient must not underflow where the second one is normal. */
INLINE V reciprocal_vjp(V x, V dy)
{
    V scale = pick(gt(k(TINY_DIFF), absolute(dy)), k(RAISED), k(1));
    return -(((dy * scale) / x) / (x * scale));
}

/* x / (1 + |x|); infinity as the largest number, which gives +-1. */
INLINE V softsign_of(V x)
{
    V finite = at_most(at_least(x, k(-LARGEST)), k(LARGEST));
    return finite / (k(1) + absolute(finite));
}

/* dy / (1 + |x|)^2 where |x| is so large that the square might overflow, infinite or NaN. */
RARE V softsign_vjp_far(V x, V dy)
{
    V sum = k(1) + absolute(x);
    return (dy / sum) / sum;
}

/* dy * q^2, q = 1 / (1 + |x|): what the sum and the quotient lost is put back into one of the
 * factors. */
INLINE V softsign_vjp(V x, V dy)
{
    V size = absolute(x), sum = k(1) + size;
    V back = sum - k(1), lost = (k(1) - (sum - back)) + (size - back);
    V q = ratio(k(1), sum), rest = muladd(-q, lost, muladd(-q, sum, k(1)));
    V dx = (dy * q) * muladd(q, rest + rest, q);
    M usual = gt(k(HUGE_DST), size);
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, softsign_vjp_far(x, dy));
}
