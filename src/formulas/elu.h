/* SPDX-License-Identifier: Apache-2.0 */
/* elu.h - scale * x right of 0, steep * (exp(input_scale * x) - 1) left of it, steep being
 * scale * alpha. Part of formulas.h. */

/* Where input_scale * x > LATE_EXP, or x is NaN. */
RARE V elu_late(parts v, V steep)
{
    V low = pick(gt(k(1), absolute(v.low)), v.low, k(0)); /* beside an infinity there is none */
    V z, power = exp_reduced(reduced_parts(at_most(v.high, k(FURTHEST_OF_TWO)), low, &z));
    return scaled_product(steep, k(1), power, z - k(MAGIC));
}

/* slope: steep * input_scale, the factor of x where exp(v) - 1 is just v. */
INLINE V elu_of(V x, V scale, parts steep, V slope, V input_scale, V input_scale_low)
{
    M right = gt(x, k(0));
    parts v = product_in_parts(input_scale, input_scale_low, x);
    V t = pick(right, k(0), v.high), z, r = reduced_parts(t, v.low, &z);
    V m = pick(gt(k(-TANH_FULL), t), k(-1), expm1_reduced(r, z));
    V left = muladd(m, steep.high, m * steep.low);
    M usual = gt(k(LATE_EXP), t);
    left = __builtin_expect(all(usual), 1) ? left : pick(usual, left, elu_late(v, steep.high));
    left = pick(gt(k(TANH_TINY * TANH_TINY), absolute(t)), slope * x, left);
    return pick(right, scale * x, left);
}

/* Where the power of two is to be applied last, x is infinite or NaN, or the slope at 0 is far
 * from 1. */
RARE V elu_vjp_late(V x, parts v, V dy, V slope)
{
    V z, t = at_most(at_least(v.high, k(-FURTHEST_OF_TWO)), k(FURTHEST_OF_TWO));
    V low = pick(gt(k(1), absolute(v.low)), v.low, k(0)); /* beside an infinity there is none */
    V power = exp_reduced(reduced_parts(t, low, &z));
    V product = scaled_product(dy, slope, power, z - k(MAGIC));
    V end = pick(gt(v.high, k(0)), v.high, k(0)); /* exp at an infinity */
    return pick(both(gt(absolute(x), k(LARGEST)), gt(absolute(v.high), k(LARGEST))),
                dy * slope * end, product);
}

/* slope: steep * input_scale. */
INLINE V elu_vjp(V x, V dy, V scale, parts slope, V input_scale, V input_scale_low)
{
    const T far = (T)(1 << 30);
    M right = gt(x, k(0));
    parts v = product_in_parts(input_scale, input_scale_low, x);
    V t = pick(right, k(0), v.high), z, power = exp_reduced(reduced_parts(t, v.low, &z));
    V e = times_2_to(power, z);
    V dx = dy * muladd(e, slope.high, e * slope.low);
    V limit = pick(both(gt(absolute(slope.high), k(1 / far)), gt(k(far), absolute(slope.high))),
                   k(LATE), k(0));
    M usual = gt(limit, absolute(t));
    dx = __builtin_expect(all(usual), 1) ? dx
                                         : pick(usual, dx, elu_vjp_late(x, v, dy, slope.high));
    return pick(right, scale * dy, dx);
}

/* From y: input_scale * (y + steep). */
INLINE V elu_vjp_from_dst(V y, V dy, V scale, parts steep, V input_scale, V input_scale_low)
{
    V rise = (y + steep.high) + steep.low;
    V slope = muladd(rise, input_scale, nearest_finite(rise) * input_scale_low);
    return dy * pick(gt(y, k(0)), scale, slope);
}
