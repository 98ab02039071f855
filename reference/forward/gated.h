/* SPDX-License-Identifier: Apache-2.0 */
/* gated.h - units that multiply one input by an activation of another. Part of forward.h. */

/* min(a, limit) and max(a, -limit), which are constants from there on; a limit of 0 keeps the sign
 * of a. NaN has a gradient of NaN. */
static dual end_at(dual a, double limit)
{
    return number_value(a.value) == limit ? constant(a.value) : plain(limit);
}

static dual at_most(dual a, double limit)
{
    if (isnan(number_value(a.value)) && isfinite(limit))
        return chain(a.value, a, a.value);
    return number_value(a.value) >= limit && isfinite(limit) ? end_at(a, limit) : a;
}

static dual at_least_minus(dual a, double limit)
{
    return number_value(a.value) <= -limit && isfinite(limit) ? end_at(a, -limit) : a;
}

static dual swiglu(const scene *s)
{
    double limit = rounded_real_of(s, "limit");
    dual gate = at_most(s->in[0], limit), up = at_most(at_least_minus(s->in[1], limit), limit);
    dual act = silu(gate, real_of(s, "alpha"));
    return multiply(act, add(up, plain(rounded_real_of(s, "bias"))));
}

static dual glu(const scene *s) { return multiply(sigmoid(s), s->in[1]); }
static dual geglu(const scene *s) { return multiply(gelu_of_src(s), s->in[1]); }

/* Left of 0 the gradients are those of a constant; the value is that of the product. NaN has a
 * gradient as a factor, and none of its own. */
static dual reglu(const scene *s)
{
    if (isnan(s->x[0]))
        return multiply(plain(s->x[0]), s->in[1]);
    dual product = multiply(s->x[0] > 0 ? s->in[0] : plain(0), s->in[1]);
    return s->x[0] > 0 ? product : constant(product.value);
}

static const oracle_entry gated_entries[] = {
    { "glu", .by_w = 1, .outputs = { glu } },
    { "glu_backward", .by_w = 1, .forward = glu },
    { "reglu", .by_w = 1, .outputs = { reglu } },
    { "reglu_backward", .by_w = 1, .forward = reglu },
    { "geglu", .by_w = 1, .outputs = { geglu } },
    { "geglu_backward", .by_w = 1, .forward = geglu },
    { "swiglu", .by_w = 1, .outputs = { swiglu } },
    { "swiglu_backward", .by_w = 1, .forward = swiglu },
};
