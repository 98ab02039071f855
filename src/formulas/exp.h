/* SPDX-License-Identifier: Apache-2.0 */
/* exp.h - exp. Part of formulas.h. */

#ifndef VJPI_FORMULAS_CONSTANTS
#define VJPI_FORMULAS_CONSTANTS
#if VJPI_COMPUTE_F64
#define MAGIC 0x1.8p52         /* z = v + MAGIC holds v rounded to an integer in its low bits */
#define LOG2_E 0x1.71547652b82fep0
#define LN2_HIGH 0x1.62e42fefa39efp-1
#define LN2_LOW 0x1.abc9e3b39803fp-56
#define LATE 600               /* beyond: exp(-|x|) < 2^-865, and (1 + exp(-|x|))^2 is 1 */
#define FURTHEST 1460          /* beyond: the gradient is 0 for every finite diff_dst */
#define EARLY_EXPONENT (-512)  /* the part of the power of two that is applied before diff_dst */
#define LAST_EXPONENT (-800)   /* the most that is applied in the last step */
#define HUGE_DST 0x1p500         /* beyond: dst^2 might overflow where dst^2 * diff_dst does not */
#define LARGEST 0x1.fffffffffffffp1023
#else
#define MAGIC 0x1.8p23f
#define LOG2_E 0x1.715476p0f
#define LN2_HIGH 0x1.62e43p-1f
#define LN2_LOW (-0x1.05c61p-29f)
#define LATE 66
#define FURTHEST 194
#define EARLY_EXPONENT (-64)
#define LAST_EXPONENT (-100)
#define HUGE_DST 0x1p60f
#define LARGEST 0x1.fffffep127f
#endif
#endif

/* exp(r) for |r| <= ln(2) / 2. */
INLINE V exp_reduced(V r)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        0x1.ad930400c27dep-26, 0x1.28adfefa80119p-22, 0x1.71df18e2549ep-19,
        0x1.a019995cdc75bp-16, 0x1.a01a012ff293ep-13, 0x1.6c16c18477aefp-10,
        0x1.1111111126b3p-7, 0x1.55555555506bap-5, 0x1.55555555554fep-3, 0x1.000000000000ap-1,
        1, 1
    };
#else
    static const T c[] = { 0x1.694ca6p-10f, 0x1.12398p-7f, 0x1.555a26p-5f, 0x1.555492p-3f,
                           0x1.fffffap-2f, 1, 1 };
#endif
    V p = k(c[0]);
    UNROLL
    for (size_t i = 1; i < sizeof(c) / sizeof(c[0]); i++)
        p = muladd(p, r, k(c[i]));
    return p;
}

/* exp(t) as 2^n times what is returned, with z = n + MAGIC, for t from -FURTHEST to 0. */
INLINE V exp_split(V t, V *z)
{
    *z = muladd(t, k(LOG2_E), k(MAGIC));
    V n = *z - k(MAGIC);
    return exp_reduced(muladd(n, k(-LN2_LOW), muladd(n, k(-LN2_HIGH), t)));
}
