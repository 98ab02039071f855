/* SPDX-License-Identifier: Apache-2.0 */
/* plot.c - the gradients are computed by the library, the forward function is the oracle's. Nothing
 * here knows an operator: all of it is in the enumeration and in the oracle's table. See plot.h. */
#include "plot.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base.h"
#include "chart.h"
#include "dtypes.h"
#include "kinds.h"
#include "oracle.h"
#include "variants.h"

enum {
    REACH = 4,     /* src from -4 to 4 */
    PER_UNIT = 32, /* points */
    CURVE = 2 * REACH * PER_UNIT + 1,
    ROW = 8,
    HOT = 4 /* where the gradient of a row is 1 */
};

_Static_assert(CURVE + 0 < CHART_POINTS + 0, "a curve has room for its points and a few gaps");

static const double SLOPE = 0.25;

/* A forward's result along an axis, in 32nds: fractions that add up to 1. */
static const double row_values[ROW] = { 1, 2, 4, 7, 9, 6, 2, 1 };

typedef struct plot {
    problem p;
    bool along_axis;
    int64_t n;
    double values[PROBLEM_TENSORS][CURVE];
} plot;

/* The gradient, and what is beside the data in a gated unit, is 1. */
static double input_value(const plot *of, int32_t tensor, int64_t i)
{
    const vjp_op_info *op = of->p.op;
    if (kind_is_param(op, tensor))
        return SLOPE;
    if (vjp_op_tensor(op, tensor)->dtype_rule == VJP_DTYPE_INDEX)
        return HOT;
    if (vjp_op_tensor(op, tensor)->shape_rule == VJP_SHAPE_ROW)
        return 1;
    if (tensor == kind_gradient(op))
        return !of->along_axis || i == HOT ? 1 : 0;
    if (!of->along_axis && tensor > 0)
        return 1;
    return of->along_axis ? row_values[i] / 32 : (double)i / PER_UNIT - REACH;
}

/* A slope for each element, so that its gradient is each element's own and not a sum. */
static void compute(plot *of)
{
    problem *p = &of->p;
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    void *buffers[PROBLEM_TENSORS];
    char reason[VJP_REASON_SIZE];
    problem_contiguous(p, VJP_F64, VJP_F64, 1, &of->n, 1, &of->n);
    for (int32_t t = 0; t < p->ntensors; t++) {
        tensors[t] = problem_has(p, t) ? &p->tensors[t] : NULL;
        buffers[t] = of->values[t];
        for (int64_t i = 0; i < of->n && t < p->op->ninputs; i++)
            element_write(p->tensors[t].dtype, &of->values[t][i], input_value(of, t, i));
    }
    if (vjp_compute(NULL, p->op->name, p->attrs, p->nattrs, tensors, p->ntensors,
                    (const void *const *)buffers, buffers + p->op->ninputs, reason,
                    sizeof reason) != VJP_OK)
        broken("%s: %s", p->op->name, reason);
}

/* Whether y jumps between i - 1 and i: a step of more than 4 per unit, and several times as large
 * as one beside it. Where a curve is merely steep, neighbouring steps are alike. */
static bool jumps(const double *y, int64_t i)
{
    double step = fabs(y[i] - y[i - 1]);
    double before = i > 1 ? fabs(y[i - 1] - y[i - 2]) : step;
    double after = i + 1 < CURVE ? fabs(y[i + 1] - y[i]) : step;
    return step > 4.0 / PER_UNIT && (step > 4 * before || step > 4 * after);
}

/* The point between i - 1, which is in sight, and i, which is not, or the reverse, where the curve
 * leaves what is in sight. A curve that becomes infinite leaves it straight up or down. */
static void add_edge(chart *c, const char *name, bool dashed, const double *x, const double *y,
                     int64_t i, double reach)
{
    int64_t in = fabs(y[i]) <= reach ? i : i - 1, out = in == i ? i - 1 : i;
    double edge = copysign(reach, y[out]), share = (edge - y[in]) / (y[out] - y[in]);
    if (!isnan(y[out]))
        chart_add(c, name, dashed, x[in] + share * (x[out] - x[in]), edge);
}

