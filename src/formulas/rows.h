/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - softmax, cross-entropy, norms. Part of formulas.h. */

/* dst of softmax, where e is the element's exponential and s the row's sum. inf_as_zero: a row of
 * -inf gives 0, not NaN. */
INLINE V softmax_of(V e, V s, int inf_as_zero)
{
    V y = e / s;
    if (inf_as_zero)
        return pick(gt(s, k(0)), y, s);
    return y;
}

/* The maximum of a row as softmax subtracts it; inf_as_zero: so that exponentials of -inf are 0 also
 * where there is nothing else. */
INLINE V softmax_max(V most, int inf_as_zero)
{
    if (inf_as_zero)
        return pick(gt(most, k(-(T)INFINITY)), most, k(0));
    return most;
}

/* The logarithm of a row's sum. A row with nothing left has a sum of 0, for any scale. */
INLINE V softmax_stats(V most, V s, V scale)
{
    return pick(gt(most, k(-(T)INFINITY)), absolute(scale) * most, most) + log_of(s);
}

/* dst of log_softmax; v: the element, negated where the scale is below 0. */
INLINE V log_softmax_of(V v, V most, V s, V scale, int inf_as_zero)
{
    V y = scale * (v - softmax_max(most, inf_as_zero)) - log_of(s);
    if (inf_as_zero)
        return pick(eq(s, k(0)), k(-(T)INFINITY), y);
    return y;
}

/* `value` where the mask keeps it, else +0. */
INLINE V where_kept(int has_mask, V keep, V value)
{
    if (has_mask)
        return pick(gt(keep, k(0)), value, k(0));
    return value;
}

/* The parts of a row of cross-entropy: the label's exponential and those of the others, relative to
 * the row's maximum, and their sum. lift: the factor of exponentials relative to `level`. */
typedef struct entropy {
    V most, lift, own, rest, sum, log_sum;
} entropy;

/* `rest`: the sum of the others' exponentials relative to `level`, which may be the row's maximum or
 * that of the others: in that case it does not underflow in a confident row. */
INLINE entropy entropy_of(V level, V rest, V at_label, V label, V count)
{
    entropy made;
    M in_range = both(gt(label, k(-1)), gt(count, label));
    M leads = both(in_range, gt(at_label, level));
    made.most = pick(leads, at_label, level);
    V base = softmax_max(made.most, 1); /* so that a row of -inf has a sum of 0 */
    made.own = pick(in_range, exp_of_difference(at_label, base, k(1), k(0)), k(0));
    made.lift = pick(leads, exp_of_difference(level, made.most, k(1), k(0)), k(1));
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
 * others' share. share: what label smoothing gives each class; spread: the sum of weight * (max - x). */
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

/* `value` in rows that count, +0 in those that are ignored; where the label is no class NaN or, if that
 * is lenient, +0. */
INLINE V where_labelled(V value, V label, V ignored, V count, int lenient)
{
    V known = pick(both(gt(label, k(-1)), gt(count, label)), value,
                   choose(lenient, k(0), k((T)NAN)));
    return pick(eq(label, ignored), k(0), known);
}

/* An element's share of its row's sum, what the label's others have of it, and the sum's logarithm:
 * from what the forward pass saved, or from the row. */
typedef struct shares {
    V own, others, log_sum;
} shares;

INLINE shares entropy_shares(int saved, V e, V log_sum, V log_rest, V most, V rest, V at_label,
                             V label, V count)
{
    shares made;
    if (saved) {
        made.own = e;
        made.others = exp_below(log_rest, k(0));
        made.log_sum = log_sum;
    } else {
        entropy row = entropy_of(most, rest, at_label, label, count);
        made.own = e / row.sum;
        made.others = row.rest / row.sum;
        made.log_sum = entropy_stats(row);
    }
    return made;
}

/* The same from the row and the element's exponential relative to the largest of the others. */
INLINE shares shares_of(entropy row, M at_label, V e)
{
    shares made;
    made.own = pick(at_label, row.own, e * row.lift) / row.sum;
    made.others = row.rest / row.sum;
    made.log_sum = entropy_stats(row);
    return made;
}

/* The slope of cross-entropy's loss. Where the label has most of the sum, 1 - p is `others`, known to
 * all digits. */
INLINE V entropy_slope(M at_label, shares p, V weight, V weight_t, V weight_sum, V smoothing,
                       V share, V z_loss)
{
    M smooths = gt(absolute(share), k(0)); /* else only the label's weight counts, not the others */
    V hit = (k(1) - smoothing) * weight_t, spread = pick(smooths, share * weight_sum, k(0));
    V z = k(2) * z_loss * p.log_sum * weight_t;
    V elsewhere = p.own * (hit + spread + z) - pick(smooths, share * weight, k(0));
    V spread_to_others = pick(smooths, share * (weight_sum - weight_t), k(0));
    V confident = (spread_to_others + z * p.own) - p.others * (hit + spread);
    V here = pick(gt(p.own, k(0.5f)), confident, elsewhere - hit);
    return pick(at_label, here, elsewhere);
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
