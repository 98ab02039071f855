/* SPDX-License-Identifier: Apache-2.0 */
/* gelu.h - x * Phi(x), Phi the normal distribution, and its form with tanh. Part of formulas.h.
 *
 * With a = |x|: Phi(-a) = exp(-a^2 / 2) / (a + K) * F(y), y = (a - K) / (a + K), and the slope at
 * -a is exp(-a^2 / 2) * (root - a) * H(y): F and H are positive, smooth and change little, and no
 * digit is lost where the slope changes its sign. Right of 0 both are 1 minus that. */

#if VJPI_COMPUTE_F64
#define GELU_K 4
#define GELU_CAREFUL 1    /* the rounding of y counts also for a < GELU_LATE */
#define GELU_LATE 34     /* beyond: exp(-a^2 / 2) < 2^-833, and 1 - it is 1 */
#define GELU_FURTHEST 66 /* beyond: 0 even times the largest diff_dst and the largest up */
#define GELU_ROOT_HIGH 0x1.80ead197f00b4p-1
#define GELU_ROOT_LOW (-0x1.13e74c58cada8p-56)
#else
#define GELU_K 3
#define GELU_CAREFUL 0
#define GELU_LATE 11
#define GELU_FURTHEST 24
#define GELU_ROOT_HIGH 0x1.80ead2p-1f
#define GELU_ROOT_LOW (-0x1.a03fd4p-27f)
#endif

/* exp(-a^2 / 2) as 2^n times what is returned, z = n + MAGIC. a^2 in two parts: its rounding would
 * cost its size in ULP. */
INLINE V bell(V a, V *z)
{
    V other = a * k(-0.5f), t = a * other;
    return exp_reduced(reduced_parts(t, muladd(a, other, -t), z));
}

/* Phi(-a) / exp(-a^2 / 2). 2K / (a + K) is 1 - y but for the rounding of y, which costs digits far
 * out: if `careful`, it is put back. */
INLINE V gelu_tail(V a, V y, int careful)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        -0x1.fcb578002d7dp-35, -0x1.1cc2a99961b73p-32, 0x1.1bbf10df7cf2ap-33,
        0x1.3304d14462a13p-29, 0x1.f2b1e969e2887p-30, -0x1.6227a525b0687p-27,
        -0x1.4eb8d3e1422fbp-26, 0x1.20cf31cdebfe8p-25, 0x1.1250f5193eb38p-23,
        -0x1.5127c1a531d24p-24, -0x1.8d4cc66554c78p-21, 0x1.806797d6f85f6p-24,
        0x1.26d09eee80156p-18, -0x1.00199dc53f466p-22, -0x1.e4a4255011402p-16,
        0x1.17a4ab35c3155p-16, 0x1.ab825fbf8970ap-13, -0x1.c81719d0dedacp-12,
        -0x1.ee27610476a3cp-11, 0x1.eec4cc3e49cd9p-8, -0x1.7dff2bff683cp-6, 0x1.8c6dbf2cfc2d4p-5,
        -0x1.373e3a893c28ap-4, 0x1.82b4bb8c94dcep-4
    };
#else
    static const T c[] = { 0x1.1813dap-17f, 0x1.618968p-16f, -0x1.4ebdfap-15f, -0x1.66d7f8p-13f,
                           0x1.655cc2p-13f, 0x1.30645ap-10f, -0x1.c91806p-10f, -0x1.021d94p-7f,
                           0x1.3a0dp-5f, -0x1.5bb438p-4f, 0x1.f1b89cp-4f };
#endif
    const T whole = 2 * GELU_K;
    V p = POLYNOMIAL(y, c); /* F(y) / 2K */
    if (!careful)
        return muladd(-y, p, p);
    V rest = k(1) - y;
    return p * muladd(muladd(-rest, a + k(GELU_K), k(whole)) * k(1 / whole), rest, rest);
}

