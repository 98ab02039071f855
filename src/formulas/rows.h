/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - softmax, cross-entropy, norms. Part of formulas.h. */

/* `value` where the mask keeps an element, if there is a mask. */
INLINE V where_kept(int masked, V keep, V value, V instead)
{
    if (masked)
        return pick(gt(keep, k(0)), value, instead);
    return value;
}

/* The factor that makes a row of exponentials add up to 1. inf_as_zero: a row of -inf, whose sum is
 * 0, gives 0, not NaN. */
INLINE V softmax_share(V s, int inf_as_zero)
{
    if (inf_as_zero)
        return pick(gt(s, k(0)), k(1) / s, s);
    return k(1) / s;
}

/* The maximum of a row as softmax subtracts it; inf_as_zero: so that exponentials of -inf are 0
 * also where there is nothing else. */
INLINE V softmax_max(V most, int inf_as_zero)
{
    if (inf_as_zero)
        return pick(gt(most, k(-(T)INFINITY)), most, k(0));
    return most;
}

#ifdef NEAR_POWER
#define LOG2_E_LOW 0x1.4ae0cp-26f
#define LN2 0x1.62e43p-1f
#define GRID 0x1.8p11f /* z = v + GRID is v rounded to a multiple of 2^-12 */
#define NEAREST 310    /* up to here v and the exponents that count fit that grid together */
#define REACH 116      /* exp(-REACH) is 0 */

/* exp(x - most) where the lanes have an estimate of 2^a, in half the instructions: with an estimate
 * within 2^-22 of it, relative to it, and four roundings, within about 2^-21. What depends on
 * `most` alone is computed once per row.
 *
 * The estimate gets a multiple of 2^-12; what is left of the exponent, f, is so small that 2^f is
 * 1 + f * ln 2. For x - most to be exact, most is subtracted from x where it is large, and from
 * the exponent where it is not. */
INLINE V exp_of_element(V x, V most)
{
    const T unit = 0x1p-64f; /* 2^-UP, so that subnormal results are rounded once */
    V far = pick(gt(absolute(most), k(NEAREST)), most, k(0)), close = most - far;
    V origin = muladd(-close, k(LOG2_E), k(GRID));
    V missed = muladd(-close, k(LOG2_E), k(GRID) - origin) - close * k(LOG2_E_LOW);
    V d = greater_or_nan(x - far, close - k(REACH)), z = muladd(d, k(LOG2_E), origin);
    V f = muladd(d, k(LOG2_E), origin - z);
    V rest = muladd(d, k(LOG2_E_LOW * LN2 * unit), muladd(missed, k(LN2 * unit), k(unit)));
    return near_power(z - k(GRID - UP)) * muladd(f, k(LN2 * unit), rest);
}
#else
INLINE V exp_of_element(V x, V most) { return exp_of_difference(x, most); }
#endif

/* An element's exponential, relative to the row's maximum. */
INLINE V softmax_exp(V x, V most, int scaled, V scale, V scale_low)
{
    if (scaled)
        return exp_of_scaled(x, most, scale, scale_low);
    return exp_of_element(x, most);
}

/* The logarithm of a row's sum. A row with nothing left has a sum of 0, for any scale. */
INLINE V softmax_stats(V most, V s, V scale)
{
    return pick(gt(most, k(-(T)INFINITY)), scale * most, most) + log_of(s);
}

/* The logarithm of a row's sum, as log_softmax subtracts it. inf_as_zero: a row of -inf gives
 * -inf. */
INLINE V log_softmax_sum(V s, int inf_as_zero)
{
    if (inf_as_zero)
        return pick(eq(s, k(0)), k((T)INFINITY), log_of(s));
    return log_of(s);
}

INLINE M is_class(V label, V count) { return both(gt(label, k(-1)), gt(count, label)); }

/* The parts of a row of cross-entropy: the label's exponential and those of the others, relative to
 * the row's maximum, and their sum. lift: the factor of exponentials relative to `level`. */
typedef struct entropy {
    V most, lift, own, rest, sum, log_sum;
} entropy;

/* `rest`: the sum of the others' exponentials relative to `level`, which may be the row's maximum
 * or that of the others: in that case it does not underflow in a confident row. */
INLINE entropy entropy_of(V level, V rest, V at_label, V label, V count)
{
    entropy made;
    M in_range = is_class(label, count);
    M leads = both(in_range, gt(at_label, level));
    made.most = pick(leads, at_label, level);
    V base = softmax_max(made.most, 1); /* so that a row of -inf has a sum of 0 */
    made.own = pick(in_range, exp_of_difference(at_label, base), k(0));
    made.lift = pick(leads, exp_of_difference(level, made.most), k(1));
    made.rest = pick(leads, rest * made.lift, rest);
    made.sum = made.rest + made.own;
    made.log_sum = log_of(made.sum);
    return made;
}

INLINE V entropy_stats(entropy row) { return row.most + row.log_sum; }

