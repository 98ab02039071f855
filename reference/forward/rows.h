/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - operators along an axis. Part of forward.h. */

/* ---- softmax ------------------------------------------------------------------------------ */

/* From dst: an exponential of scale * src divided by the row's sum of them, which is then 1. */
static dual exponential_of_dst(const scene *s)
{
    dual exponent = multiply(plain(real_of(s, "scale")), s->in[1]);
    return exponential_known(exponent, number_from(s->x[1]));
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
    return strcmp(attr_of(s, "mode").value.str, "inf_as_zero") == 0;
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

static dual log_softmax(const scene *s)
{
    if (inf_as_zero(s) && number_value(s->sums[0].value) == 0)
        return plain(-INFINITY);
    return subtract(subtract(scaled(s), s->most), logarithm(s->sums[0]));
}

static dual one_and_log_softmax(const scene *s)
{
    return plain(1 + (double)fabsl(number_value(log_softmax(s).value)));
}

/* From dst of log_softmax: scale * src, which may have any constant added, as if its exponentials
 * had a sum of 1. */
static dual exponent_of_log(const scene *s)
{
    return chain(number_from(s->x[1]), s->in[1], number_from(real_of(s, "scale")));
}

static dual exponential_of_log(const scene *s) { return exponential(exponent_of_log(s)); }

static dual log_softmax_by_dst(const scene *s)
{
    return subtract(exponent_of_log(s), logarithm(s->sums[0]));
}

/* ---- cross-entropy ------------------------------------------------------------------------ */

static int at_label(const scene *s) { return s->index == s->x[1]; }

static dual logit(const scene *s) { return s->in[0]; }

static dual weight_of(const scene *s) { return given(s, 2) ? s->in[2] : plain(1); }

/* exp(x - most). Where all logits are -inf, so is the logarithm of their sum, which has no
 * slope. */
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
static dual one_and_saved(const scene *s)
{
    double others = given(s, 4) && at_label(s) && isfinite(s->x[4]) ? fabs(s->x[4]) : 0;
    return plain((double)stats_magnitude(entropy_stats(s)) + others);
}

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

/* The root of the mean square, or of the variance; `sum` is what they are the mean of. */
static dual root_of_mean(const scene *s, dual sum)
{
    dual mean = divide(sum, plain(s->count));
    return root(add(mean, plain(real_of(s, "epsilon"))));
}

static dual rms_norm_of(const scene *s, dual x, int gamma)
{
    dual factor = given(s, gamma) ? add(s->in[gamma], plain(rounded_real_of(s, "offset")))
                                  : s->in[gamma];
    return multiply(divide(x, root_of_mean(s, s->sums[0])), factor);
}

static dual rms_norm(const scene *s) { return rms_norm_of(s, s->in[0], 1); }
static dual rms_norm_rstd(const scene *s) { return divide(plain(1), root_of_mean(s, s->sums[0])); }

static dual sum_of_two(const scene *s) { return add(s->in[0], s->in[1]); }
static dual square_of_sum(const scene *s) { return multiply(sum_of_two(s), sum_of_two(s)); }
static dual add_rms_norm(const scene *s) { return rms_norm_of(s, sum_of_two(s), 2); }

/* The sum of squares that gives the saved reciprocal. */
static dual squares_of_rstd(const scene *s)
{
    dual mean = divide(divide(plain(1), plain(s->x[2])), plain(s->x[2]));
    return multiply(plain(s->count), subtract(mean, plain(real_of(s, "epsilon"))));
}

/* layer_norm: the sums are of the elements, and of the squares of their distances from the mean. */
static dual row_mean(const scene *s) { return divide(s->sums[0], plain(s->count)); }
static dual centred(const scene *s) { return subtract(s->in[0], row_mean(s)); }

/* The distance from the mean is known to within a part of the deviation: where a slope has one as a
 * factor, the bounds have both. */
static long double deviation_of(const scene *s)
{
    dual squares = s->sums[1];
    return squares.depends ? sqrtl(fabsl(number_value(squares.value)) / s->count) : 0;
}

static dual square_of_distance(const scene *s)
{
    dual distance = centred(s), result = multiply(distance, distance);
    if (result.depends >> BY_X & 1)
        result.size[BY_X] = 2 * (fabsl(number_value(distance.value)) + deviation_of(s));
    return result;
}

static dual normalized(const scene *s)
{
    dual deviation = root_of_mean(s, s->sums[1]), result = divide(centred(s), deviation);
    result.size[BY_SUM(1)] = (1 + fabsl(number_value(result.value))) * deviation.size[BY_SUM(1)] /
                             fabsl(number_value(deviation.value));
    return result;
}

static dual scaled_norm(const scene *s)
{
    dual h = normalized(s), result = multiply(h, s->in[1]);
    result.size[BY_W] = 1 + fabsl(number_value(h.value));
    return result;
}

static dual layer_norm(const scene *s) { return add(scaled_norm(s), s->in[2]); }
static dual layer_norm_to_shift(const scene *s)
{
    return add(scaled_norm(s), variable(number_from(0), BY_B));
}

static int statistic_is(const scene *s, const char *word)
{
    return strcmp(attr_of(s, "statistics").value.str, word) == 0;
}

static dual row_statistic(const scene *s)
{
    if (statistic_is(s, "variance"))
        return divide(s->sums[1], plain(s->count));
    dual deviation = root_of_mean(s, s->sums[1]);
    return statistic_is(s, "deviation") ? deviation : divide(plain(1), deviation);
}

static dual total_of_mean(const scene *s) { return multiply(plain(s->count), plain(s->x[2])); }

/* The sum of squares that gives the saved statistic. */
static dual squares_of_statistic(const scene *s)
{
    dual saved = plain(s->x[3]), epsilon = plain(real_of(s, "epsilon"));
    if (statistic_is(s, "variance"))
        return multiply(plain(s->count), saved);
    dual deviation = statistic_is(s, "deviation") ? saved : divide(plain(1), saved);
    return multiply(plain(s->count), subtract(multiply(deviation, deviation), epsilon));
}

static dual normalized_magnitude(const scene *s)
{
    return plain(1 + (double)fabsl(number_value(normalized(s).value)));
}

static dual layer_norm_magnitude(const scene *s)
{
    double h = (double)number_value(normalized_magnitude(s).value);
    double gamma = given(s, 1) ? fabs(s->x[1]) : 1;
    return plain(gamma * h + fabs(s->x[2]));
}

static dual mean_magnitude(const scene *s)
{
    return plain((double)(size_of_value(row_mean(s)) + deviation_of(s)));
}

#define DISTANCE_TERMS .terms = { logit, square_of_distance }, .staged = 1

#define ENTROPY_TERMS                                                             \
    .exponent = logit,                                                            \
    .terms = { others_term, label_term, label_weight_term, weight_of, distance_term }

static const oracle_entry rows_entries[] = {
    { "softmax", { ORACLE_MODEST }, .by_w = -1, .outputs = { softmax, softmax_stats },
      .magnitudes = { softmax, largest_scaled }, .exponent = scaled,
      .terms = { scaled_exponential } },
    { "softmax_backward", { ORACLE_MODEST, ORACLE_FRACTION }, .by_x = 1, .by_w = -1,
      .forward = softmax_by_dst, .terms = { exponential_of_dst }, .known = { one },
      .known_by = { 1 } },
    { "log_softmax", { ORACLE_MODEST }, .by_w = -1, .outputs = { log_softmax, softmax_stats },
      .magnitudes = { one_and_log_softmax, largest_scaled }, .exponent = scaled,
      .terms = { scaled_exponential } },
    { "log_softmax_backward", { ORACLE_MODEST, ORACLE_LOGARITHM }, .by_x = 1, .by_w = -1,
      .forward = log_softmax_by_dst, .terms = { exponential_of_log }, .known = { one },
      .known_by = { 1 } },
    { "cross_entropy", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_FRACTION }, .by_w = -1,
      .outputs = { entropy_loss, entropy_stats, entropy_others },
      .magnitudes = { entropy_loss_magnitude, entropy_stats_magnitude, entropy_others_magnitude },
      ENTROPY_TERMS },
    { "cross_entropy_backward", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_FRACTION, ORACLE_MODEST,
                                  ORACLE_MODEST, ORACLE_MODEST }, .by_w = -1,
      .forward = entropy_loss, ENTROPY_TERMS, .factor = one_and_saved,
      .saved = { [3] = entropy_stats, [4] = entropy_others } },
    { "cross_entropy_fused", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_FRACTION, ORACLE_MODEST },
      .by_w = -1, .forward = entropy_loss, .outputs = { entropy_loss },
      .magnitudes = { entropy_loss_magnitude }, ENTROPY_TERMS, .factor = one_and_stats },
    { "rms_norm", { ORACLE_MODEST, ORACLE_MODEST }, .by_w = 1,
      .outputs = { rms_norm, rms_norm_rstd }, .terms = { square } },
    { "rms_norm_backward", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_POSITIVE, ORACLE_MODEST },
      .by_w = 1, .forward = rms_norm, .terms = { square }, .known = { squares_of_rstd },
      .known_by = { 2 } },
    { "add_rms_norm", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_MODEST }, .by_w = 2,
      .outputs = { add_rms_norm, sum_of_two, rms_norm_rstd }, .terms = { square_of_sum } },
    { "add_rms_norm_backward", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_POSITIVE, ORACLE_MODEST,
                                 ORACLE_MODEST }, .by_w = 1, .forward = rms_norm,
      .terms = { square }, .known = { squares_of_rstd }, .known_by = { 2 }, .passed = 4 },
    { "layer_norm", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_MODEST }, .by_w = 1,
      .outputs = { layer_norm, row_mean, row_statistic, normalized },
      .magnitudes = { layer_norm_magnitude, mean_magnitude, NULL, normalized_magnitude },
      DISTANCE_TERMS },
    { "layer_norm_backward", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_MODEST, ORACLE_POSITIVE,
                               ORACLE_MODEST }, .by_w = 1, .forward = layer_norm_to_shift,
      DISTANCE_TERMS, .known = { total_of_mean, squares_of_statistic }, .known_by = { 2, 3 } },
};
