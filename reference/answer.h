/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the outputs of a problem, row by row, from the forward functions of forward.h. An
 * elementwise operator has rows of one element and no sums.
 *
 * With y = f(x, S), S the sums of h(x) over the row, a gradient g of y flows back to element i as
 * g[i] * df/dx[i], and through each sum as T * dh/dx[i], T being the sum of g * df/dS. */

typedef void (*answer_visit)(void *user, int32_t output, int64_t index, number value, bound within);

typedef struct query {
    const problem *p;
    const oracle_entry *entry;
    const double *const *inputs;
    answer_visit visit;
    void *user;
    int32_t gradient;                    /* the input that flows back; -1: none */
    int64_t *param_at[PROBLEM_TENSORS];  /* where a PARAM tensor is read, by the data's element */
    int per_row;                         /* it has one element per row */
    int nsums;
    struct fold {                        /* of a SUM output */
        total *sums;
        long double *sizes;
    } folds[PROBLEM_TENSORS];
} query;

static int is_gradient(const query *q, int32_t output)
{
    return strncmp(vjp_op_tensor(q->p->op, q->p->op->ninputs + output)->name, "diff_", 5) == 0;
}

/* The variable that an output is the gradient of. What is added is not among the inputs of a
 * backward operator, but its gradient is a sum. */
static int variable_of(const query *q, int32_t output)
{
    const vjp_op_info *op = q->p->op;
    const vjp_tensor_info *info = vjp_op_tensor(op, op->ninputs + output);
    if (q->entry->by_w >= 0 && strcmp(info->name + 5, vjp_op_tensor(op, q->entry->by_w)->name) == 0)
        return BY_W;
    return info->flags & VJP_TENSOR_SUM ? BY_B : BY_X;
}

/* ---- one element -------------------------------------------------------------------------- */

/* Where input t has its value for an element. */
static int64_t place_of(const query *q, int32_t t, int64_t row, int64_t element)
{
    switch (vjp_op_tensor(q->p->op, t)->shape_rule) {
    case VJP_SHAPE_ROW:
        return row;
    case VJP_SHAPE_PARAM:
        return q->param_at[t][element];
    default:
        return element;
    }
}

/* Look at element `index` of a row. A parameter or gradient that is not given is 1. */
static void look(const query *q, oracle_row row, int64_t index, double *x, scene *s)
{
    s->x = x;
    s->index = (double)index;
    s->count = (double)row.n;
    for (int32_t t = 0; t < q->p->op->ninputs; t++) {
        x[t] = t == q->entry->by_w || t == q->gradient ? 1 : 0;
        if (problem_has(q->p, t))
            x[t] = q->inputs[t][place_of(q, t, row.index, row.start + index * row.step)];
        number value = number_from(x[t]);
        s->in[t] = t == q->entry->by_x   ? variable(value, BY_X)
                   : t == q->entry->by_w ? variable(value, BY_W)
                                         : constant(value);
    }
}

/* Is the element in its row: not masked? */
static int is_kept(const query *q, const scene *s)
{
    for (int32_t t = 0; t < q->p->op->ninputs; t++)
        if (vjp_op_tensor(q->p->op, t)->dtype_rule == VJP_DTYPE_MASK && problem_has(q->p, t) &&
            s->x[t] == 0)
            return 0;
    return 1;
}

/* ---- the sums of a row -------------------------------------------------------------------- */

static void find_most(const query *q, oracle_row row, double *x, scene *s)
{
    s->most = plain(-INFINITY);
    for (int64_t i = 0; q->entry->exponent != NULL && i < row.end; i++) {
        look(q, row, i, x, s);
        dual exponent = q->entry->exponent(s);
        if (is_kept(q, s) && number_value(exponent.value) > number_value(s->most.value))
            s->most = constant(exponent.value);
    }
}

static int is_known(const query *q, int k)
{
    return k < COUNT_OF(q->entry->known) && q->entry->known[k] != NULL &&
           problem_has(q->p, q->entry->known_by[k]);
}

