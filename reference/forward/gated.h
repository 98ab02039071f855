/* SPDX-License-Identifier: Apache-2.0 */
/* gated.h - units that multiply one input by an activation of another. Part of forward.h. */

/* min(a, limit) and max(a, -limit), which are constants from there on. NaN has a gradient of NaN. */
static dual at_most(dual a, double limit)
{
    if (isnan(number_value(a.value)) && isfinite(limit))
        return chain(a.value, a, a.value);
    return number_value(a.value) >= limit && isfinite(limit) ? plain(limit) : a;
}

static dual at_least_minus(dual a, double limit)
{
    return number_value(a.value) <= -limit && isfinite(limit) ? plain(-limit) : a;
}

static dual swiglu(const scene *s)
{
    double limit = rounded_real_of(s, "limit");
    dual gate = at_most(s->in[0], limit), up = at_most(at_least_minus(s->in[1], limit), limit);
    dual act = silu(gate, real_of(s, "alpha"));
    return multiply(act, add(up, plain(rounded_real_of(s, "bias"))));
}

static const oracle_entry gated_entries[] = {
    { "swiglu_backward", .by_w = 1, .forward = swiglu },
};
