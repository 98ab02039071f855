/* SPDX-License-Identifier: Apache-2.0 */
/* smooth.h - operators with an exponential or a logarithm. Part of forward.h. */

static int is_negative_number(number a) { return signbit(number_value(a)) != 0; }

/* ---- sigmoid ------------------------------------------------------------------------------ */

/* exp(a * x). */
static dual exponential_of(number a, dual x)
{
    number e = number_exp_product(a, x.value);
    return chain(e, x, number_multiply(a, e));
}

/* 1 / (1 + exp(-a * x)). Both pieces are the logistic function; each is accurate on its own side of
 * 0. */
static dual logistic(number a, dual x)
{
    dual one = plain(1);
    if (is_negative_number(number_multiply(a, x.value))) {
        dual e = exponential_of(a, x);
        return divide(e, add(one, e));
    }
    return divide(one, add(one, exponential_of(number_subtract(number_from(0), a), x)));
}

/* The logistic function seen from its result y: the solution of dy/dx = y * (1 - y). */
static dual logistic_by_result(dual y)
{
    number rest = number_subtract(number_from(1), y.value);
    return chain(y.value, y, number_multiply(y.value, rest));
}

static int from_dst(const scene *s) { return attr_of(s, "use_dst").value.b; }

static dual sigmoid(const scene *s) { return logistic(number_from(1), s->in[0]); }

static dual sigmoid_by_either(const scene *s)
{
    return from_dst(s) ? logistic_by_result(s->in[0]) : sigmoid(s);
}

/* ---- exp, log, softplus ------------------------------------------------------------------- */

static dual exponential_of_src(const scene *s) { return exponential(s->in[0]); }
static dual logarithm_of_src(const scene *s) { return logarithm(s->in[0]); }

/* log(1 + exp(beta * x)) / beta, whose slope is the logistic function. */
static dual bend(double beta, dual x)
{
    number b = number_from(beta), v = number_multiply(b, x.value);
    int negative = is_negative_number(v);
    number e = number_exp_product(negative ? b : number_from(-beta), x.value);
    number value = number_divide(number_log_1_plus(e), b);
    return chain(negative ? value : number_add(x.value, value), x, logistic(b, x).value);
}

static dual softplus(const scene *s) { return bend(real_of(s, "beta"), s->in[0]); }
static dual log_sigmoid(const scene *s) { return bend(-1, s->in[0]); }

/* ---- tanh --------------------------------------------------------------------------------- */

/* (1 - e) / (1 + e) with e = exp(-2|x|), and 4 e / (1 + e)^2. */
static dual hyperbolic_tangent(dual x)
{
    int negative = is_negative_number(x.value);
    number two = number_from(negative ? 2 : -2), sum = number_from(1);
    number less = number_exp_less_1(number_multiply(two, x.value));
    number e = number_exp_product(two, x.value);
    number value = number_divide(less, number_add(number_from(2), less));
    sum = number_add(sum, e);
    number slope = number_divide(number_multiply(number_from(4), e), number_multiply(sum, sum));
    return chain(negative ? value : number_subtract(number_from(0), value), x, slope);
}

static dual tangent(const scene *s) { return hyperbolic_tangent(s->in[0]); }

/* tanh seen from its result y: the solution of dy/dx = (1 - y) * (1 + y). */
static dual tangent_by_either(const scene *s)
{
    dual y = s->in[0];
    number one = number_from(1);
    number slope = number_multiply(number_subtract(one, y.value), number_add(one, y.value));
    return from_dst(s) ? chain(y.value, y, slope) : tangent(s);
}

/* x - tanh(x). Near 0 by tanh's continued fraction: x * f / (1 + f), f = x^2 / (3 + x^2 / (5 +
 * ...)). */
static dual tangent_shrunk(const scene *s)
{
    dual x = s->in[0], y = tangent(s);
    number square = number_multiply(x.value, x.value), f = number_from(0);
    number slope = number_multiply(y.value, y.value);
    if (!(fabs(s->x[0]) < 1))
        return chain(number_subtract(x.value, y.value), x, slope);
    for (int n = 61; n >= 3; n -= 2)
        f = number_divide(square, number_add(number_from(n), f));
    f = number_divide(f, number_add(number_from(1), f));
    return chain(number_multiply(x.value, f), x, slope);
}

/* ---- elu ---------------------------------------------------------------------------------- */

static number steepness(const scene *s)
{
    return number_multiply(number_from(real_of(s, "scale")), number_from(real_of(s, "alpha")));
}

static dual elu(const scene *s)
{
    dual x = s->in[0];
    number a = number_from(real_of(s, "input_scale")), steep = steepness(s);
    if (s->x[0] > 0)
        return multiply(plain(real_of(s, "scale")), x);
    number slope = number_multiply(number_multiply(steep, a), number_exp_product(a, x.value));
    number less = number_exp_less_1(number_multiply(a, x.value));
    return chain(number_multiply(steep, less), x, slope);
}

/* From dst: the solution of dy/dx = input_scale * (y + scale * alpha) left of 0. */
static dual elu_by_either(const scene *s)
{
    dual y = s->in[0];
    if (!from_dst(s))
        return elu(s);
    if (s->x[0] > 0)
        return multiply(plain(real_of(s, "scale")), y);
    number a = number_from(real_of(s, "input_scale")), steep = steepness(s);
    dual result = chain(y.value, y, number_multiply(a, number_add(y.value, steep)));
    result.size[BY_X] =
        number_magnitude(a) * (number_magnitude(y.value) + number_magnitude(steep));
    return result;
}