/* The sums from `first` to the one before `behind`. */
static void find_stage(const query *q, oracle_row row, int first, int behind, double *x, scene *s)
{
    total sums[DUAL_SUMS];
    for (int k = first; k < behind; k++)
        total_start(&sums[k]);
    for (int64_t i = 0; i < row.end && first < behind; i++) {
        int mark = number_mark();
        look(q, row, i, x, s);
        for (int k = first; k < behind && is_kept(q, s); k++)
            total_add(&sums[k], q->entry->terms[k](s).value);
        number_release(mark);
    }
    for (int k = first; k < behind; k++) {
        s->sums[k] = variable(total_number(&sums[k]), BY_SUM(k));
        total_end(&sums[k]);
        if (is_known(q, k) && row.n > 0) {
            look(q, row, 0, x, s);
            s->sums[k] = variable(q->entry->known[k](s).value, BY_SUM(k));
        }
    }
}

static void find_sums(const query *q, oracle_row row, double *x, scene *s)
{
    find_stage(q, row, 0, q->entry->staged > 0 ? q->entry->staged : q->nsums, x, s);
    if (q->entry->staged > 0)
        find_stage(q, row, q->entry->staged, q->nsums, x, s);
}

/* ---- outputs that are not gradients ------------------------------------------------------- */

static void visit_value(const query *q, int32_t output, int64_t index, oracle_row row,
                        const scene *s, int counts)
{
    forward_function magnitude = q->entry->magnitudes[output];
    number value = counts ? q->entry->outputs[output](s).value : number_from(0);
    number size_number = counts && magnitude != NULL ? magnitude(s).value : value;
    long double size = counts ? fabsl(number_value(size_number)) : 0;
    q->visit(q->user, output, index, value, oracle_bound(q->p, output, row.n, size));
}

static void answer_values(const query *q, oracle_row row, double *x, scene *s)
{
    for (int32_t o = 0; o < q->p->op->noutputs; o++) {
        int32_t t = q->p->op->ninputs + o;
        if (is_gradient(q, o) || !problem_has(q->p, t))
            continue;
        if (vjp_op_tensor(q->p->op, t)->shape_rule == VJP_SHAPE_ROW) {
            int mark = number_mark();
            if (row.n > 0)
                look(q, row, 0, x, s);
            visit_value(q, o, row.index, row, s, o > 0 || !row.ignored);
            number_release(mark);
            continue;
        }
        for (int64_t i = 0; i < row.n; i++) {
            int mark = number_mark();
            look(q, row, i, x, s);
            visit_value(q, o, row.start + i * row.step, row, s, i < row.end && is_kept(q, s));
            number_release(mark);
        }
    }
}

/* ---- gradients ---------------------------------------------------------------------------- */

/* What flows back: a number and the magnitude of its terms. */
typedef struct flow {
    number value;
    long double size;
    int any;
} flow;

static flow no_flow(void) { return (flow){ number_from(0), 0, 0 }; }

static void flow_add(flow *f, number value, long double size)
{
    f->value = f->any ? number_add(f->value, value) : value;
    f->size += size;
    f->any = 1;
}

/* `upstream` through what `y` has of a variable. */
static void flow_through(flow *f, flow upstream, const dual *y, int by)
{
    if (y->depends >> by & 1)
        flow_add(f, number_multiply(y->rate[by], upstream.value), y->size[by] * upstream.size);
}

static flow flow_of(double g)
{
    flow f = no_flow();
    flow_add(&f, number_from(g), fabsl((long double)g));
    return f;
}

/* A gradient of the whole row multiplies what flows back in the end. */
static flow upstream_of(const query *q, const scene *s)
{
    return flow_of(q->per_row ? 1 : s->x[q->gradient]);
}

