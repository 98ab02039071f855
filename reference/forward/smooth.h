/* SPDX-License-Identifier: Apache-2.0 */
/* smooth.h - operators with an exponential or a logarithm. Part of forward.h. */

/* Both pieces are the logistic function; each is accurate on its own side of 0. */
static dual logistic(dual x)
{
    dual one = plain(1);
    if (number_value(x.value) >= 0)
        return divide(one, add(one, exponential(subtract(plain(0), x))));
    dual e = exponential(x);
    return divide(e, add(one, e));
}

/* The logistic function seen from its result y: the solution of dy/dx = y * (1 - y). */
static dual logistic_by_result(dual y)
{
    number rest = number_subtract(number_from(1), y.value);
    return chain(y.value, y, number_multiply(y.value, rest));
}

static dual sigmoid(const scene *s)
{
    return problem_attr(s->p, "use_dst").value.b ? logistic_by_result(s->in[0])
                                                 : logistic(s->in[0]);
}

/* x * sigmoid(alpha * x); at infinity x, or 0 from the side of x with a slope that is 0 from below. */
static dual silu(dual x, double alpha)
{
    dual v = multiply(plain(alpha), x);
    if (!isinf(number_value(v.value)))
        return multiply(x, logistic(v));
    if (number_value(v.value) > 0)
        return x;
    return chain(number_from(copysign(0, (double)number_value(x.value))), x, number_from(-0.0));
}

static const oracle_entry smooth_entries[] = {
    { "sigmoid_backward", .chosen = ORACLE_FRACTION, .by_w = -1, .forward = sigmoid },
};
