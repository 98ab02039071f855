/* SPDX-License-Identifier: Apache-2.0 */
/* silu.h - x * sigmoid(alpha * x). Part of formulas.h. */

#if VJPI_COMPUTE_F64
#define SILU_ROOT_HIGH (-0x1.474973c84120bp+0)
#define SILU_ROOT_LOW (-0x1.f8d74bc9ac154p-54)
#define SILU_ROOT_REST (-0x1.44a50180ba78p-108)
#define SILU_WINDOW 0.25
#define SILU_CLOSE 0x1p-46 /* below: the distance from the root needs more care */
#else
#define SILU_ROOT_HIGH (-0x1.474974p+0f)
#define SILU_ROOT_LOW 0x1.bdf6fap-27f
#define SILU_ROOT_REST 0x1.03945ap-53f
#define SILU_WINDOW 0.4f
#define SILU_CLOSE 0x1p-18f
#endif

/* silu' near its root: t * Q(t), t the distance from the root: no digit is lost by subtraction. */
INLINE V silu_slope_near_root(V t)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        -0x1.795674b9da923p-27, 0x1.c2ef4304e7b09p-21, 0x1.3a3e0ed1c813cp-19,
        -0x1.8ab968c5137d2p-19, -0x1.f2d6cfb84a038p-16, -0x1.5723b55d54a1cp-15,
        0x1.8574cecf7c091p-13, 0x1.a2a7cafe9322cp-11, 0x1.098e92c5f9f6cp-13,
        -0x1.b0f82c4994411p-8, -0x1.f2d0e32bc31afp-7, 0x1.353eb573ca468p-6, 0x1.2c563458cc0adp-3,
        -0x1.27300b4f5e4fp-58
    };
    const T first = 0x1.be1410460527fp-3;
#else
    static const T c[] = { 0x1.7939ap-13f, 0x1.9bb226p-11f, 0x1.093982p-13f, -0x1.b0e1dap-8f,
                           -0x1.f2d048p-7f, 0x1.353e88p-6f, 0x1.2c5634p-3f, 0x1.3361d8p-29f };
    const T first = 0x1.be141p-3f;
#endif
    return muladd(t, k(first), t * POLYNOMIAL(t, c));
}

/* For |v| > LATE, v being alpha * x: the values of x * sigmoid(v) and similar functions, and their
 * slopes, g * factor * exp(v) left of 0 and `whole` right of it. The power of two is applied last.
 * An infinite x leaves 0. NaN stays NaN. */
RARE V fading_product(V x, parts v, V g, V factor, V whole)
{
    V z, t = at_least(at_most(v.high, k(0)), k(-FURTHEST));
    V low = pick(gt(k(1), absolute(v.low)), v.low, k(0)); /* beside an infinity there is none */
    V power = exp_reduced(reduced_parts(t, low, &z));
    V product = scaled_product(g, k(1), power * factor, z - k(MAGIC));
    M gone = both(gt(k(-LARGEST), v.high), gt(absolute(x), k(LARGEST)));
    product = pick(gone, g * with_sign(k(0), factor), product);
    return pick(gt(v.high, k(0)), whole, product);
}

/* exp(-|v|) and the other parts of the sigmoid of v and similar functions; right for |v| <= LATE.
 */
typedef struct logistic {
    V t, t_low, e; /* t + t_low: -|v| in two parts */
    M negative;
} logistic;

INLINE logistic logistic_of(parts v)
{
    logistic made;
    V z;
    made.negative = gt(k(0), v.high);
    made.t = -absolute(v.high);
    made.t_low = pick(made.negative, v.low, -v.low);
    V power = exp_reduced(reduced_parts(made.t, made.t_low, &z));
    made.e = times_2_to(power, z);
    return made;
}

INLINE V logistic_value(logistic s) { return ratio(pick(s.negative, s.e, k(1)), k(1) + s.e); }

/* g * sigmoid(v), v = alpha * x for some alpha. */
INLINE V sigmoid_product(V x, parts v, V g)
{
    logistic s = logistic_of(v);
    V y = g * logistic_value(s);
    M usual = gt(s.t, k(-LATE));
    return __builtin_expect(all(usual), 1) ? y
                                           : pick(usual, y, fading_product(x, v, g, k(1), g));
}

/* x * sigmoid(v). */
INLINE V silu_of(V x, parts v)
{
    logistic s = logistic_of(v);
    V y = x * logistic_value(s);
    M usual = gt(s.t, k(-LATE));
    return __builtin_expect(all(usual), 1)
               ? y
               : pick(usual, y, fading_product(x, v, nearest_finite(x), k(1), x));
}

/* The distance of -|alpha * x| from silu's root, right to the last digit also where it is tiny:
 * every rounding error is added back, and alpha has three parts. */
RARE V silu_distance(V x, V alpha, V alpha_low, V alpha_rest)
{
    V v = alpha * x, low = alpha_low * x;
    V sign = pick(gt(v, k(0)), k(-1), k(1));
    parts sum = sum_in_parts(sign * muladd(alpha, x, -v), sign * low);
    parts rest = sum_in_parts(sum.high, k(-SILU_ROOT_LOW));
    V last = sign * muladd(alpha_rest, x, muladd(alpha_low, x, -low));
    V lost = (sum.low + rest.low) + (last - k(SILU_ROOT_REST));
    return ((-absolute(v) - k(SILU_ROOT_HIGH)) + rest.high) + lost;
}

/* silu' at t = -|v|, v = alpha * x. `scaled` is e, or what is left of it if its power of two is to
 * be applied last. */
INLINE V silu_slope_left(logistic s, V scaled, V x, V alpha, V alpha_low, V alpha_rest)
{
    V f = ratio(scaled * ((k(1) + s.t) + (s.e + s.t_low)), muladd(s.e, k(2) + s.e, k(1)));
    V distance = (s.t - k(SILU_ROOT_HIGH)) + (s.t_low - k(SILU_ROOT_LOW));
    M usual = gt(absolute(distance), k(SILU_CLOSE));
    distance = __builtin_expect(all(usual), 1)
                   ? distance
                   : pick(usual, distance, silu_distance(x, alpha, alpha_low, alpha_rest));
    return pick(gt(k(SILU_WINDOW), absolute(distance)), silu_slope_near_root(distance), f);
}

/* dy * silu'(alpha * x): silu'(v) + silu'(-v) = 1. */
INLINE V silu_vjp(V x, V dy, V alpha, V alpha_low, V alpha_rest)
{
    parts v = product_in_parts(alpha, alpha_low, x);
    logistic s = logistic_of(v);
    V left = silu_slope_left(s, s.e, x, alpha, alpha_low, alpha_rest);
    V dx = dy * pick(s.negative, left, k(1) - left);
    M usual = gt(s.t, k(-LATE));
    return __builtin_expect(all(usual), 1)
               ? dx
               : pick(usual, dx,
                      fading_product(x, v, dy, k(1) + at_least(v.high, k(-FURTHEST)), dy));
}
