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

/* The maximum of a row as softmax subtracts it. */
INLINE V softmax_max(V most, int inf_as_zero)
{
    if (inf_as_zero)
        return pick(gt(most, k(-(T)INFINITY)), most, k(0));
    return most;
}

/* What a row of cross-entropy comes to. `rest`: the sum of the others' exponentials, `own`: the
 * label's. */
typedef struct entropy {
    V sum, log_sum, own;
} entropy;

INLINE entropy entropy_of(V most, V rest, V at_label, V label, V count)
{
    entropy made;
    M in_range = both(gt(label, k(-1)), gt(count, label));
    made.own = pick(in_range, exp_of_difference(at_label, most, k(1), k(0)), k(0));
    made.sum = rest + made.own;
    made.log_sum = log_of(made.sum);
    return made;
}

/* The loss of a row. -log(own / sum) without cancellation: that of a confident row is made of the
 * others' share. share: what label smoothing gives each class; spread: the sum of weight * (max - x). */
INLINE V entropy_loss(entropy row, V most, V rest, V at_label, V weight_t, V weight_sum, V spread,
                      V smoothing, V share, V z_loss)
{
    V nll = pick(gt(row.own, rest), log_of_1_plus(rest / row.own), (most - at_label) + row.log_sum);
    V stats = most + row.log_sum;
    V hit = weight_t * ((k(1) - smoothing) * nll + z_loss * stats * stats);
    V smooth = share * (spread + weight_sum * row.log_sum);
    return hit + pick(gt(absolute(share), k(0)), smooth, k(0));
}

/* `value` in rows that count, +0 in those that are ignored, NaN where the label is no class. */
INLINE V where_labelled(V value, V label, V ignored, V count)
{
    V known = pick(both(gt(label, k(-1)), gt(count, label)), value, k((T)NAN));
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
        made.others = rest / row.sum;
        made.log_sum = most + row.log_sum;
    }
    return made;
}

/* The slope of cross-entropy's loss. At the label 1 - p is `others`, known to all digits. */
INLINE V entropy_slope(M at_label, shares p, V weight, V weight_t, V weight_sum, V smoothing,
                       V share, V z_loss)
{
    V hit = (k(1) - smoothing) * weight_t, spread = share * weight_sum;
    V z = k(2) * z_loss * p.log_sum * weight_t;
    V elsewhere = p.own * (hit + spread + z) - share * weight;
    V here = (share * (weight_sum - weight_t) + z * p.own) - p.others * (hit + spread);
    return pick(at_label, here, elsewhere);
}

/* 1 / sqrt(mean square + epsilon). */
INLINE V reciprocal_root(V squares, V count, V epsilon)
{
    return k(1) / root(squares / count + epsilon);
}
