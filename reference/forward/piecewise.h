/* SPDX-License-Identifier: Apache-2.0 */
/* piecewise.h - operators made of straight pieces, roots and quotients. Part of forward.h.
 *
 * The result of NaN is a NaN that does not depend on the input, where docs/operators/ states a
 * gradient of +0. Numbers that pieces are chosen by are as the library's compute type has them. */

/* What is left where no comparison holds: a constant, or NaN. */
static dual otherwise(const scene *s, double value)
{
    return plain(isnan(s->x[0]) ? s->x[0] : value);
}

static dual relu(const scene *s) { return s->x[0] > 0 ? s->in[0] : otherwise(s, 0); }

static dual relu_squared(const scene *s) { return multiply(relu(s), relu(s)); }

static dual leaky_relu(const scene *s)
{
    return s->x[0] > 0 ? s->in[0] : multiply(plain(rounded_real_of(s, "alpha")), s->in[0]);
}

static dual prelu(const scene *s)
{
    return s->x[0] > 0 ? s->in[0] : multiply(s->in[1], s->in[0]);
}

static dual clamp(const scene *s)
{
    double min = rounded_real_of(s, "min"), max = rounded_real_of(s, "max");
    if (s->x[0] > min && s->x[0] < max)
        return s->in[0];
    if (s->x[0] == min || s->x[0] == max)
        return plain(s->x[0]);
    return otherwise(s, real_of(s, s->x[0] < min ? "min" : "max"));
}

static dual threshold(const scene *s)
{
    return s->x[0] > rounded_real_of(s, "threshold") ? s->in[0] : otherwise(s, real_of(s, "value"));
}

static dual hard_shrink(const scene *s)
{
    return fabs(s->x[0]) > rounded_real_of(s, "lambd") ? s->in[0] : otherwise(s, 0);
}

static dual soft_shrink(const scene *s)
{
    double lambd = rounded_real_of(s, "lambd");
    if (fabs(s->x[0]) > lambd)
        return subtract(s->in[0], plain(copysign(lambd, s->x[0])));
    return otherwise(s, 0);
}

/* Which piece of the clamp applies is decided on the line as the library's compute type has it. */
static dual hard_sigmoid(const scene *s)
{
    double alpha = rounded_real_of(s, "alpha"), beta = rounded_real_of(s, "beta");
    double line = s->p->tensors[0].dtype == VJP_F64
                      ? fma(alpha, s->x[0], beta)
                      : (double)fmaf((float)alpha, (float)s->x[0], (float)beta);
    if (!(line > 0 && line < 1))
        return plain(isnan(line) ? line : line >= 1);
    return add(multiply(plain(alpha), s->in[0]), plain(beta));
}

/* Next to its zero the line is the small difference of these. */
static dual hard_sigmoid_terms(const scene *s)
{
    return plain(fabs(rounded_real_of(s, "alpha") * s->x[0]) + fabs(rounded_real_of(s, "beta")));
}

static dual hard_swish(const scene *s)
{
    if (s->x[0] >= 3)
        return s->in[0];
    if (s->x[0] <= -3)
        return plain(-0.0);
    return divide(multiply(s->in[0], add(s->in[0], plain(3))), plain(6));
}

static dual absolute_value(const scene *s)
{
    return s->x[0] > 0   ? s->in[0]
           : s->x[0] < 0 ? multiply(plain(-1), s->in[0])
                         : otherwise(s, 0);
}

static dual square_root(const scene *s) { return root(s->in[0]); }

/* The square root seen from its result y: the solution of dy/dx = 1 / (2 * y). */
static dual square_root_by_result(const scene *s)
{
    if (!attr_of(s, "use_dst").value.b)
        return square_root(s);
    return chain(s->in[0].value, s->in[0], number_divide(number_from(0.5), s->in[0].value));
}

static dual second_power(const scene *s) { return multiply(s->in[0], s->in[0]); }

static dual reciprocal(const scene *s)
{
    number r = number_divide(number_from(1), s->in[0].value);
    return chain(r, s->in[0], number_multiply(number_from(-1), number_multiply(r, r)));
}

/* Its digits after the point are nowhere else: no gradient. */
static dual nearest(const scene *s) { return plain(nearbyint(s->x[0])); }

/* The derivative as one quotient: the sum of two would cancel far from 0. */
static dual softsign(const scene *s)
{
    number size = number_from(fabs(s->x[0])), sum = number_add(number_from(1), size);
    number slope = number_divide(number_from(1), number_multiply(sum, sum));
    number value = isinf(s->x[0]) ? number_from(copysign(1, s->x[0]))
                                  : number_divide(s->in[0].value, sum);
    return chain(value, s->in[0], slope);
}

static const oracle_entry piecewise_entries[] = {
    { "relu", .by_w = -1, .outputs = { relu } },
    { "relu_backward", .by_w = -1, .forward = relu },
    { "leaky_relu", .by_w = -1, .outputs = { leaky_relu } },
    { "leaky_relu_backward", .by_w = -1, .forward = leaky_relu },
    { "prelu", .by_w = 1, .outputs = { prelu } },
    { "prelu_backward", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_MODEST }, .by_w = 1,
      .forward = prelu },
    { "relu_squared", .by_w = -1, .outputs = { relu_squared } },
    { "relu_squared_backward", .by_w = -1, .forward = relu_squared },
    { "clamp", .by_w = -1, .outputs = { clamp } },
    { "clamp_backward", .by_w = -1, .forward = clamp },
    { "threshold", .by_w = -1, .outputs = { threshold } },
    { "threshold_backward", .by_w = -1, .forward = threshold },
    { "soft_shrink", .by_w = -1, .outputs = { soft_shrink } },
    { "soft_shrink_backward", .by_w = -1, .forward = soft_shrink },
    { "hard_shrink", .by_w = -1, .outputs = { hard_shrink } },
    { "hard_shrink_backward", .by_w = -1, .forward = hard_shrink },
    { "hard_sigmoid", .by_w = -1, .outputs = { hard_sigmoid },
      .magnitudes = { hard_sigmoid_terms } },
    { "hard_sigmoid_backward", .by_w = -1, .forward = hard_sigmoid },
    { "hard_swish", .by_w = -1, .outputs = { hard_swish } },
    { "hard_swish_backward", .by_w = -1, .forward = hard_swish },
    { "abs", .by_w = -1, .outputs = { absolute_value } },
    { "abs_backward", .by_w = -1, .forward = absolute_value },
    { "sqrt", .by_w = -1, .outputs = { square_root } },
    { "sqrt_backward", .by_w = -1, .forward = square_root_by_result, .from_result = 1 },
    { "square", .by_w = -1, .outputs = { second_power } },
    { "square_backward", .by_w = -1, .forward = second_power },
    { "reciprocal", .by_w = -1, .outputs = { reciprocal } },
    { "reciprocal_backward", .by_w = -1, .forward = reciprocal },
    { "round", .by_w = -1, .outputs = { nearest } },
    { "softsign", .by_w = -1, .outputs = { softsign } },
    { "softsign_backward", .by_w = -1, .forward = softsign },
};
