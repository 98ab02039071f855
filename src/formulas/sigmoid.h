/* SPDX-License-Identifier: Apache-2.0 */
/* sigmoid.h - the sigmoid and what is made of it. Part of formulas.h. */

/* dy * 2^more * e / (1 + e)^2 where t = -|x| < -LATE, x is infinite or NaN.
 *
 * With e = exp(-|x|) = m * 2^(n+1), m in [0.35, 0.71), this is dy * m * 2^(n+1+more), the power of
 * two last: e alone would round to a subnormal or to 0 where a large dy still gives a normal
 * result. It is applied in three parts, so that no nonzero result is rounded twice and no
 * intermediate overflows. Kept out of line: the loops stay small, and ordinary data never gets
 * here. */
RARE V sigmoid_vjp_late(V x, V t, V dy, T more)
{
    V far = pick(gt(t, k(-FURTHEST)), t, k(-FURTHEST));
    V z, power = exp_split(far, &z);
    V rest = (z - k(MAGIC)) + k(1 - EARLY_EXPONENT + more);
    V last = pick(gt(rest, k(LAST_EXPONENT)), rest, k(LAST_EXPONENT));
    V late = dy * times_2_to(power * k(0.5f), k(EARLY_EXPONENT + MAGIC));
    late = late * times_2_to(k(1), (rest - last) + k(MAGIC)) * times_2_to(k(1), last + k(MAGIC));
    late = late * muladd(x, k(0), k(1)); /* NaN stays NaN */
    return pick(gt(absolute(x), k(LARGEST)), dy * k(0), late);
}

/* dy * e / (1 + e)^2 with e = exp(-|x|): even in x, and free of the cancellation in s * (1 - s). */
INLINE V sigmoid_vjp(V x, V dy)
{
    V t = -absolute(x);
    V z, power = exp_split(t, &z);
    V e = times_2_to(power, z);
    V dx = dy * ratio(e, muladd(e, k(2) + e, k(1)));
    M usual = gt(t, k(-LATE));
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, sigmoid_vjp_late(x, t, dy, 0));
}

/* tanh'(x) = 4 sigmoid'(2x). */
INLINE V tanh_vjp(V x, V dy)
{
    V t = k(-2) * absolute(x);
    V z, power = exp_split(t, &z);
    V e = times_2_to(power, z);
    V dx = dy * ratio(k(4) * e, muladd(e, k(2) + e, k(1)));
    M usual = gt(t, k(-LATE));
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, sigmoid_vjp_late(x, t, dy, 2));
}

/* dy * (y - y^2). */
INLINE V sigmoid_vjp_from_dst(V y, V dy)
{
    V dx = dy * muladd(-y, y, y);
    M usual = gt(k(HUGE_DST), absolute(y));
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, dy * y * (k(1) - y));
}
