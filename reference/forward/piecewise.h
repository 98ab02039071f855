/* SPDX-License-Identifier: Apache-2.0 */
/* piecewise.h - operators made of straight pieces and roots. Part of forward.h. */

static dual relu(const scene *s) { return s->x[0] > 0 ? s->in[0] : plain(0); }

static dual prelu(const scene *s)
{
    return s->x[0] > 0 ? s->in[0] : multiply(s->in[1], s->in[0]);
}

/* Which piece applies is decided on the ends as the library's compute type has them. */
static dual clamp(const scene *s)
{
    double min = rounded_real_of(s, "min"), max = rounded_real_of(s, "max");
    if (s->x[0] > min && s->x[0] < max)
        return s->in[0];
    if (s->x[0] == min || s->x[0] == max || isnan(s->x[0]))
        return plain(s->x[0]);
    return plain(real_of(s, s->x[0] < min ? "min" : "max"));
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

static const oracle_entry piecewise_entries[] = {
    { "relu_backward", .by_w = -1, .forward = relu },
    { "clamp", .by_w = -1, .outputs = { clamp } },
    { "clamp_backward", .by_w = -1, .forward = clamp },
    { "hard_sigmoid_backward", .by_w = -1, .forward = hard_sigmoid },
    { "prelu_backward", { ORACLE_MODEST, ORACLE_MODEST, ORACLE_MODEST }, .by_w = 1,
      .forward = prelu },
};