/* The line is interrupted where it jumps and where it is beyond `reach`. */
static void add_curve(chart *c, const char *name, bool dashed, const double *x, const double *y,
                      double reach)
{
    bool was_seen = false;
    for (int64_t i = 0; i < CURVE; i++) {
        bool seen = fabs(y[i]) <= reach;
        if (i > 0 && seen && was_seen && jumps(y, i))
            chart_add(c, name, dashed, (x[i - 1] + x[i]) / 2, NAN);
        if (i > 0 && seen != was_seen)
            add_edge(c, name, dashed, x, y, i, reach);
        chart_add(c, name, dashed, x[i], seen ? y[i] : NAN);
        was_seen = seen;
    }
}

static bool has_pole(const double *y)
{
    for (int64_t i = 0; i < CURVE; i++)
        if (isinf(y[i]))
            return true;
    return false;
}

/* Of operators with a pole as much is shown as of src; of others, all. The forward of a gradient
 * comes last, dashed: where it covers the gradient both are seen. */
static void add_curves(chart *c, const plot *of)
{
    const vjp_op_info *op = of->p.op;
    const double *x = of->values[0];
    double forward[CURVE] = { 0 };
    bool has_forward = kind_gradient(op) >= 0, pole = false;
    for (int64_t i = 0; i < CURVE && has_forward; i++)
        forward[i] = (double)oracle_forward(&of->p, x[i], SLOPE);
    for (int32_t t = op->ninputs; t < of->p.ntensors; t++)
        pole |= has_pole(of->values[t]);
    double reach = pole || has_pole(forward) ? REACH : DBL_MAX;
    for (int32_t t = op->ninputs; t < of->p.ntensors; t++)
        add_curve(c, vjp_op_tensor(op, t)->name, false, x, of->values[t], reach);
    if (has_forward)
        add_curve(c, "dst", true, x, forward, reach);
}

static void add_row(chart *c, const plot *of, int32_t tensor, bool dashed)
{
    for (int64_t i = 0; i < ROW; i++)
        chart_add(c, vjp_op_tensor(of->p.op, tensor)->name, dashed, (double)i,
                  of->values[tensor][i]);
}

static void add_rows(chart *c, const plot *of)
{
    int32_t ninputs = of->p.op->ninputs;
    for (int32_t t = ninputs; t < of->p.ntensors; t++)
        if (vjp_op_tensor(of->p.op, t)->shape_rule != VJP_SHAPE_ROW)
            add_row(c, of, t, false);
    for (int32_t t = 0; t < ninputs; t++)
        if (vjp_op_tensor(of->p.op, t)->shape_rule == VJP_SHAPE_DATA &&
            t != kind_gradient(of->p.op))
            add_row(c, of, t, true);
}

/* The attributes, and the inputs that are the same everywhere: "mode=a, up = 1, diff_dst = 1". */
static void write_note(char *note, size_t size, const plot *of)
{
    const vjp_op_info *op = of->p.op;
    char variant[VARIANT_TEXT], where[32];
    snprintf(where, sizeof where, " at %d, 0 elsewhere", HOT);
    const char *attrs = variant_name(&of->p, variant) + strlen(op->name);
    size_t used = (size_t)snprintf(note, size, "%s", attrs + (*attrs == ' '));
    for (int32_t t = 0; t < op->ninputs && used < size; t++) {
        bool gradient = t == kind_gradient(op);
        if (!problem_has(&of->p, t))
            continue;
        if (gradient || kind_is_param(op, t) || (t > 0 && !of->along_axis))
            used += (size_t)snprintf(note + used, size - used, "%s%s = %g%s", used ? ", " : "",
                                     vjp_op_tensor(op, t)->name, input_value(of, t, HOT),
                                     gradient && of->along_axis ? where : "");
    }
}

void plot_write(FILE *file, const vjp_op_info *op)
{
    plot of = { .p = variant_problem(op, 0), .along_axis = kind_has_rows(op) };
    char note[256];
    of.n = of.along_axis ? ROW : CURVE;
    for (int32_t t = 0; t < op->ninputs; t++)
        if (vjp_op_tensor(op, t)->flags & VJP_TENSOR_OPTIONAL)
            of.p.absent |= 1u << t;
    write_note(note, sizeof note, &of);
    if (of.along_axis)
        problem_add_attr(&of.p, vjp_attr_s64(kind_attr(op, ROLE_AXIS)->name, 0)); /* of one dim */
    compute(&of);
    chart c = { .title = op->name,
                .note = note[0] ? note : NULL,
                .unit = of.along_axis ? "index along axis" : vjp_op_tensor(op, 0)->name };
    if (of.along_axis)
        add_rows(&c, &of);
    else
        add_curves(&c, &of);
    chart_file(file, &c);
}
