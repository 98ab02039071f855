/* SPDX-License-Identifier: Apache-2.0 */
/* gated.h - units that multiply one input by an activation of another. Part of formulas.h. */

/* An activation of x, factor * share * 2^exponent, and its slope, slope * 2^exponent. The exponent
 * is not 0 only where the share alone might not be a normal number. */
typedef struct gate {
    V factor, share, slope, exponent;
} gate;

/* An exponential on its way to 0, power * 2^n for z = n + MAGIC. Where it is late, `scaled` is
 * without its power of two and `e` is too small to matter; else both are the exponential. */
typedef struct fading {
    V e, scaled;
} fading;

INLINE fading fading_of(V power, V z, M late)
{
    fading made;
    made.e = times_2_to(power, pick(late, k(MAGIC - LATE), z));
    made.scaled = pick(late, power, made.e);
    return made;
}

/* The gate x * share, from the slope left of 0: that right of it is 1 minus the slope at -v. v: the
 * argument that decides on which side x is. At -inf both are 0, the slope from below. NaN stays
 * NaN. */
INLINE gate gate_of(V x, V v, V share, V left, M late, V z)
{
    gate made;
    M negative = gt(k(0), v), gone = both(negative, gt(absolute(x), k(LARGEST)));
    V slope = pick(negative, left, k(1) - pick(late, k(0), left));
    made.factor = pick(gone, nearest_finite(x), x); /* times 0 is 0 */
    made.share = pick(gone, k(0), share);
    made.slope = pick(gone, -k(0), pick(eq(v, v), slope, v));
    made.exponent = pick(gone, k(0), pick(both(late, negative), z - k(MAGIC), k(0)));
    return made;
}

INLINE gate silu_gate(V x, V alpha, V alpha_low, V alpha_rest)
{
    parts v = product_in_parts(alpha, alpha_low, x);
    logistic s;
    s.negative = gt(k(0), v.high);
    s.t = at_least(-absolute(v.high), k(-FURTHEST_OF_TWO));
    V low = pick(gt(k(1), absolute(v.low)), v.low, k(0)); /* beside an infinity there is none */
    s.t_low = pick(s.negative, low, -low);
    V z, power = exp_reduced(reduced_parts(s.t, s.t_low, &z));
    M late = gt(k(-LATE), s.t);
    fading f = fading_of(power, z, late);
    s.e = f.e;
    V share = ratio(pick(s.negative, f.scaled, k(1)), k(1) + f.e);
    V left = silu_slope_left(s, f.scaled, x, alpha, alpha_low, alpha_rest);
    return gate_of(x, v.high, share, left, late, z);
}

INLINE gate gelu_erf_gate(V x)
{
    V a = at_most(absolute(x), k(GELU_FURTHEST)), z, power = bell(a, &z);
    M late = gt(a, k(GELU_LATE));
    fading f = fading_of(power, z, late);
    V tail = f.scaled * gelu_tail(a, gelu_place(a), 1);
    V share = pick(gt(k(0), x), tail, k(1) - pick(late, k(0), tail));
    return gate_of(x, x, share, f.scaled * gelu_bend(a), late, z);
}

INLINE gate gelu_tanh_gate(V x)
{
    V a = at_most(absolute(x), k(GELU_TANH_FURTHEST)), z, power = gelu_tanh_power(a, &z);
    M late = gt(a, k(GELU_TANH_LATE));
    fading f = fading_of(power, z, late);
    V share = ratio(pick(gt(k(0), x), f.scaled, k(1)), k(1) + f.e);
    return gate_of(x, x, share, gelu_tanh_bend(a, f.e, f.scaled), late, z);
}

INLINE gate gelu_gate(V x, int tanh_form)
{
    if (tanh_form)
        return gelu_tanh_gate(x);
    return gelu_erf_gate(x);
}

/* a * b * m * 2^exponent. */
INLINE V gate_product(V a, V b, V m, V exponent)
{
    M usual = gt(exponent, k(-1));
    V dx = product_of_3(a, b, m);
    return __builtin_expect(all(usual), 1) ? dx
                                           : pick(usual, dx, scaled_product(a, b, m, exponent));
}

/* The unit, and its gradients: up is what the activation is multiplied by. */
INLINE V gated_value(gate g, V up) { return gate_product(up, g.factor, g.share, g.exponent); }
INLINE V gated_diff_gate(gate g, V up, V dy) { return gate_product(dy, up, g.slope, g.exponent); }
INLINE V gated_diff_up(gate g, V dy) { return gate_product(dy, g.factor, g.share, g.exponent); }

/* dy * up * sigmoid'(x). */
INLINE V glu_diff_gate(V x, V up, V dy)
{
    V t = at_least(-absolute(x), k(-FURTHEST_OF_TWO)), z, power = exp_split(t, &z);
    M late = gt(k(-LATE), t);
    fading f = fading_of(power, z, late);
    V slope = ratio(f.scaled, muladd(f.e, k(2) + f.e, k(1)));
    M gone = gt(absolute(x), k(LARGEST));
    slope = pick(gone, k(0), pick(eq(x, x), slope, x));
    return gate_product(dy, up, slope,
                        pick(gone, k(0), pick(late, z - k(MAGIC), k(0))));
}

/* `value` where x is below the limit, or where there is none; else +0. NaN stays NaN. */
INLINE V below_limit(V value, V x, V limit)
{
    V cut = pick(gt(limit, x), value, pick(eq(x, x), k(0), x));
    return pick(gt(limit, k(LARGEST)), value, cut);
}

INLINE V swiglu_value(V gate_in, V up, V alpha, V alpha_low, V limit, V bias)
{
    gate g = silu_gate(at_most(gate_in, limit), alpha, alpha_low, k(0));
    return gated_value(g, at_most(at_least(up, -limit), limit) + bias);
}

INLINE V swiglu_diff_gate(V gate_in, V up, V dy, V alpha, V alpha_low, V alpha_rest, V limit,
                          V bias)
{
    gate g = silu_gate(at_most(gate_in, limit), alpha, alpha_low, alpha_rest);
    V clamped = at_most(at_least(up, -limit), limit);
    return below_limit(gated_diff_gate(g, clamped + bias, dy), gate_in, limit);
}

INLINE V swiglu_diff_up(V gate_in, V up, V dy, V alpha, V alpha_low, V alpha_rest, V limit)
{
    gate g = silu_gate(at_most(gate_in, limit), alpha, alpha_low, alpha_rest);
    return below_limit(gated_diff_up(g, dy), absolute(up), limit);
}
