/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h - the operators' mathematics: forward functions as their definitions have them, one table
 * line per operator. Gradients are found by differentiating them (dual.h, answer.h); no formula of
 * the library is used. Where a derivative does not exist, the side taken is the one docs/operators/
 * states. */

/* One element and its row, as a forward function sees them. */
typedef struct scene {
    const problem *p;
    const double *x;             /* the inputs' values here, 0 where they are not given */
    dual in[PROBLEM_TENSORS];    /* the same; those that are differentiated are variables */
    dual most;                   /* the largest exponent of the row */
    dual sums[DUAL_SUMS];        /* over the row, of the terms */
    double index, count;         /* the position in the row, and its length */
} scene;

typedef dual (*forward_function)(const scene *s);

typedef struct oracle_entry {
    const char *op;
    oracle_domain domains[PROBLEM_TENSORS]; /* of the inputs; labels, lengths and masks have none */
    oracle_domain chosen;                   /* of input 0 where the operator's CHOICE is 1 */
    int by_x, by_w;                         /* the inputs that are differentiated; -1: none */
    forward_function forward;               /* that gradients flow back through */
    forward_function outputs[3];            /* that are not gradients, in their order */
    forward_function magnitudes[3];         /* of their bounds */
    forward_function exponent;              /* s->most is its maximum; NULL: it is not asked for */
    forward_function terms[DUAL_SUMS];      /* of the sums over the row */
    forward_function known;                 /* the first sum, as input known_by implies it */
    int known_by;
    forward_function factor;                /* of the gradient's magnitude */
    forward_function saved[PROBLEM_TENSORS]; /* inputs that the forward pass computed from others */
} oracle_entry;

static double real_of(const scene *s, const char *name)
{
    return problem_attr(s->p, name).value.f64;
}

/* As the library's compute type has it. */
static double rounded_real_of(const scene *s, const char *name)
{
    double value = real_of(s, name);
    return s->p->tensors[0].dtype == VJP_F64 ? value : (double)(float)value;
}

static int given(const scene *s, int input) { return problem_has(s->p, input); }

/* ---- elementwise -------------------------------------------------------------------------- */

static dual relu(const scene *s) { return s->x[0] > 0 ? s->in[0] : plain(0); }

static dual prelu(const scene *s)
{
    return s->x[0] > 0 ? s->in[0] : multiply(s->in[1], s->in[0]);
}

/* Which piece of the clamp applies is decided on the line as the library's compute type has it. */
static dual hard_sigmoid(const scene *s)
{
    double alpha = rounded_real_of(s, "alpha"), beta = rounded_real_of(s, "beta");
    double line = s->p->tensors[0].dtype == VJP_F64
                      ? fma(alpha, s->x[0], beta)
                      : (double)fmaf((float)alpha, (float)s->x[0], (float)beta);
    if (!(line > 0 && line < 1))
        return plain(line >= 1 ? 1 : 0);
    return add(multiply(plain(alpha), s->in[0]), plain(beta));
}

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

static dual swiglu(const scene *s)
{
    double limit = rounded_real_of(s, "limit");
    dual gate = at_most(s->in[0], limit), up = at_most(at_least_minus(s->in[1], limit), limit);
    dual act = silu(gate, real_of(s, "alpha"));
    return multiply(act, add(up, plain(rounded_real_of(s, "bias"))));
}

/* ---- softmax ------------------------------------------------------------------------------ */

/* From dst: an exponential of src divided by the row's sum of them, which is then 1. */
static dual exponential_of_dst(const scene *s)
{
    return exponential_known(s->in[1], number_from(s->x[1]));
}

static dual softmax_by_dst(const scene *s) { return divide(exponential_of_dst(s), s->sums[0]); }

static dual one(const scene *s)
{
    (void)s;
    return plain(1);
}

static dual scaled(const scene *s) { return multiply(plain(real_of(s, "scale")), s->in[0]); }

static int inf_as_zero(const scene *s)
{
    return strcmp(problem_attr(s->p, "mode").value.str, "inf_as_zero") == 0;
}