/* T: what flows back to each sum. */
static void find_pulls(const query *q, oracle_row row, double *x, scene *s, flow *pulls)
{
    total values[DUAL_SUMS];
    for (int k = 0; k < q->nsums; k++) {
        total_start(&values[k]);
        pulls[k] = no_flow();
    }
    for (int64_t i = 0; q->nsums > 0 && i < (q->per_row ? 1 : row.end); i++) {
        int mark = number_mark();
        look(q, row, i, x, s);
        dual y = q->entry->forward(s);
        for (int k = 0; k < q->nsums && is_kept(q, s); k++) {
            flow one = no_flow();
            flow_through(&one, upstream_of(q, s), &y, BY_SUM(k));
            total_add(&values[k], one.value);
            pulls[k].size += one.size;
            pulls[k].any |= one.any;
        }
        number_release(mark);
    }
    for (int k = 0; k < q->nsums; k++) {
        pulls[k].value = total_number(&values[k]);
        total_end(&values[k]);
    }
}

static void answer_gradient(const query *q, oracle_row row, int32_t output, const scene *s,
                            const flow *pulls)
{
    int by = variable_of(q, output);
    int64_t element = row.start + (int64_t)s->index * row.step;
    int32_t t = q->p->op->ninputs + output;
    dual y = q->entry->forward(s);
    flow back = no_flow();
    flow_through(&back, upstream_of(q, s), &y, by);
    for (int k = 0; k < q->nsums; k++) {
        if (!pulls[k].any)
            continue;
        dual term = q->entry->terms[k](s);
        flow_through(&back, pulls[k], &term, by);
    }
    if (q->per_row && back.any) {
        flow g = flow_of(s->x[q->gradient]);
        back = (flow){ number_multiply(back.value, g.value), back.size * g.size, 1 };
    }
    if (q->entry->passed > 0 && by == BY_X && problem_has(q->p, q->entry->passed))
        flow_add(&back, number_from(s->x[q->entry->passed]),
                 fabsl((long double)s->x[q->entry->passed]));
    if (q->entry->factor != NULL)
        back.size *= number_value(q->entry->factor(s).value);
    if (!(vjp_op_tensor(q->p->op, t)->flags & VJP_TENSOR_SUM)) {
        bound within = oracle_bound(q->p, output, row.n, back.size);
        if (q->per_row) /* shares of the row underflow before they are multiplied */
            within.absolute += bound_sum_error(q->p->tensors[0].dtype, row.n, 0, 0) *
                               fabsl((long double)s->x[q->gradient]);
        q->visit(q->user, output, element, back.value, within);
        return;
    }
    total_add(&q->folds[output].sums[q->param_at[t][element]], back.value);
    q->folds[output].sizes[q->param_at[t][element]] += back.size;
}

static void answer_gradients(const query *q, oracle_row row, double *x, scene *s)
{
    flow pulls[DUAL_SUMS];
    if (row.n > 0)
        find_pulls(q, row, x, s, pulls);
    for (int64_t i = 0; i < row.n; i++)
        for (int32_t o = 0; o < q->p->op->noutputs; o++) {
            int mark = number_mark();
            if (!is_gradient(q, o) || !problem_has(q->p, q->p->op->ninputs + o))
                continue;
            look(q, row, i, x, s);
            if (!row.ignored && i < row.end && is_kept(q, s))
                answer_gradient(q, row, o, s, pulls);
            else
                q->visit(q->user, o, row.start + i * row.step, number_from(0),
                         oracle_bound(q->p, o, row.n, 0));
            number_release(mark);
        }
}

/* ---- the whole problem -------------------------------------------------------------------- */

/* Where a PARAM tensor is read, or summed to, by the data's element in dense order. */
static int64_t *param_places(const problem *p, int32_t t)
{
    int64_t strides[VJP_MAX_DIMS], n = 0;
    const vjp_tensor *data = &p->tensors[0];
    int64_t *places = unit_malloc((size_t)(tensor_count(data) + 1) * sizeof *places);
    oracle_param_strides(p, t, strides);
    for (walk w = walk_start(data->ndim, data->shape, strides); w.more; walk_next(&w))
        places[n++] = w.offset;
    return places;
}

static int is_folded(const query *q, int32_t output)
{
    int32_t t = q->p->op->ninputs + output;
    return (vjp_op_tensor(q->p->op, t)->flags & VJP_TENSOR_SUM) && problem_has(q->p, t);
}

