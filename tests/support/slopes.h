/* SPDX-License-Identifier: Apache-2.0 */
/* slopes.h - the derivative of every elementwise operator in closed form, one table line each.
 *
 * Written over a `number` and included twice: by exact.c, where that is one of MPFR's, and by
 * quick.c, where it is a long double. The includer defines the words
 *
 *     from(a)  add(a, b)  subtract(a, b)  multiply(a, b)  divide(a, b)  exponential(a)
 *
 * A slope function gets the first input and PReLU's slope w. It returns 0 where the forward
 * function is flat, whatever the gradient that flows back; *slope is then not set.
 */
typedef int slope_function(const problem *p, double x, double w, number *slope);

static int relu_slope(const problem *p, double x, double w, number *slope)
{
    (void)p, (void)w;
    *slope = from(1);
    return x > 0;
}

static int prelu_slope(const problem *p, double x, double w, number *slope)
{
    (void)p;
    *slope = from(x > 0 ? 1 : w);
    return 1;
}

/* Which piece applies is decided on the line as the library's compute type has it. */
static int hard_sigmoid_slope(const problem *p, double x, double w, number *slope)
{
    (void)w;
    float alpha = (float)problem_attr(p, "alpha").value.f64;
    float beta = (float)problem_attr(p, "beta").value.f64;
    double line = p->tensors[0].dtype == VJP_F64 ? fma((double)alpha, x, (double)beta)
                                                 : (double)fmaf(alpha, (float)x, beta);
    *slope = from((double)alpha);
    return line > 0 && line < 1;
}

/* e / (1 + e)^2 with e = exp(-|x|), or y * (1 - y) */
static int sigmoid_slope(const problem *p, double x, double w, number *slope)
{
    (void)w;
    if (problem_attr(p, "use_dst").value.b) {
        *slope = multiply(from(x), subtract(from(1), from(x)));
        return 1;
    }
    number e = exponential(from(-fabs(x))), sum = add(from(1), e);
    *slope = divide(e, multiply(sum, sum));
    return 1;
}

static const struct {
    const char *op;
    slope_function *slope;
} slopes[] = {
    { "relu_backward", relu_slope },
    { "prelu_backward", prelu_slope },
    { "hard_sigmoid_backward", hard_sigmoid_slope },
    { "sigmoid_backward", sigmoid_slope },
};

/* NULL for an operator that is not elementwise. */
static slope_function *find_slope(const char *op)
{
    for (int64_t i = 0; i < COUNT_OF(slopes); i++)
        if (strcmp(slopes[i].op, op) == 0)
            return slopes[i].slope;
    return NULL;
}
