/* SPDX-License-Identifier: Apache-2.0 */
/* hard_rows.c - numerically difficult rows, by the features of an operator's rows: labels that
 * dominate, rows that end early, masks that leave few elements or none. */
#include <math.h>

#include "base.h"
#include "dtypes.h"
#include "kinds.h"
#include "values.h"
#include "vectors.h"

enum {
    ROWS = 8,
    LENGTH = 34
};

static const int64_t shape[] = { ROWS, LENGTH };

/* Over how much the label leads: in f32, p - 1 has no digit left from 17 on. The last row is
 * ignored. */
static const double margins[ROWS] = { 0, 8, 12, 16, 20, 28, 40, 0 };

static const double ends[ROWS] = { 0, 1, 16, 17, LENGTH - 1, LENGTH, LENGTH + 5, -3 };

static int32_t find_input(const vjp_op_info *op, uint32_t flag)
{
    for (int32_t t = 0; t < op->ninputs; t++)
        if (vjp_op_tensor(op, t)->flags & flag)
            return t;
    return -1;
}

static int32_t find_mask(const vjp_op_info *op)
{
    for (int32_t t = 0; t < op->ninputs; t++)
        if (vjp_op_tensor(op, t)->dtype_rule == VJP_DTYPE_MASK)
            return t;
    return -1;
}

/* The problem with rows along the last dim, parameters in the data's shape. */
static problem start(const problem *variant, case_dtypes dtypes)
{
    problem p = *variant;
    problem_add_attr(&p, vjp_attr_s64(kind_attr(p.op, ROLE_AXIS)->name, -1));
    problem_contiguous(&p, dtypes.dtype, dtypes.wide, 2, shape, 2, shape);
    return p;
}

static void draw_inputs(const problem *p, random_state *random, double **inputs)
{
    for (int32_t t = 0; t < p->op->ninputs; t++) {
        int64_t n = tensor_count(&p->tensors[t]);
        inputs[t] = unit_malloc((size_t)n * sizeof *inputs[t]);
        for (int64_t i = 0; i < n; i++)
            inputs[t][i] = value_draw_input(random, p, t, 0);
    }
}

/* Logits between -2 and 2, the label's larger by the row's margin. */
static void make_confident(const problem *p, random_state *random, int32_t label, double **inputs)
{
    double ignored = (double)problem_attr(p, kind_attr(p->op, ROLE_IGNORED)->name).value.s64;
    for (int64_t row = 0; row < ROWS; row++) {
        inputs[label][row] = row == ROWS - 1 ? ignored : (double)random_below(random, LENGTH);
        for (int64_t i = 0; i < LENGTH; i++) {
            double lead = (double)i == inputs[label][row] ? margins[row] : 0;
            inputs[0][row * LENGTH + i] =
                dtype_round(p->tensors[0].dtype, 4 * random_unit(random) - 2 + lead);
        }
    }
}

static void confident_case(vector_file *f, const problem *variant, int32_t number,
                           case_dtypes dtypes, int bare)
{
    random_state random = random_start(3, (uint64_t)number);
    problem p = start(variant, dtypes);
    double *inputs[PROBLEM_TENSORS];
    if (bare)
        drop_optional_inputs(&p);
    draw_inputs(&p, &random, inputs);
    make_confident(&p, &random, find_input(p.op, VJP_TENSOR_LABEL), inputs);
    values_save(&p, inputs);
    file_add(f, &p, number, bare ? "confident-bare" : "confident", inputs);
}

static void ends_case(vector_file *f, const problem *variant, int32_t number, case_dtypes dtypes)
{
    random_state random = random_start(4, (uint64_t)number);
    int32_t end = find_input(variant->op, VJP_TENSOR_END);
    problem p = start(variant, dtypes);
    double *inputs[PROBLEM_TENSORS];
    drop_optional_inputs(&p);
    p.absent &= ~(1u << end);
    draw_inputs(&p, &random, inputs);
    for (int64_t row = 0; row < ROWS; row++)
        inputs[end][row] = ends[row];
    inputs[0][LENGTH - 1] = NAN; /* behind the end of its row */
    file_add(f, &p, number, "ends", inputs);
}

/* Row 0 has nothing left, row 1 one element; the others lose what the draw says. What is masked in
 * row 1 may be anything. */
static void masked_case(vector_file *f, const problem *variant, int32_t number, case_dtypes dtypes)
{
    random_state random = random_start(5, (uint64_t)number);
    int32_t mask = find_mask(variant->op);
    problem p = start(variant, dtypes);
    double *inputs[PROBLEM_TENSORS];
    drop_optional_inputs(&p);
    p.absent &= ~(1u << mask);
    draw_inputs(&p, &random, inputs);
    for (int64_t i = 0; i < LENGTH; i++) {
        inputs[mask][i] = 0;
        inputs[mask][LENGTH + i] = i == LENGTH / 2;
    }
    inputs[0][LENGTH] = NAN;
    inputs[0][LENGTH + 1] = INFINITY;
    file_add(f, &p, number, "masked", inputs);
}

void row_cases(vector_file *f, const problem *variant, int32_t number, case_dtypes dtypes)
{
    if (find_input(variant->op, VJP_TENSOR_LABEL) >= 0) {
        confident_case(f, variant, number, dtypes, 0);
        confident_case(f, variant, number, dtypes, 1);
    }
    if (find_input(variant->op, VJP_TENSOR_END) >= 0)
        ends_case(f, variant, number, dtypes);
    if (find_mask(variant->op) >= 0)
        masked_case(f, variant, number, dtypes);
}