static void fold_start(query *q, int32_t output)
{
    int64_t n = tensor_count(&q->p->tensors[q->p->op->ninputs + output]);
    struct fold *fold = &q->folds[output];
    fold->sums = unit_malloc((size_t)(n + 1) * sizeof *fold->sums);
    fold->sizes = unit_malloc((size_t)(n + 1) * sizeof *fold->sizes);
    for (int64_t i = 0; i < n; i++) {
        total_start(&fold->sums[i]);
        fold->sizes[i] = 0;
    }
}

static void fold_end(query *q, int32_t output)
{
    int64_t n = tensor_count(&q->p->tensors[q->p->op->ninputs + output]);
    int64_t elements = tensor_count(&q->p->tensors[0]);
    struct fold *fold = &q->folds[output];
    for (int64_t i = 0; i < n; i++) {
        int mark = number_mark();
        q->visit(q->user, output, i, total_number(&fold->sums[i]),
                 oracle_bound(q->p, output, elements / n, fold->sizes[i]));
        total_end(&fold->sums[i]);
        number_release(mark);
    }
    free(fold->sums);
    free(fold->sizes);
}

static void query_start(query *q, const problem *p, const double *const *inputs,
                        answer_visit visit, void *user)
{
    *q = (query){ .p = p, .entry = entry_of(p->op->name), .inputs = inputs, .visit = visit,
                  .user = user, .gradient = kind_gradient(p->op) };
    q->per_row = q->gradient >= 0 &&
                 vjp_op_tensor(p->op, q->gradient)->shape_rule == VJP_SHAPE_ROW;
    while (q->nsums < DUAL_SUMS && q->entry->terms[q->nsums] != NULL)
        q->nsums++;
    for (int32_t t = 0; t < p->ntensors; t++)
        if (vjp_op_tensor(p->op, t)->shape_rule == VJP_SHAPE_PARAM && problem_has(p, t))
            q->param_at[t] = param_places(p, t);
}

static void query_end(query *q)
{
    for (int32_t t = 0; t < q->p->ntensors; t++)
        free(q->param_at[t]);
}

/* A row as far as its sums. */
static void open_row(const query *q, oracle_row row, double *x, scene *s)
{
    memset(s, 0, sizeof *s);
    s->p = q->p;
    memset(x, 0, PROBLEM_TENSORS * sizeof *x);
    s->x = x;
    s->count = (double)row.n;
    find_most(q, row, x, s);
    find_sums(q, row, x, s);
}

static void visit_nothing(void *user, int32_t output, int64_t index, number value, bound within)
{
    (void)user, (void)output, (void)index, (void)value, (void)within;
}

static int row_is_finite(const query *q, oracle_row row, double *x, scene *s)
{
    for (int64_t i = 0; i < row.end; i++) {
        int mark = number_mark(), finite = 1;
        look(q, row, i, x, s);
        for (int32_t t = 0; t < q->p->op->ninputs; t++)
            finite = finite && isfinite(x[t]);
        number_release(mark);
        if (!finite && is_kept(q, s))
            return 0;
    }
    return 1;
}

/* finite: leave out rows with an input that is not. */
static void answer(const problem *p, const double *const *inputs, int finite, answer_visit visit,
                   void *user)
{
    query q;
    scene s;
    double x[PROBLEM_TENSORS];
    query_start(&q, p, inputs, visit, user);
    for (int32_t o = 0; o < p->op->noutputs; o++)
        if (is_folded(&q, o))
            fold_start(&q, o);
    for (int64_t r = 0, n = oracle_row_count(p); r < n; r++) {
        int mark = number_mark();
        oracle_row row = oracle_row_at(p, inputs, r);
        open_row(&q, row, x, &s);
        q.visit = finite && !row_is_finite(&q, row, x, &s) ? visit_nothing : visit;
        answer_values(&q, row, x, &s);
        if (q.entry->forward != NULL)
            answer_gradients(&q, row, x, &s);
        number_release(mark);
    }
    q.visit = visit;
    for (int32_t o = 0; o < p->op->noutputs; o++)
        if (is_folded(&q, o))
            fold_end(&q, o);
    query_end(&q);
}
