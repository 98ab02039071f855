/* SPDX-License-Identifier: Apache-2.0 */
/* gated.h - units that multiply one input by an activation of another. Part of formulas.h. */

#if VJPI_COMPUTE_F64
#define SILU_ROOT_HIGH (-0x1.474973c84120bp+0)
#define SILU_ROOT_LOW (-0x1.f8d74bc9ac154p-54)
#define SILU_WINDOW 0.25
#define GATED_FURTHEST 2200 /* beyond: the gradient is 0 for all finite diff_dst and up */
#else
#define SILU_ROOT_HIGH (-0x1.474974p+0f)
#define SILU_ROOT_LOW 0x1.bdf6fap-27f
#define SILU_WINDOW 0.4f
#define GATED_FURTHEST 300
#endif

/* silu' near its root: t * Q(t), t the distance from the root: no digit is lost by subtraction. */
INLINE V silu_slope_near_root(V t)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        -0x1.28d97ffe5701ap-25, 0x1.c2e1da8a2b944p-21, 0x1.3aecd4a3d4ac5p-19,
        -0x1.8ab8bc2b9df34p-19, -0x1.f2d8a7865a96dp-16, -0x1.5723b632642fep-15,
        0x1.8574d1421971bp-13, 0x1.a2a7caff10db7p-11, 0x1.098e92b8d2724p-13,
        -0x1.b0f82c499488bp-8, -0x1.f2d0e32bc298cp-7, 0x1.353eb573ca46ap-6, 0x1.2c563458cc0adp-3
    };
    const T first = 0x1.be1410460527fp-3, first_low = -0x1.285449233a1e2p-58;
#else
    static const T c[] = { 0x1.71d910p-13f, 0x1.9bb0a0p-11f, 0x1.0b81d2p-13f, -0x1.b0e1c8p-8f,
                           -0x1.f2d122p-7f, 0x1.353e88p-6f, 0x1.2c5634p-3f };
    const T first = 0x1.be1410p-3f, first_low = 0x1.357c6cp-29f;
#endif
    V q = k(c[0]);
    UNROLL
    for (size_t i = 1; i < sizeof(c) / sizeof(c[0]); i++)
        q = muladd(q, t, k(c[i]));
    return muladd(t, k(first), t * muladd(q, t, k(first_low)));
}

/* s(v), the sigmoid, and silu'(v) for v = alpha * x: each times 2^exponent, which is not 0 only where
 * exp(v) alone would be subnormal. Where v is -inf both are 0, the slope from below. */
typedef struct silu {
    V sigmoid, slope, exponent;
} silu;

INLINE silu silu_of(V x, V alpha, V alpha_low)
{
    silu made;
    V v = alpha * x, low = muladd(alpha, x, -v) + alpha_low * x;
    low = pick(gt(k(1), absolute(low)), low, k(0)); /* beside an infinity there is none */
    M negative = gt(k(0), v);
    V t = at_least(-absolute(v), k(-GATED_FURTHEST)), t_low = pick(negative, low, -low);
    V z = muladd(t, k(LOG2_E), k(MAGIC)), n = z - k(MAGIC);
    V power = exp_reduced(muladd(n, k(-LN2_LOW), muladd(n, k(-LN2_HIGH), t)) + t_low);
    M late = gt(k(-LATE), t);
    V e = times_2_to(power, pick(late, k(MAGIC - LATE), z)); /* where late, too small to matter */
    V scaled = pick(late, power, e), small = pick(late, k(0), e);
    V f = ratio(scaled * ((k(1) + t) + (small + t_low)), muladd(e, k(2) + e, k(1)));
    V distance = (t - k(SILU_ROOT_HIGH)) + (t_low - k(SILU_ROOT_LOW));
    f = pick(gt(k(SILU_WINDOW), absolute(distance)), silu_slope_near_root(distance), f);
    V slope = pick(negative, f, k(1) - pick(late, k(0), f));
    M gone = both(negative, gt(absolute(x), k(LARGEST)));
    made.sigmoid = pick(gone, k(0), ratio(pick(negative, scaled, k(1)), k(1) + e));
    made.slope = pick(gone, -k(0), pick(eq(v, v), slope, v)); /* NaN stays NaN */
    made.exponent = pick(gone, k(0), pick(both(late, negative), n, k(0)));
    return made;
}

/* a * b * m * 2^exponent. */
INLINE V silu_product(V a, V b, V m, V exponent)
{
    M usual = gt(exponent, k(-1));
    V dx = product_of_3(a, b, m);
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, scaled_product(a, b, m, exponent));
}

/* `value` where x is below the limit, or where there is none; else +0. NaN stays NaN. */
INLINE V below_limit(V value, V x, V limit)
{
    V cut = pick(gt(limit, x), value, pick(eq(x, x), k(0), x));
    return pick(gt(limit, k(LARGEST)), value, cut);
}

INLINE V swiglu_diff_gate(V gate, V up, V dy, V alpha, V alpha_low, V limit, V bias)
{
    silu s = silu_of(at_most(gate, limit), alpha, alpha_low);
    V clamped = at_most(at_least(up, -limit), limit);
    return below_limit(silu_product(dy, clamped + bias, s.slope, s.exponent), gate, limit);
}

INLINE V swiglu_diff_up(V gate, V up, V dy, V alpha, V alpha_low, V limit)
{
    V clamped = at_most(gate, limit);
    silu s = silu_of(clamped, alpha, alpha_low);
    V finite = at_most(at_least(clamped, k(-LARGEST)), k(LARGEST)); /* times 0 is 0 */
    V factor = pick(gt(s.sigmoid, k(0)), clamped, finite);
    return below_limit(silu_product(dy, factor, s.sigmoid, s.exponent), absolute(up), limit);
}