static dual scaled_exponential(const scene *s)
{
    if (inf_as_zero(s) && number_value(s->most.value) == -INFINITY)
        return plain(number_value(scaled(s).value) == -INFINITY ? 0 : (double)NAN);
    return exponential(subtract(scaled(s), s->most));
}

static dual softmax(const scene *s)
{
    if (inf_as_zero(s) && number_value(s->sums[0].value) == 0)
        return plain(0);
    return divide(scaled_exponential(s), s->sums[0]);
}

static dual softmax_stats(const scene *s) { return add(s->most, logarithm(s->sums[0])); }

/* |scale| * max|src| is not known from the row's sums alone: the largest term stands for it. */
static dual largest_scaled(const scene *s)
{
    return plain(1 + (double)fabsl(number_value(s->most.value)) +
                 (double)fabsl(number_value(softmax_stats(s).value)));
}

/* ---- cross-entropy ------------------------------------------------------------------------ */

static int at_label(const scene *s) { return s->index == s->x[1]; }

static dual logit(const scene *s) { return s->in[0]; }

static dual weight_of(const scene *s) { return given(s, 2) ? s->in[2] : plain(1); }

/* exp(x - most). Where all logits are -inf, so is the logarithm of their sum, which has no slope. */
static dual relative_exponential(const scene *s, dual x)
{
    if (number_value(s->most.value) == -INFINITY && number_value(x.value) == -INFINITY)
        return chain(number_from(0), x, number_from(NAN));
    return exponential(subtract(x, s->most));
}

/* The sums: the other classes' exponentials, the label's logit and weight, all weights, and all
 * weighted distances from the maximum. */
static dual others_term(const scene *s)
{
    return at_label(s) ? plain(0) : relative_exponential(s, s->in[0]);
}

static dual label_term(const scene *s) { return at_label(s) ? s->in[0] : plain(0); }
static dual label_weight_term(const scene *s) { return at_label(s) ? weight_of(s) : plain(0); }
static dual distance_term(const scene *s)
{
    return multiply(weight_of(s), subtract(s->most, s->in[0]));
}

static dual own_exponential(const scene *s)
{
    int in_range = s->x[1] >= 0 && s->x[1] < s->count;
    return in_range ? relative_exponential(s, s->sums[1]) : plain(0);
}

static dual log_sum(const scene *s) { return logarithm(add(s->sums[0], own_exponential(s))); }

static dual entropy_stats(const scene *s) { return add(s->most, log_sum(s)); }

static dual entropy_others(const scene *s)
{
    return logarithm(divide(s->sums[0], add(s->sums[0], own_exponential(s))));
}

/* -log(softmax at the label): log(1 + others / own) has all digits where that is small. */
static dual negative_log_likelihood(const scene *s)
{
    dual own = own_exponential(s);
    if (number_value(own.value) > number_value(s->sums[0].value))
        return logarithm_of_1_plus(divide(s->sums[0], own));
    return subtract(entropy_stats(s), s->sums[1]);
}

/* stats is 1 + |stats| in the bounds: a sum of exponentials near 1 has lost that much. */
static long double stats_magnitude(dual stats) { return 1 + fabsl(number_value(stats.value)); }

static dual square_of_stats(dual stats)
{
    dual square = multiply(stats, stats);
    for (int by = 0; by < DUAL_VARIABLES; by++)
        if (square.depends >> by & 1)
            square.size[by] = 2 * stats_magnitude(stats) * stats.size[by];
    return square;
}

static dual entropy_loss(const scene *s)
{
    double smoothing = real_of(s, "label_smoothing");
    dual square = square_of_stats(entropy_stats(s));
    dual hit = multiply(subtract(plain(1), plain(smoothing)), negative_log_likelihood(s));
    dual loss = multiply(s->sums[2], add(hit, multiply(plain(real_of(s, "z_loss")), square)));
    if (smoothing == 0)
        return loss;
    dual spread = add(multiply(s->sums[3], log_sum(s)), s->sums[4]);
    return add(loss, multiply(divide(plain(smoothing), plain(s->count)), spread));
}

static long double size_of_value(dual a) { return fabsl(number_value(a.value)); }

