/* SPDX-License-Identifier: Apache-2.0 */
/* gelu_tanh.h - x * (1 + tanh(u)) / 2 = x * sigmoid(2u), u = sqrt(2 / pi) * (x + 0.044715 x^3).
 * Part of formulas.h. */

#if VJPI_COMPUTE_F64
#define GELU_TANH_LATE 19     /* beyond: exp(-2u) < 2^-749, and 1 + it is 1 */
#define GELU_TANH_FURTHEST 32 /* beyond: 0 even times the largest diff_dst and the largest up */
#define GELU_TANH_ROOT_HIGH (-0x1.81429f9e97e4dp-1)
#define GELU_TANH_ROOT_LOW 0x1.4f523ed77dbdcp-55
#define GELU_TANH_WINDOW 0.4
#define GELU_K1_HIGH 0x1.26aec21bce759p1 /* 2 log2(e) sqrt(2 / pi), and 0.044715 times that */
#define GELU_K1_LOW 0x1.2ed2859b4314fp-53
#define GELU_K2_HIGH 0x1.a5a7cf7572a98p-4
#define GELU_K2_LOW (-0x1.b91c940e4cfcfp-58)
#define GELU_W1_HIGH 0x1.9884533d43651p0 /* 2 sqrt(2 / pi), and 3 * 0.044715 times that */
#define GELU_W1_LOW (-0x1.cbc0d30ebfd15p-54)
#define GELU_W2 0x1.b6676bf7450fp-3
#else
#define GELU_TANH_LATE 8.75f
#define GELU_TANH_FURTHEST 16
#define GELU_TANH_ROOT_HIGH (-0x1.8142ap-1f)
#define GELU_TANH_ROOT_LOW 0x1.85a06cp-27f
#define GELU_TANH_WINDOW 0.5f
#define GELU_K1_HIGH 0x1.26aec2p1f
#define GELU_K1_LOW 0x1.bce75ap-27f
#define GELU_K2_HIGH 0x1.a5a7dp-4f
#define GELU_K2_LOW (-0x1.151aaep-29f)
#define GELU_W1_HIGH 0x1.988454p0f
#define GELU_W1_LOW (-0x1.857936p-25f)
#define GELU_W2 0x1.b6676cp-3f
#endif

/* 2^f for |f| <= 1/2. */
INLINE V exp2_reduced(V f)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        0x1.bd6d6b8666b21p-36, 0x1.e9eb5839423b2p-32, 0x1.e4d459743cca2p-28, 0x1.b524ec5aa3e23p-24,
        0x1.62c020d24398dp-20, 0x1.ffcbfc6d626adp-17, 0x1.430912f8c67fdp-13, 0x1.5d87fe78a408ap-10,
        0x1.3b2ab6fba4d3fp-7, 0x1.c6b08d704a0c6p-5, 0x1.ebfbdff82c58fp-3, 0x1.62e42fefa39efp-1, 1
    };
#else
    static const T c[] = { 0x1.3fad5ep-13f, 0x1.5f0ca8p-10f, 0x1.3b3096p-7f, 0x1.c6af74p-5f,
                           0x1.ebfbd8p-3f, 0x1.62e43p-1f, 1 };
#endif
    return POLYNOMIAL(f, c);
}

/* exp(-2u) at a = |x| as 2^n times what is returned, z = n + MAGIC: a * (K1 + K2 a^2) is never
 * rounded as a whole, which would cost its size in ULP. */
INLINE V gelu_tanh_power(V a, V *z)
{
    V q = a * a, q_low = muladd(a, a, -q);
    V p = k(GELU_K2_HIGH) * q, p_low = muladd(k(GELU_K2_HIGH), q, -p);
    p_low = muladd(k(GELU_K2_LOW), q, muladd(k(GELU_K2_HIGH), q_low, p_low));
    parts b = sum_in_parts(p, k(GELU_K1_HIGH));
    V b_low = b.low + (p_low + k(GELU_K1_LOW));
    *z = muladd(-a, b.high, k(MAGIC));
    V n = *z - k(MAGIC);
    return exp2_reduced(muladd(-a, b_low, muladd(-a, b.high, -n)));
}

