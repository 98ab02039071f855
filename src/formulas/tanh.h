/* SPDX-License-Identifier: Apache-2.0 */
/* tanh.h - tanh, x - tanh(x), and what they are made of. Part of formulas.h. */

#if VJPI_COMPUTE_F64
#define TANH_TINY 0x1p-28 /* below: tanh(x) is x */
#define TANH_FULL 80      /* exp(-80): 1 + it is 1 */
#else
#define TANH_TINY 0x1p-13f
#define TANH_FULL 40
#endif

/* exp(r) * 2^n - 1 for |r| <= ln(2) / 2 and z = n + MAGIC. */
INLINE V expm1_reduced(V r, V z)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        0x1.1f1a283c7cf11p-29, 0x1.af5f17c20c511p-26, 0x1.27e5133c92e3cp-22, 0x1.71ddf819199dfp-19,
        0x1.a01a018e0fb83p-16, 0x1.a01a01b000a1cp-13, 0x1.6c16c16c1aafap-10, 0x1.111111110f659p-7,
        0x1.555555555554dp-5, 0x1.5555555555559p-3, 0.5
    };
#else
    static const T c[] = { 0x1.9e0bfep-13f, 0x1.6d436ap-10f, 0x1.111306p-7f, 0x1.5554fp-5f,
                           0x1.555554p-3f, 0.5f };
#endif
    V power = times_2_to(k(1), z);
    return muladd(power, muladd(r * POLYNOMIAL(r, c), r, r), power - k(1));
}

INLINE V tanh_of(V x)
{
    V z, r = reduced(at_least(k(-2) * absolute(x), k(-TANH_FULL)), &z);
    V m = expm1_reduced(r, z);
    V y = with_sign(ratio(m, k(2) + m), x);
    return pick(gt(k(TANH_TINY), absolute(x)), x, y);
}

/* dy * (1 - y^2). */
INLINE V tanh_vjp_from_dst(V y, V dy)
{
    V dx = dy * muladd(-y, y, k(1));
    M usual = gt(k(HUGE_DST), absolute(y));
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, (dy * y) * -y);
}

/* x - tanh(x): x^3 * P(x^2) up to 1, then (x - 1 + (x + 1) * e) / (1 + e), e = exp(-2x): no digit
 * is lost by subtraction. */
INLINE V tanh_shrink_of(V x)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        -0x1.a931f85c6d4eap-26, 0x1.1755c36fb9c39p-22, -0x1.6f3d79b45ba48p-20,
        0x1.4d28386f471b5p-18, -0x1.e901a2fa5e612p-17, 0x1.41c475f105551p-15,
        -0x1.947fee9e43f67p-14, 0x1.f51ae2ad9c768p-13, -0x1.35511a1aceeefp-11,
        0x1.7da2a9ee62e2cp-10, -0x1.d6d3c35bfa628p-9, 0x1.226e350a6ecbfp-7,
        -0x1.664f488037e98p-6, 0x1.ba1ba1ba10cc5p-5, -0x1.111111111106cp-3, 0x1.5555555555555p-2
    };
#else
    static const T c[] = { -0x1.4374e2p-13f, 0x1.fae5b4p-11f, -0x1.acefd8p-9f, 0x1.1ead8ap-7f,
                           -0x1.660066p-6f, 0x1.ba1af6p-5f, -0x1.11112cp-3f, 0x1.555556p-2f };
#endif
    V a = absolute(x), u = x * x, small = x * (u * POLYNOMIAL(u, c));
    V z, power = exp_split(at_least(k(-2) * a, k(-TANH_FULL)), &z), e = times_2_to(power, z);
    V large = ratio(muladd(e, a + k(1), a - k(1)), k(1) + e);
    large = pick(gt(a, k(TANH_FULL)), a - k(1), large);
    return pick(gt(k(1), a), small, with_sign(large, x));
}

/* dy * tanh(x)^2. dy first: an intermediate underflows only if the result does. */
INLINE V tanh_shrink_vjp(V x, V dy)
{
    V y = tanh_of(x);
    return (dy * y) * y;
}