/* A saved logarithm is rounded, and an exponential makes that a relative error. */
static dual one_and_stats(const scene *s)
{
    return plain((double)stats_magnitude(entropy_stats(s)));
}

static dual entropy_stats_magnitude(const scene *s)
{
    return plain((double)(1 + size_of_value(s->most) + size_of_value(entropy_stats(s))));
}

static dual entropy_loss_magnitude(const scene *s)
{
    long double stats = stats_magnitude(entropy_stats(s));
    long double z = fabsl((long double)real_of(s, "z_loss")) * stats * stats;
    long double spread = fabsl((long double)real_of(s, "label_smoothing")) / s->count;
    return plain((double)(size_of_value(entropy_loss(s)) + z * size_of_value(s->sums[2]) +
                          spread * size_of_value(s->sums[3])));
}

static dual entropy_others_magnitude(const scene *s)
{
    return plain((double)(1 + size_of_value(entropy_others(s))));
}

/* ---- norms -------------------------------------------------------------------------------- */

static dual square(const scene *s) { return multiply(s->in[0], s->in[0]); }

static dual rms_norm(const scene *s)
{
    dual mean = divide(s->sums[0], plain(s->count));
    dual deviation = root(add(mean, plain(real_of(s, "epsilon"))));
    dual factor = given(s, 1) ? add(s->in[1], plain(rounded_real_of(s, "offset"))) : s->in[1];
    return multiply(divide(s->in[0], deviation), factor);
}

/* The sum of squares that gives the saved reciprocal. */
static dual squares_of_rstd(const scene *s)
{
    dual mean = divide(divide(plain(1), plain(s->x[2])), plain(s->x[2]));
    return multiply(plain(s->count), subtract(mean, plain(real_of(s, "epsilon"))));
}

/* ---- the table ---------------------------------------------------------------------------- */

#define ENTROPY_TERMS                                                             \
    .exponent = logit,                                                            \
    .terms = { others_term, label_term, label_weight_term, weight_of, distance_term }

static const oracle_entry entries[] = {
    { "relu_backward", .by_w = -1, .forward = relu },
    { "sigmoid_backward", .chosen = ORACLE_FRACTION, .by_w = -1, .forward = sigmoid },
    { "hard_sigmoid_backward", .by_w = -1, .forward = hard_sigmoid },
    { "prelu_backward", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_MODEST }, .by_w = 1,
      .forward = prelu },
    { "swiglu_backward", .by_w = 1, .forward = swiglu },
    { "softmax_backward", { ORACLE_MODEST, ORACLE_FRACTION }, .by_x = 1, .by_w = -1,
      .forward = softmax_by_dst, .terms = { exponential_of_dst }, .known = one, .known_by = 1 },
    { "softmax", { ORACLE_MODEST }, .by_w = -1, .outputs = { softmax, softmax_stats },
      .magnitudes = { softmax, largest_scaled }, .exponent = scaled,
      .terms = { scaled_exponential } },
    { "cross_entropy", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_FRACTION }, .by_w = -1,
      .outputs = { entropy_loss, entropy_stats, entropy_others },
      .magnitudes = { entropy_loss_magnitude, entropy_stats_magnitude, entropy_others_magnitude },
      ENTROPY_TERMS },
    { "cross_entropy_backward", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_FRACTION, ORACLE_MODEST,
                                  ORACLE_MODEST, ORACLE_MODEST }, .by_w = -1,
      .forward = entropy_loss, ENTROPY_TERMS, .factor = one_and_stats,
      .saved = { [3] = entropy_stats, [4] = entropy_others } },
    { "rms_norm_backward", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_POSITIVE, ORACLE_MODEST },
      .by_w = 1, .forward = rms_norm, .terms = { square }, .known = squares_of_rstd,
      .known_by = 2 },
};

static const oracle_entry *find_entry(const char *op)
{
    for (int64_t i = 0; i < COUNT_OF(entries); i++)
        if (strcmp(entries[i].op, op) == 0)
            return &entries[i];
    return NULL;
}

static const oracle_entry *entry_of(const char *op)
{
    const oracle_entry *entry = find_entry(op);
    if (entry == NULL)
        broken("the oracle has no line for %s", op);
    return entry;
}