/* The slope at -a over (root - a) exp(-a^2 / 2). */
INLINE V gelu_hump(V y)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        -0x1.4cf7d2ea0010ep-34, -0x1.5801f1ebcb57ap-33, 0x1.370be596eb9fbp-31,
        0x1.dd1b032d613abp-30, -0x1.e56c94630d199p-30, -0x1.89f200f8d0e93p-27,
        -0x1.aaa70982e6b71p-31, 0x1.103efdadbde1dp-24, 0x1.c27b6aed555ecp-25,
        -0x1.7737c45f7e78cp-22, -0x1.083f7c0c54fccp-21, 0x1.2987a24cdcd02p-19,
        0x1.dafc1b12b5499p-19, -0x1.2e938181a58d4p-16, -0x1.2538131622b88p-16,
        0x1.85999c30fa7e9p-13, -0x1.443f63df10c0dp-13, -0x1.d4c8222aa6fa2p-10,
        0x1.37754d816b39cp-7, -0x1.cc1e2623d922ep-6, 0x1.ef4ff801379a5p-5, -0x1.a763001ac67ddp-4,
        -0x1.c340864111528p-58
    };
    const T first = 0x1.d94de78425463p-2;
#else
    static const T c[] = { 0x1.a8f1c2p-17f, 0x1.c7cd5cp-18f, -0x1.024cp-13f, -0x1.8d77cap-14f,
                           0x1.1e54fcp-10f, 0x1.ac318ap-13f, -0x1.cd3004p-7f, 0x1.b70f2cp-5f,
                           -0x1.eb6b6p-4f, -0x1.7213bp-29f };
    const T first = 0x1.e9c6dep-2f;
#endif
    return POLYNOMIAL(y, c) + k(first);
}

INLINE V gelu_place(V a) { return ratio(a - k(GELU_K), a + k(GELU_K)); }

/* What the slope at -a is over exp(-a^2 / 2). */
INLINE V gelu_bend(V a)
{
    return ((k(GELU_ROOT_HIGH) - a) + k(GELU_ROOT_LOW)) * gelu_hump(gelu_place(a));
}

/* g * m * 2^n left of 0, for z = n + MAGIC, and `whole` right of it. An infinite x leaves 0. NaN
 * stays NaN. */
INLINE V gelu_far(V x, V g, V m, V z, V whole)
{
    V product = scaled_product(g, k(1), m, z - k(MAGIC));
    product = pick(gt(absolute(x), k(LARGEST)), g * with_sign(k(0), m), product);
    return pick(gt(x, k(0)), whole, product);
}

/* Where the power of two is to be applied last, x is infinite or NaN. */
RARE V gelu_erf_late(V x)
{
    V a = at_most(absolute(x), k(GELU_FURTHEST)), z, power = bell(a, &z);
    return gelu_far(x, nearest_finite(x), power * gelu_tail(a, gelu_place(a), 1), z, x);
}

RARE V gelu_erf_vjp_late(V x, V dy)
{
    V a = at_most(absolute(x), k(GELU_FURTHEST)), z, power = bell(a, &z);
    return gelu_far(x, dy, power * gelu_bend(a), z, dy);
}

/* x * Phi(x). */
INLINE V gelu_erf_of(V x)
{
    V a = absolute(x), z, power = bell(a, &z);
    V p = times_2_to(power, z) * gelu_tail(a, gelu_place(a), GELU_CAREFUL);
    V y = pick(gt(x, k(0)), muladd(-x, p, x), x * p);
    M usual = gt(k(GELU_LATE), a);
    return __builtin_expect(all(usual), 1) ? y : pick(usual, y, gelu_erf_late(x));
}

/* dy * (Phi(x) + x * phi(x)), phi the normal density. */
INLINE V gelu_erf_vjp(V x, V dy)
{
    V a = absolute(x), z, power = bell(a, &z);
    V f = times_2_to(power, z) * gelu_bend(a);
    V dx = dy * pick(gt(k(0), x), f, k(1) - f);
    M usual = gt(k(GELU_LATE), a);
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, gelu_erf_vjp_late(x, dy));
}
