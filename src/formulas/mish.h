/* SPDX-License-Identifier: Apache-2.0 */
/* mish.h - x * tanh(log(1 + exp(x))) as a quotient of polynomials in e = exp(-|x|). Part of
 * formulas.h. */

#if VJPI_COMPUTE_F64
#define MISH_ROOT_HIGH (-0x1.31432c0d12d84p+0)
#define MISH_ROOT_LOW (-0x1.bf319154da21p-55)
#define MISH_WINDOW 0.25
#else
#define MISH_ROOT_HIGH (-0x1.31432cp+0f)
#define MISH_ROOT_LOW (-0x1.a25b08p-29f)
#define MISH_WINDOW 0.3f
#endif

/* Left of 0: x * e (e + 2) / (e (e + 2) + 2); right of it: x * (1 + 2e) / (1 + 2e + 2e^2). */
INLINE V mish_of(V x)
{
    V z, t = -absolute(x), power = exp_split(t, &z), e = times_2_to(power, z);
    M negative = gt(k(0), x);
    V left = e * (e + k(2)), right = muladd(e, k(2), k(1));
    V share = ratio(pick(negative, left, right),
                    pick(negative, left + k(2), muladd(e + e, e, right)));
    V y = x * share;
    M usual = gt(t, k(-LATE));
    return __builtin_expect(all(usual), 1)
               ? y
               : pick(usual, y, fading_product(x, exactly(x), nearest_finite(x), k(1), x));
}

/* mish' near its root: t * Q(t), t the distance from the root. */
INLINE V mish_slope_near_root(V t)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        0x1.061c7d2b8c4a4p-20, 0x1.852abfb890c52p-19, 0x1.014c670beee2dp-20, -0x1.22317bde45c9ep-16,
        -0x1.d456298778165p-15, -0x1.60000e4eb8066p-15, 0x1.0a7957dba8f5ap-12,
        0x1.037991a527671p-10, 0x1.1e5e184675afbp-10, -0x1.b87ddfb570ec2p-9, -0x1.03369d4ac88bep-6,
        -0x1.4c222fe64d37cp-6, 0x1.574f121a868d8p-5, 0x1.a34a251d8ad7bp-3, 0x1.1b018f459a434p-56
    };
    const T first = 0x1.115acb42500bbp-2;
#else
    static const T c[] = { 0x1.e79cc2p-11f, 0x1.29e1eap-10f, -0x1.b745bap-9f, -0x1.0340a8p-6f,
                           -0x1.4c242p-6f, 0x1.574f28p-5f, 0x1.a34a26p-3f, -0x1.7e59c8p-27f };
    const T first = 0x1.115accp-2f;
#endif
    return muladd(t, k(first), t * POLYNOMIAL(t, c));
}

/* Left of 0: e w / d; right of it: 1 + e^2 u / d. */
INLINE V mish_slope(V x, V t, V e)
{
    M negative = gt(k(0), x);
    V w = muladd(e, muladd(e, e + k(4), muladd(t, k(4), k(6))), muladd(t, k(4), k(4)));
    V u = muladd(e, muladd(e, k(-4), muladd(t, k(-4), k(-4))), muladd(t, k(-4), k(-2)));
    V left = muladd(e, muladd(e, muladd(e, e + k(4), k(8)), k(8)), k(4));
    V right = muladd(e, muladd(e, muladd(e, muladd(e, k(4), k(8)), k(8)), k(4)), k(1));
    V m = ratio(pick(negative, e * w, (e * e) * u), pick(negative, left, right));
    V distance = (x - k(MISH_ROOT_HIGH)) - k(MISH_ROOT_LOW);
    V slope = pick(negative, m, k(1) + m);
    return pick(gt(k(MISH_WINDOW), absolute(distance)), mish_slope_near_root(distance), slope);
}

INLINE V mish_vjp(V x, V dy)
{
    V z, t = -absolute(x), power = exp_split(t, &z), e = times_2_to(power, z);
    V dx = dy * mish_slope(x, t, e);
    M usual = gt(t, k(-LATE));
    return __builtin_expect(all(usual), 1)
               ? dx
               : pick(usual, dx, fading_product(x, exactly(x), dy,
                                                k(1) + at_least(x, k(-FURTHEST)), dy));
}