/* ---- units that weigh x by a share of 1 --------------------------------------------------- */

/* At infinity, of what weighs x by a share of 1 on the right and of 0 on the left: x, or 0 from the
 * side of x with a slope that is 0 from below. */
static dual at_infinity(dual x, int right)
{
    if (right)
        return x;
    return chain(number_from(copysign(0, (double)number_value(x.value))), x, number_from(-0.0));
}

/* x * sigmoid(alpha * x). */
static dual silu(dual x, double alpha)
{
    number a = number_from(alpha), v = number_multiply(a, x.value);
    if (isinf(number_value(v)))
        return at_infinity(x, number_value(v) > 0);
    return about_root(multiply(x, logistic(a, x)), x, silu_root, alpha, silu_slope_at);
}

static dual silu_of_src(const scene *s) { return silu(s->in[0], real_of(s, "alpha")); }

/* x * Phi(x). */
static dual gelu_erf(dual x)
{
    number minus_half = number_multiply(number_from(-0.5), x.value);
    number whole = number_root(number_multiply(number_from(2), number_pi()));
    number density = number_divide(number_exp_product(minus_half, x.value), whole);
    if (isinf(number_value(x.value)))
        return at_infinity(x, number_value(x.value) > 0);
    dual share = chain(number_normal(x.value), x, density);
    return about_root(multiply(x, share), x, gelu_root, 1, gelu_slope_at);
}

/* x * sigmoid(v), v = sqrt(8 / pi) * (x + 0.044715 x^3). The rounding of v costs its size in
 * ULP. */
static dual gelu_tanh(dual x)
{
    number eight = number_from(8), k = number_root(number_divide(eight, number_pi()));
    dual cube = multiply(multiply(x, x), x);
    dual b = divide(plain(44715), plain(1000000));
    dual v = multiply(constant(k), add(x, multiply(b, cube)));
    if (isinf(number_value(x.value)))
        return at_infinity(x, number_value(x.value) > 0);
    dual y = multiply(x, logistic(number_from(1), v));
    magnitude far = number_magnitude(v.value);
    y.size[BY_X] *= 1 + (far < 3000 ? far : 3000);
    return about_root(y, x, gelu_tanh_root, 1, gelu_tanh_slope_at);
}

static dual gelu(const scene *s, dual x)
{
    int tanh_form = strcmp(attr_of(s, "mode").value.str, "gelu_tanh") == 0;
    return tanh_form ? gelu_tanh(x) : gelu_erf(x);
}

static dual gelu_of_src(const scene *s) { return gelu(s, s->in[0]); }

/* x * tanh(log(1 + exp(x))): with e = exp(x) it is (e^2 + 2 e) / (e^2 + 2 e + 2). */
static dual mish(const scene *s)
{
    dual x = s->in[0], two = plain(2), one = plain(1);
    if (isinf(s->x[0]))
        return at_infinity(x, s->x[0] > 0);
    dual e = exponential_of(number_from(s->x[0] < 0 ? 1 : -1), x);
    dual part = s->x[0] < 0 ? multiply(e, add(e, two)) : add(one, multiply(two, e));
    dual rest = s->x[0] < 0 ? two : multiply(two, multiply(e, e));
    dual y = multiply(x, divide(part, add(part, rest)));
    return about_root(y, x, mish_root, 1, mish_slope_at);
}

static const oracle_entry smooth_entries[] = {
    { "exp", .by_w = -1, .outputs = { exponential_of_src } },
    { "exp_backward", .by_w = -1, .forward = exponential_of_src },
    { "log", .by_w = -1, .outputs = { logarithm_of_src } },
    { "log_backward", .by_w = -1, .forward = logarithm_of_src },
    { "sigmoid", .by_w = -1, .outputs = { sigmoid } },
    { "sigmoid_backward", .chosen = ORACLE_FRACTION, .by_w = -1, .forward = sigmoid_by_either },
    { "log_sigmoid", .by_w = -1, .outputs = { log_sigmoid } },
    { "log_sigmoid_backward", .by_w = -1, .forward = log_sigmoid },
    { "tanh", .by_w = -1, .outputs = { tangent } },
    { "tanh_backward", .chosen = ORACLE_FRACTION, .by_w = -1, .forward = tangent_by_either },
    { "tanh_shrink", .by_w = -1, .outputs = { tangent_shrunk } },
    { "tanh_shrink_backward", .by_w = -1, .forward = tangent_shrunk },
    { "softplus", .by_w = -1, .outputs = { softplus } },
    { "softplus_backward", .by_w = -1, .forward = softplus },
    { "elu", .by_w = -1, .outputs = { elu } },
    { "elu_backward", .chosen = ORACLE_MODEST, .by_w = -1, .forward = elu_by_either },
    { "silu", .by_w = -1, .outputs = { silu_of_src } },
    { "silu_backward", .by_w = -1, .forward = silu_of_src },
    { "gelu", .by_w = -1, .outputs = { gelu_of_src } },
    { "gelu_backward", .by_w = -1, .forward = gelu_of_src },
    { "mish", .by_w = -1, .outputs = { mish } },
    { "mish_backward", .by_w = -1, .forward = mish },
};
