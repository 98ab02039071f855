/* SPDX-License-Identifier: Apache-2.0 */
/* softplus.h - log(1 + exp(beta * x)) / beta; log_sigmoid is that with beta = -1. Part of
 * formulas.h. */

/* log(1 + e) for e from 0 to 1: 2 atanh(e / (2 + e)). */
INLINE V log1p_unit(V e)
{
#if VJPI_COMPUTE_F64
    static const T c[] = { 0x1.31e5f3c264f15p-4, 0x1.43731610a6ccp-5, 0x1.b8146340d63ap-5,
                           0x1.e136ebf78724p-5, 0x1.111465c239baap-4, 0x1.3b13a936cfcffp-4,
                           0x1.745d16994aa65p-4, 0x1.c71c71ce6504ap-4, 0x1.2492492483967p-3,
                           0x1.9999999999b17p-3, 0x1.5555555555555p-2 };
#else
    static const T c[] = { 0x1.e1171p-4f, 0x1.bb32fap-4f, 0x1.24d764p-3f, 0x1.999866p-3f,
                           0x1.555556p-2f };
#endif
    V q = ratio(e, k(2) + e), u = q * q, twice = q + q;
    return muladd(twice * u, POLYNOMIAL(u, c), twice);
}

/* log(1 + exp(v)) / beta, v = beta * x, inverse = 1 / beta, each in two parts. */
INLINE V softplus_of(V x, parts v, parts inverse)
{
    logistic s = logistic_of(v);
    V bend = log1p_unit(s.e), line = pick(gt(v.high, k(0)), x, k(0));
    V y = muladd(bend, inverse.high, muladd(bend, inverse.low, line));
    M usual = gt(s.t, k(-LATE));
    return __builtin_expect(all(usual), 1)
               ? y
               : pick(usual, y, fading_product(x, v, inverse.high, k(1), x));
}