/* The slope near its root: t * Q(t), t the distance from the root. */
INLINE V gelu_tanh_slope_near_root(V t)
{
#if VJPI_COMPUTE_F64
    static const T c[] = { 0x1.983966f92b882p-23,  -0x1.98089b2c00d4cp-22, -0x1.147635104651fp-20,
                           0x1.44993c859306cp-19,  0x1.8e08297c57f85p-18,  -0x1.0b9210ae41dbbp-16,
                           -0x1.25403ecd3f3cep-15, 0x1.04934eedf7ebep-13,  0x1.14bf96dde0878p-12,
                           -0x1.e63f28ce67a63p-11, -0x1.3d8d642eff24cp-9,  0x1.58c9ed70badbep-8,
                           0x1.427996dc3c22ep-6,   -0x1.104a83edc0599p-6,  -0x1.d2b7734647212p-4,
                           -0x1.029615edb0789p-6,  0x1.8cd1a2b2fff33p-2,   0x1.7802b3cffa3fcp-56 };
    const T first = 0x1.b8bacd2c96b91p-2;
#else
    static const T c[] = { 0x1.a2e228p-13f, -0x1.c04b92p-11f, -0x1.398ef4p-9f, 0x1.57cc3ep-8f,
                           0x1.42619cp-6f, -0x1.10452cp-6f, -0x1.d2b6fep-4f, -0x1.02963cp-6f,
                           0x1.8cd1a2p-2f, -0x1.a3cdb8p-27f };
    const T first = 0x1.b8bacep-2f;
#endif
    return muladd(t, k(first), t * POLYNOMIAL(t, c));
}

/* The slope at -a, with e = exp(-2u): scaled * (1 + e - w) / (1 + e)^2, w = 2u' a. `scaled` is e,
 * or what is left of it if its power of two is to be applied last. */
INLINE V gelu_tanh_bend(V a, V e, V scaled)
{
    V w = muladd(a * a, k(GELU_W2), k(GELU_W1_HIGH));
    V m = muladd(-a, k(GELU_W1_LOW), muladd(-a, w, k(1) + e));
    V f = ratio(scaled * m, muladd(e, k(2) + e, k(1)));
    V distance = (-a - k(GELU_TANH_ROOT_HIGH)) - k(GELU_TANH_ROOT_LOW);
    return pick(gt(k(GELU_TANH_WINDOW), absolute(distance)), gelu_tanh_slope_near_root(distance),
                f);
}

/* Where the power of two is to be applied last, x is infinite or NaN. */
RARE V gelu_tanh_late(V x)
{
    V a = at_most(absolute(x), k(GELU_TANH_FURTHEST)), z, power = gelu_tanh_power(a, &z);
    return gelu_far(x, nearest_finite(x), power, z, x);
}

RARE V gelu_tanh_vjp_late(V x, V dy)
{
    V a = at_most(absolute(x), k(GELU_TANH_FURTHEST)), z, power = gelu_tanh_power(a, &z);
    return gelu_far(x, dy, gelu_tanh_bend(a, k(0), power), z, dy);
}

INLINE V gelu_tanh_of(V x)
{
    V a = absolute(x), z, power = gelu_tanh_power(a, &z), e = times_2_to(power, z);
    V y = x * ratio(pick(gt(k(0), x), e, k(1)), k(1) + e);
    M usual = gt(k(GELU_TANH_LATE), a);
    return __builtin_expect(all(usual), 1) ? y : pick(usual, y, gelu_tanh_late(x));
}

INLINE V gelu_tanh_vjp(V x, V dy)
{
    V a = absolute(x), z, power = gelu_tanh_power(a, &z), e = times_2_to(power, z);
    V f = gelu_tanh_bend(a, e, e);
    V dx = dy * pick(gt(k(0), x), f, k(1) - f);
    M usual = gt(k(GELU_TANH_LATE), a);
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, gelu_tanh_vjp_late(x, dy));
}