/* The logarithm of the others' share of the sum. */
INLINE V entropy_others(entropy row, V level, V rest)
{
    return (level - row.most) + (log_of(rest) - row.log_sum);
}

/* The loss of a row. -log(own / sum) without cancellation: that of a confident row is made of the
 * others' share. share: what label smoothing gives each class; spread: the sum of weight * (max -
 * x). */
INLINE V entropy_loss(entropy row, V at_label, V weight_t, V weight_sum, V spread, V smoothing,
                      V share, V z_loss)
{
    V nll = pick(gt(row.own, row.rest), log_of_1_plus(row.rest / row.own),
                 (row.most - at_label) + row.log_sum);
    V stats = entropy_stats(row);
    V hit = weight_t * ((k(1) - smoothing) * nll + z_loss * stats * stats);
    V smooth = share * (spread + weight_sum * row.log_sum);
    return hit + pick(gt(absolute(share), k(0)), smooth, k(0));
}

/* `value` in rows that count, +0 in those that are ignored: by their label or, if that is lenient,
 * since it is no class. */
INLINE V where_counted(V value, V label, V ignored, V count, int lenient)
{
    if (lenient)
        value = pick(is_class(label, count), value, k(0));
    return pick(eq(label, ignored), k(0), value);
}

/* The same, and NaN where the label is no class and that is not lenient. */
INLINE V where_labelled(V value, V label, V ignored, V count, int lenient)
{
    return where_counted(pick(is_class(label, count), value, k((T)NAN)), label, ignored, count,
                         lenient);
}

/* The slope of cross-entropy's loss for a row: that of an element with share p of the row's sum is
 * p * gain less what label smoothing gives it; at the label it is less `hit`, too. Where the label
 * has most of the sum, it is z * p + confident, since 1 - p, the others' share, is known to all
 * digits. inverse: what makes a share of an element's exponential. NaN where the label is no
 * class. */
typedef struct slope_of_entropy {
    V inverse, gain, hit, z, confident;
} slope_of_entropy;

/* saved: the sum's logarithm and that of the others' share are those of the forward pass. share:
 * what label smoothing gives each class. */
INLINE slope_of_entropy entropy_slope(int saved, V log_sum, V log_rest, entropy row, V weight_t,
                                      V weight_sum, V smoothing, V share, V z_loss, V label,
                                      V count)
{
    slope_of_entropy made;
    M smooths = gt(absolute(share), k(0)); /* else only the label's weight counts, not the others */
    V others = choose(saved, exp_below(log_rest, k(0)), row.rest / row.sum);
    V stats = choose(saved, log_sum, entropy_stats(row));
    V spread = pick(smooths, share * weight_sum, k(0));
    V spread_to_others = pick(smooths, share * (weight_sum - weight_t), k(0));
    made.inverse = choose(saved, k(1), row.lift / row.sum);
    made.hit = (k(1) - smoothing) * weight_t;
    made.z = k(2) * z_loss * stats * weight_t;
    made.gain = pick(is_class(label, count), made.hit + spread + made.z, k((T)NAN));
    made.confident = spread_to_others - others * (made.hit + spread);
    return made;
}

INLINE V slope_at_label(V p, V elsewhere, V hit, V z, V confident)
{
    return pick(gt(p, k(0.5f)), z * p + confident, elsewhere - hit);
}

/* The same from a row's own exponential; smoothed: what label smoothing gives the label. */
INLINE V entropy_at_label(slope_of_entropy slope, entropy row, V smoothed)
{
    V p = row.own / row.sum;
    return slope_at_label(p, p * slope.gain - smoothed, slope.hit, slope.z, slope.confident);
}

/* 1 / sqrt(mean square + epsilon). */
INLINE V reciprocal_root(V squares, V count, V epsilon)
{
    return k(1) / root(squares / count + epsilon);
}

/* What total / count lacks of a row's mean, from the sum of what is left without it. A mean that is
 * infinite lacks nothing. */
INLINE V rest_of_mean(V total, V shift, V count)
{
    return pick(gt(k((T)INFINITY), absolute(total)), shift / count, k(0));
}

/* The variance of a row from squares of distances from the mean without that rest. */
INLINE V variance_of(V squares, V rest, V count)
{
    return at_least(squares / count - rest * rest, k(0));
}

/* What layer_norm's tensor rstd holds: rstd itself, the variance (1) or the deviation (2). */
INLINE V statistic_of(V variance, V epsilon, V statistics)
{
    V deviation = root(variance + epsilon);
    return pick(eq(statistics, k(1)), variance,
                pick(eq(statistics, k(2)), deviation, k(1) / deviation));
}

/* rstd from what that tensor holds. */
INLINE V reciprocal_statistic(V saved, V epsilon, V statistics)
{
    V deviation = pick(eq(statistics, k(1)), root(saved + epsilon), saved);
    return pick(eq(statistics, k(0)), saved, k(1) / deviation);
}
